#include "solver/attribution/trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "solver/problem/cycle.h"

/* Steps of a persistent loop before the first sample, while the blocks of the launch still start up. */
enum { LEAD = 32 };

stencil_trial stencil_trial_of(stencil_run *run, const stencil_observers *observers) {
    return (stencil_trial){.run = run,
                           .observers = observers,
                           .next = run->steps,
                           .from = run->from,
                           .whole = true,
                           .depth = run->on.plan->depth,
                           .whole_count = 1,
                           .launches = run->on.gpu != NULL && run->on.plan->barrier == STENCIL_BARRIER_none};
}

/* Advances the step number to a common multiple of the length of the cycle of weights, of 2 (the buffers
 * alternate) and of the steps of a pass, so that a batch begins as a run does. */
static void align(stencil_trial *t) {
    const int64_t unit = 2 * (int64_t)t->depth * t->run->problem->cycle.length;
    t->next += (unit - t->next % unit) % unit;
}

/* Sets what the following batches record and leave out. */
static stencil_status set_trace(const stencil_trial *t, const stencil_trace *trace) {
    if (t->run->on.cpu != NULL) {
        stencil_cpu_set_trace(t->run->on.cpu, trace);
        t->run->on.cpu->fault = stencil_trial_fault(t->run->on.plan, trace);
    }
#ifdef STENCIL_HAVE_CUDA
    stencil_gpu_run *const run = t->run->on.gpu;
    if (run != NULL)
        stencil_gpu_set_trace(run, trace, trace->samples > 0 ? t->marks : NULL);
    if (run != NULL && run->strategy->replayed > 0) { /* a graph has captured the old kernel arguments */
        run->strategy->close_gpu(run);
        return run->strategy->open_gpu(run);
    }
#endif
    return STENCIL_OK;
}

/* Returns the batch after `step` steps of a trial that ends with step `end`, as the run would make it. */
static stencil_batch batch_of(const stencil_trial *t, const stencil_schedule *schedule, int64_t step,
                              int64_t end) {
    const int64_t most = stencil_run_batch_most(t->run, schedule, step);
    return (stencil_batch){step, stencil_smaller(most, end - step), t->observers, t->from};
}

/* Returns the number of launches since the trace was set. */
static int count_launches(const stencil_trial *t) {
#ifdef STENCIL_HAVE_CUDA
    if (t->run->on.gpu != NULL)
        return (int)(t->run->on.gpu->part[0].args.trace.launch + 1);
#endif
    return (int)(t->run->on.cpu->trace.launch + 1);
}

/* Returns the number of steps in passes of a batch that have a checked step. */
static int64_t checked_pass_steps(const stencil_trial *t, const stencil_batch *batch,
                                  const stencil_schedule *schedule) {
    const int64_t end = batch->first + batch->count;
    int64_t checked = 0;
    stencil_pass pass = {batch->first, 0, 0};
    for (pass = stencil_pass_next(&pass, schedule, t->depth, end); pass.first < end;
         pass = stencil_pass_next(&pass, schedule, t->depth, end))
        checked += stencil_pass_check(schedule, &pass) > 0 ? pass.steps : 0;
    return checked;
}

/* Adds a batch to the makeup of the trial: `launches` in all, checked passes that are launched apart, too. */
static void count_batch(stencil_trial *t, const stencil_batch *batch, const stencil_schedule *schedule,
                        int launches, double time_s) {
    const bool loops = t->run->on.gpu != NULL && !t->launches; /* a checked pass may be a launch of its own */
    const double checks = (double)t->run->outcome.checks, exits = loops && launches > 1 ? checks : 0;
    const int64_t end = batch->first + batch->count,
                  passes = stencil_pass_count(schedule, t->depth, batch->first, end);
    stencil_makeup *made = &t->made;
    made->batches++;
    made->launches += launches - exits;
    made->checks += checks;
    made->exits += exits;
    made->passes += (double)passes - exits;
    made->loop_steps += (double)(batch->count - (exits > 0 ? checked_pass_steps(t, batch, schedule) : 0));
    made->steps += (double)batch->count;
    if (!t->launches && t->launches_made + launches <= STENCIL_TRIAL_LAUNCHES) {
        t->stretch[t->stretches++] = (stencil_stretch){launches, time_s};
        t->launches_made += launches;
    }
}

