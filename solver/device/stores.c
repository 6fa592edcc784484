#include "solver/device/stores.h"

#include <math.h>

static void begin_trial(stencil_stores_trial *trial) {
    trial->streaming = trial->timed = false;
    trial->turn = trial->warm = 0;
    trial->step = 0;
    trial->best_s[false] = trial->best_s[true] = INFINITY;
}

void stencil_stores_begin(stencil_stores_trial *trial, stencil_stores stores) {
    *trial = (stencil_stores_trial){.found_s = {NAN, NAN}};
    begin_trial(trial);
    if (stores == STENCIL_STORES_TRIED)
        return;
    trial->streaming = stores == STENCIL_STORES_STREAMING;
    trial->turn = 2 * STENCIL_STORES_TURNS;
    trial->step = INT64_MIN; /* the trial is never repeated */
}

static void end_turn(stencil_stores_trial *trial, double step_s) {
    trial->best_s[trial->streaming] = fmin(trial->best_s[trial->streaming], step_s);
    trial->warm = 0;
    trial->streaming = !trial->streaming;
    if (++trial->turn < 2 * STENCIL_STORES_TURNS)
        return;
    trial->streaming = trial->best_s[true] < trial->best_s[false];
    for (int way = 0; way < 2; way++)
        trial->found_s[way] = trial->best_s[way];
}

void stencil_stores_note(stencil_stores_trial *trial, double step_s, bool looked_at) {
    trial->step++;
    if (trial->turn == 2 * STENCIL_STORES_TURNS) {
        if (trial->step >= STENCIL_STORES_AGAIN)
            begin_trial(trial);
        return;
    }
    /* A pass with a residual takes longer, so its time counts only if the pass before had a residual, too. */
    if (trial->timed && (!looked_at || trial->looked_at))
        end_turn(trial, step_s);
    else
        trial->warm++;
    trial->timed =
        trial->turn < 2 * STENCIL_STORES_TURNS &&
        trial->warm >= (trial->streaming ? STENCIL_STORES_WARM_STREAMING : STENCIL_STORES_WARM_CACHED);
    trial->looked_at = looked_at;
}

bool stencil_stores_chosen(const stencil_stores_trial *trial) {
    return isnan(trial->found_s[0]) ? trial->streaming : trial->found_s[true] < trial->found_s[false];
}
