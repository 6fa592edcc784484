/* Report of a plan: its passes, the roofline that bounds them and the share of it that was reached; and for a
 * dry run, how the plan lies in memory, is cut into parts and launched. */
#include <inttypes.h>
#include <math.h>

#include "app/json.h"
#include "app/report.h"
#include "solver/plan/sweep.h"

/* Returns a text that says which passes are shorter than `depth` steps. */
static const char *short_passes_text(const stencil_passes *passes, int depth, char text[200]) {
    const bool alone = passes->checked == 1, shorter = passes->checked > 1 && passes->checked < depth;
    if (passes->rest > 0)
        stencil_text_add(text, 200, ", the last one before a check of the residual has %s",
                         TEXT_COUNT(passes->rest));
    if (shorter)
        stencil_text_add(text, 200, ", the one that is checked has %s", TEXT_COUNT(passes->checked));
    if (passes->first || alone)
        stencil_text_add(text, 200, ", the %s one by itself",
                         !alone           ? "first step is"
                         : !passes->first ? "step that is checked is"
                                          : "first and the checked step are each");
    return text;
}

void report_print_passes(const run_record *run) {
    const stencil_plan *plan = run_record_plan(run);
    const stencil_passes passes = stencil_sweep_passes(plan, &run->problem);
    const stencil_pass_layout *layout = &plan->layout;
    const bool on_chip = layout->kind == STENCIL_PASS_ON_CHIP;
    const int first = STENCIL_AXES - run->problem.rank, exchange = layout->each_step ? 1 : plan->depth;
    const stencil_resident *r = &layout->resident;
    const int64_t tiles[3] = {r->tiles[1], r->tiles[0],
                              r->tiles_z}; /* numbers of tiles in the order of TEXT_EXTENT() */
    int64_t tile[3];
    if (plan->depth == 1)
        return;
    stencil_sweep_tile(plan, &run->problem, tile);
    const double again = stencil_sweep_again(plan, &run->problem);
    PRINT("Passes", "of %d steps%s; each %s, in tiles of %s cells%s", plan->depth,
          short_passes_text(&passes, plan->depth, (char[200]){""}),
          on_chip ? "exchanges ghost cells once" : "reads and writes the field once",
          TEXT_EXTENT(tile + first, run->problem.rank, " x "),
          again == 0  ? ""
          : again < 1 ? TEXT(" that overlap: %.3g %% of all cells are computed twice", 100 * again)
                      : TEXT(" that overlap: a cell is computed %.3g times in the mean", 1 + again));
    if (on_chip)
        PRINT("On chip",
              "%s tiles%s in registers and %s of shared memory each; ghost cells %d wide, exchanged every %s",
              TEXT_EXTENT(tiles, run->problem.rank, " x "), plan->cut.parts > 1 ? " of each part" : "",
              TEXT_BYTES(layout->shared_bytes), exchange * run->problem.shape->radius,
              exchange > 1 ? TEXT("%d steps", exchange) : "step");
}

/* Returns the i-th resource of a roofline, starting with the resource that allows the lowest rate. */
static stencil_resource bound_order(const stencil_bound *bound, int i) {
    return i == 0 ? bound->least : (stencil_resource)(i - (i <= (int)bound->least));
}

/* Prints the amount of each resource that a cell's step needs and the best rate that it allows, lowest rate
 * first. */
static void print_bound(const run_record *run) {
    static const char *const unit[STENCIL_RESOURCE_COUNT] = {"bytes", "wavefronts", "fma"};
    const stencil_bound bound = stencil_model_bound(run_record_plan(run), &run->problem, &run->machine);
    for (int i = 0; i < STENCIL_RESOURCE_COUNT; i++) {
        const stencil_resource r = bound_order(&bound, i);
        const double rate = stencil_bound_rate(&bound, r);
        if (isinf(rate))
            continue;
        PRINT(i == 0 ? "Bound" : "", "%s: %.4g Gcell/s = %s G %s/s / %.4g per cell and step",
              stencil_resource_names[r], 1e-9 * rate, TEXT_NUMBER(1e-9 * bound.peak[r]), unit[r],
              bound.need[r]);
    }
    if (bound.nominal)
        PRINT("", "%s", "(peaks are nominal: those of this CPU are not known)");
}

