#include "solver/run/drive.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "solver/problem/faces.h"

static void close_side(side *s) {
#ifdef STENCIL_HAVE_CUDA
    if (s->gpu != NULL && s->gpu->strategy != NULL && s->gpu->strategy->close_gpu != NULL)
        s->gpu->strategy->close_gpu(s->gpu);
    stencil_gpu_destroy(s->gpu);
    free(s->gpu);
#endif
    stencil_cpu_destroy(s->cpu);
    free(s->cpu);
    *s = (side){0};
}

/* Creates the CPU or GPU state of a side. Its cells are not loaded yet, unless `lender` lends its arrays. */
static stencil_status open_side(side *s, const stencil_problem *problem, const side *lender) {
    const stencil_plan *plan = s->plan;
#ifdef STENCIL_HAVE_CUDA
    if (plan->backend == STENCIL_BACKEND_GPU) {
        const stencil_strategy *strategy = stencil_strategy_loop(plan->strategy);
        s->gpu = calloc(1, sizeof *s->gpu);
        CHECK(s->gpu != NULL, NO_MEMORY, "no memory for a run");
        TRY(stencil_gpu_create(s->gpu, plan, problem, lender != NULL ? lender->gpu : NULL));
        s->gpu->strategy = strategy;
        return strategy->open_gpu != NULL ? strategy->open_gpu(s->gpu) : STENCIL_OK;
    }
#endif
    CHECK(plan->backend == STENCIL_BACKEND_CPU, UNAVAILABLE, "--sync %s on a GPU: built without CUDA",
          stencil_strategy_at(plan->strategy).name);
    s->cpu = calloc(1, sizeof *s->cpu);
    CHECK(s->cpu != NULL, NO_MEMORY, "no memory for a run");
    return stencil_cpu_create(s->cpu, plan, problem, lender != NULL ? &lender->cpu->buffers : NULL);
}

/* Adds a side to the run and makes the run use it; on failure the run keeps its current side. */
static stencil_status add_side(stencil_run *r, const stencil_plan *plan, const stencil_problem *problem,
                               const side *lender) {
    CHECK(r->sides < STENCIL_SIDES_MAX, INTERNAL, "more than %d plans in one run", STENCIL_SIDES_MAX);
    side *made = &r->side[r->sides];
    *made = (side){.plan = plan};
    const stencil_status status = open_side(made, problem, lender);
    if (status != STENCIL_OK) {
        close_side(made);
        return status;
    }
    r->on = *made;
    r->sides++;
    return STENCIL_OK;
}

/* A reader whose cells are multiplied by 2^exponent. */
typedef struct scaled {
    const stencil_reader *from;
    int exponent;
} scaled;

static stencil_status read_scaled(void *context, stencil_array array, const stencil_box *box,
                                  const stencil_cells *to) {
    const scaled *s = context;
    TRY(s->from->read(s->from->context, array, box, to));
    if (stencil_array_has_values(array))
        stencil_cells_scale(to, box->n, s->exponent);
    return STENCIL_OK;
}

static stencil_status load_box(stencil_run *r, int part, stencil_array array, const stencil_box *box,
                               const stencil_reader *from) {
    scaled s = {from, r->exponent};
    const stencil_reader reader = r->exponent != 0 ? (stencil_reader){read_scaled, &s} : *from;
    bool done;
    TRY(stencil_run_take(r, part, array, box, &done));
    if (done)
        return STENCIL_OK;
#ifdef STENCIL_HAVE_CUDA
    if (r->on.gpu != NULL)
        return stencil_gpu_load(r->on.gpu, part, array, box, &reader);
#endif
    return stencil_cpu_load(r->on.cpu, part, array, box, &reader);
}

stencil_status stencil_run_load_u(stencil_run *r, const stencil_reader *from) {
    const stencil_cut *cut = &r->on.plan->cut;
    for (int part = cut->own; part < cut->own + cut->owned; part++) {
        const stencil_box window = stencil_cut_window(cut, part);
        TRY(load_box(r, part, STENCIL_ARRAY_U, &window, from));
    }
    return STENCIL_OK;
}

/* Marks the groups of cells of a part whose classes are loaded, and shares out the rows of passes. */
static stencil_status mark(stencil_run *r, int part) {
#ifdef STENCIL_HAVE_CUDA
    if (r->on.gpu != NULL) {
        TRY(stencil_gpu_mark(r->on.gpu, part));
        return stencil_gpu_share(r->on.gpu, r->problem, part);
    }
#endif
    stencil_cpu_mark(r->on.cpu, part);
    return STENCIL_OK;
}

