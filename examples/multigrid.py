"""A multigrid solver of one's own, for -div grad u = f with u = 0 around, whose smoother is stencil; beside SciPy.

    python3 examples/multigrid.py 513
"""
import inspect
import sys
import time

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

import stencil


def halve(r):
    """A field on every second point along y, each the weighted mean of it and its neighbours."""
    coarse = np.zeros(((r.shape[0] + 1) // 2, r.shape[1]))
    coarse[1:-1] = (r[1:-3:2] + 2 * r[2:-2:2] + r[3:-1:2]) / 4
    return coarse


def double(e):
    """A field between whose points along y there are others, each the mean of its neighbours."""
    fine = np.zeros((2 * e.shape[0] - 1, e.shape[1]))
    fine[::2] = e
    fine[1::2] = (e[1:] + e[:-1]) / 2
    return fine


class Level:
    """A grid of n x n points, n = 2^k + 1: its arrays, a smoother that keeps its memory, and the next coarser grid."""

    def __init__(self, n):
        self.h, self.u, self.f = 1 / (n - 1), np.zeros((n, n)), np.zeros((n, n))
        self.smooth = stencil.Solver((n, n), problem="poisson", spacing=self.h, f=self.f, omega=0.8, steps=2, threads=1)
        self.coarser = Level((n + 1) // 2) if n > 3 else None

    def residual(self):
        u, r = self.u, np.zeros_like(self.u)
        r[1:-1, 1:-1] = self.f[1:-1, 1:-1] - (4 * u[1:-1, 1:-1] - u[:-2, 1:-1] - u[2:, 1:-1] - u[1:-1, :-2]
                                              - u[1:-1, 2:]) / self.h**2
        return r

    def cycle(self):
        """A V cycle on u, in place."""
        self.smooth(self.u, in_place=True)
        if self.coarser is None:
            self.u[1, 1] = self.f[1, 1] * self.h**2 / 4                        # the only point: solved
            return
        below = self.coarser
        below.f[:], below.u[:] = halve(halve(self.residual()).T).T, 0
        below.cycle()
        self.u += double(double(below.u).T).T
        self.smooth(self.u, in_place=True)


def by_scipy(f, h, rtol):
    """The same equations by conjugate gradients."""
    n = f.shape[0] - 2
    second = scipy.sparse.diags([-1, 2, -1], [-1, 0, 1], shape=(n, n)) / h**2
    matrix = (scipy.sparse.kron(second, scipy.sparse.eye(n)) + scipy.sparse.kron(scipy.sparse.eye(n), second)).tocsr()
    name = "rtol" if "rtol" in inspect.signature(scipy.sparse.linalg.cg).parameters else "tol"  # until SciPy 1.11
    return scipy.sparse.linalg.cg(matrix, f[1:-1, 1:-1].ravel(), **{name: rtol})[0].reshape(n, n)


def main(n=257, rtol=1e-8):
    arch = np.linspace(0, 1, n) * np.linspace(1, 0, n)
    exact = np.outer(arch, arch)                                               # of the equations on the grid, too
    grid = Level(n)
    grid.f[:] = 2 * (arch + arch[:, None])
    begin, cycles, first = time.perf_counter(), 0, np.linalg.norm(grid.f)
    while np.linalg.norm(grid.residual()) > rtol * first and cycles < 50:
        grid.cycle()
        cycles += 1
    own_s, begin = time.perf_counter() - begin, time.perf_counter()
    other = by_scipy(grid.f, grid.h, rtol)
    print(f"multigrid: {cycles} cycles, {own_s:.3f} s; SciPy's cg: {time.perf_counter() - begin:.3f} s")
    print(f"at most {abs(grid.u - exact).max():.1e} from the solution, "
          f"{abs(grid.u[1:-1, 1:-1] - other).max():.1e} from SciPy's")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
