#include "trace.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "trial.h"

void trace_begin(trace *trace, const trial *t, int64_t steps) {
    const int64_t *n = t->reference.extent;
    trace->trial = t;
    trace->steps = steps;
    trace->made = 0;
    trace->state_bytes = (size_t)(n[0] * n[1] * n[2]) * stencil_precision_bytes(t->reference.precision);
    trace->state = malloc((size_t)(steps + 1) * trace->state_bytes);
    for (int norm = 0; norm < STENCIL_NORM_COUNT; norm++)
        trace->residual[norm] = calloc((size_t)steps + 1, sizeof(double));
    memcpy(trace->state, t->initial, trace->state_bytes);
}

void trace_reach(trace *trace, int64_t step) {
    const trial *t = trace->trial;
    assert_true(step <= trace->steps);
    while (trace->made < step) {
        const int64_t s = ++trace->made;
        const void *before = trace_state(trace, s - 1);
        void *after = trace->state + (size_t)s * trace->state_bytes;
        reference now = t->reference;
        reference_begin_step(&now, s - 1);
        if (t->cycle_length > 0) {
            const stencil_step_weights *weights = &t->cycle[(s - 1) % t->cycle_length];
            memcpy(now.weight, weights->weight, sizeof now.weight);
            now.source_factor = weights->source_factor;
        }
        reference_step(&now, before, t->b, after);
        reference_drive(&now, after, s - 1);
        for (int norm = 0; norm < STENCIL_NORM_COUNT; norm++) {
            assert_int_equal(
                reference_residual(&now, (stencil_norm)norm, before, after, &trace->residual[norm][s]),
                STENCIL_OK);
            trace->residual[norm][s] /= now.omega;
        }
    }
}

void trace_make(trace *trace, const trial *t, int64_t steps) {
    trace_begin(trace, t, steps);
    trace_reach(trace, steps);
}

void trace_destroy(trace *trace) {
    free(trace->state);
    for (int norm = 0; norm < STENCIL_NORM_COUNT; norm++)
        free(trace->residual[norm]);
    *trace = (struct trace){0};
}

const void *trace_state(const trace *trace, int64_t step) {
    return trace->state + (size_t)step * trace->state_bytes;
}

bool trace_looks_at(int64_t step, int64_t check_every, int64_t end) {
    return step > 0 && (step % check_every == 0 || step == end);
}

trace_end trace_find_end(const trace *trace, const trace_stop *stop) {
    const bool criterion = !isnan(stop->rtol) || !isnan(stop->atol);
    const double *residual = trace->residual[stop->norm];
    const stencil_reason done = criterion ? STENCIL_REASON_NOT_CONVERGED : STENCIL_REASON_STEPS;
    if (stop->steps == 0)
        return (trace_end){0, done};
    if (criterion && !isfinite(residual[1]))
        return (trace_end){1, STENCIL_REASON_DIVERGED};
    if (criterion && residual[1] == 0)
        return (trace_end){1, STENCIL_REASON_FIXED_POINT};
    const double first = residual[1] > stop->first_least ? residual[1] : stop->first_least;
    for (int64_t s = 1; s <= stop->steps; s++) {
        if (!trace_looks_at(s, stop->check_every, stop->steps))
            continue;
        if (!isfinite(residual[s]))
            return (trace_end){s, STENCIL_REASON_DIVERGED};
        if (criterion && residual[s] == 0)
            return (trace_end){s, STENCIL_REASON_FIXED_POINT};
        if (residual[s] < stop->rtol * first)
            return (trace_end){s, STENCIL_REASON_CONVERGED_RTOL};
        if (residual[s] < stop->atol)
            return (trace_end){s, STENCIL_REASON_CONVERGED_ATOL};
    }
    return (trace_end){stop->steps, done};
}
