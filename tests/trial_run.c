#include "trial_values.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "solver/problem/classes.h"
#include "solver/problem/coefficients.h"
#include "solver/problem/faces.h"
#include "solver/problem/rows.h"
#include "solver/problem/cycle.h"
#include "solver/run/run.h"
#include "solver/plan/sweep.h"

static bool leave(void *context, int64_t step, double residual) {
    (void)context, (void)step, (void)residual;
    return false;
}

const stencil_observer trial_impatient = {.poll = leave};

static const char *case_text(const trial *t, const trial_run *r) {
    static char text[512];
    int at = snprintf(text, sizeof text, "%s, sweep %s, depth %d, on the %s, %s, %s,",
                      stencil_strategy_at(r->strategy).name, stencil_sweep_infos[r->sweep].name, r->depth,
                      r->backend == STENCIL_BACKEND_GPU ? "GPU" : "CPU",
                      t->spec.stencil[0] != '\0'          ? t->spec.stencil
                      : t->spec.kind != STENCIL_KIND_NONE ? stencil_kind_names[t->spec.kind]
                                                          : "custom points",
                      stencil_precision_name(t->spec.precision));
    for (int i = 0; i < t->spec.rank; i++)
        at += snprintf(text + at, sizeof text - (size_t)at, "%s%s", i == 0 ? " boundary " : ",",
                       stencil_boundary_names[t->spec.boundary[i]]);
    for (int i = 0; i < t->spec.rank; i++)
        at += snprintf(text + at, sizeof text - (size_t)at, "%s%lld", i == 0 ? ", size " : "x",
                       (long long)t->spec.extent[i]);
    if (r->parts > 0)
        at += snprintf(text + at, sizeof text - (size_t)at,
                       ", %d parts cut %d,%d,%d on GPU %d,%d,%d,%d…, halo %s%s", r->parts, r->cut[0],
                       r->cut[1], r->cut[2], r->gpu[0], r->gpu[1], r->gpu[2], r->gpu[3],
                       stencil_halo_names[r->halo], r->overlap ? " overlapped" : "");
    snprintf(
        text + at, sizeof text - (size_t)at,
        ", source %s, %s, weights %s, cycle %d, steps %lld, check_every %lld, norm %s, rtol %g, atol %g, "
        "threads %d, streams from %d rows on, machine %s, multiprocessors %d",
        t->source != NULL ? "yes" : "no",
        t->insulated != NULL ? "cells insulated"
        : t->k != NULL       ? "coefficients of cells"
        : t->row != NULL     ? "cells of several classes"
        : t->fixed != NULL   ? "cells fixed"
                             : "no cells fixed",
        t->spec.weight_count > 0 ? "given" : "default", t->cycle_length, (long long)r->steps,
        (long long)r->check_every, stencil_norm_names[r->norm], r->rtol, r->atol, r->threads, r->stream,
        r->tries   ? "tries"
        : r->small ? "small"
                   : "as it is",
        r->multiprocessors);
    return text;
}

#define EXPECT(condition, ...)                                                                               \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            print_error("%s:\n    ", case_text(t, r));                                                       \
            print_error(__VA_ARGS__);                                                                        \
            print_error("\n");                                                                               \
            if (r->world != NULL) /* the other ranks would wait for this one */                              \
                abort();                                                                                     \
            fail();                                                                                          \
        }                                                                                                    \
    } while (0)

