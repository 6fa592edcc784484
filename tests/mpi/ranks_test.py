"""Runs as several ranks of mpirun: the bits, the history and the file of one process, whatever ends the run."""
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "app"))

import h5py
import numpy
from harness import DRAW, SLOW, STENCIL, CommandTest

MPIRUN = os.environ["STENCIL_MPIRUN"].split()
# Ranks share two cores, and give way to each other; containers have no ssh, and do not let processes read each other.
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none",
               "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_plm": "isolated",
               "OMPI_MCA_btl_vader_single_copy_mechanism": "none", "OMP_WAIT_POLICY": "passive"}
# The variable in which a rank has its number: MPICH (Hydra) has another one than OpenMPI.
RANK = "PMI_RANK" if "HYDRA" in subprocess.run([*MPIRUN, "--version"], capture_output=True, text=True, check=False).stdout else \
    "OMPI_COMM_WORLD_RANK"
POISSON = ("--problem", "poisson", "--initial", "random")


class RanksTest(CommandTest):
    hidden = {"CUDA_VISIBLE_DEVICES": ""}  # ranks see no GPU, where there are some

    def wrapper(self, text):
        """A script in place of the program, which does something in rank 1."""
        path = self.path("wrapper.sh")
        with open(path, "w") as file:
            file.write(f'#!/bin/bash\nif [ "${RANK}" = 1 ]; then\n{text}\nfi\nexec "$@"\n')
        os.chmod(path, 0o755)
        return path

    def launched(self, ranks, *arguments):
        return [*MPIRUN, "-np", str(ranks), STENCIL, *map(str, arguments)]

    def ranks(self, ranks, *arguments, code=0, wrapper=None, timeout=120):
        """Runs the command as so many ranks; gives a CompletedProcess whose `lines` are the program's on stderr."""
        command = self.launched(ranks, *arguments)
        if wrapper:
            command.insert(len(command) - len(arguments) - 1, wrapper)
        done = subprocess.run(command, cwd=self.directory, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8",
                              timeout=timeout, env={**ENVIRONMENT, **self.hidden})
        self.codes.add(done.returncode)
        done.lines = [line for line in done.stderr.splitlines() if line.startswith("stencil: ")]
        if code is not None:
            self.assertEqual(done.returncode, code, f"{ranks} ranks, {arguments}: {done.stderr}{done.stdout}")
        return done

    def refused_ranks(self, code, wanted, ranks, *arguments, **keywords):
        done = self.ranks(ranks, *arguments, code=code, **keywords)
        self.assertEqual(len(done.lines), 1, done.stderr)
        self.holds(wanted, done.lines[0])
        return done

    def result(self, name):
        """All of a result that a run has made."""
        with h5py.File(self.path(name)) as file:
            return (file["u"][()].tobytes(), file["residual"][()].tobytes(), file["residual_step"][()].tobytes(),
                    {key: str(file.attrs[key]) for key in ("digest_u", "steps_total", "residual_first") if key in file.attrs})

    def same(self, first, second, *more):
        for what, a, b in zip(("u", "residual", "residual_step", "attributes"), self.result(first), self.result(second)):
            self.assertEqual(a, b, f"{what} of {second} is not that of {first}: {more}")

    def begin(self, ranks, *arguments, wait=1.0 + SLOW):
        """Starts ranks; gives the process of mpirun and, once all have begun and some seconds later, those of the ranks."""
        process = subprocess.Popen(self.launched(ranks, *arguments), cwd=self.directory, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
                                   env={**ENVIRONMENT, **self.hidden}, start_new_session=True)
        self.addCleanup(process.kill)
        found = {}
        for _ in range(1200):
            found = self.processes()
            if len(found) == ranks:
                break
            time.sleep(0.025)
        self.assertEqual(len(found), ranks, process.poll())
        time.sleep(wait)
        return process, found

    def processes(self):
        """The processes of ranks in the test's directory, by rank: not those that read files for them."""
        found = {}
        for folder in pathlib.Path("/proc").iterdir():
            try:
                if not folder.name.isdigit() or os.path.realpath(folder / "exe") != os.path.realpath(STENCIL) or \
                        os.path.realpath(folder / "cwd") != os.path.realpath(self.directory):
                    continue
                parent = (folder / "stat").read_text().rsplit(")", 1)[1].split()[1]
                variables = dict(entry.split("=", 1) for entry in (folder / "environ").read_text().split("\0") if "=" in entry)
                reads = os.path.realpath(f"/proc/{parent}/exe") == os.path.realpath(STENCIL)
                if not reads:
                    found[int(variables[RANK])] = int(folder.name)
            except (KeyError, OSError, ValueError):
                continue
        return found

    def nothing_runs(self):
        """No rank is left, nor a process that reads files for one."""
        def left():
            for folder in pathlib.Path("/proc").iterdir():
                try:
                    if folder.name.isdigit() and os.path.realpath(folder / "cwd") == os.path.realpath(self.directory) and \
                            " Z " not in (folder / "stat").read_text():
                        yield (folder / "cmdline").read_text().replace("\0", " ")
                except OSError:
                    continue
        for _ in range(100):
            found = list(left())
            if not found:
                return
            time.sleep(0.1)
        self.fail(f"left running: {found}")

    def wait(self, process, code):
        out, err = process.communicate(timeout=120)
        self.ended(process, code, err + out)
        self.nothing_runs()
        return [line for line in err.splitlines() if line.startswith("stencil: ")], out


