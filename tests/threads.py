#!/usr/bin/env python3
"""Runs a stencil that was built with ThreadSanitizer (cmake --preset thread): every strategy of CPUs with every sweep,
instruction set and a sample of point sets, in one part and in three; and with a thread that writes beside the steps.
Every report of the sanitizer is an error.

    python3 tests/threads.py build/thread/app/stencil
"""
import itertools
import os
import pathlib
import subprocess
import sys
import tempfile

PROBLEMS = (("j2d5pt", "float32", "70x61"), ("j2d25pt", "float64", "70x61"), ("j3d7pt", "float64", "40x29x23"),
            ("j3d27pt", "float32", "40x29x23"))
SPANNING = ("openmp", "single-thread", "grid", "neighbor", "multi-grid")  # those that run in several parts
STRATEGIES = ("relaunch", "lock", "central", "lock-free", "cluster", *SPANNING)
SWEEPS, SETS = ("stream", "pipeline", "naive"), ("avx512", "avx2", "baseline")
OPTIONS = "--device cpu --threads 3 --steps 14 --check-every 3 --quiet".split()
BESIDE = ("--checkpoint-every 4 --save-every 3 --save u,residual", "--checkpoint-every 0.01s --steps 200",
          "--checkpoint-every 0.01s --time-limit 0.2s --steps 100000000")
ENDS = (0, 2, 75)  # by a rule, by the number of steps, by the time limit


def main():
    program = os.path.abspath(sys.argv[1])
    # OpenMP's libarcher tells the sanitizer of the barriers of parallel regions; LLVM has it beside its compiler.
    archer = next((str(path) for path in pathlib.Path("/usr/lib").glob("llvm*/lib/libarcher.so")), "libarcher.so")
    environment = {**os.environ, "TSAN_OPTIONS": "ignore_noninstrumented_modules=1", "OMP_TOOL_LIBRARIES": archer}
    sets = [isa for isa in SETS if subprocess.run([program, "help"], env={**environment, "STENCIL_CPU_ISA": isa},
                                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                                  check=False).returncode == 0]  # those of this CPU
    runs = wrong = 0
    with tempfile.TemporaryDirectory(prefix="stencil-threads-") as folder:
        for points, precision, size in PROBLEMS:
            file = os.path.join(folder, "p.h5")
            subprocess.run([program, "new", file, "--force", "--quiet", "--stencil", points, "--precision", precision,
                            "--size", size, "--initial", "random"], env=environment, check=True)
            cases = [(isa, ["--sync", sync, "--sweep", sweep, "--no-output", *more])
                     for isa, sweep in itertools.product(sets, SWEEPS)
                     for syncs, more in ((STRATEGIES, ()), (SPANNING, ("--parts", "3"))) for sync in syncs]
            cases += [(sets[-1], ["--sync", sync, *more.split(), "--force", "-o", os.path.join(folder, "out.h5")])
                      for sync, more in itertools.product(STRATEGIES, BESIDE)]
            for isa, options in cases:
                command = [program, file, *OPTIONS, *options]
                done = subprocess.run(command, env={**environment, "STENCIL_CPU_ISA": isa}, capture_output=True,
                                      encoding="utf-8", timeout=300, check=False)
                runs += 1
                if done.returncode not in ENDS or "ThreadSanitizer" in done.stderr:
                    wrong += 1
                    print(f"{isa}, {points} {precision}: {' '.join(command[2:])}: exit code {done.returncode}\n"
                          f"{done.stderr[:2000]}", flush=True)
    print(f"{wrong} of {runs} runs are not clean")
    return 1 if wrong or not runs else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main())
