/* stencil verify: computes a result again with the plain reference and compares bit for bit. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/options.h"
#include "app/json.h"
#include "app/progress.h"
#include "app/reference.h"
#include "app/signals.h"
#include "app/text.h"
#include "solver/problem/classes.h"
#include "solver/problem/coefficients.h"
#include "solver/problem/cycle.h"
#include "solver/problem/digest.h"
#include "solver/problem/rows.h"
#include "solver/problem/stop.h"

typedef struct verify_options {
    int64_t threads;
    const char *json;
    bool force, quiet;
    reading_options reading;
} verify_options;

#define AT(field) OPTION_AT(verify_options, field)
static const option verify_table[] = {
    {.heading = "Options"},
    {THREADS_OPTION(verify_options, threads)},
    {"json", 0, OPTION_TEXT, AT(json), "FILE", .help = "write the result as JSON; - is standard output"},
    {"force", 'f', OPTION_FLAG, AT(force), NULL, .help = "replace an existing file", .needs = "json"},
    {"quiet", 'q', OPTION_FLAG, AT(quiet), NULL, .help = "print nothing, only set the exit code"},
    {READING_OPTIONS(verify_options, reading)},
    {NULL},
};

/* Values that differ between file and reference: their number, of how many, and the first of them. */
typedef struct mismatch {
    int64_t count, of, first;
    double expected, found;
} mismatch;

/* Result of a digest check of an output array; how: NULL, or a text that says how it was changed after its
 * run. */
typedef struct edit {
    const char *name, *how;
} edit;
enum { EDITS = 5, EDIT_K = 3, EDIT_NUMBERS = 4 };

/* State of a `verify` command; released by verify_run(). */
typedef struct verification {
    verify_options options;     /* first member: options_parse() fills the beginning of this state */
    const char *output, *input; /* names of the result file and of its input file */
    stencil_input result;       /* the opened result file */
    stencil_input start;        /* the opened input file, and what it states */
    stencil_spec start_spec;
    stencil_provenance made; /* provenance of the result */
    stencil_problem problem; /* problem as the result file states it, with all residuals */
    stencil_problem before;  /* problem as the input file states it, where it holds earlier steps */
    int64_t first, steps;    /* number of steps before and after the run */
    reference reference;
    void *more[STENCIL_SUM_ARRAYS], *value[STENCIL_SUM_ARRAYS]; /* see reference.h */
    uint8_t *driven;
    void *field[2], *b; /* field[s % 2] is the field after s steps */
    /* Cells of /fixed; the row of weights of each cell; cells of /insulated. NULL: none of these is there */
    uint8_t *fixed, *row, *insulated;
    double *k;            /* NULL: there is no /k */
    int64_t looked;       /* number of residuals that were compared */
    bool criterion_known; /* the input file has the first residual, of an earlier run */
    bool turned_wrong;    /* the residual history does not explain where plain steps begin */
    mismatch cells, residuals, first_residual;
    bool same_numbers;
    edit edit[EDITS]; /* digest checks of /u, of the source, of /fixed, of /k and of numbers */
} verification;

