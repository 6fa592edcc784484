"""One more need of problems is one more row: a copy of the sources gets a need in solver/plan/needs.def, and no other change.
`naive`, which can whatever there is, then makes the steps of such problems, and the others say the row's sentence."""
import json
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "app"))
import copied  # noqa: E402
import draw  # noqa: E402

ROW = 'STENCIL_NEED(SEVENTH, problem->n[STENCIL_X] % 7 == 0, "rows of so many cells are made one by one")\n'


@unittest.skipUnless(draw.DRAW == "all", "it builds the copy, which takes minutes: ./dev test --all")
class OneNeed(copied.CopiedTest):
    def sweep_of(self, *arguments):
        self.ok("plan", *arguments, "--device", "cpu", "--json", "plan.json", "--force", program=self.program)
        with open(self.path("plan.json"), encoding="utf-8") as file:
            return [plan["sweep"] for plan in json.load(file)["plans"] if plan["chosen"]]

    def test_a_row_is_all(self):
        self.copy()
        self.edit("solver/plan/needs.def", lambda text: text.replace("#undef STENCIL_NEED", ROW + "#undef STENCIL_NEED"))
        self.program = self.build("Debug", "-D", "STENCIL_CUDA=OFF")
        for name, cells, sweep in (("with", 42, "naive"), ("without", 43, "stream")):
            self.ok("new", f"{name}.h5", "--size", f"{cells + 2}x40", "--stencil", "j2d5pt", program=self.program)
            self.assertEqual(self.sweep_of(f"{name}.h5", "--depth", 1), [sweep])
        self.assertEqual(self.sweep_of("with.h5", "--sweep", "naive"), ["naive"])
        for sweep in ("stream", "pipeline"):
            refused = self.call("plan", "with.h5", "--device", "cpu", "--sweep", sweep, program=self.program)
            self.assertNotEqual(refused.returncode, 0)
            self.assertIn("rows of so many cells are made one by one", refused.stderr)


if __name__ == "__main__":
    unittest.main()
