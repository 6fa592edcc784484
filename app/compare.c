/* stencil compare: are two datasets equal, and if not, where and by how much? */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/options.h"
#include "app/json.h"
#include "app/text.h"
#include "inputs/difference.h"

typedef struct compare_options {
    const char *dataset;
    double atol, rtol, rms; /* tolerances; rms NaN: not given */
    const char *json, *diff;
    bool force, quiet;
    reading_options reading;
} compare_options;

#define AT(field) OPTION_AT(compare_options, field)
static const option compare_table[] = {
    {.heading = "Options"},
    {"dataset", 0, OPTION_TEXT, AT(dataset), "PATH",
     .help = "dataset to compare (default: the field of each file, /u or the one that its attribute field "
             "names)"},
    {"atol", 0, OPTION_REAL, AT(atol), "T",
     .help = "cells count as equal where |a - b| <= T + R |b|, R from --rtol (old name: --tolerance)",
     .preset = "0", .old_name = "tolerance"},
    {"rtol", 0, OPTION_REAL, AT(rtol), "R", .help = "see --atol; relative to B", .preset = "0"},
    {"rms", 0, OPTION_REAL, AT(rms), "T",
     .help = "files count as equal where the root mean square of a - b is at most T; cells are looked at "
             "only where --atol or --rtol is given, too"},
    {"json", 0, OPTION_TEXT, AT(json), "FILE", .help = "write the result as JSON; - is standard output"},
    {"diff", 0, OPTION_TEXT, AT(diff), "FILE",
     .help = "write A less B as the field /difference of an HDF5 file, which stencil plot and other programs "
             "show"},
    {"force", 'f', OPTION_FLAG, AT(force), NULL, .help = "replace existing files"},
    {"quiet", 'q', OPTION_FLAG, AT(quiet), NULL, .help = "print nothing, only set the exit code"},
    {READING_OPTIONS(compare_options, reading)},
    {NULL},
};

/* Largest number of elements that are read at a time. */
enum { BLOCK_ELEMENTS = 1 << 20 };

/* Result of a comparison of two files. */
typedef struct difference {
    const char *what; /* kind of difference: "" (equal), "shape", "type" or "values" */
    int64_t count;    /* number of cells beyond atol and rtol */
    bool any, beyond; /* any: some cell differs; beyond: `largest` is of a cell beyond the tolerances */
    double largest;   /* largest |a - b|, of cells beyond the tolerances if there are any; infinite where a or
                         b is not finite */
    int64_t at;       /* index of the cell with the largest difference, in array order */
    double a, b;      /* values of the cell with the largest difference */
    long double apart, of_b; /* sums of squares of a - b and of b, in a type without overflow */
    double rms, relative; /* rms of a - b, and its ratio to the rms of b: NaN where that is 0 or not finite */
} difference;

/* One of the two datasets that are compared. */
typedef struct compared {
    stencil_input input;           /* the opened file */
    const char *path, *name;       /* path of the file, name of the dataset */
    char field[STENCIL_FIELD_MAX]; /* dataset name that the file's attribute states */
    stencil_numbers is;
} compared;

/* A comparison of two datasets. */
typedef struct comparison {
    compare_options options; /* first member: options_parse() fills the beginning of this state */
    bool cells;              /* each cell has to be within tolerance, not only the root mean square */
    bool types;              /* element types have to be equal, since no tolerance was given */
    compared a, b;
    difference found;
} comparison;

static void compare_block(comparison *c, const double *a, const double *b, int64_t count, int64_t first) {
    difference *found = &c->found;
    for (int64_t i = 0; i < count; i++) {
        found->of_b += (long double)b[i] * b[i];
        /* Equal infinities or two NaN are equal here, though their difference is NaN. */
        if (a[i] == b[i] || (isnan(a[i]) && isnan(b[i])))
            continue;
        const double distance = isfinite(a[i] - b[i]) ? fabs(a[i] - b[i]) : INFINITY;
        const bool beyond = isinf(distance) || distance > c->options.atol + c->options.rtol * fabs(b[i]);
        found->apart += (long double)distance * distance;
        found->count += beyond;
        if (!found->any || beyond > found->beyond || (beyond == found->beyond && distance > found->largest)) {
            found->any = true;
            found->beyond = beyond;
            found->largest = distance;
            found->at = first + i;
            found->a = a[i];
            found->b = b[i];
        }
    }
}