static stencil_status read_output(verification *v) {
    stencil_spec spec;
    const stencil_input_options how = reading_options_of(&v->options.reading, NULL);
    TRY(stencil_input_open(&v->result, v->output, &how, &spec));
    TRY(text_name_file(stencil_problem_resolve(&v->problem, &spec), v->output));
    const stencil_reader cells = stencil_input_reader(&v->result, &v->problem, true);
    TRY(text_name_file(stencil_coefficients_find(&v->problem, &spec, &cells), v->output));
    TRY(text_name_file(stencil_classes_find(&v->problem, &cells, &v->result.tables), v->output));
    v->result.raw = true;
    TRY(stencil_input_provenance(&v->result, &v->made));
    if (stencil_cycle_accelerates(&v->problem.cycle) && !(v->problem.cycle.least > 0)) {
        CHECK(spec.eigenvalue[0] > 0 && spec.eigenvalue[1] > spec.eigenvalue[0], BAD_DATA,
              "'%s' has no eigenvalues of its cycle (eigenvalue_least, eigenvalue_most)", v->output);
        v->problem.cycle.least = spec.eigenvalue[0];
        v->problem.cycle.most = spec.eigenvalue[1];
    }
    /* Results of version 0.1.0 have no steps_total: steps_done is the number of all steps. */
    v->steps = spec.steps_total >= 0 ? spec.steps_total : v->made.steps_done;
    v->first = v->steps - v->made.steps_done;
    CHECK(v->first >= 0, BAD_DATA, "'%s': more steps_done (/provenance) than steps_total", v->output);
    if (v->input == NULL)
        v->input = v->made.input;
    CHECK(v->input[0] != '\0', USAGE,
          "'%s' has taken the place of its input, which is gone: give a copy of it: stencil verify %s INPUT",
          v->output, TEXT_QUOTE(v->output));
    v->problem.origin.steps = v->steps;
    TRY(stencil_input_load_history(&v->result, &v->problem));
    v->residuals.of = v->problem.origin.history.count;
    return stencil_input_same_numbers(&spec, &v->problem.origin.history, &v->made, &v->same_numbers);
}

/* Reads all cells of an array, in the precision and layout of the problem. */
static stencil_status read_array(stencil_input *from, const stencil_problem *problem, stencil_array array,
                                 void *values) {
    const stencil_mesh mesh = stencil_problem_mesh(problem, 1);
    const stencil_box all = stencil_mesh_array(&mesh);
    const stencil_cells cells =
        stencil_cells_dense(stencil_array_precision(array, problem->precision), values, &all);
    const stencil_reader reader = stencil_input_reader(from, problem, true);
    return reader.read(reader.context, array, &all, &cells);
}

/* Tells whether an input has all numbers along sides that a result has. It may have others, of sides that
 * options have made something else. */
static bool has_numbers(const stencil_spec *input, const stencil_spec *result) {
    bool same = true;
    for (int i = 0; i < 2 * STENCIL_AXES; i++)
        for (int which = 0; which < STENCIL_NUMBER_COUNT; which++)
            same =
                same && (!result->along[i / 2][i % 2][which] ||
                         (input->along[i / 2][i % 2][which] &&
                          input->along_hash[i / 2][i % 2][which] == result->along_hash[i / 2][i % 2][which]));
    return same;
}

/* Checks that the input file has the arrays of the output's problem. */
static stencil_status check_input(const verification *v, const stencil_spec *spec) {
    const stencil_source source = v->problem.spec.source;
    const bool same = spec->rank == v->problem.rank &&
                      memcmp(spec->extent, v->problem.spec.extent, sizeof spec->extent) == 0;
    CHECK(same, BAD_DATA, "'%s' is not the input of '%s': %s has another shape than its %s", v->input,
          v->output, v->result.facts.field, v->result.facts.field);
    CHECK(source == STENCIL_SOURCE_NONE || spec->source == source, BAD_DATA,
          "'%s' has no dataset %s: give the input of that run", v->input, stencil_source_names[source]);
    CHECK(v->problem.spec.source_count == spec->source_count &&
              v->problem.spec.driven_count == spec->driven_count,
          BAD_DATA,
          "'%s' has other arrays of the source, or of /fixed_value, than '%s': give the input of that run",
          v->input, v->output);
    CHECK(!v->problem.spec.fixed || spec->fixed, BAD_DATA,
          "'%s' has no dataset /fixed: give the input of that run", v->input);
    CHECK(!v->problem.spec.insulated || spec->insulated, BAD_DATA,
          "'%s' has no dataset /insulated: give the input of that run", v->input);
    CHECK(!v->problem.spec.has_k || spec->has_k, BAD_DATA,
          "'%s' has no dataset /k: give the input of that run", v->input);
    CHECK(!v->problem.spec.classed || spec->classed, BAD_DATA,
          "'%s' has no dataset /class: give the input of that run", v->input);
    for (int k = 0; k < STENCIL_STEP_FACTORS; k++)
        CHECK(v->problem.spec.table[k].count == spec->table[k].count &&
                  v->problem.spec.table[k].hash == spec->table[k].hash,
              BAD_DATA, "'%s' has another %s than '%s': give the input of that run", v->input,
              stencil_table_name(source, k), v->output);
    CHECK(v->problem.spec.class_count == spec->class_count &&
              v->problem.spec.palette_hash == spec->palette_hash,
          BAD_DATA, "'%s' has other /stencil/weights than '%s': give the input of that run", v->input,
          v->output);
    CHECK(has_numbers(spec, &v->problem.spec), BAD_DATA,
          "'%s' has other numbers along sides than '%s': give the input of that run", v->input, v->output);
    return STENCIL_OK;
}

