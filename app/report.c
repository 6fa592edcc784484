#include "app/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "app/output.h"
#include "app/text.h"
#include "base/words.h"

enum { LABEL_COLUMNS = 12, TEXT_CHARS = 4608 };

void report_print_entry(FILE *out, const char *label, const char *format, ...) {
    char text[TEXT_CHARS];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    output_wrapped(out, text, fprintf(out, "%-*s", LABEL_COLUMNS, label), LABEL_COLUMNS);
}

static const char *boundary_text(const stencil_problem *problem, char text[96]) {
    const int first = STENCIL_AXES - problem->rank;
    bool same = true;
    for (int axis = first; axis < STENCIL_AXES; axis++)
        same = same && problem->boundary[axis] == problem->boundary[first];
    snprintf(text, 96, "%s", same ? stencil_boundary_names[problem->boundary[first]] : "");
    for (int axis = STENCIL_X; axis >= first && !same; axis--)
        stencil_text_add(text, 96, "%s%s in %c", axis < STENCIL_X ? ", " : "",
                         stencil_boundary_names[problem->boundary[axis]], "zyx"[axis]);
    return text;
}

static const char *device_text(const run_record *run, char *text, size_t size) {
    const stencil_plan *plan = &run->plan;
    if (plan->backend == STENCIL_BACKEND_GPU) {
        snprintf(text, size, "%s (device%s ", run->machine.gpu[plan->part[0].gpu].name,
                 stencil_plural(plan->cut.parts));
        for (int p = 0; p < plan->cut.parts; p++)
            stencil_text_add(text, size, "%s%d", p > 0 ? "," : "", plan->part[p].gpu);
        stencil_text_add(text, size, ")");
    } else
        snprintf(text, size, "%d thread%s, %s", plan->threads, stencil_plural(plan->threads),
                 run->machine.cpu_isa);
    if (plan->cut.parts > 1)
        stencil_text_add(text, size, ", %d parts", plan->cut.parts);
    return text;
}

void report_print_head(FILE *out, const run_record *run) {
    const stencil_problem *problem = &run->problem;
    const stencil_plan *plan = &run->plan;
    char boundary[96], device[192];
    report_print_entry(out, "Input", "%s", TEXT_ESCAPE(run->input));
    report_print_entry(out, "Problem", "%s%s%s, %s cells, %s", stencil_kind_names[problem->spec.kind],
                       problem->spec.kind != STENCIL_KIND_NONE ? " on " : "", problem->shape->name,
                       TEXT_EXTENT(problem->extent + STENCIL_AXES - problem->rank, problem->rank, " x "),
                       stencil_precision_name(problem->precision));
    report_print_entry(out, "Boundary", "%s", boundary_text(problem, boundary));
    report_print_entry(out, "Cells", "%s updated in each step",
                       TEXT_COUNT(stencil_problem_updated_cells(problem)));
    report_print_entry(out, "Strategy", "%s on %s: %s", stencil_strategy_at(plan->strategy).name,
                       plan->backend == STENCIL_BACKEND_GPU ? "GPU" : "CPU",
                       device_text(run, device, sizeof device));
    report_print_prediction(out, problem);
}

int report_print_notes(FILE *out, const run_record *run, int from) {
    for (int i = from; i < run->notes.count; i++)
        report_print_entry(out, "Note", "%s", TEXT_ESCAPE(run->notes.line[i]));
    return run->notes.count;
}

static void print_rates(FILE *out, const run_record *run) {
    const stencil_report *report = &run->report;
    if (stencil_report_steps_done(report) == 0 || report->compute_s <= 0)
        return;
    const int bytes = (int)stencil_precision_bytes(run->problem.precision);
    const double rate = 1e-9 * stencil_report_cells_per_s(report);
    report_print_entry(out, "Time/step", "%s µs", TEXT_NUMBER(stencil_report_step_us(report)));
    report_print_entry(out, "Rate", "%.4g Gcell/s", rate);
    report_print_entry(out, "Bandwidth",
                       "%.4g GB/s effective = %.4g Gcell/s x %g bytes per cell\n(read u %d, write u %d%s)",
                       1e-9 * stencil_report_bytes_per_s(report), rate, report->bytes_per_cell, bytes, bytes,
                       report->bytes_per_cell > 2 * bytes ? TEXT(", read b %d", bytes) : "");
}

/* What was tried, where something was. */
static void print_stores(FILE *out, const stencil_store_report *stores) {
    if (stores->threads == 0 || isnan(stores->cached_step_s))
        return;
    const bool some = stores->streaming_threads > 0 && stores->streaming_threads < stores->threads;
    report_print_entry(out, "Stores", "%s the cache%s (tried: %s µs past it, %s µs through it)",
                       stores->streaming_threads > 0 ? "past" : "through",
                       some ? TEXT(" by %d of %d threads", stores->streaming_threads, stores->threads) : "",
                       TEXT_NUMBER(1e6 * stores->streaming_step_s), TEXT_NUMBER(1e6 * stores->cached_step_s));
}

