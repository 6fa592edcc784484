/* stencil verify: computes a result again with the plain reference and compares bit for bit. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/options.h"
#include "app/json.h"
#include "app/progress.h"
#include "app/ranks.h"
#include "app/signals.h"
#include "app/text.h"
#include "app/verify_store.h"
#include "solver/problem/classes.h"
#include "solver/problem/coefficients.h"
#include "solver/problem/cycle.h"
#include "solver/problem/digest.h"
#include "solver/problem/rows.h"
#include "solver/problem/stop.h"

typedef struct verify_options {
    int64_t threads, memory_mib;
    double rank_timeout_s;
    const char *json;
    bool force, quiet;
    reading_options reading;
} verify_options;

#define AT(field) OPTION_AT(verify_options, field)
static const option verify_table[] = {
    {.heading = "Options"},
    {THREADS_OPTION(verify_options, threads)},
    {.name = "memory",
     .type = OPTION_INTEGER,
     OPTION_IN(verify_options, memory_mib),
     .argument = "MIB",
     .help = "memory for the reference; where it is too little for all lines of the field, these wait in a "
             "temporary file (default: half of what is left, if that is too little)",
     .minimum = 1,
     .maximum = INT64_C(1) << 40},
    {"json", 0, OPTION_TEXT, AT(json), "FILE", .help = "write the result as JSON; - is standard output"},
    {"force", 'f', OPTION_FLAG, AT(force), NULL, .help = "replace an existing file", .needs = "json"},
    {"quiet", 'q', OPTION_FLAG, AT(quiet), NULL, .help = "print nothing, only set the exit code"},
    {RANK_TIMEOUT_OPTION(verify_options, rank_timeout_s)},
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
    stencil_world *world;
    reference reference; /* of the whole field, without arrays */
    slab_plan plan;      /* of one process: how lines are divided */
    slab_store store;    /* lines between passes, where there are several slabs; those after the last pass */
    int64_t passes;      /* are in file passes % 2 */
    slab slab;           /* the lines of this rank, or those of the slab that a pass is at */
    slab_facts facts;
    stencil_exchange *exchange[2];
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

/* Reads a slab up to a stage; facts about all lines are known up to the stage before. */
typedef enum stage { CELLS, WALLS, SOURCE, STAGES } stage;
static stencil_status read_slab(verification *v, int64_t number, stage last) {
    const slab_source from = {&v->start, &v->start_spec, &v->problem, v->first};
    const bool alone = stencil_world_alone(v->world);
    const int64_t n = v->reference.extent[v->reference.axis], first = number * v->plan.lines;
    const int64_t lines[2] = {alone ? first : slab_first_line(&v->reference, v->world->ranks, v->world->rank),
                              alone ? stencil_smaller(first + v->plan.lines, n)
                                    : slab_first_line(&v->reference, v->world->ranks, v->world->rank + 1)};
    TRY(slab_begin(&v->slab, &from, &v->reference, lines, v->plan.steps, &v->facts));
    if (last >= WALLS)
        TRY(slab_shape(&v->slab, &from, &v->facts));
    if (last >= SOURCE)
        TRY(slab_fill(&v->slab, &from, &v->facts));
    if (last >= STAGES)
        slab_scale(&v->slab, &from, &v->facts);
    return STENCIL_OK;
}

/* Finds the facts about all lines of several slabs, one after the other. */
static stencil_status survey_slabs(verification *v) {
    for (stage last = CELLS; last <= STAGES; last++)
        for (int64_t k = 0; k < (last < STAGES ? v->plan.slabs : 1); k++) {
            slab_free(&v->slab);
            TRY(read_slab(v, k, last));
            CHECK(signals_caught == 0, INTERRUPTED, "interrupted before the first step: '%s' is not verified",
                  v->output);
        }
    return slab_store_open(&v->store);
}