/* Reads which cells keep their values, and the rows of weights of the others. */
static stencil_status read_kinds(verification *v, const stencil_problem *problem) {
    const stencil_spec *spec = &v->problem.spec;
    void *memory = NULL;
    if (!spec->fixed && !spec->classed && !spec->insulated && spec->driven_count == 0)
        return STENCIL_OK;
    TRY(stencil_memory_alloc(&memory, v->cells.of, "the reference's driven cells"));
    v->driven = memory;
    TRY(stencil_memory_alloc(&memory, v->cells.of, "the reference's fixed cells"));
    v->fixed = memory;
    TRY(stencil_memory_alloc(&memory, v->cells.of, "the reference's rows of weights"));
    v->row = memory;
    TRY(stencil_memory_alloc(&memory, v->cells.of, "the reference's insulated cells"));
    v->insulated = memory;
    TRY(stencil_memory_alloc(&memory, v->cells.of * (int64_t)sizeof(stencil_cell_kind),
                             "the reference's kinds of cells"));
    const stencil_cell_kind *kind = memory;
    const stencil_status status = read_array(&v->start, problem, STENCIL_ARRAY_KIND, memory);
    for (int64_t i = 0; i < v->cells.of && status == STENCIL_OK; i++) {
        v->driven[i] = kind[i] == STENCIL_KIND_DRIVEN;
        v->fixed[i] = kind[i] == STENCIL_KIND_KEPT || v->driven[i];
        v->insulated[i] = kind[i] == STENCIL_KIND_INSULATED;
        v->row[i] = kind[i] < STENCIL_ROWS_MAX ? (uint8_t)kind[i] : 0;
    }
    free(memory);
    TRY(status);
    v->reference.fixed = v->fixed;
    v->reference.row = v->row;
    v->reference.driven = v->driven;
    return spec->class_count > 0 ? reference_set_rows(&v->reference, &v->start_spec, v->start.tables.weights)
                                 : STENCIL_OK;
}

/* Reads further arrays of the source, and those of the values of driven cells. */
static stencil_status read_sums(verification *v, const stencil_problem *scaled, int64_t bytes) {
    reference *r = &v->reference;
    r->sources = stencil_problem_sources(scaled);
    r->values = scaled->spec.driven_count;
    for (int k = 1; k < r->sources; k++) {
        TRY(stencil_memory_alloc(&v->more[k], bytes, "the reference's source term"));
        TRY(read_array(&v->start, scaled, stencil_array_of_sum(k), v->more[k]));
        r->more[k] = v->more[k];
    }
    for (int k = 0; k < r->values; k++) {
        TRY(stencil_memory_alloc(&v->value[k], bytes, "the reference's driven cells"));
        TRY(read_array(&v->start, &v->problem, stencil_array_of_sum(k), v->value[k]));
        r->value[k] = v->value[k];
    }
    reference_drive(r, v->field[v->first % 2], v->first - 1);
    return STENCIL_OK;
}

