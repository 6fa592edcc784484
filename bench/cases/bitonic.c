#include "bench/cases/bitonic.cuh"

#include "bench/cases/problem.h"

enum { LEVELS_MAX = 40 };

static stencil_status make(stencil_case_problem *p) {
    bitonic_arguments *s = (bitonic_arguments *)p->arguments;
    uint64_t state = 4;
    s->n = p->n;
    for (s->levels = 1; (int64_t)1 << s->levels < p->n;)
        s->levels++;
    p->items = (int64_t)1 << (s->levels - 1);
    p->bytes = 2.0 * (double)bitonic_phases(s) * (double)p->n * sizeof(uint32_t);
    TRY(CASE_ADD_ARRAY(p, bitonic, input, INPUT, p->n));
    TRY(CASE_ADD_ARRAY(p, bitonic, keys, RESULT, p->n));
    uint32_t *input = p->array[0].memory;
    for (int64_t i = 0; i < p->n; i++)
        input[i] = (uint32_t)stencil_case_random(&state);
    return STENCIL_OK;
}

/* One pass of a radix sort: sorts keys by one byte, stably. */
static void pass(const uint32_t *from, uint32_t *to, int64_t n, int shift) {
    int64_t at[257] = {0};
    for (int64_t i = 0; i < n; i++)
        at[(from[i] >> shift & 255) + 1]++;
    for (int byte = 0; byte < 256; byte++)
        at[byte + 1] += at[byte];
    for (int64_t i = 0; i < n; i++)
        to[at[from[i] >> shift & 255]++] = from[i];
}

/* Computes the expected keys by a radix sort, with the phases' result array as temporary memory. */
static void plain(const stencil_case_problem *p) {
    const bitonic_arguments *s = (const bitonic_arguments *)p->arguments;
    uint32_t *sorted = stencil_case_expected(p, "keys");
    pass(s->input, s->keys, s->n, 0);
    pass(s->keys, sorted, s->n, 8);
    pass(sorted, s->keys, s->n, 16);
    pass(s->keys, sorted, s->n, 24);
}

STENCIL_CASE_BODY(bitonic, .most_level = LEVELS_MAX, .size = {{1 << 10, 1 << 16, 8}, {1 << 16, 1 << 26, 4}},
                  .make = make, .plain = plain, .ceiling = STENCIL_ON_GPU(stencil_case_ceiling_bitonic));
