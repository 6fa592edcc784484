"""The sample that tests make of many cases, drawn with a fixed seed: tests/draw.h has the same for C."""
import os
import random

DRAW = os.environ.get("STENCIL_TEST_DRAW") or "16"


def drawn(count, cases):
    """So many of the cases, in their order; all of them in ./dev test --all."""
    cases = list(cases)
    if DRAW == "all" or count >= len(cases):
        return cases
    some = [cases[number] for number in sorted(random.Random(DRAW).sample(range(len(cases)), count))]
    print(f"draw {DRAW}: {some} of {len(cases)} (STENCIL_TEST_DRAW: another number, or all)")
    return some
