/* The group /VTKHDF, by which ParaView and VTK read a field as an image whose points are its cells. */
#pragma once

#include <hdf5.h>

#include "solver/problem/problem.h"

/* Sets the axes that VTK expects the data of an image of n cells (z, y, x) to have, slowest first, and
 * returns how many they are. VTK drops the second and the third axis of an image where they have one cell,
 * and takes what is left for the first ones; so z is the second one where y has one cell. */
int stencil_image_axes(const int64_t n[3], int axis[3]);

/* Makes /VTKHDF an image of n cells of the field, every `stride`-th from `first` on (z, y, x), whose data is
 * a soft link to the dataset `field`, "/u": a hard one would be copied where a result goes on. NULL: the
 * image has data of its own. Negative on failure. */
herr_t stencil_image_write(hid_t file, const stencil_problem *problem, const char *field,
                           const int64_t first[3], const int64_t n[3], const int64_t stride[3]);

/* Returns the coordinate of a cell along an axis: multiples of the spacing, from 0 on, but from half of it on
 * where the walls, mirrors, stand half a cell outside. */
double stencil_image_coordinate(const stencil_problem *problem, int axis, int64_t cell);

/* Returns the value of `time` after a number of steps, physical time of problem heat, else that number, and
 * what it is. */
double stencil_image_time(const stencil_problem *problem, int64_t steps);
const char *stencil_image_time_name(const stencil_problem *problem);

/* Create an attribute: of `count` numbers (0: a scalar), and of a text of fixed length, as VTK wants it.
 * Negative on failure. */
herr_t stencil_numbers_write(hid_t object, const char *name, hid_t type, hid_t memory, int count,
                             const void *values);
herr_t stencil_text_write(hid_t object, const char *name, const char *text);
