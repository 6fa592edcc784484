/* Divides the time of a run by what the batches of its attribution took. */
#include <math.h>

#include "solver/attribution/attribution.h"

/* Returns the makeup of the run's steps with its last plan. */
static stencil_makeup made_by_run(const stencil_attribution *a, const stencil_report *report,
                                  const stencil_wall *wall) {
    const stencil_makeup *batch = &a->made;
    const double done = (double)stencil_report_steps_done(report), made = (double)report->made.steps,
                 steps = fmax(done - (double)wall->race_steps, 1),
                 part = made > 0 ? fmin(steps / made, 1) : 1;
    stencil_makeup m = {.steps = steps,
                        .batches = fmax(part * (double)report->made.batches, 1),
                        .checks = part * (double)report->made.checks};
    m.exits = batch->exits > 0 ? m.checks : 0;
    m.launches = m.batches + fmax(m.exits - m.batches, 0);
    m.passes = steps * batch->passes / batch->steps;
    m.loop_steps = steps * batch->loop_steps / batch->steps;
    return m;
}

double stencil_attribution_predict(const stencil_attribution *a, const stencil_report *report,
                                   const stencil_wall *wall, double cause_s[STENCIL_CAUSES]) {
    const stencil_makeup m = made_by_run(a, report, wall);
    return stencil_account_of(&a->account, &m, cause_s) / a->covered;
}

void stencil_attribution_divide(const stencil_attribution *a, const stencil_report *report,
                                const stencil_wall *wall, double row_s[STENCIL_TIME_ROWS]) {
    double *cause_s = row_s + STENCIL_TIME_CAUSES, others_s = 0;
    const double own_s = fmax(report->compute_s - wall->race_s, 0), covered = fmin(a->covered, 1),
                 sum_s = a->covered * stencil_attribution_predict(a, report, wall, cause_s);
    for (int c = 0; c < STENCIL_CAUSES; c++)
        cause_s[c] *= covered * own_s / sum_s;
    row_s[STENCIL_TIME_START] = wall->start_s;
    row_s[STENCIL_TIME_SEARCH] = report->compute_s - own_s + report->replan_s;
    cause_s[STENCIL_CAUSE_LAUNCH] += report->drive_s - report->compute_s;
    row_s[STENCIL_TIME_SLOWER] = (1 - covered) * own_s;
    for (int row = 0; row < STENCIL_TIME_FINISH; row++)
        others_s += row_s[row];
    row_s[STENCIL_TIME_FINISH] = wall->wall_s - others_s;
}

stencil_step_times stencil_attribution_inside(const stencil_attribution *a) {
    /* The slowest participant of noted passes, as much of it as the mean of all has a part in a step: passes
     * that are launched for a check are among the checks. */
    const double *s = a->cause_s, mean_s = a->inside.compute_s,
                 compute_s =
                     a->inside.slowest_compute_s * (mean_s > 0 ? s[STENCIL_CAUSE_COMPUTE] / mean_s : 1);
    const double launch_s = s[STENCIL_CAUSE_LAUNCH] + s[STENCIL_CAUSE_LOAD] + s[STENCIL_CAUSE_STORE];
    return (stencil_step_times){launch_s, compute_s,
                                a->step_s - s[STENCIL_CAUSE_CHECK] - launch_s - compute_s};
}