static double mean_root(long double squares, int64_t count) {
    return count > 0 ? (double)sqrtl(squares / count) : 0;
}

static stencil_status compare_values(comparison *c, double *values) {
    for (int64_t first = 0, block = 0, other = 0; first < c->a.is.count; first += block) {
        TRY(stencil_input_block(&c->a.input, &c->a.is, first, BLOCK_ELEMENTS, false, values, &block));
        TRY(stencil_input_block(&c->b.input, &c->b.is, first, block, false, values + BLOCK_ELEMENTS, &other));
        block = stencil_smaller(block, other);
        compare_block(c, values, values + BLOCK_ELEMENTS, block, first);
    }
    return STENCIL_OK;
}

static stencil_status compare_datasets(comparison *c) {
    const compared *a = &c->a, *b = &c->b;
    difference *found = &c->found;
    *found = (difference){.what = "", .rms = NAN, .relative = NAN};
    if (a->is.rank != b->is.rank ||
        memcmp(a->is.extent, b->is.extent, (size_t)a->is.rank * sizeof *a->is.extent) != 0) {
        found->what = "shape";
        return STENCIL_OK;
    }
    if (c->types && strcmp(a->is.type, b->is.type) != 0) {
        found->what = "type";
        return STENCIL_OK;
    }
    double *values = malloc(2 * sizeof(double) * BLOCK_ELEMENTS);
    CHECK(values != NULL, NO_MEMORY, "no memory to compare %s and %s", a->path, b->path);
    const stencil_status status = compare_values(c, values);
    free(values);
    const double of_b = mean_root(found->of_b, a->is.count);
    found->rms = mean_root(found->apart, a->is.count);
    found->relative = of_b > 0 && isfinite(of_b) && isfinite(found->rms) ? found->rms / of_b : NAN;
    if ((c->cells && found->count > 0) || found->rms > c->options.rms)
        found->what = "values";
    return status;
}

/* Prints the tolerances that apply: " within atol 0.1, rms 0.01". */
static void print_within(const comparison *c) {
    const compare_options *options = &c->options;
    const struct {
        const char *name;
        double value;
        bool counts;
    } part[] = {{"atol", options->atol, c->cells && options->atol > 0},
                {"rtol", options->rtol, c->cells && options->rtol > 0},
                {"rms", options->rms, !isnan(options->rms)}};
    const char *before = " within ";
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        if (part[i].counts) {
            printf("%s%s %g", before, part[i].name, part[i].value);
            before = ", ";
        }
}

/* Finds the index per axis of an element, which is counted in array order. */
static void index_of(const stencil_numbers *is, int64_t element, int64_t index[STENCIL_RANK_MAX]) {
    for (int axis = is->rank - 1; axis >= 0; axis--) {
        index[axis] = element % is->extent[axis];
        element /= is->extent[axis];
    }
}

static bool has_one_name(const comparison *c) {
    return strcmp(c->a.name, c->b.name) == 0;
}

/* Names of both datasets as a text: "/u", "/u and /temperature". */
#define NAMES_TEXT(c) (has_one_name(c) ? (c)->a.name : TEXT("%s and %s", (c)->a.name, (c)->b.name))

/* Prints the largest difference of two datasets and its cell, and the root mean square. */
static void print_distance(const comparison *c) {
    int64_t index[STENCIL_RANK_MAX];
    index_of(&c->a.is, c->found.at, index);
    printf("  largest difference  %s at %s\n", TEXT_REAL(c->found.largest), TEXT_LIST(index, c->a.is.rank));
    printf("  values there        %s and %s\n", TEXT_REAL(c->found.a), TEXT_REAL(c->found.b));
    printf("  root mean square    %.6g", c->found.rms);
    if (!isnan(c->found.relative))
        printf(", %.4g of that of the second file", c->found.relative);
    printf("\n");
}

