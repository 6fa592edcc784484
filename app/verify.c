/* stencil verify: computes a result again with the plain reference and compares bit for bit. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/options.h"
#include "app/h5file.h"
#include "app/json.h"
#include "app/progress.h"
#include "app/reference.h"
#include "app/signals.h"
#include "app/text.h"
#include "app/threads.h"
#include "inputs/h5.h"
#include "inputs/inputs.h"

enum { PATH_SIZE = 4096 };

static const char give_result[] = "give a result of 'stencil run'";

typedef struct verify_options {
    int64_t threads;
    const char *json;
    bool force, quiet;
} verify_options;

#define AT(field) OPTION_AT(verify_options, field)
static const option verify_table[] = {
    {"threads", 'j', OPTION_INTEGER, AT(threads), "N", .help = "CPU threads (default: as OpenMP decides)",
     .minimum = 1, .maximum = THREADS_MAX},
    {"json", 0, OPTION_TEXT, AT(json), "FILE", .help = "write the result as JSON; - is standard output"},
    {"force", 'f', OPTION_FLAG, AT(force), NULL, .help = "replace an existing file", .needs = "json"},
    {"quiet", 'q', OPTION_FLAG, AT(quiet), NULL, .help = "print nothing, only set the exit code"},
    {NULL},
};
static const option_group verify_groups[] = {{"Options", verify_table, 0}, {NULL}};

/* Values that differ: how many of how many, and the first one. */
typedef struct mismatch {
    int64_t count, of, first;
    double expected, found;
} mismatch;

/* A verification while it goes; released by verify_close(). */
typedef struct verification {
    const char *output, *input;
    char input_name[PATH_SIZE];
    stencil_problem problem;
    reference reference;
    h5_dataset u;                /* of the output */
    int64_t first, steps;        /* of the problem: before and after the run */
    double residual_first;       /* NaN: the output has none */
    const int64_t *history_step; /* of the problem, [residuals.of] */
    const double *history;
    bool criterion_known; /* the input has a first residual, which is not this run's */
    mismatch cells, residuals, first_residual;
} verification;

static const h5_dataset closed = {.file = H5I_INVALID_HID, .dataset = H5I_INVALID_HID};

static void verify_close(verification *v) {
    h5_dataset_close(&v->u);
    reference_destroy(&v->reference);
    stencil_problem_destroy(&v->problem);
    free(v);
}

static stencil_status read_provenance(verification *v) {
    TRY(h5_dataset_open(&v->u, v->output, "/u", give_result));
    int64_t done = 0;
    TRY(h5_read_integer(v->u.file, v->output, "/provenance", "steps_done", &done));
    CHECK(done >= 0 && done <= STENCIL_STEPS_MAX, BAD_DATA,
          "'%s': attribute steps_done of /provenance is %" PRId64 ": a number of steps is from 0 to %" PRId64,
          v->output, done, STENCIL_STEPS_MAX);
    /* Results of version 0.1.0 count no steps_total: their steps are all of them. */
    v->steps = v->problem.spec.steps_total >= 0 ? v->problem.spec.steps_total : done;
    v->first = v->steps - done;
    v->residual_first = v->problem.spec.residual_first;
    CHECK(v->first >= 0, BAD_DATA, "'%s': more steps_done (/provenance) than steps_total", v->output);
    if (v->input != NULL)
        return STENCIL_OK;
    TRY(h5_read_text(v->u.file, v->output, "/provenance", "input", v->input_name, sizeof v->input_name));
    CHECK(v->input_name[0] != '\0', USAGE, "'%s' does not name its input: give it, 'stencil verify %s INPUT'",
          v->output, v->output);
    v->input = v->input_name;
    return STENCIL_OK;
}

