/* stencil compare: are two datasets equal, and if not, where and by how much? */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/options.h"
#include "app/h5file.h"
#include "app/json.h"
#include "app/text.h"

typedef struct compare_options {
    const char *dataset;
    double atol, rtol, rms; /* rms NaN: not given */
    const char *json;
    bool force, quiet;
} compare_options;

#define AT(field) OPTION_AT(compare_options, field)
static const option compare_table[] = {
    {"dataset", 0, OPTION_TEXT, AT(dataset), "PATH", .help = "dataset to compare", .preset = "/u"},
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
static const option_group compare_groups[] = {{"Options", compare_table, 0}, {NULL}};

/* Elements that are read at a time. */
enum { BLOCK_ELEMENTS = 1 << 20 };

/* What counts as equal. */
typedef struct equality {
    double atol, rtol, rms; /* rms NaN: does not count */
    bool cells;             /* each cell counts */
    bool types;             /* types count: nobody gave a tolerance */
} equality;

/* The root of a sum of squares is scale * sqrt(sum), so that no square overflows. */
typedef struct squares {
    double scale, sum;
} squares;

/* What was found. */
typedef struct difference {
    const char *what; /* "" equal, "shape", "type", "values" */
    int64_t count;    /* cells beyond atol and rtol */
    bool any, beyond; /* some cell differs at all; the largest difference is of a cell that counts */
    double largest;   /* largest |a - b|, of the cells that count where there are some; infinite where one of
                         them is not finite */
    int64_t at;       /* where, counted in array order */
    double a, b;      /* the values there */
    squares apart, of_b;  /* a - b, and b */
    double rms, relative; /* of a - b; over that of b, NaN where that is 0 or not finite */
} difference;

static void add_square(squares *s, double value) {
    const double size = fabs(value);
    if (size == 0 || isinf(s->scale))
        return;
    if (!(size <= s->scale)) { /* NaN, too */
        s->sum = isfinite(size) ? 1 + s->sum * (s->scale / size) * (s->scale / size) : 1;
        s->scale = isfinite(size) ? size : INFINITY;
    } else {
        s->sum += (size / s->scale) * (size / s->scale);
    }
}

static double mean_root(const squares *s, int64_t count) {
    return count > 0 ? s->scale * sqrt(s->sum / (double)count) : 0;
}

static void compare_block(const double *a, const double *b, int64_t count, int64_t first,
                          const equality *equality, difference *found) {
    for (int64_t i = 0; i < count; i++) {
        add_square(&found->of_b, b[i]);
        /* Equal infinities and two NaN are no difference, and inf - inf would be NaN. */
        if (a[i] == b[i] || (isnan(a[i]) && isnan(b[i])))
            continue;
        const double distance = isfinite(a[i] - b[i]) ? fabs(a[i] - b[i]) : INFINITY;
        const bool beyond = isinf(distance) || distance > equality->atol + equality->rtol * fabs(b[i]);
        add_square(&found->apart, distance);
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

/* The index of an element, counted in array order, per axis. */
static void element_index(const h5_dataset *d, int64_t element, int64_t index[H5S_MAX_RANK]) {
    for (int axis = d->rank - 1; axis >= 0; axis--) {
        index[axis] = element % (int64_t)d->extent[axis];
        element /= (int64_t)d->extent[axis];
    }
}

/* Calls compare_block on blocks that are contiguous in array order: whole inner axes, a run along `split`,
 * one index of every outer axis. */
static stencil_status compare_values(const h5_dataset *a, const h5_dataset *b, double *values,
                                     const equality *equality, difference *found) {
    int split = a->rank > 0 ? a->rank - 1 : 0;
    int64_t inner = 1, block = 1, start[H5S_MAX_RANK] = {0};
    while (split > 0 && inner * (int64_t)a->extent[split] <= BLOCK_ELEMENTS)
        inner *= (int64_t)a->extent[split--];
    hsize_t at[H5S_MAX_RANK], count[H5S_MAX_RANK];
    for (int64_t first = 0; first < a->count; first += block) {
        element_index(a, first, start);
        for (int axis = 0; axis < a->rank; axis++) {
            at[axis] = (hsize_t)start[axis];
            count[axis] = axis < split ? 1 : a->extent[axis] - at[axis];
        }
        if (a->rank > 0) {
            if (count[split] > (hsize_t)(BLOCK_ELEMENTS / inner))
                count[split] = (hsize_t)(BLOCK_ELEMENTS / inner);
            block = (int64_t)count[split] * inner;
        }
        TRY(h5_dataset_read(a, at, count, H5T_NATIVE_DOUBLE, values));
        TRY(h5_dataset_read(b, at, count, H5T_NATIVE_DOUBLE, values + BLOCK_ELEMENTS));
        compare_block(values, values + BLOCK_ELEMENTS, block, first, equality, found);
    }
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

/* "atol 0.1, rms 0.01": the tolerances that count (returned). */
static const char *within_text(const equality *equality, char *text, size_t size) {
    const struct {
        const char *name;
        double value;
        bool counts;
    } part[] = {{"atol", equality->atol, equality->cells && equality->atol > 0},
                {"rtol", equality->rtol, equality->cells && equality->rtol > 0},
                {"rms", equality->rms, !isnan(equality->rms)}};
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        if (part[i].counts)
            used += (size_t)snprintf(text + used, size - used, "%s%s %g", used > 0 ? ", " : "", part[i].name,
                                     part[i].value);
    return text;
}

/* How far apart the values are. */
static void print_distance(const h5_dataset *a, const difference *found) {
    char where[256] = "", relative[64] = "";
    int64_t index[H5S_MAX_RANK];
    element_index(a, found->at, index);
    size_t used = 0;
    for (int axis = 0; axis < a->rank && used < sizeof where - 24; axis++)
        used += (size_t)snprintf(where + used, sizeof where - used, "%s%" PRId64, axis > 0 ? ", " : "",
                                 index[axis]);
    if (!isnan(found->relative))
        snprintf(relative, sizeof relative, ", %.4g of that of the second file", found->relative);
    printf("  largest difference  %.17g at [%s]\n", found->largest, where);
    printf("  values there        %.17g and %.17g\n", found->a, found->b);
    printf("  root mean square    %.6g%s\n", found->rms, relative);
}

static void print_values(const h5_dataset *a, const h5_dataset *b, const equality *equality,
                         const difference *found) {
    char within[128], differing[TEXT_SIZE], all[TEXT_SIZE];
    within_text(equality, within, sizeof within);
    text_count(a->count, all);
    if (found->what[0] == '\0')
        printf("%s is equal%s%s in %s%s cell%s (%s%s%s)\n", a->name, found->any ? " within " : "",
               found->any ? within : "", a->count == 1 ? "" : "all ", all, stencil_plural(a->count), a->type,
               strcmp(a->type, b->type) != 0 ? " and " : "", strcmp(a->type, b->type) != 0 ? b->type : "");
    else if (equality->cells && found->count > 0)
        printf("%s differs in %s of %s cell%s (%.3g %%)\n", a->name, text_count(found->count, differing), all,
               stencil_plural(a->count), 100.0 * (double)found->count / (double)a->count);
    else
        printf("%s differs by a root mean square of more than %g\n", a->name, equality->rms);
    if (found->any)
        print_distance(a, found);
}

static void print_result(const h5_dataset *a, const h5_dataset *b, const equality *equality,
                         const difference *found) {
    char first[256], second[256], file[2][TEXT_NAME_SIZE];
    printf("%s and %s: ", text_escape(a->path, file[0], TEXT_NAME_SIZE),
           text_escape(b->path, file[1], TEXT_NAME_SIZE));
    if (strcmp(found->what, "shape") == 0)
        printf("%s differs in shape: %s and %s\n", a->name, extent_text(a, first, sizeof first),
               extent_text(b, second, sizeof second));
    else if (strcmp(found->what, "type") == 0)
        printf("%s differs in type: %s and %s; with --atol, --rtol or --rms the values are compared\n",
               a->name, a->type, b->type);
    else
        print_values(a, b, equality, found);
}

static json_t *result_json(const h5_dataset *a, const h5_dataset *b, const equality *equality,
                           const difference *found) {
    json_t *root = json_pack(
        "{s:i, s:s, s:[o, o], s:o, s:[s, s], s:o, s:o, s:o, s:b, s:s, s:I, s:I, s:o, s:o}", "schema_version",
        2, "command", "compare", "files", json_text(a->path), json_text(b->path), "dataset",
        json_text(a->name), "types", a->type, b->type, "atol", json_number(equality->atol), "rtol",
        json_number(equality->rtol), "rms", json_number(equality->rms), "equal", found->what[0] == '\0',
        "differs_in", found->what, "cells", (json_int_t)a->count, "differing_cells", (json_int_t)found->count,
        "rms_difference", json_number(found->rms), "rms_relative", json_number(found->relative));
    if (root != NULL && found->any) {
        int64_t index[H5S_MAX_RANK];
        element_index(a, found->at, index);
        json_object_set_new(root, "largest_difference", json_number(found->largest));
        json_object_set_new(root, "index", json_integers(index, a->rank));
        json_object_set_new(root, "values",
                            json_pack("[o, o]", json_number(found->a), json_number(found->b)));
    }
    return root;
}

static stencil_status compare_datasets(const h5_dataset *a, const h5_dataset *b, const equality *equality,
                                       difference *found) {
    *found = (difference){.what = "", .rms = NAN, .relative = NAN};
    if (a->rank != b->rank || memcmp(a->extent, b->extent, (size_t)a->rank * sizeof *a->extent) != 0) {
        found->what = "shape";
        return STENCIL_OK;
    }
    if (equality->types && strcmp(a->type, b->type) != 0) {
        found->what = "type";
        return STENCIL_OK;
    }
    double *values = malloc(2 * sizeof(double) * BLOCK_ELEMENTS);
    CHECK(values != NULL, NO_MEMORY, "no memory to compare %s and %s", a->path, b->path);
    const stencil_status status = compare_values(a, b, values, equality, found);
    free(values);
    const double of_b = mean_root(&found->of_b, a->count);
    found->rms = mean_root(&found->apart, a->count);
    found->relative = of_b > 0 && isfinite(of_b) && isfinite(found->rms) ? found->rms / of_b : NAN;
    if ((equality->cells && found->count > 0) || found->rms > equality->rms)
        found->what = "values";
    return status;
}

static stencil_status compare_open(const invocation *call, h5_dataset *a, h5_dataset *b, int *exit_code) {
    const compare_options *options = call->values;
    const bool cells = options_given(call, "atol") || options_given(call, "rtol");
    const bool rms = !isnan(options->rms);
    const equality equality = {options->atol, options->rtol, options->rms, cells || !rms, !cells && !rms};
    for (int i = 0; i < 2; i++)
        TRY(target_check("--json", options->json, options->force, call->operand[i]));
    const char *advice = "name another one with --dataset";
    TRY(h5_dataset_open(a, call->operand[0], options->dataset, advice));
    TRY(h5_dataset_open(b, call->operand[1], options->dataset, advice));
    difference found;
    TRY(compare_datasets(a, b, &equality, &found));
    *exit_code = found.what[0] == '\0' ? 0 : stencil_status_exit_code(STENCIL_DIFFERENT);
    if (!options->quiet && !target_is_stdout(options->json))
        print_result(a, b, &equality, &found);
    return json_write(options->json, options->force,
                      options->json != NULL ? result_json(a, b, &equality, &found) : NULL);
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
        "A cell a of A counts as equal to b of B where |a - b| <= atol + rtol |b|, which is the rule of "
        "numpy.allclose. A NaN equals a NaN, an infinity only itself, and -0 equals 0. Where values differ, "
        "the "
        "number of cells that do not count as equal is printed, the largest difference with its index in "
        "array "
        "order (z, y, x), and the root mean square of a - b, also over that of b. Files of different types "
        "are "
        "different; with --atol, --rtol or --rms their values are compared, in double.",
    .groups = compare_groups,
    .values_size = sizeof(compare_options),
    .operand_min = 2,
    .operand_max = 2,
    .run = compare_run,
};