static void print_values(const comparison *c) {
    const compared *a = &c->a, *b = &c->b;
    const char *cells = TEXT_COUNTED(a->is.count, "cell");
    if (c->found.what[0] == '\0') {
        const bool types = strcmp(a->is.type, b->is.type) != 0;
        printf("%s %s equal", NAMES_TEXT(c), has_one_name(c) ? "is" : "are");
        if (c->found.any)
            print_within(c);
        printf(" in %s%s (%s%s%s)\n", a->is.count == 1 ? "" : "all ", cells, a->is.type, types ? " and " : "",
               types ? b->is.type : "");
    } else if (c->cells && c->found.count > 0) {
        printf("%s differ%s in %s of %s (%.3g %%)\n", NAMES_TEXT(c), has_one_name(c) ? "s" : "",
               TEXT_COUNT(c->found.count), cells, 100.0 * (double)c->found.count / (double)a->is.count);
    } else {
        printf("%s differ%s by a root mean square of more than %g\n", NAMES_TEXT(c),
               has_one_name(c) ? "s" : "", c->options.rms);
    }
    if (c->found.any)
        print_distance(c);
}

static void print_result(const comparison *c) {
    const compared *a = &c->a, *b = &c->b;
    printf("%s and %s: ", TEXT_ESCAPE(a->path), TEXT_ESCAPE(b->path));
    if (strcmp(c->found.what, "shape") == 0)
        printf("%s differ%s in shape: %s and %s\n", NAMES_TEXT(c), has_one_name(c) ? "s" : "",
               TEXT_LIST(a->is.extent, a->is.rank), TEXT_LIST(b->is.extent, b->is.rank));
    else if (strcmp(c->found.what, "type") == 0)
        printf("%s differs in type: %s and %s; with --atol, --rtol or --rms the values are compared\n",
               a->name, a->is.type, b->is.type);
    else
        print_values(c);
}

static json_t *result_json(const comparison *c) {
    const compared *a = &c->a, *b = &c->b;
    const difference *found = &c->found;
    json_t *root =
        json_pack("{s:i, s:s, s:[o, o], s:o, s:[s, s], s:o, s:o, s:o, s:b, s:s, s:I, s:I, s:o, s:o}",
                  "schema_version", 2, "command", "compare", "files", json_text(a->path), json_text(b->path),
                  "dataset", json_text(a->name), "types", a->is.type, b->is.type, "atol",
                  json_number(c->options.atol), "rtol", json_number(c->options.rtol), "rms",
                  json_number(c->options.rms), "equal", found->what[0] == '\0', "differs_in", found->what,
                  "cells", (json_int_t)a->is.count, "differing_cells", (json_int_t)found->count,
                  "rms_difference", json_number(found->rms), "rms_relative", json_number(found->relative));
    if (root != NULL && found->any) {
        int64_t index[STENCIL_RANK_MAX];
        index_of(&a->is, found->at, index);
        json_object_set_new(root, "largest_difference", json_number(found->largest));
        json_object_set_new(root, "index", json_integers(index, a->is.rank));
        json_object_set_new(root, "values",
                            json_pack("[o, o]", json_number(found->a), json_number(found->b)));
    }
    return root;
}

/* Finds the dataset name in each file; a name that one file states is used for both where both have it. */
static stencil_status find_names(comparison *c) {
    compared *all[] = {&c->a, &c->b};
    char field[2][STENCIL_FIELD_MAX];
    bool holds[2];
    static const char usual[] = "/u";
    for (int i = 0; i < 2; i++)
        TRY(stencil_input_field(&all[i]->input, NULL, field[i], &holds[i]));
    for (int i = 0; i < 2; i++)
        TRY(stencil_input_field(&all[i]->input, field[1 - i][0] != '\0' ? field[1 - i] : usual, all[i]->field,
                                &holds[i]));
    for (int i = 0; i < 2; i++) {
        const bool other = field[1 - i][0] != '\0' && field[i][0] == '\0' && holds[i];
        memcpy(all[i]->field, field[other ? 1 - i : i], sizeof all[i]->field);
        all[i]->name = all[i]->field[0] != '\0' ? all[i]->field : usual;
    }
    return STENCIL_OK;
}

