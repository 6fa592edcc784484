"""Outputs that cannot be made, or only in part: one line on stderr, the right exit code, and nothing torn left behind."""
import json
import os
import resource
import shutil
import signal
import subprocess
import time
import unittest

from harness import STENCIL, CommandTest, limited, fault

USAGE, CANNOT_CREATE, IO = 64, 73, 74


class Output(CommandTest):
    """All of these are found before anything is computed: the run would take years."""

    forever = ("--steps", 10**14, "--device", "cpu", "--effort", "estimate")

    def setUp(self):
        super().setUp()
        self.make()

    @fault("the directory of the result is missing", "its name, before the first step", 73)
    def test_directory_missing(self):
        self.refused(CANNOT_CREATE, ["nowhere"], "p.h5", "-o", "nowhere/out.h5", *self.forever)
        self.refused(CANNOT_CREATE, ["nowhere"], "p.h5", "--json", "nowhere/out.json", *self.forever)
        self.refused(CANNOT_CREATE, ["nowhere"], "new", "nowhere/p.h5", "--problem", "heat", "--size", "9x9")

    def test_directory_is_a_file(self):
        self.refused(CANNOT_CREATE, ["p.h5/"], "p.h5", "-o", "p.h5/out.h5", *self.forever)

    @fault("the directory of the result is read-only", "the right that is missing, before the first step", 73)
    def test_directory_read_only(self):
        os.mkdir(self.path("d"))
        keywords = self.as_nobody()
        os.chmod(self.path("d"), 0o555)
        self.refused(CANNOT_CREATE, ["'d/'", "Permission denied"], "p.h5", "-o", "d/out.h5", *self.forever, **keywords)
        self.refused(CANNOT_CREATE, ["'d/'", "Permission denied"], "p.h5", "--no-output", "--json", "d/out.json",
                     *self.forever, **keywords)

    @fault("the result would be a directory", "that it is one", 73)
    def test_is_a_directory(self):
        os.mkdir(self.path("d"))
        self.refused(CANNOT_CREATE, ["'d'", "directory"], "p.h5", "-o", "d", "--force", *self.forever)

    @fault("the result exists", "--force", 73)
    def test_exists(self):
        open(self.path("p.out.h5"), "w").close()
        self.refused(CANNOT_CREATE, ["'p.out.h5'", "--force"], "p.h5", *self.forever)
        self.refused(CANNOT_CREATE, ["'p.out.h5'", "--force"], "p.h5", "--no-output", "--json", "p.out.h5",
                     *self.forever)

    def test_standard_output_is_no_place_for_a_file(self):
        self.refused(USAGE, ["--output -", "./-"], "p.h5", "-o", "-", *self.forever)
        self.refused(USAGE, ["'-'", "./-"], "new", "-", "--problem", "heat", "--size", "9x9")
        self.ok("p.h5", "-o", "./-", "--steps", 1, "--device", "cpu")
        self.ok("verify", "./-")

    @fault("the result would replace its input", "--force", 73)
    def test_is_the_input(self):
        os.symlink("p.h5", self.path("link.h5"))
        os.link(self.path("p.h5"), self.path("hard.h5"))
        for name in ("p.h5", "./p.h5", "link.h5", "hard.h5"):
            self.refused(CANNOT_CREATE, [f"'{name}'", "is the input", "use --force"], "p.h5", "-o", name, *self.forever)
            self.refused(CANNOT_CREATE, [f"'{name}'", "is the input"], "p.h5", "--no-output", "--json", name, "--force",
                         *self.forever)

    def test_dry_run_writes_nothing(self):
        """A file that is in the way of the run's is noted; what keeps a dry run's own report from being is not."""
        self.ok("p.h5", "--steps", 1)
        before = self.snapshot()
        for output, wanted in (("p.out.h5", "'p.out.h5' exists: use --force"), ("p.h5", "'p.h5' is the input file: use")):
            done = self.ok("p.h5", "--dry-run", "-o", output)
            self.assertIn(f"Note the run itself would be refused: {wanted}", " ".join(done.stdout.split()))
            notes = json.loads(self.ok("p.h5", "--dry-run", "-o", output, "--json", "-").stdout)["notes"]
            self.assertEqual(len([note for note in notes if wanted in note]), 1, notes)
            self.assertNotIn("refused", self.ok("p.h5", "--dry-run", "-o", output, "--force").stdout)
        self.assertEqual(before, self.snapshot())
        self.refused(CANNOT_CREATE, ["--json", "'p.out.h5'", "--force"], "p.h5", "--dry-run", "--no-output", "--json",
                     "p.out.h5")
        os.mkdir(self.path("d"))
        self.refused(CANNOT_CREATE, ["'d'", "directory"], "p.h5", "--dry-run", "-o", "d")
        self.refused(CANNOT_CREATE, ["nowhere"], "p.h5", "--dry-run", "-o", "nowhere/p.h5")

    def test_report_that_cannot_be(self):
        """All commands with --json name the option, and refuse what is there."""
        self.ok("p.h5", "--steps", 1, "--device", "cpu")
        os.mkdir(self.path("d"))
        with open(self.path("old.json"), "w") as file:
            file.write("{}")
        for arguments in (("p.h5", "--no-output", *self.forever), ("verify", "p.out.h5"), ("compare", "p.h5", "p.h5"),
                          ("info",), ("bench", "copy")):
            self.refused(CANNOT_CREATE, ["--json", "'d'", "directory"], *arguments, "--json", "d")
            self.refused(CANNOT_CREATE, ["--json", "'old.json'", "--force"], *arguments, "--json", "old.json")
            self.refused(CANNOT_CREATE, ["--json", "nowhere"], *arguments, "--json", "nowhere/r.json")
            if arguments[0] in ("p.h5", "compare"):
                self.refused(CANNOT_CREATE, ["--json", "'p.h5'", "input"], *arguments, "--json", "p.h5", "--force")
        for arguments in (("verify", "p.out.h5"), ("compare", "p.h5", "p.h5"), ("info",)):
            self.ok(*arguments, "--json", "old.json", "--force")
            with open(self.path("old.json")) as file:
                self.assertEqual(json.load(file).get("schema_version"), 2 if arguments[0] == "compare" else 1)

    @fault("somebody else has a file of the temporary name", "nothing: it stays, and ours has another one", 0, "both files")
    def test_temporary_file_of_somebody_else(self):
        """A file that has the name of our temporary one survives."""
        process = subprocess.Popen(["sh", "-c", 'echo kept >"r.json.tmp-$$"; echo kept >".r.json.$$-0.tmp"; exec "$0" "$@"',
                                    STENCIL, "info", "--json", "r.json"], cwd=self.directory, stdout=subprocess.DEVNULL)
        process.wait()
        self.ended(process, 0)
        names = {f"r.json.tmp-{process.pid}", f".r.json.{process.pid}-0.tmp"}
        self.assertEqual(set(os.listdir(self.directory)), names | {"p.h5", "r.json"})
        for name in names:
            with open(self.path(name)) as file:
                self.assertEqual(file.read(), "kept\n")

    def test_report_in_place_of_the_output(self):
        self.refused(USAGE, ["--json"], "p.h5", "-o", "x.h5", "--json", "./x.h5", *self.forever)

    def test_timeline_that_cannot_be(self):
        """--trace is written last and looked at first: it takes no other file's place."""
        open(self.path("old.json"), "w").close()
        self.refused(CANNOT_CREATE, ["--trace", "nowhere"], "p.h5", "--trace", "nowhere/t.json", *self.forever)
        self.refused(CANNOT_CREATE, ["--trace", "'old.json'", "--force"], "p.h5", "--trace", "old.json", *self.forever)
        self.refused(CANNOT_CREATE, ["--trace", "is the input"], "p.h5", "--trace", "p.h5", "--force", *self.forever)
        self.refused(USAGE, ["--trace", "output"], "p.h5", "-o", "x.h5", "--trace", "./x.h5", *self.forever)
        self.refused(USAGE, ["--trace", "--json"], "p.h5", "--json", "x.json", "--trace", "./x.json", *self.forever)

    @fault("a limit of file sizes (a quota) is too small", "what is needed, before the first step", 74)
    def test_disk_full(self):
        """Found before anything is computed, with need and have."""
        self.make("big.h5", "--size", "129x129")
        wanted = ["too large", "it needs", "4.00 KiB is free"]
        self.refused(IO, ["'big.out.h5'", *wanted], "big.h5", *self.forever,
                     preexec_fn=limited(resource.RLIMIT_FSIZE, 4096))
        self.refused(IO, ["'big.out.h5'", *wanted], "big.h5", "--dry-run", preexec_fn=limited(resource.RLIMIT_FSIZE, 4096))
        self.refused(IO, ["'new.h5'", *wanted], "new", "new.h5", "--problem", "heat", "--size", "129x129",
                     preexec_fn=limited(resource.RLIMIT_FSIZE, 4096))

    def small_disk(self):
        """A file system of one MiB, as a directory."""
        disk = self.path("disk")
        os.mkdir(disk)
        try:
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", disk], check=True, stderr=subprocess.DEVNULL)
        except (OSError, subprocess.CalledProcessError):
            self.skipTest("no right to mount")
        self.addCleanup(subprocess.run, ["umount", disk], check=True)
        return disk

    @fault("the file system is full", "what is needed and free, before the first step", 74, "the old result")
    def test_small_disk(self):
        disk = self.small_disk()
        self.make("big.h5", "--size", "513x513")
        self.refused(IO, ["No space left", "it needs 4.", "1.00 MiB is free"], "big.h5", "-o", "disk/out.h5", *self.forever)
        self.refused(IO, ["No space left", "it needs 2.", "1.00 MiB is free"], "new", "disk/p.h5", "--problem", "heat",
                     "--size", "513x513")
        # One result fits, and a second one beside it, but not a third one.
        self.make("half.h5", "--size", "200x200")
        for name in ("one", "two"):
            self.ok("half.h5", "-o", f"disk/{name}.h5", "--steps", 10, "--device", "cpu")
        before = os.path.getmtime(self.path("disk/two.h5"))
        self.refused(IO, ["'disk/two.h5'", "No space left"], "half.h5", "-o", "disk/two.h5", "--force", *self.forever)
        self.assertEqual(os.path.getmtime(self.path("disk/two.h5")), before)
        self.ok("verify", "disk/two.h5")
        os.unlink(self.path("disk/one.h5"))
        self.ok("half.h5", "-o", "disk/two.h5", "--force", "--steps", 11, "--device", "cpu")
        self.ok("verify", "disk/two.h5")
        used = os.statvfs(disk)
        self.assertLess((used.f_blocks - used.f_bfree) * used.f_frsize, 350000, "space that was taken in vain is not given back")

    def start(self, *arguments, **keywords):
        """A run that has taken its output and computes."""
        process = subprocess.Popen([STENCIL, *map(str, arguments), *map(str, self.forever)], cwd=self.directory,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", **keywords)
        while not process.stdout.readline().startswith("Strategy"):
            pass
        time.sleep(0.2)
        return process

    @fault("the disk is full in the end, and everywhere", "the report; that there is no result", 74)
    def test_result_that_finds_no_place_in_the_end(self):
        """The limit comes while the run computes, and holds everywhere: the report is all that can be kept."""
        self.make("big.h5", "--size", "129x129")
        process = self.start("big.h5", "--check-every", 1, "--json", "/dev/stderr")
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
        process.send_signal(signal.SIGTERM)
        printed, errors = process.communicate(timeout=60)
        self.ended(process, IO)
        self.assertRegex(printed, "(?m)^Steps .*: interrupted$")
        self.assertRegex(printed, "(?m)^Residual ")
        self.assertRegex(printed, "(?m)^Output +none$")
        report, line = errors.rsplit("stencil: ", 1)
        self.assertRegex(line, r"^cannot write 'big.out.h5': File too large; .*\n$")
        report = json.loads(report)
        self.assertEqual((report["output"], report["result"]["exit_code"]), (None, IO))
        self.assertGreater(report["result"]["steps"], 0)
        self.assertEqual(sorted(os.listdir(self.directory)), ["big.h5", "p.h5"])

    @fault("the directory of the result is removed during the run",
           "where the result is instead", 73, "the result, as rescued-PID-NAME")
    def test_result_finds_another_place(self):
        os.mkdir(self.path("d"))
        process = self.start("p.h5", "-o", "d/out.h5", "--check-every", 1000)
        shutil.rmtree(self.path("d"))
        process.send_signal(signal.SIGTERM)
        printed, errors = process.communicate(timeout=60)
        self.ended(process, CANNOT_CREATE)
        name = f"rescued-{process.pid}-out.h5"
        self.assertRegex(errors, rf"^stencil: cannot write .*'d/'.*; '{name}' holds the complete result\n$")
        self.assertRegex(printed, rf"(?m)^Output +{name}$")
        self.assertGreater(self.attribute(name, "provenance", "steps_done"), 0)
        self.assertEqual(sorted(os.listdir(self.directory)), ["p.h5", name])

    @fault("another program makes a file of that name during the run", "where the result is instead", 73, "both files")
    def test_result_whose_name_was_taken(self):
        process = self.start("p.h5")
        shutil.copy(self.path("p.h5"), self.path("p.out.h5"))
        process.send_signal(signal.SIGTERM)
        errors = process.communicate(timeout=60)[1]
        self.ended(process, CANNOT_CREATE)
        self.assertRegex(errors, rf"'p.out.h5' has come up meanwhile.*'rescued-{process.pid}-p.out.h5' holds the complete")
        with open(self.path("p.h5"), "rb") as ours, open(self.path("p.out.h5"), "rb") as theirs:
            self.assertEqual(ours.read(), theirs.read())

    @fault("the process is killed while it computes", "nothing (SIGKILL)", -9)
    def test_killed_run_leaves_nothing(self):
        for number in (signal.SIGKILL, signal.SIGQUIT):
            process = self.start("p.h5", preexec_fn=limited(resource.RLIMIT_CORE, 0))
            process.send_signal(number)
            process.communicate(timeout=60)
            self.ended(process, -number)
            self.assertEqual(os.listdir(self.directory), ["p.h5"])

    @fault("there is no room to replace a result", "what is needed", 74, "the old result")
    def test_disk_full_keeps_the_old_output(self):
        self.make("big.h5", "--size", "129x129")
        self.ok("big.h5", "--steps", 1, "--device", "cpu")
        self.refused(IO, ["'big.out.h5'"], "big.h5", *self.forever, "--force",
                     preexec_fn=limited(resource.RLIMIT_FSIZE, 4096))

    @fault("there is no room for the report (--json)", "its name", 74, "the result")
    def test_disk_full_for_the_report(self):
        self.refused(IO, ["r.json"], "p.h5", "--no-output", "--json", "r.json", "--check-every", 1, "--steps", 500,
                     "--device", "cpu", preexec_fn=limited(resource.RLIMIT_FSIZE, 4096))

    @fault("standard output is full", "that it is", 74)
    def test_standard_output_full(self):
        with open("/dev/full", "w") as full:
            self.refused(IO, ["standard output"], "info", stdout=full)
            self.refused(IO, ["standard output"], "p.h5", "--no-output", "--device", "cpu", "--json", "-", stdout=full)

    @fault("standard output is full or closed", "that the result is complete", 74, "the result")
    def test_report_lost_but_not_the_result(self):
        def close():
            os.close(1)

        for number, options in enumerate(((), ("--json", "-"), ("--json", "r.json"))):
            for way in ("full", "closed"):
                name = f"{way}{number}.h5"
                with open("/dev/full", "w") as full:
                    done = self.call("p.h5", "-o", name, "--steps", 3, "--device", "cpu", "--force", *options,
                                     stdout=full if way == "full" else None, preexec_fn=close if way == "closed" else None)
                self.assertEqual(done.returncode, IO, done.stderr)
                self.assertRegex(done.stderr, rf"^stencil: .*standard output.*'{name}' holds the complete result\n$")
                self.ok("verify", name)
        self.assertTrue(os.path.exists(self.path("r.json")))
        with open("/dev/full", "w") as full:
            done = self.call("new", "n.h5", "--problem", "heat", "--size", "9x9", stdout=full)
        self.assertEqual(done.returncode, IO)
        self.assertRegex(done.stderr, r"^stencil: .*standard output.*'n.h5' is complete\n$")
        self.ok("n.h5", "--device", "cpu")

    @fault("standard input, output and error are closed", "nothing; no file takes their place", 74, "the result")
    def test_closed_descriptors(self):
        """No file of ours becomes standard input, output or error: what is printed would end in it."""
        for closed in ((0,), (2,), (0, 1), (0, 1, 2)):
            done = self.call("p.h5", "-o", "x.h5", "--force", "--steps", 3, "--device", "cpu",
                             preexec_fn=lambda: [os.close(fd) for fd in closed])
            self.assertEqual(done.returncode, IO if 1 in closed else 0, f"{closed}: {done.stderr}")
            self.ok("verify", "x.h5")
        self.ok("p.h5", "-q", "-o", "x.h5", "--force", "--steps", 3, "--device", "cpu", preexec_fn=lambda: os.close(1))


if __name__ == "__main__":
    unittest.main()
