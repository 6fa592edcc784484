/* The kernels of case multi-reduction, and its runs on GPUs. */
#include "bench/cases/multi_reduction.h"

#include <string.h>

#include "bench/cases/kernels.cuh"
#include "sync/host.h"

STENCIL_CASE_TYPE(multi_reduction)

static const void *const phase_kernel = STENCIL_CASE_KERNEL(case_phase<multi_reduction_case>);
static const void *const persistent[] = {
    STENCIL_CASE_KERNEL(case_persistent<multi_reduction_case, stencil::multi_grid_barrier>),
    STENCIL_CASE_KERNEL(case_persistent<multi_reduction_case, stencil::neighbor_barrier>)};

struct multi_reduction_gpu {
    stencil_parts_loop loop; /* launches with the arguments of every part, of whatever order */
    void *ceiling;
};

static const stencil_device &device_of(const multi_reduction_loop *loop, int part) {
    return loop->spread->gpus->device[part];
}

stencil_status multi_reduction_gpu_spread(stencil_bench *b, multi_reduction_spread *s) {
    const reduction_arguments *r = &s->part[0].of;
    const size_t piece_bytes = (size_t)r->piece_pairs * sizeof *r->values;
    int64_t most = INT32_MAX;
    TRY(stencil_bench_memory(b, &s->gpus, sizeof *s->gpus));
    TRY(stencil_parts_create(b, s->parts, s->gpus));
    for (const void *kernel : persistent) {
        int64_t resident;
        TRY(stencil_parts_resident(s->gpus, kernel, multi_reduction_lanes, &resident));
        most = stencil_smaller(most, resident);
    }
    s->blocks = stencil_case_blocks((r->pieces + s->parts - 1) / s->parts, most);
    for (int p = s->parts - 1; p >= 0; p--) {
        multi_reduction_arguments *m = &s->part[p];
        const int64_t own = multi_reduction_first(m, p + 1) - multi_reduction_first(m, p);
        cudaFuncAttributes attributes;
        TRY(stencil_parts_memory(b, s->gpus, p, &m->of.values, m->of.values, (size_t)own * piece_bytes));
        TRY(stencil_parts_memory(b, s->gpus, p, &m->of.sums, nullptr,
                                 (size_t)(r->sums_pairs + 1) * sizeof *r->sums));
        TRY_CUDA(cudaFuncGetAttributes(&attributes, phase_kernel)); /* loads it */
    }
    return STENCIL_OK;
}

stencil_status multi_reduction_gpu_create(stencil_bench *b, multi_reduction_loop *loop, char why[96]) {
    TRY(stencil_bench_memory(b, &loop->gpu, sizeof *loop->gpu));
    stencil_parts_loop *l = &loop->gpu->loop;
    const bool tree = loop->order == MULTI_REDUCTION_NEIGHBOR;
    *l = {.parts = loop->spread->gpus,
          .kernel = persistent[tree],
          .id = tree ? STENCIL_BARRIER_neighbor : STENCIL_BARRIER_multi_grid,
          .grid = {.blocks = loop->spread->blocks, .block_x = multi_reduction_lanes, .block_y = 1},
          .timeout_s = loop->timeout_s,
          .first = loop->team.neighbor_first,
          .list = loop->team.neighbor};
    for (int p = 0; p < loop->spread->parts; p++) {
        l->launch[p].phases = multi_reduction_phases(&loop->part[p]);
        memcpy(l->launch[p].arguments, &loop->part[p], sizeof loop->part[p]);
    }
    if (loop->order == MULTI_REDUCTION_CEILING)
        return multi_reduction_ceiling_create(b, loop, &loop->gpu->ceiling, why);
    return multi_reduction_is_persistent(loop->order) ? stencil_parts_loop_create(b, l, why) : STENCIL_OK;
}

int multi_reduction_gpu_begin(const multi_reduction_loop *loop, int part) {
    return cudaSetDevice(device_of(loop, part).gpu);
}

int multi_reduction_gpu_launch(const multi_reduction_loop *loop, int part, int64_t phase) {
    stencil_case_launch launch = loop->gpu->loop.launch[part];
    void *arguments[] = {&launch};
    launch.phase = phase;
    return cudaLaunchKernel(phase_kernel, dim3{phase == 0 ? loop->spread->blocks : 1, 1, 1},
                            dim3{multi_reduction_lanes, 1, 1}, arguments, 0, device_of(loop, part).stream);
}

int multi_reduction_gpu_copy(const multi_reduction_loop *loop, int part, int to, int64_t first,
                             int64_t count) {
    reduction_pair *const *sums = loop->part[part].sums;
    return cudaMemcpyPeerAsync(reinterpret_cast<double *>(sums[to]) + first, device_of(loop, to).gpu,
                               reinterpret_cast<const double *>(sums[part]) + first,
                               device_of(loop, part).gpu, (size_t)count * sizeof(double),
                               device_of(loop, part).stream);
}

int multi_reduction_gpu_wait(const multi_reduction_loop *loop, int part) {
    return cudaStreamSynchronize(device_of(loop, part).stream);
}

stencil_status multi_reduction_gpu_run(multi_reduction_loop *loop, int64_t count, double *time_s) {
    const bool ceiling = loop->order == MULTI_REDUCTION_CEILING;
    const double start_s = stencil_clock_s();
    for (int64_t i = 0; i < count; i++)
        TRY(ceiling ? multi_reduction_ceiling_run(loop->gpu->ceiling)
                    : stencil_parts_loop_run(&loop->gpu->loop, &loop->fault));
    *time_s = stencil_clock_s() - start_s;
    return ceiling ? STENCIL_OK : stencil_parts_loop_check(&loop->gpu->loop);
}

stencil_status multi_reduction_gpu_spoil(const multi_reduction_loop *loop) {
    for (int p = loop->spread->parts - 1; p >= 0; p--) {
        const reduction_arguments *r = &loop->part[p].of;
        TRY_CUDA(cudaSetDevice(device_of(loop, p).gpu));
        TRY_CUDA(cudaMemset(r->sums, 0xff, (size_t)(r->sums_pairs + 1) * sizeof *r->sums));
        TRY_CUDA(cudaDeviceSynchronize());
    }
    return STENCIL_OK;
}

stencil_status multi_reduction_gpu_read(const multi_reduction_loop *loop, int part, double *sum) {
    TRY_CUDA(cudaSetDevice(device_of(loop, part).gpu));
    return stencil_device_read(&device_of(loop, part), sum, loop->part[part].of.sum, sizeof *sum);
}
