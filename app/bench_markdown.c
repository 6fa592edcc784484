/* Results as Markdown. */
#include <math.h>
#include <time.h>

#include "app/bench.h"

/* Text in which nothing has a meaning to Markdown. */
static void print_escaped(FILE *out, const char *text) {
    for (; *text != '\0'; text++) {
        if (*text == '*' || *text == '`' || *text == '_' || *text == '<' || *text == '~')
            fputc('\\', out);
        fputc(*text, out);
    }
}

static void print_line(void *context, const char *label, const char *text) {
    FILE *out = context;
    fprintf(out, "- %s: ", label);
    print_escaped(out, text);
    fputc('\n', out);
}

static void print_section(void *context, const char *title, const table *t) {
    FILE *out = context;
    fputc('\n', out);
    if (title[0] != '\0') {
        print_escaped(out, title);
        fputs("\n\n", out);
    }
    table_print_markdown(out, t);
}

static void print_head(FILE *out, const bench_report *report) {
    const stencil_bench_origin *origin = report->origin;
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
    print_head(out, report);
    for (int i = 0; i < report->count; i++) {
        const stencil_bench_result *result = &report->result[i];
        fprintf(out, "\n## %s\n\n", result->benchmark);
        bench_visit_head(result, print_line, out);
        if (result->skipped[0] != '\0')
            continue;
        whole = bench_visit_sections(result, print_section, out) == STENCIL_OK && whole;
        fputc('\n', out);
        bench_visit_foot(result, report->origin->max_noise, print_line, out);
    }
    return whole && !ferror(out);
}
