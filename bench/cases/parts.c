/* Problems spread over parts: memory, all cases in one part, checks of results. */
#include <stdio.h>
#include <string.h>

#include "bench/cases/loop.h"

int stencil_parts_most(const stencil_bench *b) {
    int most = b->machine->cpu_threads;
#ifdef STENCIL_HAVE_CUDA
    char why[96];
    if (b->options->backend == STENCIL_BACKEND_GPU)
        most = stencil_device_peers(b, why, sizeof why) ? b->options->gpu_count : 1;
#endif
    return most < STENCIL_PARTS_MAX ? most : STENCIL_PARTS_MAX;
}

stencil_status stencil_parts_memory(stencil_bench *b, stencil_parts_spread *s,
                                    const stencil_parts_array *array, void *to) {
    const struct stencil_device *device = s->device[array->part];
    stencil_parts_array *a = &s->array[s->array_count++];
    *a = *array;
    if (a->memory == NULL && a->host != NULL && device == NULL)
        a->memory = a->host;
    if (a->memory == NULL)
        TRY(stencil_case_memory(b, device, a->kind == STENCIL_CASE_INPUT ? a->host : NULL, a->bytes,
                                &a->memory));
    memcpy(to, &a->memory, sizeof a->memory);
    return STENCIL_OK;
}

/* Returns a number of blocks, at most `most`, that share `wanted` pieces of work evenly: with `most` blocks
 * the last pass could leave most blocks idle. */
static uint32_t choose_blocks(int64_t wanted, int64_t most) {
    const int64_t rounds = (wanted + most - 1) / most;
    return rounds < 1 ? 1 : (uint32_t)((wanted + rounds - 1) / rounds);
}

stencil_status stencil_parts_spread_create(stencil_bench *b, stencil_parts_spread *s) {
    const int64_t lanes = s->problem->of->body->lanes, pieces = (s->problem->items + lanes - 1) / lanes;
    TRY(stencil_parts_resident(b, s->of, s->problem->of->body, s->parts, &s->most));
    s->blocks = s->asked > 0 ? s->asked : choose_blocks((pieces + s->parts - 1) / s->parts, s->most);
#ifdef STENCIL_HAVE_CUDA
    if (b->options->backend == STENCIL_BACKEND_GPU)
        TRY(stencil_case_gpu_devices(b, s));
#endif
    for (int p = s->parts - 1; p >= 0; p--)
        TRY(s->of->spread(b, s, p));
    return STENCIL_OK;
}

/* Gives the only part a copy of a problem's arrays. */
static stencil_status spread_one(stencil_bench *b, stencil_parts_spread *s, int part) {
    const stencil_case_problem *p = s->problem;
    memcpy(&s->part[part], p->arguments, sizeof p->arguments);
    for (int i = 0; i < p->array_count; i++) {
        const stencil_case_array *from = &p->array[i];
        const stencil_parts_array array = {part, from->kind, from->memory, stencil_case_array_bytes(from),
                                           NULL};
        TRY(stencil_parts_memory(b, s, &array, s->part[part].bytes + from->pointer_at));
    }
    return STENCIL_OK;
}

static stencil_status create_one(stencil_bench *b, stencil_case_loop *loop, char why[96]) {
    const stencil_case *of = loop->spread->problem->of;
    const stencil_barrier_id barrier = stencil_one_part.order[loop->order].barrier;
    const bool ceiling = stencil_one_part.order[loop->order].ceiling,
               ring = stencil_barriers[barrier].needs == STENCIL_NEEDS_NEIGHBORS;
    stencil_case_create *made = loop->order == STENCIL_CASE_SAMPLE ? of->body->sample : of->body->ceiling;
    if (of->body->keeps && barrier == STENCIL_BARRIER_none && !ceiling)
        snprintf(why, 96, "nothing stays on chip from launch to launch");
    else if (ring && !of->ring)
        snprintf(why, 96, "a block's partners change from phase to phase");
    else if (ring)
        return stencil_ring_create(b, &loop->ring, loop->blocks);
    else if (ceiling && made == NULL)
        snprintf(why, 96, "no library makes this result");
    else if (ceiling)
        return made(b, loop, why);
    return STENCIL_OK;
}

const stencil_parts_case stencil_one_part = {
    .order = {[STENCIL_CASE_IMPLICIT] = {.name = "implicit", .strategy = "relaunch"},
#define STENCIL_BARRIER(id, label, capability, needs, text)                                                  \
    [STENCIL_BARRIER_##id] = {.name = label, .strategy = label, .barrier = STENCIL_BARRIER_##id},
#include "sync/barriers.def"
              [STENCIL_CASE_ALONE] = {.name = "alone", .strategy = "relaunch"},
              [STENCIL_CASE_STREAM] = {.name = "explicit, stream", .strategy = "stream-sync", .gpus = true},
              [STENCIL_CASE_DEVICE] = {.name = "explicit, device", .strategy = "device-sync", .gpus = true},
              [STENCIL_CASE_EVENT] = {.name = "explicit, event", .strategy = "event-sync", .gpus = true},
              [STENCIL_CASE_GRAPH] = {.name = "graph", .strategy = "graph", .gpus = true},
              [STENCIL_CASE_CEILING] = {.name = "ceiling", .ceiling = true, .gpus = true},
              [STENCIL_CASE_SAMPLE] = {.name = "sample", .ceiling = true, .gpus = true}},
    .one_part = true,
    .spread = spread_one,
    .create = create_one};

/* Compares the combined result of all parts, or one part's result, with the expected result. */
static stencil_status check(const stencil_case_loop *loop, int part) {
    const stencil_parts_spread *s = loop->spread;
    char by[64];
    snprintf(by, sizeof by, s->of->each_has_all ? "%s, part %d of %d" : "%s", loop->name, part + 1, s->parts);
    return loop->ceiling != NULL ? stencil_case_check_bound(s->problem, by)
                                 : stencil_case_check(s->problem, by);
}

stencil_status stencil_case_loop_verify(stencil_case_loop *loop) {
    const stencil_parts_spread *s = loop->spread;
    const stencil_parts_array *const end = s->array + s->array_count;
    double time_s;
    stencil_case_spoil(s->problem);
    for (const stencil_parts_array *a = s->array; a < end; a++)
        if (a->kind != STENCIL_CASE_INPUT)
            TRY(stencil_case_memory_spoil(s->device[a->part], a->memory, a->bytes));
    TRY(stencil_case_loop_run(loop, 1, &time_s));
    for (int p = 0; p < s->parts; p++) {
        for (const stencil_parts_array *a = s->array; a < end; a++)
            if (a->part == p && a->kind == STENCIL_CASE_RESULT)
                TRY(stencil_case_memory_read(s->device[p], a->host, a->memory, a->bytes));
        if (s->of->each_has_all || p + 1 == s->parts)
            TRY(check(loop, p));
    }
    return STENCIL_OK;
}
