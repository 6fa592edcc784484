/* stencil compare: are two datasets equal, and if not, where and by how much? */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/commands.h"
#include "app/h5file.h"
#include "app/json.h"
#include "app/text.h"

typedef struct compare_options {
    const char *dataset;
    double tolerance;
    const char *json;
    bool force, quiet;
} compare_options;

#define AT(field) offsetof(compare_options, field)
static const option compare_table[] = {
    {"dataset", 0, OPTION_TEXT, AT(dataset), "PATH", .help = "dataset to compare", .preset = "/u"},
    {"tolerance", 0, OPTION_REAL, AT(tolerance), "T",
     .help = "cells count as equal where |a - b| <= T (absolute)", .preset = "0"},
    {"json", 0, OPTION_TEXT, AT(json), "FILE", .help = "write the result as JSON; - is standard output"},
    {"force", 'f', OPTION_FLAG, AT(force), NULL, .help = "replace an existing file", .needs = "json"},
    {"quiet", 'q', OPTION_FLAG, AT(quiet), NULL, .help = "print nothing, only set the exit code"},
    {NULL},
};
static const option_group compare_groups[] = {{"Options", compare_table, 0}, {NULL}};

/* Elements that are read at a time. */
enum { BLOCK_ELEMENTS = 1 << 20 };

/* What was found. */
typedef struct difference {
    const char *what; /* "" equal, "shape", "type", "values" */
    int64_t count;    /* differing elements */
    double largest;   /* largest |a - b|; infinite where one of them is not finite */
    int64_t at;       /* where, counted in array order */
    double a, b;      /* the values there */
} difference;

static void compare_block(const double *a, const double *b, int64_t count, int64_t first, double tolerance,
                          difference *found) {
    for (int64_t i = 0; i < count; i++) {
        /* Equal infinities and two NaN are no difference, and inf - inf would be NaN. */
        if (a[i] == b[i] || (isnan(a[i]) && isnan(b[i])))
            continue;
        double distance = fabs(a[i] - b[i]);
        if (distance <= tolerance)
            continue;
        if (isnan(distance))
            distance = INFINITY;
        if (found->count++ == 0 || distance > found->largest) {
            found->largest = distance;
            found->at = first + i;
            found->a = a[i];
            found->b = b[i];
        }
    }
}

/* Calls compare_block on blocks that are contiguous in array order: whole inner axes, a run along `split`,
 * one index of every outer axis. */
static stencil_status compare_values(const h5_dataset *a, const h5_dataset *b, double *values,
                                     double tolerance, difference *found) {
    if (a->count == 0)
        return STENCIL_OK;
    int split = a->rank - 1;
    int64_t inner = 1;
    while (split > 0 && inner * (int64_t)a->extent[split] <= BLOCK_ELEMENTS)
        inner *= (int64_t)a->extent[split--];
    const int64_t run = BLOCK_ELEMENTS / inner;
    hsize_t start[H5S_MAX_RANK] = {0}, count[H5S_MAX_RANK];
    for (int axis = 0; axis < a->rank; axis++)
        count[axis] = axis < split ? 1 : a->extent[axis];
    for (int64_t first = 0; first < a->count;) {
        int64_t block = 1;
        if (a->rank > 0) {
            const int64_t left = (int64_t)(a->extent[split] - start[split]);
            count[split] = (hsize_t)(left < run ? left : run);
            block = (int64_t)count[split] * inner;
        }
        TRY(h5_dataset_read(a, start, count, H5T_NATIVE_DOUBLE, values));
        TRY(h5_dataset_read(b, start, count, H5T_NATIVE_DOUBLE, values + BLOCK_ELEMENTS));
        compare_block(values, values + BLOCK_ELEMENTS, block, first, tolerance, found);
        first += block;
        for (int axis = split; axis >= 0; axis--) {
            start[axis] += count[axis];
            if (start[axis] < a->extent[axis])
                break;
            start[axis] = 0;
        }
    }
    if (found->count > 0)
        found->what = "values";
    return STENCIL_OK;
}

static const char *extent_text(const h5_dataset *d, char *text, size_t size) {
    size_t used = (size_t)snprintf(text, size, "[");
    for (int axis = 0; axis < d->rank && used < size; axis++)
        used += (size_t)snprintf(text + used, size - used, "%s%llu", axis > 0 ? ", " : "",
                                 (unsigned long long)d->extent[axis]);
    if (used < size)
        snprintf(text + used, size - used, "]");
    return text;
}

/* The index of an element, counted in array order, per axis. */
static void element_index(const h5_dataset *d, int64_t element, int64_t index[H5S_MAX_RANK]) {
    for (int axis = d->rank - 1; axis >= 0; axis--) {
        index[axis] = element % (int64_t)d->extent[axis];
        element /= (int64_t)d->extent[axis];
    }
}

