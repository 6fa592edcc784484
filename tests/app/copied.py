"""A copy of the sources that a test changes and builds."""
import os
import re
import shutil
import subprocess

import harness

SOURCES = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
with open(os.path.join(SOURCES, "CMakeLists.txt"), encoding="utf-8") as build:
    ROOMS = ("CMakeLists.txt", "cmake", *(name for name in re.findall(r"add_subdirectory\(([a-z]+)\)", build.read())
                                          if name != "tests"))


class CopiedTest(harness.CommandTest):
    def must(self, *command):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", cwd=self.directory)
        self.assertEqual(done.returncode, 0, f"{command}: {done.stdout[-3000:]}")

    def copy(self):
        """The path of the copy, without tests."""
        self.tree = self.path("tree")
        os.mkdir(self.tree)
        for name in ROOMS:
            path = os.path.join(SOURCES, name)
            (shutil.copytree if os.path.isdir(path) else shutil.copy)(path, os.path.join(self.tree, name))
        return self.tree

    def edit(self, name, change):
        """Replaces the text of a file of the copy by change(text)."""
        path = os.path.join(self.tree, name)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(change(text))

    def build(self, kind, *options):
        """The path of `stencil`, built from the copy."""
        build = self.path("build")
        self.must("cmake", "-S", self.tree, "-B", build, "-D", "STENCIL_TESTS=OFF", "-D", f"CMAKE_BUILD_TYPE={kind}", *options)
        self.must("cmake", "--build", build, "--parallel", str(os.cpu_count()), "--target", "stencil")
        return os.path.join(build, "app", "stencil")
