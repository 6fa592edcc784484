/* A digest of the values of an array, by which a file shows whether they are those that a run has left:
 * docs/format.md defines it. It is a sum over the cells, so boxes are added in any order, cut in any way, by
 * anybody, and sums of parts are added to each other. It tells edits and damage; nothing keeps somebody from
 * making another array of the same digest who wants to. */
#pragma once

#include "solver/problem/boxes.h"
#include "solver/problem/problem.h"

/* Zero-initialised: of no cells. */
typedef struct stencil_digest {
    uint64_t lane[2];
} stencil_digest;

/* Adds the cells of a box, the first one first in `cells`, each by its value in the precision of `cells` and
 * its place in `array`, which has the box: that of its first cell is 0, and x varies fastest. With all
 * threads, or with the one of a parallel region that calls it. */
void stencil_digest_add(stencil_digest *digest, const stencil_box *array, const stencil_box *box,
                        const stencil_cells *cells);

/* 32 hexadecimal digits. */
void stencil_digest_text(const stencil_digest *digest, char text[STENCIL_DIGEST_CHARS]);

/* The cells that an array has a digest of: those of /u, boundary cells included, or, of the source term, the
 * updated ones. */
stencil_box stencil_digest_array(const stencil_problem *problem, stencil_array array);

/* The digest of an array as text, read slab by slab. NO_MEMORY; what the reader fails with. */
stencil_status stencil_digest_read(const stencil_problem *problem, stencil_array array,
                                   const stencil_reader *from, char text[STENCIL_DIGEST_CHARS]);
