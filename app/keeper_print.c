/* Messages and the report of a long run. */
#include <inttypes.h>

#include "app/json.h"
#include "app/keeper.h"
#include "app/signals.h"
#include "app/text.h"

void keeper_print_end(const keeper *k) {
    const stencil_output *output = &k->record->output;
    const int64_t step = k->record->report.steps;
    fprintf(stderr, "stencil: %s: ", TEXT_ESCAPE(output->input_path));
    if (signals_caught != 0)
        fprintf(stderr, "interrupted after step %" PRId64 " by %s", step, signals_name(signals_caught));
    else if (k->limited)
        fprintf(stderr, "--time-limit ended the run after step %" PRId64, step);
    else
        fprintf(stderr, "interrupted after step %" PRId64, step);
    if (k->saver.ended)
        fprintf(stderr, "; '%s' ends with step %" PRId64 ": %s", TEXT_ESCAPE(k->saver.path),
                k->saver.series.last_step, TEXT_ESCAPE(k->frame_error.message));
    if (output->path != NULL)
        fprintf(stderr, "; it goes on with: stencil --resume %s", TEXT_QUOTE(output->path));
    fputc('\n', stderr);
}

void keeper_print_failed(const keeper *k) {
    if (k->failed > 1 && k->quiet < 2)
        fprintf(stderr,
                "stencil: %" PRId64 " checkpoints could not be written, the last of step %" PRId64 "\n",
                k->failed, k->failed_step);
}

/* Prints what there is of the series. */
static void print_series(const keeper *k) {
    const saver *s = &k->saver;
    if (!s->opened)
        return;
    PRINT("Series", "%s: %s, %s of them saved now%s", TEXT_ESCAPE(s->path),
          TEXT_COUNTED(s->series.at.count, "frame"), TEXT_COUNT(s->written),
          s->every_s > 0 && s->slowest_s > s->every_s / 3
              ? TEXT("; a frame took up to %s s to write: the disk is too slow for --save-every",
                     TEXT_NUMBER(s->slowest_s))
              : "");
}

void keeper_print(const keeper *k) {
    const stencil_checkpoints *c = &k->checkpoints;
    print_series(k);
    if (c->count == 0)
        return;
    const char *place =
        k->inline_only ? "in line, no memory for a copy"
                       : TEXT("beside the steps, from a copy on the %s", stencil_snapshot_place(k->snapshot));
    PRINT("Checkpoints",
          "%s, the last of step %s in %s s, %s;\nsteps waited %.3f s for copies and %.3f s for "
          "writing%s",
          TEXT_COUNT(c->count), TEXT_COUNT(c->step), TEXT_NUMBER(c->write_s), place, k->copy_s, k->wait_s,
          k->failed > 0 ? TEXT("; %s failed", TEXT_COUNT(k->failed)) : "");
}

json_t *keeper_json(const keeper *k) {
    const stencil_checkpoints *c = &k->checkpoints;
    const char *place = k->snapshot != NULL && !k->inline_only ? stencil_snapshot_place(k->snapshot) : NULL;
    if (!k->opened && !k->saver.opened)
        return NULL;
    return json_pack("{s:I, s:I, s:o, s:o, s:o, s:o, s:I}", "written", (json_int_t)c->count, "step",
                     (json_int_t)c->step, "write_s", json_number(c->write_s), "copy", json_text(place),
                     "copy_s", json_number(k->copy_s), "wait_s", json_number(k->wait_s), "failed",
                     (json_int_t)k->failed);
}