/* Reads /k. */
static stencil_status read_coefficients(verification *v, const stencil_problem *problem) {
    void *memory = NULL;
    stencil_problem doubles = *problem;
    doubles.precision = STENCIL_FLOAT64;
    if (!v->problem.spec.has_k)
        return STENCIL_OK;
    TRY(stencil_memory_alloc(&memory, v->cells.of * (int64_t)sizeof(double), "the reference's coefficients"));
    v->k = memory;
    TRY(read_array(&v->start, &doubles, STENCIL_ARRAY_K, v->k));
    return reference_coefficients(&v->reference, &v->problem.spec, v->k, v->insulated,
                                  v->problem.coefficients == STENCIL_COEFFICIENTS_FIELDS);
}

/* Reads /f or /q and makes the source term of it that cells with coefficients have. */
static stencil_status read_source(verification *v, const stencil_problem *problem) {
    void *memory = NULL;
    stencil_problem doubles = *problem;
    doubles.precision = STENCIL_FLOAT64;
    doubles.source_scale = 1.0;
    TRY(stencil_memory_alloc(&memory, v->cells.of * (int64_t)sizeof(double), "the reference's source"));
    const stencil_status status = read_array(&v->start, &doubles, STENCIL_ARRAY_B, memory);
    if (status == STENCIL_OK)
        reference_source(&v->reference, memory, v->b);
    free(memory);
    return status;
}

/* Reads the fields before the first step. */
static stencil_status read_fields(verification *v) {
    const stencil_source source = v->problem.spec.source;
    stencil_problem scaled = v->problem;
    scaled.source_scale = v->reference.source_scale;
    scaled.kept = scaled.varied = scaled.driven = 0; /* the reference leaves kept cells out by itself */
    scaled.walls_in_source = false;                  /* and adds what walls add */
    scaled.coefficients = STENCIL_COEFFICIENTS_NONE;
    const int64_t bytes = v->cells.of * (int64_t)stencil_precision_bytes(v->reference.precision);
    TRY(stencil_memory_alloc(&v->field[0], bytes, "the reference's field"));
    TRY(stencil_memory_alloc(&v->field[1], bytes, "the reference's second field"));
    TRY(read_array(&v->start, &scaled, STENCIL_ARRAY_U, v->field[v->first % 2]));
    TRY(read_kinds(v, &scaled));
    for (int i = 0; i < 2 * STENCIL_AXES; i++)
        for (int which = 0; which < STENCIL_NUMBER_COUNT; which++)
            if (v->problem.spec.along[i / 2][i % 2][which])
                v->reference.along[i / 2][i % 2][which] = v->start.tables.along[i / 2][i % 2][which];
    TRY(read_coefficients(v, &scaled));
    TRY(reference_walls(&v->reference, &v->problem.spec, v->insulated));
    TRY(read_sums(v, &scaled, bytes));
    const bool moves = reference_walls_in_source(&v->reference);
    if (source == STENCIL_SOURCE_NONE && !moves)
        return STENCIL_OK;
    TRY(stencil_memory_alloc(&v->b, bytes, "the reference's source term"));
    memset(v->b, 0, (size_t)bytes);
    if (source != STENCIL_SOURCE_NONE)
        TRY(v->k != NULL && source != STENCIL_SOURCE_B
                ? read_source(v, &scaled)
                : read_array(&v->start, &scaled, STENCIL_ARRAY_B, v->b));
    if (moves)
        reference_move_constants(&v->reference, v->b);
    return STENCIL_OK;
}

/* Reads cells of the output as its run had them: multiplied by a power of two and back, which rounds the
 * smallest values. */
static stencil_status read_as_run(void *context, stencil_array array, const stencil_box *box,
                                  const stencil_cells *to) {
    verification *v = context;
    const stencil_reader reader = stencil_input_reader(&v->result, &v->problem, true);
    const double scale = v->reference.scale;
    TRY(reader.read(reader.context, array, box, to));
    if (scale != 1 && stencil_array_has_values(array)) {
        stencil_cells_scale(to, box->n, ilogb(scale));
        stencil_cells_scale(to, box->n, -ilogb(scale));
    }
    return STENCIL_OK;
}

