/* Fields of a benchmark: random values, and the comparison of results. Internal to bench/. */
#ifndef STENCIL_BENCH_FIELDS_H
#define STENCIL_BENCH_FIELDS_H

#include "solver/field.h"

/* Random numbers in [0, 1) in all cells, rims included, the same on every machine. */
void stencil_field_fill_random(stencil_field *field, uint64_t seed);

/* Bit for bit over all updated cells. INTERNAL where they differ, with the number of different cells and the
 * first one; `a_name` and `b_name` say in the message whose results these are, `steps` after how many steps.
 * Both fields have the same layout. */
stencil_status stencil_field_check_same(const stencil_field *a, const char *a_name, const stencil_field *b,
                                        const char *b_name, int64_t steps);

#endif
