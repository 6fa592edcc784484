#include "solver/gpu.h"

#include "solver/domain.h"
#include "solver/neighbors.h"

int64_t stencil_gpu_bytes(const stencil_problem *problem) {
    const int64_t chunks = stencil_chunk_count(problem->n);
    const int64_t fields = problem->spec.source != STENCIL_SOURCE_NONE || problem->b.data != NULL ? 3 : 2;
    return fields * stencil_layout_bytes(&problem->layout) +
           (2 * chunks + stencil_fold_scratch_count(chunks) + 65536) * (int64_t)sizeof(double);
}

#ifdef STENCIL_HAVE_CUDA
#include <math.h>
#include <stdlib.h>

static stencil_status allocate(stencil_gpu_run *gpu, const stencil_problem *problem) {
    const size_t field_bytes = (size_t)stencil_layout_bytes(&problem->layout);
    const int64_t chunks = stencil_chunk_count(problem->n);
    TRY_CUDA(cudaMalloc(&gpu->u[0], field_bytes));
    TRY_CUDA(cudaMalloc(&gpu->u[1], field_bytes));
    if (problem->b.data != NULL)
        TRY_CUDA(cudaMalloc(&gpu->b, field_bytes));
    TRY_CUDA(cudaMalloc((void **)&gpu->chunk, 2 * (size_t)chunks * sizeof(double)));
    TRY_CUDA(cudaMalloc((void **)&gpu->fold, (size_t)stencil_fold_scratch_count(chunks) * sizeof(double)));
    TRY_CUDA(cudaMalloc((void **)&gpu->history, STENCIL_HISTORY_MAX * sizeof(double)));
    TRY_CUDA(cudaMalloc((void **)&gpu->control, sizeof *gpu->control));
    TRY_CUDA(cudaHostAlloc((void **)&gpu->mailbox, sizeof *gpu->mailbox, cudaHostAllocMapped));
    TRY_CUDA(cudaMallocHost((void **)&gpu->value, sizeof(double)));
    TRY_CUDA(cudaMallocHost((void **)&gpu->control_host, sizeof *gpu->control_host));
    TRY_CUDA(cudaMallocHost((void **)&gpu->history_host, STENCIL_HISTORY_MAX * sizeof(double)));
    return STENCIL_OK;
}

/* Both buffers get everything, so that rims and padding of both are right from the start. */
static stencil_status upload(stencil_gpu_run *gpu, const stencil_problem *problem) {
    const size_t field_bytes = (size_t)stencil_layout_bytes(&problem->layout);
    TRY_CUDA(cudaMemcpy(gpu->u[0], problem->u.data, field_bytes, cudaMemcpyHostToDevice));
    TRY_CUDA(cudaMemcpy(gpu->u[1], gpu->u[0], field_bytes, cudaMemcpyDeviceToDevice));
    if (gpu->b != NULL)
        TRY_CUDA(cudaMemcpy(gpu->b, problem->b.data, field_bytes, cudaMemcpyHostToDevice));
    TRY_CUDA(cudaMemset(gpu->control, 0, sizeof *gpu->control));
    *gpu->mailbox = (stencil_mailbox){.residual = NAN};
    gpu->last_residual = NAN;
    return STENCIL_OK;
}

