"""The library for 64-bit Arm, whose sweeps are compiled for NEON, gives the bits that it gives here.

It needs a cross compiler and an emulator of the processor (apt-get install gcc-aarch64-linux-gnu qemu-user).
"""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CC, EMULATOR = "aarch64-linux-gnu-gcc", "qemu-aarch64"
OPTIONS = ("-DCMAKE_SYSTEM_NAME=Linux", "-DCMAKE_SYSTEM_PROCESSOR=aarch64", f"-DCMAKE_C_COMPILER={CC}",
           "-DCMAKE_BUILD_TYPE=Release", "-DSTENCIL_CUDA=OFF", "-DSTENCIL_COMMAND=OFF", "-DBUILD_TESTING=OFF")

if shutil.which(CC) is None or shutil.which(EMULATOR) is None:
    print(f"skipped: no {CC}, or no {EMULATOR}")
    raise SystemExit(77)


def must(*command):
    done = subprocess.run([*map(str, command)], capture_output=True, encoding="utf-8", check=False)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.stdout}{done.stderr}")
    return done.stdout


class Arm(unittest.TestCase):
    def test_same_bits(self):
        with tempfile.TemporaryDirectory(prefix="stencil-test-") as folder:
            must("cmake", "-S", ROOT, "-B", folder, *OPTIONS)
            must("cmake", "--build", folder, "--parallel", "2")
            archive, program = next(pathlib.Path(folder).rglob("libstencil.a")), pathlib.Path(folder, "digests")
            must(CC, "-std=c17", "-O1", f"-I{ROOT}", ROOT / "tests" / "library" / "digests.c",
                 archive, "-o", program, "-static", "-fopenmp", "-lm")
            there = must(EMULATOR, program).splitlines()
        here = must(os.environ["DIGESTS"]).splitlines()
        runs = [line for line in here if ": " not in line]
        self.assertGreaterEqual(len(runs), 180, here)
        self.assertEqual(there, here)


if __name__ == "__main__":
    unittest.main()
