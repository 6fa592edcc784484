/* Result rows that were not measured: rows with the same reason share a line of text. */
#include <string.h>

#include "app/bench.h"
#include "app/text.h"
#include "base/words.h"

enum { NAMES_FEW = 3 };

static bool is_alike(const stencil_bench_row *a, const stencil_bench_row *b) {
    return strcmp(a->skipped, b->skipped) == 0;
}

bool bench_skip_is_shared(const stencil_bench_result *result, const stencil_bench_row *row) {
    int alike = 0;
    for (int i = 0; i < result->row_count && row->skipped[0] != '\0'; i++)
        alike += is_alike(&result->row[i], row);
    return alike > 1;
}

/* Finds the sweep in a row's name such as "neighbor/resident/store", and its length; NULL: none. */
static const char *sweep_of(const stencil_bench_row *row, size_t *length) {
    const char *slash = strchr(row->name, '/');
    *length = slash != NULL ? strcspn(slash + 1, "/") : 0;
    return slash != NULL ? slash + 1 : NULL;
}

/* Appends the names of all rows skipped for the same reason as `first`: a few names as they are, many names
 * as a pattern if one fits all. */
static void add_names(const stencil_bench_result *result, const stencil_bench_row *first, char *text,
                      size_t size) {
    size_t length, other_length;
    const char *sweep = sweep_of(first, &length);
    char list[TEXT_NAME_SIZE] = "";
    int names = 0;
    bool same = sweep != NULL;
    for (int i = 0; i < result->row_count; i++) {
        const stencil_bench_row *row = &result->row[i];
        bool seen = !is_alike(row, first);
        for (int k = 0; k < i && !seen; k++)
            seen = is_alike(&result->row[k], first) && strcmp(result->row[k].name, row->name) == 0;
        if (seen)
            continue;
        const char *other = sweep_of(row, &other_length);
        same = same && other != NULL && other_length == length && strncmp(sweep, other, length) == 0;
        stencil_text_add(list, sizeof list, "%s%s", names++ > 0 ? ", " : "", row->name);
    }
    if (same && names > NAMES_FEW)
        stencil_text_add(text, size, "%d strategies with %.*s", names, (int)length, sweep);
    else
        stencil_text_add(text, size, "%s", list);
}

/* Appends the axis values at which rows are skipped as `first` is, unless all values are. */
static void add_places(const stencil_bench_result *result, const stencil_bench_row *first, char *text,
                       size_t size) {
    char list[TEXT_NAME_SIZE / 2] = "";
    bool all = true;
    for (int i = 0; i < result->row_count; i++) {
        const stencil_bench_row *row = &result->row[i];
        bool seen = false, here = false;
        if (row->axis_count != 1)
            return;
        for (int k = 0; k < result->row_count; k++)
            if (result->row[k].axis[0].number == row->axis[0].number) {
                seen = seen || k < i;
                here = here || is_alike(&result->row[k], first);
            }
        all = all && here;
        if (here && !seen)
            stencil_text_add(list, sizeof list, "%s%lld", list[0] != '\0' ? ", " : "",
                             (long long)row->axis[0].number);
    }
    if (!all)
        stencil_text_add(text, size, ", %s %s", first->axis[0].name, list);
}

bool bench_skipped_text(const stencil_bench_result *result, int row, char *text, size_t size) {
    const stencil_bench_row *first = &result->row[row];
    bool said = !bench_skip_is_shared(result, first);
    for (int k = 0; k < row && !said; k++)
        said = is_alike(&result->row[k], first);
    if (said)
        return false;
    text[0] = '\0';
    add_names(result, first, text, size);
    add_places(result, first, text, size);
    stencil_text_add(text, size, ": %s", first->skipped);
    return true;
}
