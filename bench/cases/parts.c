#include "bench/cases/parts.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int stencil_parts_most(const stencil_bench *b) {
    int most = b->machine->cpu_threads;
#ifdef STENCIL_HAVE_CUDA
    char why[96];
    if (b->options->backend == STENCIL_BACKEND_GPU)
        most = stencil_device_peers(b, why, sizeof why) ? b->options->gpu_count : 1;
#endif
    return most < STENCIL_PARTS_MAX ? most : STENCIL_PARTS_MAX;
}

static bool is_persistent(const stencil_parts_loop *loop) {
    return loop->spread->of->order[loop->order].barrier != STENCIL_BARRIER_none;
}

#ifdef STENCIL_HAVE_CUDA
/* GPU state of a loop over parts: the launches of each part, in any order. */
struct stencil_parts_kernel {
    const void *persistent;
    stencil_grid grid;
    stencil_barrier barrier;
    stencil_case_launch launch[STENCIL_PARTS_MAX];
};

/* Prepares the devices of a spread problem; leaves the first part's GPU current. */
static stencil_status create_devices(stencil_bench *b, stencil_parts_spread *s) {
    const stencil_case_body *body = s->problem->of->body;
    const stencil_grid one = {.blocks = 1, .block_x = body->lanes, .block_y = 1};
    const int64_t pieces = s->problem->items / body->lanes;
    int64_t most = INT32_MAX;
    stencil_device *device;
    TRY(stencil_bench_memory(b, &device, (size_t)s->parts * sizeof *device));
    for (int p = s->parts - 1; p >= 0; p--) {
        struct cudaFuncAttributes attributes;
        s->device[p] = &device[p];
        TRY(stencil_device_create(b, p, &device[p]));
        TRY(stencil_peers_reach(device[p].gpu, b->options->gpu, s->parts));
        TRY_CUDA(cudaFuncGetAttributes(&attributes, body->kernels->phase)); /* loads the kernel */
    }
    for (int i = 0; s->of->order[i].name != NULL; i++)
        if (s->of->order[i].barrier != STENCIL_BARRIER_none) {
            int64_t resident;
            TRY(stencil_device_resident(b, s->parts, body->kernels->persistent[s->of->order[i].barrier], &one,
                                        &resident));
            most = stencil_smaller(most, resident);
        }
    s->blocks = stencil_case_blocks((pieces + s->parts - 1) / s->parts, most);
    return STENCIL_OK;
}

static stencil_status create_kernel(stencil_bench *b, stencil_parts_loop *loop) {
    const stencil_parts_spread *s = loop->spread;
    const stencil_case_body *body = s->problem->of->body;
    TRY(stencil_bench_memory(b, &loop->kernel, sizeof *loop->kernel));
    struct stencil_parts_kernel *k = loop->kernel;
    k->persistent = body->kernels->persistent[s->of->order[loop->order].barrier];
    k->grid = (stencil_grid){.blocks = s->blocks, .block_x = body->lanes, .block_y = 1};
    for (int p = 0; p < s->parts; p++) {
        k->launch[p].phases = body->phases(&loop->part[p]);
        memcpy(k->launch[p].arguments, &loop->part[p], sizeof k->launch[p].arguments);
    }
    return STENCIL_OK;
}

static void destroy_barrier(void *kept) {
    stencil_barrier *barrier = kept;
    if (barrier->start != NULL)
        stencil_barrier_destroy(barrier);
}

static stencil_status create_barrier(stencil_bench *b, stencil_parts_loop *loop, char why[96]) {
    struct stencil_parts_kernel *k = loop->kernel;
    const stencil_barrier_info *info = &stencil_barriers[loop->spread->of->order[loop->order].barrier];
    const stencil_gpu least = stencil_device_least(b, loop->spread->parts);
    if (!least.cooperative)
        snprintf(why, 96, "a GPU has no cooperative launch");
    if (why[0] != '\0' || !stencil_device_has_code(&least, info->capability, why))
        return STENCIL_OK;
    TRY(stencil_bench_keep(b, destroy_barrier, &k->barrier));
    TRY(stencil_device_barrier(b, &k->barrier,
                               &(stencil_barrier_shape){.info = info,
                                                        .parts = loop->spread->parts,
                                                        .first = {0, k->grid.blocks},
                                                        .timeout_s = loop->timeout_s},
                               loop->team.neighbor_first));
    for (int p = 0; p < loop->spread->parts; p++)
        k->launch[p].state = k->barrier.state[p];
    return STENCIL_OK;
}