class Results(RanksTest):
    """Files of problems of all kinds, against one process."""

    def problem(self, kind, r):
        """Writes p.h5, a problem of some kind; gives options of its run."""
        rank = 3 if kind in ("heat3", "classes3") else 2
        shape = tuple(r.randint(17, 25) for _ in range(rank - 1)) + (r.randint(130, 290),)
        precision = r.choice((numpy.float32, numpy.float64))
        numbers = numpy.random.default_rng(r.randint(0, 1 << 30))
        u = numbers.uniform(-1, 1, shape).astype(precision)
        boundary = [r.choice(("fixed", "periodic", "mirror")) for _ in range(rank)]
        if kind in ("heat", "heat3"):
            self.write("p.h5", u, {"stencil": None, "problem": "heat", "boundary": boundary},
                       {"q": numbers.uniform(-1, 1, shape).astype(precision)})
            return ("--steps", 70)
        if kind == "poisson":
            self.write("p.h5", u, {"stencil": None, "problem": "poisson"},
                       {"f": numbers.uniform(-1, 1, shape).astype(precision)})
            return ("--rtol", "1e-3", "--steps", 900, *r.choice(((), ("--accelerate", "none"))))
        if kind == "coefficients":
            self.write("p.h5", u, {"stencil": None, "problem": "poisson", "boundary": ["fixed", "fixed"]},
                       {"f": numbers.uniform(-1, 1, shape).astype(precision), "k": numbers.uniform(0.5, 4, shape)})
            return ("--rtol", "1e-2", "--steps", 400)
        if kind == "fixed":
            self.write("p.h5", u, {"boundary": boundary},
                       {"fixed": (numbers.uniform(0, 1, shape) < 0.2).astype("u1")})
            return ("--steps", 60)
        if kind == "wide":
            self.write("p.h5", u, {"stencil": "j2d9pt", "boundary": boundary},
                       {"stencil/weights": numbers.uniform(-0.1, 0.1, (256, 9)), "class": numbers.integers(0, 256, shape),
                        "insulated": (numbers.uniform(0, 1, shape) < 0.05).astype("u1")})
            return ("--steps", 60)
        if kind == "diverging":
            self.write("p.h5", u * 1e30, {"stencil": "j2d5pt", "weights": [40.0, 40.0, 40.0, 40.0, 40.0]})
            return ("--steps", 500, "--rtol", "1e-9")
        self.write("p.h5", u, {"stencil": "j3d7pt" if rank == 3 else "j2d9pt", "boundary": boundary})
        return ("--steps", 50)

    def test_the_file_of_one_process(self):
        r = random.Random(16 if not DRAW.isdigit() else int(DRAW))
        kinds = ["heat", "heat3", "poisson", "coefficients", "fixed", "diverging", "plain", "classes3", "wide"]
        for count, kind in enumerate(kinds * (3 if DRAW == "all" else 1)):
            run = self.problem(kind, r)
            one = self.call("p.h5", "-q", "-o", "one.h5", "--force", *run)
            self.assertIn(one.returncode, (0, 2), f"{kind}: {one.stderr}")
            for ranks in r.sample((2, 3, 4, 8), 1 if SLOW else 2):
                way = r.choice(((), ("--overlap",), ("--sync", "neighbor"), ("--sweep", "naive"), ("--sync", "openmp"),
                                ("--sweep", "pipeline", "--depth", "2"), ("--threads", "2", "--sync", "central")))
                done = self.ranks(ranks, "p.h5", "-qq", "-o", "many.h5", "--force", *run, *way, code=None)
                self.assertEqual(done.returncode, one.returncode, f"{kind}, {ranks} ranks, {way}: {done.stderr}")
                self.same("one.h5", "many.h5", kind, ranks, way)
            self.ranks(ranks, "verify", "many.h5", "-q")

    def test_cuts(self):
        self.make("p.h5", "--size", "200x64")
        self.ok("p.h5", "-q", "--steps", 100, "-o", "one.h5")
        for cut, ranks in (("1,2", 2), ("2,2", 4), ("4,1", 4)):
            done = self.ranks(ranks, "p.h5", "--steps", 100, "-o", "many.h5", "--force", "--cut", cut, "--json", "r.json")
            self.same("one.h5", "many.h5", cut)
            self.assertIn(f"{ranks} ranks of ", done.stdout)
        self.refused_ranks(64, ["--cut makes 6 parts"], 4, "p.h5", "--no-output", "--cut", "3,2")

    def test_series_and_checkpoints(self):
        self.ok("new", "p.h5", "--problem", "heat", "--initial", "random", "--size", "65x70", "--quiet")
        files = ("--save-every", 20, "--save", "u,residual", "--checkpoint-every", 50, "--keep-checkpoints", "--steps", 90)
        self.ok("p.h5", "-q", "-o", "one.h5", *files)
        self.ranks(3, "p.h5", "-q", "-o", "many.h5", *files)
        self.same("one.h5", "many.h5")
        self.same("one.ckpt.h5", "many.ckpt.h5")
        with h5py.File(self.path("one.series.h5")) as one, h5py.File(self.path("many.series.h5")) as many:
            for name in ("u", "residual", "step"):
                self.assertEqual(one[name][()].tobytes(), many[name][()].tobytes(), name)

    def test_a_run_goes_on_with_other_ranks(self):
        self.ok("new", "p.h5", *POISSON, "--size", "131x90", "--quiet")
        self.call("p.h5", "-q", "--rtol", "1e-9", "-o", "one.h5", "--accelerate", "chebyshev:32")
        self.ranks(4, "p.h5", "-q", "--rtol", "1e-9", "--steps", 64, "-o", "many.h5", "--accelerate", "chebyshev:32", code=2)
        self.ranks(2, "many.h5", "-q", "--steps", 128, "-o", "more.h5", code=2)
        with h5py.File(self.path("one.h5")) as one:
            total = int(one.attrs["steps_total"])
        self.ranks(3, "more.h5", "-q", "--steps", total, "-o", "last.h5", code=None)
        self.assertEqual(self.result("one.h5")[:2], self.result("last.h5")[:2])


