"""The other commands from end to end: new, compare, verify, info, help."""
import json
import os
import re
import unittest

import numpy

from harness import CommandTest, field, h5py

H200 = os.path.join(os.path.dirname(os.path.abspath(__file__)), "h200-x8.json")

COMMANDS = ("run", "new", "compare", "verify", "plot", "info", "plan", "calibrate", "wisdom", "bench")


def h5_text(value):
    return value.decode() if isinstance(value, bytes) else value


class Names(CommandTest):
    def json(self, *arguments):
        return json.loads(self.ok(*arguments, "--json", "-").stdout)

    def test_names_that_are_not_utf8(self):
        """Files may have them, JSON may not: bytes that are no UTF-8 are written as \\xff."""
        name = "p\udcffü\udced\udca0\udc80.h5"  # what Python makes of such bytes
        shown, result = "p\\xffü\\xed\\xa0\\x80.h5", name.replace(".h5", ".out.h5")
        try:
            self.make(name)
        except OSError:
            self.skipTest("the file system takes no such names")
        report = self.json(name, "--steps", 3, "--device", "cpu")
        self.assertEqual((report["input"], report["output"]), (shown, shown.replace(".h5", ".out.h5")))
        self.assertIn(shown, report["command_line"])
        verified = self.json("verify", result)
        self.assertTrue(verified["verified"])
        self.assertTrue(verified["input"].endswith("/" + shown))
        self.assertEqual(self.json("compare", name, name)["files"], [shown, shown])
        self.assertIn(shown, self.attribute(result, "provenance", "command_line"))


class New(CommandTest):
    def test_size_and_axes(self):
        self.ok("new", "p.h5", "--stencil", "j3d7pt", "--size", "5x6x7", "--precision", "float32", "--boundary",
                "periodic,fixed,mirror", "--steps", 12, "--norm", "max", "--check-every", 3)
        with h5py.File(self.path("p.h5")) as file:
            self.assertEqual(file["u"].shape, (7, 6, 5))
            self.assertEqual(file["u"].dtype, numpy.float32)
            self.assertEqual(h5_text(file.attrs["stencil"]), "j3d7pt")
            self.assertEqual([h5_text(name) for name in file.attrs["boundary"]], ["periodic", "fixed", "mirror"])
            self.assertEqual((file.attrs["steps"], file.attrs["check_every"]), (12, 3))
            self.assertEqual(h5_text(file.attrs["norm"]), "max")
            self.assertTrue({"tolerance", "rtol", "atol"}.isdisjoint(file.attrs))

    def test_stop_rule_by_default(self):
        for problem, rtol in (("laplace", 1e-8), ("poisson", 1e-8), ("heat", None)):
            self.ok("new", "p.h5", "--force", "--problem", problem, "--size", "9x9")
            with h5py.File(self.path("p.h5")) as file:
                self.assertEqual(file.attrs.get("rtol"), rtol)
                self.assertNotIn("steps", file.attrs)
        self.ok("new", "p.h5", "--force", "--problem", "laplace", "--size", "9x9", "--tolerance", "none")
        with h5py.File(self.path("p.h5")) as file:
            self.assertTrue({"tolerance", "rtol", "atol"}.isdisjoint(file.attrs))

    def test_initial_values(self):
        self.make("zero.h5", "--initial", "zero")
        self.assertEqual(numpy.count_nonzero(self.read("zero.h5")), 0)
        self.make("hot.h5", "--initial", "hot-edge", "--amplitude", 3)
        self.assertTrue((self.read("hot.h5")[0] == 3).all())
        self.assertTrue((self.read("hot.h5")[1:] == 0).all())
        self.make("sine.h5", "--initial", "sine")
        self.assertAlmostEqual(self.read("sine.h5")[8, 9], 1.0)
        self.make("a.h5", "--seed", 7)
        self.make("b.h5", "--seed", 7)
        self.make("c.h5", "--seed", 8)
        self.ok("compare", "a.h5", "b.h5")
        self.ok("compare", "a.h5", "c.h5", code=1)
        self.assertTrue(0 <= self.read("a.h5").min() < 0.1 and 0.9 < self.read("a.h5").max() < 1)

    def test_source(self):
        self.ok("new", "p.h5", "--problem", "poisson", "--size", "9x9")
        self.assertAlmostEqual(self.read("p.h5", "f")[4, 4], 2 * numpy.pi**2)
        self.ok("new", "q.h5", "--problem", "poisson", "--size", "9x9", "--source", "none")
        with h5py.File(self.path("q.h5")) as file:
            self.assertNotIn("f", file)

    def test_names_of_many_lines(self):
        name = "a\nb\t\x1b[31m.h5"
        shown = "a\\nb\\t\\x1b[31m"
        done = self.ok("new", name, "--problem", "heat", "--size", "9x9", "--initial", "sine")
        self.assertIn(f"{shown}.h5: heat", done.stdout)
        done = self.ok(name, "--tolerance", "1e-30", "--steps", 2, "--device", "cpu", code=2)
        self.assertRegex(done.stdout, rf"(?m)^Input +{re.escape(shown)}\.h5$")
        self.assertRegex(done.stdout, rf"(?m)^Output +{re.escape(shown)}\.out\.h5$")
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        result = name.replace(".h5", ".out.h5")
        self.assertIn(f"{shown}.out.h5: verified", self.ok("verify", result).stdout)
        self.assertIn(f"{shown}.h5 and {shown}.h5: /u is equal", self.ok("compare", name, name).stdout)

    def test_quiet(self):
        self.assertEqual(self.ok("new", "p.h5", "--problem", "heat", "--size", "9x9", "-q").stdout, "")


