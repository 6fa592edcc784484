"""The library as it is installed: what it shows and links, and examples/two.c built by pkg-config and by CMake."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "two.c"
BUILD, CC, NM = os.environ["BUILD"], os.environ["CC"], os.environ["NM"]
# Calls that a library has no business with in a program of others.
FORBIDDEN = re.compile(r"^(_?_?(fork|vfork|exit|_exit|abort|quick_exit|signal|sigaction|sigprocmask|raise|setlocale|uselocale|"
                       r"setenv|putenv|unsetenv|getenv|secure_getenv|printf|puts|putchar|vprintf|perror|stdout|stderr|"
                       r"fesetround|fesetenv|feenableexcept|sched_setaffinity|pthread_setaffinity_np|prctl|chdir|umask|"
                       r"system|popen|execv|posix_spawn|dlopen|atexit|on_exit|pthread_atfork)(_chk)?)(@|$)")
CMAKE = """cmake_minimum_required(VERSION 3.16)
project(user C)
find_package(stencil REQUIRED)
foreach(kind stencil static)
    add_executable(two_${kind} two.c)
    target_link_libraries(two_${kind} PRIVATE stencil::${kind} pthread m)
endforeach()
"""


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="stencil-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        # Elsewhere than configured, and moved: pkg-config and CMake go by the places of their files.
        cls.must("cmake", "--install", os.path.join(BUILD, "library"), "--prefix", cls.folder / "first")
        (cls.folder / "first").rename(cls.folder / "prefix")
        cls.prefix = cls.folder / "prefix"
        cls.shared = next(cls.prefix.rglob("libstencil.so"))
        cls.archive = next(cls.prefix.rglob("libstencil.a"))
        cls.pkg = next(cls.prefix.rglob("stencil.pc")).parent
        shutil.copy(EXAMPLE, cls.folder / "two.c")

    @classmethod
    def must(cls, *command, **environment):
        done = subprocess.run([*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8",
                              cwd=cls.folder, env={**os.environ, **environment}, check=False)
        if done.returncode != 0:
            raise AssertionError(f"{command}: {done.stdout}")
        return done.stdout

    def flags(self, *arguments):
        return self.must("pkg-config", *arguments, "stencil", PKG_CONFIG_PATH=str(self.pkg)).split()

    def right(self, *command, **environment):
        """The example has solved both problems, each within the error of its grid."""
        text = self.must(*command, **environment)
        found = dict(re.findall(r"^(\w+): at most (\S+) from the solution$", text, re.MULTILINE))
        self.assertEqual(sorted(found), ["heat", "poisson"], text)
        self.assertTrue(all(float(error) < 5e-4 for error in found.values()), text)

    def test_shared_by_pkg_config(self):
        """Twice, with two problems at once in two threads, under AddressSanitizer."""
        self.must(CC, "-std=c17", "-Wall", "-Wextra", "-Werror", "-g", "-fsanitize=address,undefined", "two.c", "-o", "two",
                  *self.flags("--cflags", "--libs"), "-pthread", "-lm")
        for _ in range(2):
            self.right("./two", LD_LIBRARY_PATH=str(self.shared.parent))

    def test_static_by_pkg_config(self):
        flags = [flag.replace("-lstencil", str(self.archive)) for flag in self.flags("--static", "--cflags", "--libs")]
        self.must(CC, "-std=c17", "-fsanitize=address,undefined", "two.c", "-o", "two_static", *flags, "-pthread")
        self.right("./two_static")

    def test_by_cmake(self):
        (self.folder / "CMakeLists.txt").write_text(CMAKE)
        self.must("cmake", "-S", ".", "-B", "user", f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DCMAKE_C_COMPILER={CC}",
                  "-DCMAKE_C_FLAGS=-fsanitize=address,undefined")
        self.must("cmake", "--build", "user")
        self.right("user/two_stencil")
        self.right("user/two_static")

    def test_shows_its_interface_only(self):
        header = (self.prefix / "include" / "stencil" / "stencil.h").read_text()
        declared = set(re.findall(r"^STENCIL_PUBLIC .*?\b(stencil_\w+)\(", header, re.MULTILINE))
        self.assertGreater(len(declared), 15)
        for *command, library in ((NM, "-D", "--defined-only", self.shared), (NM, "-g", "--defined-only", self.archive)):
            text = self.must(*command, library)
            shown = {line.split()[2].split("@")[0] for line in text.splitlines() if len(line.split()) == 3}
            self.assertEqual({name for name in shown if not name.startswith("__odr_asan")}, declared)

    def test_links_nothing_of_files(self):
        needed = re.findall(r"NEEDED.*\[(\S+)\]", self.must("readelf", "-d", self.shared))
        self.assertTrue(needed)
        allowed = re.compile(r"^(libc|libm|libgomp|libomp|libgcc_s|libstdc\+\+|libpthread|librt|libdl|ld-linux[\w-]*|libasan|libubsan)\.so")
        self.assertEqual([name for name in needed if not allowed.match(name)], [])

    @unittest.skipIf(os.environ["CUDA"] == "ON", "the CUDA runtime, which is in the library then, asks for more")
    def test_asks_for_nothing_of_the_process(self):
        asked = [line.split()[-1] for line in self.must(NM, "-D", "--undefined-only", self.shared).splitlines()]
        self.assertIn("malloc", " ".join(asked))
        self.assertEqual([name for name in asked if FORBIDDEN.match(name)], [])

    def test_header_is_that_of_cxx_too(self):
        (self.folder / "user.cc").write_text("#include <stencil/stencil.h>\nint main() { return stencil_abi() != STENCIL_ABI; }\n")
        self.must(os.environ["CXX"], "-std=c++11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only",
                  *self.flags("--cflags"), "user.cc")


if __name__ == "__main__":
    unittest.main()