/* Compares an array of the output with its digest. */
static stencil_status check_digest(verification *v, stencil_array array, const char *wanted,
                                   const char *otherwise) {
    const stencil_reader reader = {read_as_run, v};
    char digest[STENCIL_DIGEST_CHARS];
    const char *const name[EDITS] = {v->result.facts.field, stencil_source_name(&v->problem),
                                     stencil_spec_classes(&v->problem.spec)};
    TRY(stencil_digest_read(&v->problem, array, &reader, digest));
    if (strcmp(digest, wanted) != 0)
        v->edit[array] = (edit){name[array], otherwise};
    return STENCIL_OK;
}

/* Checks that the same cells are fixed in the output as in its run. */
static stencil_status check_classes(verification *v) {
    const char *digest = v->problem.spec.digest_class, *name = stencil_spec_classes(&v->problem.spec);
    const bool has = stencil_problem_has_classes(&v->problem);
    if (has && digest[0] != '\0')
        return check_digest(v, STENCIL_ARRAY_CLASS, digest,
                            "was changed after the run: cells were of other classes in it (digest_class)");
    if (has)
        v->edit[STENCIL_ARRAY_CLASS] = (edit){name, "may be anything: the attribute digest_class is missing"};
    else if (digest[0] != '\0')
        v->edit[STENCIL_ARRAY_CLASS] = (edit){name, "was removed or cleared after the run (digest_class)"};
    return STENCIL_OK;
}

/* Checks that the output has the arrays that its run wrote. In a result without digests the source is
 * compared with the input's source, and /u with the reference only. */
static stencil_status check_digests(verification *v) {
    const stencil_spec *spec = &v->problem.spec;
    const bool has_u = spec->digest_u[0] != '\0', has_b = spec->digest_b[0] != '\0',
               source = stencil_problem_sum_arrays(&v->problem) > 0;
    char other[STENCIL_DIGEST_CHARS];
    if (has_u)
        TRY(check_digest(v, STENCIL_ARRAY_U, spec->digest_u,
                         "was changed after the run: it is not what that wrote (digest_u)"));
    else if (has_b)
        v->edit[0] = (edit){v->result.facts.field, "may be anything: the attribute digest_u is missing"};
    if (has_b && source)
        return check_digest(v, STENCIL_ARRAY_B, spec->digest_b,
                            "was changed after the run: its steps read another one (digest_b)");
    if (has_b)
        v->edit[1] = (edit){"/b or /f", "was removed after the run: digest_b is of one"};
    else if (has_u && source)
        v->edit[1] =
            (edit){stencil_source_name(&v->problem), "may be anything: the attribute digest_b is missing"};
    else if (source) {
        const stencil_reader reader = stencil_input_reader(&v->start, &v->problem, true);
        TRY(stencil_digest_read(&v->problem, STENCIL_ARRAY_B, &reader, other));
        return check_digest(v, STENCIL_ARRAY_B, other, "is not that of the input");
    }
    return STENCIL_OK;
}

/* Counts a pair of values as equal (same bits, or both NaN) or as a mismatch. */
static void check_value(mismatch *m, int64_t at, double expected, double found) {
    if (memcmp(&expected, &found, sizeof expected) == 0 || (isnan(expected) && isnan(found)))
        return;
    if (m->count++ == 0) {
        m->first = at;
        m->expected = expected;
        m->found = found;
    }
}

