"""Weights of a cell reach every sweep: a copy of the sources gets weights that are half as large in every second row, by a
change of the two weight providers (kernels/term.cuh, kernels/cpu_term.inc) and of the plain reference, and of no sweep.
`verify` then holds what each sweep makes against that reference, on the CPU and, where there is one, on a GPU."""
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(SOURCES, "tests", "app"))
import copied  # noqa: E402
import draw  # noqa: E402

CHANGES = {
    "kernels/term.cuh": [("of(Where) const {\n        return value;", """of(Where where) const {
        const int64_t row = where() % domain->plane / domain->row;
        return row % 2 == 0 ? value : T(0.5) * value;""")],
    "kernels/cpu_term.inc": [("return w->of[k];",
                              "return ((w->y + row) % 2 == 0 ? (CPU_REAL)1 : (CPU_REAL)0.5) * w->of[k];")],
    "app/reference.c": [
        ("    const void *u[STENCIL_POINTS_MAX], *b;\n", "    const void *u[STENCIL_POINTS_MAX], *b;\n    double factor;\n"),
        ("row row = {.r = r,", "row row = {.factor = (y - r->low[STENCIL_Y]) % 2 == 0 ? 1 : 0.5, .r = r,"),
        ("(real)weight[k] * u : multiply_add((real)weight[k], u",
         "(real)row->factor * (real)weight[k] * u : multiply_add((real)row->factor * (real)weight[k], u"),
        ("multiply_add((real)r->source_factor", "multiply_add((real)row->factor * (real)r->source_factor")],
}
# Name, arguments of `stencil new`. The second and third need kernels for all problems.
PROBLEMS = (
    ("plain", ("--size", "97x83", "--boundary", "fixed", "--stencil", "j2d5pt", "--initial", "random")),
    ("long", ("--size", "530x520", "--boundary", "fixed", "--stencil", "j2d5pt", "--initial", "random")),
    ("source", ("--size", "301x97", "--problem", "poisson")),
    ("mirrored", ("--size", "270x180", "--boundary", "mirror,mirror", "--stencil", "j2d5pt", "--initial", "random")),
    ("solid", ("--size", "44x37x66", "--boundary", "fixed", "--stencil", "j3d7pt", "--initial", "random")),
    ("solid_source", ("--size", "40x41x67", "--problem", "poisson")),
    ("solid_mirrored", ("--size", "36x40x70", "--boundary", "mirror,fixed,mirror", "--stencil", "j3d7pt", "--initial", "random")),
)
RUNS = {
    "cpu": (("--sweep", "stream"), ("--sweep", "naive"), ("--sweep", "pipeline", "--depth", 4),
            ("--sweep", "pipeline", "--depth", 7)),
    "gpu": (("--sweep", "stream"), ("--sweep", "stream", "--sync", "grid"), ("--sweep", "naive"), ("--sweep", "pipeline"),
            ("--sweep", "pipeline", "--sync", "relaunch"), ("--sweep", "pipeline", "--check-every", 50),
            ("--sweep", "resident", "--sync", "neighbor")),
}


class RowWeights(copied.CopiedTest):
    def change(self, name, pairs):
        def replace(text):
            for old, new in pairs:
                self.assertIn(old, text, name)
                text = text.replace(old, new)
            return text
        self.edit(name, replace)

    def test_changes_apply(self):
        """What is changed is still there, which the whole test would find out in ./dev test --all only."""
        self.copy()
        for name, pairs in CHANGES.items():
            self.change(name, pairs)

    @unittest.skipUnless(draw.DRAW == "all", "it builds the copy, which takes minutes: ./dev test --all")
    def test_row_weights_reach_every_sweep(self):
        self.copy()
        for name, pairs in CHANGES.items():
            self.change(name, pairs)
        cuda = "ON" if os.environ.get("NVCC") and os.path.exists("/dev/nvidia0") else "OFF"
        options = ("-D", f"CMAKE_CUDA_COMPILER={os.environ['NVCC']}") if cuda == "ON" else ()
        program = self.build("Release", "-D", f"STENCIL_CUDA={cuda}", "-D", "STENCIL_SETS=j2d5pt;j3d7pt", *options)
        sums = set()
        for name, arguments in PROBLEMS:
            self.ok("new", f"{name}.h5", *arguments, program=program)
            for precision in ("float32", "float64"):
                for device in ("cpu", "gpu") if cuda == "ON" else ("cpu",):
                    for run in RUNS[device]:
                        with self.subTest(problem=name, precision=precision, device=device, run=run):
                            made = self.call(f"{name}.h5", "--device", device, *run, "--precision", precision, "--steps", 100,
                                             "--force", "-o", "out.h5", program=program)
                            if made.returncode == 64 and "resident" in run: # its tiles do not suit every field
                                continue
                            self.assertIn(made.returncode, (0, 2), made.stderr)  # 2: not converged yet
                            self.ok("verify", "out.h5", program=program)
                            sums.add((device, run[1]))
        self.assertEqual(len(sums), 7 if cuda == "ON" else 3, sums)
        # They are other values than those of the product.
        self.ok("plain.h5", "--device", "cpu", "--steps", 100, "--force", "-o", "out.h5", program=program)
        self.ok("plain.h5", "--device", "cpu", "--steps", 100, "--force", "-o", "own.h5")
        self.ok("compare", "out.h5", "own.h5", code=1)


if __name__ == "__main__":
    unittest.main()
