#include "app/info_file.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/json.h"
#include "app/report.h"
#include "app/text.h"
#include "inputs/series.h"
#include "solver/problem/classes.h"
#include "solver/problem/coefficients.h"
#include "solver/problem/digest.h"

/* The facts that are told of a file. */
typedef struct file_facts {
    const char *path;
    stencil_input input;
    stencil_spec spec;
    stencil_problem problem;
    stencil_provenance made;
    bool of_run;                                            /* a run has written the file: `made` is set */
    char digest[STENCIL_ARRAY_COUNT][STENCIL_DIGEST_CHARS]; /* of the cells as they are; "": no such array */
    stencil_frames frames;                                  /* of a series; count 0: it is none */
    int64_t first_step, last_step;                          /* of a series */
    bool differs;                                           /* a file of differences: `made`, */
    stencil_numbers is;                                     /* the differences, */
    int64_t different, infinite, largest_at; /* cells that are not 0, those of them that are not finite, the
                                                largest finite one */
    double largest, rms;                     /* its magnitude, and of all finite ones */
} file_facts;

static const char *recorded_of(const file_facts *f, int array) {
    return array == STENCIL_ARRAY_U   ? f->spec.digest_u
           : array == STENCIL_ARRAY_B ? f->spec.digest_b
                                      : f->spec.digest_class;
}

static const char *name_of(const file_facts *f, int array) {
    return array == STENCIL_ARRAY_U   ? f->input.facts.field
           : array == STENCIL_ARRAY_B ? stencil_source_name(&f->problem)
                                      : stencil_spec_classes(&f->spec);
}

/* Tells whether an array is not the one that was recorded. The source term is 0 where /fixed says so: with
 * other classes, its digest says nothing of the source. */
static bool is_other(const file_facts *f, int array) {
    if (array == STENCIL_ARRAY_B && is_other(f, STENCIL_ARRAY_CLASS))
        return false;
    return f->digest[array][0] != '\0' && recorded_of(f, array)[0] != '\0' &&
           strcmp(f->digest[array], recorded_of(f, array)) != 0;
}

static const char *kind_of(const file_facts *f) {
    return f->frames.count > 0         ? "series"
           : f->differs                ? "difference"
           : !f->of_run                ? "problem"
           : f->made.output[0] != '\0' ? "checkpoint"
                                       : "result";
}

static stencil_status read_problem(file_facts *f) {
    TRY(text_name_file(stencil_problem_resolve(&f->problem, &f->spec), f->path));
    f->input.raw = true;
    f->of_run = f->spec.steps_total >= 0 && stencil_input_provenance(&f->input, &f->made) == STENCIL_OK;
    const stencil_reader cells = stencil_input_reader(&f->input, &f->problem, true);
    TRY(text_name_file(stencil_coefficients_find(&f->problem, &f->spec, &cells), f->path));
    TRY(text_name_file(stencil_classes_find(&f->problem, &cells, &f->input.tables), f->path));
    if (f->of_run) { /* also where its attributes were changed, so that a run would count from 0 */
        f->problem.origin.steps = f->spec.steps_total;
        TRY(stencil_input_load_history(&f->input, &f->problem));
    }
    TRY(stencil_digest_read(&f->problem, STENCIL_ARRAY_U, &cells, f->digest[STENCIL_ARRAY_U]));
    if (stencil_problem_sum_arrays(&f->problem) > 0)
        TRY(stencil_digest_read(&f->problem, STENCIL_ARRAY_B, &cells, f->digest[STENCIL_ARRAY_B]));
    if (stencil_problem_has_classes(&f->problem))
        TRY(stencil_digest_read(&f->problem, STENCIL_ARRAY_CLASS, &cells, f->digest[STENCIL_ARRAY_CLASS]));
    return stencil_input_check_unchanged(&f->input);
}

/* Reads a file whose /step has a number for each frame of /u. Errors: BAD_DATA: it is no series. */
static stencil_status read_series(file_facts *f) {
    int64_t got;
    TRY(stencil_input_series(&f->input, f->path, NULL, &f->frames));
    const stencil_numbers *step = &f->frames.step;
    TRY(stencil_input_block(&f->input, step, 0, 1, true, &f->first_step, &got));
    return stencil_input_block(&f->input, step, f->frames.count - 1, 1, true, &f->last_step, &got);
}

