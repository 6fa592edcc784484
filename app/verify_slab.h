/* The reference's arrays of a slab: consecutive lines of a field (planes, in 2D rows), with the lines around
 * them that steps read. Slabs of all ranks together are the field, and none has more than its own. */
#pragma once

#include "app/reference.h"
#include "inputs/inputs.h"

/* The origin of slabs: the input of a run, the problem that it states, the problem of the run's result, and
 * the number of steps before that run. All borrowed. */
typedef struct slab_source {
    stencil_input *input;
    const stencil_spec *spec;
    const stencil_problem *problem;
    int64_t first;
} slab_source;

/* Facts about all lines of the field together, of which the next stage of a slab depends on some. */
typedef struct slab_facts {
    double range[2];     /* the smallest and the largest coefficient */
    reference_rows rows; /* rows of weights that walls make */
    bool adds_constants; /* walls add something */
    double largest;      /* the largest value of the field before the first step, and of the source */
} slab_facts;

/* A slab; zeroed: none. slab_free() frees what it owns. */
typedef struct slab {
    reference reference;
    void *field[2], *b;                                         /* field[s % 2]: the field after s steps */
    void *more[STENCIL_SUM_ARRAYS], *value[STENCIL_SUM_ARRAYS]; /* see reference.h */
    uint8_t *driven, *fixed, *row;                              /* likewise; NULL: no cell is of any kind */
    uint8_t *insulated;                                         /* up to slab_shape(), as k */
    double *k;
} slab;

/* Read a slab in stages, between which the facts of all slabs are joined: cells and coefficients, which have
 * a range; walls, which make rows; the source, which has a largest value; at last values are scaled as the
 * run did. `base` is the reference of the whole field. Lines are [first, end), `steps` what arrays have room
 * for around them. Errors: NO_MEMORY; those of the input. */
stencil_status slab_begin(slab *s, const slab_source *from, const reference *base, const int64_t lines[2],
                          int64_t steps, slab_facts *facts);
stencil_status slab_shape(slab *s, const slab_source *from, slab_facts *facts);
stencil_status slab_fill(slab *s, const slab_source *from, slab_facts *facts);
void slab_scale(slab *s, const slab_source *from, const slab_facts *facts);
void slab_free(slab *s);

/* Facts about no line; and those that ranks have found together. */
void slab_facts_begin(slab_facts *facts);
void slab_facts_join(slab_facts *facts, stencil_world *world);

/* Returns the bytes of a line of a field. */
int64_t slab_line_bytes(const slab *s);

/* Reads the cells of an array in the lines that the slab's arrays hold. Errors: those of the input. */
stencil_status slab_read(const slab *s, stencil_input *from, const stencil_problem *problem,
                         stencil_array array, void *values);

/* Returns the first own line of a rank; that of rank `ranks` is the number of lines. */
int64_t slab_first_line(const reference *base, int ranks, int rank);

/* Sets up the messages by which ranks give each other the lines around their slabs, of the field after even
 * and odd steps. Errors: NO_MEMORY. */
stencil_status slab_connect(slab *s, stencil_world *world, stencil_exchange *exchange[2]);