/* Words of the barrier, and who waits for whom where that is not everybody. */
static stencil_status create_barrier(stencil_gpu_run *gpu, const stencil_problem *problem) {
    const stencil_plan *plan = gpu->plan;
    const uint32_t blocks = (uint32_t)plan->grid_blocks;
    const size_t count = stencil_barrier_word_count(blocks);
    uint32_t *words = malloc(count * sizeof *words);
    CHECK(words != NULL, NO_MEMORY, "no memory for the barrier of %u blocks", (unsigned)blocks);
    for (size_t i = 0; i < count; i++)
        words[i] = plan->patience.epoch;
    cudaError_t state = cudaMalloc((void **)&gpu->barrier_words, count * sizeof *words);
    if (state == cudaSuccess)
        state = cudaMemcpy(gpu->barrier_words, words, count * sizeof *words, cudaMemcpyHostToDevice);
    free(words);
    TRY_CUDA(state);
    gpu->sweep.barrier = (stencil_barrier_state){
        .words = gpu->barrier_words,
        .participants = blocks,
        .timeout_ns = (uint64_t)(1e9 * plan->patience.timeout_s),
        .alarm = gpu->control->alarm,
    };
    if (stencil_barriers[plan->barrier].needs != STENCIL_NEEDS_NEIGHBORS)
        return STENCIL_OK;
    stencil_neighbors found;
    TRY(stencil_neighbors_find(&found, &gpu->sweep.domain, problem->shape, plan->tile, blocks));
    const size_t first_bytes = (blocks + 1) * sizeof(uint32_t),
                 list_bytes = found.first[blocks] * sizeof(uint32_t);
    state = cudaMalloc((void **)&gpu->neighbor_first, first_bytes);
    if (state == cudaSuccess)
        state = cudaMalloc((void **)&gpu->neighbor, list_bytes > 0 ? list_bytes : 4);
    if (state == cudaSuccess)
        state = cudaMemcpy(gpu->neighbor_first, found.first, first_bytes, cudaMemcpyHostToDevice);
    if (state == cudaSuccess)
        state = cudaMemcpy(gpu->neighbor, found.list, list_bytes, cudaMemcpyHostToDevice);
    stencil_neighbors_destroy(&found);
    TRY_CUDA(state);
    gpu->sweep.barrier.neighbor_first = gpu->neighbor_first;
    gpu->sweep.barrier.neighbor = gpu->neighbor;
    return STENCIL_OK;
}

static void init_sweep(stencil_gpu_run *gpu, const stencil_problem *problem) {
    const stencil_plan *plan = gpu->plan;
    stencil_sweep *s = &gpu->sweep;
    *s = (stencil_sweep){
        .poll_every = plan->poll_every,
        .tile_march = plan->tile[problem->rank == 3 ? STENCIL_Z : STENCIL_Y],
        .fold = gpu->fold,
        .history = gpu->history,
        .control = gpu->control,
        .mailbox = gpu->mailbox,
        .disturbance = plan->patience.disturbance,
    };
    if (problem->rank == 2)
        s->tile_march /= plan->block_y;
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        s->tile_count[axis] = (problem->n[axis] + plan->tile[axis] - 1) / plan->tile[axis];
    stencil_domain_init(&s->domain, problem, gpu->u[0], gpu->u[1], gpu->b, gpu->chunk);
    stencil_schedule_init(&s->schedule, problem);
}

static stencil_status create(stencil_gpu_run *gpu, const stencil_problem *problem) {
    TRY_CUDA(cudaSetDevice(gpu->plan->gpu));
    /* Asking for attributes loads a kernel: nothing is loaded lazily while kernels wait for each other. */
    struct cudaFuncAttributes attributes;
    TRY_CUDA(cudaFuncGetAttributes(&attributes, gpu->kernel->function));
    TRY_CUDA(cudaFuncGetAttributes(&attributes, stencil_fold_kernel()));
    TRY_CUDA(cudaStreamCreateWithFlags(&gpu->stream, cudaStreamNonBlocking));
    TRY_CUDA(cudaEventCreate(&gpu->begin));
    TRY_CUDA(cudaEventCreate(&gpu->end));
    TRY_CUDA(cudaEventCreateWithFlags(&gpu->step_done, cudaEventDisableTiming));
    int major = 0;
    TRY_CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, gpu->plan->gpu));
    gpu->programmatic = major >= 9;
    TRY(allocate(gpu, problem));
    TRY(upload(gpu, problem));
    init_sweep(gpu, problem);
    if (gpu->plan->barrier != STENCIL_BARRIER_none)
        TRY(create_barrier(gpu, problem));
    TRY_CUDA(cudaDeviceSynchronize());
    return STENCIL_OK;
}

stencil_status stencil_gpu_create(stencil_gpu_run *gpu, const stencil_plan *plan,
                                  const stencil_problem *problem) {
    *gpu = (stencil_gpu_run){.plan = plan, .layout = problem->layout};
    gpu->kernel =
        stencil_kernel_find(problem->shape->id, problem->precision, STENCIL_SWEEP_stream, plan->barrier);
    CHECK(gpu->kernel != NULL, INTERNAL, "no kernel for %s", plan->kernel);
    const stencil_status status = create(gpu, problem);
    if (status != STENCIL_OK)
        stencil_gpu_destroy(gpu);
    return status;
}

