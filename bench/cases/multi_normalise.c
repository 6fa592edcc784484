#include "bench/cases/multi_normalise.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const stencil_parts_case normalise;

/* On a CPU parts share the problem's arrays, each has its piece of them; words stand on lines of their own.
 */
enum { LINE_WORDS = 32 };
static stencil_status share_host(stencil_bench *b, multi_normalise_spread *s) {
    const int parts = s->parts;
    uint32_t *words;
    TRY(stencil_bench_memory(b, &words, 2 * (size_t)parts * LINE_WORDS * sizeof *words));
    for (int p = 0; p < parts; p++) {
        multi_normalise_part *part = &s->part[p];
        const size_t pieces = (size_t)part->of.pieces;
        TRY(stencil_bench_memory(b, &part->of.largest[p], (pieces + 1) * sizeof **part->of.largest));
        part->word[p] = words + (size_t)p * LINE_WORDS;
        part->total = words + (size_t)(parts + p) * LINE_WORDS;
    }
    return STENCIL_OK;
}

stencil_status multi_normalise_spread_create(stencil_bench *b, multi_normalise_spread *s) {
    const normalise_cached_arguments *all = (const normalise_cached_arguments *)s->problem->arguments;
    for (int p = 0; p < s->parts; p++) {
        normalise_cached_arguments *a = &s->part[p].of;
        *a = *all;
        a->first = stencil_share(all->pieces, s->parts, p);
        a->own = stencil_share(all->pieces, s->parts, p + 1) - a->first;
        a->part = (uint32_t)p;
        a->parts = (uint32_t)s->parts;
        a->integers += a->first * a->piece_quads;
        a->numbers += a->first * a->piece_quads;
    }
    s->blocks = 1;
#ifdef STENCIL_HAVE_CUDA
    if (b->options->backend == STENCIL_BACKEND_GPU)
        TRY(multi_normalise_gpu_spread(b, s));
#endif
    if (s->gpus == NULL)
        TRY(share_host(b, s));
    for (int p = 0; p < s->parts; p++)
        for (int k = 0; k < s->parts; k++) {
            s->part[p].of.largest[k] = s->part[k].of.largest[k];
            s->part[p].word[k] = s->part[k].word[k];
        }
    return STENCIL_OK;
}

stencil_status multi_normalise_loop_create(stencil_bench *b, multi_normalise_loop *loop, char why[96]) {
    memcpy(loop->part, loop->spread->part, sizeof loop->part);
    TRY(stencil_team_create(&loop->team, (uint32_t)loop->spread->parts, 0, loop->timeout_s));
    TRY(stencil_bench_keep(b, free, loop->team.words));
    loop->team.parts = (uint32_t)loop->spread->parts;
#ifdef STENCIL_HAVE_CUDA
    if (loop->spread->gpus != NULL)
        return multi_normalise_gpu_create(b, loop, why);
#endif
    if (loop->way == MULTI_NORMALISE_MANAGED || loop->way == MULTI_NORMALISE_PINNED)
        snprintf(why, 96, "there are no GPUs");
    return STENCIL_OK;
}

/* The share of a thread of a CPU, in two passes. */
static uint32_t find(const normalise_cached_arguments *a) {
    uint32_t largest = 1;
    for (int64_t i = 0; i < a->own * a->piece_quads; i++)
        largest = normalise_largest(largest, a->integers[i]);
    return largest;
}
static void divide(const normalise_cached_arguments *a, uint32_t by) {
    for (int64_t i = 0; i < a->own * a->piece_quads; i++)
        a->numbers[i] = normalise_quotients(a->integers[i], (float)by);
}
static uint32_t largest_word(const multi_normalise_part *m) {
    uint32_t largest = 1;
    for (uint32_t k = 0; k < m->of.parts; k++)
        largest = normalise_larger(largest, *m->word[k]);
    return largest;
}

