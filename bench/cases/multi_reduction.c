#include "bench/cases/multi_reduction.h"

static multi_reduction_way way_of(int order) {
    return order == MULTI_REDUCTION_HOST         ? MULTI_REDUCTION_OWN
           : order == MULTI_REDUCTION_MULTI_GRID ? MULTI_REDUCTION_SPREAD
                                                 : MULTI_REDUCTION_TREE;
}

static multi_reduction_arguments *part_of(const stencil_part *part) {
    return (multi_reduction_arguments *)part;
}

static stencil_status spread(stencil_bench *b, stencil_parts_spread *s, int part) {
    const reduction_arguments *r = (const reduction_arguments *)s->problem->arguments;
    multi_reduction_arguments *m = part_of(&s->part[part]);
    m->of = *r;
    m->part = (uint8_t)part;
    m->parts = (uint8_t)s->parts;
    const int64_t first = multi_reduction_first(m, part), own = multi_reduction_first(m, part + 1) - first;
    const stencil_parts_array values = {.part = part,
                                        .kind = STENCIL_CASE_INPUT,
                                        .host = (reduction_pair *)r->values + first * r->piece_pairs,
                                        .bytes = (size_t)(own * r->piece_pairs) * sizeof *r->values},
                              sums = {.part = part,
                                      .kind = STENCIL_CASE_SCRATCH,
                                      .bytes = (size_t)(r->sums_pairs + 1) * sizeof *r->sums};
    TRY(stencil_parts_memory(b, s, &values, &m->of.values));
    TRY(stencil_parts_memory(b, s, &sums, &m->of.sums));
    for (int k = 0; k < s->parts; k++)
        part_of(&s->part[k])->sums[part] = m->of.sums;
    const stencil_parts_array sum = {.part = part,
                                     .kind = STENCIL_CASE_RESULT,
                                     .host = r->sum,
                                     .bytes = sizeof *r->sum,
                                     .memory = &m->of.sums[r->sums_pairs].first};
    return stencil_parts_memory(b, s, &sum, &m->of.sum);
}

/* Whom blocks wait for in the tree, in both directions: the first block of a part for the others of it, and
 * for the first blocks of the parts beside it. The lists are as in stencil_ring_create(). */
static stencil_status link_tree(stencil_bench *b, stencil_parts_loop *loop) {
    const uint32_t blocks = loop->spread->blocks, all = (uint32_t)loop->spread->parts * blocks;
    uint32_t *first, count = 0;
    TRY(stencil_bench_memory(b, &first, (all + 1 + 2 * (size_t)all) * sizeof *first));
    uint32_t *const list = first + all + 1;
    for (uint32_t i = 0; i < all; i++) {
        const multi_reduction_arguments *m = part_of(&loop->part[i / blocks]);
        const uint32_t head = i / blocks * blocks;
        first[i] = count;
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
    first[all] = count;
    loop->team.neighbor_first = first;
    loop->team.neighbor = list;
    return STENCIL_OK;
}

static stencil_status create(stencil_bench *b, stencil_parts_loop *loop, char why[96]) {
    for (int p = 0; p < loop->spread->parts; p++)
        part_of(&loop->part[p])->way = (uint8_t)way_of(loop->order);
    if (loop->order == MULTI_REDUCTION_NEIGHBOR)
        TRY(link_tree(b, loop));
#ifdef STENCIL_HAVE_CUDA
    if (loop->order == MULTI_REDUCTION_CEILING)
        return multi_reduction_ceiling_create(b, loop, why);
#endif
    (void)why;
    return STENCIL_OK;
}

/* Copies `count` doubles of the sums, from number `first` on, to part `to`. */
static int copy(const stencil_parts_loop *loop, int part, int to, int64_t first, int64_t count) {
    reduction_pair *const *sums = part_of(&loop->part[part])->sums;
    return stencil_parts_copy(loop, &(stencil_parts_copied){.from_part = part,
                                                            .to_part = to,
                                                            .from = (const double *)sums[part] + first,
                                                            .to = (double *)sums[to] + first,
                                                            .bytes = (size_t)count * sizeof(double)});
}

/* Between the two phases: a part's sums to all others. */
static int give_to_all(const stencil_parts_loop *loop, int part) {
    const multi_reduction_arguments *m = part_of(&loop->part[part]);
    const int64_t first = multi_reduction_first(m, part), own = multi_reduction_first(m, part + 1) - first;
    int state = 0;
    for (int to = 0; to < m->parts && state == 0; to++)
        if (to != part && own > 0)
            state = copy(loop, part, to, first, own);
    return state;
}

/* Phase `phase` of the tree. */
static int climb(const stencil_parts_loop *loop, int part, int phase) {
    const multi_reduction_arguments *m = part_of(&loop->part[part]);
    const int rounds = multi_reduction_rounds(m), up = phase - 1, down = 2 * rounds + 1 - phase;
    const int64_t first = multi_reduction_first(m, part);
    if (phase == 0 || (phase == rounds + 1 && part == 0))
        return stencil_parts_phase(loop, part, phase, phase > 0);
    if (phase <= rounds && multi_reduction_has_parent(m, up) && multi_reduction_gathered(m, up) > first)
        return copy(loop, part, part - (1 << up), first, multi_reduction_gathered(m, up) - first);
    if (phase > rounds + 1 && multi_reduction_has_child(m, down))
        return copy(loop, part, part + (1 << down), 2 * m->of.sums_pairs, 1);
    return 0;
}

static int steps(const stencil_parts_loop *loop) {
    return loop->order == MULTI_REDUCTION_HOST ? 3 : (int)multi_reduction_phases(part_of(loop->part));
}

static int step(const stencil_parts_loop *loop, int part, int step) {
    return loop->order != MULTI_REDUCTION_HOST ? climb(loop, part, step)
           : step == 1                         ? give_to_all(loop, part)
                                               : stencil_parts_phase(loop, part, step / 2, step > 0);
}

/* Its problems are those of reduction. */
STENCIL_CASE_BODY(multi_reduction, .make = NULL);

const stencil_parts_case stencil_multi_reduction = {
    .name = "multi-reduction",
    .of = "reduction",
    .body = &stencil_case_multi_reduction,
    .size = {{1 << 10, 1 << 22, 64}, {1 << 16, 1 << 28, 64}},
    .order = {[MULTI_REDUCTION_HOST] = {.name = "host, transfers"},
              [MULTI_REDUCTION_HOST_TREE] = {.name = "host, tree"},
              [MULTI_REDUCTION_MULTI_GRID] = {.name = "multi-grid", .barrier = STENCIL_BARRIER_multi_grid},
              [MULTI_REDUCTION_NEIGHBOR] = {.name = "neighbor, tree", .barrier = STENCIL_BARRIER_neighbor},
              [MULTI_REDUCTION_CEILING] = {.name = "CUB and NCCL", .ceiling = true, .gpus = true}},
    .each_has_all = true,
    .spread = spread,
    .create = create,
    .steps = steps,
    .step = step};

stencil_status stencil_measure_multi_reduction(stencil_bench *b) {
    stencil_bench_note(b, "Every %s has the sum in the end.",
                       b->options->backend == STENCIL_BACKEND_GPU ? "GPU" : "thread");
    return stencil_parts_measure(b, &stencil_multi_reduction, false);
}
