"""A rank that dies or stands still ends all in time and leaves nothing behind but checkpoints, from which a run goes on."""
import os
import random
import signal
import time
import unittest

import h5py
import ranks_test
from ranks_test import POISSON, RanksTest
from harness import DRAW, SLOW

STEPS = 8000
# Moments of the whole test are 50, of which some are sampled: STENCIL_KILLS for all. One in five stops a rank.
KILLS = int(os.environ.get("STENCIL_KILLS", 3 if SLOW else 10 if DRAW == "all" else 3))


class Lost(RanksTest):
    def setUp(self):
        super().setUp()
        self.random = random.Random(53)
        self.ok("new", "p.h5", *POISSON, "--size", "200x150", "--quiet")
        self.long = ("--accelerate", "none", "--atol", "1e-300", "--threads", 1)

    def goes_on(self):
        """What a lost run has left: no half of a file; it is resumed by other ranks, to the bits of one process."""
        left = {name for name in os.listdir(self.directory) if not name.startswith(".")} - {"p.h5", "one.h5", "slow.sh"}
        self.assertLessEqual(left, {"out.ckpt.h5", "out.ckpt.prev.h5", "out.h5"}, left)
        steps, ranks, what = STEPS, self.random.choice((1, 2, 4)), ("p.h5", *self.long, "-o", "out.h5")
        if "out.ckpt.h5" in left:
            what = ("--resume", "out.ckpt.h5")
            with h5py.File(self.path("out.ckpt.h5")) as file:
                steps = max(steps, int(file.attrs["steps_total"]) + 500)
        if "out.h5" not in left:  # else it is whole: the run was done
            self.ranks(ranks, *what, "-qq", "--steps", steps, code=2)
        self.call("p.h5", "-qq", "-o", "one.h5", "--force", *self.long, "--steps", steps)
        self.same("one.h5", "out.h5", ranks, what)
        for name in os.listdir(self.directory):
            if name.startswith((".", "out.")):
                os.remove(self.path(name))
        return "out.ckpt.h5" in left

    def begin_long(self, ranks, *arguments, wait):
        return self.begin(ranks, "p.h5", "-o", "out.h5", "-qq", *self.long, "--checkpoint-every", 1000, *arguments, wait=wait)

    def begun(self, process):
        """Waits for the first checkpoint."""
        while not os.path.exists(self.path("out.ckpt.h5")) and process.poll() is None:
            time.sleep(0.01)

    def test_a_rank_is_killed_at_any_moment(self):
        """From its start on; or, one moment in four, about when it writes the result."""
        resumed, killed = 0, 0
        for kill in range(KILLS):
            ends = kill % 4 == 2
            process, ranks = self.begin_long(3, "--steps", STEPS if ends else 10**9, wait=0)
            if ends:
                self.begun(process)
            time.sleep(self.random.random() * (0.5 if ends else 1.5) * (1 + SLOW))
            victim = self.random.choice(sorted(ranks))
            begun = time.monotonic()
            try:
                os.kill(ranks[victim], signal.SIGKILL)
                killed += 1
            except ProcessLookupError:
                self.assertTrue(ends, f"moment {kill}")
            _, err = process.communicate(timeout=60)
            took = time.monotonic() - begun
            self.assertLess(took, 30, f"moment {kill}: rank {victim}: {err}")
            self.assertNotEqual(process.returncode, 0, err)
            self.nothing_runs()
            resumed += self.goes_on()
        print(f"{killed} of {KILLS} runs were killed before their end, {resumed} went on from a checkpoint")

    def test_a_rank_that_stands_still(self):
        for victim in [self.random.randrange(3) for _ in range(max(KILLS // 5, 1))]:
            process, ranks = self.begin_long(3, "--rank-timeout", 3, "--steps", 10**9, wait=0)
            self.begun(process)
            time.sleep(0.5 * self.random.random())
            os.kill(ranks[victim], signal.SIGSTOP)
            begun = time.monotonic()
            _, err = process.communicate(timeout=90)
            took = time.monotonic() - begun
            self.nothing_runs()
            self.assertEqual(process.returncode, 70, err)
            lines = [line for line in err.splitlines() if line.startswith("stencil: ")]
            self.assertEqual(lines, [f"stencil: rank {victim} has given no sign of life for more than 3 s: all ranks end"], err)
            print(f"rank {victim} stood still: all had ended after {took:.1f} s, of 3")
            self.assertGreater(took, 2.5)  # signs of life may have been late before
            self.assertLess(took, 30)
            if victim != 0:  # whose unfinished file it is
                self.assertEqual([name for name in os.listdir(self.directory) if name.endswith(".tmp")], [], victim)
            self.goes_on()

    def test_a_rank_that_never_begins(self):
        """It stands still before MPI knows of it, and the others in MPI_Init()."""
        with open(self.path("still.sh"), "w") as file:
            file.write(f'#!/bin/bash\n[ "${ranks_test.RANK}" != 1 ] || kill -STOP $$\nexec "$@"\n')
        os.chmod(self.path("still.sh"), 0o755)
        done = self.ranks(3, "p.h5", "--no-output", "--rank-timeout", 2, code=70, wrapper=self.path("still.sh"))
        self.assertIn("a rank stands still as all begin, for more than 2 s", done.stderr)
        self.nothing_runs()

    def test_a_rank_that_stands_still_for_less(self):
        process, ranks = self.begin_long(3, "--rank-timeout", 12, "--steps", 10**9, wait=0)
        self.begun(process)
        for victim in ranks.values():
            os.kill(victim, signal.SIGSTOP)
            time.sleep(1.5)
            os.kill(victim, signal.SIGCONT)
        os.kill(ranks[1], signal.SIGTERM)
        _, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM, err)
        self.nothing_runs()
        with h5py.File(self.path("out.h5")) as file:
            steps = int(file.attrs["steps_total"])
        self.call("p.h5", "-qq", "-o", "one.h5", "--force", *self.long, "--steps", steps)
        self.assertEqual(self.result("one.h5")[0], self.result("out.h5")[0])

    @unittest.skipIf(SLOW, "a library that comes before the program's own")
    def test_a_rank_that_writes_for_long_does_not_stand_still(self):
        """Rank 0 waits for its disk, for longer than the others wait for a rank that stands still."""
        with open(self.path("slow.sh"), "w") as file:
            file.write(f'#!/bin/bash\n[ "${ranks_test.RANK}" != 0 ] || export LD_PRELOAD={os.environ["STENCIL_DISK"]} '
                       'STENCIL_DISK_S=4\nexec "$@"\n')
        os.chmod(self.path("slow.sh"), 0o755)
        begun = time.monotonic()
        done = self.ranks(3, "p.h5", "-o", "out.h5", *self.long, "--steps", 1000, "--rank-timeout", 2, code=2, wrapper=self.path("slow.sh"))
        self.assertGreater(time.monotonic() - begun, 4)
        self.assertNotIn("sign of life", done.stderr)
        self.call("p.h5", "-qq", "-o", "one.h5", "--force", *self.long, "--steps", 1000)
        self.same("one.h5", "out.h5")

    def test_what_has_no_ranks(self):
        self.refused(64, ["--rank-timeout"], "p.h5", "--no-output", "--rank-timeout", 5)


if __name__ == "__main__":
    unittest.main()
