"""`stencil run` from end to end: what it makes, prints and leaves behind."""
import json
import os
import pathlib
import pty
import re
import resource
import select
import signal
import subprocess
import time
import unittest

import numpy

from draw import drawn
from harness import SLOW, STENCIL, CommandTest, fault, field, h5py

CPU = ("--device", "cpu")


class Run(CommandTest):
    def test_poisson_converges(self):
        self.ok("new", "p.h5", "--problem", "poisson", "--accelerate", "none", "--size", "33x33")
        done = self.ok("p.h5", "--tolerance", "1e-10", "--json", "r.json")
        self.assertIn("converged", done.stdout)
        self.assertIn("p.out.h5", done.stdout)
        self.assertEqual(done.stderr, "")
        with open(self.path("r.json")) as file:
            report = json.load(file)
        self.assertEqual(report["result"]["reason"], "converged_atol")
        self.assertLess(report["result"]["residual"], 1e-10)
        self.ok("verify", "p.out.h5")

    def test_names_of_outputs(self):
        for name, output in (("a.h5", "a.out.h5"), ("b.hdf5", "b.out.h5"), ("c", "c.out.h5"), ("d.dat", "d.dat.out.h5")):
            self.make(name)
            self.ok(name, "--steps", 1)
            self.assertTrue(os.path.exists(self.path(output)), output)
        os.mkdir(self.path("sub"))
        self.make("sub/p.h5")
        self.ok("run", "sub/p.h5", "--steps", 1)
        self.assertEqual(sorted(os.listdir(self.path("sub"))), ["p.h5", "p.out.h5"])

    def test_names_of_results_do_not_grow(self):
        os.mkdir(self.path("x.out"))
        self.make("p.h5")
        for name, output in (("p.h5", "p.out.h5"), ("p.out.h5", "p.out2.h5"), ("p.out2.h5", "p.out3.h5")):
            self.ok(name, "--steps", 1)
            self.assertTrue(os.path.exists(self.path(output)), output)
        for name, output in (("a.out.hdf5", "a.out2.h5"), ("a.out9.h5", "a.out10.h5"), ("b.out0.h5", "b.out0.out.h5"),
                             (".out.h5", ".out.out.h5"), ("c.out", "c.out2.h5"), ("d.out1x.h5", "d.out1x.out.h5"),
                             ("x.out/p.h5", "x.out/p.out.h5"), ("x.out/.out.h5", "x.out/.out.out.h5"),
                             ("about.h5", "about.out.h5"), ("e.out99999999999.h5", "e.out99999999999.out.h5")):
            self.make(name)
            self.ok(name, "--steps", 1)
            self.assertTrue(os.path.exists(self.path(output)), output)

    def test_in_place(self):
        """Halves of a run, the second over the first, are the run; the file of the first is what it is compared with."""
        self.make("p.h5", "--steps", 40)
        self.ok("p.h5", "-o", "whole.h5")
        self.ok("p.h5", "-o", "r.h5", "--steps", 20)
        self.ok("r.h5", "-o", "kept.h5", "--steps", 20)
        self.ok("r.h5", "-o", "r.h5", "--steps", 40, code=73)
        self.ok("r.h5", "-o", "./r.h5", "--steps", 40, "--force")
        self.ok("compare", "whole.h5", "r.h5")
        numpy.testing.assert_array_equal(self.read("r.h5", "residual"), self.read("whole.h5", "residual"))
        with h5py.File(self.path("r.h5"), "r") as file:
            self.assertNotIn("input", file["provenance"].attrs)
        self.refused(64, ["'r.h5' has taken the place of its input", "verify r.h5 INPUT"], "verify", "r.h5")
        self.ok("verify", "r.h5", "kept.h5")
        self.assertEqual(sorted(os.listdir(self.directory)), ["kept.h5", "p.h5", "r.h5", "whole.h5"])

    def test_in_place_of_another_name(self):
        """A link is replaced; the input stays, and results say where it is."""
        self.make()
        os.symlink("p.h5", self.path("link.h5"))
        os.link(self.path("p.h5"), self.path("hard.h5"))
        before = self.read("p.h5")
        for name in ("link.h5", "hard.h5"):
            self.ok("p.h5", "--steps", 3, "-o", name, "--force")
            self.assertFalse(os.path.islink(self.path(name)))
            self.ok("verify", name)
        numpy.testing.assert_array_equal(self.read("p.h5"), before)
        os.symlink("p.h5", self.path("link2.h5"))
        self.ok("link2.h5", "--steps", 3, "-o", "p.h5", "--force")
        self.refused(64, ["has taken the place of its input"], "verify", "p.h5")

    def test_divergence_leaves_the_input(self):
        self.write("w.h5", field(9, 9), {"stencil": None, "steps": 100000, "atol": 1e-9},
                   {"stencil/offsets": numpy.array([[0, 0], [0, 1]], "i4"), "stencil/weights": [4.0, 4.0]})
        self.ok("w.h5", "-o", "out.h5", code=2)
        self.assertTrue(os.path.exists(self.path("out.h5")))
        before = self.snapshot()
        done = self.ok("w.h5", "-o", "w.h5", "--force", code=2)
        self.assertIn("'w.h5' stays as it was", " ".join(done.stdout.split()))
        self.assertNotIn("holds that step", done.stderr)
        self.assertEqual(before, self.snapshot())

    def test_subnormal_numbers(self):
        """A point source in float32: the share of cells, counted here in all of them, and no bit of it changed."""
        u = numpy.zeros((61, 61, 61), "f4")
        u[30, 30, 30] = 1e-36
        self.write("s.h5", u, {"stencil": None, "problem": "heat", "steps": 30})
        self.ok("s.h5", *CPU, "--json", "r.json")
        found = numpy.abs(self.read("s.out.h5"))
        share = numpy.mean((found > 0) & (found < numpy.finfo("f4").tiny))
        self.assertGreater(share, 0.01)
        with open(self.path("r.json")) as file:
            note, = [note for note in json.load(file)["notes"] if "subnormal" in note]
        self.assertTrue(note.startswith(f"{100 * share:.0f} % of all cells are subnormal"), (note, share))
        self.assertIn("--precision float64", note)
        self.ok("verify", "s.out.h5")
        for options in (("--precision", "float64"), ("--steps", 0)):
            self.assertNotIn("subnormal", self.ok("s.h5", *CPU, *options, "--no-output").stdout)
        self.write("s.h5", u.astype("f8") * 1e-272, {"stencil": None, "problem": "heat", "steps": 30})
        text = self.ok("s.h5", *CPU, "--no-output").stdout
        self.assertIn("2.2e-308", text)
        self.assertNotIn("--precision", text)

    def test_command_line_in_any_order(self):
        self.make()
        self.ok("--sync", "grid", "p.h5", "--steps=3", "-qo", "x.h5", *CPU)
        self.ok("run", "-f", "--output=x.h5", "--steps", "99", "--steps", "3", *CPU, "--", "p.h5")
        self.assertEqual(self.attribute("x.h5", "provenance", "steps_done"), 3)

    def test_force(self):
        self.make()
        self.ok("p.h5", "--steps", 1)
        self.ok("p.h5", "--steps", 2, code=73)
        self.ok("p.h5", "--steps", 2, "--force")
        self.assertEqual(self.attribute("p.out.h5", "provenance", "steps_done"), 2)

    def test_no_output(self):
        self.make()
        self.ok("p.h5", "--steps", 1, "--no-output")
        self.assertEqual(os.listdir(self.directory), ["p.h5"])

    def test_quiet(self):
        self.make()
        done = self.ok("p.h5", "--steps", 1, "--quiet")
        self.assertEqual((done.stdout, done.stderr), ("", ""))

    def test_report_fits_80_columns(self):
        self.ok("new", "p.h5", "--problem", "poisson", "--accelerate", "none", "--size", "33x21x17", "--boundary", "fixed,mirror,periodic")
        for arguments in (("--steps", 100000), ("--dry-run",)):
            done = self.ok("p.h5", "--force", *arguments)
            for line in done.stdout.splitlines():
                self.assertLessEqual(len(line), 80, line)
            for label in ("Problem", "Boundary", "Cells", "Strategy", "Steps", "Output"):
                self.assertRegex(done.stdout, f"(?m)^{label} ")

    def test_report_for_people(self):
        self.make()
        done = self.ok("p.h5", "--steps", 200)
        for label in ("Time/step", "Rate", "Bandwidth", "Residual", "Seconds"):
            self.assertRegex(done.stdout, f"(?m)^{label} ")
        self.assertIn("all steps done", done.stdout)

    def test_dry_run(self):
        self.make()
        done = self.ok("p.h5", "--dry-run", "--json", "plan.json", *CPU)
        self.assertRegex(done.stdout, r"(?m)^Memory +host .* of .* available$")
        self.assertRegex(done.stdout, r"(?m)^Partition +1 of 1: 17 x 15 updated cells$")
        self.assertRegex(done.stdout, r"(?m)^Launch ")
        self.assertEqual(sorted(os.listdir(self.directory)), ["p.h5", "plan.json"])
        with open(self.path("plan.json")) as file:
            plan = json.load(file)
        self.assertTrue(plan["dry_run"])
        self.assertRegex(done.stdout, r"(?m)^Stores +through the cache$")
        self.assertEqual(plan["plan"]["stores"], "cached")
        self.assertNotIn("result", plan)
        self.assertGreater(plan["plan"]["memory_bytes"]["host_need"], 17 * 19 * 8)

    def test_one_is_singular(self):
        self.write("p.h5", field(3, 3))
        one = ("p.h5", "--steps", 1, "--check-every", 1, "-j", 1, *CPU)
        printed = self.ok(*one, "--dry-run").stdout + self.ok(*one).stdout + self.ok("verify", "p.out.h5").stdout
        printed += self.ok("p.h5", "--no-output", "--steps", 1, "--tolerance", "1e-300", *CPU, code=2).stderr
        self.write("x.h5", datasets={"x": 1.0})
        printed += self.ok("compare", "x.h5", "x.h5", "--dataset", "x").stdout
        for singular in ("1 thread,", "1 updated cell\n", "every 1 step\n", "1 step\n", "1 value equal", "in 1 step:",
                         "1 cell "):
            self.assertIn(singular, printed)
        self.assertNotRegex(printed, r"\b1 (updated )?(cells|steps|threads|values|parts|blocks)\b")

    def test_stores_in_the_report(self):
        def stores(size, threads, *more):
            self.ok("new", "p.h5", "--stencil", "j2d5pt", "--size", size, "--steps", 40, "--force")
            self.ok("p.h5", *CPU, "--sweep", "stream", "--threads", threads, "--json", "run.json", "--force", *more)
            with open(self.path("run.json")) as file:
                report = json.load(file)
            return report["plan"]["stores"], report.get("result", {}).get("stores")

        plan, result = stores("33x33", 2)
        self.assertEqual(plan, "cached")
        self.assertEqual(result, {"threads": 2, "streaming_threads": 0, "cached_step_us": None, "streaming_step_us": None})
        plan, result = stores("512x513", 1)
        self.assertIn(plan, ("tried", "streaming"))  # as large as the machine says that its cache is
        self.assertIn(result["streaming_threads"], (0, 1))
        if plan == "tried":
            self.assertEqual(result["streaming_threads"], int(result["streaming_step_us"] < result["cached_step_us"]))
        self.assertEqual(stores("512x513", 1, "--dry-run"), (plan, None))
        self.ok("bench", "stores", "--size", "33x33", "--samples", 1, "--iterations", 3, "--threads", 1, *CPU)

    def test_not_converged(self):
        self.ok("new", "p.h5", "--problem", "poisson", "--accelerate", "none", "--size", "33x33")
        done = self.ok("p.h5", "--steps", 50, code=2)
        self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertIn("not converged in 50 steps", done.stderr)
        self.ok("verify", "p.out.h5")
        self.ok("p.h5", "--steps", 50, "--rtol", "none", "--force")

    def test_no_step_has_no_residual(self):
        self.ok("new", "p.h5", "--problem", "poisson", "--accelerate", "none", "--size", "33x33")
        done = self.ok("p.h5", "--steps", 0, "--tolerance", "1e-6", code=2)
        self.assertIn("not converged in 0 steps: no residual yet, limit rtol 1e-08, atol 1e-06", done.stderr)

    def test_diverged(self):
        self.ok("new", "p.h5", "--problem", "laplace", "--accelerate", "none", "--size", "33x33", "--initial", "random", "--omega", 9)
        done = self.ok("p.h5", "--check-every", 10, code=2)
        self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertIn("diverged", done.stderr)
        self.assertTrue(os.path.exists(self.path("p.out.h5")))
        report = json.loads(self.ok("p.h5", "--force", "--json", "-", code=2).stdout)
        self.assertEqual(report["result"]["reason"], "diverged")
        self.assertIsNone(report["result"]["residual"])

    def test_options_override_attributes(self):
        self.write("p.h5", field(9, 9), {"problem": "laplace", "stencil": None, "steps": 5, "norm": "l2"})
        report = json.loads(self.ok("p.h5", "--stencil", "j2d9pt", "--boundary", "periodic,mirror", "--precision", "float32",
                                    "--norm", "max", "--check-every", 2, "--json", "-").stdout)
        self.assertIsNone(report["problem"]["problem"])
        self.assertEqual(report["problem"]["stencil"], "j2d9pt")
        self.assertEqual(report["problem"]["boundary"], ["periodic", "mirror"])
        self.assertEqual(report["problem"]["precision"], "float32")
        self.assertEqual(report["stop"], {"steps": 5, "time_end": None, "rtol": None, "atol": None, "threshold": None, "norm": "max",
                                          "check_every": 2, "predicted_steps": None})
        self.assertEqual(report["result"]["history"]["step"], [2, 4, 5])
        self.ok("verify", "p.out.h5")
        self.write("q.h5", field(9, 9), {"stencil": None, "steps": 7},
                   {"stencil/offsets": numpy.array([[0, 0], [0, 1]], "i4"), "stencil/weights": [0.5, 0.5]})
        report = json.loads(self.ok("q.h5", "--problem", "laplace", "--tolerance", "1e-30", "--json", "-", code=2).stdout)
        self.assertEqual(report["problem"]["problem"], "laplace")
        self.assertEqual(report["stop"]["steps"], 7)

    def test_converted_data(self):
        u = (field(9, 9) * 100).astype("i4")
        self.write("reference.h5", u.astype("f8"))
        self.ok("reference.h5", "--steps", 3)
        for name, dtype in (("big.h5", ">f8"), ("integer.h5", "i4"), ("short.h5", ">i2")):
            self.write(name, u.astype(dtype))
            self.ok(name, "--steps", 3)
            self.ok("compare", "reference.out.h5", name.replace(".h5", ".out.h5"))
        self.write("packed.h5", lambda file: file.create_dataset("u", data=u.astype("f8"), chunks=(4, 5), compression="gzip"))
        self.ok("packed.h5", "--steps", 3)
        self.ok("compare", "reference.out.h5", "packed.out.h5")

    def test_nonfinite_when_allowed(self):
        u = field(9, 9)
        u[4, 4] = numpy.nan
        self.write("p.h5", u)
        self.ok("p.h5", "--steps", 2, "--allow-nonfinite", code=2)
        self.assertTrue(numpy.isnan(self.read("p.out.h5")[4, 4]))
        self.ok("verify", "p.out.h5")

    def test_same_run_twice(self):
        self.make()
        self.ok("p.h5", "--steps", 11, "-o", "a.h5")
        self.ok("p.h5", "--steps", 11, "-o", "b.h5", "--sync", "grid")
        self.assertEqual(self.read("a.h5").tobytes(), self.read("b.h5").tobytes())
        self.ok("compare", "a.h5", "b.h5", "--dataset", "/residual")

    def test_output_is_an_input(self):
        self.ok("new", "p.h5", "--problem", "heat", "--size", "19x17", "--initial", "sine", "--steps", 4)
        self.ok("p.h5", "-o", "once.h5", "--steps", 8)
        self.ok("p.h5", "-o", "half.h5")
        self.ok("half.h5", "-o", "twice.h5", "--steps", 8)
        self.ok("compare", "once.h5", "twice.h5")

    def test_fewer_threads_than_asked_for(self):
        """What a thread keeps of its own is of the size of its share: a smaller team would write over each other's."""
        self.ok("new", "few.h5", "--stencil", "j3d7pt", "--size", "24x90x30", "--initial", "random", "--steps", 9)
        for sync in ("relaunch", "openmp", "grid"):
            done = self.call("few.h5", "--sync", sync, "--sweep", "pipeline", "--depth", 3, "--threads", 6, "--device", "cpu",
                             env={**os.environ, "OMP_THREAD_LIMIT": "2"})
            self.assertEqual((done.returncode, done.stderr),
                             (69, "stencil: OpenMP gave 2 threads where 6 were asked for: give --threads 2 (or unset OMP_DYNAMIC or "
                              "OMP_THREAD_LIMIT)\n"))
            self.assertFalse(os.path.exists(self.path("few.out.h5")))
        self.ok("few.h5", "--threads", 2, "--device", "cpu", env={**os.environ, "OMP_THREAD_LIMIT": "2"})

    def test_small_stacks(self):
        """Kernels keep results on the stack of their thread: too small a one was stepped over, guard page and all."""
        self.ok("new", "p.h5", "--stencil", "j3d7pt", "--size", "40x30x20", "--initial", "random", "--steps", 8)
        for size, told in ("64k", 64), ("16", 16), ("65536B", 64):
            done = self.call("p.h5", "-f", "--threads", 2, *CPU, env={**os.environ, "OMP_STACKSIZE": size})
            self.assertEqual((done.returncode, done.stderr),
                             (64, f"stencil: OMP_STACKSIZE: {told} KiB are too few: give 256K or more\n"))
        self.ok("p.h5", "-f", "--threads", 2, "--sweep", "pipeline", *CPU, env={**os.environ, "OMP_STACKSIZE": "512k"})
        done = subprocess.run(["sh", "-c", f"ulimit -s 128; exec {STENCIL} p.h5 -f --device cpu"], cwd=self.directory,
                              capture_output=True, encoding="utf-8", timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr),
                         (64, "stencil: a stack of 128 KiB is too small: give 'ulimit -s' 256 or more\n"))

    def test_processors(self):
        """All that the process may use, also where OpenMP binds its threads to one each."""
        mine = os.sched_getaffinity(0)
        for bind in "false", "true":
            for use in mine, {min(mine)}:
                told = self.call("info", "--json", "-", env={**os.environ, "OMP_PROC_BIND": bind},
                                 preexec_fn=lambda use=use: os.sched_setaffinity(0, use))
                self.assertEqual(json.loads(told.stdout)["cpu"]["processors"], len(use))

    def test_threads(self):
        self.make()
        report = json.loads(self.ok("p.h5", "--steps", 3, "--threads", 1, "--json", "-", *CPU).stdout)
        self.assertEqual(report["plan"]["threads"], 1)
        self.ok("verify", "p.out.h5", "--threads", 2)