/* Loads an array of updated cells, and from `again` the cells of neighbours that parts recompute. */
static stencil_status load_updated(stencil_run *r, stencil_array array, const stencil_reader *from,
                                   const stencil_reader *again) {
    const stencil_cut *cut = &r->on.plan->cut;
    stencil_box frame[STENCIL_FRAME_BOXES];
    for (int part = cut->own; part < cut->own + cut->owned; part++) {
        const stencil_box own = stencil_cut_box(cut, part);
        const int boxes = stencil_cut_frame(cut, part, frame);
        TRY(load_box(r, part, array, &own, from));
        for (int k = 0; k < boxes; k++)
            TRY(load_box(r, part, array, &frame[k], again));
        if (array == STENCIL_ARRAY_CLASS)
            TRY(mark(r, part));
    }
    return STENCIL_OK;
}

/* A reader of boxes of faces, whose layer before the first cells may be beyond the end of an axis. */
typedef struct facing {
    const stencil_problem *problem;
    const stencil_reader *from;
} facing;

static stencil_status read_faces(void *context, stencil_array array, const stencil_box *box,
                                 const stencil_cells *to) {
    const facing *f = context;
    return stencil_faces_fill(f->problem, f->from, stencil_array_axis(array), box, to);
}

/* Loads the faces along an axis of all cells that parts update, those of their neighbours included. */
static stencil_status load_faces(stencil_run *r, int axis, const stencil_reader *from) {
    const stencil_cut *cut = &r->on.plan->cut;
    const stencil_reader reader = {read_faces, &(facing){r->problem, from}};
    stencil_box box[1 + STENCIL_FRAME_BOXES];
    for (int part = cut->own; part < cut->own + cut->owned; part++) {
        const int boxes = 1 + stencil_cut_frame(cut, part, box + 1);
        box[0] = stencil_cut_box(cut, part);
        for (int k = 0; k < boxes; k++) {
            const stencil_box faces = stencil_faces_box(&box[k], axis);
            if (stencil_box_cells(&box[k]) > 0)
                TRY(load_box(r, part, stencil_array_of_face(axis), &faces, &reader));
        }
    }
    return STENCIL_OK;
}

/* Loads the values of all parts: u, b and the arrays behind it. */
static stencil_status load_values(stencil_run *r, const stencil_reader *from, const stencil_reader *again) {
    TRY(stencil_run_load_u(r, from));
    for (int k = 0; k < stencil_problem_sum_arrays(r->problem); k++)
        TRY(load_updated(r, stencil_array_of_sum(k), from, again));
    return STENCIL_OK;
}

/* Loads all cells of all parts: their values, weights of faces and classes. */
static stencil_status load_all(stencil_run *r, const stencil_reader *from, const stencil_reader *again) {
    TRY(load_values(r, from, again));
    for (int axis = STENCIL_AXES - r->problem->rank; axis < STENCIL_AXES; axis++)
        if (stencil_problem_has_fields(r->problem))
            TRY(load_faces(r, axis, from));
    if (stencil_problem_has_wide_rows(r->problem))
        TRY(load_updated(r, STENCIL_ARRAY_ROW, from, again));
    return stencil_problem_has_classes(r->problem) ? load_updated(r, STENCIL_ARRAY_CLASS, from, again)
                                                   : STENCIL_OK;
}

/* Prepares the partial sums of the source's norm, where several ranks have them. */
static stencil_status begin_intake(const stencil_run *r, stencil_intake *intake, stencil_reduction *sums) {
    const stencil_plan *plan = r->on.plan;
    if (stencil_world_alone(plan->world) || stencil_intake_bytes(r->problem) == 0)
        return STENCIL_OK;
    intake->sums = sums;
    return stencil_reduction_create(sums, &plan->cut, plan->world);
}

/* Loads cells by `all`, and loads their values again with a scale if their magnitude requires an exponent. */
static stencil_status load(stencil_run *r, const stencil_reader *from,
                           stencil_status (*all)(stencil_run *, const stencil_reader *,
                                                 const stencil_reader *)) {
    stencil_world *world = r->on.plan->world;
    stencil_reduction sums = {0};
    stencil_intake intake = {.from = from, .problem = r->problem};
    const stencil_reader through = {stencil_intake_read, &intake};
    stencil_device_arrays *const arrays = r->arrays;
    r->exponent = 0;
    stencil_status status = begin_intake(r, &intake, &sums);
    if (status == STENCIL_OK)
        status = all(r, &through, from);
    if (arrays != NULL)
        intake.largest = fmax(intake.largest, arrays->largest);
    status = stencil_world_agree(world, status);
    if (status == STENCIL_OK)
        intake.largest = stencil_world_largest(world, intake.largest);
    r->exponent = status == STENCIL_OK ? stencil_norm_exponent(r->problem, intake.largest) : 0;
    if (r->exponent != 0) {
        scaled s = {from, r->exponent};
        const stencil_reader again = {read_scaled, &s};
        intake.from = &again; /* the reader `again` scales, so the norm of the source is scaled, too */
        const int exponent = r->exponent;
        r->exponent = 0;
        if (arrays != NULL)
            arrays->exponent = exponent;
        status = stencil_world_agree(world, load_values(r, &through, &again));
        r->exponent = exponent;
    }
    if (status == STENCIL_OK)
        status = stencil_run_take_sums(r, &intake);
    if (status == STENCIL_OK)
        r->source_norm = ldexp(stencil_intake_finish(&intake), -r->exponent);
    free(intake.partial);
    stencil_reduction_destroy(&sums);
    r->read_s = intake.read_s + (arrays != NULL ? arrays->read_s : 0);
    r->arrays = NULL;
    return status;
}