/* Makes `count` steps in batches. */
static stencil_status make_steps(stencil_trial *t, int64_t count, const stencil_schedule *schedule,
                                 double *time_s) {
    const int64_t end = t->next + count;
    *time_s = 0;
    while (t->next < end) {
        const stencil_batch batch = batch_of(t, schedule, t->next, end);
        const int before = count_launches(t);
        double batch_s = 0;
        TRY(stencil_run_batch(t->run, &batch, schedule, &batch_s));
        count_batch(t, &batch, schedule, count_launches(t) - before, batch_s);
        *time_s += batch_s;
        t->next += t->run->outcome.steps;
        CHECK(t->run->outcome.reason != STENCIL_REASON_INTERRUPTED, INTERRUPTED, "interrupted");
        CHECK(t->run->outcome.steps == batch.count, BAD_DATA, "the field does not stay finite");
        t->from = stencil_batch_end(t->run->on.plan, &batch, schedule, batch.count);
    }
    return STENCIL_OK;
}

/* Returns the schedule of a trial, with a residual check every `check_every` steps and no criterion. */
static stencil_schedule schedule_of(const stencil_trial *t, int64_t check_every) {
    stencil_schedule schedule = t->run->schedule;
    schedule.check_every = check_every;
    schedule.check_step = 0;
    schedule.under_rtol = schedule.under_atol = NAN;
    return schedule;
}

static stencil_status read_zeros(void *context, stencil_array array, const stencil_box *box,
                                 const stencil_cells *to) {
    (void)context, (void)array;
    for (int64_t z = 0; z < box->n[STENCIL_Z]; z++)
        for (int64_t y = 0; y < box->n[STENCIL_Y]; y++)
            for (int64_t x = 0; x < box->n[STENCIL_X]; x++)
                stencil_cells_set(to, z * to->plane + y * to->row + x, 0);
    return STENCIL_OK;
}

/* Ends a batch. In a batch without barriers parts of the field are in different steps of a cycle of weights,
 * which lets the field of an accelerated problem grow without limit, so such a batch leaves zeros behind. */
static stencil_status end_batch(stencil_trial *t, const stencil_trace *without) {
    const stencil_reader zeros = {read_zeros, NULL};
    const bool mixed = without->without_barrier && !without->without_compute;
    t->whole = mixed || without->without_compute;
    return mixed && t->run->accelerated ? stencil_run_load_u(t->run, &zeros) : STENCIL_OK;
}

/* Prepares a batch: makes the steps that the batch before has left of a cycle of weights, whose first steps
 * alone let parts of the field grow, and aligns the step number. */
static stencil_status begin_batch(stencil_trial *t) {
    const stencil_schedule unchecked = schedule_of(t, INT64_MAX);
    double time_s;
    if (!t->whole)
        TRY(make_steps(t, stencil_cycle_end(t->run->problem, t->next) - t->next, &unchecked, &time_s));
    t->whole = true;
    align(t);
    if (!t->run->accelerated) /* any cells will do */
        t->from = (int)(t->next % 2);
    return STENCIL_OK;
}

static stencil_status time_steps(stencil_trial *t, int64_t count, int64_t check_every,
                                 const stencil_trace *trace, double *time_s) {
    const stencil_schedule schedule = schedule_of(t, check_every);
#ifdef STENCIL_HAVE_CUDA
    if (t->launches && trace->without_barrier) {
        TRY(stencil_gpu_unordered(t->run->on.gpu, t->next, count));
        return stencil_gpu_time_s(t->run->on.gpu, time_s);
    }
#else
    (void)trace;
#endif
    return make_steps(t, count * t->depth, &schedule, time_s);
}

