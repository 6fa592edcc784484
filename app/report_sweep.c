/* Report of a run's passes, the roofline that bounds them, and the share of it that was reached. */
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
    const int64_t tiles[3] = {r->tiles[1], r->tiles[0], r->tiles_z}; /* printed from z on */
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

void report_print_bound(const run_record *run) {
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
