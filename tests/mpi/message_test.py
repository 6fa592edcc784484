"""`stencil bench message`: messages between ranks of mpirun, measured, verified, refused and interrupted."""
import json
import os
import pathlib
import signal
import tempfile
import time
import unittest

from ranks_test import RanksTest

QUICK = ("bench", "message", "--iterations", 5, "--size", "300x200")


class Message(RanksTest):
    hidden = {}
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)

    runs = {}

    def rows(self, ranks, *more, again=0):
        """(text, result, rows by name and axis, cluster) of a run, which several tests look at."""
        key = (ranks, more, again)
        if key not in self.runs:
            report, cluster = self.folder / f"{len(self.runs)}.json", self.folder / f"{len(self.runs)}c.json"
            done = self.ranks(ranks, *QUICK, "--samples", 3, *more, "--json", report, "--cluster", cluster)
            result, = json.loads(report.read_text(encoding="utf-8"))["results"]
            self.assertEqual((result["failed"], result["skipped"]), (None, None))
            self.runs[key] = (done.stdout, result, {(row["name"], *row["axes"].values()): row for row in result["rows"]},
                              json.loads(cluster.read_text(encoding="utf-8")))
        return self.runs[key]

    def test_figures_and_table(self):
        text, result, rows, _ = self.rows(2)
        self.assertLessEqual(max(map(len, text.splitlines())), 80)
        self.assertEqual((result["parameters"]["ranks"], result["parameters"]["hosts"], result["parameters"]["nx"]), (2, 1, 300))
        figures = {name: rows[f"{name} inside",]["statistics"]["median"] for name in "LogG"}
        self.assertTrue(all(value >= 0 for value in figures.values()), figures)
        self.assertGreater(figures["g"], 0)
        for row in result["rows"]:
            if "GPU memory" in row["name"]:
                self.assertTrue(row["skipped"] and row["statistics"] is None, row)
                continue
            self.assertEqual(len(row["samples"]), 3)
            self.assertIn(row["name"] + " ", text)
        # A ping-pong is predicted by the figures: L + 2 o + (s - 1) G.
        for size in (8, 4096, 2097152):
            wanted = figures["L"] + 2 * figures["o"] + (size - 1) * figures["G"]
            self.assertAlmostEqual(rows["ping-pong inside", size]["predicted"] / wanted, 1)
        self.assertGreater(min(rows["ping-pong inside", 2097152]["samples"]), 5 * min(rows["ping-pong inside", 8]["samples"]))

    def test_halos_are_those_of_a_run(self):
        """Rows of 300 cells are cut along y: a rank sends radius x depth rows, ghost cells at their ends included, to each
        neighbour."""
        for ranks, sends, cell, radius, more in ((2, 1, 8, 1, ()), (2, 2, 8, 1, ("--boundary", "periodic")),
                                                 (3, 2, 4, 2, ("--precision", "float32", "--stencil", "j2ds9pt"))):
            rows = self.rows(ranks, *more)[2]
            own = 300 if "periodic" in more else 300 - 2 * radius
            for depth in (1, 2, 4, 8):
                ghosts = radius * depth
                self.assertEqual(rows["halo of j2d5pt" if radius == 1 else "halo of j2ds9pt", depth]["bytes"],
                                 sends * cell * ghosts * (own + 2 * ghosts), (ranks, more, depth))

    def strays(self, rows):
        """What differs between what disturbances add to passes in a run and in the simulation of the same passes."""
        even, found = rows["passes",], []
        for name, least_ms in (("passes, noise 20%", 0.3), ("noise 20%, reductions", 0.3), ("passes, one 2 ms late", 2),
                               ("a pass 20 ms late", 1.2)):
            more = 1e3 * (rows[name,]["predicted"] - even["predicted"])
            really = 1e3 * (min(rows[name,]["samples"]) - min(even["samples"]))
            self.assertGreater(more, least_ms - 0.01, name)
            if abs(really - more) > 0.3 + 0.1 * more:
                found.append((name, really, more))
        return found

    def test_late_ranks_wait_as_is_simulated(self):
        """Sleeping ranks wake up later than they should, on a loaded machine much: of several runs one has to agree for each
        disturbance."""
        for ranks in (2, 8):
            found = [self.strays(self.rows(ranks)[2])]
            while set.intersection(*({name for name, *_ in strays} for strays in found)):
                self.assertLess(len(found), 8, f"{ranks} ranks: {found}")
                found.append(self.strays(self.rows(ranks, again=len(found))[2]))

    def test_a_cluster_is_written_and_planned_with(self):
        _, _, rows, cluster = self.rows(2)
        self.assertEqual((cluster["nodes"], cluster["between"]), (1, None))
        for name, member in (("L", "latency_s"), ("o", "overhead_s"), ("g", "gap_s"), ("G", "byte_s"),
                             ("G both ways", "both_byte_s")):
            self.assertEqual(cluster["inside"][member], rows[f"{name} inside",]["statistics"]["median"])
        with open(self.path("c.json"), "w", encoding="utf-8") as file:
            json.dump(cluster, file)
        root = json.loads(self.ok("plan", "--machine", "c.json", "--size", "400x400", "--json", "-").stdout)
        self.assertEqual([row["devices"] for row in root["strong"]], [1 << i for i in range(cluster["devices"].bit_length())])
        self.refused_ranks(73, ["c.json"], 2, *QUICK, "--cluster", "c.json")
        self.refused(64, ["--cluster has no effect on copy"], "bench", "copy", "--cluster", "d.json")

    def test_what_arrives_is_verified(self):
        self.refused_ranks(70, ["something else arrived than was sent"], 2, *QUICK, "--inject-fault")

    def test_refused(self):
        self.refused_ranks(64, ["measures with one process", "stencil bench message"], 2, "bench")
        self.refused_ranks(64, ["'stencil bench copy' measures with one process"], 2, "bench", "message", "copy")
        self.refused_ranks(73, ["no-such-folder"], 2, *QUICK, "--json", "/no-such-folder/x.json")
        self.assertIn("it takes two or more ranks: mpirun -np 2", self.ok("bench", "message").stdout.replace("\n            ", " "))

    def test_a_signal_to_any_rank(self):
        process, ranks = self.begin(2, "bench", "message", "--timeout", 60, "--max-noise", 1e-9, "--json", "m.json")
        time.sleep(1)
        os.kill(ranks[1], signal.SIGTERM)
        lines, _ = self.wait(process, 128 + signal.SIGTERM)
        self.assertEqual(len(lines), 1, lines)
        with open(self.path("m.json"), encoding="utf-8") as file:
            self.assertIn("interrupted", json.load(file)["results"][0]["failed"])


if __name__ == "__main__":
    unittest.main()