stencil_status stencil_trial_time(stencil_trial *t, int64_t count, int64_t check_every,
                                  const stencil_trace *without, double *time_s) {
    TRY(begin_batch(t));
    t->made = (stencil_makeup){0};
    t->stretches = t->launches_made = 0;
    stencil_status status = set_trace(t, without);
    if (status == STENCIL_OK)
        status = time_steps(t, count, check_every, without, time_s);
    if (status == STENCIL_OK)
        status = end_batch(t, without);
    const stencil_error failure = *stencil_error_last();
    const stencil_status reset = set_trace(t, &(stencil_trace){0});
    return status != STENCIL_OK ? stencil_error_adopt(&failure) : reset;
}

/* Fills in step, `checked` and `all` of the sample that a pass of a batch is, if it is one. Everybody waits
 * for all in checked or polled passes. CPU threads count passes, in a persistent loop full passes note the
 * time by the step that they begin with. */
static void name_sample(const stencil_trial *t, const stencil_batch *batch, const stencil_pass *pass,
                        const stencil_schedule *schedule, int64_t count, const stencil_trace *trace,
                        stencil_timeline *timeline) {
    const bool cpu = t->run->on.cpu != NULL;
    const int64_t number = cpu ? count : pass->first / t->depth + 1,
                  sample = cpu || pass->steps == t->depth ? stencil_trace_sample(trace, number) : -1;
    if (sample < 0)
        return;
    const int64_t from = cpu ? 0 : batch->first;
    const stencil_pass polled = {pass->first - from, pass->steps, 0};
    stencil_sample *s = &timeline->sample[sample];
    s->checked = stencil_schedule_next(schedule, pass->first) <= pass->first + pass->steps;
    s->all = s->checked || stencil_pass_reaches(&polled, t->run->on.plan->poll_every);
}

/* Names the samples of the steps `first` + 1 to `end` of the trial. */
static void name_samples(stencil_trial *t, int64_t first, int64_t end, const stencil_schedule *schedule,
                         const stencil_trace *trace, stencil_timeline *timeline) {
    for (int i = 0; i < timeline->samples; i++)
        timeline->sample[i].step = trace->first + (i + t->launches) * (int64_t)trace->every;
    int64_t count = 0;
    for (int64_t step = first; step < end && !t->launches;) {
        const stencil_batch batch = batch_of(t, schedule, step, end);
        stencil_pass pass = stencil_batch_pass(&batch, schedule, t->depth);
        step += batch.count;
        for (; pass.steps > 0; pass = stencil_pass_next(&pass, schedule, t->depth, step))
            name_sample(t, &batch, &pass, schedule, ++count, trace, timeline);
    }
}

/* Returns the weight of samples that are checked, or of the others, of which there are `alike` among all
 * samples, where steps are checked at this distance. */
static double weight_of(const stencil_trial *t, int64_t check_every, bool checked, double alike,
                        double samples) {
    const double share = 1.0 / (double)stencil_trial_passes(t, check_every);
    return samples * (checked ? share : 1 - share) / alike;
}

void stencil_trial_weigh(const stencil_trial *t, int64_t check_every, stencil_timeline *timeline) {
    int checked = 0;
    for (int i = 0; i < timeline->samples; i++)
        checked += timeline->sample[i].checked;
    for (int i = 0; i < timeline->samples && checked > 0 && checked < timeline->samples; i++) {
        stencil_sample *const sample = &timeline->sample[i];
        const int alike = sample->checked ? checked : timeline->samples - checked;
        sample->weight =
            weight_of(t, t->run->schedule.check_every, sample->checked, alike, timeline->samples);
        sample->in_batches = weight_of(t, check_every, sample->checked, alike, timeline->samples);
    }
}

/* Returns by how many passes, fewer than `every`, to put off the first of samples at this distance, which was
 * pass `number` from step `first` on, so that the most of those up to step `end` are checked. */