/* The problem that the run solved, as its output states it, and the residuals of all its steps. */
static stencil_status read_result(verification *v, stencil_input *output, const stencil_spec *spec) {
    TRY(text_name_file(stencil_problem_resolve(&v->problem, spec), v->output));
    TRY(read_provenance(v));
    CHECK(H5Lexists(v->u.file, "/residual", H5P_DEFAULT) > 0, BAD_DATA, "'%s' has no dataset /residual: %s",
          v->output, give_result);
    v->problem.origin.steps = v->steps;
    TRY(stencil_input_load_history(output, &v->problem));
    v->history = v->problem.origin.residual;
    v->history_step = v->problem.origin.residual_step;
    v->residuals.of = v->problem.origin.history_count;
    return STENCIL_OK;
}

static stencil_status read_output(verification *v) {
    stencil_input *output = NULL;
    stencil_spec spec;
    TRY(stencil_input_open(&output, v->output, &spec));
    const stencil_status status = read_result(v, output, &spec);
    stencil_input_close(output);
    return status;
}

/* A dataset of the input, which has to have the shape of the output's /u. */
static stencil_status read_field(const verification *v, const char *name, hid_t type, void *values) {
    h5_dataset field = closed;
    stencil_status status = h5_dataset_open(&field, v->input, name, "give the input of that run");
    if (status == STENCIL_OK &&
        (field.rank != v->u.rank ||
         memcmp(field.extent, v->u.extent, (size_t)field.rank * sizeof *field.extent) != 0))
        status = stencil_error_set(STENCIL_BAD_DATA, __FILE__, __LINE__, "",
                                   "'%s' is not the input of '%s': %s has another shape than its /u",
                                   v->input, v->output, name);
    if (status == STENCIL_OK)
        status = h5_dataset_read(&field, NULL, NULL, type, values);
    h5_dataset_close(&field);
    return status;
}

/* /f is scaled in double and rounded once. */
static stencil_status read_right_hand_side(verification *v) {
    void *memory = NULL;
    TRY(stencil_memory_alloc(&memory, v->u.count * (int64_t)sizeof(double), "the right-hand side"));
    double *f = memory;
    const stencil_status status = read_field(v, "/f", H5T_NATIVE_DOUBLE, f);
    const double scale = v->reference.source_scale;
    for (int64_t i = 0; status == STENCIL_OK && i < v->u.count; i++) {
        if (v->reference.precision == STENCIL_FLOAT64)
            ((double *)v->reference.b)[i] = scale * f[i];
        else
            ((float *)v->reference.b)[i] = (float)(scale * f[i]);
    }
    free(memory);
    return status;
}

static stencil_status read_fields(verification *v) {
    TRY(read_field(v, "/u", stencil_h5_native_type(v->reference.precision), v->reference.u[0]));
    reference_start(&v->reference);
    if (v->problem.spec.source == STENCIL_SOURCE_F)
        return read_right_hand_side(v);
    return v->problem.spec.source == STENCIL_SOURCE_B
               ? read_field(v, "/b", stencil_h5_native_type(v->reference.precision), v->reference.b)
               : STENCIL_OK;
}

/* Notes a pair of values; same bits, or both NaN. */
static void check_value(mismatch *m, int64_t at, double expected, double found) {
    if (memcmp(&expected, &found, sizeof expected) == 0 || (isnan(expected) && isnan(found)))
        return;
    if (m->count++ == 0) {
        m->first = at;
        m->expected = expected;
        m->found = found;
    }
}

/* The problem as the input has left it: the steps and residuals that are its own are taken from there. */
static stencil_status take_origin(verification *v, int64_t *checked) {
    stencil_input *input = NULL;
    stencil_problem before;
    stencil_spec spec;
    *checked = 0;
    if (v->first == 0)
        return STENCIL_OK;
    TRY(stencil_input_open(&input, v->input, &spec));
    stencil_status status = text_name_file(stencil_problem_resolve(&before, &spec), v->input);
    if (status == STENCIL_OK)
        status = stencil_input_load_history(input, &before);
    stencil_input_close(input);
    if (status == STENCIL_OK &&
        (before.origin.steps != v->first || strcmp(before.fingerprint, v->problem.fingerprint) != 0))
        status = stencil_error_set(STENCIL_BAD_DATA, __FILE__, __LINE__, "",
                                   "'%s' is not the input of '%s', which begins after step %" PRId64
                                   " of the same problem",
                                   v->input, v->output, v->first);
    const stencil_origin *origin = &before.origin;
    const int64_t count = origin->history_count - (origin->last_is_extra && v->steps > v->first);
    for (; status == STENCIL_OK && *checked < count && *checked < v->residuals.of; ++*checked) {
        check_value(&v->residuals, *checked, origin->residual[*checked], v->history[*checked]);
        v->residuals.count += origin->residual_step[*checked] != v->history_step[*checked];
    }
    if (status == STENCIL_OK && !isnan(origin->residual_first))
        check_value(&v->first_residual, 0, origin->residual_first, v->residual_first);
    v->criterion_known = !isnan(origin->residual_first);
    stencil_problem_destroy(&before);
    return status;
}