class Compare(CommandTest):
    def setUp(self):
        super().setUp()
        self.u = field(6, 7, 8)
        self.write("a.h5", self.u)

    def test_equal(self):
        self.u[1, 2, 3] = numpy.nan
        self.u[1, 2, 4] = numpy.inf
        self.write("a.h5", self.u)
        self.write("b.h5", self.u)
        self.assertIn("equal", self.ok("compare", "a.h5", "b.h5").stdout)
        self.write("big.h5", self.u.astype(">f8"))
        self.ok("compare", "a.h5", "big.h5")

    def test_values(self):
        changed = self.u.copy()
        changed[5, 0, 7] += 0.25
        changed[2, 3, 4] -= 0.5
        changed[0, 0, 0] += 0.125
        self.write("b.h5", changed)
        done = self.ok("compare", "a.h5", "b.h5", code=1)
        self.assertEqual(done.stderr, "")
        self.assertIn("3 of 336", done.stdout)
        self.assertIn("0.5 at [2, 3, 4]", done.stdout)
        result = json.loads(self.ok("compare", "a.h5", "b.h5", "--json", "-", code=1).stdout)
        self.assertEqual((result["equal"], result["differs_in"], result["differing_cells"], result["index"]),
                         (False, "values", 3, [2, 3, 4]))
        self.assertEqual(self.ok("compare", "a.h5", "b.h5", "-q", code=1).stdout, "")
        self.assertIn("2 of 336", self.ok("compare", "a.h5", "b.h5", "--tolerance", 0.2, code=1).stdout)
        self.ok("compare", "a.h5", "b.h5", "--tolerance", 0.6)

    def test_nonfinite(self):
        changed = self.u.copy()
        changed[3, 3, 3] = numpy.nan
        self.write("b.h5", changed)
        self.assertIn("at [3, 3, 3]", self.ok("compare", "a.h5", "b.h5", "--tolerance", 1e9, code=1).stdout)
        self.assertIsNone(json.loads(self.ok("compare", "a.h5", "b.h5", "--json", "-", code=1).stdout)["largest_difference"])

    def result(self, *options, code=0):
        return json.loads(self.ok("compare", "a.h5", "b.h5", "--json", "-", *options, code=code).stdout)

    def test_relative(self):
        """The rule of numpy.allclose."""
        a = numpy.array([[1.0, 100.0, -1e-3], [0.0, 1e200, 5.0]])
        b = numpy.array([[1.05, 104.0, -1e-3], [1e-9, 1.04e200, 5.0]])
        self.write("a.h5", a)
        self.write("b.h5", b)
        for rtol, atol in ((0, 0), (0.04, 0), (0.05, 0), (0.05, 1e-8), (0.03, 1), (1, 0)):
            close = numpy.isclose(a, b, rtol=rtol, atol=atol)
            result = self.result("--rtol", rtol, "--atol", atol, code=0 if close.all() else 1)
            self.assertEqual((result["equal"], result["differing_cells"]), (bool(close.all()), 6 - close.sum()))
        self.assertIn("within atol 1e-08, rtol 0.05 in all 6 cells",
                      self.ok("compare", "a.h5", "b.h5", "--rtol", 0.05, "--atol", "1e-8").stdout)
        self.write("a.h5", numpy.full((3, 3), numpy.inf))
        self.write("b.h5", numpy.full((3, 3), 1.0))
        self.assertEqual(self.result("--rtol", 1e300, code=1)["differing_cells"], 9)
        self.ok("compare", "b.h5", "a.h5", "--rtol", 1, code=1)
        self.ok("compare", "a.h5", "a.h5", "--rtol", 1)

    def test_precisions(self):
        self.write("b.h5", self.u.astype("f4"))
        rounding = numpy.abs(self.u - self.u.astype("f4").astype("f8"))
        done = self.ok("compare", "a.h5", "b.h5", "--rtol", "6e-8")
        self.assertIn("(float64 and float32)", done.stdout)
        self.assertIn(f"largest difference  {float(rounding.max())!r} at", done.stdout)
        self.ok("compare", "a.h5", "b.h5", "--rtol", "1e-9", code=1)
        result = self.result("--atol", 0, code=1)
        self.assertEqual((result["types"], result["differs_in"]), (["float64", "float32"], "values"))
        self.write("b.h5", numpy.ones((6, 7, 8), "i4"))
        self.write("a.h5", numpy.ones((6, 7, 8), "f4"))
        self.ok("compare", "a.h5", "b.h5", "--atol", 0)
        self.ok("compare", "a.h5", "b.h5", code=1)

    def test_root_mean_square(self):
        b = self.u + 0.01 * field(6, 7, 8)[::-1]
        b[0, 0, 0] += 0.2
        self.write("b.h5", b)
        rms = numpy.sqrt(numpy.mean((self.u - b) ** 2))
        for options, code in (((), 1), (("--rms", 1.01 * rms), 0), (("--rms", 0.99 * rms), 1),
                              (("--rms", 1.01 * rms, "--atol", 0.1), 1), (("--rms", 0.99 * rms, "--atol", 1), 1),
                              (("--rms", 1.01 * rms, "--atol", 1), 0)):
            result = self.result(*options, code=code)
            self.assertAlmostEqual(result["rms_difference"], rms, 14)
            self.assertAlmostEqual(result["rms_relative"], rms / numpy.sqrt(numpy.mean(b**2)), 14)
            self.assertIn(f"root mean square    {rms:.6g}, ", self.ok("compare", "a.h5", "b.h5", *options, code=code).stdout)
        self.assertIn("differs by a root mean square of more than 0.001",
                      self.ok("compare", "a.h5", "b.h5", "--rms", 0.001, code=1).stdout)
        self.write("a.h5", numpy.zeros((3, 3)))  # squares would overflow, or be 0
        for size in (1e200, 1e-200):
            self.write("b.h5", numpy.full((3, 3), size))
            self.assertAlmostEqual(self.result(code=1)["rms_difference"] / size, 1, 14)
        self.assertIsNone(json.loads(self.ok("compare", "b.h5", "a.h5", "--json", "-", code=1).stdout)["rms_relative"])

    def test_shape_and_type(self):
        self.write("b.h5", self.u[:, :, :7])
        done = self.ok("compare", "a.h5", "b.h5", code=1)
        self.assertEqual(len(done.stdout.splitlines()), 1)
        self.assertIn("[6, 7, 8]", done.stdout)
        self.assertIn("[6, 7, 7]", done.stdout)
        self.write("b.h5", self.u.astype("f4"))
        done = self.ok("compare", "a.h5", "b.h5", code=1)
        self.assertEqual(len(done.stdout.splitlines()), 1)
        self.assertIn("float64 and float32", done.stdout)

    def test_many_blocks(self):
        a = numpy.zeros((5, 1100, 1000), "f4")  # a block holds one plane at most
        b = a.copy()
        b[4, 1099, 999] = 1
        b[3, 0, 0] = 0.5
        self.write("a.h5", a)
        self.write("b.h5", b)
        done = self.ok("compare", "a.h5", "b.h5", code=1)
        self.assertIn("2 of 5500000", done.stdout.replace(" ", "").replace("of", " of "))
        self.assertIn("1 at [4, 1099, 999]", done.stdout)

    def test_other_ranks(self):
        for value in (1.0, [1.0, 2.0, 3.0], numpy.zeros((2, 3, 4, 5))):
            self.write("a.h5", datasets={"x": value})
            self.write("b.h5", datasets={"x": numpy.array(value) + 1})
            self.ok("compare", "a.h5", "a.h5", "--dataset", "/x")
            self.ok("compare", "a.h5", "b.h5", "--dataset", "x", code=1)


