/* Plans as texts, for people and as JSON. */
#include "library/inside.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A text that grows. */
typedef struct writer {
    FILE *out;
    char *text;
    size_t size;
} writer;

static void say(const writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(const writer *w, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(w->out, format, arguments);
    va_end(arguments);
}

/* Writes a number with a point whatever the locale of the caller has, null where JSON has no such number. */
static void say_number(const writer *w, double value) {
    char text[64];
    snprintf(text, sizeof text, "%.9g", value);
    if (!isfinite(value)) {
        fputs("null", w->out);
        return;
    }
    for (const char *at = text; *at != '\0'; at++)
        if (strchr("0123456789+-e", *at) != NULL)
            fputc(*at, w->out);
        else if (at > text && strchr("0123456789", at[-1]) != NULL) /* a point may have several bytes */
            fputc('.', w->out);
}

static void say_string(const writer *w, const char *text) {
    fputc('"', w->out);
    for (; *text != '\0'; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            say(w, "\\%c", c);
        else if (c < ' ')
            say(w, "\\u%04x", (unsigned)c);
        else
            fputc(c, w->out);
    }
    fputc('"', w->out);
}

static void say_member(const writer *w, const char *name, const char *text) {
    say(w, "\"%s\": ", name);
    say_string(w, text);
    fputs(", ", w->out);
}

static void say_extent(const writer *w, const stencil_spec *spec, const char *between) {
    for (int axis = 0; axis < spec->rank; axis++)
        say(w, "%s%" PRId64, axis > 0 ? between : "", spec->extent[axis]);
}

static const char *problem_text(const stencil_problem *problem) {
    return problem->spec.kind != STENCIL_KIND_NONE ? stencil_kind_names[problem->spec.kind]
                                                   : problem->shape->name;
}

static void write_text(const writer *w, const stencil_plan_t *p) {
    const stencil_problem *problem = &p->problem;
    const stencil_candidate *c = stencil_plan_chosen(p);
    const stencil_plan *plan = &c->plan;
    char bytes[32];
    say(w, "problem    %s, ", problem_text(problem));
    say_extent(w, &problem->spec, " x ");
    say(w, " cells, %s\n", stencil_precision_name(problem->precision));
    say(w, "plan       sync %s, sweep %s, on %s\n", stencil_strategy_at(plan->strategy).name,
        stencil_sweep_names[plan->sweep], plan->device);
    if (plan->depth > 1)
        say(w, "passes     of %d steps\n", plan->depth);
    say(w, "steps      %s%" PRId64 "\n", stencil_stop_has_criterion(&problem->stop) ? "at most " : "",
        problem->stop.steps);
    fputs("predicted  ", w->out);
    say(w, "%.4g us a step, %.4g Gcell/s\n", 1e6 * c->cost.step_s,
        1e-9 * (double)stencil_problem_cells(problem) / c->cost.step_s);
    say(w, "memory     %s", stencil_bytes_text(plan->host_bytes, bytes));
    if (plan->device_bytes > 0)
        say(w, " of the host, %s of a GPU", stencil_bytes_text(plan->device_bytes, bytes));
    fputs("\n", w->out);
    for (int i = 0; i < plan->notes.count; i++)
        say(w, "note       %s\n", plan->notes.line[i]);
}

static void write_cost(const writer *w, const stencil_cost *cost) {
    const struct {
        const char *name;
        double s;
    } terms[] = {{"step_us", cost->step_s},       {"launch_us", cost->launch_s},
                 {"barrier_us", cost->barrier_s}, {"compute_us", cost->compute_s},
                 {"halo_us", cost->halo_s},       {"check_us", cost->check_s}};
    fputs("{", w->out);
    for (size_t i = 0; i < sizeof terms / sizeof *terms; i++) {
        say(w, "%s\"%s\": ", i > 0 ? ", " : "", terms[i].name);
        say_number(w, 1e6 * terms[i].s);
    }
    fputs("}", w->out);
}

static void write_candidate(const writer *w, const stencil_candidate *c, bool chosen) {
    fputs("{", w->out);
    say_member(w, "sync", c->options.sync);
    say_member(w, "sweep", c->options.sweep);
    say_member(w, "why", c->why);
    say(w, "\"possible\": %s, \"chosen\": %s, \"depth\": %d, \"predicted\": ", c->possible ? "true" : "false",
        chosen ? "true" : "false", c->possible ? c->plan.depth : 0);
    if (c->possible)
        write_cost(w, &c->cost);
    else
        fputs("null", w->out);
    fputs("}", w->out);
}

static void write_json(const writer *w, const stencil_plan_t *p) {
    const stencil_problem *problem = &p->problem;
    const stencil_candidate *c = stencil_plan_chosen(p);
    const stencil_plan *plan = &c->plan;
    fputs("{", w->out);
    say_member(w, "problem", problem_text(problem));
    say_member(w, "stencil", problem->shape->name);
    say_member(w, "precision", stencil_precision_name(problem->precision));
    fputs("\"extent\": [", w->out);
    say_extent(w, &problem->spec, ", ");
    fputs("], ", w->out);
    say_member(w, "sync", stencil_strategy_at(plan->strategy).name);
    say_member(w, "sweep", stencil_sweep_names[plan->sweep]);
    say_member(w, "backend", stencil_backend_names[plan->backend]);
    say_member(w, "device", plan->device);
    say(w, "\"threads\": %d, \"parts\": %d, \"depth\": %d, \"steps\": %" PRId64 ", ", plan->threads,
        plan->cut.parts, plan->depth, problem->stop.steps);
    say(w, "\"host_bytes\": %" PRId64 ", \"device_bytes\": %" PRId64 ", \"predicted\": ", plan->host_bytes,
        plan->device_bytes);
    write_cost(w, &c->cost);
    fputs(", \"notes\": [", w->out);
    for (int i = 0; i < plan->notes.count; i++) {
        fputs(i > 0 ? ", " : "", w->out);
        say_string(w, plan->notes.line[i]);
    }
    fputs("], \"plans\": [", w->out);
    for (int i = 0; i < p->choice.count; i++) {
        fputs(i > 0 ? ", " : "", w->out);
        write_candidate(w, &p->choice.item[i], i == p->choice.chosen);
    }
    fputs("]}", w->out);
}

/* Returns a text that the plan owns, as `write` makes it. */
static const char *text_of(stencil_plan_t *plan, void (*write)(const writer *, const stencil_plan_t *)) {
    writer w = {.text = NULL};
    if (plan == NULL) {
        (void)stencil_code_fail(STENCIL_BAD_ARGUMENT, "there is no plan");
        return NULL;
    }
    w.out = open_memstream(&w.text, &w.size);
    if (w.out == NULL) {
        (void)stencil_code_fail(STENCIL_OUT_OF_MEMORY, "no memory for the text of a plan");
        return NULL;
    }
    stencil_tune_explain(&plan->tune);
    write(&w, plan);
    if (fclose(w.out) != 0) {
        free(w.text);
        (void)stencil_code_fail(STENCIL_OUT_OF_MEMORY, "no memory for the text of a plan");
        return NULL;
    }
    free(plan->text);
    return plan->text = w.text;
}

const char *stencil_plan_text(stencil_plan_t *plan) {
    return text_of(plan, write_text);
}

const char *stencil_plan_json(stencil_plan_t *plan) {
    return text_of(plan, write_json);
}
