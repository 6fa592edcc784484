/* stencil compare: are two datasets equal, and if not, where and by how much? */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/options.h"
#include "app/json.h"
#include "app/text.h"
#include "inputs/file.h"

typedef struct compare_options {
    const char *dataset;
    double atol, rtol, rms; /* rms NaN: not given */
    const char *json;
    bool force, quiet;
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
     .help =
         "files count as equal where the root mean square of a - b is at most T; cells are looked at only "
         "where --atol or --rtol is given, too"},
    {"json", 0, OPTION_TEXT, AT(json), "FILE", .help = "write the result as JSON; - is standard output"},
    {"force", 'f', OPTION_FLAG, AT(force), NULL, .help = "replace an existing file", .needs = "json"},
    {"quiet", 'q', OPTION_FLAG, AT(quiet), NULL, .help = "print nothing, only set the exit code"},
    {NULL},
};

/* Elements that are read at a time. */
enum { BLOCK_ELEMENTS = 1 << 20 };

/* What was found. */
typedef struct difference {
    const char *what; /* "" equal, "shape", "type", "values" */
    int64_t count;    /* cells beyond atol and rtol */
    bool any, beyond; /* some cell differs at all; the largest difference is of a cell that counts */
    double largest;   /* largest |a - b|, of the cells that count where there are some; infinite where one of
                         them is not finite */
    int64_t at;       /* where, counted in array order */
    double a, b;      /* the values there */
    long double apart, of_b; /* sums of squares, of a - b and of b: no square of a double overflows */
    double rms, relative;    /* of a - b; over that of b, NaN where that is 0 or not finite */
} difference;

/* A comparison of two datasets. */
typedef struct comparison {
    compare_options options; /* first: what the table fills */
    bool cells;              /* each cell counts, not only the root mean square */
    bool types;              /* types count: nobody gave a tolerance */
    stencil_spec spec[2];    /* the names of the fields of A and B */
    const stencil_dataset *a, *b;
    difference found;
} comparison;