/* Digits behind the point that leave seconds six characters, so that all of them fit on a line. */
static int decimals(double seconds) {
    return seconds < 10 ? 3 : seconds < 1000 ? 1 : 0;
}

static void print_times(FILE *out, const run_record *run) {
    const stencil_report *r = &run->report;
    report_print_entry(out, "Seconds", "read %.*f, prepare %.*f, compute %.*f, finish %.*f, write %.*f",
                       decimals(r->read_s), r->read_s, decimals(r->prepare_s), r->prepare_s,
                       decimals(r->compute_s), r->compute_s, decimals(r->finish_s), r->finish_s,
                       decimals(run->write_s), run->write_s);
}

void report_print_result(FILE *out, const run_record *run) {
    report_print_stop(out, run);
    print_rates(out, run);
    print_stores(out, &run->report.stores);
    print_times(out, run);
    report_print_entry(out, "Output", "%s", run->output != NULL ? TEXT_ESCAPE(run->output) : "none");
}

/* A line for each part: what it has, and where it begins; x first, as sizes are everywhere. */
static void print_parts(FILE *out, const run_record *run) {
    const stencil_plan *plan = &run->plan;
    const int rank = run->problem.rank, first = STENCIL_AXES - rank;
    for (int p = 0; p < plan->cut.parts; p++) {
        const stencil_part_plan *part = &plan->part[p];
        char begin[96] = "";
        for (int axis = STENCIL_X; axis >= first && plan->cut.parts > 1; axis--)
            stencil_text_add(begin, sizeof begin, "%s %c %" PRId64, axis < STENCIL_X ? "," : " from",
                             "zyx"[axis], part -> box.first[axis]);
        report_print_entry(out, p == 0 ? "Partition" : "", "%d of %d%s: %s updated cell%s%s", p + 1,
                           plan->cut.parts,
                           plan->backend == STENCIL_BACKEND_GPU ? TEXT(" on GPU %d", part->gpu) : "",
                           TEXT_EXTENT(part->box.n + first, rank, " x "),
                           stencil_plural(stencil_box_cells(&part->box)), begin);
    }
    if (plan->cut.parts > 1)
        report_print_entry(
            out, "Halo", "%s%s",
            plan->halo == STENCIL_HALO_STORE  ? "stored by the sweep into the ghost cells of other parts"
            : plan->halo == STENCIL_HALO_COPY ? "copied after each step"
                                              : "sent after each step, in words that carry its number",
            plan->overlap ? ", while the rest is computed" : "");
}

static void print_launch(FILE *out, const run_record *run) {
    const stencil_plan *plan = &run->plan;
    const int first = STENCIL_AXES - run->problem.rank;
    print_parts(out, run);
    if (plan->backend == STENCIL_BACKEND_GPU) {
        const bool several = plan->cut.parts > 1;
        report_print_entry(out, "Tiles", "%s of %s cells%s", TEXT_COUNT(plan->part[0].tile_count),
                           TEXT_EXTENT(plan->tile + first, run->problem.rank, " x "),
                           several ? " in part 1" : "");
        report_print_entry(
            out, "Launch", "%d block%s of %d x %d threads%s, %d per SM,\n%d registers per thread",
            plan->part[0].grid_blocks, stencil_plural(plan->part[0].grid_blocks), plan->block_x,
            plan->block_y, several ? " in part 1" : "", plan->blocks_per_sm, plan->registers);
    } else {
        report_print_entry(out, "Tiles", "rows of %s cell%s, %s for each thread",
                           TEXT_COUNT(plan->tile[STENCIL_X]), stencil_plural(plan->tile[STENCIL_X]),
                           TEXT_COUNT(plan->tile[STENCIL_Y]));
        static const char *const stores[STENCIL_STORES_COUNT] = {
            "through the cache", "past the cache",
            "through the cache or past it, as the first steps find out"};
        report_print_entry(out, "Stores", "%s", stores[plan->stores]);
        report_print_entry(out, "Launch", "%d thread%s", plan->threads, stencil_plural(plan->threads));
    }
}

void report_print_plan(FILE *out, const run_record *run) {
    const stencil_plan *plan = &run->plan;
    char kernel[STENCIL_KERNEL_CHARS];
    report_print_head(out, run);
    report_print_notes(out, run, 0);
    report_print_entry(out, "Kernel", "%s", stencil_kernel_text(&plan->kernel, kernel));
    report_print_limits(out, &run->problem.stop);
    report_print_entry(out, "Memory", "host %s of %s available", TEXT_BYTES(plan->host_bytes),
                       TEXT_BYTES(plan->host_available_bytes));
    if (plan->backend == STENCIL_BACKEND_GPU)
        report_print_entry(out, "", "device %s of %s available", TEXT_BYTES(plan->device_bytes),
                           TEXT_BYTES(plan->device_available_bytes));
    print_launch(out, run);
    report_print_entry(out, "Output", "%s%s", run->output != NULL ? TEXT_ESCAPE(run->output) : "none",
                       run->output != NULL ? " (a dry run does not write it)" : "");
}