/* Looks at the cells of a file of differences, which is no problem. */
static stencil_status read_difference(file_facts *f) {
    enum { BLOCK = 1 << 16 };
    void *memory = NULL;
    double squares = 0;
    TRY(stencil_input_numbers(&f->input, f->input.facts.field, NULL, &f->is));
    TRY(stencil_memory_alloc(&memory, BLOCK * (int64_t)sizeof(double), "differences"));
    const double *values = memory;
    stencil_status status = STENCIL_OK;
    for (int64_t first = 0, got = 0; first < f->is.count && status == STENCIL_OK; first += got) {
        status = stencil_input_block(&f->input, &f->is, first, BLOCK, false, memory, &got);
        for (int64_t i = 0; i < got && status == STENCIL_OK; i++) {
            f->different += values[i] != 0;
            f->infinite += !isfinite(values[i]);
            squares += isfinite(values[i]) ? values[i] * values[i] : 0;
            if (isfinite(values[i]) && fabs(values[i]) > f->largest) {
                f->largest = fabs(values[i]);
                f->largest_at = first + i;
            }
        }
    }
    free(memory);
    f->rms = f->is.count > f->infinite ? sqrt(squares / (double)(f->is.count - f->infinite)) : 0;
    return status;
}

static stencil_status read_file(file_facts *f) {
    const stencil_status status = stencil_input_open(&f->input, f->path, NULL, &f->spec);
    f->differs = status == STENCIL_OK && strcmp(f->input.facts.field, "/difference") == 0 &&
                 stencil_input_differing(&f->input, &f->made) == STENCIL_OK;
    if (status == STENCIL_OK)
        return f->differs ? read_difference(f) : read_problem(f);
    if (status != STENCIL_BAD_DATA)
        return status;
    const stencil_error seen = *stencil_error_last();
    stencil_input_close(&f->input);
    return read_series(f) == STENCIL_OK ? STENCIL_OK : stencil_error_adopt(&seen);
}

static void print_series(const file_facts *f) {
    PRINT("Series", "%s of %s%s, %s, from step %s to step %s", TEXT_COUNTED(f->frames.count, "frame"),
          f->input.facts.field + 1, f->frames.residual.exists ? " and residual" : "", f->frames.u.type,
          TEXT_COUNT(f->first_step), TEXT_COUNT(f->last_step));
    PRINT("Cells", "%s of each frame", TEXT_EXTENT(f->frames.u.extent + 1, f->frames.u.rank - 1, " x "));
}

/* Indices of the cell that differs most, in array order. */
static void largest_index(const file_facts *f, int64_t index[3]) {
    int64_t at = f->largest_at;
    for (int axis = f->is.rank - 1; axis >= 0; axis--) {
        index[axis] = at % f->is.extent[axis];
        at /= f->is.extent[axis];
    }
}

static void print_difference(const file_facts *f) {
    int64_t index[3];
    largest_index(f, index);
    PRINT("Difference", "%s less %s", TEXT_ESCAPE(f->made.input), TEXT_ESCAPE(f->made.less));
    PRINT("Field", "%s, %s, %s", f->input.facts.field, TEXT_EXTENT(f->spec.extent, f->spec.rank, " x "),
          f->is.type);
    PRINT("Cells", "%s of %s differ%s", TEXT_COUNT(f->different), TEXT_COUNT(f->is.count),
          f->infinite > 0 ? TEXT(", %s of them by no finite number", TEXT_COUNT(f->infinite)) : "");
    if (f->largest > 0)
        PRINT("Largest", "%s at %s, root mean square %s", TEXT_SHORT(f->largest),
              TEXT_LIST(index, f->is.rank), TEXT_SHORT(f->rms));
}

/* Prints how the run of a checkpoint goes on; the command is not wrapped. */
static void print_way_on(const file_facts *f, const char *steps) {
    PRINT("Checkpoint", "after step %s, on the way to %s; it goes on with:", steps,
          TEXT_ESCAPE(f->made.output));
    printf("%12sstencil --resume %s\n", "", TEXT_QUOTE(f->path));
}

/* Prints which frames the series of a result lacks. */
static void print_gaps(const file_facts *f) {
    const char *text = f->made.gaps;
    for (int64_t gap[2]; stencil_series_gap(&text, gap);)
        PRINT("Series", "no frames from step %s %s: they were not written, or were lost", TEXT_COUNT(gap[0]),
              gap[1] < 0 ? "on" : TEXT("to before step %s", TEXT_COUNT(gap[1])));
}

static void print_origin(const file_facts *f) {
    const char *steps = TEXT_COUNT(f->problem.origin.steps);
    if (!f->of_run)
        PRINT("Problem", "no run has written it");
    else if (f->made.output[0] != '\0')
        print_way_on(f, steps);
    else
        PRINT("Result", "of step %s", steps);
    if (f->of_run && f->made.input[0] != '\0')
        PRINT("Input", "%s, %s before", TEXT_ESCAPE(f->made.input), TEXT_COUNTED(f->made.steps_done, "step"));
    if (f->of_run && f->made.options[0] != '\0')
        PRINT("Options", "%.*s", (int)strlen(f->made.options) - 1, f->made.options);
    print_gaps(f);
}

static void print_digests(const file_facts *f) {
    for (int array = STENCIL_ARRAY_U; array < STENCIL_ARRAY_COUNT; array++)
        if (f->digest[array][0] != '\0')
            PRINT(array == STENCIL_ARRAY_U ? "Digests" : "", "%s of %s%s", f->digest[array],
                  name_of(f, array),
                  is_other(f, array) ? TEXT(", but a run has written\n%s", recorded_of(f, array))
                  : strcmp(f->digest[array], recorded_of(f, array)) == 0 ? ", as a run has written it"
                                                                         : "");
}

