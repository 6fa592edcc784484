#include <math.h>

#include "app/json.h"
#include "app/report.h"
#include "solver/plan/sweep.h"
#include "solver/problem/spectrum.h"

/* Describes a problem in JSON; values per axis are in array order, as in input files. */
/* The boundary of an axis: its name, or a list of the names of the walls at both sides. */
static json_t *boundary_json(const stencil_problem *problem, int axis) {
    const char *const name[2] = {stencil_wall_names[problem->wall[axis][0]],
                                 stencil_wall_names[problem->wall[axis][1]]};
    const bool own =
        stencil_problem_wall_is_own(problem, axis, 0) || stencil_problem_wall_is_own(problem, axis, 1);
    return own ? json_pack("[s, s]", name[0], name[1]) : json_string(name[0]);
}

/* The diffusivity of heat: a number, or one for each axis; null where there is none, or /k says it. */
static json_t *diffusivity_json(const stencil_spec *spec) {
    json_t *list = json_array();
    if (spec->diffusivity_count <= 1) {
        json_decref(list);
        return json_number(spec->diffusivity_count == 1 ? spec->diffusivity[0] : NAN);
    }
    for (int i = 0; i < spec->diffusivity_count; i++)
        json_array_append_new(list, json_number(spec->diffusivity[i]));
    return list;
}

static json_t *problem_json(const stencil_problem *problem) {
    char equation[REPORT_EQUATION_CHARS];
    const int first = STENCIL_AXES - problem->rank;
    const stencil_spec *spec = &problem->spec;
    json_t *boundary = json_array(), *spacing = json_array();
    int tables = 0;
    for (int k = 0; k < STENCIL_STEP_FACTORS; k++)
        tables += spec->table[k].count > 0;
    for (int i = 0; i < problem->rank; i++) {
        json_array_append_new(boundary, boundary_json(problem, first + i));
        json_array_append_new(spacing, json_number(stencil_spec_spacing(&problem->spec, first + i)));
    }
    json_t *k = json_null();
    if (spec->has_k)
        k = json_pack("{s:o, s:o, s:i, s:s}", "least", json_number(spec->k.least), "most",
                      json_number(spec->k.most), "materials", spec->k.materials, "form",
                      stencil_problem_has_fields(problem) ? "fields" : "palette");
    return json_pack(
        "{s:o, s:o, s:o, s:s, s:i, s:o, s:o, s:I, s:I, s:I, s:i, s:I, s:i, s:i, s:s, s:o, s:o, s:o, s:s, "
        "s:i, s:o, s:o, s:o, s:o}",
        "k", k, "field", json_text(stencil_spec_field(spec)), "problem",
        json_text(stencil_kind_names[spec->kind]), "stencil", problem->shape->name, "rank", problem->rank,
        "extent", json_integers(problem->extent + first, problem->rank), "updated",
        json_integers(problem->n + first, problem->rank), "updated_cells",
        (json_int_t)stencil_problem_updated_cells(problem), "kept_cells", (json_int_t)problem->kept,
        "class_cells", (json_int_t)problem->varied, "class_rows", problem->palette_count, "driven_cells",
        (json_int_t)problem->driven, "sources", stencil_problem_sources(problem), "tables", tables,
        "precision", stencil_precision_name(problem->precision), "boundary", boundary, "spacing", spacing,
        "omega", json_number(spec->omega), "accelerate",
        problem->cycle.length > 1 ? spec->accelerate : "none", "cycle", problem->cycle.length, "diffusivity",
        diffusivity_json(spec), "dt", json_number(spec->dt), "dt_largest",
        json_number(spec->kind == STENCIL_KIND_HEAT ? stencil_spec_dt_largest(spec) : NAN), "equation",
        json_text(report_equation_text(problem, false, equation)));
}