class Barriers(CommandTest):
    """Persistent loops when threads come late or never; the host's own loops have no barrier to disturb."""

    def barriers(self):
        info = json.loads(self.ok("info", "--json", "-").stdout)
        return [s["name"] for s in info["strategies"] if s["persistent"]]

    def test_without_barrier_there_is_nothing_to_disturb(self):
        self.make()
        info = json.loads(self.ok("info", "--json", "-").stdout)
        host = [s["name"] for s in info["strategies"] if not s["persistent"]]
        self.assertLessEqual({"relaunch", "graph", "openmp", "single-thread"}, set(host))
        for name in host:
            for option in (("--inject-delay", 5), ("--inject-absent", 5)):
                done = self.ok("p.h5", *CPU, "-j", 2, "--steps", 30, "--sync", name, *option, code=64)
                self.assertIn("persistent", done.stderr)
        done = self.ok("p.h5", *CPU, "-j", 1, "--steps", 30, "--sync", "grid", "--inject-absent", 5, code=64)
        self.assertIn("--threads 2", done.stderr)

    def test_late_threads_change_nothing(self):
        self.make()
        self.ok("p.h5", *CPU, "--steps", 30, "-o", "right.h5")
        for name in self.barriers():
            self.ok("p.h5", *CPU, "-j", 3, "--steps", 30, "--sync", name, "--inject-delay", 200000, "-o", "late.h5", "-f")
            self.ok("compare", "right.h5", "late.h5")

    def test_absent_thread_ends_the_run(self):
        self.make()
        for name in self.barriers():
            for sweep, depth, ends in (("stream", 1, 5), ("pipeline", 4, 8)):
                done = self.call("p.h5", *CPU, "-j", 2, "--steps", 30, "--sync", name, "--inject-absent", 5,
                                 "--barrier-timeout", 0.1, "--sweep", sweep, "--depth", depth)
                self.assertEqual(done.returncode, 70, done.stderr)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                self.assertIn(f"barrier {name}: in step {ends} ", done.stderr)
                self.assertFalse(os.path.exists(self.path("p.out.h5")))