void report_print_used(const run_record *run, double cells_per_s) {
    const stencil_bound bound = stencil_model_bound(run_record_plan(run), &run->problem, &run->machine);
    char text[160] = "";
    for (int i = 0; i < STENCIL_RESOURCE_COUNT; i++) {
        const stencil_resource r = bound_order(&bound, i);
        const double rate = stencil_bound_rate(&bound, r);
        const char *name = stencil_resource_names[r], *comma = text[0] != '\0' ? ", " : "";
        if (isinf(rate))
            continue;
        if (bound.nominal)
            stencil_text_add(text, sizeof text, "%s%s allows %.4g Gcell/s", comma, name, 1e-9 * rate);
        else
            stencil_text_add(text, sizeof text, "%s%.3g %% of what %s allows", comma,
                             100 * cells_per_s / rate, name);
    }
    PRINT("Bound", "%s%s", text, bound.nominal ? " (nominal peaks, not measured here)" : "");
}

json_t *report_bound_json(const run_record *run, double cells_per_s) {
    const stencil_bound bound = stencil_model_bound(run_record_plan(run), &run->problem, &run->machine);
    json_t *resources = json_array();
    for (int r = 0; r < STENCIL_RESOURCE_COUNT; r++) {
        const double rate = stencil_bound_rate(&bound, (stencil_resource)r);
        json_array_append_new(
            resources, json_pack("{s:s, s:o, s:o, s:o, s:o}", "resource", stencil_resource_names[r],
                                 "peak_per_s", json_number(bound.peak[r]), "need_per_cell",
                                 json_number(bound.need[r]), "cells_per_s", json_number(rate), "used",
                                 json_number(cells_per_s > 0 && !bound.nominal ? cells_per_s / rate : NAN)));
    }
    return json_pack("{s:s, s:b, s:o, s:s}", "resource", stencil_resource_names[bound.least], "nominal",
                     bound.nominal, "resources", resources, "formula",
                     "cells_per_s = peak_per_s / need_per_cell");
}

const char *report_criteria_text(const stencil_stop *stop, char text[96]) {
    if (!isnan(stop->rtol))
        stencil_text_add(text, 96, "rtol %s", TEXT_REAL(stop->rtol));
    if (!isnan(stop->atol))
        stencil_text_add(text, 96, "%satol %s", text[0] != '\0' ? ", " : "", TEXT_REAL(stop->atol));
    return text;
}

/* Prints a line for each part of the field, of many ranks only for the first ones: its device, size and first
 * cell, x first. */
static void print_parts(const run_record *run) {
    const stencil_plan *plan = run_record_plan(run);
    const int rank = run->problem.rank, first = STENCIL_AXES - rank;
    for (int p = 0; p < plan->cut.parts && p < STENCIL_PARTS_MAX; p++) {
        const stencil_part_plan *part = &plan->part[p < stencil_plan_parts(plan) ? p : 0];
        const stencil_box box = stencil_cut_box(&plan->cut, p);
        char begin[96] = "";
        for (int axis = STENCIL_X; axis >= first && plan->cut.parts > 1; axis--)
            stencil_text_add(begin, sizeof begin, "%s %c %" PRId64, axis < STENCIL_X ? "," : " from",
                             "zyx"[axis], box.first[axis]);
        PRINT(p == 0 ? "Partition" : "", "%d of %d%s: %s updated cell%s%s", p + 1, plan->cut.parts,
              plan->backend == STENCIL_BACKEND_GPU
                  ? TEXT(" on GPU %d", stencil_plan_ranks(plan) == 1 ? part->gpu : run->gpus.of[p])
                  : "",
              TEXT_EXTENT(box.n + first, rank, " x "), stencil_plural(stencil_box_cells(&box)), begin);
    }
    if (plan->cut.parts > STENCIL_PARTS_MAX)
        PRINT("", "and so on, up to %d of %d", plan->cut.parts, plan->cut.parts);
    if (plan->cut.parts > 1)
        PRINT("Halo", "%s%s",
              plan->halo == STENCIL_HALO_STORE  ? "stored by the sweep into the ghost cells of other parts"
              : plan->halo == STENCIL_HALO_COPY ? "copied after each step"
              : plan->nccl                      ? "sent by NCCL after each pass"
              : plan->halo == STENCIL_HALO_MESSAGE && plan->depth > 1 ? "sent in messages after each pass"
              : plan->halo == STENCIL_HALO_MESSAGE                    ? "sent in messages after each step"
                                                   : "sent after each step, in words that carry its number",
              plan->overlap ? ", while the rest is computed" : "");
}

