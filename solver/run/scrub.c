#include "solver/run/scrub.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "solver/run/drive.h"

/* Cells of a tile along each axis (z, y, x), and updates that are made for one at most. */
static const int64_t tile_2d[3] = {1, 64, 64}, tile_3d[3] = {8, 16, 64};
static const int64_t updates_most = INT64_C(1) << 20;

struct stencil_scrub {
    stencil_run *run;
    double share;
    stencil_machine machine; /* one thread of a CPU */
    uint64_t random;
    int64_t first_step, begin; /* steps before the run; step before which the next tile is taken */
    double start_s;
    /* Steps between two tiles, and their time; the step and the clock when the observer was last left. */
    int64_t plain_steps, left_step;
    double plain_s, left_s;
    /* The tile that is watched. problem NULL: none is. */
    const stencil_problem *problem;
    int64_t end;
    stencil_box tile, cone; /* cone: the cells that are updated for the tile, beyond periodic ends, too */
    stencil_box held;       /* the cells in `kept`: those of the cone, and what these read */
    stencil_plan plan;      /* makes the cone's steps */
    stencil_problem small;  /* the problem of the cone alone */
    void *kept, *seen;      /* cells of `held` before the steps, of `tile` after them; owned */
    int64_t kept_bytes, seen_bytes;
    double taken_s; /* clock when the cells were kept */
    bool found;     /* a cell differed */
    stencil_scrubbed done;
};

stencil_status stencil_scrub_open(stencil_scrub **scrub, stencil_run *run, double share) {
    stencil_scrub *s = *scrub = calloc(1, sizeof *s);
    CHECK(s != NULL, NO_MEMORY, "no memory for scrubbing");
    s->run = run;
    s->share = share;
    s->machine.cpu_threads = s->machine.cpu_processors = 1;
    stencil_calibration_defaults(&s->machine);
    return STENCIL_OK;
}

/* SplitMix64, as in digest.c. Returns a number in [0, 1). */
static double draw(stencil_scrub *s) {
    uint64_t z = s->random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return ldexp((double)((z ^ z >> 31) >> 11), -53);
}

/* Makes room for the cells of a box. */
static stencil_status make_room(void **block, int64_t *bytes, const stencil_scrub *s,
                                const stencil_box *box) {
    const int64_t wanted = stencil_box_cells(box) * (int64_t)stencil_precision_bytes(s->problem->precision);
    if (wanted <= *bytes)
        return STENCIL_OK;
    free(*block);
    *block = NULL;
    *bytes = 0;
    TRY(stencil_memory_alloc(block, wanted, "a tile to scrub"));
    *bytes = wanted;
    return STENCIL_OK;
}

/* Reads cells of the run as its parts have them, with the exponent that they are stored with. A box of many
 * planes would be copied from a GPU with all that lies between. */
static stencil_status read_stored(const stencil_scrub *s, stencil_array array, const stencil_box *box,
                                  const stencil_cells *to) {
    stencil_run *r = s->run;
    const stencil_reader cells = {stencil_run_read, r};
    const int exponent = r->exponent;
    stencil_status status = STENCIL_OK;
    stencil_box plane = *box;
    r->exponent = 0;
    plane.n[STENCIL_Z] = 1;
    for (int64_t z = 0; z < box->n[STENCIL_Z] && status == STENCIL_OK; z++) {
        plane.first[STENCIL_Z] = box->first[STENCIL_Z] + z;
        const stencil_cells there = stencil_cells_from(to, plane.first);
        status = stencil_boxes_fill(&cells, &r->on.plan->cut.mesh, array, &plane, &there);
    }
    r->exponent = exponent;
    return status;
}

/* A reader of the small problem, whose indices count from the first cell of the cone. */
static stencil_status read_small(void *context, stencil_array array, const stencil_box *box,
                                 const stencil_cells *to) {
    const stencil_scrub *s = context;
    stencil_box there = *box;
    stencil_cells moved = *to;
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        there.first[axis] += s->cone.first[axis];
        moved.first[axis] += s->cone.first[axis];
    }
    if (array != STENCIL_ARRAY_U)
        return read_stored(s, array, &there, &moved);
    const stencil_cells kept = stencil_cells_dense(s->problem->precision, s->kept, &s->held),
                        from = stencil_cells_from(&kept, there.first),
                        first = stencil_cells_from(&moved, there.first);
    stencil_cells_copy(&first, &from, there.n);
    return STENCIL_OK;
}