/* Launches the persistent kernel of every part, with the loop's fault. */
static stencil_status launch_persistent(const stencil_parts_loop *loop) {
    struct stencil_parts_kernel *k = loop->kernel;
    for (int p = 0; p < loop->spread->parts; p++) {
        const stencil_device *device = loop->spread->device[p];
        stencil_case_launch *launch = &k->launch[p];
        launch->fault = loop->fault;
        launch->fault.absent = loop->fault.absent % k->grid.blocks;
        if (loop->fault.absent / k->grid.blocks != (uint32_t)p)
            launch->fault.absent_step = 0;
        launch->special = loop->fault.delay_ns != 0 || loop->fault.absent_step != 0;
        TRY_CUDA(cudaSetDevice(device->gpu));
        TRY(stencil_grid_launch(k->persistent, &k->grid, launch, device->stream));
    }
    return stencil_parts_wait(loop->spread);
}

static stencil_status run_kernels(stencil_parts_loop *loop, int64_t count, double *time_s) {
    const double start_s = stencil_clock_s();
    for (int64_t i = 0; i < count; i++)
        TRY(loop->ceiling != NULL ? loop->ceiling(loop->ceiling_state) : launch_persistent(loop));
    *time_s = stencil_clock_s() - start_s;
    return loop->ceiling != NULL ? STENCIL_OK : stencil_barrier_check(&loop->kernel->barrier);
}

stencil_status stencil_parts_wait(const stencil_parts_spread *s) {
    for (int p = 0; p < s->parts; p++)
        TRY_CUDA(cudaStreamSynchronize(s->device[p]->stream));
    return STENCIL_OK;
}
#endif

stencil_status stencil_parts_memory(stencil_bench *b, stencil_parts_spread *s,
                                    const stencil_parts_array *array, void *to) {
    const struct stencil_device *device = s->device[array->part];
    stencil_parts_array *a = &s->array[s->array_count++];
    *a = *array;
    if (a->memory == NULL && a->host != NULL && device == NULL)
        a->memory = a->host;
    if (a->memory == NULL)
        TRY(stencil_case_memory(b, device, a->kind == STENCIL_CASE_INPUT ? a->host : NULL, a->bytes,
                                &a->memory));
    memcpy(to, &a->memory, sizeof a->memory);
    return STENCIL_OK;
}

stencil_status stencil_parts_spread_create(stencil_bench *b, stencil_parts_spread *s) {
    s->blocks = 1;
#ifdef STENCIL_HAVE_CUDA
    if (b->options->backend == STENCIL_BACKEND_GPU)
        TRY(create_devices(b, s));
#endif
    for (int p = s->parts - 1; p >= 0; p--)
        TRY(s->of->spread(b, s, p));
    return STENCIL_OK;
}

stencil_status stencil_parts_loop_create(stencil_bench *b, stencil_parts_loop *loop, char why[96]) {
    const stencil_parts_spread *s = loop->spread;
    const uint32_t parts = (uint32_t)s->parts;
    memcpy(loop->part, s->part, sizeof loop->part);
    TRY(stencil_team_create(&loop->team, parts, 0, loop->timeout_s));
    TRY(stencil_bench_keep(b, free, loop->team.words));
    loop->team.parts = parts;
    loop->fault.absent = parts * s->blocks - 1;
    if (s->of->order[loop->order].gpus && s->device[0] == NULL) {
        snprintf(why, 96, "there are no GPUs");
        return STENCIL_OK;
    }
    if (s->of->create != NULL)
        TRY(s->of->create(b, loop, why));
#ifdef STENCIL_HAVE_CUDA
    if (s->device[0] != NULL)
        TRY(create_kernel(b, loop));
    if (s->device[0] != NULL && is_persistent(loop))
        TRY(create_barrier(b, loop, why));
#endif
    return STENCIL_OK;
}

int stencil_parts_phase(const stencil_parts_loop *loop, int part, int64_t phase, bool one_block) {
    const stencil_case_body *body = loop->spread->problem->of->body;
    _Alignas(16) unsigned char shared[STENCIL_CASE_SHARED_MAX];
#ifdef STENCIL_HAVE_CUDA
    if (loop->kernel != NULL) {
        stencil_case_launch launch = loop->kernel->launch[part];
        launch.phase = phase;
        return cudaLaunchKernel(body->kernels->phase, (dim3){one_block ? 1 : loop->spread->blocks, 1, 1},
                                (dim3){body->lanes, 1, 1}, (void *[]){&launch}, 0,
                                loop->spread->device[part]->stream);
    }
#endif
    (void)one_block;
    body->phase(&loop->part[part], phase, (stencil_case_block){0, 1, shared});
    return 0;
}

