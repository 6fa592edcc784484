#include "bench/cases/multi_reduction.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sync/host.h"

static const stencil_parts_case sum;

static multi_reduction_way way_of(multi_reduction_order order) {
    return order == MULTI_REDUCTION_HOST         ? MULTI_REDUCTION_OWN
           : order == MULTI_REDUCTION_MULTI_GRID ? MULTI_REDUCTION_SPREAD
                                                 : MULTI_REDUCTION_TREE;
}

stencil_status multi_reduction_spread_create(stencil_bench *b, multi_reduction_spread *s) {
    const reduction_arguments *r = (const reduction_arguments *)s->problem->arguments;
    const size_t bytes = (size_t)(r->sums_pairs + 1) * sizeof(reduction_pair);
    for (int p = 0; p < s->parts; p++) {
        multi_reduction_arguments *m = &s->part[p];
        *m = (multi_reduction_arguments){.of = *r, .part = (uint8_t)p, .parts = (uint8_t)s->parts};
        m->of.values += multi_reduction_first(m, p) * r->piece_pairs;
    }
    s->blocks = 1;
#ifdef STENCIL_HAVE_CUDA
    if (b->options->backend == STENCIL_BACKEND_GPU)
        TRY(multi_reduction_gpu_spread(b, s));
#endif
    for (int p = 0; p < s->parts; p++) {
        if (s->gpus == NULL)
            TRY(stencil_bench_memory(b, &s->part[p].of.sums, bytes));
        s->part[p].of.sum = &s->part[p].of.sums[r->sums_pairs].first;
        for (int k = 0; k < s->parts; k++)
            s->part[k].sums[p] = s->part[p].of.sums;
    }
    return STENCIL_OK;
}

/* Whom blocks wait for in the tree, in both directions: the first block of a part for the others of it, and
 * for the first blocks of the parts beside it. The lists are as in stencil_ring_create(). */
static stencil_status link_tree(stencil_bench *b, const multi_reduction_loop *loop, uint32_t blocks,
                                uint32_t **first) {
    const uint32_t all = (uint32_t)loop->spread->parts * blocks;
    TRY(stencil_bench_memory(b, first, (all + 1 + 2 * (size_t)all) * sizeof **first));
    uint32_t *const list = *first + all + 1, count = 0;
    for (uint32_t i = 0; i < all; i++) {
        const multi_reduction_arguments *m = &loop->part[i / blocks];
        const uint32_t head = i / blocks * blocks;
        (*first)[i] = count;
        if (i != head)
            list[count++] = head;
        for (uint32_t k = 1; i == head && k < blocks; k++)
            list[count++] = head + k;
        for (int s = 0; i == head && s < multi_reduction_rounds(m); s++) {
            if (multi_reduction_has_child(m, s))
                list[count++] = head + (blocks << s);
            if (multi_reduction_has_parent(m, s))
                list[count++] = head - (blocks << s);
        }
    }
    (*first)[all] = count;
    return STENCIL_OK;
}

stencil_status multi_reduction_loop_create(stencil_bench *b, multi_reduction_loop *loop, char why[96]) {
    const uint32_t parts = (uint32_t)loop->spread->parts;
    memcpy(loop->part, loop->spread->part, sizeof loop->part);
    for (uint32_t p = 0; p < parts; p++)
        loop->part[p].way = (uint8_t)way_of(loop->order);
    TRY(stencil_team_create(&loop->team, parts, 0, loop->timeout_s));
    TRY(stencil_bench_keep(b, free, loop->team.words));
    loop->team.parts = parts;
    if (loop->order == MULTI_REDUCTION_NEIGHBOR) {
        uint32_t *first;
        TRY(link_tree(b, loop, loop->spread->blocks, &first));
        loop->team.neighbor_first = first;
        loop->team.neighbor = first + parts * loop->spread->blocks + 1;
    }
#ifdef STENCIL_HAVE_CUDA
    if (loop->spread->gpus != NULL)
        return multi_reduction_gpu_create(b, loop, why);
#endif
    if (loop->order == MULTI_REDUCTION_CEILING)
        snprintf(why, 96, "there are no GPUs");
    return STENCIL_OK;
}

