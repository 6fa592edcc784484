#include "app/scrubbing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/json.h"
#include "app/text.h"

stencil_status scrubbing_prepare(scrubbing *s, const char *option) {
    char *end;
    *s = (scrubbing){0};
    if (option == NULL || strcmp(option, "off") == 0)
        return STENCIL_OK;
    s->share = STENCIL_SCRUB_SHARE;
    if (strcmp(option, "on") == 0)
        return STENCIL_OK;
    s->share = strtod(option, &end) / 100;
    CHECK(strspn(option, "0123456789.") > 0 && strcmp(end, "%") == 0 && s->share > 0 && s->share <= 1, USAGE,
          "--scrub: '%s' is neither on, off nor a share of the run's time such as 1%%, up to 100%%", option);
    return STENCIL_OK;
}

stencil_status scrubbing_open(scrubbing *s, stencil_run *run, stencil_observer *observer) {
    *observer = (stencil_observer){0};
    if (s->share == 0)
        return STENCIL_OK;
    TRY(stencil_scrub_open(&s->scrub, run, s->share));
    *observer = stencil_scrub_observer(s->scrub);
    return STENCIL_OK;
}

stencil_status scrubbing_explain(const scrubbing *s, stencil_status status, const keeper *k) {
    const stencil_checkpoints *c = &k->checkpoints;
    if (s->scrub == NULL || !stencil_scrub_found(s->scrub))
        return status;
    if (c->count == 0)
        return text_around(status, "", "; there is no checkpoint of this run");
    return text_around(status, "",
                       TEXT_LONG("; the last checkpoint, '%s', is of step %s, and was made by the same "
                                 "hardware: compare its digest of u with that of a run from '%s' elsewhere",
                                 c->path, TEXT_COUNT(c->step), c->count > 1 ? c->before : "the input"));
}

/* Returns the cell updates that the run has made. */
static double updates_of(const stencil_report *report) {
    return (double)report->cells * (double)stencil_report_steps_done(report);
}

/* Returns the time that scrubbing took as a part of what the steps took without it. */
static double share_of(const stencil_scrubbed *done, const stencil_report *report) {
    const double steps_s = report->drive_s - done->seconds;
    return steps_s > 0 ? done->seconds / steps_s : 0;
}

/* Returns the updates that were compared in an hour of steps. */
static double per_hour(const stencil_scrubbed *done, const stencil_report *report) {
    return report->drive_s > 0 ? 3600 * (double)done->updates / report->drive_s : 0;
}

void scrubbing_print(const scrubbing *s, const stencil_report *report) {
    if (s->scrub == NULL)
        return;
    const stencil_scrubbed done = stencil_scrub_done(s->scrub);
    const double all = updates_of(report);
    if (done.tiles == 0) {
        const char *why = s->share < 1
                              ? TEXT("was too short for %.3g %% of its time;\n--scrub 100%% compares a tile "
                                     "in any run of two steps",
                                     100 * s->share)
                              : "was too short";
        PRINT("Scrubbed", "nothing was compared: the run %s", why);
        return;
    }
    PRINT(
        "Scrubbed",
        "%s, %s cell updates (%s of all, %s in an hour), without a difference;\ntook %.3f s, %s of the steps'"
        " time",
        TEXT_COUNTED(done.tiles, "tile"), TEXT("%.3g", (double)done.updates),
        TEXT("%.2g %%", all > 0 ? 100 * (double)done.updates / all : 0),
        TEXT("%.3g", per_hour(&done, report)), done.seconds, TEXT("%.2g %%", 100 * share_of(&done, report)));
}

json_t *scrubbing_json(const scrubbing *s, const stencil_report *report) {
    if (s->scrub == NULL)
        return NULL;
    const stencil_scrubbed done = stencil_scrub_done(s->scrub);
    const double all = updates_of(report);
    return json_pack("{s:o, s:I, s:I, s:o, s:o, s:I, s:o, s:o}", "share", json_number(s->share), "tiles",
                     (json_int_t)done.tiles, "updates", (json_int_t)done.updates, "share_of_updates",
                     json_number(all > 0 ? (double)done.updates / all : 0), "updates_per_hour",
                     json_number(per_hour(&done, report)), "last_step", (json_int_t)done.step, "seconds",
                     json_number(done.seconds), "share_of_steps", json_number(share_of(&done, report)));
}

void scrubbing_close(scrubbing *s) {
    stencil_scrub_close(s->scrub);
    s->scrub = NULL;
}
