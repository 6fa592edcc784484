#include <math.h>

#include "base/words.h"
#include "bench/cases/loop.h"
#include "solver/machine/strategies.h"
#include "solver/plan/model.h"

static double sync_s(int order, double share, const stencil_calibration *c) {
    return stencil_model_sync(
        c, stencil_name_find(stencil_one_part.order[order].strategy, stencil_strategy_names), share);
}

/* Returns the seconds of launch latency and synchronisation of a run: one launch per phase, or one launch
 * with barriers between phases. */
static double ordered_s(int order, double phases, double share, const stencil_calibration *c) {
    const double launch_s = sync_s(STENCIL_CASE_IMPLICIT, share, c);
    if (order == STENCIL_CASE_ALONE)
        return launch_s + (phases - 1) * c->latency_s;
    if (stencil_case_is_persistent(&stencil_one_part, order))
        return launch_s + (phases - 1) * sync_s(order, share, c);
    return phases * sync_s(order, share, c);
}

double stencil_case_predict(const stencil_case_problem *p, int order, double blocks, double share,
                            const stencil_calibration *c) {
    const stencil_case_body *body = p->of->body;
    const stencil_loop loop = stencil_case_is_persistent(&stencil_one_part, order) ? STENCIL_LOOP_PERSISTENT
                                                                                   : STENCIL_LOOP_LAUNCHED;
    const double *memory = c->bytes_per_s[loop][0], far = stencil_model_far(c, p->bytes);
    if (body->in_flight == 0 || stencil_one_part.order[order].ceiling)
        return NAN;
    const double memory_s =
                     (1 - far) / memory[STENCIL_NEAR] + far / memory[STENCIL_FAR], /* seconds per byte */
        byte_s = fmax(memory_s, c->latency_s / (blocks * body->in_flight));
    const stencil_little little = {.latency = c->latency_s,
                                   .throughput = 1 / byte_s,
                                   .sync = ordered_s(order, (double)body->phases(p->arguments), share, c) -
                                           c->latency_s};
    return stencil_little_time(&little, p->bytes);
}
