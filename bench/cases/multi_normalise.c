#include "bench/cases/multi_normalise.h"

/* Distance between the parts' words on a CPU, to avoid false sharing of cache lines. */
enum { LINE_WORDS = 32 };

static stencil_status spread(stencil_bench *b, stencil_parts_spread *s, int part) {
    const normalise_arguments *all = (const normalise_arguments *)s->problem->arguments;
    multi_normalise_part *m = multi_normalise_part_of(&s->part[part]);
    const int stride = s->device[0] != NULL ? 1 : LINE_WORDS;
    m->of.pieces = all->pieces;
    m->of.piece_quads = all->piece_quads;
    m->of.first = stencil_share(all->pieces, s->parts, part);
    m->of.own = stencil_share(all->pieces, s->parts, part + 1) - m->of.first;
    m->of.part = (uint32_t)part;
    m->of.parts = (uint32_t)s->parts;
    const size_t at = (size_t)(m->of.first * all->piece_quads),
                 quads = (size_t)(m->of.own * all->piece_quads);
    const stencil_parts_array integers = {part, STENCIL_CASE_INPUT, (normalise_integers *)all->integers + at,
                                          quads * sizeof *all->integers, NULL},
                              numbers = {part, STENCIL_CASE_RESULT, all->numbers + at,
                                         quads * sizeof *all->numbers, NULL},
                              largest = {part, STENCIL_CASE_SCRATCH, NULL,
                                         (size_t)all->pieces * sizeof **all->largest, NULL},
                              words = {part, STENCIL_CASE_INPUT, NULL, 3 * (size_t)stride * sizeof(uint32_t),
                                       NULL};
    TRY(stencil_parts_memory(b, s, &integers, &m->of.integers));
    TRY(stencil_parts_memory(b, s, &numbers, &m->of.numbers));
    TRY(stencil_parts_memory(b, s, &largest, &m->of.largest[part]));
    TRY(stencil_parts_memory(b, s, &words, &m->word[part]));
    m->total = m->word[part] + stride;
    m->count = m->word[part] + 2 * stride;
    for (int k = 0; k < s->parts; k++) {
        multi_normalise_part_of(&s->part[k])->of.largest[part] = m->of.largest[part];
        multi_normalise_part_of(&s->part[k])->word[part] = m->word[part];
    }
#ifdef STENCIL_HAVE_CUDA
    if (s->device[0] != NULL && part == 0)
        return multi_normalise_gpu_pin(b, s);
#endif
    return STENCIL_OK;
}

static stencil_status create(stencil_bench *b, stencil_case_loop *loop, char why[96]) {
#ifdef STENCIL_HAVE_CUDA
    if (loop->order == MULTI_NORMALISE_MANAGED)
        return multi_normalise_gpu_manage(b, loop, why);
#endif
    (void)b, (void)loop, (void)why;
    return STENCIL_OK;
}

static void raise(uint32_t *word, uint32_t to) {
    uint32_t seen = __atomic_load_n(word, __ATOMIC_RELAXED);
    while (seen < to &&
           !__atomic_compare_exchange_n(word, &seen, to, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

/* Returns whether the host, or a third pass, finds the largest value in an additional step. */
static bool has_total(const stencil_case_loop *loop) {
    return loop->order == MULTI_NORMALISE_HOST || loop->order == MULTI_NORMALISE_THREE;
}

static int steps(const stencil_case_loop *loop) {
#ifdef STENCIL_HAVE_CUDA
    if (loop->gpu != NULL)
        return multi_normalise_gpu_steps(loop);
#endif
    return 3 + has_total(loop);
}

static int step(const stencil_case_loop *loop, int part, int step) {
    const multi_normalise_part *m = multi_normalise_part_of(&loop->part[part]),
                               *first = multi_normalise_part_of(loop->part);
    const stencil_case_block whole = {0, 1, NULL};
    const bool system = loop->order == MULTI_NORMALISE_SYSTEM, host = loop->order == MULTI_NORMALISE_HOST;
#ifdef STENCIL_HAVE_CUDA
    if (loop->gpu != NULL)
        return multi_normalise_gpu_step(loop, part, step);
#endif
    if (step == 0)
        *m->word[part] = 1;
    else if (step == 1)
        raise(m->word[system ? 0 : part], multi_normalise_find(&m->of, whole));
    else if (step == 3 || !has_total(loop))
        multi_normalise_divide(&m->of,
                               step == 3 ? *(host ? first : m)->total
                               : system  ? *m->word[0]
                                         : multi_normalise_largest_word(m),
                               whole);
    else if (!host || part == 0)
        *m->total = multi_normalise_largest_word(m);
    return 0;
}

const stencil_parts_case stencil_multi_normalise = {
    .name = "multi-normalise",
    .of = "normalise-cached",
    .size = {{1 << 12, 917504, 224}, {917504, 64 * 917504, 8}},
    .order = {[MULTI_NORMALISE_SYSTEM] = {.name = "atomic, system"},
              [MULTI_NORMALISE_HOST] = {.name = "maxima on the host"},
              [MULTI_NORMALISE_BLOCK] = {.name = "maximum per block"},
              [MULTI_NORMALISE_MANAGED] = {.name = "managed memory", .gpus = true, .apart = true},
              [MULTI_NORMALISE_PINNED] = {.name = "double atomic, pinned", .gpus = true},
              [MULTI_NORMALISE_THREE] = {.name = "three passes"},
              [MULTI_NORMALISE_CACHED] = {.name = "one pass, cached", .barrier = STENCIL_BARRIER_multi_grid},
              [MULTI_NORMALISE_SYSTEM_WARPS] = {.name = "atomic, system, each warp", .gpus = true},
              [MULTI_NORMALISE_BLOCK_WARPS] = {.name = "per block, atomic of each warp", .gpus = true}},
    .one_leader = true,
    .spread = spread,
    .create = create,
    .steps = steps,
    .step = step};

stencil_status stencil_measure_multi_normalise(stencil_bench *b) {
    if (b->options->backend == STENCIL_BACKEND_GPU)
        stencil_bench_note(b,
                           "Maxima in managed memory are a benchmark of their own, normalise-managed: page "
                           "faults can hang a GPU that others share, so it runs only where it is named.");
    return stencil_parts_measure(b, &stencil_multi_normalise, false);
}

stencil_status stencil_measure_normalise_managed(stencil_bench *b) {
    return stencil_parts_measure(b, &stencil_multi_normalise, true);
}
