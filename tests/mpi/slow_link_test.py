"""Messages that arrive late, as over a slow link: deep passes against one message a step, predicted beside measured."""
import json
import time
import unittest

from ranks_test import POISSON, RanksTest
from harness import DRAW, SLOW

ALL = DRAW == "all" and not SLOW
DELAYS_US = (0, 10, 50, 200) if ALL else (200,)
WAYS = {"1": ("--sweep", "stream"), "chosen": ("--sweep", "pipeline")}
if ALL:
    WAYS["4"] = ("--sweep", "pipeline", "--depth", 4)
    WAYS["overlap"] = ("--sweep", "pipeline", "--depth", 4, "--overlap")
STEPS, RUNS = (1500, 9) if ALL else (1000, 2)


class SlowLink(RanksTest):
    def steps_per_s(self, delay_us, way, result):
        """Of the quickest of some runs: measured, predicted, and the steps of a pass."""
        late = ("--inject-latency", 1000 * delay_us) if delay_us else ()
        best = None
        for _ in range(RUNS):
            self.ranks(2, "p.h5", "-qq", "-o", result, "--force", "--json", "r.json", "--accelerate", "none", "--atol", "1e-300",
                       "--steps", STEPS, "--threads", 1, "--sync", "openmp", *WAYS[way], *late, code=2)
            with open(self.path("r.json"), encoding="utf-8") as file:
                report = json.load(file)
            measured, plan = STEPS / report["times_s"]["compute"], report["choice"]["plans"][0]
            if best is None or measured > best[0]:
                best = (measured, 1e6 / plan["predicted"]["step_us"], plan["depth"])
        return best

    def calibrate(self):
        """Measures what predictions need, unless others use the machine all the time; tells whether it has."""
        for _ in range(6):
            if self.call("calibrate", "--device", "cpu", "--threads", 1, "-q").returncode == 0:
                return True
            time.sleep(5)
        return False

    def test_deep_passes(self):
        self.ok("new", "p.h5", *POISSON, "--size", "258x258", "--quiet")
        if ALL:
            print("calibrated" if self.calibrate() else "not calibrated: the machine is too busy")
        self.steps_per_s(0, "1", "near.h5")
        print("\n µs late  steps of a pass  steps/s  predicted")
        for delay_us in DELAYS_US:
            found = {}
            for way in WAYS:
                found[way] = self.steps_per_s(delay_us, way, "far.h5")
                self.same("near.h5", "far.h5", delay_us, way)
                measured, predicted, depth = found[way]
                print(f"{delay_us:8}{'' if way.isdigit() else way:>8}{depth:9}{measured:9.0f}{predicted:11.0f}")
                # No pass is quicker than its message.
                self.assertLess(measured * delay_us, 1.02e6 * depth, way)
                self.assertLess(predicted * delay_us, 1.02e6 * depth, way)
            self.assertGreater(found["chosen"][2], 1 if delay_us < 50 else 4)
            if delay_us >= 200 and not SLOW:
                self.assertGreater(found["chosen"][0], 1.5 * found["1"][0])

    def test_what_has_no_messages(self):
        self.refused(64, ["--inject-latency"], "p.h5", "--no-output", "--inject-latency", 5)


if __name__ == "__main__":
    unittest.main()
