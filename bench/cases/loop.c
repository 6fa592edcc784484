#include "bench/cases/loop.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "solver/attribution/trial.h"
#include "sync/host.h"

stencil_case_order stencil_case_order_at(int order) {
    static const stencil_case_order implicit = {"implicit", "relaunch"},
                                    others[] = {{"alone", "relaunch"},
                                                {"explicit, stream", "stream-sync"},
                                                {"explicit, device", "device-sync"},
                                                {"explicit, event", "event-sync"},
                                                {"graph", "graph"},
                                                {"ceiling", NULL}};
    const char *const barrier = stencil_barriers[order < STENCIL_BARRIER_COUNT ? order : 0].name;
    return order == STENCIL_CASE_IMPLICIT  ? implicit
           : order < STENCIL_BARRIER_COUNT ? (stencil_case_order){barrier, barrier}
                                           : others[order - STENCIL_BARRIER_COUNT];
}

static int64_t phases_of(const stencil_case_loop *loop) {
    return loop->problem->of->body->phases(loop->problem->arguments);
}

static stencil_status create_team(stencil_bench *b, stencil_case_loop *loop) {
    TRY(stencil_team_create(&loop->team, loop->blocks, 0, loop->timeout_s));
    TRY(stencil_bench_keep(b, free, loop->team.words));
    loop->team.neighbor_first = loop->ring;
    loop->team.neighbor = loop->ring != NULL ? loop->ring + loop->blocks + 1 : NULL;
    return STENCIL_OK;
}

stencil_status stencil_case_loop_create(stencil_bench *b, stencil_case_loop *loop, char why[96]) {
    const bool barrier = stencil_case_is_persistent(loop->order);
    loop->name = stencil_case_order_at(loop->order).name;
    loop->bytes = loop->problem->bytes;
    loop->workers = loop->blocks;
    if (loop->problem->of->body->keeps && !barrier && loop->order != STENCIL_CASE_CEILING) {
        snprintf(why, 96, "nothing stays on chip from launch to launch");
        return STENCIL_OK;
    }
    if (barrier && stencil_barriers[loop->order].needs == STENCIL_NEEDS_NEIGHBORS) {
        uint32_t *ring;
        if (!loop->problem->of->ring) {
            snprintf(why, 96, "a block's partners change from phase to phase");
            return STENCIL_OK;
        }
        TRY(stencil_ring_create(b, &ring, loop->blocks));
        loop->ring = ring;
    }
#ifdef STENCIL_HAVE_CUDA
    if (b->options->backend == STENCIL_BACKEND_GPU)
        return stencil_case_gpu_create(b, loop, why);
#endif
    return create_team(b, loop);
}

static void sleep_ns(uint32_t ns) {
    nanosleep(&(struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000}, NULL);
}

static void note(const stencil_case_thread *t, int64_t step, stencil_mark mark) {
    const stencil_trace *trace = t->trace;
    const int64_t sample = trace != NULL && trace->mark != NULL ? stencil_trace_sample(trace, step) : -1;
    if (sample >= 0)
        trace->mark[(sample * trace->participants + t->number) * STENCIL_MARKS + mark] =
            (int64_t)(1e9 * stencil_clock_s());
}

/* Delays a thread before the barrier after a phase, or keeps it away, as a planted fault asks. Returns false
 * when the thread stayed away until another thread gave up. */
static bool comes(const stencil_case_thread *t, int64_t step) {
    if (t->fault->delay_ns != 0)
        sleep_ns(stencil_lateness_ns(t->fault, t->number, step));
    if (t->fault->absent_step != step || t->fault->absent != t->number)
        return true;
    while (__atomic_load_n(t->team->alarm, __ATOMIC_RELAXED) == 0)
        sleep_ns(1000000);
    return false;
}

static void make_phase(const stencil_case_thread *t, int64_t phase) {
    note(t, phase + 1, STENCIL_MARK_BEGIN);
    t->body->phase(t->arguments, phase, t->block);
    note(t, phase + 1, STENCIL_MARK_SWEPT);
}

void stencil_case_persist(const stencil_case_thread *t) {
    const int64_t phases = t->body->phases(t->arguments);
    for (int64_t step = 1; step <= phases; step++) {
        make_phase(t, step - 1);
        if (step < phases && (!comes(t, step) || !stencil_team_sync(t->barrier, t->team, t->number, false)))
            return;
        note(t, step, STENCIL_MARK_LEFT);
        note(t, step, STENCIL_MARK_END);
    }
}

/* Runs phases in one parallel region, or in one region per phase. */
static stencil_status run_team(const stencil_case_loop *loop, int64_t phases) {
    const int threads = (int)loop->blocks;
    const bool persistent = stencil_case_is_persistent(loop->order);
    for (int64_t phase = 0; phase < (persistent ? 1 : phases); phase++) {
        int team = 0;
#pragma omp parallel num_threads(threads)
        {
            const bool complete = omp_get_num_threads() == threads;
            const uint32_t number = (uint32_t)omp_get_thread_num();
            _Alignas(16) unsigned char shared[STENCIL_CASE_SHARED_MAX];
            const stencil_case_thread thread = {.body = loop->problem->of->body,
                                                .arguments = loop->problem->arguments,
                                                .barrier = (stencil_barrier_id)loop->order,
                                                .team = &loop->team,
                                                .fault = &loop->fault,
                                                .trace = &loop->trace,
                                                .number = number,
                                                .block = {number, loop->blocks, shared}};
            if (number == 0)
                team = omp_get_num_threads();
            if (complete && persistent)
                stencil_case_persist(&thread);
            else if (complete)
                make_phase(&thread, phase);
        }
        TRY(stencil_bench_check_team(team, threads));
    }
    return STENCIL_OK;
}

