"""A barrier is one file and one line: adds one to a copy of the sources, builds the command from it, without CUDA, and runs
it; with nvcc a kernel that uses it is compiled as well."""
import os
import shutil
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(SOURCES, "tests", "app"))
import copied  # noqa: E402

LINE = 'STENCIL_BARRIER(toy, "toy", 70, NOTHING, "one kernel, a counter and a door")\n'
KERNEL = """#include "sync/toy.cuh"
__global__ void passes(stencil_barrier_state state, int64_t count) {
    stencil::toy_barrier barrier(state);
    for (int64_t step = 1; step <= count; step++)
        barrier.sync(step);
    barrier.leave();
    stencil::toy_barrier::of_loop(state).pass(count + 1);
}
"""


@unittest.skipIf(os.environ.get("STENCIL_SLOW") == "1", "the other configuration builds the same copy")
class ToyBarrier(copied.CopiedTest):
    def test_one_file_and_one_line(self):
        tree = self.copy()
        shutil.copy(os.path.join(HERE, "toy.cuh"), os.path.join(tree, "sync"))
        self.edit("sync/barriers.def", lambda rows: rows.replace("#undef", LINE + "#undef"))
        program = self.build("Debug", "-D", "STENCIL_CUDA=OFF")
        self.ok("new", "p.h5", "--problem", "heat", "--size", "65x33", program=program)
        self.ok("p.h5", "--steps", 200, "-o", "relaunch.h5")
        trial = ("--sync", "toy", "-j", 3, "p.h5", "--steps", 200)
        self.ok(*trial, "--inject-delay", 20000, "-o", "toy.h5", program=program)
        self.ok("compare", "toy.h5", "relaunch.h5")
        self.assertIn("barrier toy", self.ok(*trial, "--inject-absent", 50, "--barrier-timeout", 0.5, "--no-output", code=70,
                                             program=program).stderr)
        self.assertIn("toy", self.ok("help", "run", program=program).stdout)
        self.assertIn("a counter and a door", self.ok("info", program=program).stdout)
        nvcc = os.environ.get("NVCC")
        if nvcc:
            with open(self.path("kernel.cu"), "w", encoding="utf-8") as file:
                file.write(KERNEL)
            self.must(nvcc, "-std=c++17", "-I", tree, "-arch=sm_90", "-c", "kernel.cu", "-o", "kernel.o")


if __name__ == "__main__":
    unittest.main()