stencil_status stencil_gpu_finish(stencil_gpu_run *gpu, stencil_problem *problem, int64_t steps) {
    TRY_CUDA(cudaMemcpy(problem->u.data, gpu->u[steps % 2], (size_t)stencil_layout_bytes(&gpu->layout),
                        cudaMemcpyDeviceToHost));
    return STENCIL_OK;
}

void stencil_gpu_destroy(stencil_gpu_run *gpu) {
    if (gpu == NULL)
        return;
    cudaFree(gpu->u[0]);
    cudaFree(gpu->u[1]);
    cudaFree(gpu->b);
    cudaFree(gpu->chunk);
    cudaFree(gpu->fold);
    cudaFree(gpu->history);
    cudaFree(gpu->control);
    cudaFree(gpu->barrier_words);
    cudaFree(gpu->neighbor_first);
    cudaFree(gpu->neighbor);
    cudaFreeHost(gpu->mailbox);
    cudaFreeHost(gpu->value);
    cudaFreeHost(gpu->control_host);
    cudaFreeHost(gpu->history_host);
    if (gpu->begin != NULL)
        cudaEventDestroy(gpu->begin);
    if (gpu->end != NULL)
        cudaEventDestroy(gpu->end);
    if (gpu->step_done != NULL)
        cudaEventDestroy(gpu->step_done);
    if (gpu->stream != NULL)
        cudaStreamDestroy(gpu->stream);
    if (gpu->alarmed)
        cudaDeviceReset();
    *gpu = (stencil_gpu_run){0};
}

static stencil_status launch(stencil_gpu_run *gpu, stencil_sweep *sweep, int64_t step, bool programmatic) {
    const stencil_plan *plan = gpu->plan;
    sweep->step_first = step;
    sweep->step_count = 1;
    void *arguments[] = {sweep};
    cudaLaunchAttribute attribute = {.id = cudaLaunchAttributeProgrammaticStreamSerialization,
                                     .val.programmaticStreamSerializationAllowed = 1};
    const cudaLaunchConfig_t config = {
        .gridDim = {(unsigned)plan->grid_blocks, 1, 1},
        .blockDim = {(unsigned)plan->block_x, (unsigned)plan->block_y, 1},
        .stream = gpu->stream,
        .attrs = &attribute,
        .numAttrs = programmatic ? 1 : 0,
    };
    TRY_CUDA(cudaLaunchKernelExC(&config, gpu->kernel->function, arguments));
    return STENCIL_OK;
}

stencil_status stencil_gpu_launch_step(stencil_gpu_run *gpu, int64_t step) {
    return launch(gpu, &gpu->sweep, step, false);
}

stencil_status stencil_gpu_launch_plain(stencil_gpu_run *gpu, int64_t step, bool programmatic) {
    stencil_sweep sweep = gpu->sweep;
    sweep.schedule.check_every = INT64_MAX;
    sweep.schedule.last_step = INT64_MAX;
    return launch(gpu, &sweep, step, programmatic);
}

stencil_status stencil_gpu_residual(stencil_gpu_run *gpu, double *residual) {
    const stencil_schedule *schedule = &gpu->sweep.schedule;
    const double *v = gpu->chunk;
    double *folded = gpu->fold;
    int64_t count = stencil_chunk_count(gpu->sweep.domain.n);
    int norm = (int)schedule->norm;
    while (count > 1) {
        const int64_t groups = stencil_fold_count(count);
        void *arguments[] = {&v, &count, &folded, &norm};
        const dim3 grid = {groups < 65535 ? (unsigned)groups : 65535, 1, 1};
        const dim3 block = {STENCIL_BLOCK_THREADS, 1, 1};
        TRY_CUDA(cudaLaunchKernel(stencil_fold_kernel(), grid, block, arguments, 0, gpu->stream));
        v = folded;
        folded += groups;
        count = groups;
    }
    TRY_CUDA(cudaMemcpyAsync(gpu->value, v, sizeof(double), cudaMemcpyDeviceToHost, gpu->stream));
    TRY_CUDA(cudaStreamSynchronize(gpu->stream));
    *residual = stencil_residual_finish(*gpu->value, schedule->updated_cells, schedule->norm);
    return STENCIL_OK;
}
#endif