class Verify(CommandTest):
    def setUp(self):
        super().setUp()
        self.make()
        self.ok("p.h5", "--steps", 30, "--check-every", 7)

    def change(self, dataset, index, change):
        with h5py.File(self.path("p.out.h5"), "r+") as file:
            file[dataset][index] = change(file[dataset][index])

    def test_true_result(self):
        done = self.ok("verify", "p.out.h5")
        self.assertIn("verified after 30 steps", done.stdout)
        self.assertIn("323 of 323 cells equal", done.stdout)
        self.assertIn("5 of 5 values equal", done.stdout)
        self.ok("verify", "p.out.h5", "p.h5")
        self.assertTrue(json.loads(self.ok("verify", "p.out.h5", "--json", "-").stdout)["verified"])

    def test_last_bit_of_a_cell(self):
        self.change("u", (8, 5), lambda value: numpy.nextafter(value, 2))
        done = self.ok("verify", "p.out.h5", code=1)
        self.assertIn("NOT verified", done.stdout)
        self.assertIn("1 of 323 cells, first at [8, 5]", done.stdout)
        result = json.loads(self.ok("verify", "p.out.h5", "--json", "-", code=1).stdout)
        self.assertEqual((result["u"]["differing"], result["residual"]["differing"]), (1, 0))

    def test_rim_cell(self):
        self.change("u", (0, 0), lambda value: value + 1)
        self.assertIn("[0, 0]", self.ok("verify", "p.out.h5", code=1).stdout)

    def test_last_bit_of_a_residual(self):
        self.change("residual", 3, lambda value: numpy.nextafter(value, 2))
        self.assertIn("first at [3]", self.ok("verify", "p.out.h5", code=1).stdout)

    def test_another_input(self):
        self.make("other.h5", "--seed", 99)
        self.ok("verify", "p.out.h5", "other.h5", code=1)
        self.make("larger.h5", "--size", "20x17")
        self.refused(65, ["'larger.h5'", "not the input"], "verify", "p.out.h5", "larger.h5")

    def test_input_gone(self):
        os.rename(self.path("p.h5"), self.path("moved.h5"))
        self.refused(66, ["p.h5", "No such file"], "verify", "p.out.h5")
        self.ok("verify", "p.out.h5", "moved.h5")

    def test_steps_that_nobody_made(self):
        for steps in (-1, 10**15 + 1, 2**62):
            with h5py.File(self.path("p.out.h5"), "r+") as file:
                file["provenance"].attrs["steps_done"] = steps
            self.refused(65, ["steps_done", str(steps), "from 0 to"], "verify", "p.out.h5")

    def test_points_of_an_author(self):
        offsets = numpy.array([[0, 2], [-1, 0], [0, 0], [1, 1]], "i4")
        weights = [0.1, 0.2, 0.3, 0.4]
        for boundary in ("fixed", "periodic", "mirror", ["mirror", "fixed"], ["fixed", "periodic"]):
            for dtype in ("f4", "f8"):
                self.write("o.h5", field(13, 70, dtype=dtype), {"stencil": None, "boundary": boundary, "steps": 9},
                           {"stencil/offsets": offsets, "stencil/weights": weights})
                self.ok("o.h5", "--force", "--norm", "max", "--check-every", 4)
                self.ok("verify", "o.out.h5")

    def test_against_numpy(self):
        """The reference itself, against array arithmetic that knows nothing of it (to rounding)."""
        u = field(11, 12)
        b = field(11, 12) - 0.5
        self.write("n.h5", u, {"boundary": ["mirror", "periodic"], "steps": 3}, {"b": b})
        self.ok("n.h5")
        self.ok("verify", "n.out.h5")
        for _ in range(3):
            padded = numpy.pad(numpy.pad(u, ((1, 1), (0, 0)), "symmetric"), ((0, 0), (1, 1)), "wrap")
            before, u = u, (padded[1:-1, 1:-1] + padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] +
                            padded[1:-1, 2:]) / 5 + b
        numpy.testing.assert_allclose(self.read("n.out.h5"), u, rtol=1e-14, atol=1e-14)
        residual = numpy.sqrt(numpy.mean((u - before) ** 2))
        self.assertAlmostEqual(self.read("n.out.h5", "residual")[-1], residual, places=13)