/* What rtol is relative to: the residual of the first step, or the norm of poisson's source. */
static void check_first(verification *v) {
    double first = reference_residual(&v->reference, v->first + 1);
    const double source =
        v->problem.spec.kind == STENCIL_KIND_POISSON ? reference_source_norm(&v->reference) : 0;
    first = first < source ? source : first;
    check_value(&v->first_residual, 0, first, v->residual_first);
}

/* Shows how far it is, as a run does. INTERRUPTED on request, after a whole step. */
static stencil_status make_steps(verification *v, int64_t looked, bool quiet) {
    int64_t step = v->first;
    stencil_problem shown = v->problem;
    progress progress;
    shown.stop = (stencil_stop){.steps = v->steps, .rtol = NAN, .atol = NAN};
    shown.origin.steps = v->first;
    progress_start(&progress, &shown, quiet);
    signals_catch();
    while (step < v->steps && signals_caught == 0) {
        reference_step(&v->reference, ++step);
        progress_poll(&progress, step, NAN);
        if (step == v->first + 1 && !isnan(v->residual_first) && !v->criterion_known)
            check_first(v);
        if (looked < v->residuals.of && v->history_step[looked] == step) {
            check_value(&v->residuals, looked, reference_residual(&v->reference, step), v->history[looked]);
            looked++;
        }
    }
    progress_end(&progress);
    CHECK(step == v->steps, INTERRUPTED,
          "interrupted after step %" PRId64 " of %" PRId64 ": '%s' is not verified", step, v->steps,
          v->output);
    return STENCIL_OK;
}

/* Reads the output's /u over the reference's older field, which is not needed any more. */
static stencil_status compare_fields(verification *v) {
    const void *expected = v->reference.u[v->steps % 2];
    void *found = v->reference.u[(v->steps + 1) % 2];
    TRY(h5_dataset_read(&v->u, NULL, NULL, stencil_h5_native_type(v->reference.precision), found));
    v->cells.of = v->u.count;
    for (int64_t i = 0; i < v->u.count; i++) {
        if (v->reference.precision == STENCIL_FLOAT64)
            check_value(&v->cells, i, ((const double *)expected)[i], ((const double *)found)[i]);
        else
            check_value(&v->cells, i, (double)((const float *)expected)[i],
                        (double)((const float *)found)[i]);
    }
    return STENCIL_OK;
}

static void print_mismatch(const mismatch *m, const char *name, const char *where, const char *unit) {
    char count[TEXT_SIZE], of[TEXT_SIZE];
    if (m->count == 0) {
        printf("  %-10s %s of %s %s%s equal\n", name, text_count(m->of, count), text_count(m->of, of), unit,
               stencil_plural(m->of));
        return;
    }
    printf("  %-10s differs in %s of %s %s%s, first at %s:\n", name, text_count(m->count, count),
           text_count(m->of, of), unit, stencil_plural(m->of), where);
    printf("             reference %.17g, file %.17g\n", m->expected, m->found);
}

static bool is_verified(const verification *v) {
    return v->cells.count == 0 && v->residuals.count == 0 && v->first_residual.count == 0;
}

