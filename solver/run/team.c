/* Time loop in which one team of CPU threads makes all steps of a batch. */
#include <math.h>
#include <omp.h>
#include <stdio.h>

#include "solver/run/strategy.h"

/* State shared by the threads of a team: thread 0 writes, a barrier follows, all threads read. */
typedef struct run {
    int64_t interrupt_step, alarm_step;
} run;

/* The time loop of one thread; every thread finds the same outcome, and thread 0 stores it. */
static void team_run(stencil_cpu *cpu, const stencil_batch *batch, stencil_outcome *outcome, run *shared) {
    const int thread = omp_get_thread_num(), threads = omp_get_num_threads();
    const stencil_schedule *schedule = &cpu->schedule;
    const int64_t end = batch->first + batch->count;
    const int depth = cpu->plan->depth;
    stencil_reason reason = STENCIL_REASON_NONE;
    double residual = NAN;
    int64_t step = batch->first, checks = 0;
    stencil_pass pass = stencil_batch_pass(batch, schedule, depth);
    stencil_cpu_note_launch(cpu, thread, STENCIL_LAUNCH_ENTERED);
    for (; pass.steps > 0 && reason == STENCIL_REASON_NONE;
         pass = stencil_pass_next(&pass, schedule, depth, end)) {
        step = pass.first + pass.steps;
        const bool check = stencil_schedule_checks(schedule, step),
                   poll = stencil_pass_reaches(&pass, cpu->plan->poll_every);
        stencil_cpu_begin_pass(cpu, thread);
        const bool advanced = stencil_cpu_advance(cpu, &pass, thread, threads);
        /* The request to stop has the number of its step, lest a slow thread takes a later one for it. */
        if (advanced && poll && thread == 0 && !stencil_observers_poll(batch->observers, step, residual))
            __atomic_store_n(&shared->interrupt_step, step, __ATOMIC_RELAXED);
        if (!advanced || !stencil_cpu_sync(cpu, &pass, thread, check || poll) ||
            (check && !stencil_cpu_residual(cpu, thread, threads, &residual))) {
            if (cpu->state.alarm[0] == 1 + (uint32_t)thread)
                shared->alarm_step = step;
            return;
        }
        if (check) {
            reason = stencil_schedule_decide(schedule, residual);
            if (thread == 0)
                outcome->residual[checks] = residual;
            checks++;
        }
        if (poll && reason == STENCIL_REASON_NONE &&
            __atomic_load_n(&shared->interrupt_step, __ATOMIC_RELAXED) == step)
            reason = STENCIL_REASON_INTERRUPTED;
        stencil_cpu_note(cpu, thread, STENCIL_MARK_END);
    }
    stencil_cpu_note_launch(cpu, thread, STENCIL_LAUNCH_LOOPED);
    if (thread == 0)
        *outcome = (stencil_outcome){step - batch->first, reason, checks, outcome->residual};
}

stencil_status stencil_team_cpu(stencil_cpu *cpu, const stencil_batch *batch, stencil_outcome *outcome) {
    run shared = {0};
    int threads = 0;
#pragma omp parallel num_threads(cpu->threads)
    {
        if (omp_get_num_threads() == cpu->threads)
            team_run(cpu, batch, outcome, &shared);
#pragma omp single
        threads = omp_get_num_threads();
    }
    TRY(stencil_cpu_check_team(cpu, threads));
    if (cpu->plan->barrier != STENCIL_BARRIER_none && cpu->state.alarm[0] != 0) {
        char waiter[32];
        snprintf(waiter, sizeof waiter, "thread %u", cpu->state.alarm[0] - 1);
        return stencil_alarm_fail(stencil_barriers[cpu->plan->barrier].name, waiter, shared.alarm_step,
                                  1e-9 * (double)cpu->state.timeout_ns);
    }
    return STENCIL_OK;
}