/* What a part's thread of the host does. Of a CPU it does all at once. 0, or what CUDA says. */
static int begin(const multi_reduction_loop *loop, int part) {
#ifdef STENCIL_HAVE_CUDA
    if (loop->gpu != NULL)
        return multi_reduction_gpu_begin(loop, part);
#endif
    (void)loop, (void)part;
    return 0;
}
static int launch(const multi_reduction_loop *loop, int part, int64_t phase) {
    _Alignas(16) unsigned char shared[multi_reduction_shared_bytes];
#ifdef STENCIL_HAVE_CUDA
    if (loop->gpu != NULL)
        return multi_reduction_gpu_launch(loop, part, phase);
#endif
    multi_reduction_phase(&loop->part[part], phase, (stencil_case_block){0, 1, shared});
    return 0;
}
static int copy(const multi_reduction_loop *loop, int part, int to, int64_t first, int64_t count) {
#ifdef STENCIL_HAVE_CUDA
    if (loop->gpu != NULL)
        return multi_reduction_gpu_copy(loop, part, to, first, count);
#endif
    reduction_pair *const *sums = loop->part[part].sums;
    memcpy((double *)sums[to] + first, (const double *)sums[part] + first, (size_t)count * sizeof(double));
    return 0;
}
static int wait(const multi_reduction_loop *loop, int part) {
#ifdef STENCIL_HAVE_CUDA
    if (loop->gpu != NULL)
        return multi_reduction_gpu_wait(loop, part);
#endif
    (void)loop, (void)part;
    return 0;
}

/* Between the two phases: a part's sums to all others. */
static int give_to_all(const multi_reduction_loop *loop, int part) {
    const multi_reduction_arguments *m = &loop->part[part];
    const int64_t first = multi_reduction_first(m, part), own = multi_reduction_first(m, part + 1) - first;
    int state = 0;
    for (int to = 0; to < m->parts && state == 0; to++)
        if (to != part && own > 0)
            state = copy(loop, part, to, first, own);
    return state;
}

/* Phase `phase` of the tree. */
static int climb(const multi_reduction_loop *loop, int part, int phase) {
    const multi_reduction_arguments *m = &loop->part[part];
    const int rounds = multi_reduction_rounds(m), up = phase - 1, down = 2 * rounds + 1 - phase;
    const int64_t first = multi_reduction_first(m, part);
    if (phase == 0 || (phase == rounds + 1 && part == 0))
        return launch(loop, part, phase);
    if (phase <= rounds && multi_reduction_has_parent(m, up) && multi_reduction_gathered(m, up) > first)
        return copy(loop, part, part - (1 << up), first, multi_reduction_gathered(m, up) - first);
    if (phase > rounds + 1 && multi_reduction_has_child(m, down))
        return copy(loop, part, part + (1 << down), 2 * m->of.sums_pairs, 1);
    return 0;
}

/* A run by the threads of the host, one of which this is: steps, and behind each a wait and OpenMP's barrier,
 * to which it comes with failures, too, or the others would wait for it in vain. */
static int lead(const multi_reduction_loop *loop, int part, int state) {
    const bool tree = loop->order == MULTI_REDUCTION_HOST_TREE;
    const int steps = tree ? (int)multi_reduction_phases(&loop->part[part]) : 3;
    for (int step = 0; step < steps; step++) {
        if (state == 0)
            state = tree        ? climb(loop, part, step)
                    : step == 1 ? give_to_all(loop, part)
                                : launch(loop, part, step / 2);
        if (state == 0)
            state = wait(loop, part);
#pragma omp barrier
    }
    return state;
}

/* A run by a persistent loop of a CPU's thread; who gave up stands in the alarm. */
static void persist(const multi_reduction_loop *loop, uint32_t part) {
    const stencil_barrier_id id =
        loop->order == MULTI_REDUCTION_NEIGHBOR ? STENCIL_BARRIER_neighbor : STENCIL_BARRIER_multi_grid;
    const int64_t phases = multi_reduction_phases(&loop->part[part]);
    for (int64_t step = 1; step <= phases; step++) {
        launch(loop, (int)part, step - 1);
        if (step < phases && (!stencil_case_comes(&loop->fault, &loop->team, part, step) ||
                              !stencil_team_sync(id, &loop->team, part, false)))
            return;
    }
}

/* All runs in one parallel region: threads are there, as GPUs are. */
static stencil_status run_team(multi_reduction_loop *loop, int64_t count, double *time_s) {
    const int parts = loop->spread->parts;
    int states[STENCIL_PARTS_MAX] = {0}, threads = 0;
    double start_s = 0;
    loop->fault.absent = (uint32_t)parts - 1;
#pragma omp parallel num_threads(parts)
    {
        const int part = omp_get_thread_num();
        const bool complete = omp_get_num_threads() == parts;
        if (complete)
            states[part] = begin(loop, part);
#pragma omp barrier
        if (omp_get_thread_num() == 0) {
            threads = omp_get_num_threads();
            start_s = stencil_clock_s();
        }
        for (int64_t i = 0; i < count && complete; i++) {
            if (multi_reduction_is_persistent(loop->order)) {
                persist(loop, (uint32_t)part);
#pragma omp barrier
            } else {
                states[part] = lead(loop, part, states[part]);
            }
        }
    }
    *time_s = stencil_clock_s() - start_s;
    CHECK(threads == parts, UNAVAILABLE, "OpenMP gave %d thread%s where %d were asked for", threads,
          stencil_plural(threads), parts);
#ifdef STENCIL_HAVE_CUDA
    for (int p = 0; p < parts; p++)
        TRY_CUDA(states[p]);
#endif
    const uint32_t alarm = loop->team.alarm[0];
    CHECK(alarm == 0, INTERNAL,
          "multi-reduction of %lld elements, %s: thread %u waited for more than %g s in vain",
          (long long)loop->spread->problem->n, sum.order[loop->order].name, alarm - 1, loop->timeout_s);
    return STENCIL_OK;
}