class Json(CommandTest):
    def test_passes_on_a_gpu(self):
        """Of a machine in a file, which knows kernels as if the pipeline sweep had been compiled for it: what a pass makes, and
        the bound of its arithmetic: 5 fma for each cell, those that are computed twice included."""
        machine = json.loads(pathlib.Path(__file__).with_name("h200-x8.json").read_text(encoding="utf-8"))
        machine["kernels"] += [dict(kernel, kernel=kernel["kernel"].replace("stream", "pipeline"))
                               for kernel in machine["kernels"] if kernel["kernel"].endswith("stream none")]
        with open(self.path("machine.json"), "w", encoding="utf-8") as file:
            json.dump(machine, file)
        self.ok("new", "p.h5", "--problem", "laplace", "--accelerate", "none", "--size", "2000x3000", "--precision", "float64")
        # A pass may have a checked step anywhere, so that checks make no pass shorter.
        for every, depth in ((110, 16), (5, 5), (20, 16), (100, 16)):
            run = ["p.h5", "--steps", 1000, "--check-every", every, "--sweep", "pipeline", "--depth", 16, "--sync", "relaunch", "--gpus", 1,
                   "--machine", "machine.json", "--dry-run", "--no-output"]
            shown = " ".join(self.ok(*run).stdout.split())
            self.assertRegex(shown, rf"Passes of {depth} steps; each reads and writes the field once, in tiles of {608 - 2 * depth} x "
                                    r"\d+ cells that overlap: [0-9.]+ % of all cells are computed twice")
            report = json.loads(self.ok(*run, "--json", "-").stdout)
            again = report["plan"]["computed_twice"]
            self.assertTrue(0.2 < again < 1.5)
            self.assertAlmostEqual(report["plan"]["pass_steps"], depth)
            bound = {r["resource"]: r for r in report["bound"]["resources"]}
            self.assertAlmostEqual(bound["memory"]["need_per_cell"], 16 / depth)
            self.assertEqual(report["plan"]["depth"], depth)
            self.assertAlmostEqual(bound["arithmetic"]["need_per_cell"], 5 * (1 + again))
            self.assertAlmostEqual(bound["arithmetic"]["peak_per_s"] / (132 * 1.98e9 * 64), 1)
            self.assertTrue(0 < bound["shared memory"]["need_per_cell"] < 0.6)
            self.assertEqual({r["used"] for r in bound.values()}, {None})
            self.assertFalse(report["bound"]["nominal"])
            self.assertNotIn("nominal", shown)
        # A source changes nothing of that. The first step of a run without a check on its way is a pass by itself, too.
        self.ok("new", "source.h5", "--problem", "poisson", "--accelerate", "none", "--size", "2000x3000", "--precision", "float64")
        for steps, every, passes, text in ((1000, 17, [12, 4, 1], "12 steps, the last one before a check of the residual has 4, the step that is checked is one by itself"),
                                           (1000, 9, [8, 1], "8 steps, the step that is checked is one by itself"),
                                           (9, 100, [1, 7, 1], "7 steps, the first and the checked step are each one by itself"),
                                           (1000, 2, [1, 1], None)):
            run = ["source.h5", "--steps", steps, "--check-every", every, "--depth", 12, "--sync", "relaunch", "--gpus", 1,
                   "--machine", "machine.json", "--dry-run", "--no-output"]
            shown = " ".join(self.ok(*run).stdout.split())
            plan = json.loads(self.ok(*run, "--json", "-").stdout)["plan"]
            self.assertEqual((plan["sweep"], plan["depth"]), ("pipeline", max(passes)))
            self.assertAlmostEqual(plan["pass_steps"], sum(passes) / len(passes))
            self.assertIn(f"Passes of {text}; each reads" if text else "there is 1 step at most", shown)

    def test_passes_that_are_made(self):
        """Passes end where a residual is checked, and where the run does. The first step is one by itself where the criterion
        needs its residual. What is told of passes, of bytes and of cells computed twice is a mean over these."""
        self.ok("new", "p.h5", "--stencil", "j2d5pt", "--size", "242x302", "--initial", "random")
        criterion = ("--rtol", 1e-9)
        for steps, every, depth, more, passes in ((1, 100, 64, (), [1]), (7, 5000, 64, (), [7]), (200, 10, 64, (), [10]),
                                                  (300, 100, 64, (), [64, 36]), (20, 1, 8, (), [1]), (30, 100, 4, (), 7 * [4] + [2]),
                                                  (7, 5000, 64, criterion, [1, 6]), (99, 33, 64, criterion, [33])):
            with self.subTest(steps=steps, every=every, depth=depth, more=more):
                done = self.call("p.h5", "--steps", steps, "--check-every", every, "--sweep", "pipeline", "--depth", depth, "-j", 2,
                                 *more, *CPU, "--force", "--no-output", "--json", "r.json")
                self.assertIn(done.returncode, (0, 2), done.stderr)
                with open(self.path("r.json"), encoding="utf-8") as file:
                    report = json.load(file)
                plan, told, longest = report["plan"], " ".join(done.stdout.split()), max(passes)
                self.assertEqual(plan["depth"], longest)
                self.assertAlmostEqual(plan["pass_steps"], sum(passes) / len(passes))
                self.assertAlmostEqual(report["rates"]["bytes_per_cell"], 16 * len(passes) / sum(passes))
                # Each step of a pass needs a row more of the other thread's than the step behind it.
                self.assertGreaterEqual(plan["tile"][1], 240)
                beside = sum(2 * 240 * row for steps_made in passes for row in range(steps_made))
                self.assertAlmostEqual(plan["computed_twice"], beside / (sum(passes) * 240 * 300))
                self.assertEqual(f"Passes of {longest} steps" in told, longest > 1)
                self.assertEqual("once in" in told, longest > 1)

    def test_sweep_is_named(self):
        """The report names the sweep, and where that makes fewer steps at once than was asked for, why."""
        self.ok("new", "p.h5", "--stencil", "j2d5pt", "--size", "242x302", "--initial", "random")
        for more, note in ((("--sweep", "naive"), None), (("--sweep", "stream"), None), (("--sweep", "pipeline"), None),
                           (("--sweep", "pipeline", "--depth", 1), None), (("--sweep", "pipeline", "--depth", 10), None),
                           (("--depth", 64), "--depth 64: from one residual check to the next there are 10 steps at most"),
                           (("--depth", 8, "--check-every", 1), "--depth 8: from one residual check to the next there is 1 step at most"),
                           (("--sweep", "pipeline", "--check-every", 1),
                            "pipeline makes one step at a time here: every step is checked (--check-every 1)"),
                           (("--sweep", "pipeline", "--steps", 1), "pipeline makes one step at a time here: the run has no more")):
            every = () if "--check-every" in more else ("--check-every", 10)
            steps = () if "--steps" in more else ("--steps", 20)
            for way in ((), ("--dry-run",)):
                with self.subTest(more=more, way=way):
                    told = " ".join(self.ok("p.h5", "--no-output", *steps, *every, *more, *way, *CPU).stdout.split())
                    sweep = more[1] if more[0] == "--sweep" else "pipeline"
                    self.assertRegex(told, rf" Strategy [a-z-]+, sweep {sweep}, on CPU: ")
                    self.assertEqual(note is not None, "at a time here" in told or "Note --depth" in told)
                    self.assertIn(f"Note {note}" if note else "", told)
        self.ok("new", "small.h5", "--stencil", "j2d5pt", "--size", "40x10")
        told = " ".join(self.ok("small.h5", "--sweep", "pipeline", "--parts", 8, "--cut", "8,1", "--dry-run", *CPU).stdout.split())
        self.assertIn("Note pipeline makes one step at a time here: the field, its parts or the rows of a thread are too small", told)

    def test_tiles_smaller_than_what_they_need(self):
        """Five rows of each thread, and 189 above and below them for the first step of a pass; no tile is wider than the field."""
        self.ok("new", "p.h5", "--stencil", "j2d49pt", "--size", "100x46", "--initial", "random")
        run = ("p.h5", "--steps", 64, "--check-every", 64, "--depth", 64, "--threads", 8, *CPU)
        told = " ".join(self.ok(*run, "--dry-run").stdout.split())
        again = json.loads(self.ok(*run, "--dry-run", "--json", "-").stdout)["plan"]["computed_twice"]
        self.assertAlmostEqual(again, sum(14 * 3 * row for row in range(64)) / (40 * 64))
        self.assertIn(f"in tiles of 94 x 5 cells that overlap: a cell is computed {1 + again:.3g} times in the mean", told)

    def test_bound(self):
        """What a step needs of each resource, by passes of several steps less memory. How much of a CPU's was used nobody knows:
        its peaks are figures of no CPU in particular."""
        self.ok("new", "p.h5", "--problem", "laplace", "--accelerate", "none", "--size", "300x200", "--precision", "float32")
        for depth in (1, 4):
            run = ["p.h5", "--steps", 20, "--check-every", 8, "--sweep", "pipeline", "--depth", depth, "-j", 1, *CPU]
            report = json.loads(self.ok(*run, "--json", "-", "--no-output").stdout)
            bound = {r["resource"]: r for r in report["bound"]["resources"]}
            self.assertEqual(bound["memory"]["need_per_cell"], 8 / depth)
            self.assertEqual(bound["shared memory"]["cells_per_s"], None)
            self.assertEqual(bound["arithmetic"]["need_per_cell"], 5)
            known = [r for r in bound.values() if r["cells_per_s"] is not None]
            for r in known:
                self.assertAlmostEqual(r["cells_per_s"] * r["need_per_cell"] / r["peak_per_s"], 1)
                self.assertIsNone(r["used"])
            self.assertTrue(report["bound"]["nominal"])
            least = min(known, key=lambda r: r["cells_per_s"])
            self.assertEqual(report["bound"]["resource"], least["resource"])
            text = self.ok(*run, "--dry-run", "--no-output").stdout
            self.assertRegex(text, f"\nBound +{least['resource']}: [0-9.]+ Gcell/s = [0-9.]+ G (bytes|fma)/s / [0-9.]+ per cell")
            self.assertNotIn("shared memory", text)
            self.assertIn("peaks are nominal", text)
            told = self.ok(*run, "--no-output").stdout
            bounds = ", ".join(f"{r['resource']} allows {1e-9 * r['cells_per_s']:.4g} Gcell/s"
                               for r in sorted(known, key=lambda r: r["cells_per_s"]))
            self.assertIn(f"Bound {bounds} (nominal peaks, not measured here)", " ".join(told.split()))
            self.assertNotRegex(told, "% of (memory|arithmetic)")

    def test_contents(self):
        self.ok("new", "p.h5", "--problem", "poisson", "--accelerate", "none", "--size", "21x19x17", "--precision", "float32",
                "--boundary", "fixed,mirror,periodic")
        done = self.ok("p.h5", "--steps", 25, "--rtol", "1e-9", "--atol", "1e-30", "--check-every", 10, "--sweep", "stream",
                       "--json", "-", code=2)
        report = json.loads(done.stdout)
        self.assertEqual(report["schema_version"], 3)
        self.assertEqual(report["input"], "p.h5")
        self.assertEqual(report["output"], "p.out.h5")
        self.assertEqual(report["command_line"],
                         "stencil p.h5 --steps 25 --rtol 1e-9 --atol 1e-30 --check-every 10 --sweep stream --json -")
        problem = report["problem"]
        self.assertEqual(problem["extent"], [17, 19, 21])
        self.assertEqual(problem["updated"], [15, 19, 21])
        self.assertEqual(problem["updated_cells"], 15 * 19 * 21)
        self.assertEqual(problem["boundary"], ["fixed", "mirror", "periodic"])
        self.assertEqual(problem["spacing"], [1 / 16, 1 / 19, 1 / 21])
        self.assertEqual(problem["omega"], 1.0)
        self.assertIsNone(problem["dt"])
        result, rates, stop = report["result"], report["rates"], report["stop"]
        self.assertAlmostEqual(stop.pop("threshold"), 1e-9 * result["residual_first"], 15)
        self.assertGreater(stop.pop("predicted_steps"), 100)
        self.assertEqual(stop, {"steps": 25, "time_end": None, "rtol": 1e-9, "atol": 1e-30, "norm": "l2", "check_every": 10})
        self.assertEqual((result["reason"], result["exit_code"], result["steps"]), ("not_converged", 2, 25))
        self.assertEqual(result["history"]["step"], [10, 20, 25])
        self.assertEqual(result["history"]["residual"], self.read("p.out.h5", "residual").tolist())
        self.assertEqual(result["residual"], result["history"]["residual"][-1])
        self.assertEqual(rates["bytes_per_cell"], 12)
        self.assertAlmostEqual(rates["bytes_per_s"] / rates["cells_per_s"], 12)
        self.assertAlmostEqual(rates["step_us"] * rates["cells_per_s"] * 1e-6 / problem["updated_cells"], 1)
        self.assertEqual(set(report["times_s"]), {"read", "prepare", "compute", "finish", "write"})

    def test_quoted_command_line(self):
        self.make("it's here.h5")
        report = json.loads(self.ok("it's here.h5", "--steps", 1, "--json", "-").stdout)
        self.assertEqual(report["command_line"], "stencil 'it'\\''s here.h5' --steps 1 --json -")

    def test_file(self):
        self.make()
        self.ok("p.h5", "--steps", 1, "--json", "r.json")
        self.ok("p.h5", "--steps", 1, "--no-output", "--json", "r.json", code=73)
        self.ok("p.h5", "--steps", 1, "--no-output", "--json", "r.json", "--force")
        self.ok("p.h5", "--steps", 1, "--no-output", "--json", "/dev/null")
        self.assertEqual(sorted(os.listdir(self.directory)), ["p.h5", "p.out.h5", "r.json"])


