/* The report of a dry run: how a plan lies in memory, is cut into parts and launched. */
#include <inttypes.h>

#include "app/report.h"
#include "solver/plan/sweep.h"

/* Prints a line for each part of the field: its device, size and first cell, x first. */
static void print_parts(const run_record *run) {
    const stencil_plan *plan = run_record_plan(run);
    const int rank = run->problem.rank, first = STENCIL_AXES - rank;
    for (int p = 0; p < plan->cut.parts; p++) {
        const stencil_part_plan *part = &plan->part[p];
        char begin[96] = "";
        for (int axis = STENCIL_X; axis >= first && plan->cut.parts > 1; axis--)
            stencil_text_add(begin, sizeof begin, "%s %c %" PRId64, axis < STENCIL_X ? "," : " from",
                             "zyx"[axis], part -> box.first[axis]);
        PRINT(p == 0 ? "Partition" : "", "%d of %d%s: %s updated cell%s%s", p + 1, plan->cut.parts,
              plan->backend == STENCIL_BACKEND_GPU ? TEXT(" on GPU %d", part->gpu) : "",
              TEXT_EXTENT(part->box.n + first, rank, " x "), stencil_plural(stencil_box_cells(&part->box)),
              begin);
    }
    if (plan->cut.parts > 1)
        PRINT("Halo", "%s%s",
              plan->halo == STENCIL_HALO_STORE  ? "stored by the sweep into the ghost cells of other parts"
              : plan->halo == STENCIL_HALO_COPY ? "copied after each step"
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

void report_print_plan(run_record *run, bool explain) {
    const stencil_plan *plan = run_record_plan(run);
    const stencil_stop *stop = &run->problem.stop;
    const bool criterion = stencil_stop_has_criterion(stop);
    char kernel[STENCIL_KERNEL_CHARS];
    report_print_head(run);
    report_print_notes(run, 0);
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
    report_print_bound(run);
    PRINT("Output", "%s%s", run->output.path != NULL ? TEXT_ESCAPE(run->output.path) : "none",
          run->output.path != NULL ? " (a dry run does not write it)" : "");
    if (explain)
        choice_print_reasons(&run->choice.choice);
}