class Info(CommandTest):
    def test_text(self):
        done = self.ok("info")
        for text in ("CPU", "GPU", "Strategies", "relaunch", "grid", "j3d27pt", "27 points"):
            self.assertIn(text, done.stdout)
        for line in done.stdout.splitlines():
            self.assertLessEqual(len(line), 80, line)

    def test_json(self):
        info = json.loads(self.ok("info", "--json", "-").stdout)
        self.assertEqual({row["name"] for row in info["strategies"]} & {"relaunch", "grid"}, {"relaunch", "grid"})
        for row in info["strategies"]:
            self.assertIsNone(row["unavailable"]["cpu"])
            self.assertEqual(row["unavailable"]["gpu"] is None, len(info["gpus"]) > 0)
        self.assertEqual(len(info["stencils"]), 10)
        self.assertGreaterEqual(info["cpu"]["threads"], 1)
        self.assertEqual(len(info["peers"]), len(info["gpus"]))
        self.assertEqual(info["no_gpu_reason"] == "", len(info["gpus"]) > 0)

    def plan(self, *arguments):
        text = self.ok("p.h5", "--dry-run", "--no-output", "--json", "-", *arguments).stdout
        report = json.loads(text)
        del report["plan"]["memory_bytes"], report["command_line"]
        return report

    def test_described_machine(self):
        self.make()
        self.ok("info", "--json", "m.json")
        self.assertEqual(self.plan("--machine", "m.json"), self.plan())
        self.assertEqual(self.plan("--machine", "m.json", "--threads", 1000, "--device", "cpu")["plan"]["threads"], 1000)
        plan = self.plan("--machine", H200, "--gpus", 8, "--sync", "multi-grid")["plan"]
        self.assertEqual(([part["gpu"] for part in plan["parts"]], plan["strategy"]), (list(range(8)), "multi-grid"))
        self.refused(69, ["this machine has 8"], "p.h5", "--dry-run", "--no-output", "--machine", H200, "--gpus", "8,")

    def test_refused_description(self):
        self.make()
        run = ("p.h5", "--no-output", "--machine", "m.json")
        self.refused(64, ["--machine", "--dry-run"], *run)
        self.refused(66, ["--machine", "m.json"], *run, "--dry-run")
        for text, wanted in (("{", "no JSON"), ("{}", "not a machine"), ("[]", "not a machine"),
                             ('{"cpu": {}}', '"threads"')):
            with open(self.path("m.json"), "w") as file:
                file.write(text)
            self.refused(65, ["--machine", "m.json", wanted], *run, "--dry-run")

    def test_description_of_something_else(self):
        """JSON of every command that is not 'info', and how one comes by a machine."""
        self.make()
        report = ("--json", "m.json", "--force")
        self.ok("p.h5", "--steps", 1, "-o", "r.h5", "-q", "--force")
        for command, arguments in (("run", ("p.h5", "--steps", 1, "--no-output", *report)),
                                   ("plan", ("plan", "p.h5", *report)), ("verify", ("verify", "r.h5", *report)),
                                   ("compare", ("compare", "r.h5", "r.h5", *report)),
                                   ("bench", ("bench", "copy", "--device", "cpu", "--size", "99x99", "--samples", 2,
                                              *report)),
                                   ("run", ("p.h5", "--steps", 20, "--no-output", "--trace", "m.json", "--force"))):
            self.ok(*arguments)
            self.refused(65, ["m.json", "not a machine ('stencil info --json", f"'stencil {command}"], "p.h5",
                         "--no-output", "--machine", "m.json", "--dry-run")

    def one_gpu(self):
        """The description of a machine with eight, less seven of them."""
        with open(H200) as file:
            machine = json.load(file)
        machine.update(gpus=machine["gpus"][:1], peers=[[True]],
                       kernels=[kernel for kernel in machine["kernels"] if kernel["gpu"] == 0])
        with open(self.path("one.json"), "w") as file:
            json.dump(machine, file)
        return "one.json"

    def test_gpus_that_are_not_there(self):
        self.make()
        run = ("p.h5", "--dry-run", "--no-output", "--machine")
        one, here = self.one_gpu(), self.path("m.json")
        for machine, gpus, wanted in ((one, "8", "8 GPUs, this machine has one GPU (0): give --gpus 1,"),
                                      (one, "8,", "GPU 8, this machine has one GPU (0)"),
                                      (one, "0,3", "GPU 3, this machine has one GPU (0)"),
                                      (H200, "9", "9 GPUs, this machine has 8 GPUs (0 … 7): give --gpus 8,"),
                                      (H200, "0,1,9", "GPU 9, this machine has 8 GPUs (0 … 7)")):
            self.assertNotIn("0 … 0", self.refused(69, ["--gpus asks for " + wanted], *run, machine, "--gpus", gpus))
        with open(self.path(one)) as file:
            machine = {**json.load(file), "gpus": [], "peers": [], "kernels": [], "no_gpu_reason": "no GPU found"}
        with open(here, "w") as file:
            json.dump(machine, file)
        for gpus, wanted in (("8", "leave --gpus out, or give --parts 8"), ("0,0", "--parts 2"), ("1", "leave --gpus out")):
            line = self.refused(69, ["no GPU here", wanted], *run, here, "--gpus", gpus)
            self.assertEqual("--parts" in line, gpus != "1")