class Terminal(CommandTest):
    def run_on_terminal(self, enough, **environment):
        self.make("p.h5", "--size", "129x129", "--force")
        return self.on_terminal(enough, 1, b"Strategy", "p.h5", "--no-output", "--steps", str(10**14), *CPU, "--effort", "estimate",
                                **environment)[0]

    def on_terminal(self, enough, seconds, started, *arguments, **environment):
        """What appears on a terminal that is the command's stderr, and its last line: from a line of stdout on that begins
        with `started` (empty: at once) until `enough` says so or the seconds are over; then the command is interrupted."""
        leader, follower = pty.openpty()
        process = subprocess.Popen([STENCIL, *arguments], cwd=self.directory, stdout=subprocess.PIPE, stderr=follower,
                                   env={**os.environ, "TERM": "xterm", **environment})
        os.close(follower)
        while started and not process.stdout.readline().startswith(started):
            pass
        shown, interrupted, end = b"", False, time.monotonic() + seconds
        while True:
            if not interrupted and (enough(shown) or time.monotonic() > end):
                process.send_signal(signal.SIGINT)
                interrupted = True
            try:
                if select.select([leader], [], [], 0.05)[0]:
                    chunk = os.read(leader, 4096)
                    if not chunk:
                        break
                    shown += chunk
            except OSError:  # the other side is closed
                break
        os.close(leader)
        process.stdout.close()
        self.assertEqual(process.wait(), 130)
        shown = shown.decode()
        before, line = shown.rsplit("stencil: ", 1)
        self.assertIn("interrupted", line)
        return before, line

    def test_progress(self):
        for locale in ("C", "C.UTF-8"):
            self.check_progress(self.run_on_terminal(lambda shown: shown.count(b"\r") >= 3, NO_COLOR="", LC_ALL=locale))

    def check_progress(self, shown):
        lines = [line for line in re.split("\r|\x1b\\[K", shown) if line]
        self.assertTrue(lines, "no progress was shown")
        for line in lines:
            self.assertRegex(line, r"^\[[#.]+\] +\d+ %  ETA .*  step \d+.* Gcell/s$")
            self.assertLess(len(line), 80)
        self.assertTrue(shown.endswith("\r\x1b[K"), "the bar stays")

    def test_progress_of_files(self):
        self.make("p.h5", "--size", "129x129")
        shown, _ = self.on_terminal(lambda shown: b"ckpt" in shown and b"frame" in shown, 60, b"", "p.h5", "--steps", "100000000",
                                    "--device", "cpu", "--checkpoint-every", "1000", "--save-every", "1000", NO_COLOR="")
        self.assertRegex(shown, r"\[[#.]+\] +\d+ %  ETA \S.*  step \d+  ckpt \d+000  frame \d+")
        for line in re.split("\r|\x1b\\[K|\n", shown):
            self.assertLess(len(line), 80)

    def test_progress_of_verify(self):
        self.make("p.h5", "--size", "129x129")
        self.ok("p.h5", "--steps", 3, *CPU)
        with h5py.File(self.path("p.out.h5"), "r+") as file:
            file["provenance"].attrs["steps_done"] = file.attrs["steps_total"] = 10**14
        shown, line = self.on_terminal(lambda shown: shown.count(b"\r") >= 3, 60, b"", "verify", "p.out.h5", NO_COLOR="")
        self.check_progress(shown)
        self.assertIn("years  step", shown)
        self.assertRegex(line, r"^interrupted after step \d+ of 100000000000000: 'p.out.h5' is not verified\s+$")

    def test_no_progress_where_it_is_not_wanted(self):
        for environment in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            self.assertEqual(self.run_on_terminal(lambda shown: False, **environment), "")