static int64_t shift_to_checks(const stencil_trial *t, const stencil_schedule *schedule, int64_t first,
                               int64_t end, int64_t number, uint32_t every) {
    enum { PLACES = STENCIL_TRIAL_EVERY };
    int checked[PLACES] = {0};
    int64_t best = 0;
    const bool cpu = t->run->on.cpu != NULL;
    int64_t count = 0;
    stencil_pass pass = {first, 0, 0};
    for (pass = stencil_pass_next(&pass, schedule, t->depth, end); pass.steps > 0 && every <= PLACES;
         pass = stencil_pass_next(&pass, schedule, t->depth, end)) {
        const int64_t at = (cpu ? ++count : pass.first / t->depth + 1) - number;
        if (at >= 0 && stencil_pass_check(schedule, &pass) > 0 && (cpu || pass.steps == t->depth))
            checked[at % every]++;
    }
    for (uint32_t i = 1; i < every && every <= PLACES; i++)
        if (checked[i] > checked[best])
            best = i;
    return best;
}

/* Gives a timeline the batches of the trial, whose launches it may hold. */
static stencil_status add_stretches(const stencil_trial *t, stencil_timeline *timeline) {
    TRY(stencil_timeline_create_launches(timeline, t->launches_made, t->stretches));
    memcpy(timeline->batch, t->stretch, (size_t)t->stretches * sizeof *timeline->batch);
    return STENCIL_OK;
}

static stencil_status record_cpu(stencil_trial *t, int64_t count, int64_t check_every, stencil_trace *trace,
                                 stencil_timeline *timeline, double *time_s) {
    const int threads = t->run->on.cpu->threads;
    TRY(stencil_timeline_create(timeline, threads, (int)trace->samples));
    timeline->unit = "thread";
    if (t->run->on.plan->barrier != STENCIL_BARRIER_none &&
        stencil_barriers[t->run->on.plan->barrier].needs == STENCIL_NEEDS_NEIGHBORS) {
        timeline->neighbor_first = t->run->on.cpu->neighbors.first;
        timeline->neighbor = t->run->on.cpu->neighbors.list;
    }
    stencil_tick_clock *clock = malloc((size_t)threads * sizeof *clock);
    trace->participants = (uint32_t)threads;
    trace->mark = calloc((size_t)trace->samples * (size_t)threads * STENCIL_NOTES, sizeof *trace->mark);
    trace->launches = STENCIL_TRIAL_LAUNCHES;
    trace->launched =
        calloc((size_t)trace->launches * (size_t)threads * STENCIL_LAUNCH_MARKS, sizeof *trace->launched);
    stencil_status status = clock != NULL && trace->mark != NULL && trace->launched != NULL
                                ? stencil_trial_time(t, count, check_every, trace, time_s)
                                : ERROR(NO_MEMORY, "no memory for the moments of %u steps", trace->samples);
    for (int p = 0; p < threads && status == STENCIL_OK; p++) {
        timeline->who[p] = (stencil_who){-1, -1};
        clock[p] = (stencil_tick_clock){trace->mark[STENCIL_MARK_BEGIN], 1e-9, 0};
    }
    if (status == STENCIL_OK)
        status = add_stretches(t, timeline);
    if (status == STENCIL_OK) {
        stencil_trial_take(timeline, 0, trace->mark, clock, NULL, false);
        stencil_trial_take_launches(timeline, 0, trace->launched, clock, NULL);
    }
    free(trace->launched);
    free(trace->mark);
    free(clock);
    return status;
}

