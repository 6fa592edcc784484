"""The packages of a build, made by cpack: what is in them, and that command and module work where they are unpacked.
tests/packages.sh installs and purges those of `./dev package` in a bare Debian or Ubuntu."""
import gzip
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD, LIBDIR, CPACK = os.environ["BUILD"], os.environ["LIBDIR"], os.environ["CPACK"]
ROOT = pathlib.Path(__file__).resolve().parents[1]
ABI = re.search(r"^#define STENCIL_ABI (\d+)", (ROOT / "library" / "stencil.h").read_text(), re.MULTILINE)[1]
LIBRARY = f"libstencil{ABI}"
# What a package depends on beside others of ours; the library for the command is static.
DEPENDS = {"stencil": {"python3", "libc6", "libgomp1", "libjansson4"}, LIBRARY: {"libc6", "libgomp1"},
           "libstencil-dev": {LIBRARY}, "python3-stencil": {LIBRARY, "python3", "python3-numpy"}}
FILES = {"stencil": ("bin/stencil", "share/man/man1/stencil.1.gz", "share/bash-completion/completions/stencil",
                     "share/zsh/vendor-completions/_stencil", "share/fish/vendor_completions.d/stencil.fish",
                     "share/stencil/plot.py", "share/stencil/bench_plot.py", "share/stencil/figure.py"),
         LIBRARY: (f"{LIBDIR}/libstencil.so.{ABI}",),
         "libstencil-dev": ("include/stencil/stencil.h", "include/stencil/sync/central.cuh", f"{LIBDIR}/libstencil.so",
                            f"{LIBDIR}/libstencil.a", f"{LIBDIR}/pkgconfig/stencil.pc", f"{LIBDIR}/pkgconfig/stencil-sync.pc",
                            f"{LIBDIR}/cmake/stencil/stencil-config.cmake"),
         "python3-stencil": ("lib/python3/dist-packages/stencil/__init__.py",)}