class Threads(CommandTest):
    def one_processor(self):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

    def report(self, *arguments, **keywords):
        return json.loads(self.ok("p.h5", "--no-output", "--steps", 1, "--device", "cpu", "--json", "-", *arguments,
                                  **keywords).stdout)

    def notes_of(self, *arguments, **keywords):
        return [note for note in self.report(*arguments, **keywords)["notes"] if "processor" in note]

    def test_one_processor(self):
        """As taskset 1 leaves a process: one thread by itself, more only where they are asked for, with a Note."""
        bare = {key: value for key, value in os.environ.items() if not key.startswith("OMP_")}
        here = {"preexec_fn": self.one_processor, "env": bare}
        self.make()
        self.assertEqual(self.report(**here)["plan"]["threads"], 1)
        self.assertEqual(self.notes_of(**here), [])
        note, = self.notes_of("--threads", 3, **here)
        self.assertTrue(note.startswith("3 threads share 1 processor, ") and note.endswith("--threads 1 has one for each"),
                        note)
        three = {**here, "env": {**bare, "OMP_NUM_THREADS": "3"}}
        self.assertEqual(self.report(**three)["plan"]["threads"], 3)
        self.assertEqual(len(self.notes_of(**three)), 1)
        if len(os.sched_getaffinity(0)) > 1:
            self.assertIn("affinity", note)
            self.assertRegex(self.ok("info", **here).stdout, r"CPU +1 thread \(affinity: 1 of \d+ processors\)")
        self.assertRegex(self.ok("info", **three).stdout, r"CPU +3 threads on 1 processor \(OMP_NUM_THREADS\)")
        info = json.loads(self.ok("info", "--json", "-", **three).stdout)["cpu"]
        self.assertEqual((info["threads"], info["processors"], info["threads_because"]), (3, 1, "OMP_NUM_THREADS"))


