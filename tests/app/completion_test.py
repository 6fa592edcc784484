"""Completion by shells, from the scripts that `stencil completion` prints."""
import re
import shutil
import subprocess
import unittest

from harness import STENCIL, CommandTest


class Completion(CommandTest):
    def offers(self, *words):
        """What bash offers for the last of these words."""
        script = 'source <("$0" completion bash); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _stencil; printf "%s\\n" "${COMPREPLY[@]}"'
        done = subprocess.run(["bash", "-c", script, STENCIL, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, cwd=self.directory)
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_bash(self):
        open(self.path("plates.h5"), "w", encoding="utf-8").close()
        self.assertEqual(self.offers("stencil", "pl"), ["plan", "plot", "plates.h5"])
        self.assertEqual(self.offers("stencil", "help", "wi"), ["wisdom"])
        self.assertEqual(self.offers("stencil", "completion", ""), ["bash", "zsh", "fish"])
        self.assertEqual(self.offers("stencil", "--sw"), ["--sweep"])
        self.assertEqual(self.offers("stencil", "--sweep", "pi"), ["pipeline"])
        self.assertEqual(self.offers("stencil", "--sweep", "=", "pi"), ["pipeline"])
        self.assertEqual(self.offers("stencil", "--sweep", "="), ["auto", "stream", "naive", "pipeline", "resident"])
        self.assertEqual(self.offers("stencil", "x.h5", "--rtol", "n"), ["none"])
        self.assertEqual(self.offers("stencil", "new", "--prob"), ["--problem"])
        self.assertEqual(self.offers("stencil", "new", "--problem", "h"), ["heat"])
        self.assertEqual(self.offers("stencil", "compare", "--sy"), [])
        self.assertEqual(self.offers("stencil", "--output", "p"), [])  # files, by bash itself

    def test_all_options_are_offered(self):
        """Those of --help, of each command."""
        overview = self.ok("help").stdout
        for command in overview[overview.index("Commands:"):overview.index("Examples:")].split("\n")[1:]:
            name = command[2:12].strip()
            if not name or name in ("help", "version", "completion"):
                continue
            shown = set(re.findall(r"^ {2}(?:-.,| {3}) (--[a-z-]+)", self.ok("help", name).stdout, re.MULTILINE))
            self.assertIn("--help", shown)
            self.assertLessEqual(shown, set(self.offers("stencil", name, "--")), name)

    def test_other_shells(self):
        for shell, check in (("zsh", ["-n"]), ("fish", ["--no-execute"])):
            with self.subTest(shell):
                script = self.ok("completion", shell).stdout
                self.assertIn("pipeline", script)
                if shutil.which(shell) is None:
                    self.skipTest(f"{shell} is not installed")
                done = subprocess.run([shell, *check], input=script, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_refused(self):
        self.refused(64, ["bash|zsh|fish"], "completion", "tcsh")


if __name__ == "__main__":
    unittest.main()