/* Draws a tile, where each cell is as likely to be in it as any other one. */
static void draw_tile(stencil_scrub *s) {
    const stencil_problem *p = s->problem;
    const int64_t *size = p->rank == 2 ? tile_2d : tile_3d;
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        const int64_t n = p->n[axis], places = n + size[axis] - 1;
        const int64_t low = (int64_t)(draw(s) * (double)places) - (size[axis] - 1);
        const int64_t end = stencil_smaller(low + size[axis], n);
        s->tile.first[axis] = low > 0 ? low : 0;
        s->tile.n[axis] = end - s->tile.first[axis];
    }
}

/* Sets the cone of the tile for `steps` steps. The small problem is fixed where the whole one is fixed or
 * periodic, and mirrored where that is; at ends of its own it is wrong, by the radius further in each step.
 */
static void set_cone(stencil_scrub *s, int64_t steps) {
    const stencil_problem *p = s->problem;
    s->small = *p;
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        const bool mirrored = p->boundary[axis] == STENCIL_MIRROR, has = axis >= STENCIL_AXES - p->rank;
        const int64_t grow = has ? steps * p->shape->radius : 0, edge = mirrored ? 0 : p->radius[axis];
        int64_t low = s->tile.first[axis] - grow, end = s->tile.first[axis] + s->tile.n[axis] + grow;
        if (p->boundary[axis] != STENCIL_PERIODIC) {
            low = low > 0 ? low : 0;
            end = stencil_smaller(end, p->n[axis]);
        }
        s->cone.first[axis] = low;
        s->cone.n[axis] = s->small.n[axis] = end - low;
        s->held.first[axis] = low - edge;
        s->held.n[axis] = s->small.extent[axis] = end - low + 2 * edge;
        s->small.first[axis] = -edge;
        s->small.boundary[axis] = mirrored ? STENCIL_MIRROR : STENCIL_FIXED;
    }
}

/* Chooses the tile, and the steps that it is watched for: those of a pass, if that is not too much to make
 * again, or all that the run has left. Returns false where it has none. */
static bool choose(stencil_scrub *s, int64_t step) {
    const stencil_run *r = s->run;
    const int64_t left = r->problem->stop.steps - step;
    int64_t steps = stencil_smaller(r->on.plan->depth > 2 ? r->on.plan->depth : 2, left);
    if (steps < 1)
        return false;
    s->problem = r->problem;
    draw_tile(s);
    set_cone(s, steps);
    while (steps > 1 && steps * stencil_box_cells(&s->cone) > updates_most)
        set_cone(s, steps /= 2);
    s->end = step + steps;
    return true;
}

/* Keeps the cells that a tile depends on, before the steps after which it is compared. */
static stencil_status take(stencil_scrub *s) {
    const stencil_run_options options = {
        .sync = "relaunch", .sweep = "naive", .depth = 1, .backend = STENCIL_BACKEND_CPU};
    TRY(make_room(&s->kept, &s->kept_bytes, s, &s->held));
    TRY(make_room(&s->seen, &s->seen_bytes, s, &s->tile));
    TRY(stencil_plan_make(&s->plan, &s->small, &options, &s->machine));
    const stencil_cells to = stencil_cells_dense(s->problem->precision, s->kept, &s->held);
    return read_stored(s, STENCIL_ARRAY_U, &s->held, &to);
}

/* Names the boxes and cells of the run in the indices of the array in the file. */
static const char *name_box(const stencil_problem *p, const stencil_box *box, char text[128]) {
    text[0] = '\0';
    for (int axis = STENCIL_AXES - p->rank; axis < STENCIL_AXES; axis++) {
        const int64_t at = box->first[axis] - p->first[axis];
        if (box->n[axis] == 1)
            stencil_text_add(text, 128, "[%" PRId64 "]", at);
        else
            stencil_text_add(text, 128, "[%" PRId64 ":%" PRId64 "]", at, at + box->n[axis]);
    }
    return text;
}

/* Says that a cell is not what it has to be, and who has made it. */
static stencil_status accuse(stencil_scrub *s, const stencil_box *cell, double seen, double made) {
    const stencil_plan *plan = s->run->on.plan;
    char at[128], tile[128], where[64] = "the CPU";
    s->found = true;
    for (int part = 0; part < plan->cut.parts && plan->backend == STENCIL_BACKEND_GPU; part++) {
        const stencil_box own = stencil_cut_box(&plan->cut, part), common = stencil_box_common(&own, cell);
        if (stencil_box_cells(&common) > 0)
            snprintf(where, sizeof where, "GPU %d", plan->part[part].gpu);
    }
    FAIL(INTERNAL,
         "%s made a wrong cell: u%s is %.17g after step %" PRId64 ", but steps %" PRId64 " to %" PRId64
         " made again on a CPU give %.17g (tile u%s): a fault of the hardware, if not of this program",
         where, name_box(s->problem, cell, at), ldexp(seen, -s->run->exponent), s->end, s->begin + 1, s->end,
         ldexp(made, -s->run->exponent), name_box(s->problem, &s->tile, tile));
}