class Launchers(CommandTest):
    """What MPI's launchers leave in the environment of several processes that would all do the same: those of another
    MPI, or of any where the program has none. (tests/mpi: those of the program's own.)"""

    def test_started_several_times(self):
        self.make()
        why = "no MPI" if "no MPI" in self.ok("info").stdout else "not of this build's MPI"
        for variables in ({"OMPI_COMM_WORLD_SIZE": "2"}, {"PMI_SIZE": "4"}, {"MV2_COMM_WORLD_SIZE": "2"},
                          {"SLURM_NTASKS": "8", "SLURM_STEP_NUM_TASKS": "8", "SLURM_PROCID": "3"}):
            here = {"env": {**os.environ, **variables}}
            for arguments in (("p.h5", "--steps", 1), ("new", "x.h5", "--problem", "heat", "--size", "9x9"),
                              ("bench", "copy", "--device", "cpu"), ("calibrate", "--device", "cpu")):
                self.refused(64, [why, "--gpus N", "env -u "], *arguments, **here)
            for arguments in (("info",), ("help",), ("run", "--help"), ("compare", "p.h5", "p.h5")):
                self.ok(*arguments, **here)
        both = {"env": {**os.environ, "PMI_SIZE": "4", "SLURM_STEP_NUM_TASKS": "4"}}
        self.refused(64, ["env -u PMI_SIZE -u SLURM_STEP_NUM_TASKS stencil"], "p.h5", **both)

    def test_started_once(self):
        """One process of a launcher, and a script of a batch job, whose tasks are those of the job."""
        self.make()
        for variables in ({"OMPI_COMM_WORLD_SIZE": "1", "PMI_SIZE": "1"}, {"SLURM_STEP_NUM_TASKS": "1"}, {"PMI_SIZE": ""},
                          {"SLURM_NTASKS": "8", "SLURM_PROCID": "0", "SLURM_JOB_ID": "17"}):
            self.ok("p.h5", "--steps", 1, "--force", env={**os.environ, **variables})