static void print_result(const verification *v) {
    char steps[TEXT_SIZE], where[96], index[TEXT_SIZE], name[TEXT_NAME_SIZE];
    const int64_t *extent = v->reference.extent;
    const int64_t x = v->cells.first % extent[STENCIL_X], line = v->cells.first / extent[STENCIL_X];
    if (v->problem.rank == 2)
        snprintf(where, sizeof where, "[%" PRId64 ", %" PRId64 "]", line, x);
    else
        snprintf(where, sizeof where, "[%" PRId64 ", %" PRId64 ", %" PRId64 "]", line / extent[STENCIL_Y],
                 line % extent[STENCIL_Y], x);
    snprintf(index, sizeof index, "[%" PRId64 "]", v->residuals.first);
    const bool equal = is_verified(v);
    printf("%s: %s after %s step%s\n", text_escape(v->output, name, sizeof name),
           equal ? "verified" : "NOT verified", text_count(v->steps, steps), stencil_plural(v->steps));
    print_mismatch(&v->cells, "/u", where, "cell");
    print_mismatch(&v->residuals, "/residual", index, "value");
    if (v->first_residual.count > 0)
        printf("  residual_first differs: reference %.17g, file %.17g\n", v->first_residual.expected,
               v->first_residual.found);
}

static json_t *mismatch_json(const mismatch *m) {
    json_t *root = json_pack("{s:I, s:I}", "count", (json_int_t)m->of, "differing", (json_int_t)m->count);
    if (root != NULL && m->count > 0) {
        json_object_set_new(root, "first", json_integer(m->first));
        json_object_set_new(root, "reference", json_number(m->expected));
        json_object_set_new(root, "file", json_number(m->found));
    }
    return root;
}

static json_t *result_json(const verification *v) {
    return json_pack("{s:i, s:s, s:o, s:o, s:b, s:I, s:o, s:o}", "schema_version", 1, "command", "verify",
                     "output", json_text(v->output), "input", json_text(v->input), "verified", is_verified(v),
                     "steps", (json_int_t)v->steps, "u", mismatch_json(&v->cells), "residual",
                     mismatch_json(&v->residuals));
}

static stencil_status verify_stages(const verify_options *options, verification *v, int *exit_code) {
    int64_t checked = 0;
    TRY(threads_start(options->threads));
    TRY(target_check("--json", options->json, options->force, v->output));
    TRY(read_output(v));
    TRY(target_check("--json", options->json, options->force, v->input));
    TRY(reference_create(&v->reference, &v->problem));
    TRY(read_fields(v));
    TRY(take_origin(v, &checked));
    TRY(make_steps(v, checked, options->quiet));
    TRY(compare_fields(v));
    if (!is_verified(v))
        *exit_code = stencil_status_exit_code(STENCIL_DIFFERENT);
    if (!options->quiet && !target_is_stdout(options->json))
        print_result(v);
    return json_write(options->json, options->force, options->json != NULL ? result_json(v) : NULL);
}

static stencil_status verify_run(const invocation *call, int *exit_code) {
    verification *v = calloc(1, sizeof *v);
    CHECK(v != NULL, NO_MEMORY, "no memory for a verification");
    v->output = call->operand[0];
    v->input = call->operand_count > 1 ? call->operand[1] : NULL;
    v->u = closed;
    const stencil_status status =
        text_name_out_of_memory(verify_stages(call->values, v, exit_code), v->output);
    verify_close(v);
    return status;
}

const command command_verify = {
    .name = "verify",
    .usage = "verify [options] OUT [INPUT]",
    .summary = "computes a result again with a plain reference and compares bit for bit",
    .details =
        "OUT is a result of 'stencil run', INPUT the file that it was made from (default: the one named in "
        "/provenance of OUT). Every cell of /u and every entry of /residual has to have the same bits (any "
        "NaN "
        "equals any other): exit code 0, else 1. The reference is slow: it is meant for problems of moderate "
        "size.",
    .groups = verify_groups,
    .values_size = sizeof(verify_options),
    .operand_min = 1,
    .operand_max = 2,
    .run = verify_run,
};