#define EXPECT_OK(call)                                                                                      \
    do {                                                                                                     \
        const stencil_status status_ = (call);                                                               \
        EXPECT(status_ == STENCIL_OK, "%s: %s", #call, stencil_error_last()->message);                       \
    } while (0)

/* Element of a field for the cell (z, y, x) of the array. */
static int64_t element(const stencil_problem *p, const stencil_layout *l, int64_t z, int64_t y, int64_t x) {
    return l->origin + (z + p->first[0]) * l->plane + (y + p->first[1]) * l->row + x + p->first[2];
}

/* The arrays of a trial as fields: those that a reader of a run's cells has and, behind them, the arrays
 * behind b whose factors change in time, the coefficients, the kinds of cells and the numbers of their rows.
 */
enum {
    FIELD_MORE = STENCIL_ARRAY_COUNT,
    FIELD_K = FIELD_MORE + STENCIL_SUM_ARRAYS - 1,
    FIELD_KINDS,
    FIELD_ROWS,
    FIELDS
};

/* A reader of these fields, which makes faces of coefficients. */
typedef struct reading {
    stencil_fields fields;
    const stencil_field *kinds;
    const stencil_problem *problem;
} reading;

static stencil_status read_field(void *context, stencil_array array, const stencil_box *box,
                                 const stencil_cells *to) {
    reading *f = context;
    const stencil_reader from = {read_field, f};
    stencil_fields kinds = {.kinds = f->kinds};
    if (stencil_array_axis(array) >= 0)
        return stencil_faces_make(f->problem, &from, stencil_array_axis(array), box, to);
    return stencil_fields_read(array == STENCIL_ARRAY_KIND ? &kinds : &f->fields, array, box, to);
}

/* Creates fields and copies the plain arrays into them: u whole, b where cells are updated. */
static void load_fields(const trial *t, const trial_run *r, const stencil_problem *p,
                        stencil_field field[FIELDS]) {
    const int64_t *n = t->reference.extent;
    EXPECT_OK(stencil_field_create(&field[STENCIL_ARRAY_U], &p->layout, "u"));
    EXPECT_OK(stencil_field_create(&field[STENCIL_ARRAY_B], &p->layout, "b"));
    stencil_layout bytes = p->layout;
    bytes.precision = STENCIL_BYTE;
    EXPECT_OK(stencil_field_create(&field[STENCIL_ARRAY_CLASS], &bytes, "classes"));
    for (int k = 1; k < STENCIL_SUM_ARRAYS; k++)
        EXPECT_OK(stencil_field_create(&field[FIELD_MORE + k - 1], &p->layout, "b"));
    bytes.precision = STENCIL_TWO_BYTES;
    EXPECT_OK(stencil_field_create(&field[FIELD_KINDS], &bytes, "kinds"));
    EXPECT_OK(stencil_field_create(&field[FIELD_ROWS], &bytes, "rows"));
    stencil_layout doubles = p->layout;
    doubles.precision = STENCIL_FLOAT64;
    EXPECT_OK(stencil_field_create(&field[FIELD_K], &doubles, "k"));
    for (int64_t i = 0; i < trial_cells(t); i++) {
        const int64_t z = i / (n[1] * n[2]), y = i / n[2] % n[1], x = i % n[2];
        const int64_t at = element(p, &p->layout, z, y, x);
        trial_store(p->precision, field[STENCIL_ARRAY_U].data, at, trial_load(p->precision, t->initial, i));
        const int64_t inner[3] = {z + p->first[0], y + p->first[1], x + p->first[2]};
        bool updated = t->fixed == NULL || t->fixed[i] == 0;
        const bool driven = t->driven != NULL && t->driven[i] != 0;
        const bool there = t->insulated == NULL || t->insulated[i] == 0;
        ((stencil_cell_kind *)field[FIELD_KINDS].data)[at] = !there           ? STENCIL_KIND_INSULATED
                                                             : driven         ? STENCIL_KIND_DRIVEN
                                                             : !updated       ? STENCIL_KIND_KEPT
                                                             : t->row != NULL ? t->row[i]
                                                                              : STENCIL_KIND_PLAIN;
        ((double *)field[FIELD_K].data)[at] = t->k != NULL ? t->k[i] : 1.0;
        for (int axis = 0; axis < 3; axis++)
            updated = updated && inner[axis] >= 0 && inner[axis] < p->n[axis];
        for (int k = 0; k < stencil_problem_sum_arrays(p); k++) {
            const void *source = k == 0 ? t->source : t->more[k];
            void *to = field[k == 0 ? (int)STENCIL_ARRAY_B : FIELD_MORE + k - 1].data;
            if (driven && t->value[k] != NULL)
                trial_store(p->precision, to, at, trial_load(p->precision, t->value[k], i));
            else if (!driven && updated && source != NULL)
                trial_store(p->precision, to, at, p->source_scale * trial_load(p->precision, source, i));
        }
    }
}

/* Finds the coefficients of a problem, and makes its source of the cells' own where they are divided by. */
static void find_coefficients(const trial *t, const trial_run *r, stencil_problem *p,
                              const stencil_spec *spec, stencil_field field[FIELDS]) {
    reading f = {{.k = &field[FIELD_K]}, &field[FIELD_KINDS], p};
    const stencil_reader from = {read_field, &f};
    const stencil_box updated = {.n = {p->n[0], p->n[1], p->n[2]}};
    stencil_faces faces;
    EXPECT_OK(stencil_coefficients_find(p, spec, &from));
    if (t->k == NULL || p->spec.source != STENCIL_SOURCE_F)
        return;
    EXPECT_OK(stencil_faces_load(&faces, p, &from, &updated));
    for (int64_t i = 0; i < trial_cells(t); i++) {
        const int64_t *n = t->reference.extent;
        const int64_t cell[3] = {i / (n[1] * n[2]) + p->first[0], i / n[2] % n[1] + p->first[1],
                                 i % n[2] + p->first[2]};
        const int64_t at = p->layout.origin + cell[0] * p->layout.plane + cell[1] * p->layout.row + cell[2];
        const bool still = ((const stencil_cell_kind *)field[FIELD_KINDS].data)[at] != STENCIL_KIND_PLAIN;
        bool inside = true;
        for (int axis = 0; axis < 3; axis++)
            inside = inside && cell[axis] >= 0 && cell[axis] < p->n[axis];
        if (inside)
            trial_store(p->precision, field[STENCIL_ARRAY_B].data, at,
                        still ? 0.0
                              : p->source_scale / stencil_faces_sum(p, &faces, cell) *
                                    trial_load(p->precision, t->source, i));
    }
    stencil_faces_destroy(&faces);
}

/* Finds the classes of a problem, and the numbers of rows that these do not name, in their fields. */
static void find_classes(const trial *t, const trial_run *r, stencil_problem *p,
                         stencil_field field[FIELDS]) {
    reading f = {{.k = &field[FIELD_K]}, &field[FIELD_KINDS], p};
    const stencil_reader reader = {read_field, &f};
    const stencil_box updated = {.n = {p->n[0], p->n[1], p->n[2]}};
    EXPECT_OK(stencil_classes_find(p, &reader, &t->tables));
    assert_false(p->walls_in_source); /* the source of a trial has nothing of walls */
    if (!stencil_problem_has_classes(p))
        return;
    const stencil_cells classes = stencil_field_cells(&field[STENCIL_ARRAY_CLASS]),
                        rows = stencil_field_cells(&field[FIELD_ROWS]);
    EXPECT_OK(stencil_classes_read(p, &reader, &updated, &classes));
    if (stencil_problem_has_wide_rows(p))
        EXPECT_OK(stencil_classes_read(p, &reader, &updated, &rows));
}

static void destroy_fields(stencil_field field[FIELDS]);

/* Asks the problem that the product makes of a trial. */
static bool problem_has(const trial *t, bool (*has)(const stencil_problem *)) {
    const trial_run *r = &(trial_run){0};
    stencil_problem problem;
    stencil_field field[FIELDS];
    EXPECT_OK(stencil_problem_resolve(&problem, &t->spec));
    load_fields(t, r, &problem, field);
    find_coefficients(t, r, &problem, &t->spec, field);
    find_classes(t, r, &problem, field);
    const bool answer = has(&problem);
    stencil_problem_destroy(&problem);
    destroy_fields(field);
    return answer;
}

bool trial_takes_fields(const trial *t) {
    return problem_has(t, stencil_problem_has_fields);
}

bool trial_has_wide_rows(const trial *t) {
    return problem_has(t, stencil_problem_has_wide_rows);
}

static void destroy_fields(stencil_field field[FIELDS]) {
    for (int array = 0; array < FIELDS; array++)
        stencil_field_destroy(&field[array]);
}

/* Bit for bit, but for the payload and sign of a NaN, which IEEE 754 leaves open. */
static bool same_value(stencil_precision precision, const void *a, int64_t at_a, const void *b,
                       int64_t at_b) {
    const size_t bytes = stencil_precision_bytes(precision);
    if (memcmp((const char *)a + (size_t)at_a * bytes, (const char *)b + (size_t)at_b * bytes, bytes) == 0)
        return true;
    return isnan(trial_load(precision, a, at_a)) && isnan(trial_load(precision, b, at_b));
}

/* How many cells differ; the first of them, and where it is. */
static int64_t find_different(const trial *t, const stencil_problem *p, const stencil_field *u,
                              const void *expected, int64_t *first, int64_t *first_at) {
    const int64_t *n = t->reference.extent;
    int64_t different = 0;
    for (int64_t i = 0; i < trial_cells(t); i++) {
        const int64_t at = element(p, &u->layout, i / (n[1] * n[2]), i / n[2] % n[1], i % n[2]);
        if (same_value(p->precision, u->data, at, expected, i))
            continue;
        if (different++ == 0) {
            *first = i;
            *first_at = at;
        }
    }
    return different;
}

static void expect_field(const trial *t, const trial_run *r, const stencil_problem *p, const stencil_field *u,
                         const void *expected) {
    const int64_t *n = t->reference.extent;
    int64_t first, first_at;
    const int64_t different = find_different(t, p, u, expected, &first, &first_at);
    if (different == 0)
        return;
    const double is = trial_load(p->precision, u->data, first_at),
                 should = trial_load(p->precision, expected, first);
    EXPECT(different == 0,
           "u differs in %lld of %lld cells, first at (%lld, %lld, %lld): %.17g (%a) instead of %.17g (%a)",
           (long long)different, (long long)trial_cells(t), (long long)(first / (n[1] * n[2])),
           (long long)(first / n[2] % n[1]), (long long)(first % n[2]), is, is, should, should);
}

static void expect_history(const trial *t, const trial_run *r, const stencil_report *report,
                           const trace *trace, int64_t end) {
    int64_t seen = 0;
    for (int64_t s = 1; s <= end; s++) {
        if (!trace_looks_at(s, r->check_every, end))
            continue;
        EXPECT(seen < report->history.count, "the history ends after %lld residuals: step %lld is missing",
               (long long)seen, (long long)s);
        EXPECT(report->history.step[seen] == s, "residual %lld belongs to step %lld instead of %lld",
               (long long)seen, (long long)report->history.step[seen], (long long)s);
        const double is = report->history.residual[seen], should = trace->residual[r->norm][s];
        EXPECT(same_value(STENCIL_FLOAT64, &is, 0, &should, 0),
               "the residual of step %lld is %.17g (%a) instead of %.17g (%a)", (long long)s, is, is, should,
               should);
        seen++;
    }
    EXPECT(report->history.count == seen, "the history has %lld residuals instead of %lld",
           (long long)report->history.count, (long long)seen);
}

static void expect_end(const trial *t, const trial_run *r, const stencil_report *report, const trace *trace) {
    if (report->reason == STENCIL_REASON_INTERRUPTED) {
        EXPECT((r->observers.count > 0 || r->world != NULL) && report->steps >= 0 && report->steps < r->steps,
               "interrupted after step %lld", (long long)report->steps);
        return;
    }
    trace_end end =
        trace_find_end(trace, &(trace_stop){r->steps, r->check_every, r->norm, r->rtol, r->atol, 0.0});
    if (r->reason != STENCIL_REASON_NONE)
        end = (trace_end){r->steps, r->reason};
    EXPECT(report->steps == end.step && report->reason == end.reason,
           "ended after step %lld (%s) instead of %lld (%s)", (long long)report->steps,
           stencil_reason_names[report->reason], (long long)end.step, stencil_reason_names[end.reason]);
}

/* The run failed, and said all that it should. */
static void expect_failure(const trial *t, const trial_run *r, stencil_status status) {
    EXPECT(status == STENCIL_INTERNAL, "status %d instead of INTERNAL", (int)status);
    char words[256];
    snprintf(words, sizeof words, "%s", r->failure);
    for (char *rest = words, *word = strtok_r(words, "|", &rest); word != NULL;
         word = strtok_r(NULL, "|", &rest))
        EXPECT(strstr(stencil_error_last()->message, word) != NULL, "'%s' is not in '%s'", word,
               stencil_error_last()->message);
}

/* An observer that goes on with the next plan, first one after the other and then also back to some. */
typedef struct switcher {
    const stencil_plan *plan;
    int count, turn;
    stencil_run *run;
} switcher;

static int64_t next_switch(void *context, int64_t step) {
    const switcher *s = context;
    return s->count > 1 ? (step / 3 + 1) * 3 : INT64_MAX;
}

static stencil_status change(void *context, stencil_report *report) {
    switcher *s = context;
    s->turn = s->turn < s->count ? s->turn + 1 : 1;
    const int step = (int)report->steps;
    TRY(stencil_run_replan(s->run, &s->plan[step > 3 * s->count ? step * 7 % s->count : s->turn - 1]));
    if (step % 30 == 0)
        stencil_run_settle(s->run);
    return STENCIL_OK;
}

/* A run, and where its result goes. */
typedef struct result {
    const stencil_field *u;
    const stencil_mesh *mesh;
    stencil_run *run;
} result;

/* Reads the result back in boxes of some size, the last one first: into u, all of whose cells are something
 * else by then. */
static stencil_status read_result(void *context) {
    static int64_t sizes = 0;
    const result *of = context;
    const stencil_layout *l = &of->u->layout;
    const stencil_cells all = stencil_cells_in(l, of->u->data, (const int64_t[]){0, 0, 0});
    const stencil_box array = stencil_mesh_array(of->mesh);
    const int64_t most = stencil_box_cells(&array) / (1 + sizes++ % 7) + 1;
    int64_t count = 1;
    memset(of->u->data, 0x2a, (size_t)stencil_layout_bytes(l));
    for (stencil_box box = stencil_slab_first(&array, most); stencil_slab_next(&box, &array, most);)
        count++;
    while (count-- > 0) {
        stencil_box box = stencil_slab_first(&array, most);
        for (int64_t i = 0; i < count; i++)
            stencil_slab_next(&box, &array, most);
        const stencil_cells to = stencil_cells_from(&all, box.first);
        TRY(stencil_run_read(of->run, STENCIL_ARRAY_U, &box, &to));
    }
    return STENCIL_OK;
}

/* Runs it from the fields to its stop, and reads the result: in rank 0. */
static stencil_status run_fields(const stencil_plan *plan, int plans, const stencil_problem *problem,
                                 stencil_field field[FIELDS], const stencil_observers *observers,
                                 stencil_report *report) {
    switcher turns = {plan, plans, 1, NULL};
    const stencil_observers both = {
        (stencil_observer[]){{.context = &turns, .next = next_switch, .at = change, .any_step = true},
                             observers->count > 0 ? observers->item[0] : (stencil_observer){0}},
        1 + observers->count};
    reading fields = {{.u = &field[STENCIL_ARRAY_U],
                       .b = &field[STENCIL_ARRAY_B],
                       .kinds = &field[STENCIL_ARRAY_CLASS],
                       .rows = &field[FIELD_ROWS],
                       .k = &field[FIELD_K]},
                      &field[FIELD_KINDS],
                      problem};
    for (int k = 1; k < STENCIL_SUM_ARRAYS; k++)
        fields.fields.more[k - 1] = &field[FIELD_MORE + k - 1];
    const stencil_reader from = {read_field, &fields};
    result of = {.u = &field[STENCIL_ARRAY_U], .mesh = &plan->cut.mesh};
    TRY(stencil_run_open(&of.run, plan, problem, &from));
    turns.run = of.run;
    stencil_status status = stencil_run_drive(of.run, &both, report);
    if (status == STENCIL_OK)
        status = stencil_run_lead(of.run, read_result, &of, NULL, 0);
    stencil_run_close(of.run);
    return status;
}

/* Runs the pieces, each from where the one before has left the field and the count. */
static void run_pieces(const trial *t, const trial_run *r, const stencil_plan *plan, stencil_problem *problem,
                       stencil_field field[FIELDS]) {
    const int64_t steps = problem->stop.steps;
    stencil_origin *origin = &problem->origin;
    for (size_t k = 0; k < sizeof r->pieces / sizeof *r->pieces && r->pieces[k] > 0; k++) {
        stencil_report report = {0};
        problem->stop.steps = r->pieces[k];
        EXPECT_OK(run_fields(plan, 1, problem, field, &(stencil_observers){0}, &report));
        EXPECT(report.steps <= r->pieces[k] && report.steps_before == origin->steps,
               "a piece has made steps %lld to %lld", (long long)report.steps_before,
               (long long)report.steps);
        stencil_world_tell(r->world, 0, field[STENCIL_ARRAY_U].data,
                           (size_t)stencil_layout_bytes(&field[STENCIL_ARRAY_U].layout));
        stencil_history_destroy(&origin->history);
        origin->steps = report.steps;
        origin->residual_first = report.residual_first;
        origin->plain_from = report.plain_from;
        origin->history = report.history;
        origin->last_is_extra =
            report.history.count > 0 && report.history.step[report.history.count - 1] % r->check_every != 0;
    }
    problem->stop.steps = steps;
}

/* The machine that the run is planned for. */
static stencil_machine machine_of(const trial_run *r) {
    stencil_machine machine = *r->machine;
    machine.cpu_threads = r->threads;
    if (r->small)
        machine.cpu_cache_bytes = 1;
    for (int i = 0; i < machine.gpu_count && r->small; i++) {
        const bool several = r->parts > 1 && r->world == NULL; /* ranks have GPUs of one kind */
        machine.gpu[i].sm_count = several ? 0 : 1;             /* one for each part */
        for (int p = 0; p < r->parts && several; p++)
            machine.gpu[i].sm_count += r->gpu[p] == i;
    }
    for (int i = 0; i < machine.gpu_count && r->multiprocessors > 0; i++)
        machine.gpu[i].sm_count = r->multiprocessors;
    return machine;
}

static int64_t rows_of_stream(const stencil_plan *plan, int rank) {
    return rank == 3 ? plan->tile[STENCIL_Z] : plan->tile[STENCIL_Y] / plan->block_y;
}

int trial_lacking = 0;

/* Whether a GPU has no kernels for passes of the sweep; counted, and said once of each. */
static bool lacks_kernels(const trial_run *r, const stencil_machine *machine) {
    static bool said[STENCIL_SWEEP_COUNT];
    for (int p = 0; p < r->parts || p == 0; p++) {
        if (stencil_sweep_has_kernels((stencil_sweep_id)r->sweep, machine, r->gpu[p]) == STENCIL_OK)
            continue;
        if (!said[r->sweep])
            printf("SKIPPED: %s\n", stencil_error_last()->message);
        said[r->sweep] = true;
        trial_lacking++;
        return true;
    }
    return false;
}

/* What the driver says of a GPU's code is what the build has for it. */
static void expect_code(const trial *t, const trial_run *r, const stencil_machine *machine) {
#ifdef STENCIL_HAVE_CUDA
    const stencil_gpu *gpu = &machine->gpu[r->gpu[0]];
    EXPECT(gpu->code == stencil_code_expected(gpu->capability), "code for %d on a GPU of %d, not for %d",
           gpu->code, gpu->capability, stencil_code_expected(gpu->capability));
#else
    (void)t, (void)r, (void)machine;
#endif
}

/* Leaves the cut to the product where the field is too narrow for one among so many ranks, or has no z. */
static void suit_ranks(const stencil_problem *problem, stencil_run_options *options,
                       stencil_machine *machine) {
    stencil_run_options single = *options;
    stencil_plan plan;
    single.depth = 1;
    if (options->world != NULL && ((problem->rank == 2 && options->cut[0] > 1) ||
                                   stencil_plan_here(&plan, problem, &single, machine) == STENCIL_USAGE))
        memset(options->cut, 0, sizeof options->cut);
}

/* false: a sweep that not every field suits has refused this one, or the GPUs have no kernels for it. */
static bool make_plan(const trial *t, const trial_run *r, const stencil_problem *problem,
                      stencil_plan *plan) {
    stencil_machine machine = machine_of(r);
    stencil_run_options options = {
        .sync = stencil_strategy_at(r->strategy).name,
        .sweep = stencil_sweep_infos[r->sweep].name,
        .backend = r->backend,
        .cut = {r->cut[0], r->cut[1], r->cut[2]},
        .halo = r->halo,
        .overlap = r->overlap,
        .depth = (int)stencil_smaller(r->depth, stencil_sweep_infos[r->sweep].host->depth),
        .wait = r->wait};
    options.world = r->world;
    if (r->backend == STENCIL_BACKEND_CPU)
        options.parts = r->world != NULL ? 0 : r->parts;
    else
        options.gpu_count = r->world != NULL ? 0 : r->parts;
    if (r->world != NULL) {
        options.rank_gpu = r->gpu[r->world->rank];
        options.ranks_reach = r->ranks_reach;
        for (int p = 0; p < r->parts; p++)
            options.rank_sharing += r->gpu[p] == r->gpu[0];
    }
    memcpy(options.gpu, r->gpu, sizeof options.gpu);
    suit_ranks(problem, &options, &machine);
    while (options.depth > 1 && stencil_plan_here(plan, problem, &options, &machine) != STENCIL_OK &&
           strstr(stencil_error_last()->message, "give --depth") != NULL)
        options.depth--;
    const stencil_status status = stencil_plan_here(plan, problem, &options, &machine);
    if (status == STENCIL_UNAVAILABLE && r->backend == STENCIL_BACKEND_GPU && lacks_kernels(r, &machine))
        return false;
    if (status == STENCIL_UNAVAILABLE && strstr(stencil_error_last()->message, "STENCIL_SETS=all") != NULL) {
        trial_lacking++; /* a build of some sets only */
        return false;
    }
    /* `resident` is not for every field; passes of a GPU are not for fields of coefficients. */
    const bool may_refuse = !stencil_sweep_can((stencil_sweep_id)r->sweep, problem, STENCIL_NEED_LAUNCHES) ||
                            (r->sweep == STENCIL_SWEEP_pipeline && r->backend == STENCIL_BACKEND_GPU &&
                             stencil_problem_has_fields(problem));
    if (status == STENCIL_UNAVAILABLE && !r->must_fit && may_refuse &&
        strstr(stencil_error_last()->message, " is not available here: ") != NULL)
        return false;
    if (r->world != NULL && status == STENCIL_USAGE) /* the field is too small for so many ranks */
        return false;
    EXPECT_OK(status);
    EXPECT(r->depth == 0 ||
               plan->depth == stencil_smaller(options.depth, stencil_sweep_longest(plan, problem)),
           "passes of %d steps", plan->depth);
    EXPECT(plan->backend == r->backend, "the plan is for another back-end");
    if (r->backend == STENCIL_BACKEND_GPU)
        expect_code(t, r, &machine);
    EXPECT(plan->backend == STENCIL_BACKEND_GPU || plan->threads == r->threads, "the plan has %d threads",
           plan->threads);
    EXPECT(plan->backend == STENCIL_BACKEND_GPU || !r->small || r->sweep != 0 ||
               plan->stores == STENCIL_STORES_STREAMING,
           "the plan stays in the cache");
    EXPECT(r->stream == 0 || rows_of_stream(plan, problem->rank) >= r->stream, "streams of %lld rows",
           (long long)rows_of_stream(plan, problem->rank));
    if (r->poll_every > 0)
        plan->poll_every = r->poll_every;
    if (plan->backend == STENCIL_BACKEND_CPU && r->tries)
        plan->stores = STENCIL_STORES_TRIED;
    return true;
}

bool trial_expect(const trial *t, trace *trace, const trial_run *r) {
    static stencil_plan plan[STENCIL_SIDES_MAX];
    if (!trial_is_drawn(t, r))
        return false;
    const bool leads =
        stencil_world_leads(r->world); /* holds the result against the reference for all ranks */
    if (leads)
        trace_reach(trace, r->steps);
    stencil_spec spec = t->spec;
    spec.steps = r->steps;
    spec.check_every = r->check_every;
    spec.norm = r->norm;
    spec.rtol = r->rtol;
    spec.atol = r->atol;
    const int plans = 1 + r->other_count;
    stencil_problem problem;
    stencil_field field[FIELDS];
    stencil_report report = {0};
    EXPECT_OK(stencil_problem_resolve(&problem, &spec));
    if (t->cycle_length > 0)
        problem.cycle = (stencil_cycle){.length = t->cycle_length, .given = t->cycle};
    load_fields(t, r, &problem, field);
    find_coefficients(t, r, &problem, &spec, field);
    find_classes(t, r, &problem, field);
    bool possible = true;
    for (int i = 0; i < plans; i++)
        possible = possible && make_plan(t, i > 0 ? &r->others[i - 1] : r, &problem, &plan[i]);
    if (!possible) {
        stencil_problem_destroy(&problem);
        destroy_fields(field);
        return false;
    }
    if (r->failure != NULL) {
        const stencil_status status = run_fields(plan, plans, &problem, field, &r->observers, &report);
        stencil_report_destroy(&report);
        stencil_problem_destroy(&problem);
        destroy_fields(field);
        expect_failure(t, r, status);
        return true;
    }
    run_pieces(t, r, plan, &problem, field);
    EXPECT_OK(run_fields(plan, plans, &problem, field, &r->observers, &report));
    if (r->unlike) {
        int64_t cell, at;
        EXPECT(find_different(t, &problem, &field[STENCIL_ARRAY_U], trace_state(trace, r->steps), &cell,
                              &at) > 0,
               "nobody waited, and u is right");
        stencil_report_destroy(&report);
        stencil_problem_destroy(&problem);
        destroy_fields(field);
        return true;
    }
    if (leads)
        expect_end(t, r, &report, trace);
    EXPECT(stencil_cycle_end(&problem, report.steps) == report.steps, "it ended in mid-cycle");
    if (report.reason == STENCIL_REASON_INTERRUPTED)
        EXPECT(report.history.count <= report.steps, "more residuals than steps");
    else if (leads)
        expect_history(t, r, &report, trace, report.steps);
    if (leads)
        expect_field(t, r, &problem, &field[STENCIL_ARRAY_U], trace_state(trace, report.steps));
    stencil_report_destroy(&report);
    stencil_problem_destroy(&problem);
    destroy_fields(field);
    return true;
}

void trial_expect_unordered(const trial *t, trace *trace, const trial_run *late) {
    trial_run r = *late;
    r.check_every = 1000;
    r.wait.fault.seed = 1;
    r.wait.fault.delay_ns = 30000;
    trial_expect(t, trace, &r);
    r.wait.fault.unordered = true;
    r.unlike = true;
    trial_expect(t, trace, &r);
}