static void compare_block(comparison *c, const double *a, const double *b, int64_t count, int64_t first) {
    difference *found = &c->found;
    for (int64_t i = 0; i < count; i++) {
        found->of_b += (long double)b[i] * b[i];
        /* Equal infinities and two NaN are no difference, and inf - inf would be NaN. */
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
    for (int64_t first = 0, block = 0; first < c->a->count; first += block) {
        TRY(stencil_dataset_read(c->a, first, BLOCK_ELEMENTS, H5T_NATIVE_DOUBLE, values, &block));
        TRY(stencil_dataset_read(c->b, first, BLOCK_ELEMENTS, H5T_NATIVE_DOUBLE, values + BLOCK_ELEMENTS,
                                 &block));
        compare_block(c, values, values + BLOCK_ELEMENTS, block, first);
    }
    return STENCIL_OK;
}

static stencil_status compare_datasets(comparison *c) {
    const stencil_dataset *a = c->a, *b = c->b;
    difference *found = &c->found;
    *found = (difference){.what = "", .rms = NAN, .relative = NAN};
    if (a->rank != b->rank || memcmp(a->extent, b->extent, (size_t)a->rank * sizeof *a->extent) != 0) {
        found->what = "shape";
        return STENCIL_OK;
    }
    if (c->types && strcmp(a->type, b->type) != 0) {
        found->what = "type";
        return STENCIL_OK;
    }
    double *values = malloc(2 * sizeof(double) * BLOCK_ELEMENTS);
    CHECK(values != NULL, NO_MEMORY, "no memory to compare %s and %s", a->path, b->path);
    const stencil_status status = compare_values(c, values);
    free(values);
    const double of_b = mean_root(found->of_b, a->count);
    found->rms = mean_root(found->apart, a->count);
    found->relative = of_b > 0 && isfinite(of_b) && isfinite(found->rms) ? found->rms / of_b : NAN;
    if ((c->cells && found->count > 0) || found->rms > c->options.rms)
        found->what = "values";
    return status;
}

/* " within atol 0.1, rms 0.01": the tolerances that count. */
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

static bool has_one_name(const comparison *c) {
    return strcmp(c->a->name, c->b->name) == 0;
}

/* "/u", "/u and /temperature". */
#define NAMES_TEXT(c) (has_one_name(c) ? (c)->a->name : TEXT("%s and %s", (c)->a->name, (c)->b->name))

/* How far apart the values are. */
static void print_distance(const comparison *c) {
    int64_t index[H5S_MAX_RANK];
    stencil_dataset_index(c->a, c->found.at, index);
    printf("  largest difference  %s at %s\n", TEXT_REAL(c->found.largest), TEXT_LIST(index, c->a->rank));
    printf("  values there        %s and %s\n", TEXT_REAL(c->found.a), TEXT_REAL(c->found.b));
    printf("  root mean square    %.6g", c->found.rms);
    if (!isnan(c->found.relative))
        printf(", %.4g of that of the second file", c->found.relative);
    printf("\n");
}

static void print_values(const comparison *c) {
    const stencil_dataset *a = c->a, *b = c->b;
    const char *cells = TEXT_COUNTED(a->count, "cell");
    if (c->found.what[0] == '\0') {
        const bool types = strcmp(a->type, b->type) != 0;
        printf("%s %s equal", NAMES_TEXT(c), has_one_name(c) ? "is" : "are");
        if (c->found.any)
            print_within(c);
        printf(" in %s%s (%s%s%s)\n", a->count == 1 ? "" : "all ", cells, a->type, types ? " and " : "",
               types ? b->type : "");
    } else if (c->cells && c->found.count > 0) {
        printf("%s differ%s in %s of %s (%.3g %%)\n", NAMES_TEXT(c), has_one_name(c) ? "s" : "",
               TEXT_COUNT(c->found.count), cells, 100.0 * (double)c->found.count / (double)a->count);
    } else {
        printf("%s differ%s by a root mean square of more than %g\n", NAMES_TEXT(c),
               has_one_name(c) ? "s" : "", c->options.rms);
    }
    if (c->found.any)
        print_distance(c);
}

static void print_result(const comparison *c) {
    const stencil_dataset *a = c->a, *b = c->b;
    printf("%s and %s: ", TEXT_ESCAPE(a->path), TEXT_ESCAPE(b->path));
    if (strcmp(c->found.what, "shape") == 0)
        printf("%s differ%s in shape: %s and %s\n", NAMES_TEXT(c), has_one_name(c) ? "s" : "",
               TEXT_LIST(a->extent, a->rank), TEXT_LIST(b->extent, b->rank));
    else if (strcmp(c->found.what, "type") == 0)
        printf("%s differs in type: %s and %s; with --atol, --rtol or --rms the values are compared\n",
               a->name, a->type, b->type);
    else
        print_values(c);
}

static json_t *result_json(const comparison *c) {
    const stencil_dataset *a = c->a, *b = c->b;
    const difference *found = &c->found;
    json_t *root = json_pack(
        "{s:i, s:s, s:[o, o], s:o, s:[s, s], s:o, s:o, s:o, s:b, s:s, s:I, s:I, s:o, s:o}", "schema_version",
        2, "command", "compare", "files", json_text(a->path), json_text(b->path), "dataset",
        json_text(a->name), "types", a->type, b->type, "atol", json_number(c->options.atol), "rtol",
        json_number(c->options.rtol), "rms", json_number(c->options.rms), "equal", found->what[0] == '\0',
        "differs_in", found->what, "cells", (json_int_t)a->count, "differing_cells", (json_int_t)found->count,
        "rms_difference", json_number(found->rms), "rms_relative", json_number(found->relative));
    if (root != NULL && found->any) {
        int64_t index[H5S_MAX_RANK];
        stencil_dataset_index(a, found->at, index);
        json_object_set_new(root, "largest_difference", json_number(found->largest));
        json_object_set_new(root, "index", json_integers(index, a->rank));
        json_object_set_new(root, "values",
                            json_pack("[o, o]", json_number(found->a), json_number(found->b)));
    }
    return root;
}

/* Finds the name that a file gives to its field, and whether the file holds a dataset of another name. */
static stencil_status find_field(const char *path, const char *other, stencil_spec *spec, bool *holds) {
    hid_t opened = -1;
    bool passed_over;
    const stencil_status status = stencil_h5_open(path, &opened);
    STENCIL_HANDLE file = opened;
    TRY(status);
    stencil_spec_init(spec);
    *holds = other != NULL && H5Lexists(file, other, H5P_DEFAULT) > 0;
    return stencil_field_choose(file, path, NULL, spec, &passed_over);
}

/* The fields of both files; where one of them states a name that both have, that one. */
static stencil_status find_names(comparison *c, const char *const *path, const char *name[2]) {
    bool holds[2];
    TRY(find_field(path[0], NULL, &c->spec[0], &holds[0]));
    TRY(find_field(path[1], stencil_spec_field(&c->spec[0]), &c->spec[1], &holds[1]));
    TRY(find_field(path[0], stencil_spec_field(&c->spec[1]), &c->spec[0], &holds[0]));
    const bool stated[2] = {c->spec[0].field[0] != '\0', c->spec[1].field[0] != '\0'};
    for (int i = 0; i < 2; i++)
        name[i] = stencil_spec_field(&c->spec[stated[1 - i] && !stated[i] && holds[i] ? 1 - i : i]);
    return STENCIL_OK;
}

/* The dataset keeps its file open. */
static stencil_status open_dataset(stencil_dataset *dataset, const char *path, const char *name) {
    static const char advice[] = "name another one with --dataset";
    hid_t opened = -1;
    const stencil_status status = stencil_h5_open(path, &opened);
    STENCIL_HANDLE file = opened;
    TRY(status);
    TRY(stencil_dataset_open(dataset, file, path, name, advice));
    CHECK(dataset->id != 0, BAD_DATA, "'%s' has no dataset %s: %s", path, name, advice);
    return STENCIL_OK;
}

static stencil_status compare_run(const invocation *call, int *exit_code) {
    comparison *c = call->values;
    const compare_options *options = &c->options;
    const bool cells = options_given(call, "atol") || options_given(call, "rtol");
    const bool rms = !isnan(options->rms);
    STENCIL_DATASET a = {0};
    STENCIL_DATASET b = {0};
    c->a = &a;
    c->b = &b;
    c->cells = cells || !rms;
    c->types = !cells && !rms;
    for (int i = 0; i < 2; i++)
        TRY(target_check("--json", options->json, options->force, call->operand[i]));
    const char *name[2] = {options->dataset, options->dataset};
    if (options->dataset == NULL)
        TRY(find_names(c, call->operand, name));
    TRY(open_dataset(&a, call->operand[0], name[0]));
    TRY(open_dataset(&b, call->operand[1], name[1]));
    TRY(compare_datasets(c));
    *exit_code = c->found.what[0] == '\0' ? 0 : stencil_status_exit_code(STENCIL_DIFFERENT);
    if (!options->quiet && !target_is_stdout(options->json))
        print_result(c);
    return json_write(options->json, options->force, options->json != NULL ? result_json(c) : NULL);
}

const command command_compare = {
    .name = "compare",
    .usage = "compare [options] A B",
    .summary = "compares two files: same shape, type and values (exit code 0), or not (1)",
    .details =
        "A cell a of A counts as equal to b of B where |a - b| <= atol + rtol |b|, which is the rule of "
        "numpy.allclose. A NaN equals a NaN, an infinity only itself, and -0 equals 0. Where values "
        "differ, the number of cells that do not count as equal is printed, the largest difference with "
        "its index in array order (z, y, x), and the root mean square of a - b, also over that of b. "
        "Files of different types are different; with --atol, --rtol or --rms their values are "
        "compared, in double.",
    .options = compare_table,
    .values_size = sizeof(comparison),
    .operand_min = 2,
    .operand_max = 2,
    .run = compare_run,
};
