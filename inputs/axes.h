/* Coordinates of a result, by which xarray and netCDF name its axes: the lists /x, /y and /z, which are the
 * dimension scales of the field and of its source, and the number /time, of the field's attribute
 * `coordinates` (CF, "Scalar Coordinate Variables"). Each result has its own: those that a run has left in
 * its input are neither read nor copied. Results of inputs with coordinates of the user's own keep those. */
#pragma once

#include <hdf5.h>

#include "solver/problem/problem.h"

/* Tells whether an object of a file is a coordinate that a run has made, and no other program has rewritten.
 */
bool stencil_axes_made(hid_t file, const char *name);

/* Creates the coordinates of a result, unless it has objects of their names already. Errors: IO. */
stencil_status stencil_axes_create(hid_t file, const char *path, const stencil_problem *problem);

/* Attaches these coordinates to the field and its source, unless other ones are attached. `anew`: what is
 * attached was copied from a result that had such coordinates. Errors: IO. */
stencil_status stencil_axes_attach(hid_t file, const char *path, const stencil_problem *problem, bool anew);

/* Writes the result's time, where it has one: physical time of problem heat, else the number of steps.
 * Errors: IO. */
stencil_status stencil_axes_write_time(hid_t file, const char *path, double time);

/* Returns the bytes of the coordinates. */
int64_t stencil_axes_bytes(const stencil_problem *problem);

/* Makes the dataset a scale of this name: with its unit, and what it is (NULL: what its name says). Negative
 * on failure. */
herr_t stencil_axes_describe(hid_t scale, const char *name, const char *long_name);

/* Writes the attribute that attaches scales to a dataset's axes, [rank]. Negative on failure. */
herr_t stencil_axes_list(hid_t file, hid_t dataset, int rank, const char *const scale[]);

/* Writes coordinates of n cells along an axis, every `stride`-th from `first` on, into a list that they fill.
 * Negative on failure. */
herr_t stencil_axes_fill(hid_t list, const stencil_problem *problem, int axis, int64_t first, int64_t n,
                         int64_t stride);
