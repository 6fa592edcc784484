#include "bench/cases/loop.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "solver/attribution/trial.h"
#include "sync/host.h"

static bool is_persistent(const stencil_case_loop *loop) {
    return stencil_case_is_persistent(loop->spread->of, loop->order);
}

static int64_t phases_of(const stencil_case_loop *loop) {
    return loop->spread->problem->of->body->phases(loop->part);
}

static stencil_status create_team(stencil_bench *b, stencil_case_loop *loop) {
    const uint32_t parts = (uint32_t)loop->spread->parts, threads = parts * loop->blocks;
    TRY(stencil_team_create(&loop->team, threads, 0, loop->timeout_s));
    TRY(stencil_bench_keep(b, free, loop->team.words));
    loop->team.parts = parts;
    loop->team.neighbor_first = loop->ring;
    loop->team.neighbor = loop->ring != NULL ? loop->ring + threads + 1 : NULL;
    return STENCIL_OK;
}

stencil_status stencil_case_loop_create(stencil_bench *b, stencil_case_loop *loop, char why[96]) {
    const stencil_parts_spread *s = loop->spread;
    const stencil_case_order *order = &s->of->order[loop->order];
    if (loop->blocks == 0)
        loop->blocks = s->blocks;
    memcpy(loop->part, s->part, sizeof loop->part);
    loop->name = order->name;
    loop->bytes = s->problem->bytes;
    loop->workers = loop->blocks;
    if (order->gpus && s->device[0] == NULL)
        snprintf(why, 96, "there are no GPUs");
    else
        TRY(s->of->create(b, loop, why));
    if (why[0] != '\0')
        return STENCIL_OK;
#ifdef STENCIL_HAVE_CUDA
    if (s->device[0] != NULL)
        TRY(stencil_case_gpu_create(b, loop, why));
#endif
    if (s->device[0] == NULL)
        TRY(create_team(b, loop));
    loop->fault.absent = (uint32_t)s->parts * loop->blocks - 1;
    return STENCIL_OK;
}

/* A CPU thread, which runs phases as a block does, or a host thread that launches on GPUs. */
typedef struct worker {
    const stencil_case_loop *loop;
    const stencil_case_body *body;
    const void *arguments;
    uint32_t number; /* index of the thread in its team */
    stencil_case_block block;
} worker;

static void sleep_ns(uint32_t ns) {
    nanosleep(&(struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000}, NULL);
}

static void note(const worker *t, int64_t step, stencil_mark mark) {
    const stencil_trace *trace = &t->loop->trace;
    const int64_t sample = trace->mark != NULL ? stencil_trace_sample(trace, step) : -1;
    if (sample >= 0)
        trace->mark[(sample * trace->participants + t->number) * STENCIL_NOTES + mark] =
            (int64_t)(1e9 * stencil_clock_s());
}

/* Delays a thread before the barrier after a phase, or keeps it away, as a planted fault asks. Returns false
 * when the thread stayed away until another thread gave up. */
static bool comes(const worker *t, int64_t step) {
    const stencil_fault *fault = &t->loop->fault;
    if (fault->delay_ns != 0)
        sleep_ns(stencil_lateness_ns(fault, t->number, step));
    if (fault->absent_step != step || fault->absent != t->number)
        return true;
    while (__atomic_load_n(t->loop->team.alarm, __ATOMIC_RELAXED) == 0)
        sleep_ns(1000000);
    return false;
}

static void make_phase(const worker *t, int64_t phase) {
    note(t, phase + 1, STENCIL_MARK_BEGIN);
    t->body->phase(t->arguments, phase, t->block);
    note(t, phase + 1, STENCIL_MARK_SWEPT);
}

/* Runs all phases in a thread of a team. When a thread's wait times out, the alarm names that thread, and all
 * threads return. */
static void persist(const worker *t) {
    const stencil_barrier_id barrier = t->loop->spread->of->order[t->loop->order].barrier;
    const int64_t phases = t->body->phases(t->arguments);
    for (int64_t step = 1; step <= phases; step++) {
        make_phase(t, step - 1);
        if (step < phases &&
            (!comes(t, step) || !stencil_team_sync(barrier, &t->loop->team, t->number, false)))
            return;
        note(t, step, STENCIL_MARK_LEFT);
        note(t, step, STENCIL_MARK_END);
    }
}

int stencil_parts_phase(const stencil_case_loop *loop, int part, int64_t phase, uint32_t blocks) {
    _Alignas(16) unsigned char shared[STENCIL_CASE_SHARED_MAX];
#ifdef STENCIL_HAVE_CUDA
    if (loop->gpu != NULL)
        return stencil_case_gpu_phase(loop, part, phase, blocks);
#endif
    (void)blocks;
    loop->spread->problem->of->body->phase(&loop->part[part], phase, (stencil_case_block){0, 1, shared});
    return 0;
}

int stencil_parts_copy(const stencil_case_loop *loop, int from_part, int to_part, const void *from, void *to,
                       size_t bytes) {
#ifdef STENCIL_HAVE_CUDA
    const stencil_device *source = loop->spread->device[from_part], *target = loop->spread->device[to_part];
    if (source != NULL)
        return cudaMemcpyPeerAsync(to, target->gpu, from, source->gpu, bytes, source->stream);
#endif
    (void)loop, (void)from_part, (void)to_part;
    memcpy(to, from, bytes);
    return 0;
}

/* Makes a part's GPU current or, if `wait`, waits for the part's work. Returns 0, or a cudaError_t. */
static int turn_to(const stencil_case_loop *loop, int part, bool wait) {
#ifdef STENCIL_HAVE_CUDA
    const stencil_device *device = loop->spread->device[part];
    if (device != NULL)
        return wait ? cudaStreamSynchronize(device->stream) : cudaSetDevice(device->gpu);
#endif
    (void)loop, (void)part, (void)wait;
    return 0;
}

