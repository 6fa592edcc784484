#include "app/report.h"

#include "solver/cycle.h"
#include "solver/sweep.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* "rtol 1e-08", "atol 1e-06", "rtol 1e-08, atol 1e-06". */
static const char *criteria_text(const stencil_stop *stop, char text[96]) {
    if (!isnan(stop->rtol))
        stencil_text_add(text, 96, "rtol %g", stop->rtol);
    if (!isnan(stop->atol))
        stencil_text_add(text, 96, "%satol %g", text[0] != '\0' ? ", " : "", stop->atol);
    return text;
}
#define CRITERIA(stop) criteria_text(stop, (char[96]){""})

static void print_prediction(const stencil_problem *problem) {
    const double steps = stencil_predicted_steps(problem);
    if (isnan(steps) || isinf(steps))
        return;
    const double cycle = stencil_cycle_contraction(problem);
    PRINT("Predicted", "%s%s steps to rtol %g; each %s %.2g of the error %s",
          steps < 1e15 ? "" : "more than ", TEXT_COUNT((int64_t)fmin(steps, 1e15)), problem->stop.rtol,
          isnan(cycle) ? "takes" : "cycle leaves", isnan(cycle) ? 1.0 - stencil_contraction(problem) : cycle,
          isnan(cycle) ? "away" : "at most");
}

static void print_limits(const stencil_stop *stop) {
    const bool criterion = stencil_stop_has_criterion(stop);
    PRINT("Steps", "%s%s%s\nresidual every %s", criterion ? "at most " : "", TEXT_COUNT(stop->steps),
          criterion
              ? TEXT(", until the residual (%s) is under %s", stencil_norm_names[stop->norm], CRITERIA(stop))
              : "",
          TEXT_COUNTED(stop->check_every, "step"));
}

/* Why a run ended: in its report, and in the line about what went wrong, with the step and "s" for more. */
static const struct {
    const char *report, *failure;
} why[STENCIL_REASON_COUNT] = {
    [STENCIL_REASON_NONE] = {"not started", NULL},
    [STENCIL_REASON_FIXED_POINT] = {"fixed point, no cell changes any more",
                                    "no cell changes after step %" PRId64 ", but only by rounding"},
    [STENCIL_REASON_CONVERGED_RTOL] = {"converged (rtol)", NULL},
    [STENCIL_REASON_CONVERGED_ATOL] = {"converged (atol)", NULL},
    [STENCIL_REASON_DIVERGED] = {"diverged: the residual is not finite",
                                 "diverged: the residual is not finite at step %" PRId64},
    [STENCIL_REASON_INTERRUPTED] = {"interrupted", NULL},
    [STENCIL_REASON_STAGNATED] = {"stagnated, the residual falls no more",
                                  "stagnated after step %" PRId64 ": "},
    [STENCIL_REASON_STEPS] = {"all steps done", NULL},
    [STENCIL_REASON_NOT_CONVERGED] = {"all steps done, not converged",
                                      "not converged in %" PRId64 " step%s: "},
};

static void print_residual(const run_record *run) {
    const stencil_report *report = &run->report;
    const stencil_stop *stop = &run->problem.stop;
    if (report->history.count == 0)
        return;
    PRINT("Residual", "%.6e (%s) at step %s%s", stencil_history_last(&report->history),
          stencil_norm_names[stop->norm], TEXT_COUNT(report->history.step[report->history.count - 1]),
          isnan(report->threshold) ? ""
                                   : TEXT(",\nlimit %.6e (%s, first residual %.3e)", report->threshold,
                                          CRITERIA(stop), report->residual_first));
}

/* From which part of the solution on an error is no approximation any more. */
static const double unsolved = 0.1;

static void print_error(const run_record *run) {
    const stencil_error_bound *bound = &run->report.bound;
    if (!bound->known)
        return;
    const char *constant = stencil_spectrum_of(&run->problem).up_to_constant ? ", up to a constant" : "";
    /* A field that has shrunk as asked and is as small as its error: the solution is 0, or a constant. */
    if (bound->relative > unsolved && run->report.reason == STENCIL_REASON_CONVERGED_RTOL)
        PRINT("Error", "at most %.2g%s; the field is as small itself", bound->absolute, constant);
    else
        PRINT("Error", "at most %.2g (%.3g %% of the solution's size)%s%s", bound->absolute,
              100.0 * bound->relative, constant, bound->relative > unsolved ? ": not solved" : "");
}