/* Prints launch sizes of multi-step passes, which fill the GPU, and of single steps. */
static void print_gpu_launch(const stencil_plan *plan) {
    const bool deep = plan->depth > 1, loops = plan->barrier != STENCIL_BARRIER_none;
    const char *part = plan->cut.parts > 1 ? " in part 1" : "";
    const int blocks = deep ? (int)plan->part[0].tile_count : plan->part[0].grid_blocks;
    if (deep)
        PRINT("Launch", "%d block%s%s, one per SM, for %s%s", plan->layout.blocks,
              stencil_plural(plan->layout.blocks), part,
              !loops                            ? "each pass"
              : plan->wait.steps_per_launch > 0 ? "each pass, barrier "
                                                : "all passes up to a check,\nbarrier ",
              loops ? stencil_barriers[plan->barrier].name : "");
    PRINT(deep ? "" : "Launch", "%d block%s of %d x %d threads%s, %d per SM,\n%d registers per thread%s",
          blocks, stencil_plural(blocks), plan->block_x, plan->block_y, part, plan->blocks_per_sm,
          plan->registers, deep ? ", for a step by itself" : "");
}

static void print_launch(const run_record *run) {
    const stencil_plan *plan = run_record_plan(run);
    const int first = STENCIL_AXES - run->problem.rank;
    print_parts(run);
    if (plan->backend == STENCIL_BACKEND_GPU) {
        PRINT("Tiles", "%s of %s cells%s", TEXT_COUNT(plan->part[0].tile_count),
              TEXT_EXTENT(plan->tile + first, run->problem.rank, " x "),
              plan->cut.parts > 1 ? " in part 1" : "");
        print_gpu_launch(plan);
    } else {
        PRINT("Tiles", "rows of %s, %s for each thread",
              TEXT_COUNTED(stencil_smaller(plan->tile[STENCIL_X], run->problem.n[STENCIL_X]), "cell"),
              TEXT_COUNT(plan->share_rows));
        static const char *const stores[STENCIL_STORES_COUNT] = {
            "through the cache", "past the cache",
            "through the cache or past it, as the first steps find out"};
        PRINT("Stores", "%s", stores[plan->stores]);
        PRINT("Launch", "%d thread%s", plan->threads, stencil_plural(plan->threads));
    }
}

void report_print_plan(const run_record *run, bool explain) {
    const stencil_plan *plan = run_record_plan(run);
    const stencil_stop *stop = &run->problem.stop;
    const bool criterion = stencil_stop_has_criterion(stop);
    char kernel[STENCIL_KERNEL_CHARS];
    PRINT("Kernel", "%s", stencil_kernel_text(&plan->kernel, kernel));
    PRINT("Steps", "%s%s%s\nresidual every %s", criterion ? "at most " : "", TEXT_COUNT(stop->steps),
          criterion ? TEXT(", until the residual (%s) is under %s", stencil_norm_names[stop->norm],
                           REPORT_CRITERIA(stop))
                    : "",
          TEXT_COUNTED(stop->check_every, "step"));
    PRINT("Memory", "host %s of %s available", TEXT_BYTES(plan->host_bytes),
          TEXT_BYTES(plan->host_available_bytes));
    if (plan->backend == STENCIL_BACKEND_GPU)
        PRINT("", "device %s of %s available", TEXT_BYTES(plan->device_bytes),
              TEXT_BYTES(plan->device_available_bytes));
    print_launch(run);
    print_bound(run);
    PRINT("Output", "%s%s", run->output.path != NULL ? TEXT_ESCAPE(run->output.path) : "none",
          run->output.path != NULL ? " (a dry run does not write it)" : "");
    if (explain)
        choice_print_reasons(&run->choice.choice);
}