static json_t *stop_json(const run_record *run) {
    const stencil_stop *stop = &run->problem.stop;
    return json_pack("{s:I, s:o, s:o, s:o, s:o, s:s, s:I, s:o}", "steps", (json_int_t)stop->steps, "time_end",
                     json_number(run->problem.spec.time_end), "rtol", json_number(stop->rtol), "atol",
                     json_number(stop->atol), "threshold",
                     json_number(run->done ? run->report.threshold : NAN), "norm",
                     stencil_norm_names[stop->norm], "check_every", (json_int_t)stop->check_every,
                     "predicted_steps", json_number(stencil_predicted_steps(&run->problem)));
}

/* The GPU of a part; null on a CPU, and of ranks beyond the first ones. */
static json_t *part_gpu_json(const run_record *run, int part) {
    const stencil_plan *plan = run_record_plan(run);
    if (plan->backend != STENCIL_BACKEND_GPU || part >= STENCIL_PARTS_MAX)
        return json_null();
    return json_integer(stencil_plan_ranks(plan) == 1 ? plan->part[part].gpu : run->gpus.of[part]);
}

static json_t *parts_json(const run_record *run) {
    const stencil_plan *plan = run_record_plan(run);
    const int rank = run->problem.rank;
    json_t *array = json_array();
    const int first = STENCIL_AXES - rank;
    for (int p = 0; p < plan->cut.parts; p++) {
        const stencil_part_plan *part = &plan->part[p < stencil_plan_parts(plan) ? p : 0];
        const stencil_box box = stencil_cut_box(&plan->cut, p);
        json_array_append_new(array, json_pack("{s:o, s:o, s:o, s:I, s:i}", "gpu", part_gpu_json(run, p),
                                               "first", json_integers(box.first + first, rank), "cells",
                                               json_integers(box.n + first, rank), "tile_count",
                                               (json_int_t)part->tile_count, "blocks", part->grid_blocks));
    }
    return array;
}

static json_t *plan_json(const run_record *run) {
    const stencil_plan *plan = run_record_plan(run);
    const int first = STENCIL_AXES - run->problem.rank;
    const bool gpu = plan->backend == STENCIL_BACKEND_GPU;
    char kernel[STENCIL_KERNEL_CHARS];
    return json_pack(
        "{s:s, s:s, s:i, s:f, s:f, s:s, s:s, s:i, s:o, s:o, s:i, s:s, s:b, s:[i, i], s:o, s:i, s:i, "
        "s:{s:I, s:I, s:I, s:I}}",
        "strategy", stencil_strategy_at(plan->strategy).name, "sweep", stencil_sweep_infos[plan->sweep].name,
        "depth", plan->depth, "pass_steps", stencil_sweep_pass_steps(plan, &run->problem), "computed_twice",
        stencil_sweep_again(plan, &run->problem), "backend", gpu ? "gpu" : "cpu", "kernel",
        stencil_kernel_text(&plan->kernel, kernel), "threads", plan->threads, "stores",
        gpu ? json_null() : json_string(stencil_stores_names[plan->stores]), "parts", parts_json(run),
        "ranks", stencil_plan_ranks(plan), "halo",
        stencil_halo_names[plan->nccl ? STENCIL_HALO_NCCL : plan->halo], "overlap", plan->overlap, "block",
        plan->block_x, plan->block_y, "tile", json_integers(plan->tile + first, run->problem.rank),
        "registers", plan->registers, "blocks_per_sm", plan->blocks_per_sm, "memory_bytes", "host_need",
        (json_int_t)plan->host_bytes, "host_have", (json_int_t)plan->host_available_bytes, "device_need",
        (json_int_t)plan->device_bytes, "device_have", (json_int_t)plan->device_available_bytes);
}

static json_t *stores_json(const stencil_report *report) {
    const stencil_store_report *stores = &report->stores;
    if (stores->threads == 0)
        return json_null();
    return json_pack("{s:i, s:i, s:o, s:o}", "threads", stores->threads, "streaming_threads",
                     stores->streaming_threads, "cached_step_us", json_number(1e6 * stores->cached_step_s),
                     "streaming_step_us", json_number(1e6 * stores->streaming_step_s));
}

