/* Steps on GPUs: a host thread per part, launches, halo copies, transfer of the residual to the host. */
#include "solver/device/gpu.h"

#ifdef STENCIL_HAVE_CUDA
#include <omp.h>

#include "solver/plan/memory.h"

/* Sets the part's device and, with several parts, pins the thread to cores near it where that is possible. */
static stencil_status take_place(const stencil_gpu_part *gpu, stencil_pin **pin) {
    char bus_id[32];
    TRY_CUDA(cudaSetDevice(gpu->device));
    if (gpu->run->parts == 1)
        return STENCIL_OK;
    TRY_CUDA(cudaDeviceGetPCIBusId(bus_id, sizeof bus_id, gpu->device));
    *pin = stencil_pin_near(bus_id);
    return STENCIL_OK;
}

stencil_status stencil_gpu_each(stencil_gpu_run *run, stencil_status (*function)(stencil_gpu_part *, void *),
                                void *context) {
    stencil_error error[STENCIL_PARTS_MAX] = {{0}};
    int threads = 0, ready = 0;
#pragma omp parallel num_threads(run->parts)
    {
        const int part = omp_get_thread_num();
        stencil_pin *pin = NULL;
#pragma omp single
        threads = omp_get_num_threads();
        if (threads == run->parts && take_place(&run->part[part], &pin) != STENCIL_OK)
            error[part] = *stencil_error_last();
        else
            __atomic_add_fetch(&ready, 1, __ATOMIC_RELAXED);
/* The function may contain barriers, so either all threads call it or none. */
#pragma omp barrier
        if (threads == run->parts && __atomic_load_n(&ready, __ATOMIC_RELAXED) == threads &&
            function(&run->part[part], context) != STENCIL_OK)
            error[part] = *stencil_error_last();
        stencil_pin_release(pin);
    }
    CHECK(threads == run->parts, UNAVAILABLE, "OpenMP gave %d threads for %d parts: raise OMP_THREAD_LIMIT",
          threads, run->parts);
    for (int part = 0; part < run->parts; part++)
        if (error[part].status != STENCIL_OK)
            return stencil_error_adopt(&error[part]);
    return STENCIL_OK;
}

void stencil_gpu_set_schedule(stencil_gpu_run *run, const stencil_schedule *schedule) {
    run->schedule = *schedule;
    for (int p = 0; p < run->parts; p++)
        run->part[p].args.schedule = *schedule;
}

/* A launch reads u[first % 2]: the pointers are swapped if the current cells are in the other buffer. */
void stencil_gpu_set_steps(const stencil_gpu_part *gpu, stencil_kernel_args *args, int64_t first,
                           int64_t count, int from) {
    const stencil_gpu_run *run = gpu->run;
    args->trace.launch++;
    args->step_first = first;
    args->step_count = count;
    if (args->domain.u[first % 2] != gpu->u[from])
        stencil_domain_swap(&args->domain);
    if (run->cycle_length > 1)
        args->domain.weights = run->cycle[first % run->cycle_length];
    if (run->factors.factor != NULL)
        stencil_factor_put(&args->domain.weights, gpu->plan->cut.mesh.precision,
                           stencil_factors_at(&run->factors, first)[0]);
}

/* Rounds the factors of a window to the precision of the field. */
static void round_factors(const stencil_gpu_run *run) {
    const stencil_factors *f = &run->factors;
    for (int64_t i = 0; i < f->count * STENCIL_STEP_FACTORS; i++)
        if (run->plan->cut.mesh.precision == STENCIL_FLOAT64)
            ((double *)run->rounded)[i] = f->factor[i];
        else
            ((float *)run->rounded)[i] = (float)f->factor[i];
}

stencil_status stencil_gpu_begin_batch(stencil_gpu_run *run, const stencil_problem *problem, int64_t first,
                                       int64_t count) {
    const size_t cell = stencil_precision_bytes(run->plan->cut.mesh.precision);
    if (!stencil_factors_fill(&run->factors, problem, first, count))
        return STENCIL_OK;
    round_factors(run);
    for (int p = 0; p < run->parts; p++) {
        stencil_sums *sums = &run->part[p].args.sums;
        sums->first = run->factors.first;
        TRY_CUDA(cudaSetDevice(run->part[p].device));
        TRY(stencil_gpu_put((void *)sums->factor, run->rounded,
                            (size_t)run->factors.count * STENCIL_STEP_FACTORS * cell));
    }
    TRY_CUDA(cudaSetDevice(run->part[0].device));
    return STENCIL_OK;
}