/* Makes a run that the host synchronises, in one of `leaders` host threads: one thread for all parts, or one
 * per part. Each step ends with a wait and OpenMP's barrier, which failing threads pass, too, since the other
 * threads would wait forever otherwise. */
static int lead(const stencil_case_loop *loop, int thread, int leaders, int state) {
    const stencil_parts_case *of = loop->spread->of;
    const int parts = loop->spread->parts, steps = of->steps(loop);
    for (int step = 0; step < steps; step++) {
        for (int p = thread; p < parts && state == 0; p += leaders) {
            if (leaders < parts)
                state = turn_to(loop, p, false);
            if (state == 0)
                state = of->step(loop, p, step);
        }
        for (int p = thread; p < parts && state == 0; p += leaders)
            state = turn_to(loop, p, true);
#pragma omp barrier
    }
    return state;
}

/* Makes `count` runs over several parts in a thread; the first thread notes their start. *state becomes 0, or
 * a cudaError_t. */
static void make_runs(const worker *t, int64_t count, double *start_s, int *state) {
    *state = turn_to(t->loop, (int)t->number, false);
#pragma omp barrier
    if (t->number == 0)
        *start_s = stencil_clock_s();
    for (int64_t i = 0; i < count; i++) {
        if (is_persistent(t->loop)) {
            persist(t);
#pragma omp barrier
        } else {
            *state = lead(t->loop, (int)t->number, omp_get_num_threads(), *state);
        }
    }
}

/* Makes runs by host threads, in one part with a parallel region per run or, without a barrier, per phase;
 * over several parts in a single region, so that starting threads is not timed. */
static stencil_status run_team(const stencil_case_loop *loop, int64_t count, double *time_s) {
    const stencil_parts_spread *s = loop->spread;
    const bool one_part = s->of->one_part, persistent = is_persistent(loop);
    const int threads = loop->gpu == NULL ? s->parts * (int)loop->blocks : s->of->one_leader ? 1 : s->parts;
    const int64_t phases = one_part && !persistent ? phases_of(loop) : 1,
                  regions = one_part ? count * phases : 1;
    int states[STENCIL_PARTS_MAX] = {0}, team = 0;
    double start_s = stencil_clock_s();
    for (int64_t i = 0; i < regions; i++) {
#pragma omp parallel num_threads(threads)
        {
            const bool complete = omp_get_num_threads() == threads;
            const uint32_t number = (uint32_t)omp_get_thread_num();
            _Alignas(16) unsigned char shared[STENCIL_CASE_SHARED_MAX];
            const worker t = {.loop = loop,
                              .body = s->problem->of->body,
                              .arguments = &loop->part[number / loop->blocks],
                              .number = number,
                              .block = {number % loop->blocks, loop->blocks, shared}};
            if (number == 0)
                team = omp_get_num_threads();
            if (complete && !one_part)
                make_runs(&t, count, &start_s, &states[number]);
            else if (complete && persistent)
                persist(&t);
            else if (complete)
                make_phase(&t, i % phases);
        }
        TRY(stencil_bench_check_team(team, threads));
    }
    *time_s = stencil_clock_s() - start_s;
#ifdef STENCIL_HAVE_CUDA
    for (int p = 0; p < s->parts; p++)
        TRY_CUDA(states[p]);
#endif
    const uint32_t alarm = loop->gpu == NULL ? loop->team.alarm[0] : 0;
    CHECK(alarm == 0, INTERNAL, "%s of %lld elements, %s%s: thread %u waited for more than %g s in vain",
          one_part ? s->problem->of->name : s->of->name, (long long)s->problem->n, one_part ? "barrier " : "",
          loop->name, alarm - 1, loop->timeout_s);
    return STENCIL_OK;
}

stencil_status stencil_case_loop_run(stencil_case_loop *loop, int64_t count, double *time_s) {
#ifdef STENCIL_HAVE_CUDA
    if (loop->gpu != NULL && (loop->spread->of->one_part || is_persistent(loop) || loop->ceiling != NULL))
        return stencil_case_gpu_run(loop, count, time_s);
#endif
    return run_team(loop, count, time_s);
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
    return run_team(loop, 1, &time_s);
}

/* Makes one run, and puts the marks of all participants, converted to one clock, in a timeline. */
static stencil_status take(stencil_case_loop *loop, bool launches, stencil_timeline *timeline) {
    const size_t count = (size_t)loop->trace.samples * loop->blocks * STENCIL_NOTES;
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
        stencil_trial_take(timeline, 0, mark, clock, NULL, launches);
    free(mark);
    free(clock);
    loop->trace = (stencil_trace){0};
    return status;
}

/* With one launch per phase, traces the first few phases, the first of which only gives the time at which the
 * second could begin; in a persistent loop, traces some of all phases that are followed by a barrier. */
stencil_status stencil_case_loop_attribute(stencil_case_loop *loop, stencil_inside *inside) {
    const bool launches = !is_persistent(loop);
    const int64_t phases = phases_of(loop), noted = launches ? phases : phases - 1;
    const int64_t every = launches ? 1 : (noted + SAMPLES_MAX - 1) / SAMPLES_MAX | 1;
    stencil_timeline timeline;
    *inside = (stencil_inside){0};
    if (phases < 2 || !loop->spread->of->one_part || loop->order >= STENCIL_CASE_GRAPH ||
        loop->order == STENCIL_CASE_ALONE)
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