#ifdef STENCIL_HAVE_CUDA
static stencil_status record_gpu(stencil_trial *t, int64_t count, int64_t check_every, stencil_trace *trace,
                                 stencil_timeline *timeline, double *time_s) {
    stencil_gpu_run *run = t->run->on.gpu;
    stencil_gpu_marks marks[STENCIL_PARTS_MAX] = {{0}};
    int first[STENCIL_PARTS_MAX + 1] = {0};
    stencil_status status = stencil_gpu_marks_create(run, trace->samples, marks);
    for (int p = 0; p < run->parts; p++)
        first[p + 1] = first[p] + (int)marks[p].participants;
    if (status == STENCIL_OK)
        status = stencil_timeline_create(timeline, first[run->parts], (int)trace->samples - t->launches);
    timeline->unit = t->launches ? "SM" : "block";
    timeline->groups = run->parts;
    memcpy(timeline->group_first, first, sizeof first);
    const stencil_plan *plan = run->plan; /* behind a pass of several steps all blocks wait for all */
    if (t->depth == 1 || plan->layout.kind == STENCIL_PASS_ON_CHIP) {
        timeline->neighbor_first = run->neighbors.first;
        timeline->neighbor = run->neighbors.list;
    }
    t->marks = marks;
    if (status == STENCIL_OK)
        status = stencil_trial_time(t, count, check_every, trace, time_s);
    t->marks = NULL;
    if (status == STENCIL_OK)
        status = add_stretches(t, timeline);
    for (int p = 0; p < run->parts && status == STENCIL_OK; p++)
        status = stencil_gpu_marks_take(run, p, &marks[p], t->launches, timeline);
    stencil_gpu_marks_destroy(run, marks);
    return status;
}
#endif

/* Returns the number of passes of a persistent loop before the first sample. Where blocks wait for
 * neighbours, a late block has held up all others only after about as many steps as there are blocks. */
static int64_t lead_of(const stencil_plan *plan) {
    const stencil_part_plan *last = &plan->part[plan->cut.parts - 1];
    const bool neighbors = stencil_barriers[plan->barrier].needs == STENCIL_NEEDS_NEIGHBORS;
    const int64_t blocks = (int64_t)last->first_block + last->grid_blocks;
    return neighbors && blocks > LEAD ? blocks : LEAD;
}

stencil_status stencil_trial_record(stencil_trial *t, int64_t *count, int64_t check_every, uint32_t every,
                                    uint32_t samples, stencil_timeline *timeline, double *time_s) {
    const int64_t replayed = t->launches ? stencil_strategy_loop(t->run->on.plan->strategy)->replayed : 0;
    stencil_trace trace = {0};
    int64_t noted = *count, before = 0;
    const int64_t sampled = (int64_t)samples * every;
    double rest_s = 0;
    TRY(begin_batch(t));
    if (replayed > 0) /* steps have the numbers of the capture of a graph, whether one is replayed or not */
        t->next = 0;
    *timeline = (stencil_timeline){0};
    if (t->launches)
        check_every = INT64_MAX;
    const stencil_schedule schedule = schedule_of(t, check_every);
    if (replayed > 0) {
        noted = replayed + 1;
        samples = (uint32_t)stencil_smaller(samples, replayed);
        *count = *count > noted ? *count : noted;
    }
    if (t->launches)
        before = (noted - (replayed > 0) - samples) / 2;
    else if (t->run->on.gpu != NULL && sampled < *count) { /* other steps: no time stamps */
        before = stencil_smaller(lead_of(t->run->on.plan), *count - sampled);
        noted = (before + sampled + t->whole_count - 1) / t->whole_count * t->whole_count;
        noted = stencil_smaller(noted, *count);
    }
    /* a graph replays the step numbers of its capture, and threads count the passes of the trial */
    const int64_t first = t->next, numbered = replayed > 0 || t->run->on.cpu != NULL ? 0 : first / t->depth;
    if (!t->launches && !t->exits)
        before +=
            shift_to_checks(t, &schedule, first, first + noted * t->depth, numbered + before + 1, every);
    stencil_trace_set(&trace, numbered + before + 1, every, samples);
#ifdef STENCIL_HAVE_CUDA
    if (t->run->on.gpu != NULL)
        TRY(record_gpu(t, noted, check_every, &trace, timeline, time_s));
#endif
    if (t->run->on.cpu != NULL)
        TRY(record_cpu(t, noted, check_every, &trace, timeline, time_s));
    name_samples(t, first, first + noted * t->depth, &schedule, &trace, timeline);
    const stencil_makeup made = t->made;
    if (*count > noted)
        TRY(stencil_trial_time(t, *count - noted, check_every, &(stencil_trace){0}, &rest_s));
    t->made = made;
    *time_s += rest_s;
    return STENCIL_OK;
}