/* Ends a stage of reading in all ranks, which then know what it has found. */
static stencil_status join(verification *v, stencil_status status) {
    TRY(stencil_world_agree(v->world, status));
    slab_facts_join(&v->facts, v->world);
    return STENCIL_OK;
}

/* Reads the lines before the first step. */
static stencil_status read_lines(verification *v) {
    const slab_source from = {&v->start, &v->start_spec, &v->problem, v->first};
    const bool alone = stencil_world_alone(v->world);
    v->plan = alone ? slab_plan_make(&v->reference, &v->problem, v->options.memory_mib << 20)
                    : (slab_plan){.slabs = 1, .steps = 1};
    slab_facts_begin(&v->facts);
    if (v->plan.slabs > 1)
        return survey_slabs(v);
    TRY(join(v, read_slab(v, 0, CELLS)));
    TRY(join(v, slab_shape(&v->slab, &from, &v->facts)));
    TRY(join(v, slab_fill(&v->slab, &from, &v->facts)));
    slab_scale(&v->slab, &from, &v->facts);
    return stencil_world_agree(v->world, alone ? STENCIL_OK : slab_connect(&v->slab, v->world, v->exchange));
}

/* Reads cells of the output as its run had them: multiplied by a power of two and back, which rounds the
 * smallest values. */