/* The least eigenvalue that a bound on the error divides by; NaN: unknown. */
static double least_eigenvalue(const run_record *run) {
    const double least =
        stencil_problem_relaxes(&run->problem) ? stencil_spectrum_of(&run->problem).least : NAN;
    return least > 0 ? least : NAN;
}

static json_t *result_json(const run_record *run) {
    const stencil_report *report = &run->report;
    const stencil_error_bound *bound = &report->bound;
    return json_pack(
        "{s:s, s:i, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:s, s:o, s:{s:o, s:o}}", "reason",
        stencil_reason_names[report->reason], "exit_code", run->exit_code, "steps", (json_int_t)report->steps,
        "steps_done", (json_int_t)stencil_report_steps_done(report), "time",
        json_number(stencil_problem_time(&run->problem, report->steps)), "residual",
        json_number(stencil_history_last(&report->history)), "residual_first",
        json_number(report->residual_first), "error_bound", json_number(bound->known ? bound->absolute : NAN),
        "error_bound_relative", json_number(bound->known ? bound->relative : NAN), "error_bound_estimated",
        bound->known && bound->estimated, "least_eigenvalue", json_number(least_eigenvalue(run)),
        "resolution", json_number(report->resolution), "plain_from",
        report->plain_from >= 0 ? json_integer(report->plain_from) : json_null(), "device", report->device,
        "stores", stores_json(report), "history", "step",
        json_integers(report->history.step, report->history.count), "residual",
        json_numbers(report->history.residual, report->history.count));
}

/* Lists notes for JSON: all notes, or only those that change what the result means. */
static json_t *notes_json(const stencil_notes *notes, bool all) {
    json_t *array = json_array();
    for (int i = 0; i < notes->count; i++)
        if (all || notes->warns[i])
            json_array_append_new(array, json_text(notes->line[i]));
    return array;
}

json_t *report_json(const run_record *run) {
    const stencil_report *report = &run->report;
    json_t *root = json_pack("{s:i, s:s, s:s, s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:o}", "schema_version", 3,
                             "version", STENCIL_VERSION, "command_line", run->output.command_line, "input",
                             json_text(run->output.input_path), "output", json_text(run->output.path),
                             "dry_run", !run->done, "problem", problem_json(&run->problem), "stop",
                             stop_json(run), "plan", plan_json(run), "notes", notes_json(&run->notes, true),
                             "warnings", notes_json(&run->notes, false));
    const auto_choice *a = &run->choice;
    const char *by = a->tune.done ? "measurement" : a->wise ? "wisdom" : "prediction";
    const bool gpu = run_record_plan(run)->backend == STENCIL_BACKEND_GPU;
    json_object_set_new(root, "bound",
                        report_bound_json(run, run->done ? stencil_report_cells_per_s(report) : 0));
    json_object_set_new(root, "choice",
                        json_pack("{s:s, s:b, s:o}", "by", by, "calibrated",
                                  (gpu ? run->machine.gpu_costs : run->machine.cpu_costs).measured, "plans",
                                  choice_json(&a->choice)));
    if (root == NULL || !run->done)
        return root;
    json_object_set_new(root, "result", result_json(run));
    json_object_set_new(
        root, "rates",
        json_pack("{s:o, s:o, s:o, s:o, s:s}", "step_us", json_number(stencil_report_step_us(report)),
                  "cells_per_s", json_number(stencil_report_cells_per_s(report)), "bytes_per_s",
                  json_number(stencil_report_bytes_per_s(report)), "bytes_per_cell",
                  json_number(report->bytes_per_cell), "formula",
                  "bytes_per_s = steps_done * (updated_cells + kept_cells) * bytes_per_cell / "
                  "compute_s"));
    json_object_set_new(root, "times_s",
                        json_pack("{s:o, s:o, s:o, s:o, s:o}", "read", json_number(report->read_s), "prepare",
                                  json_number(report->prepare_s), "compute", json_number(report->compute_s),
                                  "finish", json_number(report->finish_s), "write",
                                  json_number(run->write_s)));
    return root;
}