/* Launches a kernel before a pass of several steps, to fill mirrored cells, or after, to copy edge cells. */
static stencil_status launch_beside(const stencil_gpu_part *gpu, stencil_kernel_args *args,
                                    const void *kernel, cudaStream_t stream) {
    enum { BLOCKS_PER_SM = 4 };
    void *arguments[] = {args};
    const dim3 grid = {(unsigned)(BLOCKS_PER_SM * gpu->plan->layout.blocks), 1, 1},
               block = {STENCIL_BLOCK_THREADS, 1, 1};
    TRY_CUDA(cudaLaunchKernel(kernel, grid, block, arguments, 0, stream));
    return STENCIL_OK;
}

stencil_status stencil_gpu_launch(const stencil_gpu_part *gpu, stencil_kernel_args *args,
                                  const stencil_pass *pass, bool programmatic, cudaStream_t stream) {
    const stencil_plan *plan = gpu->plan;
    const bool several = pass->steps > 1;
    stencil_gpu_set_steps(gpu, args, pass->first, pass->steps, pass->from);
    const stencil_kernel_launch launch =
        stencil_plan_launch(plan, pass->steps, stencil_pass_check(&args->schedule, pass) > 0);
    void *arguments[] = {args};
    cudaLaunchAttribute attribute = {.id = cudaLaunchAttributeProgrammaticStreamSerialization,
                                     .val.programmaticStreamSerializationAllowed = 1};
    const uint32_t *tiles = args->tile_count;
    const cudaLaunchConfig_t config = {
        .gridDim = {several ? (unsigned)plan->layout.blocks : tiles[0] * tiles[1] * tiles[2], 1, 1},
        .blockDim = {(unsigned)launch.block_x, (unsigned)launch.block_y, 1},
        .dynamicSmemBytes = (size_t)launch.shared_bytes,
        .stream = stream,
        .attrs = &attribute,
        .numAttrs = programmatic ? 1 : 0,
    };
    /* A single step that is launched within a persistent loop records no time stamps. */
    const bool traced = plan->barrier == STENCIL_BARRIER_none &&
                        (args->trace.without_compute ||
                         stencil_trace_sample(&args->trace, (pass->first + pass->steps) / plan->depth) >= 0);
    /* Passes of several steps read the cells beyond a boundary along y that is mirrored. */
    const int32_t *mirror = args->domain.mirror[STENCIL_Y];
    if (several && plan->kernel.mirror != NULL && (mirror[STENCIL_LOW] || mirror[STENCIL_HIGH]))
        TRY(launch_beside(gpu, args, plan->kernel.mirror, stream));
    const uint32_t samples = args->trace.samples;
    if (plan->barrier !=
        STENCIL_BARRIER_none) /* such a launch is no pass of the loop, whose notes these are */
        args->trace.samples = 0;
    const cudaError_t launched =
        cudaLaunchKernelExC(&config, traced ? launch.traced : launch.function, arguments);
    args->trace.samples = samples;
    TRY_CUDA_STATE(launched, "cudaLaunchKernelExC(), a pass");
    if (several && stencil_has_copies(&args->domain))
        TRY(launch_beside(gpu, args, stencil_copies_kernel(plan->kernel.precision), stream));
    return STENCIL_OK;
}

stencil_status stencil_gpu_launch_pass(stencil_gpu_part *gpu, const stencil_pass *pass) {
    return stencil_gpu_launch(gpu, &gpu->args, pass, false, gpu->stream);
}

static stencil_status copy_halos(const stencil_gpu_part *gpu, const stencil_pass *pass, cudaStream_t stream) {
    const stencil_gpu_run *run = gpu->run;
    const int buffer = stencil_buffer_of(STENCIL_ARRAY_U, !pass->from);
    for (int k = 0; k < run->transfers.count; k++) {
        const stencil_halo_transfer *t = &run->transfers.item[k];
        if (t->from != gpu->part || gpu->args.trace.without_copies)
            continue;
        const stencil_cells from = stencil_buffer_cells(&run->buffers, t->from, buffer, t->from_first),
                            to = stencil_buffer_cells(&run->buffers, t->to, buffer, t->to_first);
        const int device = run->part[t->to].device;
        if (stencil_cut_is_slabs(&run->plan->cut)) { /* a slab is one transfer, gaps included */
            TRY_CUDA(cudaMemcpyPeerAsync(to.at, device, from.at, gpu->device, stencil_cells_span(&from, t->n),
                                         stream));
            continue;
        }
        const size_t cell = stencil_precision_bytes(from.precision), row = (size_t)from.row * cell,
                     rows = (size_t)(from.plane / from.row);
        const struct cudaMemcpy3DPeerParms copy = {
            .srcPtr = {from.at, row, row, rows},
            .srcDevice = gpu->device,
            .dstPtr = {to.at, row, row, rows},
            .dstDevice = device,
            .extent = {(size_t)t->n[STENCIL_X] * cell, (size_t)t->n[STENCIL_Y], (size_t)t->n[STENCIL_Z]},
        };
        TRY_CUDA(cudaMemcpy3DPeerAsync(&copy, stream));
    }
    return STENCIL_OK;
}

