/* Attribution on GPUs: what launches record and leave out, and a common time for all multiprocessors. */
#include "solver/attribution/trial.h"

#ifdef STENCIL_HAVE_CUDA
#include <stdlib.h>

/* CLOCK_BLOCKS blocks per multiprocessor, so that the clock of each multiprocessor is compared. */
enum { CLOCK_THREADS = 1024, CLOCK_BLOCKS = 4 };

void stencil_gpu_set_trace(stencil_gpu_run *run, const stencil_trace *trace, const stencil_gpu_marks *marks) {
    for (int p = 0; p < run->parts; p++) {
        stencil_kernel_args *s = &run->part[p].args;
        const int64_t tile_z = run->plan->tile[STENCIL_Z];
        const bool persistent = run->plan->barrier != STENCIL_BARRIER_none;
        s->trace = *trace;
        s->trace.launch = UINT32_MAX; /* the next one is 0 */
        if (marks != NULL) {
            s->trace.mark = marks[p].mark;
            s->trace.launched = marks[p].launched;
            s->trace.launches = marks[p].launches;
            s->trace.place = marks[p].place;
            s->trace.participants = marks[p].participants;
        }
        s->fault = stencil_trial_fault(run->plan, trace);
        s->special = s->fault.delay_ns != 0 || s->trace.mark != NULL;
        s->tile_count[STENCIL_Z] = persistent && trace->without_compute
                                       ? 0
                                       : (uint32_t)((s->domain.n[STENCIL_Z] + tile_z - 1) / tile_z);
    }
}

/* Upper limit on grid rows; a row of the grid makes one step. */
enum { ROWS_MAX = 65535 };

static stencil_status launch_unordered(stencil_gpu_part *gpu, int64_t first, int64_t count) {
    stencil_kernel_args *s = &gpu->args;
    const stencil_plan *plan = gpu->plan;
    const stencil_kernel_launch launch = stencil_plan_launch(plan, plan->depth, false);
    const unsigned tiles = plan->depth > 1 ? (unsigned)plan->layout.blocks
                                           : s->tile_count[0] * s->tile_count[1] * s->tile_count[2];
    const dim3 block = {(unsigned)launch.block_x, (unsigned)launch.block_y, 1};
    void *arguments[] = {s};
    TRY_CUDA(cudaEventRecord(gpu->begin, gpu->stream));
    for (int64_t step = first; step < first + count; step += ROWS_MAX) {
        const int64_t steps = s->trace.without_compute ? 1 : stencil_smaller(ROWS_MAX, first + count - step);
        const dim3 grid = {tiles, (unsigned)steps, 1};
        stencil_gpu_set_steps(gpu, s, step, plan->depth, (int)(step % 2));
        TRY_CUDA(cudaLaunchKernel(launch.traced, grid, block, arguments, (size_t)launch.shared_bytes,
                                  gpu->stream));
    }
    TRY_CUDA(cudaEventRecord(gpu->end, gpu->stream));
    return STENCIL_OK;
}

stencil_status stencil_gpu_unordered(stencil_gpu_run *run, int64_t first, int64_t count) {
    for (int p = 0; p < run->parts; p++) {
        TRY_CUDA(cudaSetDevice(run->part[p].device));
        TRY(launch_unordered(&run->part[p], first, count));
    }
    for (int p = 0; p < run->parts; p++)
        TRY(stencil_gpu_wait(&run->part[p]));
    TRY_CUDA(cudaSetDevice(run->part[0].device));
    return STENCIL_OK;
}

/* Records pairs of a multiprocessor's clock and the device's timer, on all multiprocessors. */
static stencil_status compare_clocks(stencil_gpu_part *gpu, const stencil_gpu_marks *m, int which) {
    stencil_clock_pair *pair = m->pair[which];
    uint32_t places = m->places;
    void *arguments[] = {&pair, &places};
    const dim3 grid = {CLOCK_BLOCKS * places, 1, 1}, block = {CLOCK_THREADS, 1, 1};
    TRY_CUDA(cudaMemsetAsync(pair, 0, places * STENCIL_CLOCK_PAIRS * sizeof *pair, gpu->stream));
    TRY_CUDA(cudaLaunchKernel(stencil_clocks_kernel(), grid, block, arguments, 0, gpu->stream));
    return stencil_gpu_wait(gpu);
}

/* Sets the arrays of the allocation that m->mark points to. */
static void lay_out(stencil_gpu_marks *m) {
    m->launched = m->mark + m->count;
    m->pair[0] =
        (stencil_clock_pair *)(m->launched + (size_t)m->launches * m->participants * STENCIL_LAUNCH_MARKS);
    m->pair[1] = m->pair[0] + (size_t)m->places * STENCIL_CLOCK_PAIRS;
    m->place = (uint32_t *)(m->pair[1] + (size_t)m->places * STENCIL_CLOCK_PAIRS);
}

