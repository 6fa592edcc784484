/* Results for people, at 80 columns. */
#include <string.h>

#include "app/bench.h"
#include "app/options.h"

enum { LABEL_COLUMNS = 12 };

typedef struct printer {
    FILE *out;
    char last[16]; /* label of the line before */
} printer;

static void print_line(void *context, const char *label, const char *text) {
    printer *p = context;
    const bool again = strcmp(label, p->last) == 0;
    options_print_wrapped(p->out, text, fprintf(p->out, "%-*s", LABEL_COLUMNS, again ? "" : label),
                          LABEL_COLUMNS);
    snprintf(p->last, sizeof p->last, "%s", label);
}

static void print_section(void *context, const char *title, const table *t) {
    const printer *p = context;
    fputc('\n', p->out);
    if (title[0] != '\0')
        options_print_wrapped(p->out, title, 0, 2);
    table_print(p->out, t);
}

void bench_print(FILE *out, const stencil_bench_result *result, double max_noise) {
    printer p = {.out = out};
    print_line(&p, "Benchmark", result->benchmark);
    bench_visit_head(result, print_line, &p);
    if (result->skipped[0] != '\0')
        return;
    if (bench_visit_sections(result, print_section, &p) != STENCIL_OK)
        print_line(&p, "Tables", stencil_error_last()->message);
    fputc('\n', out);
    bench_visit_foot(result, max_noise, print_line, &p);
}