static void print_values_differ(char file[2][TEXT_NAME_SIZE], const h5_dataset *a, const difference *found) {
    char where[256] = "[";
    int64_t index[H5S_MAX_RANK];
    element_index(a, found->at, index);
    size_t used = 1;
    for (int axis = 0; axis < a->rank && used < sizeof where - 24; axis++)
        used += (size_t)snprintf(where + used, sizeof where - used, "%s%" PRId64, axis > 0 ? ", " : "",
                                 index[axis]);
    char differing[TEXT_SIZE], all[TEXT_SIZE];
    printf("%s and %s: %s differs in %s of %s cells (%.3g %%)\n", file[0], file[1], a->name,
           text_count(found->count, differing), text_count(a->count, all),
           100.0 * (double)found->count / (double)a->count);
    printf("  largest difference  %.17g at %s]\n", found->largest, where);
    printf("  values there        %.17g and %.17g\n", found->a, found->b);
}

static void print_result(const h5_dataset *a, const h5_dataset *b, double tolerance,
                         const difference *found) {
    char first[256], second[256], file[2][TEXT_NAME_SIZE];
    text_escape(a->path, file[0], TEXT_NAME_SIZE);
    text_escape(b->path, file[1], TEXT_NAME_SIZE);
    if (strcmp(found->what, "shape") == 0)
        printf("%s and %s: %s differs in shape: %s and %s\n", file[0], file[1], a->name,
               extent_text(a, first, sizeof first), extent_text(b, second, sizeof second));
    else if (strcmp(found->what, "type") == 0)
        printf("%s and %s: %s differs in type: %s and %s\n", file[0], file[1], a->name, a->type, b->type);
    else if (found->count > 0)
        print_values_differ(file, a, found);
    else if (tolerance > 0)
        printf("%s and %s: %s is equal within %g in all %" PRId64 " cells (%s)\n", file[0], file[1], a->name,
               tolerance, a->count, a->type);
    else
        printf("%s and %s: %s is equal in all %" PRId64 " cells (%s)\n", file[0], file[1], a->name, a->count,
               a->type);
}

static json_t *result_json(const h5_dataset *a, const h5_dataset *b, double tolerance,
                           const difference *found) {
    json_t *root =
        json_pack("{s:i, s:s, s:[s, s], s:s, s:o, s:b, s:s, s:I, s:I}", "schema_version", 1, "command",
                  "compare", "files", a->path, b->path, "dataset", a->name, "tolerance",
                  json_number(tolerance), "equal", found->what[0] == '\0', "differs_in", found->what, "cells",
                  (json_int_t)a->count, "differing_cells", (json_int_t)found->count);
    if (root != NULL && found->count > 0) {
        int64_t index[H5S_MAX_RANK];
        element_index(a, found->at, index);
        json_t *where = json_array();
        for (int axis = 0; axis < a->rank; axis++)
            json_array_append_new(where, json_integer(index[axis]));
        json_object_set_new(root, "largest_difference", json_number(found->largest));
        json_object_set_new(root, "index", where);
        json_object_set_new(root, "values",
                            json_pack("[o, o]", json_number(found->a), json_number(found->b)));
    }
    return root;
}

static stencil_status compare_datasets(const h5_dataset *a, const h5_dataset *b, double tolerance,
                                       difference *found) {
    *found = (difference){.what = ""};
    if (a->rank != b->rank || memcmp(a->extent, b->extent, (size_t)a->rank * sizeof *a->extent) != 0) {
        found->what = "shape";
        return STENCIL_OK;
    }
    if (strcmp(a->type, b->type) != 0) {
        found->what = "type";
        return STENCIL_OK;
    }
    double *values = malloc(2 * sizeof(double) * BLOCK_ELEMENTS);
    CHECK(values != NULL, NO_MEMORY, "no memory to compare %s and %s", a->path, b->path);
    const stencil_status status = compare_values(a, b, values, tolerance, found);
    free(values);
    return status;
}

static stencil_status compare_open(const invocation *call, h5_dataset *a, h5_dataset *b, int *exit_code) {
    const compare_options *options = call->values;
    for (int i = 0; i < 2; i++)
        TRY(json_check_target(options->json, options->force, call->operand[i]));
    const char *advice = "name another one with --dataset";
    TRY(h5_dataset_open(a, call->operand[0], options->dataset, advice));
    TRY(h5_dataset_open(b, call->operand[1], options->dataset, advice));
    difference found;
    TRY(compare_datasets(a, b, options->tolerance, &found));
    *exit_code = found.what[0] == '\0' ? 0 : stencil_status_exit_code(STENCIL_DIFFERENT);
    if (!options->quiet && !json_is_stdout(options->json))
        print_result(a, b, options->tolerance, &found);
    return json_write(options->json, options->force,
                      options->json != NULL ? result_json(a, b, options->tolerance, &found) : NULL);
}

static stencil_status compare_run(const invocation *call, int *exit_code) {
    h5_dataset a = {.file = H5I_INVALID_HID, .dataset = H5I_INVALID_HID}, b = a;
    const stencil_status status = compare_open(call, &a, &b, exit_code);
    h5_dataset_close(&a);
    h5_dataset_close(&b);
    return status;
}

const command command_compare = {
    .name = "compare",
    .usage = "compare [options] A B",
    .summary = "compares two files: same shape, type and values (exit code 0), or not (1)",
    .details =
        "A NaN equals a NaN, and -0 equals 0. Where the files differ, the number of differing cells is "
        "printed and the largest difference with its index in array order (z, y, x).",
    .groups = compare_groups,
    .values_size = sizeof(compare_options),
    .operand_min = 2,
    .operand_max = 2,
    .run = compare_run,
};