int stencil_parts_copy(const stencil_parts_loop *loop, int from_part, int to_part, const void *from, void *to,
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

/* Makes a part's GPU current and, if `wait`, waits for the part's enqueued work. Returns 0, or a cudaError_t.
 */
static int turn_to(const stencil_parts_loop *loop, int part, bool wait) {
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
static int lead(const stencil_parts_loop *loop, int thread, int leaders, int state) {
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

/* Makes a run of a part in a persistent CPU thread; the alarm names a thread whose wait timed out. */
static void persist(const stencil_parts_loop *loop, int part) {
    const stencil_parts_case *of = loop->spread->of;
    _Alignas(16) unsigned char shared[STENCIL_CASE_SHARED_MAX];
    const stencil_case_thread thread = {.body = loop->spread->problem->of->body,
                                        .arguments = &loop->part[part],
                                        .barrier = of->order[loop->order].barrier,
                                        .team = &loop->team,
                                        .fault = &loop->fault,
                                        .number = (uint32_t)part,
                                        .block = {0, 1, shared}};
    stencil_case_persist(&thread);
}

/* Makes all runs in one parallel region, so that starting threads is not timed. */
static stencil_status run_team(stencil_parts_loop *loop, int64_t count, double *time_s) {
    const stencil_parts_case *of = loop->spread->of;
    const int leaders = loop->kernel != NULL && of->one_leader ? 1 : loop->spread->parts;
    int states[STENCIL_PARTS_MAX] = {0}, threads = 0;
    double start_s = 0;
#pragma omp parallel num_threads(leaders)
    {
        const int thread = omp_get_thread_num();
        const bool complete = omp_get_num_threads() == leaders;
        if (complete)
            states[thread] = turn_to(loop, thread, false);
#pragma omp barrier
        if (thread == 0) {
            threads = omp_get_num_threads();
            start_s = stencil_clock_s();
        }
        for (int64_t i = 0; i < count && complete; i++) {
            if (is_persistent(loop)) {
                persist(loop, thread);
#pragma omp barrier
            } else {
                states[thread] = lead(loop, thread, leaders, states[thread]);
            }
        }
    }
    *time_s = stencil_clock_s() - start_s;
    TRY(stencil_bench_check_team(threads, leaders));
#ifdef STENCIL_HAVE_CUDA
    for (int p = 0; p < leaders; p++)
        TRY_CUDA(states[p]);
#endif
    const uint32_t alarm = loop->team.alarm[0];
    CHECK(alarm == 0, INTERNAL, "%s of %lld elements, %s: thread %u waited for more than %g s in vain",
          of->name, (long long)loop->spread->problem->n, of->order[loop->order].name, alarm - 1,
          loop->timeout_s);
    return STENCIL_OK;
}

stencil_status stencil_parts_loop_run(stencil_parts_loop *loop, int64_t count, double *time_s) {
#ifdef STENCIL_HAVE_CUDA
    if (loop->kernel != NULL && (is_persistent(loop) || loop->ceiling != NULL))
        return run_kernels(loop, count, time_s);
#endif
    return run_team(loop, count, time_s);
}

/* Compares the combined result of all parts, or one part's result, with the expected result. */
static stencil_status check(const stencil_parts_loop *loop, int part) {
    const stencil_parts_spread *s = loop->spread;
    char by[64];
    snprintf(by, sizeof by, s->of->each_has_all ? "%s, part %d of %d" : "%s", s->of->order[loop->order].name,
             part + 1, s->parts);
    return loop->ceiling != NULL ? stencil_case_check_bound(s->problem, by)
                                 : stencil_case_check(s->problem, by);
}

stencil_status stencil_parts_loop_verify(stencil_parts_loop *loop) {
    const stencil_parts_spread *s = loop->spread;
    const stencil_parts_array *const end = s->array + s->array_count;
    double time_s;
    stencil_case_spoil(s->problem);
    for (const stencil_parts_array *a = s->array; a < end; a++)
        if (a->kind != STENCIL_CASE_INPUT)
            TRY(stencil_case_memory_spoil(s->device[a->part], a->memory, a->bytes));
    TRY(stencil_parts_loop_run(loop, 1, &time_s));
    for (int p = 0; p < s->parts; p++) {
        for (const stencil_parts_array *a = s->array; a < end; a++)
            if (a->part == p && a->kind == STENCIL_CASE_RESULT)
                TRY(stencil_case_memory_read(s->device[p], a->host, a->memory, a->bytes));
        if (s->of->each_has_all || p + 1 == s->parts)
            TRY(check(loop, p));
    }
    return STENCIL_OK;
}