/* Tells whether two rows of cells have the same bits, or, where they differ, are both NaN; *at: the first
 * that does not. */
static bool same_row(const stencil_cells *a, const stencil_cells *b, int64_t n, int64_t *at) {
    const size_t bytes = stencil_precision_bytes(a->precision);
    if (memcmp(a->at, b->at, (size_t)n * bytes) == 0)
        return true;
    for (*at = 0; *at < n; ++*at) {
        const size_t offset = (size_t)*at * bytes;
        if (memcmp((const char *)a->at + offset, (const char *)b->at + offset, bytes) != 0 &&
            !(isnan(stencil_cells_value(a, *at)) && isnan(stencil_cells_value(b, *at))))
            return false;
    }
    return true;
}

/* Compares the tile with what the steps made again have left in `made`, cells of the small problem. */
static stencil_status compare(stencil_scrub *s, const stencil_cells *made) {
    const stencil_cells seen = stencil_cells_dense(s->problem->precision, s->seen, &s->tile);
    stencil_cells again = *made;
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        again.first[axis] += s->cone.first[axis];
    stencil_box row = s->tile;
    row.n[STENCIL_Z] = row.n[STENCIL_Y] = 1;
    for (int64_t z = 0; z < s->tile.n[STENCIL_Z]; z++)
        for (int64_t y = 0; y < s->tile.n[STENCIL_Y]; y++) {
            row.first[STENCIL_Z] = s->tile.first[STENCIL_Z] + z;
            row.first[STENCIL_Y] = s->tile.first[STENCIL_Y] + y;
            const stencil_cells a = stencil_cells_from(&seen, row.first),
                                b = stencil_cells_from(&again, row.first);
            int64_t at;
            if (same_row(&a, &b, row.n[STENCIL_X], &at))
                continue;
            const stencil_box cell = {
                .first = {row.first[STENCIL_Z], row.first[STENCIL_Y], row.first[STENCIL_X] + at},
                .n = {1, 1, 1}};
            return accuse(s, &cell, stencil_cells_value(&a, at), stencil_cells_value(&b, at));
        }
    return STENCIL_OK;
}

/* Makes the steps of the cone again, and compares the tile. */
static stencil_status make_again(stencil_scrub *s, stencil_cpu *cpu) {
    const stencil_cut *cut = &s->plan.cut;
    const stencil_box window = stencil_cut_window(cut, 0), own = stencil_cut_box(cut, 0);
    const stencil_reader from = {read_small, s};
    TRY(stencil_cpu_create(cpu, &s->plan, &s->small, NULL));
    TRY(stencil_cpu_load(cpu, 0, STENCIL_ARRAY_U, &window, &from));
    if (stencil_problem_has_source(&s->small))
        TRY(stencil_cpu_load(cpu, 0, STENCIL_ARRAY_B, &own, &from));
    if (stencil_problem_has_classes(&s->small)) {
        TRY(stencil_cpu_load(cpu, 0, STENCIL_ARRAY_CLASS, &own, &from));
        if (stencil_problem_has_wide_rows(&s->small))
            TRY(stencil_cpu_load(cpu, 0, STENCIL_ARRAY_ROW, &own, &from));
        stencil_cpu_mark(cpu, 0);
    }
    cpu->schedule = (stencil_schedule){.check_every = INT64_MAX, .check_step = INT64_MAX};
    int buffer = 0;
    for (int64_t step = s->begin; step < s->end; step++, buffer = !buffer)
        stencil_cpu_advance(cpu, &(stencil_pass){step, 1, buffer}, 0, 1);
    const stencil_cells seen = stencil_cells_dense(s->problem->precision, s->seen, &s->tile);
    TRY(read_stored(s, STENCIL_ARRAY_U, &s->tile, &seen));
    const stencil_cells made =
        stencil_buffer_cells(&cpu->buffers, 0, stencil_buffer_of(STENCIL_ARRAY_U, buffer), own.first);
    return compare(s, &made);
}

