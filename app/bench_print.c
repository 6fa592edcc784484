/* Results for people: at 80 columns, and as Markdown. */
#include <string.h>
#include <time.h>

#include "app/bench.h"
#include "app/options.h"

enum { LABEL_COLUMNS = 12 };

typedef struct printer {
    FILE *out;
    bool markdown;
    char last[16]; /* label of the line before */
} printer;

/* Text in which nothing has a meaning to Markdown. */
static void print_escaped(FILE *out, const char *text) {
    for (; *text != '\0'; text++) {
        if (*text == '*' || *text == '`' || *text == '_' || *text == '<' || *text == '~')
            fputc('\\', out);
        fputc(*text, out);
    }
}

static void print_line(void *context, const char *label, const char *text) {
    printer *p = context;
    if (p->markdown) {
        fprintf(p->out, "- %s: ", label);
        print_escaped(p->out, text);
        fputc('\n', p->out);
        return;
    }
    const bool again = strcmp(label, p->last) == 0;
    options_print_wrapped(p->out, text, fprintf(p->out, "%-*s", LABEL_COLUMNS, again ? "" : label),
                          LABEL_COLUMNS);
    snprintf(p->last, sizeof p->last, "%s", label);
}

static void print_section(void *context, const char *title, const table *t) {
    const printer *p = context;
    fputc('\n', p->out);
    if (title[0] != '\0' && p->markdown) {
        print_escaped(p->out, title);
        fputs("\n\n", p->out);
    } else if (title[0] != '\0')
        options_print_wrapped(p->out, title, 0, 2);
    (p->markdown ? table_print_markdown : table_print)(p->out, t);
}

static bool print_result(printer *p, const stencil_bench_result *result, double max_noise) {
    bench_visit_head(result, print_line, p);
    if (result->skipped[0] != '\0')
        return true;
    const bool whole = bench_visit_sections(result, print_section, p) == STENCIL_OK;
    if (!whole)
        print_line(p, "Tables", stencil_error_last()->message);
    fputc('\n', p->out);
    bench_visit_foot(result, max_noise, print_line, p);
    return whole;
}

void bench_print(FILE *out, const stencil_bench_result *result, double max_noise) {
    printer p = {.out = out};
    print_line(&p, "Benchmark", result->benchmark);
    print_result(&p, result, max_noise);
}

void bench_print_line(FILE *out, const char *label, const char *text) {
    print_line(&(printer){.out = out}, label, text);
}

static void print_head(FILE *out, const stencil_bench_origin *origin) {
    const time_t started = (time_t)origin->started_s;
    struct tm utc;
    char when[64] = "";
    if (gmtime_r(&started, &utc) != NULL)
        strftime(when, sizeof when, "%Y-%m-%d %H:%M UTC", &utc);
    fprintf(out, "# Benchmarks\n\n- Command: `%s`\n- When: %s, %.0f s\n- Version: %s, revision %s, %s\n",
            origin->command_line, when, origin->seconds, origin->version, origin->git_revision,
            origin->compiler);
    if (origin->driver_version > 0) {
        const int driver = origin->driver_version, runtime = origin->runtime_version;
        fprintf(out, "- CUDA: driver %d.%d%s%s, runtime %d.%d\n", driver / 1000, driver % 1000 / 10,
                origin->kernel_driver[0] != '\0' ? ", kernel module " : "", origin->kernel_driver,
                runtime / 1000, runtime % 1000 / 10);
    }
}

bool bench_print_markdown(FILE *out, const void *content) {
    const bench_report *report = content;
    bool whole = true;
    printer p = {.out = out, .markdown = true};
    print_head(out, &report->origin);
    for (int i = 0; i < report->count; i++) {
        fprintf(out, "\n## %s\n\n", report->result[i].benchmark);
        whole = print_result(&p, &report->result[i], report->origin.max_noise) && whole;
    }
    return whole && !ferror(out);
}