stencil_status stencil_run_open(stencil_run **run, const stencil_plan *plan, const stencil_problem *problem,
                                const stencil_reader *from) {
    return stencil_run_open_arrays(run, plan, problem, from, NULL);
}

stencil_status stencil_run_open_arrays(stencil_run **run, const stencil_plan *plan,
                                       const stencil_problem *problem, const stencil_reader *from,
                                       stencil_device_arrays *arrays) {
    const double start_s = stencil_clock_s();
    stencil_run *r = *run = calloc(1, sizeof *r);
    CHECK(r != NULL, NO_MEMORY, "no memory for a run");
    r->problem = problem;
    r->arrays = arrays;
    r->outcome.residual = malloc(STENCIL_CHECKS_MAX * sizeof *r->outcome.residual);
    stencil_status status = r->outcome.residual != NULL ? add_side(r, plan, problem, NULL)
                                                        : ERROR(NO_MEMORY, "no memory for a run");
    status = stencil_world_agree(plan->world, status);
    if (status == STENCIL_OK)
        status = load(r, from, load_all);
    r->prepare_s = stencil_clock_s() - start_s - r->read_s;
    if (status != STENCIL_OK) {
        stencil_run_close(r);
        *run = NULL;
    }
    return status;
}

stencil_status stencil_run_reload(stencil_run *r, const stencil_reader *from, stencil_device_arrays *arrays) {
    const double start_s = stencil_clock_s();
    r->arrays = arrays;
    TRY(load(r, from, load_values));
    r->prepare_s = stencil_clock_s() - start_s - r->read_s;
    return STENCIL_OK;
}

/* Makes the run use the side of the plan, made if necessary; on failure the run keeps its side. */
static stencil_status change_side(stencil_run *r, const stencil_plan *plan) {
    const side *lender = NULL;
    for (int i = 0; i < r->sides; i++) {
        if (r->side[i].plan == plan) {
            r->on = r->side[i];
            return STENCIL_OK;
        }
        if (stencil_plans_share_cells(r->side[i].plan, plan))
            lender = &r->side[i];
    }
    return add_side(r, plan, r->problem, lender);
}

stencil_status stencil_run_replan(stencil_run *r, const stencil_plan *plan) {
    const double start_s = stencil_clock_s();
    stencil_run before = *r; /* copy of the run that still uses the old side, to read its cells */
    TRY(change_side(r, plan));
    const stencil_reader cells = {stencil_run_read, &before};
    const stencil_status status =
        stencil_plans_share_cells(before.on.plan, plan) ? STENCIL_OK : load_all(r, &cells, &cells);
    if (status != STENCIL_OK)
        r->on = before.on;
    else if (r->report != NULL) /* NULL: no steps were made yet */
        r->report->made = (stencil_made){0};
    r->prepare_s += stencil_clock_s() - start_s;
    return status;
}

/* Closes sides from the last to the first, because borrowers of arrays come after their lenders. */
void stencil_run_settle(stencil_run *r) {
    const double start_s = stencil_clock_s();
    for (int i = r->sides - 1; i >= 0; i--)
        if (!stencil_plans_share_cells(r->side[i].plan, r->on.plan)) {
            close_side(&r->side[i]);
            memmove(&r->side[i], &r->side[i + 1], (size_t)(--r->sides - i) * sizeof *r->side);
        }
    r->prepare_s += stencil_clock_s() - start_s;
}

stencil_status stencil_run_side_open(stencil_run *r, const stencil_problem *problem, side *before) {
    const double start_s = stencil_clock_s();
    *before = r->on;
    TRY(add_side(r, before->plan, problem, before));
    r->problem = problem;
    r->prepare_s += stencil_clock_s() - start_s;
    return STENCIL_OK;
}

void stencil_run_side_close(stencil_run *r, const stencil_problem *problem, const side *before) {
    close_side(&r->side[--r->sides]);
    r->on = *before;
    r->problem = problem;
}

void stencil_run_close(stencil_run *r) {
    if (r == NULL)
        return;
    while (r->sides > 0) /* borrowers of arrays come after their lenders, so the last side is closed first */
        close_side(&r->side[--r->sides]);
    stencil_field_destroy(&r->kept);
    free(r->outcome.residual);
    free(r);
}
