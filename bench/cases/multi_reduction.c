#include "bench/cases/multi_reduction.h"

static reduction_arguments *part_of(const stencil_part *part) {
    return (reduction_arguments *)part;
}

static stencil_status spread(stencil_bench *b, stencil_parts_spread *s, int part) {
    const reduction_arguments *all = (const reduction_arguments *)s->problem->arguments;
    reduction_arguments *r = part_of(&s->part[part]);
    r->pieces = all->pieces;
    r->piece_pairs = all->piece_pairs;
    r->part = (uint8_t)part;
    r->parts = (uint8_t)s->parts;
    r->first = stencil_share(all->pieces, s->parts, part);
    r->own = stencil_share(all->pieces, s->parts, part + 1) - r->first;
    const int64_t sums_pairs = reduction_sums_pairs(all);
    const stencil_parts_array values = {part, STENCIL_CASE_INPUT,
                                        (reduction_pair *)all->values + r->first * all->piece_pairs,
                                        (size_t)(r->own * all->piece_pairs) * sizeof *all->values, NULL},
                              sums = {part, STENCIL_CASE_SCRATCH, NULL,
                                      (size_t)(sums_pairs + 1) * sizeof *all->sums, NULL};
    TRY(stencil_parts_memory(b, s, &values, &r->values));
    TRY(stencil_parts_memory(b, s, &sums, &r->sums));
    for (int k = 0; k < s->parts; k++)
        part_of(&s->part[k])->sums_of[part] = r->sums;
    const stencil_parts_array sum = {part, STENCIL_CASE_RESULT, all->sum, sizeof *all->sum,
                                     &r->sums[sums_pairs].first};
    return stencil_parts_memory(b, s, &sum, &r->sum);
}

/* Makes the neighbour lists of blocks for the tree of parts: a part's first block and its other blocks wait
 * for each other, as do the first blocks of adjacent parts. Lists are as by stencil_ring_create(). */
static stencil_status link_tree(stencil_bench *b, stencil_case_loop *loop) {
    const uint32_t blocks = loop->spread->blocks, all = (uint32_t)loop->spread->parts * blocks;
    uint32_t *first, count = 0;
    TRY(stencil_bench_memory(b, &first, (all + 1 + 2 * (size_t)all) * sizeof *first));
    uint32_t *const list = first + all + 1;
    for (uint32_t i = 0; i < all; i++) {
        const reduction_arguments *r = part_of(&loop->part[i / blocks]);
        const uint32_t head = i / blocks * blocks;
        first[i] = count;
        if (i != head)
            list[count++] = head;
        for (uint32_t k = 1; i == head && k < blocks; k++)
            list[count++] = head + k;
        for (int s = 0; i == head && s < reduction_rounds(r); s++) {
            if (reduction_has_child(r, s))
                list[count++] = head + (blocks << s);
            if (reduction_has_parent(r, s))
                list[count++] = head - (blocks << s);
        }
    }
    first[all] = count;
    loop->ring = first;
    return STENCIL_OK;
}

static stencil_status create(stencil_bench *b, stencil_case_loop *loop, char why[96]) {
    for (int p = 0; p < loop->spread->parts; p++)
        part_of(&loop->part[p])->way = loop->order == MULTI_REDUCTION_HOST         ? REDUCTION_OWN
                                       : loop->order == MULTI_REDUCTION_MULTI_GRID ? REDUCTION_SPREAD
                                                                                   : REDUCTION_TREE;
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
static int copy(const stencil_case_loop *loop, int part, int to, int64_t first, int64_t count) {
    reduction_pair *const *sums = part_of(&loop->part[part])->sums_of;
    return stencil_parts_copy(loop, part, to, (const double *)sums[part] + first, (double *)sums[to] + first,
                              (size_t)count * sizeof(double));
}

/* Copies a part's sums to all other parts, between the two phases. */
static int give_to_all(const stencil_case_loop *loop, int part) {
    const reduction_arguments *r = part_of(&loop->part[part]);
    int state = 0;
    for (int to = 0; to < r->parts && state == 0; to++)
        if (to != part && r->own > 0)
            state = copy(loop, part, to, r->first, r->own);
    return state;
}

/* Runs a phase of the tree of parts in one part: adds up sums by a kernel, or copies sums to the part's
 * parent, or the total to its child. */
static int climb(const stencil_case_loop *loop, int part, int phase) {
    const reduction_arguments *r = part_of(&loop->part[part]);
    const int rounds = reduction_rounds(r), up = phase - 1, down = 2 * rounds + 1 - phase;
    if (phase == 0 || (phase == rounds + 1 && part == 0))
        return stencil_parts_phase(loop, part, phase, phase > 0 ? 1 : loop->blocks);
    if (phase <= rounds && reduction_has_parent(r, up) && reduction_gathered(r, up) > r->first)
        return copy(loop, part, part - (1 << up), r->first, reduction_gathered(r, up) - r->first);
    if (phase > rounds + 1 && reduction_has_child(r, down))
        return copy(loop, part, part + (1 << down), 2 * reduction_sums_pairs(r), 1);
    return 0;
}

static int steps(const stencil_case_loop *loop) {
    return loop->order == MULTI_REDUCTION_HOST ? 3 : (int)reduction_phases(part_of(loop->part));
}

static int step(const stencil_case_loop *loop, int part, int step) {
    return loop->order != MULTI_REDUCTION_HOST ? climb(loop, part, step)
           : step == 1                         ? give_to_all(loop, part)
                       : stencil_parts_phase(loop, part, step / 2, step > 0 ? 1 : loop->blocks);
}

const stencil_parts_case stencil_multi_reduction = {
    .name = "multi-reduction",
    .of = "reduction",
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
