/* What stands above and below the tables of a result. */
#include <math.h>
#include <string.h>

#include "app/bench.h"
#include "app/text.h"

enum { LINE_SIZE = 2048 };

/* Text that is put together piece by piece and never overflows. */
typedef struct line {
    char text[LINE_SIZE];
    size_t used;
} line;

static void append(line *l, const char *between, const char *text) {
    if (l->used >= sizeof l->text)
        return;
    l->used += (size_t)snprintf(l->text + l->used, sizeof l->text - l->used, "%s%s",
                                l->used > 0 ? between : "", text);
}

static void visit_device(const stencil_bench_result *result, bench_line_visitor visit, void *context) {
    char text[256];
    const double before = result->clock_hz[0], after = result->clock_hz[1];
    int used = snprintf(text, sizeof text, "%s: %s", result->backend == STENCIL_BACKEND_GPU ? "GPU" : "CPU",
                        result->device);
    if (!isnan(before) && !isnan(after) && fabs(after / before - 1) > 0.005)
        snprintf(text + used, sizeof text - (size_t)used, ", clock %.4g GHz before, %.4g after",
                 1e-9 * before, 1e-9 * after);
    else if (!isnan(before))
        snprintf(text + used, sizeof text - (size_t)used, ", clock %.4g GHz", 1e-9 * before);
    visit(context, "Device", text);
}

static void visit_parameters(const stencil_bench_result *result, bench_line_visitor visit, void *context) {
    line l = {.used = 0};
    for (int i = 0; i < result->parameter_count; i++) {
        const stencil_bench_parameter *p = &result->parameter[i];
        char number[TEXT_SIZE], text[256];
        snprintf(text, sizeof text, "%s %s", p->name,
                 p->text[0] != '\0' ? p->text : text_count(p->number, number));
        append(&l, ", ", text);
    }
    if (l.used > 0)
        visit(context, "Parameters", l.text);
}

static void visit_samples(const stencil_bench_result *result, bench_line_visitor visit, void *context) {
    int64_t least = INT64_MAX, most = 0;
    char text[160];
    for (int i = 0; i < result->row_count; i++) {
        const int64_t n = result->row[i].sample_count;
        least = n > 0 && n < least ? n : least;
        most = n > most ? n : most;
    }
    if (most == 0)
        return;
    int used = least == most ? snprintf(text, sizeof text, "%lld", (long long)most)
                             : snprintf(text, sizeof text, "%lld to %lld", (long long)least, (long long)most);
    used += snprintf(text + used, sizeof text - (size_t)used, " of each row, in turns");
    if (!isnan(result->seconds))
        snprintf(text + used, sizeof text - (size_t)used, "; %.1f s in all", result->seconds);
    visit(context, "Samples", text);
}

void bench_visit_head(const stencil_bench_result *result, bench_line_visitor visit, void *context) {
    if (result->skipped[0] != '\0') {
        visit(context, "Skipped", result->skipped);
        return;
    }
    if (result->device[0] != '\0')
        visit_device(result, visit, context);
    visit_parameters(result, visit, context);
    visit_samples(result, visit, context);
    if (result->failed[0] != '\0')
        visit(context, "FAILED", result->failed);
}

/* Why places of fields are empty; listed rows say it themselves. */
static void visit_skipped(const stencil_bench_result *result, bench_line_visitor visit, void *context) {
    for (int i = 0; i < result->row_count; i++) {
        const char *why = result->row[i].skipped;
        int same = 0;
        bool seen = false;
        for (int k = 0; k < result->row_count && why[0] != '\0'; k++)
            if (strcmp(result->row[k].skipped, why) == 0) {
                seen = seen || k < i;
                same++;
            }
        if (same < 2 || seen)
            continue;
        char text[256];
        snprintf(text, sizeof text, "%d rows: %s", same, why);
        visit(context, "Skipped", text);
    }
}

static void visit_noise(const stencil_bench_result *result, double max_noise, bench_line_visitor visit,
                        void *context) {
    int noisy = 0, measured = 0, unknown = 0;
    char text[160];
    for (int i = 0; i < result->row_count; i++) {
        measured += result->row[i].sample_count > 0;
        noisy += result->row[i].noisy;
        unknown += result->row[i].noisy && isnan(result->row[i].statistics.spread);
    }
    if (noisy == 0)
        return;
    if (unknown == noisy)
        snprintf(text, sizeof text, "~ marks %d of %d row%s: how far their samples spread is not known",
                 noisy, measured, stencil_plural(measured));
    else
        snprintf(text, sizeof text, "~ marks %d of %d row%s: their samples spread by more than %.3g %%",
                 noisy, measured, stencil_plural(measured), 100 * max_noise);
    visit(context, "Noise", text);
}

/* The different names of the rows that use a method; "" where all rows do. */
static void name_users(const stencil_bench_result *result, const char *method, line *names) {
    bool all = true;
    char last[96] = "", name[96];
    for (int i = 0; i < result->row_count; i++) {
        const stencil_bench_row *row = &result->row[i];
        if (row->method == NULL || strcmp(row->method, method) != 0) {
            all = false;
            continue;
        }
        bench_row_name(result, row, name, sizeof name);
        if (strcmp(name, last) != 0)
            append(names, ", ", name);
        snprintf(last, sizeof last, "%s", name);
    }
    if (all)
        *names = (line){.used = 0};
}

/* Each published method once. */
static void visit_methods(const stencil_bench_result *result, bench_line_visitor visit, void *context) {
    for (int i = 0; i < result->row_count; i++) {
        const char *method = result->row[i].method;
        bool seen = method == NULL;
        for (int k = 0; k < i && !seen; k++)
            seen = result->row[k].method != NULL && strcmp(result->row[k].method, method) == 0;
        if (seen)
            continue;
        line names = {.used = 0}, text = {.used = 0};
        name_users(result, method, &names);
        append(&text, "", method);
        if (names.used > 0)
            append(&text, ": ", names.text);
        visit(context, "Method", text.text);
    }
}

static void visit_formulas(const stencil_bench_result *result, bench_line_visitor visit, void *context) {
    const char *last = "";
    char text[160];
    for (int i = 0; i < result->row_count; i++) {
        const stencil_bench_row *row = &result->row[i];
        const char *per = strchr(row->unit, '/');
        if (row->formula[0] != '\0' && strcmp(row->formula, last) != 0) {
            snprintf(text, sizeof text, "per %s: %s", per != NULL ? per + 1 : "iteration", row->formula);
            visit(context, "Bytes", text);
        }
        last = row->formula;
    }
}

void bench_visit_foot(const stencil_bench_result *result, double max_noise, bench_line_visitor visit,
                      void *context) {
    visit_skipped(result, visit, context);
    visit_noise(result, max_noise, visit, context);
    visit_methods(result, visit, context);
    visit_formulas(result, visit, context);
    for (int i = 0; i < result->note_count; i++)
        visit(context, "Notes", result->note[i]);
}
