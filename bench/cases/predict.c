#include <math.h>

#include "bench/cases/loop.h"
#include "solver/plan/model.h"

/* The strategy of stencil_strategy_at() that does with steps what the order does with phases. */
static int strategy_of(int order) {
    enum {
#define STENCIL_STRATEGY(id, name, parts, text) STRATEGY_##id,
#include "solver/machine/strategies.def"
        BARRIERS /* behind them, without none */
    };
    switch (order) {
    case STENCIL_CASE_IMPLICIT:
    case STENCIL_CASE_ALONE:
        return STRATEGY_relaunch;
    case STENCIL_CASE_STREAM:
        return STRATEGY_stream_sync;
    case STENCIL_CASE_DEVICE:
        return STRATEGY_device_sync;
    case STENCIL_CASE_EVENT:
        return STRATEGY_event_sync;
    case STENCIL_CASE_GRAPH:
        return STRATEGY_graph;
    default:
        return BARRIERS + order - 1;
    }
}

/* Latency and synchronisation: a launch for each phase, or for all of them with barriers between. */
static double ordered_s(int order, double phases, double share, const stencil_calibration *c) {
    const double launch_s = stencil_model_sync(c, strategy_of(STENCIL_CASE_IMPLICIT), share);
    if (order == STENCIL_CASE_ALONE)
        return launch_s + (phases - 1) * c->latency_s;
    if (stencil_case_is_persistent(order))
        return launch_s + (phases - 1) * stencil_model_sync(c, strategy_of(order), share);
    return phases * stencil_model_sync(c, strategy_of(order), share);
}

double stencil_case_predict(const stencil_case_problem *p, int order, double blocks, double share,
                            const stencil_calibration *c) {
    const stencil_case_body *body = p->of->body;
    const stencil_loop loop =
        stencil_case_is_persistent(order) ? STENCIL_LOOP_PERSISTENT : STENCIL_LOOP_LAUNCHED;
    const double *memory = c->bytes_per_s[loop][0], far = stencil_model_far(c, p->bytes);
    if (body->in_flight == 0 || order == STENCIL_CASE_CEILING)
        return NAN;
    const double memory_s = (1 - far) / memory[STENCIL_NEAR] + far / memory[STENCIL_FAR], /* of a byte */
        byte_s = fmax(memory_s, c->latency_s / (blocks * body->in_flight));
    const stencil_little little = {.latency = c->latency_s,
                                   .throughput = 1 / byte_s,
                                   .sync = ordered_s(order, (double)body->phases(p->arguments), share, c) -
                                           c->latency_s};
    return stencil_little_time(&little, p->bytes);
}