static stencil_status read_as_run(void *context, stencil_array array, const stencil_box *box,
                                  const stencil_cells *to) {
    verification *v = context;
    const stencil_reader reader = stencil_input_reader(&v->result, &v->problem, true);
    const double scale = v->slab.reference.scale;
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

/* Computes the norm of next - u in all lines, for all ranks: each adds its partial sums to those of the ranks
 * before it. */
static stencil_status norm_of(const verification *v, const void *u, const void *next, double *norm) {
    const reference *r = &v->slab.reference;
    const stencil_norm kind = v->problem.stop.norm;
    stencil_world *world = v->world;
    double *value = NULL;
    int64_t updated = 0;
    if (stencil_world_alone(world))
        return reference_residual(r, kind, u, next, norm);
    reference_sum *sum = calloc(1, sizeof *sum);
    stencil_status status = sum == NULL ? ERROR(NO_MEMORY, "no memory for the reference's residual")
                                        : reference_sum_begin(r, kind, u, next, &value, &updated);
    if (status == STENCIL_OK) {
        const int last = world->ranks - 1;
        if (world->rank > 0)
            stencil_world_receive(world, world->rank - 1, sum, sizeof *sum);
        reference_sum_add(r, kind, value, updated, sum);
        if (world->rank < last)
            stencil_world_send(world, world->rank + 1, sum, sizeof *sum);
        else
            *norm = reference_sum_end(r, kind, sum);
        stencil_world_tell(world, last, norm, sizeof *norm);
    }
    free(value);
    free(sum);
    return status;
}

/* Tells whether the file has what rtol is relative to, of this run: the larger of the first residual and the
 * norm of poisson's source, which follows from its first step. */
static bool wants_first(const verification *v, int64_t step) {
    return step == v->first + 1 && !isnan(v->problem.spec.residual_first) && !v->criterion_known;
}
static bool wants_source(const verification *v) {
    return v->problem.spec.kind == STENCIL_KIND_POISSON && v->slab.b != NULL;
}

/* Tells whether the file has the residual of a step. */
static bool wants_residual(const verification *v, int64_t step, int64_t entry) {
    const stencil_history *found = &v->problem.origin.history;
    return entry < found->count && found->step[entry] == step;
}

/* Compares the residual of a step with that in the file, and, where the step is the first one, what rtol is
 * relative to; `source` is the norm of the source term. */
static void check_residual(verification *v, int64_t step, double residual, double source) {
    if (wants_first(v, step))
        check_value(&v->first_residual, 0, residual < source ? source : residual,
                    v->problem.spec.residual_first);
    if (wants_residual(v, step, v->looked)) {
        check_value(&v->residuals, v->looked, residual, v->problem.origin.history.residual[v->looked]);
        v->looked++;
    }
}

/* Makes a step of the reference and compares its residual with that in the file. */
static stencil_status make_step(verification *v, int64_t step) {
    slab *s = &v->slab;
    double residual = 0, source = 0;
    reference_begin_step(&s->reference, step - 1);
    reference_step(&s->reference, s->field[(step + 1) % 2], s->b, s->field[step % 2]);
    reference_drive(&s->reference, s->field[step % 2], step - 1);
    if (!stencil_world_alone(v->world)) {
        stencil_exchange_start(v->world, v->exchange[step % 2]);
        stencil_exchange_finish(v->world, v->exchange[step % 2]);
    }
    if (wants_first(v, step) || wants_residual(v, step, v->looked))
        TRY(norm_of(v, s->field[(step + 1) % 2], s->field[step % 2], &residual));
    if (wants_first(v, step) && wants_source(v))
        TRY(norm_of(v, NULL, s->b, &source));
    check_residual(v, step, residual / s->reference.omega, source);
    return STENCIL_OK;
}

/* A pass over all slabs: its steps, and for each of them, and for the source term, partial sums; omega of
 * each step. */
typedef struct pass {
    int64_t before, steps;
    reference_sum *sum; /* [steps + 1], owned */
    double *omega;      /* [steps], owned */
} pass;

/* Adds the partial sums of the slab's own lines to others. */
static stencil_status add_sums(const verification *v, const void *u, const void *next, reference_sum *sum) {
    double *value = NULL;
    int64_t updated = 0;
    TRY(reference_sum_begin(&v->slab.reference, v->problem.stop.norm, u, next, &value, &updated));
    reference_sum_add(&v->slab.reference, v->problem.stop.norm, value, updated, sum);
    free(value);
    return STENCIL_OK;
}

/* Makes the steps of a pass in a slab that has been read. */
static stencil_status make_slab(verification *v, const pass *p) {
    slab *s = &v->slab;
    reference *r = &s->reference;
    const int64_t lines[2] = {r->first, r->end};
    int64_t entry = v->looked;
    for (int64_t i = 1; i <= p->steps; i++) {
        const int64_t step = p->before + i;
        const void *u = s->field[(step + 1) % 2];
        void *next = s->field[step % 2];
        reference_own(r, lines, (p->steps - i) * r->around);
        reference_begin_step(r, step - 1);
        reference_step(r, u, s->b, next);
        reference_drive(r, next, step - 1);
        reference_own(r, lines, 0);
        p->omega[i - 1] = r->omega;
        if (wants_first(v, step) || wants_residual(v, step, entry))
            TRY(add_sums(v, u, next, &p->sum[i - 1]));
        entry += wants_residual(v, step, entry);
        if (wants_first(v, step) && wants_source(v))
            TRY(add_sums(v, NULL, s->b, &p->sum[p->steps]));
    }
    return STENCIL_OK;
}

static stencil_status compare_lines(verification *v);

/* Makes a pass over all slabs; the last pass compares the field instead of writing it. Errors: INTERRUPTED.
 */
static stencil_status make_slabs(verification *v, const pass *p) {
    const int64_t after = p->before + p->steps;
    for (int64_t k = 0; k < v->plan.slabs; k++) {
        CHECK(signals_caught == 0, INTERRUPTED,
              "interrupted after step %" PRId64 " of %" PRId64 ": '%s' is not verified", p->before, v->steps,
              v->output);
        slab_free(&v->slab);
        TRY(read_slab(v, k, STAGES));
        if (p->before > v->first)
            TRY(slab_store_get(&v->store, v->passes % 2, &v->slab, v->slab.field[p->before % 2]));
        TRY(make_slab(v, p));
        TRY(after == v->steps
                ? compare_lines(v)
                : slab_store_put(&v->store, (v->passes + 1) % 2, &v->slab, v->slab.field[after % 2]));
    }
    return STENCIL_OK;
}

/* Makes a pass, and compares its residuals. */
static stencil_status make_pass(verification *v, int64_t before, int64_t steps) {
    const stencil_norm norm = v->problem.stop.norm;
    pass p = {before, steps, calloc((size_t)steps + 1, sizeof *p.sum),
              calloc((size_t)steps + 1, sizeof *p.omega)};
    stencil_status status = p.sum == NULL || p.omega == NULL
                                ? ERROR(NO_MEMORY, "no memory for the reference's residuals")
                                : make_slabs(v, &p);
    for (int64_t i = 0; i < steps && status == STENCIL_OK; i++) {
        const bool any = p.sum[i].count[0] > 0, source = i == 0 && p.sum[steps].count[0] > 0;
        check_residual(v, before + i + 1,
                       any ? reference_sum_end(&v->slab.reference, norm, &p.sum[i]) / p.omega[i] : 0,
                       source ? reference_sum_end(&v->slab.reference, norm, &p.sum[steps]) : 0);
    }
    v->passes++;
    free(p.sum);
    free(p.omega);
    return status;
}

/* Checks that plain steps of an accelerated problem begin where its residual history says
 * (solver/problem/stop.h). */
static void check_turn(verification *v) {
    const stencil_spec *spec = &v->problem.spec;
    stencil_history until = v->problem.origin.history;
    v->slab.reference.plain_from = v->reference.plain_from = spec->plain_from;
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
    do {
        ranks_hear(v->world, stencil_world_any(v->world, ranks_say(v->world)));
        if (signals_caught != 0)
            break;
        const int64_t steps = stencil_smaller(v->steps - step, v->plan.steps);
        if (v->plan.slabs > 1)
            status = make_pass(v, step, steps);
        else if (steps > 0)
            status = make_step(v, step + 1);
        step += steps;
        progress_poll(&progress, step, NAN);
    } while (step < v->steps && status == STENCIL_OK);
    progress_end(&progress);
    TRY(status);
    CHECK(step == v->steps, INTERRUPTED,
          "interrupted after step %" PRId64 " of %" PRId64 ": '%s' is not verified", step, v->steps,
          v->output);
    return STENCIL_OK;
}

/* Compares own lines of the output's /u, read over the reference's older field, with its last field. */
static stencil_status compare_lines(verification *v) {
    const reference *r = &v->slab.reference;
    const void *expected = v->slab.field[v->steps % 2];
    void *found = v->slab.field[(v->steps + 1) % 2];
    TRY(slab_read(&v->slab, &v->result, &v->problem, STENCIL_ARRAY_U, found));
    for (int64_t own = 0; own < reference_own_rows(r); own++) {
        int64_t z, y;
        reference_own_row(r, own, &z, &y);
        const int64_t before = (z * r->extent[STENCIL_Y] + y) * r->extent[STENCIL_X],
                      here = reference_number(r, z, y, 0);
        for (int64_t x = 0; x < r->extent[STENCIL_X]; x++)
            check_value(&v->cells, before + x, reference_value(r, expected, here + x) / r->scale,
                        reference_value(r, found, here + x));
    }
    return STENCIL_OK;
}

/* Gives rank 0 the cells that differ in all lines. */
static void join_cells(verification *v) {
    for (int rank = 1; !stencil_world_alone(v->world) && rank < v->world->ranks; rank++) {
        mismatch *all = &v->cells, some = *all;
        if (v->world->rank == rank)
            stencil_world_send(v->world, 0, &some, sizeof some);
        if (v->world->rank != 0)
            continue;
        stencil_world_receive(v->world, rank, &some, sizeof some);
        some.count += all->count;
        *all =
            all->count == 0 ? some : (mismatch){some.count, all->of, all->first, all->expected, all->found};
    }
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

/* Opens both files, and checks that they belong together. */
static stencil_status open_files(verification *v) {
    const verify_options *options = &v->options;
    CHECK(options->memory_mib == 0 || stencil_world_alone(v->world), USAGE,
          "--memory is for one process: of several ranks each has its share of the lines in memory");
    TRY(threads_start(ranks_threads(v->world, options->threads)));
    TRY(target_check("--json", options->json, options->force, v->output));
    TRY(read_output(v));
    TRY(target_check("--json", options->json, options->force, v->input));
    reference_init(&v->reference, &v->problem.spec, v->problem.shape);
    v->cells.of = v->problem.extent[STENCIL_Z] * v->problem.extent[STENCIL_Y] * v->problem.extent[STENCIL_X];
    const stencil_input_options how = reading_options_of(&options->reading, v->result.facts.field);
    TRY(stencil_input_open(&v->start, v->input, &how, &v->start_spec));
    TRY(check_input(v, &v->start_spec));
    reference_set_tables(&v->reference, &v->problem.spec, v->start.tables.factor);
    return STENCIL_OK;
}

static stencil_status check_start(verification *v) {
    stencil_input_rest(&v->start);
    TRY(stencil_input_check_unchanged(&v->start));
    return v->first > 0 ? compare_origin(v, &v->start_spec) : STENCIL_OK;
}

/* Finds out what was changed in the output after its run. */
static stencil_status check_edits(verification *v) {
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
    return STENCIL_OK;
}

/* Prints and writes what was found. */
static stencil_status tell(const verification *v) {
    const verify_options *options = &v->options;
    if (!options->quiet && !target_is_stdout(options->json))
        print_result(v);
    return json_write("--json", options->json, options->force, options->json != NULL ? result_json(v) : NULL);
}

static stencil_status verify_stages(verification *v) {
    const bool leads = stencil_world_leads(v->world);
    TRY(stencil_world_agree(v->world, open_files(v)));
    TRY(read_lines(v));
    TRY(stencil_world_agree(v->world, check_start(v)));
    TRY(stencil_world_heed(v->world, leads ? check_edits(v) : STENCIL_OK));
    stencil_input_rest(&v->result);
    check_turn(v);
    TRY(stencil_world_agree(v->world, make_steps(v, v->options.quiet || !leads)));
    TRY(stencil_world_agree(v->world, v->plan.slabs > 1 ? STENCIL_OK : compare_lines(v)));
    join_cells(v);
    TRY(stencil_world_heed(v->world, stencil_input_check_unchanged(&v->result)));
    return stencil_world_heed(v->world, leads ? tell(v) : STENCIL_OK);
}

static stencil_status verify_run(invocation *call) {
    verification *v = call->values;
    v->output = call->operand[0];
    v->input = call->operand[1];
    v->world = call->world;
    TRY(ranks_be_patient(call, v->options.rank_timeout_s));
    const stencil_status status = text_name_out_of_memory(verify_stages(v), v->output);
    call->exit_code = is_verified(v) ? 0 : stencil_status_exit_code(STENCIL_DIFFERENT);
    if (status == STENCIL_OK)
        stencil_world_tell(v->world, 0, &call->exit_code, sizeof call->exit_code);
    for (int f = 0; f < 2; f++)
        stencil_exchange_close(v->world, v->exchange[f]);
    stencil_input_close(&v->result);
    stencil_input_close(&v->start);
    stencil_problem_destroy(&v->problem);
    stencil_problem_destroy(&v->before);
    slab_free(&v->slab);
    slab_store_close(&v->store);
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
        "exit code 0, else 1. The reference is slow: it is meant for problems of moderate size. Ranks of "
        "mpirun share its lines; alone, where memory is short, it takes them from a temporary file (TMPDIR, "
        "else /var/tmp).",
    .options = verify_table,
    .values_size = sizeof(verification),
    .operand_min = 1,
    .operand_max = 2,
    .ranks = RANKS_ALL,
    .run = verify_run,
};