def must(*command, folder, **environment):
    done = subprocess.run([*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8",
                          cwd=folder, env={**os.environ, **environment}, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.stdout}")
    return done.stdout


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="stencil-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        # The build is up to date, so that no generator has to bring it there; packed quickly.
        must(CPACK, "--config", f"{BUILD}/CPackConfig.cmake", "-B", cls.folder, "-D", "CPACK_CMAKE_GENERATOR=Ninja",
             "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=gzip", "-D", f"CPACK_PACKAGE_DIRECTORY={cls.folder}", folder=cls.folder)
        cls.packages = {path.name.split("_")[0]: path for path in cls.folder.glob("*.deb")}
        cls.root = cls.folder / "root"
        for path in cls.packages.values():
            must("dpkg-deb", "--extract", path, cls.root, folder=cls.folder)

    def control(self, package, field):
        return must("dpkg-deb", "--field", self.packages[package], field, folder=self.folder).strip()

    def test_names(self):
        self.assertEqual(sorted(self.packages), sorted(FILES))
        version = re.search(r"project\(stencil VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]
        for package in self.packages:
            self.assertEqual(self.control(package, "Version"), f"{version}-1")
            self.assertIn("\n ", self.control(package, "Description"))
        self.assertEqual(self.control("python3-stencil", "Architecture"), "all")

    def test_dependencies(self):
        """Each is named, with the version of ours; which HDF5 it is, dpkg-shlibdeps finds out."""
        for package, wanted in DEPENDS.items():
            found = dict(re.findall(r"([a-z0-9.+-]+)(?::any)?(?: \((.*?)\))?(?:, |$)", self.control(package, "Depends")))
            others = {name for name in found if name not in wanted}
            with self.subTest(package):
                self.assertLessEqual(wanted, set(found))
                self.assertTrue(all(re.match(r"libhdf5|zlib1g|libstdc|libgcc|libopenmpi|libmpich", name) for name in others), others)
                self.assertEqual(any("libhdf5" in name for name in others), package == "stencil")
                if LIBRARY in wanted:
                    self.assertEqual(found[LIBRARY], "= " + self.control(package, "Version"))

    def test_files(self):
        """Each file is there, below /usr and nowhere else, owned by root, readable by all and writable by root alone."""
        for package, wanted in FILES.items():
            listed = must("dpkg-deb", "--contents", self.packages[package], folder=self.folder).splitlines()
            paths = set()
            for line in listed:
                mode, owner, path = re.match(r"(\S+) (\S+) .*? \./(\S*)", line).groups()
                self.assertEqual(owner, "root/root", line)
                self.assertRegex(mode, r"^(lrwxrwxrwx|drwxr-xr-x|-rw[x-]r-[x-]r-[x-])$", line)
                self.assertTrue(path.startswith("usr/"), line)
                self.assertNotIn("__pycache__", path)
                paths.add(path[len("usr/"):])
            own = {f"share/doc/{package}/copyright", f"share/doc/{package}/changelog.Debian.gz"}
            self.assertLessEqual({*wanted, *own}, paths, package)
        changes = gzip.decompress((self.root / "usr/share/doc/stencil/changelog.Debian.gz").read_bytes()).decode()
        self.assertTrue(changes.startswith(f"stencil ({self.control('stencil', 'Version')})"), changes)

    def test_no_path_of_the_build(self):
        for path in self.root.rglob("*"):
            if path.is_file():
                content = path.read_bytes()
                for folder in (str(ROOT), BUILD):
                    at = content.find(folder.encode() + b"/")
                    self.assertEqual(at, -1, f"{path.relative_to(self.root)}: {content[max(at, 0):][:120]}")

    def test_manual_and_completion(self):
        page = gzip.decompress((self.root / "usr/share/man/man1/stencil.1.gz").read_bytes()).decode()
        self.assertEqual(page, (ROOT / "app" / "stencil.1").read_text(encoding="utf-8"))
        for shell, name in (("bash", "bash-completion/completions/stencil"), ("zsh", "zsh/vendor-completions/_stencil"),
                            ("fish", "fish/vendor_completions.d/stencil.fish")):
            self.assertEqual((self.root / "usr/share" / name).read_text(encoding="utf-8"),
                             must(self.root / "usr/bin/stencil", "completion", shell, folder=self.folder))

    def test_command(self):
        """From where it is unpacked: it finds its scripts beside it."""
        stencil = self.root / "usr/bin/stencil"
        self.assertFalse([line for line in must("readelf", "-dS", stencil, folder=self.folder).splitlines()
                          if re.search(r"RPATH|RUNPATH|\.symtab", line)])
        must(stencil, "new", "p.h5", "--problem", "poisson", "--size", "33x33", folder=self.folder)
        self.assertIn("converged", must(stencil, "p.h5", "--device", "cpu", folder=self.folder))
        self.assertIn("verified", must(stencil, "verify", "p.out.h5", folder=self.folder))
        must(stencil, "plot", "p.out.h5", "-o", "p.svg", folder=self.folder, MPLCONFIGDIR=str(self.folder))
        self.assertIn("<svg", (self.folder / "p.svg").read_text(encoding="utf-8"))

    def test_module(self):
        """Its own folder and that of the library are where the packages have them."""
        os.environ.pop("STENCIL_LIBRARY", None)
        usr = self.root / "usr"
        text = must(sys.executable, "-B", "-c", "import numpy, stencil; r = stencil.solve(numpy.eye(33), problem='laplace',"
                    "rtol=1e-6, device='cpu'); print(stencil.__file__, r.reason)", folder=self.folder,
                    PYTHONPATH=str(usr / "lib/python3/dist-packages"), LD_LIBRARY_PATH=str(usr / LIBDIR))
        self.assertIn(str(usr), text)
        self.assertIn("converged_rtol", text)

    def test_library_is_registered(self):
        """The cache of the loader is brought up to date, and packages of programs that use the library get its version."""
        control = self.folder / "control"
        must("dpkg-deb", "--control", self.packages[LIBRARY], control, folder=self.folder)
        self.assertIn("ldconfig", (control / "triggers").read_text())
        self.assertEqual((control / "shlibs").read_text().split()[:3], ["libstencil", ABI, LIBRARY])
        self.assertIn(f"[libstencil.so.{ABI}]",
                      must("readelf", "-d", self.root / "usr" / LIBDIR / f"libstencil.so.{ABI}", folder=self.folder))


if __name__ == "__main__":
    for tool in ("dpkg-deb", "dpkg-shlibdeps", "readelf", CPACK):
        if shutil.which(tool) is None:
            print(f"skipped: {tool} is not installed")
            sys.exit(77)
    unittest.main()