static stencil_status launch_range(stencil_gpu_part *gpu, const stencil_pass *pass, const uint32_t low[3],
                                   const uint32_t high[3], cudaStream_t stream) {
    stencil_kernel_args args = gpu->args;
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        if (low[axis] >= high[axis])
            return STENCIL_OK;
        args.tile_first[axis] = low[axis];
        args.tile_count[axis] = high[axis] - low[axis];
    }
    return stencil_gpu_launch(gpu, &args, pass, false, stream);
}

/* Computes the edges first, axis by axis, and copies them while the inner cells are computed. */
static stencil_status advance_overlapped(stencil_gpu_part *gpu, const stencil_pass *pass) {
    const stencil_plan *plan = gpu->plan;
    uint32_t low[3] = {0, 0, 0}, high[3];
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        high[axis] = gpu->args.tile_count[axis];
    TRY_CUDA(cudaEventRecord(gpu->step_done, gpu->stream));
    TRY_CUDA(cudaStreamWaitEvent(gpu->edge_stream, gpu->step_done, 0));
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        if (plan->cut.count[axis] == 1)
            continue;
        const int64_t tile = plan->tile[axis], reach = plan->cut.layout.ghost[axis],
                      n = gpu->args.domain.n[axis];
        const uint32_t begin = (uint32_t)((reach + tile - 1) / tile), end = (uint32_t)((n - reach) / tile);
        uint32_t edge_low[3] = {low[0], low[1], low[2]}, edge_high[3] = {high[0], high[1], high[2]};
        edge_high[axis] = begin < high[axis] ? begin : high[axis];
        TRY(launch_range(gpu, pass, low, edge_high, gpu->edge_stream));
        low[axis] = edge_high[axis];
        edge_low[axis] = end > low[axis] ? end : low[axis];
        TRY(launch_range(gpu, pass, edge_low, high, gpu->edge_stream));
        high[axis] = edge_low[axis];
    }
    TRY(copy_halos(gpu, pass, gpu->edge_stream));
    TRY(stencil_gpu_send(gpu, pass, gpu->edge_stream));
    TRY_CUDA(cudaEventRecord(gpu->edges_done, gpu->edge_stream));
    TRY(launch_range(gpu, pass, low, high, gpu->stream));
    TRY_CUDA(cudaStreamWaitEvent(gpu->stream, gpu->edges_done, 0));
    return STENCIL_OK;
}

stencil_status stencil_gpu_advance(stencil_gpu_part *gpu, const stencil_pass *pass) {
    const bool messages = gpu->run->messages.world != NULL;
    if (gpu->plan->overlap && (gpu->run->transfers.count > 0 || messages) && pass->steps == 1) {
        TRY(advance_overlapped(gpu, pass));
        return messages ? stencil_gpu_exchange(gpu, pass, gpu->edges_done) : STENCIL_OK;
    }
    TRY(stencil_gpu_launch_pass(gpu, pass));
    TRY(copy_halos(gpu, pass, gpu->stream));
    if (!messages)
        return STENCIL_OK;
    TRY(stencil_gpu_send(gpu, pass, gpu->stream));
    TRY_CUDA(cudaEventRecord(gpu->edges_done, gpu->stream));
    return stencil_gpu_exchange(gpu, pass, gpu->edges_done);
}

