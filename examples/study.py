"""A study of 1,000 small problems: how warm the middle of a plate gets, by the place and the strength of a heater.

    python3 examples/study.py
"""
import sys
import time

import numpy as np

import stencil


def main(count=1000, n=64):
    draw = np.random.default_rng(1)
    u, q = np.empty((n, n)), np.zeros((n, n))
    plate = stencil.Solver(u.shape, problem="heat", spacing=1 / (n - 1), q=q, steps=100, threads=1)
    warmest, steps_s, begin = [], 0.0, time.perf_counter()
    for power in draw.uniform(1, 100, count):
        y, x = draw.integers(4, n - 4, 2)
        u[:], q[:] = 20.0, 0.0
        q[y - 2:y + 3, x - 2:x + 3] = power                                    # the array that the plate was stated with
        result = plate(u, in_place=True)
        warmest.append(u[n // 2, n // 2])
        steps_s += result.report["compute_s"]
    beside_s = (time.perf_counter() - begin - steps_s) / count
    print(f"{count} problems: the middle has {min(warmest):.2f} to {max(warmest):.2f} degrees")
    print(f"{1e6 * steps_s / count:.0f} µs of steps each, {1e6 * beside_s:.0f} µs beside them")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