static stencil_status run_cpu(const stencil_case_loop *loop, int64_t count, double *time_s) {
    const double start_s = stencil_clock_s();
    for (int64_t i = 0; i < count; i++)
        TRY(run_team(loop, phases_of(loop)));
    *time_s = stencil_clock_s() - start_s;
    const uint32_t alarm = loop->team.alarm[0];
    CHECK(alarm == 0, INTERNAL,
          "%s of %lld elements, barrier %s: thread %u waited for more than %g s in vain",
          loop->problem->of->name, (long long)loop->problem->n, loop->name, alarm - 1, loop->timeout_s);
    return STENCIL_OK;
}

stencil_status stencil_case_loop_run(stencil_case_loop *loop, int64_t count, double *time_s) {
#ifdef STENCIL_HAVE_CUDA
    if (loop->gpu != NULL)
        return stencil_case_gpu_run(loop, count, time_s);
#endif
    return run_cpu(loop, count, time_s);
}

stencil_status stencil_case_loop_verify(stencil_case_loop *loop) {
    const stencil_case_problem *p = loop->problem;
    const bool gpu = loop->gpu != NULL;
    double time_s;
    stencil_case_spoil(p);
    for (int i = 0; i < p->array_count && gpu; i++)
        if (p->array[i].kind != STENCIL_CASE_INPUT)
            TRY(stencil_case_memory_spoil(p->device, p->array[i].device,
                                          stencil_case_array_bytes(&p->array[i])));
    TRY(stencil_case_loop_run(loop, 1, &time_s));
    for (int i = 0; i < p->array_count && gpu; i++)
        if (p->array[i].kind == STENCIL_CASE_RESULT)
            TRY(stencil_case_memory_read(p->device, p->array[i].memory, p->array[i].device,
                                         stencil_case_array_bytes(&p->array[i])));
    return loop->order == STENCIL_CASE_CEILING ? stencil_case_check_bound(loop->problem, loop->name)
                                               : stencil_case_check(loop->problem, loop->name);
}

enum { SAMPLES_MAX = 255 };

/* Makes one run of a loop, and copies the marks of its trace to `mark`. */
static stencil_status record(stencil_case_loop *loop, int64_t *mark, size_t count) {
    double time_s;
#ifdef STENCIL_HAVE_CUDA
    if (loop->gpu != NULL) {
        TRY(stencil_case_gpu_mark(loop, mark, count, false));
        TRY(stencil_case_gpu_run(loop, 1, &time_s));
        return stencil_case_gpu_mark(loop, mark, count, true);
    }
#endif
    (void)count;
    loop->trace.mark = mark;
    return run_cpu(loop, 1, &time_s);
}

/* Makes one run, and puts the marks of all participants, converted to one clock, in a timeline. */
static stencil_status take(stencil_case_loop *loop, bool launches, stencil_timeline *timeline) {
    const size_t count = (size_t)loop->trace.samples * loop->blocks * STENCIL_MARKS;
    int64_t *mark = calloc(count, sizeof *mark);
    stencil_tick_clock *clock = malloc(loop->blocks * sizeof *clock);
    stencil_status status =
        mark != NULL && clock != NULL
            ? record(loop, mark, count)
            : ERROR(NO_MEMORY, "no memory for the moments of %u phases", loop->trace.samples);
    for (uint32_t p = 0; p < loop->blocks && status == STENCIL_OK; p++) {
        timeline->who[p] = (stencil_who){-1, -1};
        clock[p] = (stencil_tick_clock){mark[STENCIL_MARK_BEGIN], 1e-9, 0};
    }
    if (status == STENCIL_OK)
        stencil_trial_take(timeline, 0, mark, clock, launches);
    free(mark);
    free(clock);
    loop->trace = (stencil_trace){0};
    return status;
}

/* With one launch per phase, traces the first few phases, the first of which only gives the time at which the
 * second could begin; in a persistent loop, traces some of all phases that are followed by a barrier. */
stencil_status stencil_case_loop_attribute(stencil_case_loop *loop, stencil_inside *inside) {
    const bool launches = !stencil_case_is_persistent(loop->order);
    const int64_t phases = phases_of(loop), noted = launches ? phases : phases - 1;
    const int64_t every = launches ? 1 : (noted + SAMPLES_MAX - 1) / SAMPLES_MAX | 1;
    stencil_timeline timeline;
    *inside = (stencil_inside){0};
    if (phases < 2 || loop->order >= STENCIL_CASE_GRAPH || loop->order == STENCIL_CASE_ALONE)
        return STENCIL_OK;
    loop->trace.participants = loop->blocks;
    stencil_trace_set(&loop->trace, 1, (uint32_t)every,
                      (uint32_t)stencil_smaller((noted + every - 1) / every, SAMPLES_MAX));
    stencil_status status =
        stencil_timeline_create(&timeline, (int)loop->blocks, (int)loop->trace.samples - launches);
    timeline.unit = loop->gpu != NULL ? "block" : "thread";
    timeline.neighbor_first = loop->ring;
    timeline.neighbor = loop->ring != NULL ? loop->ring + loop->blocks + 1 : NULL;
    if (status == STENCIL_OK)
        status = take(loop, launches, &timeline);
    if (status == STENCIL_OK)
        status = stencil_timeline_analyse(&timeline, inside);
    stencil_timeline_destroy(&timeline);
    return status;
}