class Signals(CommandTest):
    def interrupt(self, number, sync):
        self.make("p.h5", "--size", "65x65", "--force")
        process = subprocess.Popen([STENCIL, "p.h5", "--steps", str(10**14), "--check-every", "50", "--sync", sync, "--force", *CPU],
                                   cwd=self.directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
        while not process.stdout.readline().startswith("Strategy"):
            pass
        time.sleep(0.3)
        process.send_signal(number)
        printed, errors = process.communicate(timeout=60)
        self.ended(process, 128 + number, errors)
        self.assertEqual(len(errors.splitlines()), 1)
        self.assertIn("interrupted after step", errors)
        self.assertIn("interrupted", printed)
        self.assertEqual(sorted(os.listdir(self.directory)), ["p.h5", "p.out.h5"])
        self.assertGreater(self.attribute("p.out.h5", "provenance", "steps_done"), 0)
        self.ok("verify", "p.out.h5")

    @fault("SIGINT, SIGTERM or SIGHUP during the run",
           "after which step it ended", 130, "the result of that step, from which it goes on")
    def test_interrupted_run_keeps_its_last_step(self):
        self.interrupt(signal.SIGINT, "relaunch")
        for number, sync in drawn(1, ((signal.SIGINT, "grid"), (signal.SIGTERM, "relaunch"), (signal.SIGHUP, "grid"))):
            self.interrupt(number, sync)

    def test_timeout_keeps_every_result(self):
        """timeout(1) signals the command and then its process group, within moments: both mean one stop. Delays keep
        the number of steps small that verify has to repeat."""
        self.make("p.h5", "--size", "33x33")
        run = ("p.h5", "--sync", "grid", "--inject-delay", "1000000", "--threads", "2", *CPU)
        start = time.monotonic()
        self.ok(*run, "--no-output", "--steps", 3)
        seconds = str(0.3 + 5 * (time.monotonic() - start))  # every step but the first few is behind the start
        kinds = {"TERM": 14, "INT": 13, "HUP": 13}
        names = drawn(5 if SLOW else 10, [(kind, f"{kind}{number}.h5") for kind, count in kinds.items() for number in range(count)])
        for first in range(0, len(names), 5):
            started = [(name, subprocess.Popen(["timeout", "-s", kind, seconds, STENCIL, *run, "-o", name, "--steps",
                                                str(10**14)], cwd=self.directory, stdout=subprocess.PIPE,
                                               stderr=subprocess.PIPE, encoding="utf-8", start_new_session=True))
                       for kind, name in names[first:first + 5]]
            for name, process in started:
                printed, errors = process.communicate(timeout=60)
                self.ended(process, 124, errors)
                self.assertRegex(printed, r"(?m)^Steps +[1-9][0-9 ]* of .*: interrupted$", errors)
                self.assertGreater(self.attribute(name, "provenance", "steps_done"), 1)
        self.assertEqual(len(os.listdir(self.directory)), 1 + len(names))
        for _, name in names:
            self.ok("verify", name, "--threads", 1)
            steps = int(self.attribute(name, "/", "steps_total")) + 5
            self.ok(name, "--steps", steps, "-fo", "more.h5", *CPU)
            self.assertEqual(self.attribute("more.h5", "provenance", "steps_done"), 5)
            self.ok("verify", "more.h5", "--threads", 1)

    def test_second_kind_of_signal_is_the_same_wish(self):
        process = self.start_forever()
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGHUP)
        errors = process.communicate(timeout=60)[1]
        self.assertIn(process.returncode, (128 + signal.SIGHUP, 128 + signal.SIGTERM), errors)
        self.ok("verify", "p.out.h5")

    def start_forever(self):
        self.make("p.h5", "--size", "33x33")
        process = self.start("p.h5", "--steps", str(10**14), "--effort", "estimate", *CPU)
        while not process.stdout.readline().startswith("Strategy"):
            pass
        time.sleep(0.3)
        return process

    @fault("a second signal, more than a second later", "nothing", -2)
    def test_later_signal_ends_at_once(self):
        """A thread that never arrives keeps the run from the end of its step, which the first signal waits for."""
        self.make("p.h5", "--size", "65x65")
        process = self.start("p.h5", "--sync", "grid", "--threads", "2", "--device", "cpu", "--inject-absent", "5",
                             "--barrier-timeout", "600")
        while not process.stdout.readline().startswith("Strategy"):
            pass
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        time.sleep(1.2)
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.ended(process, -signal.SIGINT)
        self.assertEqual(os.listdir(self.directory), ["p.h5"])

    def written(self, pid):
        """Whether the process has written into a file of the directory that has no final name yet."""
        try:
            for number in os.listdir(f"/proc/{pid}/fd"):
                link = f"/proc/{pid}/fd/{number}"
                target = os.readlink(link)
                if target.startswith(self.directory) and (target.endswith("(deleted)") or target.endswith(".tmp")):
                    with open(link, "rb") as file:
                        os.lseek(file.fileno(), 1 << 20, os.SEEK_DATA)  # fails where there is none: the first ones are objects
                        return True
        except OSError:
            pass
        return False

    def start(self, *arguments):
        def limit():
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))

        return subprocess.Popen([STENCIL, *arguments], cwd=self.directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                encoding="utf-8", preexec_fn=limit)

    def signal_while_writing(self, process, number):
        """Sends a signal as soon as something is written; gives the exit code and standard error."""
        while process.poll() is None and not self.written(process.pid):
            pass
        process.send_signal(number)
        errors = process.communicate(timeout=60)[1]
        self.codes.add(process.returncode)
        return process.returncode, errors

    @fault("a signal while the result is written", "nothing: it interrupts nothing", 0, "the result")
    def test_signal_while_the_result_is_written(self):
        self.make("p.h5", "--size", "3000x3000")
        whole = None
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            process = self.start("p.h5", "--steps", "1", "--force", *CPU)
            while not process.stdout.readline().startswith("Strategy"):
                pass
            code, errors = self.signal_while_writing(process, number)
            # SIGQUIT wants no orderly end, only no torn file; the others interrupt nothing behind the last step.
            self.assertEqual((code, errors), (-number if number == signal.SIGQUIT else 0, ""))
            self.assertEqual(sorted(os.listdir(self.directory)), ["p.h5", "p.out.h5"])
            self.assertEqual(self.attribute("p.out.h5", "provenance", "steps_done"), 1)
            size = os.path.getsize(self.path("p.out.h5"))
            self.assertIn(whole, (None, size))
            whole = size

    @fault("a signal while new writes a problem", "that it was interrupted", 130)
    def test_signal_while_a_problem_is_made(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            process = self.start("new", "p.h5", "--stencil", "j3d7pt", "--size", "500x500x500", "--initial", "random")
            code, errors = self.signal_while_writing(process, number)
            self.assertEqual(code, 128 + number, errors)
            self.assertRegex(errors, r"^stencil: interrupted: 'p.h5' is not written\n$")
            self.assertEqual(os.listdir(self.directory), [])

    def test_reader_that_leaves(self):
        self.make()
        process = subprocess.Popen([STENCIL, "p.h5", "--steps", "3", *CPU], cwd=self.directory, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, encoding="utf-8")
        process.stdout.close()
        errors = process.stderr.read()
        process.stderr.close()
        self.assertEqual((process.wait(), errors), (0, ""))
        self.assertTrue(os.path.exists(self.path("p.out.h5")))


if __name__ == "__main__":
    unittest.main()