/* Checks that steps and residuals from before the run are the same in output and input. */
static stencil_status compare_origin(verification *v, const stencil_spec *spec) {
    const stencil_origin *was = &v->before.origin, *is = &v->problem.origin;
    stencil_spec as_run = *spec;
    as_run.precision = v->problem.precision; /* the file may store values in a wider type */
    TRY(text_name_file(stencil_problem_resolve(&v->before, &as_run), v->input));
    const stencil_reader cells = stencil_input_reader(&v->start, &v->before, true);
    TRY(text_name_file(stencil_coefficients_find(&v->before, &as_run, &cells), v->input));
    TRY(stencil_input_load_history(&v->start, &v->before));
    CHECK(was->steps == v->first && strcmp(v->before.fingerprint, v->problem.fingerprint) == 0, BAD_DATA,
          "'%s' is not the input of '%s', which begins after step %" PRId64 " of the same problem", v->input,
          v->output, v->first);
    const int64_t count = was->history.count - (was->last_is_extra && v->steps > v->first);
    for (; v->looked < count && v->looked < is->history.count; v->looked++) {
        check_value(&v->residuals, v->looked, was->history.residual[v->looked],
                    is->history.residual[v->looked]);
        v->residuals.count += was->history.step[v->looked] != is->history.step[v->looked];
    }
    v->criterion_known = !isnan(was->residual_first);
    if (v->criterion_known)
        check_value(&v->first_residual, 0, was->residual_first, v->problem.spec.residual_first);
    return STENCIL_OK;
}

/* Computes the residual of step number `step`, the last step that was made. */
static stencil_status residual_of(const verification *v, int64_t step, double *residual) {
    TRY(reference_residual(&v->reference, v->problem.stop.norm, v->field[(step + 1) % 2], v->field[step % 2],
                           residual));
    *residual /= v->reference.omega;
    return STENCIL_OK;
}

/* Checks what rtol is relative to: the larger of the first residual and the norm of poisson's source. */
static stencil_status check_first(verification *v) {
    double first = 0, source = 0;
    TRY(residual_of(v, v->first + 1, &first));
    if (v->problem.spec.kind == STENCIL_KIND_POISSON && v->b != NULL)
        TRY(reference_residual(&v->reference, v->problem.stop.norm, NULL, v->b, &source));
    check_value(&v->first_residual, 0, first < source ? source : first, v->problem.spec.residual_first);
    return STENCIL_OK;
}

/* Makes a step of the reference and compares its residual with that in the file. */
static stencil_status make_step(verification *v, int64_t step) {
    reference_begin_step(&v->reference, step - 1);
    reference_step(&v->reference, v->field[(step + 1) % 2], v->b, v->field[step % 2]);
    reference_drive(&v->reference, v->field[step % 2], step - 1);
    if (step == v->first + 1 && !isnan(v->problem.spec.residual_first) && !v->criterion_known)
        TRY(check_first(v));
    const stencil_origin *found = &v->problem.origin;
    if (v->looked < found->history.count && found->history.step[v->looked] == step) {
        double residual = 0;
        TRY(residual_of(v, step, &residual));
        check_value(&v->residuals, v->looked, residual, found->history.residual[v->looked]);
        v->looked++;
    }
    return STENCIL_OK;
}

/* Checks that plain steps of an accelerated problem begin where its residual history says
 * (solver/problem/stop.h). */
static void check_turn(verification *v) {
    const stencil_spec *spec = &v->problem.spec;
    stencil_history until = v->problem.origin.history;
    v->reference.plain_from = spec->plain_from;
    if (spec->plain_from < 0)
        return;
    while (until.count > 0 && until.step[until.count - 1] > spec->plain_from)
        until.count--;
    const double limit = fmax(spec->rtol * spec->residual_first, spec->atol);
    v->turned_wrong = until.count == 0 || until.step[until.count - 1] != spec->plain_from ||
                      !stencil_turns_plain(&v->problem, &until, spec->residual_first, limit);
}