class Help(CommandTest):
    def test_overview_and_version(self):
        for arguments in (("help",), ("--help",), ("-h",), ("help", "--help"), ("help", "-h")):
            text = self.ok(*arguments).stdout
            for command in COMMANDS:
                self.assertIn(f"  {command} ", text)
        self.assertEqual(self.ok("help", "help").stdout, text)
        for arguments in (("--version",), ("-V",), ("version",), ("run", "--version"), ("p.h5", "-V"), ("bench", "-V")):
            self.assertRegex(self.ok(*arguments).stdout, r"^stencil \d+\.\d+\.\d+ \(CPU.*\)\n$")

    def test_every_command(self):
        for command in COMMANDS:
            text = self.ok("help", command).stdout
            self.assertEqual(text, self.ok(command, "--help").stdout)
            self.assertEqual(text, self.ok(command, "-h").stdout)
            self.assertTrue(text.startswith("Usage: stencil "))
            for line in text.splitlines():
                self.assertLessEqual(len(line), 80, line)

    def test_manual_has_every_option(self):
        page = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "app", "stencil.1")
        with open(page) as file:
            manual = file.read()
        for command in COMMANDS:
            section = re.search(rf"(?ms)^\.Ss {command}\n.*?(?=^\.S[sh] )", manual)
            self.assertIsNotNone(section, command)
            for option in re.findall(r"(?m)^ {2}.{4}--([a-z-]+)", self.ok("help", command).stdout):
                if option not in ("help", "version"):  # the same for all commands
                    self.assertRegex(section.group(0), rf"(?m)^\.It .*Fl -{option}\b", f"{command} --{option}")
        for code in (0, 1, 2, 64, 65, 66, 69, 70, 71, 73, 74, 75, 130):
            self.assertRegex(manual, rf"(?m)^\.It {code}$")


