/* The timeline of --trace. */
#include <math.h>
#include <string.h>

#include "app/attribution.h"

enum { TRACE_MOMENTS = 40000 };

const char *attribution_who(const stencil_timeline *t, int p, char text[64]) {
    const stencil_who *who = &t->who[p];
    const int first = who->part > 0 ? t->group_first[who->part] : 0;
    snprintf(text, 64, "%s %d", t->unit, p - first);
    if (t->groups > 1)
        stencil_text_add(text, 64, " of part %d", who->part);
    return who->place >= 0 && strcmp(t->unit, "SM") != 0 ? stencil_text_add(text, 64, " (SM %d)", who->place)
                                                         : text;
}

/* Names of phases of a step: each lasts from its mark to the next one. */
static const char *const phases[STENCIL_MARKS - 1] = {
    [STENCIL_MARK_LAUNCHED] = "launch",
    [STENCIL_MARK_BEGIN] = "compute",
    [STENCIL_MARK_SWEPT] = "halo",
    [STENCIL_MARK_EXCHANGED] = "wait",
    [STENCIL_MARK_LEFT] = "residual, checks",
};

static void print_step(FILE *out, const stencil_timeline *t, int i, int p, double origin_s) {
    const double *at_s = t->moment[i * t->participants + p].at_s;
    for (int k = 0; k < STENCIL_MARKS - 1 && !isnan(at_s[0]); k++)
        if (at_s[k + 1] > at_s[k])
            fprintf(out,
                    ",\n{\"name\":\"%s\",\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,"
                    "\"args\":{\"step\":%lld}}",
                    phases[k], t->who[p].part > 0 ? t->who[p].part : 0, p, 1e6 * (at_s[k] - origin_s),
                    1e6 * (at_s[k + 1] - at_s[k]), (long long)t->sample[i].step);
}

bool attribution_print_trace(FILE *out, const void *content) {
    const stencil_timeline *t = content;
    const int most = TRACE_MOMENTS / t->participants, samples = t->samples < most ? t->samples : most;
    fprintf(out,
            "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n{\"name\":\"process_name\",\"ph\":\"M\","
            "\"pid\":0,\"args\":{\"name\":\"%s\"}}",
            t->who[0].part < 0 ? "CPU" : "part 0");
    for (int group = 1; group < t->groups; group++)
        fprintf(out, ",\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,\"args\":{\"name\":\"part %d\"}}",
                group, group);
    for (int p = 0; p < t->participants; p++)
        fprintf(out,
                ",\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"args\":{\"name\":\"%s\"}}",
                t->who[p].part > 0 ? t->who[p].part : 0, p, WHO(t, p));
    for (int group = 0; group < t->groups; group++) {
        double origin_s = INFINITY; /* earliest time on the clock that a group of participants shares */
        for (int p = t->group_first[group]; p < t->group_first[group + 1]; p++)
            origin_s = fmin(origin_s, t->moment[p].at_s[0]);
        for (int i = 0; i < samples && !isinf(origin_s); i++)
            for (int p = t->group_first[group]; p < t->group_first[group + 1]; p++)
                print_step(out, t, i, p, origin_s);
    }
    return fputs("\n]}\n", out) != EOF && ferror(out) == 0;
}