/* Makes all steps of the reference, with a progress bar. Errors: INTERRUPTED by a signal, between steps. */
static stencil_status make_steps(verification *v, bool quiet) {
    int64_t step = v->first;
    stencil_problem shown = v->problem;
    stencil_status status = STENCIL_OK;
    progress progress;
    shown.stop = (stencil_stop){.steps = v->steps, .rtol = NAN, .atol = NAN};
    shown.origin.steps = v->first;
    progress_start(&progress, &shown, quiet);
    signals_catch();
    while (step < v->steps && signals_caught == 0 && status == STENCIL_OK) {
        status = make_step(v, ++step);
        progress_poll(&progress, step, NAN);
    }
    progress_end(&progress);
    TRY(status);
    CHECK(step == v->steps, INTERRUPTED,
          "interrupted after step %" PRId64 " of %" PRId64 ": '%s' is not verified", step, v->steps,
          v->output);
    return STENCIL_OK;
}

/* Compares the output's /u, read over the reference's older field, with the reference's last field. */
static stencil_status compare_fields(verification *v) {
    const void *expected = v->field[v->steps % 2];
    void *found = v->field[(v->steps + 1) % 2];
    TRY(read_array(&v->result, &v->problem, STENCIL_ARRAY_U, found));
    for (int64_t i = 0; i < v->cells.of; i++)
        check_value(&v->cells, i, reference_value(&v->reference, expected, i) / v->reference.scale,
                    reference_value(&v->reference, found, i));
    return STENCIL_OK;
}

static void print_mismatch(const mismatch *m, const char *name, const char *where, const char *unit) {
    const char *of = TEXT_COUNTED(m->of, unit);
    if (m->count == 0) {
        printf("  %-10s %s of %s equal\n", name, TEXT_COUNT(m->of), of);
        return;
    }
    printf("  %-10s differs in %s of %s, first at %s:\n", name, TEXT_COUNT(m->count), of, where);
    printf("             reference %s, file %s\n", TEXT_REAL(m->expected), TEXT_REAL(m->found));
}

static bool is_verified(const verification *v) {
    bool edited = false;
    for (const edit *e = v->edit; e < v->edit + EDITS; e++)
        edited = edited || e->name != NULL;
    return !edited && !v->turned_wrong && v->cells.count == 0 && v->residuals.count == 0 &&
           v->first_residual.count == 0;
}

static void print_result(const verification *v) {
    const int64_t *extent = v->reference.extent, line = v->cells.first / extent[STENCIL_X];
    const int64_t at[3] = {line / extent[STENCIL_Y], line % extent[STENCIL_Y],
                           v->cells.first % extent[STENCIL_X]};
    const int rank = v->problem.rank;
    printf("%s: %s after %s\n", TEXT_ESCAPE(v->output), is_verified(v) ? "verified" : "NOT verified",
           TEXT_COUNTED(v->steps, "step"));
    for (const edit *e = v->edit; e < v->edit + EDITS; e++)
        if (e->name != NULL)
            printf("  %-10s %s\n", e->name, e->how);
    print_mismatch(&v->cells, v->result.facts.field, TEXT_LIST(at + STENCIL_AXES - rank, rank), "cell");
    print_mismatch(&v->residuals, "/residual", TEXT_LIST(&v->residuals.first, 1), "value");
    if (v->turned_wrong)
        printf("  plain_from %" PRId64 " does not follow from /residual\n", v->problem.spec.plain_from);
    if (v->first_residual.count > 0)
        printf("  residual_first differs: reference %s, file %s\n", TEXT_REAL(v->first_residual.expected),
               TEXT_REAL(v->first_residual.found));
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
    json_t *edited = json_array();
    for (const edit *e = v->edit; e < v->edit + EDITS; e++)
        if (e->name != NULL)
            json_array_append_new(edited, json_text(e->name));
    return json_pack("{s:i, s:s, s:o, s:o, s:b, s:I, s:o, s:o, s:o}", "schema_version", 1, "command",
                     "verify", "output", json_text(v->output), "input", json_text(v->input), "verified",
                     is_verified(v), "steps", (json_int_t)v->steps, "edited", edited, "u",
                     mismatch_json(&v->cells), "residual", mismatch_json(&v->residuals));
}

