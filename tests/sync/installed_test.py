"""The barriers as installed headers: examples/barriers.cu is compiled with what pkg-config says and, with a GPU, run."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLE = os.path.join(os.path.dirname(os.path.dirname(HERE)), "examples", "barriers.cu")
BUILD, NVCC = os.environ["BUILD"], os.environ.get("NVCC")
if not NVCC or not shutil.which("pkg-config"):
    print("skipped: no nvcc, or no pkg-config")
    sys.exit(77)


class Installed(unittest.TestCase):
    def setUp(self):
        self.prefix = tempfile.mkdtemp(prefix="stencil-test-")
        self.addCleanup(shutil.rmtree, self.prefix)

    def must(self, *command, **environment):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", cwd=self.prefix,
                              env={**os.environ, **environment})
        self.assertEqual(done.returncode, 0, f"{command}: {done.stdout}")
        return done.stdout

    def test_example(self):
        # Installed elsewhere than configured: pkg-config goes by the file's place.
        self.must("cmake", "--install", os.path.join(BUILD, "sync"), "--prefix", self.prefix)
        found = [folder for folder, _, files in os.walk(self.prefix) if "stencil-sync.pc" in files]
        flags = self.must("pkg-config", "--cflags", "stencil-sync", PKG_CONFIG_PATH=found[0]).split()
        self.must(NVCC, "-std=c++17", "-arch=sm_90", *flags, EXAMPLE, "-o", "barriers")
        if shutil.which("nvidia-smi"):
            self.assertEqual(self.must("./barriers").count("holds"), 2)


if __name__ == "__main__":
    unittest.main()