class Ends(RanksTest):
    """What ends a run before its last step, of any rank."""

    def setUp(self):
        super().setUp()
        self.ok("new", "p.h5", *POISSON, "--size", "321x321", "--quiet")
        self.long = ("p.h5", "-o", "out.h5", "--accelerate", "none", "--atol", "1e-300", "--steps", 10**9)

    def check_result(self, name="out.h5"):
        """The result is that of one process after as many steps."""
        with h5py.File(self.path(name)) as file:
            steps = int(file.attrs["steps_total"])
        self.call("p.h5", "-qq", "-o", "one.h5", "--accelerate", "none", "--atol", "1e-300", "--steps", steps)
        self.assertEqual(self.result("one.h5")[0], self.result(name)[0])

    def test_a_signal_to_any_rank(self):
        process, ranks = self.begin(3, *self.long)
        os.kill(ranks[2], signal.SIGTERM)
        lines, _ = self.wait(process, 128 + signal.SIGTERM)
        self.assertEqual(len(lines), 1, lines)
        self.assertIn("SIGTERM", lines[0])
        self.check_result()

    def test_a_checkpoint_that_a_rank_is_asked_for(self):
        process, ranks = self.begin(2, *self.long)
        os.kill(ranks[1], signal.SIGUSR1)
        for _ in range(200):
            time.sleep(0.05)
            if os.path.exists(self.path("out.ckpt.h5")):
                break
        os.kill(ranks[0], signal.SIGKILL)
        out, err = process.communicate(timeout=60)
        self.assertNotEqual(process.returncode, 0)
        self.nothing_runs()
        with h5py.File(self.path("out.ckpt.h5")) as file:
            steps = int(file.attrs["steps_total"])
        done = self.ranks(3, "--resume", "out.ckpt.h5", "-q", "--steps", steps + 100, code=2)
        self.check_result()

    def test_a_limit_of_time(self):
        done = self.ranks(2, *self.long, "--time-limit", "1s", code=75)
        self.assertEqual(len(done.lines), 1, done.stderr)
        self.check_result()

    def test_a_rank_that_dies(self):
        for victim in (0, 1):
            process, ranks = self.begin(3, *self.long, "--force")
            os.kill(ranks[victim], signal.SIGKILL)
            process.communicate(timeout=60)
            self.assertNotEqual(process.returncode, 0)
            self.nothing_runs()


