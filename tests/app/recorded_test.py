"""Results of version 266f42d, to the bit: recorded.json has a digest of /u and of the history of each problem below.

STENCIL=… python3 recorded_test.py --record FILE writes such a file with the program that is named.
"""
import hashlib
import itertools
import json
import os
import sys
import unittest

import numpy

from harness import SLOW, CommandTest, h5py

RECORDED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recorded.json")
SETS = {2: ("j2d5pt", "j2ds9pt", "j2d9pt", "j2d25pt", "j2d49pt"), 3: ("j3d7pt", "j3d13pt", "j3d17pt", "j3d19pt", "j3d27pt")}
SHAPE = {2: (33, 70), 3: (14, 19, 70)}


def numbers(seed, shape, precision):
    """The same with every version of NumPy: raw words of a generator, whose stream never changes."""
    words = numpy.random.PCG64(seed).random_raw(int(numpy.prod(shape)))
    return ((words >> numpy.uint64(11)) * 2.0 ** -53 - 0.5).reshape(shape).astype(precision)


def problems():
    """name, attributes, datasets, arguments."""
    for rank, precision in itertools.product((2, 3), ("f4", "f8")):
        boundaries = ["fixed"], ["periodic"], ["mirror"], ["mirror", "fixed", "periodic"][-rank:]
        shape = SHAPE[rank]
        for number, points in enumerate(SETS[rank]):
            boundary = boundaries[number % 4]
            data = {"u": numbers(number, shape, precision)}
            if number % 2:
                data["b"] = numbers(number + 100, shape, precision)
            yield f"{points} {precision}", {"stencil": points, "boundary": boundary, "steps": 61, "check_every": 7,
                                            "norm": ("l2", "max")[number % 2]}, data, ()
        for number, boundary in enumerate(boundaries):
            u, source = numbers(number, shape, precision), numbers(50 + number, shape, "f8")
            mean = source.mean() if "fixed" not in boundary else 0
            yield f"heat {rank} {number} {precision}", {"problem": "heat", "boundary": boundary, "spacing": 0.1, "steps": 130}, {"u": u}, ()
            for problem, data in (("laplace", {"u": u}), ("poisson", {"u": u, "f": source - mean})):
                for more in ({"accelerate": "chebyshev"}, {"omega": 0.9}):
                    yield (f"{problem} {rank} {number} {precision} {list(more)[0]}",
                           {"problem": problem, "boundary": boundary, "rtol": 1e-2 if precision == "f4" else 1e-4, **more}, data, ())


def digest(name):
    with h5py.File(name, "r") as file:
        return [hashlib.sha256(file["u"][()].tobytes()).hexdigest()[:32],
                hashlib.sha256(file["residual"][()].tobytes() + file["residual_step"][()].tobytes()).hexdigest()[:32],
                int(file.attrs["steps_total"]), str(file["provenance"].attrs["reason"])]


class Recorded(CommandTest):
    def results(self):
        for number, (name, attributes, datasets, arguments) in enumerate(problems()):
            if SLOW and number % 5 != 0:  # a fifth of them
                continue
            # The ways take turns: another one for each problem, and each makes the bits of all.
            how = (("--sync", "relaunch", "--sweep", "naive"), ("--sync", "grid", "--sweep", "pipeline"), ("--parts", 2), ())[number % 4]
            with h5py.File(self.path("p.h5"), "w") as file:
                for key, value in datasets.items():
                    file[key] = value
                for key, value in attributes.items():
                    file.attrs[key] = value
            code = self.call("p.h5", "-qf", "--device", "cpu", "--effort", "estimate", *how, *arguments).returncode
            self.assertIn(code, (0, 2), name)
            yield name, digest(self.path("p.out.h5"))

    def test_bits_of_the_last_version(self):
        with open(RECORDED, encoding="utf-8") as file:
            wanted = json.load(file)
        found = dict(self.results())
        self.assertTrue(found)
        if not SLOW:
            self.assertEqual(set(found), set(wanted))
        for name, values in found.items():
            self.assertEqual(values, wanted[name], name)


if __name__ == "__main__":
    if "--record" in sys.argv:
        test = Recorded()
        test.setUp()
        with open(sys.argv[sys.argv.index("--record") + 1], "w", encoding="utf-8") as out:
            out.write("{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(values)}" for name, values in test.results()) + "\n}\n")
        test.doCleanups()
    else:
        unittest.main()
