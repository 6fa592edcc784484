#include "solver/attribution/account.h"

#include <math.h>

double stencil_account_of(const stencil_account *a, const stencil_makeup *m, double cause_s[STENCIL_CAUSES]) {
    double sum_s = 0;
    for (int c = 0; c < STENCIL_CAUSES; c++) {
        cause_s[c] = m->batches * a->batch_s[c] + m->launches * a->launch_s[c] + m->exits * a->exit_s[c] +
                     m->passes * a->pass_s[c] + m->loop_steps * a->step_s[c];
        sum_s += cause_s[c];
    }
    return sum_s;
}

void stencil_account_add_pass(stencil_account *a, const stencil_inside *in, int full) {
    a->pass_s[STENCIL_CAUSE_LAUNCH] += in->launch_s;
    if (full > 0)
        a->step_s[STENCIL_CAUSE_COMPUTE] += in->compute_s / full;
    else
        a->pass_s[STENCIL_CAUSE_COMPUTE] += in->compute_s;
    a->pass_s[STENCIL_CAUSE_LATENCY] += in->latency_s;
    a->pass_s[STENCIL_CAUSE_IMBALANCE] += in->imbalance_s;
    a->pass_s[STENCIL_CAUSE_HALO] += in->halo_s;
    a->pass_s[STENCIL_CAUSE_CHECK] += in->after_s;
}

void stencil_account_add_spans(stencil_account *a, const stencil_spans *s, const stencil_makeup *made) {
    if (s->batches == 0)
        return;
    const double launches = s->launches, batches = s->batches, gaps = launches - batches,
                 exit_s = gaps > 0 ? s->between_s / gaps : 0,
                 ending = made->batches > 0
                              ? fmax(made->exits - (made->launches - made->batches), 0) / made->batches
                              : 0,
                 outside_s = s->outside_s / batches, last_s = fmin(fmin(ending, 1) * exit_s, outside_s);
    a->batch_s[STENCIL_CAUSE_LAUNCH] += outside_s - last_s;
    a->launch_s[STENCIL_CAUSE_LAUNCH] += s->start_s / launches;
    a->launch_s[STENCIL_CAUSE_LOAD] += s->load_s / launches;
    a->launch_s[STENCIL_CAUSE_STORE] += s->store_s / launches;
    a->exit_s[STENCIL_CAUSE_CHECK] += exit_s;
}
