"""`stencil bench message`: messages between ranks of mpirun, measured, verified, refused and interrupted."""
import json
import os
import signal
import time
import unittest

from ranks_test import RanksTest

QUICK = ("bench", "message", "--samples", 3, "--iterations", 5, "--size", "300x200")


class Message(RanksTest):
    def rows(self, ranks, *arguments):
        self.ranks(ranks, *QUICK, *arguments, "--json", "m.json", "--force")
        with open(self.path("m.json"), encoding="utf-8") as file:
            result, = json.load(file)["results"]
        self.assertEqual((result["failed"], result["skipped"]), (None, None))
        return result, {(row["name"], *row["axes"].values()): row for row in result["rows"]}

    def test_figures_and_table(self):
        done = self.ranks(2, *QUICK)
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 80)
        result, rows = self.rows(2)
        self.assertEqual((result["parameters"]["ranks"], result["parameters"]["hosts"], result["parameters"]["nx"]), (2, 1, 300))
        figures = {name: rows[f"{name} inside",]["statistics"]["median"] for name in "LogG"}
        self.assertTrue(all(value >= 0 for value in figures.values()), figures)
        self.assertGreater(figures["g"], 0)
        for row in result["rows"]:
            if "GPU memory" in row["name"]:
                self.assertTrue(row["skipped"] and row["statistics"] is None, row)
                continue
            self.assertEqual(len(row["samples"]), 3)
            self.assertIn(row["name"] + " ", done.stdout)
        # A ping-pong is predicted by the figures: L + 2 o + (s - 1) G.
        for bytes_ in (8, 4096, 2097152):
            row = rows["ping-pong inside", bytes_]
            wanted = figures["L"] + 2 * figures["o"] + (bytes_ - 1) * figures["G"]
            self.assertAlmostEqual(row["predicted"] / wanted, 1)
        self.assertGreater(rows["ping-pong inside", 2097152]["statistics"]["median"],
                           5 * rows["ping-pong inside", 8]["statistics"]["median"])

    def test_halos_are_those_of_a_run(self):
        """Rows of 300 cells are cut along y: a rank sends radius x depth rows, ghost cells at their ends included, to each
        neighbour."""
        for ranks, neighbours, more in ((2, 1, ()), (3, 2, ()), (3, 2, ("--precision", "float32", "--stencil", "j2ds9pt")),
                                        (2, 1, ("--boundary", "periodic"))):
            _, rows = self.rows(ranks, *more)
            cell, radius = (4, 2) if more[:1] == ("--precision",) else (8, 1)
            name = "halo of j2ds9pt" if radius == 2 else "halo of j2d5pt"
            for depth in (1, 2, 4, 8):
                ghosts = radius * depth
                periodic = "periodic" in more
                # Two ranks of a periodic field are neighbours on both sides.
                wide = (300 if periodic else 300 - 2 * radius) + 2 * ghosts
                self.assertEqual(rows[name, depth]["bytes"], (2 if periodic else neighbours) * cell * ghosts * wide,
                                 (ranks, more, depth))

    def test_a_cluster_is_written_and_planned_with(self):
        self.ranks(2, *QUICK, "--cluster", "c.json", "--json", "m.json")
        with open(self.path("c.json"), encoding="utf-8") as file:
            cluster = json.load(file)
        with open(self.path("m.json"), encoding="utf-8") as file:
            rows = {row["name"]: row for row in json.load(file)["results"][0]["rows"]}
        self.assertEqual((cluster["nodes"], cluster["between"]), (1, None))
        for name, member in (("L", "latency_s"), ("o", "overhead_s"), ("g", "gap_s"), ("G", "byte_s")):
            self.assertEqual(cluster["inside"][member], rows[f"{name} inside"]["statistics"]["median"])
        root = json.loads(self.ok("plan", "--machine", "c.json", "--size", "400x400", "--json", "-").stdout)
        self.assertEqual([row["devices"] for row in root["strong"]], [1 << i for i in range(cluster["devices"].bit_length())])
        self.refused_ranks(73, ["c.json"], 2, *QUICK, "--cluster", "c.json")
        self.refused(64, ["--cluster has no effect on copy"], "bench", "copy", "--cluster", "d.json")

    def test_what_arrives_is_verified(self):
        self.refused_ranks(70, ["something else arrived than was sent"], 2, *QUICK, "--inject-fault")

    def test_refused(self):
        self.refused_ranks(64, ["measures with one process", "stencil bench message"], 2, "bench")
        self.refused_ranks(64, ["'stencil bench copy' measures with one process"], 2, "bench", "message", "copy")
        self.refused_ranks(64, ["--sizes has no effect"], 2, "bench", "message", "--sizes", "8..16")
        self.refused_ranks(73, ["no-such-folder"], 3, *QUICK, "--json", "/no-such-folder/x.json")
        self.assertIn("it takes two or more ranks: mpirun -np 2", self.ok("bench", "message").stdout.replace("\n            ", " "))
        self.ranks(2, "bench", "--list")

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
