/* A digest of the values of an array, by which a file shows whether they are those that a run has left:
 * docs/format.md defines it. It is a sum over the cells, so boxes are added in any order, cut in any way, and
 * sums of parts are added to each other. It detects edits and damage, but is not cryptographic: another array
 * of the same digest can be constructed. */
#pragma once

#include "solver/problem/boxes.h"
#include "solver/problem/problem.h"

/* The digest of a set of cells; zero-initialised: of no cells. */
typedef struct stencil_digest {
    uint64_t lane[2];
} stencil_digest;

/* Adds the cells of a box, which begin at the first of `cells`: each by its value in the precision of `cells`
 * and its number in `array`, which contains the box (first cell 0, x fastest). Uses all threads; within a
 * parallel region the calling thread alone. */
void stencil_digest_add(stencil_digest *digest, const stencil_box *array, const stencil_box *box,
                        const stencil_cells *cells);

/* Writes a digest as 32 hexadecimal digits. */
void stencil_digest_text(const stencil_digest *digest, char text[STENCIL_DIGEST_CHARS]);

/* The cells that a digest covers: all of /u with its boundary cells; of a source term, and of classes, the
 * cells that steps go through. */
stencil_box stencil_digest_array(const stencil_problem *problem, stencil_array array);

/* Reads an array slab by slab and writes its digest as text. Errors: NO_MEMORY; those of the reader. */
stencil_status stencil_digest_read(const stencil_problem *problem, stencil_array array,
                                   const stencil_reader *from, char text[STENCIL_DIGEST_CHARS]);