static stencil_status finish(stencil_scrub *s) {
    stencil_cpu cpu = {0};
    const stencil_status status = make_again(s, &cpu);
    const stencil_error seen = *stencil_error_last();
    stencil_cpu_destroy(&cpu);
    if (status != STENCIL_OK)
        return stencil_error_adopt(&seen);
    s->done.tiles++;
    s->done.updates += stencil_box_cells(&s->tile) * (s->end - s->begin);
    s->done.step = s->end;
    return STENCIL_OK;
}

/* Returns seconds of a step of the run between tiles; 0: not known yet. */
static double step_s(const stencil_scrub *s) {
    return s->plain_steps > 0 ? s->plain_s / (double)s->plain_steps : 0;
}

/* Tells whether there is time for a tile, which costs what others have cost; else sets the step at which
 * there will be, within limits, since steps may be quicker than they were. */
static bool has_time(stencil_scrub *s, int64_t step) {
    static const double usual_s = 4e-3;      /* of the first tile; most take less */
    if (s->share >= 1 && s->done.tiles == 0) /* a short run has one, too */
        return true;
    const double own_s = stencil_clock_s() - s->start_s - s->done.seconds, each_s = step_s(s);
    const double cost_s = s->done.tiles > 0 ? s->done.seconds / (double)s->done.tiles : usual_s;
    const double left_s = (s->done.seconds + cost_s) / s->share - own_s;
    if (left_s <= 0)
        return true;
    const double made = (double)(step - s->first_step);
    const double least = 16 + made / 16, most = 16 + 15 * made, due = each_s > 0 ? left_s / each_s : 16;
    s->begin = step + (int64_t)(fmin(fmax(due, least), most) * (1 + draw(s) / 8));
    return false;
}

/* Ends the tile that was watched, at the step at which it is compared or, where the run has gone another way,
 * without a comparison. What the end of its batch took longer than other steps counts twice, for the two
 * batches that end for a tile. */
static stencil_status end_tile(stencil_scrub *s, int64_t step) {
    const double now_s = stencil_clock_s();
    const double steps_s = (double)(step - s->begin) * step_s(s);
    const bool compares = step == s->end && s->problem == s->run->problem;
    s->done.seconds += 2 * fmax(now_s - s->taken_s - steps_s, 0);
    const stencil_status status = compares ? finish(s) : STENCIL_OK;
    s->done.seconds += stencil_clock_s() - now_s;
    s->problem = NULL;
    s->begin = step;
    return status;
}

/* Begins a tile, or says when there will be time for one. */
static stencil_status begin_tile(stencil_scrub *s, int64_t step) {
    if (step < s->begin || !has_time(s, step))
        return STENCIL_OK;
    const double now_s = stencil_clock_s();
    s->begin = step;
    if (!choose(s, step)) {
        s->problem = NULL;
        s->begin = INT64_MAX;
        return STENCIL_OK;
    }
    const stencil_status status = take(s);
    s->taken_s = stencil_clock_s();
    s->done.seconds += s->taken_s - now_s;
    return status;
}

static stencil_status at(void *context, stencil_report *report) {
    stencil_scrub *s = context;
    const int64_t step = report->steps;
    if (s->problem == NULL) {
        s->plain_steps += step - s->left_step;
        s->plain_s += stencil_clock_s() - s->left_s;
    } else {
        TRY(end_tile(s, step));
    }
    const stencil_status status = begin_tile(s, step);
    s->left_step = step;
    s->left_s = stencil_clock_s();
    return status;
}

static int64_t next(void *context, int64_t step) {
    const stencil_scrub *s = context;
    const int64_t planned = s->problem != NULL ? s->end : s->begin;
    return planned > step ? planned : step + 1;
}

stencil_observer stencil_scrub_observer(stencil_scrub *s) {
    s->start_s = stencil_clock_s();
    s->random = (uint64_t)(1e9 * s->start_s);
    s->left_s = s->start_s;
    s->first_step = s->left_step = s->run->problem->origin.steps;
    s->begin = s->first_step + 1;
    /* cells can be read within a cycle of dampings, too */
    return (stencil_observer){.context = s, .next = next, .at = at, .any_step = true};
}

stencil_scrubbed stencil_scrub_done(const stencil_scrub *s) {
    return s->done;
}

bool stencil_scrub_found(const stencil_scrub *s) {
    return s->found;
}

void stencil_scrub_close(stencil_scrub *s) {
    if (s == NULL)
        return;
    free(s->kept);
    free(s->seen);
    free(s);
}
