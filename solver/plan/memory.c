#include "solver/plan/memory.h"

#include "kernels/cpu.h"
#include "solver/parts/reduction.h"
#include "solver/parts/workers.h"
#include "solver/problem/boxes.h"
#include "solver/problem/domain.h"
#include "solver/problem/factors.h"

/* Bytes of a thread's share of all fields that certainly fit the private cache of its core. */
static const int64_t own_bytes = 1 << 20;

/* The reported cache size is an upper bound, since other programs on a shared host use it, too. */
stencil_stores stencil_stores_choose(const stencil_problem *problem, int threads, int64_t cache_bytes) {
    const int64_t share = stencil_problem_arrays(problem) * stencil_layout_bytes(&problem->layout) / threads;
    if (cache_bytes > 0 && share > cache_bytes)
        return STENCIL_STORES_STREAMING;
    return share <= own_bytes ? STENCIL_STORES_CACHED : STENCIL_STORES_TRIED;
}

/* Upper bound on the bytes of the messages that a rank sends after a pass and receives: twice as many as its
 * ghost cells have. */
static int64_t message_bytes(const stencil_cut *cut) {
    const stencil_box own = stencil_cut_box(cut, 0), all = stencil_box_grow(&own, cut->mesh.ghosts);
    return 2 * (stencil_box_cells(&all) - stencil_box_cells(&own)) *
           (int64_t)stencil_precision_bytes(cut->mesh.precision);
}

/* Upper bound on the bytes that a rank has for the exchange with others: its messages and its partial sums.
 */
static int64_t rank_bytes(const stencil_cut *cut) {
    return message_bytes(cut) + stencil_reduction_bytes(cut);
}

/* Number of partial sums of the largest part of several ranks. */
static int64_t rank_partials(const stencil_cut *cut) {
    const stencil_box own = stencil_cut_box(cut, 0);
    return stencil_partial_count(own.n);
}

int64_t stencil_cpu_bytes(const stencil_problem *problem, const stencil_cut *cut) {
    int64_t bytes = 0;
    if (!stencil_multiply(cut->owned, stencil_buffers_bytes(problem, cut, false), &bytes) ||
        bytes > INT64_MAX / 2)
        return INT64_MAX / 2;
    const int64_t sums =
        cut->owned == cut->parts ? stencil_values_bytes(stencil_partial_count(problem->n)) : rank_bytes(cut);
    return bytes + sums + stencil_weights_bytes(problem) + stencil_factors_bytes(problem);
}

int64_t stencil_cpu_scratch_bytes(const stencil_plan *plan, const stencil_problem *problem) {
    enum { PAGE_BYTES = 4096 };
    if (plan->depth == 1)
        return 0;
    int64_t rows = 0, planes = 0; /* rows of own parts; planes of a part in a thread's share, at most */
    for (int p = 0; p < plan->cut.owned; p++)
        rows += plan->part[p].box.n[STENCIL_Z] * plan->part[p].box.n[STENCIL_Y];
    for (int p = 0; p < plan->cut.owned; p++) {
        const int64_t *n = plan->part[p].box.n,
                      some = stencil_smaller(n[STENCIL_Z], rows / plan->threads / n[STENCIL_Y] + 2);
        planes = some > planes ? some : planes;
    }
    const int64_t bytes =
        stencil_pipeline_bytes(problem->rank, plan->depth, problem->shape->radius, plan->tile, planes,
                               (int64_t)stencil_precision_bytes(problem->precision));
    return (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

/* Device memory of the LL exchange, in bytes: for each slot two sets of flagged words, the entry of its
 * sender and those of its readers, up to 2^rank tiles around a cell. */
static int64_t ll_bytes(const stencil_problem *problem, const stencil_cut *cut) {
    const int64_t words = 2 * stencil_ll_words(problem->precision);
    const int64_t readers = INT64_C(1) << problem->rank;
    return stencil_ll_slots_most(cut) *
           (words * (int64_t)sizeof(uint64_t) + (1 + readers) * (int64_t)sizeof(stencil_ll_entry));
}

void stencil_gpu_partials(const stencil_cut *cut, int part, int64_t range[2]) {
    const stencil_box box = stencil_cut_box(cut, part);
    const int64_t *first = box.first, *n = box.n;
    range[0] = stencil_partial_at(cut->mesh.n, first[0], first[1], first[2]);
    range[1] =
        1 + stencil_partial_at(cut->mesh.n, first[0] + n[0] - 1, first[1] + n[1] - 1, first[2] + n[2] - 1);
}

int64_t stencil_gpu_partials_most(const stencil_cut *cut, stencil_halo_mode halo) {
    int64_t most = 1;
    if (halo == STENCIL_HALO_MESSAGE) /* numbered within each rank */
        return rank_partials(cut);
    for (int part = 0; part < cut->parts; part++) {
        int64_t range[2];
        stencil_gpu_partials(cut, part, range);
        most = range[1] - range[0] > most ? range[1] - range[0] : most;
    }
    return most;
}

int64_t stencil_gpu_bytes(const stencil_problem *problem, const stencil_cut *cut, stencil_halo_mode halo) {
    const int64_t levels =
        halo == STENCIL_HALO_MESSAGE ? 1 : stencil_levels_count(stencil_partial_count(problem->n));
    return stencil_buffers_bytes(problem, cut, true) +
           (halo == STENCIL_HALO_LL ? ll_bytes(problem, cut) : 0) +
           (halo == STENCIL_HALO_MESSAGE ? message_bytes(cut) : 0) + /* those that arrive, two copies */
           (2 * stencil_gpu_partials_most(cut, halo) + levels + STENCIL_CHECKS_MAX +
            2 * STENCIL_COMBINE_VALUES) *
               (int64_t)sizeof(double) +
           stencil_weights_bytes(problem) + stencil_factors_bytes(problem);
}

int64_t stencil_gpu_staging_bytes(const stencil_layout *layout) {
    const int64_t row = layout->row * (int64_t)stencil_precision_bytes(layout->precision),
                  most = row > STENCIL_SLAB_BYTES ? row : STENCIL_SLAB_BYTES,
                  all = stencil_layout_bytes(layout);
    return all < most ? all : most;
}

int64_t stencil_gpu_values(const stencil_cut *cut, stencil_halo_mode halo) {
    const int64_t partials = stencil_partial_count(cut->mesh.n);
    if (halo == STENCIL_HALO_MESSAGE)
        return rank_partials(cut);
    return cut->parts > 1 && halo == STENCIL_HALO_COPY ? partials : stencil_level_count(partials);
}

int64_t stencil_gpu_host_bytes(const stencil_cut *cut, stencil_halo_mode halo) {
    return stencil_gpu_staging_bytes(&cut->layout) + stencil_values_bytes(stencil_gpu_values(cut, halo)) +
           (halo == STENCIL_HALO_MESSAGE ? rank_bytes(cut) : 0) +
           STENCIL_CHECKS_MAX * (int64_t)sizeof(double);
}