/* Copies the uncombined partial sums of a part to their positions among those of the whole problem. */
static stencil_status fetch_partials(const stencil_gpu_part *gpu) {
    const stencil_domain *d = &gpu->args.domain;
    const size_t row = (size_t)d->partial_row * sizeof(double),
                 rows = (size_t)(d->partial_plane / d->partial_row);
    const size_t across = (size_t)((d->n[STENCIL_X] + STENCIL_PARTIAL_CELLS - 1) / STENCIL_PARTIAL_CELLS);
    struct cudaMemcpy3DParms copy = {
        .srcPtr = {d->partial + d->partial_first, row, row, rows},
        .dstPtr = {gpu->run->values + d->partial_first, row, row, rows},
        .extent = {across * sizeof(double), (size_t)d->n[STENCIL_Y], (size_t)d->n[STENCIL_Z]},
        .kind = cudaMemcpyDeviceToHost,
    };
    TRY_CUDA(cudaMemcpy3DAsync(&copy, gpu->stream));
    return STENCIL_OK;
}

stencil_status stencil_gpu_start_combine(stencil_gpu_part *gpu) {
    const stencil_kernel_args *s = &gpu->args;
    if (gpu->run->parts > 1)
        TRY_CUDA(cudaSetDevice(gpu->device));
    if (gpu->plan->halo == STENCIL_HALO_MESSAGE)
        return stencil_gpu_start_reduction(gpu);
    if (gpu->run->combine_on_host)
        return fetch_partials(gpu);
    const int64_t results = s->result_end - s->result_first;
    if (results == 0)
        return STENCIL_OK;
    void *arguments[] = {&gpu->args};
    const dim3 grid = {results < 65535 ? (unsigned)results : 65535, 1, 1},
               block = {STENCIL_BLOCK_THREADS, 1, 1};
    TRY_CUDA(cudaLaunchKernel(stencil_combine_kernel(), grid, block, arguments, 0, gpu->stream));
    TRY_CUDA(cudaMemcpyAsync(gpu->run->values + s->result_first, s->level + s->result_first,
                             (size_t)results * sizeof *s->level, cudaMemcpyDeviceToHost, gpu->stream));
    return STENCIL_OK;
}

stencil_status stencil_gpu_start_judge(stencil_gpu_run *run) {
    stencil_gpu_part *gpu = &run->part[0];
    const int64_t results = gpu->args.result_end;
    void *arguments[] = {&gpu->args};
    const dim3 grid = {results < 65535 ? (unsigned)results : 65535, 1, 1},
               block = {STENCIL_BLOCK_THREADS, 1, 1};
    TRY_CUDA(cudaLaunchKernel(stencil_combine_kernel(), grid, block, arguments, 0, gpu->stream));
    TRY_CUDA(cudaLaunchKernel(stencil_judge_kernel(), (dim3){1, 1, 1}, block, arguments, 0, gpu->stream));
    return STENCIL_OK;
}

stencil_status stencil_gpu_break(stencil_gpu_run *run) {
    stencil_gpu_part *gpu = &run->part[0];
    stencil_kernel_args args = gpu->args;
    args.domain.partial = args.level = (double *)(uintptr_t)sizeof(double); /* an unmapped address */
    args.result_first = 0;
    args.result_end = 1;
    void *arguments[] = {&args};
    TRY_CUDA(cudaSetDevice(gpu->device));
    TRY_CUDA(cudaLaunchKernel(stencil_combine_kernel(), (dim3){1, 1, 1}, (dim3){STENCIL_BLOCK_THREADS, 1, 1},
                              arguments, 0, gpu->stream));
    return STENCIL_OK;
}

stencil_status stencil_gpu_wait(stencil_gpu_part *gpu) {
    TRY_CUDA(cudaStreamSynchronize(gpu->stream));
    return STENCIL_OK;
}

double stencil_gpu_residual(stencil_gpu_run *run) {
    const stencil_norm norm = run->schedule.norm;
    if (run->plan->halo == STENCIL_HALO_MESSAGE)
        return stencil_gpu_reduce(run);
    stencil_gpu_exchange_results(run);
    const int64_t count = stencil_gpu_values(&run->plan->cut, run->plan->halo);
    const double value = stencil_combine_all(run->values, count, run->values + count, norm);
    return stencil_residual_finish(value, run->schedule.updated_cells, norm);
}

stencil_status stencil_gpu_time_s(stencil_gpu_run *run, double *time_s) {
    *time_s = 0;
    for (int p = 0; p < run->parts; p++) {
        float ms = 0;
        TRY_CUDA(cudaEventElapsedTime(&ms, run->part[p].begin, run->part[p].end));
        *time_s = 1e-3 * (double)ms > *time_s ? 1e-3 * (double)ms : *time_s;
    }
    return STENCIL_OK;
}
#endif
