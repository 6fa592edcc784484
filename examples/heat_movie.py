"""Heat spreads from a hot ball in a cold block in 3D; the plane through its middle becomes a film.

    python3 examples/heat_movie.py heat.gif
"""
import sys

import matplotlib
import numpy as np

import stencil

matplotlib.use("Agg")
from matplotlib import animation, pyplot  # noqa: E402


def main(path="heat.gif", n=64, frames=24):
    z, y, x = np.mgrid[-1:1:n * 1j, -1:1:n * 1j, -1:1:n * 1j]
    u = np.where(x**2 + y**2 + z**2 < 0.3**2, 100.0, 0.0)                      # [nz][ny][nx]
    block = stencil.Solver(u.shape, problem="heat", spacing=2 / (n - 1), boundary="mirror", time_end=0.002)
    figure, axes = pyplot.subplots(figsize=(3, 3))
    image, total = axes.imshow(u[n // 2], vmin=0, vmax=50, cmap="inferno"), u.sum()
    writer = animation.PillowWriter(fps=8)
    with writer.saving(figure, path, dpi=60):
        for frame in range(frames):
            image.set_data(u[n // 2])
            axes.set_title(f"t = {0.002 * frame:.3f}")
            writer.grab_frame()
            block(u, in_place=True)
    print(f"{frames} frames, at most {u.max():.1f} degrees at the end, {abs(u.sum() / total - 1):.0e} of the heat lost")


if __name__ == "__main__":
    main(*sys.argv[1:2], *map(int, sys.argv[2:]))