static void print_stop(const run_record *run) {
    const stencil_report *report = &run->report;
    const stencil_stop *stop = &run->problem.stop;
    const char *const part = report->steps_before > 0 ? TEXT(", %s of them in this run",
                                                             TEXT_COUNT(stencil_report_steps_done(report)))
                                                      : "";
    PRINT("Steps", "%s of %s%s%s: %s", TEXT_COUNT(report->steps),
          stencil_stop_has_criterion(stop) ? "at most " : "", TEXT_COUNT(stop->steps), part,
          why[report->reason].report);
    print_residual(run);
    print_error(run);
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

static const char *device_text(const run_record *run, char text[256]) {
    const stencil_plan *plan = &run->plan;
    if (plan->backend != STENCIL_BACKEND_GPU)
        return plan->device;
    snprintf(text, 256, "%s (device%s ", run->machine.gpu[plan->part[0].gpu].name,
             stencil_plural(plan->cut.parts));
    for (int p = 0; p < plan->cut.parts; p++)
        stencil_text_add(text, 256, "%s%d", p > 0 ? "," : "", plan->part[p].gpu);
    return stencil_text_add(text, 256, plan->cut.parts > 1 ? "), %d parts" : ")", plan->cut.parts);
}

/* Who has chosen the plan, where there was a choice. */
static void print_choice(const auto_choice *a) {
    const stencil_candidate *c = &a->choice.item[a->choice.chosen];
    if (a->choice.possible < 2)
        return;
    if (a->wise)
        PRINT("Chosen", "by wisdom: %s µs per step in an earlier run", TEXT_NUMBER(1e6 * c->step_s));
    else if (a->tune.done)
        PRINT("Chosen", "%s: measured %s µs per step", choice_name(c, (char[64]){""}),
              TEXT_NUMBER(1e6 * c->step_s));
    else
        PRINT("Chosen", "predicted %s µs per step, least of %d plans%s", TEXT_NUMBER(1e6 * c->cost.step_s),
              a->choice.possible, a->tune.count > 1 ? TEXT("; %d are timed first", a->tune.count) : "");
}

void report_print_head(const run_record *run) {
    const stencil_problem *problem = &run->problem;
    const stencil_plan *plan = &run->plan;
    char boundary[96], device[256];
    PRINT("Input", "%s", TEXT_ESCAPE(run->output.input_path));
    PRINT("Problem", "%s%s%s, %s cells, %s", stencil_kind_names[problem->spec.kind],
          problem->spec.kind != STENCIL_KIND_NONE ? " on " : "", problem->shape->name,
          TEXT_EXTENT(problem->extent + STENCIL_AXES - problem->rank, problem->rank, " x "),
          stencil_precision_name(problem->precision));
    PRINT("Boundary", "%s", boundary_text(problem, boundary));
    if (problem->cycle.length > 1)
        PRINT("Damping", "%s: cycles of %d steps", problem->spec.accelerate, problem->cycle.length);
    PRINT("Cells", "%s updated in each step", TEXT_COUNT(stencil_problem_updated_cells(problem)));
    PRINT("Strategy", "%s, sweep %s, on %s: %s", stencil_strategy_at(plan->strategy).name,
          stencil_sweep_infos[plan->sweep].name, plan->backend == STENCIL_BACKEND_GPU ? "GPU" : "CPU",
          device_text(run, device));
    report_print_passes(run);
    print_choice(&run->choice);
    print_prediction(problem);
}

int report_print_notes(const run_record *run, int from) {
    for (int i = from; i < run->notes.count; i++)
        PRINT("Note", "%s", TEXT_ESCAPE(run->notes.line[i]));
    return run->notes.count;
}

static void print_rates(const run_record *run) {
    const stencil_report *report = &run->report;
    if (stencil_report_steps_done(report) == 0 || report->compute_s <= 0)
        return;
    const int bytes = (int)stencil_precision_bytes(run->problem.precision);
    const double rate = 1e-9 * stencil_report_cells_per_s(report);
    PRINT("Time/step", "%s µs", TEXT_NUMBER(stencil_report_step_us(report)));
    PRINT("Rate", "%.4g Gcell/s", rate);
    report_print_used(run, 1e9 * rate);
    PRINT("Bandwidth",
          "%.4g GB/s effective = %.4g Gcell/s x %.4g bytes per cell\n(read u %d, write u %d%s%s)",
          1e-9 * stencil_report_bytes_per_s(report), rate, report->bytes_per_cell, bytes, bytes,
          stencil_problem_arrays(&run->problem) > 2 ? TEXT(", read b %d", bytes) : "",
          run->plan.depth > 1
              ? TEXT(", once in %.4g steps", stencil_sweep_pass_steps(&run->plan, &run->problem))
              : "");
}

/* What was tried, where something was. */
static void print_stores(const stencil_store_report *stores) {
    if (stores->threads == 0 || isnan(stores->cached_step_s))
        return;
    const bool some = stores->streaming_threads > 0 && stores->streaming_threads < stores->threads;
    PRINT("Stores", "%s the cache%s (tried: %s µs past it, %s µs through it)",
          stores->streaming_threads > 0 ? "past" : "through",
          some ? TEXT(" by %d of %d threads", stores->streaming_threads, stores->threads) : "",
          TEXT_NUMBER(1e6 * stores->streaming_step_s), TEXT_NUMBER(1e6 * stores->cached_step_s));
}

/* Digits behind the point that leave seconds six characters, so that all of them fit on a line. */
static int decimals(double seconds) {
    return seconds < 10 ? 3 : seconds < 1000 ? 1 : 0;
}

static void print_times(const run_record *run) {
    const stencil_report *r = &run->report;
    PRINT("Seconds", "read %.*f, prepare %.*f, compute %.*f, finish %.*f, write %.*f", decimals(r->read_s),
          r->read_s, decimals(r->prepare_s), r->prepare_s, decimals(r->compute_s), r->compute_s,
          decimals(r->finish_s), r->finish_s, decimals(run->write_s), run->write_s);
}

void report_print_result(const run_record *run, bool explain) {
    if (run->choice.tune.done)
        print_choice(&run->choice);
    print_stop(run);
    print_rates(run);
    print_stores(&run->report.stores);
    print_times(run);
    PRINT("Output", "%s", run->output.path != NULL ? TEXT_ESCAPE(run->output.path) : "none");
    if (explain)
        choice_print_reasons(&run->choice.choice);
}

/* A line for each part: what it has, and where it begins; x first, as sizes are everywhere. */
static void print_parts(const run_record *run) {
    const stencil_plan *plan = &run->plan;
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

/* Of passes of several steps, which fill the GPU, and of single ones. */
static void print_gpu_launch(const stencil_plan *plan) {
    const bool deep = plan->depth > 1, loops = plan->barrier != STENCIL_BARRIER_none;
    const char *part = plan->cut.parts > 1 ? " in part 1" : "";
    const int blocks = deep ? (int)plan->part[0].tile_count : plan->part[0].grid_blocks;
    if (deep)
        PRINT("Launch", "%d block%s%s, one per SM, for %s%s", plan->deep_blocks,
              stencil_plural(plan->deep_blocks), part,
              !loops                            ? "each pass"
              : plan->wait.steps_per_launch > 0 ? "each pass, barrier "
                                                : "all passes up to a check,\nbarrier ",
              loops ? stencil_barriers[plan->barrier].name : "");
    PRINT(deep ? "" : "Launch", "%d block%s of %d x %d threads%s, %d per SM,\n%d registers per thread%s",
          blocks, stencil_plural(blocks), plan->block_x, plan->block_y, part, plan->blocks_per_sm,
          plan->registers, deep ? ", for a step by itself" : "");
}

static void print_launch(const run_record *run) {
    const stencil_plan *plan = &run->plan;
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
    const stencil_plan *plan = &run->plan;
    char kernel[STENCIL_KERNEL_CHARS];
    report_print_head(run);
    report_print_notes(run, 0);
    PRINT("Kernel", "%s", stencil_kernel_text(&plan->kernel, kernel));
    print_limits(&run->problem.stop);
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

static void note_prediction(const stencil_problem *problem, stencil_notes *notes) {
    const double steps = stencil_predicted_steps(problem);
    const stencil_spectrum spectrum = stencil_spectrum_of(problem);
    if (isinf(steps) && problem->spec.omega * spectrum.most > 2.0 + 1e-12)
        stencil_notes_add(notes, "this iteration is unstable: give --omega below %.6g", 2.0 / spectrum.most);
    else if (isinf(steps))
        stencil_notes_add(notes,
                          "with omega %g the mode with alternating signs does not shrink: try --omega 0.9",
                          problem->spec.omega);
    else if (steps > (double)problem->stop.steps)
        stencil_notes_add(notes, "the predicted steps are more than the limit of %s: raise --steps, or rtol",
                          TEXT_COUNTED(problem->stop.steps, "step"));
}

/* What an accelerated problem, or one that is no longer, has in place of what was asked for. */
static void note_cycle(const stencil_problem *problem, const stencil_spec *file, stencil_notes *notes) {
    const stencil_spec *spec = &problem->spec;
    const stencil_stop *stop = &problem->stop;
    if (problem->cycle.length == 1 && spec->kind == file->kind && strcmp(file->accelerate, "none") != 0 &&
        file->accelerate[0] != '\0' && spec->omega != 1.0)
        stencil_notes_add(notes, "--omega %g: plain steps, where the file asks for accelerate %s",
                          spec->omega, file->accelerate);
    if (problem->cycle.length > 1 && !isnan(file->omega) && file->omega != 1.0)
        stencil_notes_add(notes, "--accelerate: the file's omega %g has no effect", file->omega);
    if (!stop->steps_default && stop->steps != spec->steps)
        stencil_notes_add(notes, "%s become %s: whole cycles of %d", TEXT_COUNTED(spec->steps, "step"),
                          TEXT_COUNT(stop->steps), problem->cycle.length);
    if (spec->check_every > 0 && stop->check_every != spec->check_every)
        stencil_notes_add(notes, "the residual is checked every %s, not every %s: at ends of cycles of %d",
                          TEXT_COUNTED(stop->check_every, "step"), TEXT_COUNT(spec->check_every),
                          problem->cycle.length);
}

void report_note_start(run_record *run, const stencil_spec *file) {
    const stencil_problem *problem = &run->problem;
    stencil_notes *notes = &run->notes;
    note_cycle(problem, file, notes);
    if (stencil_problem_relaxes(problem) && !isnan(problem->stop.rtol))
        note_prediction(problem, notes);
}

static const char *stagnation_text(const run_record *run) {
    const stencil_problem *problem = &run->problem;
    switch (run->report.stagnation) {
    case STENCIL_STAGNATION_GROWTH:
        return "it grows: the iteration is unstable, give smaller weights or omega";
    case STENCIL_STAGNATION_SOURCE:
        return "no axis is fixed and the source has a mean other than 0: there is no solution";
    case STENCIL_STAGNATION_MODE:
        return "these weights have a mode that neither shrinks nor grows";
    case STENCIL_STAGNATION_CHECKERBOARD:
#define CHECKERBOARD "the mode with alternating signs (checkerboard) does not shrink"
        return problem->spec.kind == STENCIL_KIND_HEAT ? CHECKERBOARD ": give a smaller --dt"
               : stencil_problem_relaxes(problem)      ? CHECKERBOARD ": try --omega 0.9"
                                                       : CHECKERBOARD " with these weights";
    default:
        return problem->precision == STENCIL_FLOAT32 ? "float32 resolves no less: --precision float64 does"
                                                     : "float64 resolves no less";
    }
}

void report_note_end(run_record *run) {
    const stencil_report *report = &run->report;
    stencil_notes *notes = &run->notes;
    if (stencil_report_steps_done(report) == 0 && report->steps > 0)
        stencil_notes_add(
            notes, report->reason == STENCIL_REASON_STEPS || report->reason == STENCIL_REASON_NOT_CONVERGED
                       ? "no step was made: the file has all its steps; --steps asks for more"
                       : "no step was made: the file is a finished result; a smaller --rtol or --atol "
                         "asks for better");
    if (report->reason == STENCIL_REASON_STAGNATED)
        stencil_notes_add(notes, "the residual falls no more: %s", stagnation_text(run));
    if (report->reason == STENCIL_REASON_FIXED_POINT && !report->reached)
        stencil_notes_add(
            notes,
            "no cell changes any more, yet only because %s rounds the changes away: %sa larger rtol "
            "stops before",
            stencil_precision_name(run->problem.precision),
            run->problem.precision == STENCIL_FLOAT32 ? "--precision float64 goes on, " : "");
    if (report->reason == STENCIL_REASON_CONVERGED_ATOL && report->bound.known &&
        report->bound.relative > 0.01)
        stencil_notes_add(notes,
                          "atol is met far from the solution, since u' - u shrinks with spacing and omega: "
                          "--rtol limits the error");
}

void report_print_failure(const run_record *run) {
    const stencil_report *report = &run->report;
    const char *failure = why[report->reason].failure;
    fprintf(stderr, "stencil: %s: ", TEXT_ESCAPE(run->output.input_path));
    fprintf(stderr, failure != NULL ? failure : "interrupted after step %" PRId64, report->steps,
            stencil_plural(report->steps));
    if (report->reason == STENCIL_REASON_STAGNATED)
        fputs(stagnation_text(run), stderr);
    if (report->reason == STENCIL_REASON_NOT_CONVERGED) {
        if (isnan(stencil_history_last(&report->history))) /* no step, no residual */
            fprintf(stderr, "no residual yet");
        else
            fprintf(stderr, "residual %g", stencil_history_last(&report->history));
        fprintf(stderr, ", limit %s", CRITERIA(&run->problem.stop));
    }
    if (run->output.path != NULL)
        fprintf(stderr, "; %s holds that step", TEXT_ESCAPE(run->output.path));
    fputc('\n', stderr);
}
