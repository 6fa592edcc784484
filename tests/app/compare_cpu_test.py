"""bench/compare_cpu.py: what it measures beside the built command ($STENCIL), and that it finds who is wrong."""
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

from harness import STENCIL, CommandTest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "bench/compare_cpu.py"
COMPILER = os.environ.get("CC") or next(filter(shutil.which, ("cc", "gcc", "clang")), None)
HAVE_DEVITO = importlib.util.find_spec("devito") is not None
if COMPILER is None:
    print("skipped: there is no C compiler")
    sys.exit(77)

SMALL = ["--sizes", "64x64", "--precision", "float64", "--threads", "2", "--repeats", "1", "--steps", "3"]


class CompareTest(CommandTest):
    def compare(self, *arguments, **environment):
        return subprocess.run([sys.executable, "-B", str(SCRIPT), *arguments], stdin=subprocess.DEVNULL,
                              capture_output=True, cwd=self.directory, encoding="utf-8", timeout=300, check=False,
                              env={**os.environ, "STENCIL": STENCIL, **environment})

    def succeeds(self, *arguments, **environment):
        done = self.compare(*arguments, **environment)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        return done.stdout

    def fails(self, code, wanted, *arguments, **environment):
        done = self.compare(*arguments, **environment)
        self.assertEqual(done.returncode, code, done)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertTrue(done.stderr.startswith("compare_cpu.py: "), done.stderr)
        self.assertIn(wanted, done.stderr)

    def test_table_and_json(self):
        """Rows for every size and precision, odd and even steps, samples of all who are here."""
        names = ["stream", "auto", "c", *["devito"] * HAVE_DEVITO]
        for steps, sizes in (7, ["64x64", "24x20x22"]), (10, ["64x64"]):
            text = self.succeeds("--sizes", *sizes, "--threads", "2", "--repeats", "3", "--steps", str(steps), "--json",
                                 "out.json", "--force", "--", "--effort", "estimate")
            lines = text.splitlines()
            self.assertLessEqual(max(map(len, lines)), 80)
            self.assertEqual(lines[3].split(), ["Gcell/s", "cells", "stream", "auto", "C", "loop", "Devito", "ratio"])
            with open(self.path("out.json"), encoding="utf-8") as file:
                found = json.load(file)
            self.assertEqual(found["machine"]["threads"], 2)
            rows = found["rows"]
            self.assertEqual([("x".join(map(str, row["size"])), row["precision"]) for row in rows],
                             [(size, precision) for size in sizes for precision in ("float64", "float32")])
            self.assertEqual([line.split()[0] for line in lines[4:]], [row["stencil"] for row in rows])
            for row, line in zip(rows, lines[4:]):
                self.assertEqual((row["steps"], row["verified_steps"]), (steps, steps))
                self.assertEqual(list(row["competitors"]), names)
                for figures in row["competitors"].values():
                    self.assertEqual(sorted(figures["samples"])[1], figures["cells_per_s"])
                    self.assertGreater(min(figures["samples"]), 0)
                best = max(names[2:], key=lambda name: row["competitors"][name]["cells_per_s"])
                self.assertEqual(row["best_other"], best)
                self.assertAlmostEqual(row["ratio"], row["competitors"]["auto"]["cells_per_s"]
                                       / row["competitors"][best]["cells_per_s"])
                self.assertEqual(line.split()[-1], f"{row['ratio']:.2f}"[:5].rstrip("."))
                self.assertEqual(row["competitors"]["stream"]["plan"]["sweep"], "stream")
                self.assertEqual(row["competitors"]["stream"]["plan"]["threads"], 2)
            self.assertEqual(rows[0]["updated_cells"], 62 * 62)

    def test_coefficients(self):
        """All codes solve with the coefficients of the file, and a wrong one is found."""
        for sizes in ["64x48"], ["24x20x22"]:
            self.succeeds("--k", "--sizes", *sizes, "--threads", "2", "--repeats", "1", "--steps", "7", "--json", "k.json",
                          "--force")
            with open(self.path("k.json"), encoding="utf-8") as file:
                self.assertEqual([row["k"] for row in json.load(file)["rows"]], [True, True])
        for name, heading in ("c", "C loop"), *[("devito", "Devito")] * HAVE_DEVITO:
            self.fails(70, f"{heading} is wrong", "--k", *SMALL, "--inject-fault", name)

    def test_weights_of_the_file(self):
        """All codes take the weights that stand in the file, not those of a mean; a STENCIL that adds some to it."""
        program = self.path("with-weights")
        with open(program, "w", encoding="utf-8") as file:
            file.write(f"""#!{sys.executable}
import subprocess, sys
code = subprocess.run(["{STENCIL}", *sys.argv[1:]]).returncode
if sys.argv[1] == "new":
    import h5py
    with h5py.File(sys.argv[2], "r+") as file:
        file["stencil/weights"] = [0.1, 0.15, 0.3, 0.25, 0.2]
sys.exit(code)
""")
        os.chmod(program, 0o755)
        self.succeeds(*SMALL, "--precision", "float64", "float32", STENCIL=program)

    def test_wrong_results_are_found(self):
        for name, heading in ("auto", "auto"), ("c", "C loop"), *[("devito", "Devito")] * HAVE_DEVITO:
            for precision in "float64", "float32":
                self.fails(70, f"{heading} is wrong: j2d5pt 64² {precision} differs from stream by", *SMALL,
                           "--precision", precision, "--inject-fault", name)
        # A C loop whose second buffer has no boundary cells.
        with open(self.path("fault.h"), "w", encoding="utf-8") as file:
            file.write("#include <string.h>\n#define memcpy(to, from, bytes) memset(to, 0, bytes)\n")
        self.fails(70, "C loop is wrong", *SMALL, CC=f"{COMPILER} -include {self.path('fault.h')}")

    @unittest.skipIf(HAVE_DEVITO, "Devito is installed, and needs the compiler")
    def test_without_a_compiler(self):
        lines = self.succeeds(*SMALL, CC="", PATH=self.directory).splitlines()
        self.assertEqual(lines[1:3], ["C loop: no C compiler found; left out", "Devito: not installed; left out"])
        self.assertEqual(lines[4].split()[-3:], ["-", "-", "-"])
        self.fails(69, "C loop is not here", *SMALL, "--inject-fault", "c", CC="", PATH=self.directory)

    def test_bad_input(self):
        for wanted, *arguments in (("--bogus", "--bogus"), ("'64' is not NXxNY or NXxNYxNZ", "--sizes", "64"),
                                   ("'2x64'", "--sizes", "2x64"), ("'0' is not a whole number", "--steps", "0"),
                                   ("'-1'", "--threads=-1"), ("float16", "--precision", "float16"), ("extra", "extra"),
                                   ("'--bogus'", *SMALL, "--", "--bogus"),
                                   ("another problem", *SMALL, "--", "--effort", "estimate", "--omega=0.5")):
            self.fails(64, wanted, *arguments)
        told = subprocess.run([STENCIL, "help", "run"], capture_output=True, encoding="utf-8", check=True).stdout
        options = re.findall(r"^      (--[a-z]+)", told.partition("\nProblem (")[2].partition("\n\n")[0], re.MULTILINE)
        self.assertIn("--boundary", options)
        for option in options:
            self.fails(64, f"{option} behind --: C loop and Devito would solve another problem", "--", option, "x")
        self.fails(69, "there is no command 'none'", "--stencil", "none")
        self.fails(69, "is not the JSON of stencil", "--stencil", "true")
        self.fails(69, "cannot run 'none'", *SMALL, CC="none")
        self.fails(70, "the C compiler: exit code 1", *SMALL, CC="false")
        self.fails(74, "there is no such folder", *SMALL, "--json", "none/out.json")
        with open(self.path("out.json"), "w", encoding="utf-8"):
            pass
        self.fails(73, "'out.json' exists", *SMALL, "--json", "out.json")
        self.assertEqual(os.path.getsize(self.path("out.json")), 0)

    def test_help(self):
        self.assertLessEqual(max(map(len, self.succeeds("--help", COLUMNS="200").splitlines())), 80)


if __name__ == "__main__":
    unittest.main()
