"""Solves a problem of `stencil new --problem poisson` (fixed boundary) by SciPy's conjugate gradients, to compare with.

    stencil new p.h5 --problem poisson --size 1025x1025
    stencil p.h5
    python3 examples/poisson_cg.py p.h5 p.out.h5

Same equations, same relative limit of the residual, float64, on a CPU. Needs h5py and SciPy.
"""
import sys
import time

import h5py
import numpy
import scipy.sparse
import scipy.sparse.linalg


def second_difference(n, h):
    return scipy.sparse.diags([-1, 2, -1], [-1, 0, 1], shape=(n, n), format="csr") / h**2


def main(path, result=None):
    with h5py.File(path) as file:
        u = file["u"][...].astype("f8")
        f = file["f"][...].astype("f8") if "f" in file else numpy.zeros_like(u)
        h = numpy.broadcast_to(file.attrs.get("spacing", 1.0), u.ndim)
        rtol = float(file.attrs["rtol"])
    inner = (slice(1, -1),) * u.ndim
    n = u[inner].shape
    matrix = None
    for axis in range(u.ndim):
        term = second_difference(n[axis], h[axis])
        for other in range(u.ndim):
            if other < axis:
                term = scipy.sparse.kron(scipy.sparse.identity(n[other]), term, format="csr")
            elif other > axis:
                term = scipy.sparse.kron(term, scipy.sparse.identity(n[other]), format="csr")
        matrix = term if matrix is None else matrix + term
    right = f[inner].copy()
    for axis in range(u.ndim):  # boundary cells keep their values
        for end, side in ((0, 0), (-1, -1)):
            at = [slice(None)] * u.ndim
            at[axis] = end
            edge = [slice(1, -1)] * u.ndim
            edge[axis] = side
            right[tuple(at)] += u[tuple(edge)] / h[axis] ** 2
    steps = 0

    def count(_):
        nonlocal steps
        steps += 1

    start = time.perf_counter()
    keywords = {"rtol": rtol} if tuple(map(int, scipy.__version__.split(".")[:2])) >= (1, 12) else {"tol": rtol}
    x, failed = scipy.sparse.linalg.cg(matrix, right.ravel(), x0=u[inner].ravel(), atol=0.0, maxiter=10**6, callback=count,
                                       **keywords)
    seconds = time.perf_counter() - start
    print(f"conjugate gradients: {steps} steps, {seconds:.3g} s{', not converged' if failed else ''}")
    if result is not None:
        with h5py.File(result) as file:
            ours = file["u"][inner]
            print(f"stencil: {int(file.attrs['steps_total'])} steps; root mean square of the difference: "
                  f"{numpy.sqrt(numpy.mean((ours - x.reshape(n)) ** 2)):.3g}")


if __name__ == "__main__":
    main(*sys.argv[1:])