class Errors(RanksTest):
    """An error of one rank ends all, with one line that names it."""

    def test_errors_of_all_ranks_are_told_once(self):
        self.refused_ranks(66, ["missing.h5"], 3, "missing.h5")
        self.refused_ranks(64, ["--nonsense"], 2, "p.h5", "--nonsense")
        self.refused_ranks(64, ["unknown command"], 2, "help", "nonsense")
        self.make()
        for arguments, words in ((("--parts", 2), "--parts"), (("--halo", "copy"), "--halo copy"),
                                 (("--attribute",), "--attribute"), (("--scrub", "1%"), "--scrub")):
            line = self.refused_ranks(64, [words], 2, "p.h5", "--no-output", *arguments).lines[0]
            self.assertNotIn("rank 0", line)
        self.refused_ranks(69, ["no GPU here", "--device gpu"], 2, "p.h5", "--device", "gpu")
        self.refused_ranks(64, ["--gpus is for one process"], 2, "p.h5", "--gpus", "2,")
        self.refused_ranks(64, ["use fewer"], 8, "p.h5", "--cut", "1,8")
        self.refused(64, ["--halo message"], "p.h5", "--halo", "message")

    def test_an_input_that_one_rank_does_not_see(self):
        self.make()
        elsewhere = self.wrapper("mkdir -p elsewhere; cd elsewhere")
        self.refused_ranks(66, ["rank 1: ", "p.h5"], 3, "p.h5", wrapper=elsewhere)

    @unittest.skipIf(SLOW, "sanitizers take all of the address space")
    def test_memory_that_one_rank_lacks(self):
        self.ok("new", "p.h5", *POISSON, "--size", "4097x4097", "--quiet")
        limit = self.wrapper("ulimit -v 420000")
        done = self.ranks(2, "p.h5", "--steps", 1, "--no-output", wrapper=limit, code=None)
        self.assertIn(done.returncode, (71,), done.stderr)
        self.assertEqual(len(done.lines), 1, done.stderr)

    def test_a_result_that_cannot_be_written(self):
        self.make()
        self.refused_ranks(73, ["nowhere"], 2, "p.h5", "-o", "nowhere/out.h5", "--steps", 3)


@unittest.skipIf(SLOW, "sanitizers take all of the address space")
class Memory(RanksTest):
    """A field of 538 MB, larger than what each of eight ranks may have: the libraries of MPI alone map some 250 MB."""
    LIMIT_KIB = 500000

    def test_a_field_that_no_rank_could_have(self):
        with open(self.path("limit.sh"), "w") as file:
            file.write(f'#!/bin/bash\nulimit -v {self.LIMIT_KIB}\nexec env MALLOC_ARENA_MAX=1 "$@"\n')
        os.chmod(self.path("limit.sh"), 0o755)

        def limited(*arguments, code=0):
            return self.ranks(8, *arguments, code=code, wrapper=self.path("limit.sh"))
        limited("new", "p.h5", "--problem", "heat", "--initial", "random", "--size", "8200x8200", "--quiet")
        self.assertGreater(os.path.getsize(self.path("p.h5")), self.LIMIT_KIB * 1024)
        limited("p.h5", "-qq", "-o", "o.h5", "--threads", 1, "--steps", 2)
        self.assertIn("8200 x 8200", limited("info", "o.h5").stdout)
        limited("compare", "o.h5", "o.h5")
        limited("verify", "o.h5", "-q")