static void print(const file_facts *f) {
    char equation[REPORT_EQUATION_CHARS];
    PRINT("File", "%s", TEXT_ESCAPE(f->path));
    if (f->frames.count > 0) {
        print_series(f);
        return;
    }
    if (f->differs) {
        print_difference(f);
        return;
    }
    print_origin(f);
    PRINT("Field", "%s, %s, %s", f->input.facts.field, TEXT_EXTENT(f->spec.extent, f->spec.rank, " x "),
          stencil_precision_names[f->problem.precision]);
    PRINT("Equation", "%s", report_equation_text(&f->problem, false, equation));
    report_print_times(&f->problem);
    if (f->spec.has_k && f->problem.spec.has_k)
        PRINT("Materials", "%s", report_coefficients_text(&f->problem, (char[160]){""}));
    print_digests(f);
}

static json_t *facts_json(const file_facts *f) {
    json_t *root = json_pack("{s:i, s:s, s:o, s:s}", "schema_version", 1, "version", STENCIL_VERSION, "file",
                             json_text(f->path), "kind", kind_of(f));
    if (f->frames.count > 0) {
        const char *field = f->input.facts.field + 1;
        json_object_set_new(root, "frames", json_integer(f->frames.count));
        json_object_set_new(root, "arrays",
                            f->frames.residual.exists ? json_pack("[o, s]", json_text(field), "residual")
                                                      : json_pack("[o]", json_text(field)));
        json_object_set_new(root, "first_step", json_integer(f->first_step));
        json_object_set_new(root, "last_step", json_integer(f->last_step));
        return root;
    }
    if (f->differs) {
        int64_t index[3];
        largest_index(f, index);
        json_object_set_new(root, "a", json_text(f->made.input));
        json_object_set_new(root, "b", json_text(f->made.less));
        json_object_set_new(root, "cells", json_integer(f->is.count));
        json_object_set_new(root, "different", json_integer(f->different));
        json_object_set_new(root, "not_finite", json_integer(f->infinite));
        json_object_set_new(root, "largest", json_number(f->largest));
        json_object_set_new(root, "largest_index", json_integers(index, f->is.rank));
        json_object_set_new(root, "rms", json_number(f->rms));
        return root;
    }
    json_object_set_new(root, "step", json_integer(f->problem.origin.steps));
    json_object_set_new(root, "output", json_text(f->made.output[0] != '\0' ? f->made.output : NULL));
    json_object_set_new(root, "input", json_text(f->made.input[0] != '\0' ? f->made.input : NULL));
    const char *text = f->made.gaps;
    json_t *gaps = json_array();
    for (int64_t gap[2]; stencil_series_gap(&text, gap);)
        json_array_append_new(
            gaps, json_pack("[I, o]", (json_int_t)gap[0], gap[1] < 0 ? json_null() : json_integer(gap[1])));
    json_object_set_new(root, "series_gaps", gaps);
    json_t *digests = json_object();
    for (int array = STENCIL_ARRAY_U; array < STENCIL_ARRAY_COUNT; array++)
        if (f->digest[array][0] != '\0')
            json_object_set_new(
                digests, name_of(f, array),
                json_pack("{s:s, s:o}", "cells", f->digest[array], "recorded",
                          json_text(recorded_of(f, array)[0] != '\0' ? recorded_of(f, array) : NULL)));
    json_object_set_new(root, "digests", digests);
    return root;
}

static stencil_status tell(const file_facts *f, const char *json, bool force) {
    if (!target_is_stdout(json))
        print(f);
    if (json != NULL)
        TRY(json_write("--json", json, force, facts_json(f)));
    for (int array = STENCIL_ARRAY_U; array < STENCIL_ARRAY_COUNT; array++)
        CHECK(!is_other(f, array), BAD_DATA,
              "'%s' is damaged, or was changed: the cells of %s are not those that a run has written (%s)",
              f->path, name_of(f, array),
              array == STENCIL_ARRAY_U   ? "digest_u"
              : array == STENCIL_ARRAY_B ? "digest_b"
                                         : "digest_class");
    return f->of_run ? report_check_numbers(f->path, &f->spec, &f->problem.origin.history, &f->made)
                     : STENCIL_OK;
}

stencil_status info_file(const char *path, const char *json, bool force) {
    file_facts f = {.path = path};
    stencil_status status = text_name_out_of_memory(read_file(&f), path);
    if (status == STENCIL_OK)
        status = tell(&f, json, force);
    const stencil_error seen = *stencil_error_last();
    stencil_problem_destroy(&f.problem);
    stencil_input_close(&f.input);
    return status != STENCIL_OK ? stencil_error_adopt(&seen) : STENCIL_OK;
}
