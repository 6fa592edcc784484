/* Coordinates of the axes of /u: dimension scales that are attached to it, and lists /x, /y and /z. */
#pragma once

#include "inputs/file.h"

typedef struct stencil_coordinates {
    char name[STENCIL_WORD_MAX];  /* of the list, with its path; "": there is none */
    char label[STENCIL_WORD_MAX]; /* of the axis: by its scale, its label, else x, y or z */
    bool attached;                /* to /u, as a scale */
    bool time;                    /* names or units say that it is no axis of space */
    bool even;                    /* but for rounding, in the type that they are stored in */
    double first, last, step;     /* step: the mean distance of neighbours, > 0 */
    double rounding;              /* by so much stored ones differ from what they stand for */
    int64_t uneven_at;            /* the first that is not where even ones would be */
} stencil_coordinates;

/* Of each axis, in array order. What cannot be read is none. */
void stencil_coordinates_read(const stencil_h5_input *input, const stencil_spec *spec,
                              stencil_coordinates axis[STENCIL_AXES]);

/* The same of any dataset of that rank, without lists that are not attached to it: labels stay "" then. */
void stencil_coordinates_of(const stencil_h5_input *input, const char *name, const stencil_spec *spec,
                            stencil_coordinates axis[STENCIL_AXES]);