class Verify(RanksTest):
    """Each rank has the reference's lines of its own: what differs is the same, and the residual."""

    def found(self, name, ranks):
        """What `verify` writes about a file, by so many ranks; 1: by one process."""
        if ranks == 1:
            self.call("verify", name, "p.h5", "-q", "-f", "--json", "v.json")
        else:
            self.ranks(ranks, "verify", name, "p.h5", "-q", "-f", "--json", "v.json", code=1)
        with open(self.path("v.json"), encoding="utf-8") as file:
            return json.load(file)

    def test_what_differs(self):
        self.ok("new", "p.h5", *POISSON, "--size", "70x45", "--quiet")
        self.ok("p.h5", "-q", "--rtol", "1e-4", "-o", "o.h5")
        with h5py.File(self.path("o.h5"), "r+") as file:
            file["u"][40, 69] += 1
            file["u"][11, 3] += 1
            file["residual"][0] *= 1.5
        one = self.found("o.h5", 1)
        self.assertEqual((one["verified"], one["u"]["differing"], one["u"]["first"], one["residual"]["differing"]),
                         (False, 2, 11 * 70 + 3, 1))
        for ranks in (2, 5):
            self.assertEqual(self.found("o.h5", ranks), one, ranks)

    def test_examples(self):
        """Walls, cells that are not there, coefficients, and sources in time; more ranks than rows of some."""
        r = random.Random(53)
        examples = ["plate-with-hole", "heated-wall", "chip", "two-materials", "switched-source", "masonry"]
        for example in examples if DRAW == "all" else r.sample(examples, 2):
            self.ok("new", "p.h5", "--example", example, "--size", "20x13", "--force", "--quiet")
            self.call("p.h5", "-qq", "--steps", 40, "-o", "o.h5", "--force")
            self.ranks(r.choice((2, 3, 8)), "verify", "o.h5")

    def test_one_error_of_all(self):
        self.refused_ranks(66, ["missing.h5"], 3, "verify", "missing.h5")
        self.make()
        self.refused_ranks(65, ["p.h5"], 2, "verify", "p.h5")
        self.refused_ranks(64, ["--memory"], 2, "verify", "p.h5", "--memory", 1)


class Commands(RanksTest):
    """Commands other than `run`: rank 0 alone."""

    def test_rank_0_does_them(self):
        done = self.ranks(3, "new", "n.h5", "--problem", "heat", "--initial", "random", "--size", "33x33")
        self.assertEqual(done.stdout.count("n.h5: heat"), 1)
        self.assertEqual(self.ranks(2, "info").stdout.count("MPI"), 1)
        self.assertEqual(self.ranks(2, "version").stdout.count("stencil "), 1)
        self.ok("n.h5", "-q", "--steps", 5, "-o", "a.h5")
        self.ok("n.h5", "-q", "--steps", 6, "-o", "b.h5")
        self.ranks(2, "compare", "a.h5", "b.h5", code=1)
        self.ranks(2, "compare", "a.h5", "a.h5")
        self.ranks(2, "verify", "a.h5")
        self.ranks(2, "run", "n.h5", "--dry-run")
        for command in (("bench", "copy", "--device", "cpu"), ("calibrate", "--device", "cpu")):
            self.refused_ranks(64, ["measures with one process"], 2, *command)

    def test_ranks_that_were_started_with_other_commands(self):
        """`mpirun A : B`, which would wait for each other, or end in words of MPI."""
        self.ok("new", "p.h5", *POISSON, "--size", "33x33", "--quiet")
        run = ("p.h5", "--no-output", "--steps", 5)
        others = [("info",), ("version",), ("help",), ("verify", "p.h5"), ("completion", "bash"), ("new", "n.h5")]
        for other in others if DRAW == "all" else random.Random(53).sample(others, 2):
            for first, second in ((run, other), (other, run)):
                self.refused_ranks(64, ["rank 1: it was started as", "the same command"], 1, *first, ":", "-np", "1", STENCIL,
                                   *second)
        self.refused_ranks(64, ["the same command"], 1, *run, ":", "-np", "1", STENCIL, "run", "--help")
        self.assertFalse(os.path.exists(self.path("n.h5")))


if __name__ == "__main__":
    unittest.main()
