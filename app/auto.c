/* Finds the plan of a run: what its options leave open is predicted, known from earlier runs, or timed. */
#include "app/choice.h"
#include "app/machine.h"
#include "app/signals.h"

/* Least length of a run that calibrates the machine, in calibration times. */
enum { WORTH_CALIBRATIONS = 10 };

static bool disturbed(const stencil_run_options *run) {
    return run->wait.fault.delay_ns != 0 || run->wait.fault.absent_step != 0 || run->wait.illegal_step != 0;
}

/* Calibrates the machine where the run is long enough and there is no calibration yet. */
static stencil_status calibrate(auto_choice *a, const stencil_problem *problem, stencil_machine *machine,
                                bool quiet, stencil_notes *notes) {
    const stencil_candidate *c = &a->choice.item[a->choice.chosen];
    const bool gpu = c->plan.backend == STENCIL_BACKEND_GPU;
    const double run_s = stencil_tune_steps(problem) * c->cost.step_s;
    if (a->choice.asked.sync != NULL || (gpu ? machine->gpu_costs : machine->cpu_costs).measured ||
        run_s < WORTH_CALIBRATIONS * MACHINE_CALIBRATION_S)
        return STENCIL_OK;
    const stencil_run_options asked = a->choice.asked;
    signals_catch();
    const stencil_status status =
        machine_calibrate(machine, gpu, MACHINE_CALIBRATION_S, 0.01 * MACHINE_NOISE_PERCENT, quiet);
    if (status == STENCIL_INTERRUPTED) /* the run will end as early, with its result */
        return STENCIL_OK;
    if (status != STENCIL_OK)
        stencil_notes_add(notes, "no calibration: %s", stencil_error_last()->message);
    else
        (void)machine_keep_costs(machine, gpu); /* on failure the next run calibrates again */
    stencil_choice_destroy(&a->choice);
    return stencil_choice_make(&a->choice, problem, &asked, machine);
}

stencil_status auto_choose(auto_choice *a, const stencil_problem *problem, stencil_machine *machine,
                           const auto_options *options, stencil_notes *notes) {
    const bool late = disturbed(&a->choice.asked);
    wisdom_path(late ? "off" : options->wisdom, a->wisdom);
    if (options->wisdom != NULL && a->wisdom[0] != '\0')
        TRY(wisdom_check("wisdom", a->wisdom));
    stencil_effort effort = late || options->dry_run ? STENCIL_EFFORT_ESTIMATE : options->effort;
    if (effort != STENCIL_EFFORT_ESTIMATE)
        TRY(calibrate(a, problem, machine, options->quiet > 0, notes));
    const int found = options->effort >= STENCIL_EFFORT_PATIENT || a->choice.possible < 2
                          ? -1
                          : wisdom_find(a->wisdom, &a->choice, problem, machine, notes);
    if (found >= 0) {
        a->choice.chosen = found;
        a->wise = true;
        effort = STENCIL_EFFORT_ESTIMATE;
    }
    TRY(stencil_tune_start(&a->tune, &a->choice, problem, machine, effort));
    return STENCIL_OK;
}

void auto_keep(const auto_choice *a, const stencil_problem *problem, const stencil_machine *machine,
               bool named, stencil_notes *notes) {
    if (a->tune.done && a->wisdom[0] != '\0' &&
        wisdom_keep(a->wisdom, named, &a->choice, problem, machine) != STENCIL_OK && named)
        stencil_notes_add(notes, "wisdom is not kept: %s", stencil_error_last()->message);
}