/* Allocates the marks of a part. Launches take the minimum of BEGIN over blocks: it starts at the maximum. */
static stencil_status create_part(stencil_gpu_part *gpu, uint32_t samples, stencil_gpu_marks *m) {
    const bool launches = gpu->plan->barrier == STENCIL_BARRIER_none;
    int places = 0;
    TRY_CUDA(cudaSetDevice(gpu->device));
    TRY_CUDA(cudaDeviceGetAttribute(&places, cudaDevAttrMultiProcessorCount, gpu->device));
    m->places = (uint32_t)places;
    m->participants = launches ? m->places : (uint32_t)gpu->plan->part[gpu->part].grid_blocks;
    m->launches = launches ? 0 : STENCIL_TRIAL_LAUNCHES;
    m->count = (size_t)samples * m->participants * STENCIL_NOTES;
    m->bytes = (m->count + (size_t)m->launches * m->participants * STENCIL_LAUNCH_MARKS) * sizeof *m->mark +
               2 * m->places * STENCIL_CLOCK_PAIRS * sizeof *m->pair[0] +
               (samples + m->launches) * m->participants * sizeof *m->place;
    int64_t *mark = calloc(1, m->bytes);
    CHECK(mark != NULL, NO_MEMORY, "no memory for the moments of %u steps", samples);
    for (size_t i = STENCIL_MARK_BEGIN; i < m->count && launches; i += STENCIL_NOTES)
        mark[i] = INT64_MAX;
    const stencil_status status = stencil_to_device(&m->mark, mark, m->bytes);
    free(mark);
    TRY(status);
    lay_out(m);
    return compare_clocks(gpu, m, 0);
}

stencil_status stencil_gpu_marks_create(stencil_gpu_run *run, uint32_t samples, stencil_gpu_marks *marks) {
    for (int p = 0; p < run->parts; p++)
        TRY(create_part(&run->part[p], samples, &marks[p]));
    TRY_CUDA(cudaSetDevice(run->part[0].device));
    return STENCIL_OK;
}

/* Returns the pair of a multiprocessor that was read soonest after a tick of the device's coarse timer: its
 * device time is most ahead of the clock. */
static stencil_clock_pair best_pair(const stencil_clock_pair *pair, double tick_ns) {
    stencil_clock_pair best = pair[0];
    for (int i = 1; i < STENCIL_CLOCK_PAIRS; i++)
        if ((double)(pair[i].ns - best.ns) > tick_ns * (double)(pair[i].cycle - best.cycle))
            best = pair[i];
    return best;
}

/* Determines the clock of each multiprocessor, clock[places], from comparisons before and after a batch. Each
 * clock has its own tick length, because a difference of 1e-4 amounts to microseconds in a batch. */
static stencil_status fit_clocks(const stencil_clock_pair *before, const stencil_clock_pair *after,
                                 uint32_t places, stencil_tick_clock *clock) {
    for (uint32_t p = 0; p < places; p++) {
        const stencil_clock_pair *b = before + p * STENCIL_CLOCK_PAIRS, *a = after + p * STENCIL_CLOCK_PAIRS;
        CHECK(b->cycle > 0 && a->cycle > b->cycle, UNAVAILABLE,
              "the clock of multiprocessor %u could not be compared with the device's", p);
        const double tick_ns = (double)(a->ns - b->ns) / (double)(a->cycle - b->cycle);
        const stencil_clock_pair from = best_pair(b, tick_ns), to = best_pair(a, tick_ns);
        clock[p] = (stencil_tick_clock){from.cycle,
                                        1e-9 * (double)(to.ns - from.ns) / (double)(to.cycle - from.cycle),
                                        1e-9 * (double)(from.ns - before->ns)};
    }
    return STENCIL_OK;
}

/* Copies the marks of a part to host->mark, and determines the clock of each multiprocessor. */
static stencil_status fetch(const stencil_gpu_marks *m, stencil_gpu_marks *host, stencil_tick_clock *clock) {
    TRY_CUDA(cudaMemcpy(host->mark, m->mark, m->bytes, cudaMemcpyDeviceToHost));
    lay_out(host);
    const size_t noted = m->count / STENCIL_NOTES + (size_t)m->launches * m->participants;
    for (size_t i = 0; i < noted; i++)
        host->place[i] = host->place[i] < m->places ? host->place[i] : 0;
    return fit_clocks(host->pair[0], host->pair[1], m->places, clock);
}

stencil_status stencil_gpu_marks_take(stencil_gpu_run *run, int part, const stencil_gpu_marks *m,
                                      bool launches, stencil_timeline *timeline) {
    stencil_gpu_marks host = *m;
    TRY_CUDA(cudaSetDevice(run->part[part].device));
    TRY(compare_clocks(&run->part[part], m, 1));
    stencil_tick_clock *clock = malloc(m->places * sizeof *clock);
    host.mark = malloc(m->bytes);
    const stencil_status status =
        clock != NULL && host.mark != NULL
            ? fetch(m, &host, clock)
            : ERROR(NO_MEMORY, "no memory for the moments of %d steps", timeline->samples + launches);
    if (status == STENCIL_OK) {
        const uint32_t *const of_launch = host.place + m->count / STENCIL_NOTES;
        for (uint32_t p = 0; p < m->participants; p++)
            timeline->who[timeline->group_first[part] + (int)p] =
                (stencil_who){part, (int)(launches ? p : of_launch[p])};
        stencil_trial_take(timeline, part, host.mark, clock, launches ? NULL : host.place, launches);
        stencil_trial_take_launches(timeline, part, host.launched, clock, of_launch);
    }
    free(clock);
    free(host.mark);
    TRY_CUDA(cudaSetDevice(run->part[0].device));
    return status;
}

void stencil_gpu_marks_destroy(stencil_gpu_run *run, stencil_gpu_marks *marks) {
    for (int p = 0; p < run->parts; p++) {
        cudaSetDevice(run->part[p].device);
        cudaFree(marks[p].mark);
    }
    cudaSetDevice(run->part[0].device);
}
#endif