stencil_status multi_reduction_loop_run(multi_reduction_loop *loop, int64_t count, double *time_s) {
#ifdef STENCIL_HAVE_CUDA
    if (loop->gpu != NULL &&
        (multi_reduction_is_persistent(loop->order) || loop->order == MULTI_REDUCTION_CEILING))
        return multi_reduction_gpu_run(loop, count, time_s);
#endif
    return run_team(loop, count, time_s);
}

/* The case's own check, of the sum of one part after the other. */
static stencil_status check(const multi_reduction_loop *loop, int part, double found) {
    const stencil_case_problem *p = loop->spread->problem;
    const reduction_arguments *r = (const reduction_arguments *)p->arguments;
    char by[64];
    *r->sum = found;
    snprintf(by, sizeof by, "%s, part %d of %d", sum.order[loop->order].name, part + 1, loop->spread->parts);
    return loop->order == MULTI_REDUCTION_CEILING ? stencil_case_check_bound(p, by)
                                                  : stencil_case_check(p, by);
}

stencil_status multi_reduction_loop_verify(multi_reduction_loop *loop) {
    const int parts = loop->spread->parts;
    double time_s, found;
#ifdef STENCIL_HAVE_CUDA
    if (loop->gpu != NULL)
        TRY(multi_reduction_gpu_spoil(loop));
#endif
    for (int p = 0; p < parts && loop->gpu == NULL; p++)
        memset(loop->part[p].of.sums, 0xff,
               (size_t)(loop->part[p].of.sums_pairs + 1) * sizeof(reduction_pair));
    TRY(multi_reduction_loop_run(loop, 1, &time_s));
    for (int p = 0; p < parts; p++) {
        found = NAN;
#ifdef STENCIL_HAVE_CUDA
        if (loop->gpu != NULL)
            TRY(multi_reduction_gpu_read(loop, p, &found));
#endif
        if (loop->gpu == NULL)
            found = *loop->part[p].of.sum;
        TRY(check(loop, p, found));
    }
    return STENCIL_OK;
}

static stencil_status spread(stencil_bench *b, const stencil_case_problem *problem, int parts, void **made,
                             uint32_t *blocks) {
    multi_reduction_spread *s;
    TRY(stencil_bench_memory(b, &s, sizeof *s));
    *s = (multi_reduction_spread){.problem = problem, .parts = parts};
    TRY(multi_reduction_spread_create(b, s));
    *made = s;
    *blocks = s->blocks;
    return STENCIL_OK;
}

static stencil_status create(stencil_bench *b, const void *spread, int order, double timeout_s, void **made,
                             stencil_fault **fault, char why[96]) {
    multi_reduction_loop *loop;
    TRY(stencil_bench_memory(b, &loop, sizeof *loop));
    *loop = (multi_reduction_loop){
        .spread = spread, .order = (multi_reduction_order)order, .timeout_s = timeout_s};
    *made = loop;
    *fault = &loop->fault;
    return multi_reduction_loop_create(b, loop, why);
}

static stencil_status run(void *loop, int64_t count, double *time_s) {
    return multi_reduction_loop_run(loop, count, time_s);
}

static stencil_status verify(void *loop) {
    return multi_reduction_loop_verify(loop);
}

static const stencil_parts_case sum = {
    .of = "reduction",
    .size = {{1 << 10, 1 << 22, 64}, {1 << 16, 1 << 28, 64}},
    .order = {[MULTI_REDUCTION_HOST] = {.name = "host, transfers"},
              [MULTI_REDUCTION_HOST_TREE] = {.name = "host, tree"},
              [MULTI_REDUCTION_MULTI_GRID] = {.name = "multi-grid", .persistent = true},
              [MULTI_REDUCTION_NEIGHBOR] = {.name = "neighbor, tree", .persistent = true},
              [MULTI_REDUCTION_CEILING] = {.name = "CUB and NCCL", .ceiling = true, .gpus = true}},
    .spread = spread,
    .create = create,
    .run = run,
    .verify = verify};

stencil_status stencil_measure_multi_reduction(stencil_bench *b) {
    stencil_bench_note(b, "Every %s has the sum in the end.",
                       b->options->backend == STENCIL_BACKEND_GPU ? "GPU" : "thread");
    return stencil_parts_measure(b, &sum, false);
}