static stencil_status verify_stages(verification *v) {
    const verify_options *options = &v->options;
    stencil_spec spec;
    TRY(threads_start(options->threads));
    TRY(target_check("--json", options->json, options->force, v->output));
    TRY(read_output(v));
    TRY(target_check("--json", options->json, options->force, v->input));
    reference_init(&v->reference, &v->problem.spec, v->problem.shape);
    v->cells.of = v->problem.extent[STENCIL_Z] * v->problem.extent[STENCIL_Y] * v->problem.extent[STENCIL_X];
    const stencil_input_options how = reading_options_of(&options->reading, v->result.facts.field);
    TRY(stencil_input_open(&v->start, v->input, &how, &spec));
    TRY(check_input(v, &spec));
    v->start_spec = spec;
    reference_set_tables(&v->reference, &v->problem.spec, v->start.tables.factor);
    TRY(read_fields(v));
    stencil_input_rest(&v->start);
    TRY(stencil_input_check_unchanged(&v->start));
    if (v->first > 0)
        TRY(compare_origin(v, &spec));
    if (v->problem.stop.norm == STENCIL_NORM_L2)
        reference_scale(&v->reference, v->field[v->first % 2], v->b);
    TRY(check_digests(v));
    TRY(check_classes(v));
    if (v->edit[STENCIL_ARRAY_CLASS].how != NULL) /* the source term is 0 in cells of /fixed */
        v->edit[STENCIL_ARRAY_B] = (edit){0};
    if (v->problem.spec.has_k && strcmp(v->problem.spec.fingerprint, v->problem.fingerprint) != 0)
        v->edit[EDIT_K] = (edit){"/k", "is not that of the run, or other attributes are not (fingerprint)"};
    if (!v->same_numbers)
        v->edit[EDIT_NUMBERS] =
            (edit){"its numbers", "are not those that the run has written: attributes, or "
                                  "/residual (digest_numbers)"};
    stencil_input_rest(&v->result);
    check_turn(v);
    TRY(make_steps(v, options->quiet));
    TRY(compare_fields(v));
    TRY(stencil_input_check_unchanged(&v->result));
    if (!options->quiet && !target_is_stdout(options->json))
        print_result(v);
    return json_write("--json", options->json, options->force, options->json != NULL ? result_json(v) : NULL);
}

static stencil_status verify_run(invocation *call) {
    verification *v = call->values;
    v->output = call->operand[0];
    v->input = call->operand[1];
    const stencil_status status = text_name_out_of_memory(verify_stages(v), v->output);
    call->exit_code = is_verified(v) ? 0 : stencil_status_exit_code(STENCIL_DIFFERENT);
    stencil_input_close(&v->result);
    stencil_input_close(&v->start);
    stencil_problem_destroy(&v->problem);
    stencil_problem_destroy(&v->before);
    free(v->field[0]);
    free(v->field[1]);
    free(v->b);
    for (int k = 0; k < STENCIL_SUM_ARRAYS; k++) {
        free(v->more[k]);
        free(v->value[k]);
    }
    free(v->driven);
    free(v->fixed);
    free(v->row);
    free(v->insulated);
    free(v->k);
    reference_destroy(&v->reference);
    return status;
}

const command command_verify = {
    .name = "verify",
    .usage = "verify [options] OUT [INPUT]",
    .summary = "computes a result again with a plain reference and compares bit for bit",
    .details =
        "OUT is a result of 'stencil run', INPUT the file that it was made from (default: the one named "
        "in /provenance of OUT). Every cell of /u and every entry of /residual has to have the same "
        "bits (any NaN equals any other), and digests have to say that nobody changed /u, /b or /f since: "
        "exit code 0, else 1. The reference is slow: it is meant for problems of moderate size.",
    .options = verify_table,
    .values_size = sizeof(verification),
    .operand_min = 1,
    .operand_max = 2,
    .run = verify_run,
};