/* Writes the differences, with the spacing that the first file states where it is a problem. */
static stencil_status write_differences(invocation *call, comparison *c, const stencil_input_options *how) {
    stencil_input again = {0};
    stencil_spec spec;
    const bool stated = stencil_input_open(&again, c->a.path, how, &spec) == STENCIL_OK;
    stencil_input_close(&again);
    return stencil_difference_write(&(stencil_difference){.a = {&c->a.input, &c->a.is, c->a.name},
                                                          .b = {&c->b.input, &c->b.is, c->b.name},
                                                          .like = stated ? &spec : NULL,
                                                          .path = c->options.diff,
                                                          .force = c->options.force,
                                                          .command_line = call->command_line});
}

static stencil_status compare_stages(invocation *call) {
    static const char advice[] = "name another one with --dataset";
    comparison *c = call->values;
    const compare_options *options = &c->options;
    const bool cells = options_given(call, "atol") || options_given(call, "rtol");
    const bool rms = !isnan(options->rms);
    const stencil_input_options how = reading_options_of(&options->reading, NULL);
    compared *all[] = {&c->a, &c->b};
    CHECK(!options->force || options->json != NULL || options->diff != NULL, USAGE,
          "--force has no effect without --json or --diff: give one of them");
    c->cells = cells || !rms;
    c->types = !cells && !rms;
    for (int i = 0; i < 2; i++)
        TRY(target_check("--json", options->json, options->force, call->operand[i]));
    for (int i = 0; i < 2; i++)
        TRY(target_check("--diff", options->diff, options->force, call->operand[i]));
    TRY(target_check_apart("--diff", options->diff, options->json, "JSON"));
    for (int i = 0; i < 2; i++) {
        all[i]->path = call->operand[i];
        all[i]->name = options->dataset;
        TRY(stencil_input_look(&all[i]->input, all[i]->path, &how));
    }
    if (options->dataset == NULL)
        TRY(find_names(c));
    for (int i = 0; i < 2; i++) {
        TRY(stencil_input_numbers(&all[i]->input, all[i]->name, advice, &all[i]->is));
        CHECK(all[i]->is.exists, BAD_DATA, "'%s' has no dataset %s: %s", all[i]->path, all[i]->name, advice);
    }
    TRY(compare_datasets(c));
    const bool has_shape = strcmp(c->found.what, "shape") != 0;
    if (options->diff != NULL && has_shape)
        TRY(write_differences(call, c, &how));
    for (int i = 0; i < 2; i++)
        TRY(stencil_input_check_unchanged(&all[i]->input));
    call->exit_code = c->found.what[0] == '\0' ? 0 : stencil_status_exit_code(STENCIL_DIFFERENT);
    if (!options->quiet && !target_is_stdout(options->json))
        print_result(c);
    if (options->diff != NULL && !has_shape)
        fputs("stencil: --diff: no file was written, since there are no differences of cells\n", stderr);
    return json_write("--json", options->json, options->force, options->json != NULL ? result_json(c) : NULL);
}

static stencil_status compare_run(invocation *call) {
    comparison *c = call->values;
    const stencil_status status = compare_stages(call);
    stencil_input_close(&c->a.input);
    stencil_input_close(&c->b.input);
    return status;
}

const command command_compare = {
    .name = "compare",
    .usage = "compare [options] A B",
    .summary = "compares two files: same shape, type and values (exit code 0), or not (1)",
    .details = "A cell a of A counts as equal to b of B where |a - b| <= atol + rtol |b|, which is the rule "
               "of numpy.allclose. A NaN equals a NaN, an infinity only itself, and -0 equals 0. Where "
               "values differ, the number of cells that do not count as equal is printed, the largest "
               "difference with its index in array order (z, y, x), and the root mean square of a - b, also "
               "over that of b. Files of different types are different; with --atol, --rtol or --rms their "
               "values are compared, in double.",
    .options = compare_table,
    .values_size = sizeof(comparison),
    .operand_min = 2,
    .operand_max = 2,
    .run = compare_run,
};