static void raise(uint32_t *word, uint32_t to) {
    uint32_t seen = __atomic_load_n(word, __ATOMIC_RELAXED);
    while (seen < to &&
           !__atomic_compare_exchange_n(word, &seen, to, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

/* A run in two or three passes; threads meet at OpenMP's barrier. */
static void make_passes(multi_normalise_loop *loop, int part) {
    const multi_normalise_part *m = &loop->part[part];
    const bool system = loop->way == MULTI_NORMALISE_SYSTEM;
    uint32_t *const word = m->word[system ? 0 : part];
    *m->word[part] = 1;
#pragma omp barrier
    raise(word, find(&m->of));
#pragma omp barrier
    if (loop->way == MULTI_NORMALISE_HOST) {
        if (omp_get_thread_num() == 0)
            *loop->part[0].total = largest_word(m);
#pragma omp barrier
        divide(&m->of, *loop->part[0].total);
    } else if (loop->way == MULTI_NORMALISE_THREE) {
        *m->total = largest_word(m);
#pragma omp barrier
        divide(&m->of, *m->total);
    } else {
        divide(&m->of, system ? *word : largest_word(m));
    }
#pragma omp barrier
}

/* A run in one pass; who gave up stands in the alarm. */
static void make_one_pass(const multi_normalise_loop *loop, uint32_t part) {
    _Alignas(16) unsigned char shared[normalise_cached_shared_bytes];
    const normalise_cached_arguments *a = &loop->part[part].of;
    const stencil_case_block block = {0, 1, shared};
    normalise_cached_phase(a, 0, block);
    if (stencil_case_comes(&loop->fault, &loop->team, part, 1) &&
        stencil_team_sync(STENCIL_BARRIER_multi_grid, &loop->team, part, false))
        normalise_cached_phase(a, 1, block);
}

static stencil_status run_team(multi_normalise_loop *loop, int64_t count, double *time_s) {
    const int parts = loop->spread->parts;
    int threads = 0;
    double start_s = 0;
    loop->fault.absent = (uint32_t)parts - 1;
#pragma omp parallel num_threads(parts)
    {
        const bool complete = omp_get_num_threads() == parts;
        if (omp_get_thread_num() == 0) {
            threads = omp_get_num_threads();
            start_s = stencil_clock_s();
        }
        for (int64_t i = 0; i < count && complete; i++) {
            if (loop->way == MULTI_NORMALISE_CACHED) {
                make_one_pass(loop, (uint32_t)omp_get_thread_num());
#pragma omp barrier
            } else {
                make_passes(loop, omp_get_thread_num());
            }
        }
    }
    *time_s = stencil_clock_s() - start_s;
    CHECK(threads == parts, UNAVAILABLE, "OpenMP gave %d thread%s where %d were asked for", threads,
          stencil_plural(threads), parts);
    const uint32_t alarm = loop->team.alarm[0];
    CHECK(alarm == 0, INTERNAL,
          "multi-normalise of %lld elements, %s: thread %u waited for more than %g s in vain",
          (long long)loop->spread->problem->n, normalise.order[loop->way].name, alarm - 1, loop->timeout_s);
    return STENCIL_OK;
}

stencil_status multi_normalise_loop_run(multi_normalise_loop *loop, int64_t count, double *time_s) {
#ifdef STENCIL_HAVE_CUDA
    if (loop->gpu != NULL)
        return multi_normalise_gpu_run(loop, count, time_s);
#endif
    return run_team(loop, count, time_s);
}

stencil_status multi_normalise_loop_verify(multi_normalise_loop *loop) {
    double time_s;
    stencil_case_spoil(loop->spread->problem);
#ifdef STENCIL_HAVE_CUDA
    if (loop->gpu != NULL)
        TRY(multi_normalise_gpu_spoil(loop));
#endif
    TRY(multi_normalise_loop_run(loop, 1, &time_s));
#ifdef STENCIL_HAVE_CUDA
    if (loop->gpu != NULL)
        TRY(multi_normalise_gpu_read(loop));
#endif
    return stencil_case_check(loop->spread->problem, normalise.order[loop->way].name);
}

static stencil_status spread(stencil_bench *b, const stencil_case_problem *problem, int parts, void **made,
                             uint32_t *blocks) {
    multi_normalise_spread *s;
    TRY(stencil_bench_memory(b, &s, sizeof *s));
    *s = (multi_normalise_spread){.problem = problem, .parts = parts};
    TRY(multi_normalise_spread_create(b, s));
    *made = s;
    *blocks = s->blocks;
    return STENCIL_OK;
}

static stencil_status create(stencil_bench *b, const void *spread, int way, double timeout_s, void **made,
                             stencil_fault **fault, char why[96]) {
    multi_normalise_loop *loop;
    TRY(stencil_bench_memory(b, &loop, sizeof *loop));
    *loop = (multi_normalise_loop){.spread = spread, .way = (multi_normalise_way)way, .timeout_s = timeout_s};
    *made = loop;
    *fault = &loop->fault;
    return multi_normalise_loop_create(b, loop, why);
}

static stencil_status run(void *loop, int64_t count, double *time_s) {
    return multi_normalise_loop_run(loop, count, time_s);
}

static stencil_status verify(void *loop) {
    return multi_normalise_loop_verify(loop);
}

static const stencil_parts_case normalise = {
    .of = "normalise-cached",
    .size = {{1 << 12, 917504, 224}, {917504, 64 * 917504, 8}},
    .order = {[MULTI_NORMALISE_SYSTEM] = {.name = "atomic, system"},
              [MULTI_NORMALISE_HOST] = {.name = "maxima on the host"},
              [MULTI_NORMALISE_BLOCK] = {.name = "maximum per block"},
              [MULTI_NORMALISE_MANAGED] = {.name = "managed memory", .gpus = true, .apart = true},
              [MULTI_NORMALISE_PINNED] = {.name = "double atomic, pinned", .gpus = true},
              [MULTI_NORMALISE_THREE] = {.name = "three passes"},
              [MULTI_NORMALISE_CACHED] = {.name = "one pass, cached", .persistent = true}},
    .spread = spread,
    .create = create,
    .run = run,
    .verify = verify};

stencil_status stencil_measure_multi_normalise(stencil_bench *b) {
    if (b->options->backend == STENCIL_BACKEND_GPU)
        stencil_bench_note(b,
                           "Maxima in managed memory are a benchmark of their own, normalise-managed: page "
                           "faults can hang a GPU that others share, so it runs only where it is named.");
    return stencil_parts_measure(b, &normalise, false);
}

stencil_status stencil_measure_normalise_managed(stencil_bench *b) {
    return stencil_parts_measure(b, &normalise, true);
}