class Locale(CommandTest):
    """Where the locale is not UTF-8, what is printed is ASCII, and still fits."""

    def printed(self, code, *arguments, **variables):
        environment = {key: value for key, value in os.environ.items() if not key.startswith("LC_") and key != "LANG"}
        done = self.ok(*arguments, code=code, env={**environment, **variables})
        return done.stdout + done.stderr

    def test_ascii(self):
        self.make("n\u00fc.h5")
        calls = [(0, "help"), *((0, "help", command) for command in COMMANDS), (0, "info"), (0, "bench", "--list"),
                 (0, "n\u00fc.h5", "-f", "--steps", 300), (64, "p.h5", "--inject-absent-part", "\u2026"),
                 (66, "n\u00fc"), (0, "bench", "copy", "--device", "cpu", "--size", "99x99", "--samples", 2),
                 (0, "n\u00fc.h5", "-f", "--steps", 300, "--json", "-")]
        for call in calls:
            text = self.printed(*call, LC_ALL="C", LANG="C.UTF-8")
            self.assertTrue(text.isascii(), text)
            for line in text.splitlines():
                if call[0] == 0 and "--json" not in call:
                    self.assertLessEqual(len(line), 80, line)
        self.assertIn("[NAME ...]", self.printed(0, "help", "bench", LC_ALL="C"))
        self.assertRegex(self.printed(0, "n\u00fc.h5", "-f", "--steps", 300, LC_ALL="C"), r"(?m)^Time/step +[0-9.]+ us$")
        self.assertEqual(json.loads(self.printed(*calls[-1], LC_ALL="C"))["input"], "n\u00fc.h5")

    def test_which_variable_counts(self):
        for variables, ascii_only in (({}, True), ({"LANG": "C.UTF-8"}, False), ({"LANG": "de_DE.utf8"}, False),
                                      ({"LC_CTYPE": "C", "LANG": "C.UTF-8"}, True), ({"LC_ALL": "", "LANG": "C.UTF-8"}, False),
                                      ({"LC_ALL": "C.UTF-8", "LANG": "C"}, False), ({"LANG": "en_US.ISO-8859-1"}, True)):
            self.assertEqual(self.printed(0, "help", "bench", **variables).isascii(), ascii_only, variables)

    def test_unchanged_in_utf_8(self):
        self.make("n\u00fc.h5")
        self.assertIn("[NAME \u2026]", self.printed(0, "help", "bench", LC_ALL="C.UTF-8"))
        text = self.printed(0, "n\u00fc.h5", "-f", "--steps", 300, LC_ALL="C.UTF-8")
        self.assertRegex(text, "(?m)^Time/step +[0-9.]+ \u00b5s$")
        self.assertRegex(text, "(?m)^Input +n\u00fc.h5$")
        self.assertIn("\"n\u00fc.h5\"", self.printed(0, "n\u00fc.h5", "-f", "--json", "-", LC_ALL="C.UTF-8"))

    def test_losses_are_told(self):
        with open("/dev/full", "w") as full:
            self.refused(74, ["standard output"], "info", stdout=full, env={**os.environ, "LC_ALL": "C"})


if __name__ == "__main__":
    unittest.main()
