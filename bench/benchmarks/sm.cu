#include "bench/benchmarks/sm.cuh"

namespace stencil {

enum { SM_IDS_MAX = 1024 };

static size_t record_count(const sm_timing *timing) {
    return (size_t)timing->gpu.sm_count * STENCIL_SM_THREADS_MAX / 32;
}

stencil_status sm_begin(stencil_bench *b, sm_timing *timing, int unrolled) {
    TRY(stencil_device_create(b, 0, &timing->gpu));
    if (unrolled > 0) {
        timing->latency_repeats = stencil_round_up(stencil_repeats(b->options, STENCIL_REPEATS), unrolled);
        timing->throughput_repeats =
            stencil_round_up(stencil_repeats(b->options, STENCIL_REPEATS_MORE), unrolled);
        stencil_bench_add_number(b->result, "latency_repeats", timing->latency_repeats);
        stencil_bench_add_number(b->result, "throughput_repeats", timing->throughput_repeats);
    }
    TRY(stencil_bench_memory(b, &timing->host, record_count(timing) * sizeof *timing->host));
    TRY(stencil_device_memory(b, &timing->device, record_count(timing) * sizeof *timing->device));
    TRY_CUDA(cudaMemsetAsync(timing->device, 0, record_count(timing) * sizeof *timing->device,
                             timing->gpu.stream));
    return STENCIL_OK;
}

/* Times of the warps of a multiprocessor: start of the first, end of the last. */
struct sm_span {
    int64_t start, end;
    int warps;
};

static void widen(sm_span *span, const sm_record *r) {
    span->start = span->warps == 0 || r->start < span->start ? r->start : span->start;
    span->end = span->warps == 0 || r->end > span->end ? r->end : span->end;
    span->warps++;
}

static double throughput(const sm_span spans[SM_IDS_MAX], int64_t repeats) {
    double of_sm[SM_IDS_MAX], scratch[SM_IDS_MAX];
    int count = 0;
    for (const sm_span *span = spans; span < spans + SM_IDS_MAX; span++)
        if (span->warps > 0)
            of_sm[count++] = (double)span->warps * (double)repeats / (double)(span->end - span->start);
    return stencil_statistics_of(of_sm, count, scratch).median;
}

stencil_status sm_sample(stencil_bench *, void *what, int64_t repeats, double *value) {
    const sm_case *c = static_cast<sm_case *>(what);
    const sm_timing *timing = c->timing;
    const int blocks = c->blocks_per_sm > 0 ? c->blocks_per_sm * (int)timing->gpu.sm_count : 1,
              per_block = (c->threads + 31) / 32, warps = blocks * per_block;
    sm_span first = {}, of_sm[SM_IDS_MAX] = {};
    CHECK((size_t)warps <= record_count(timing), INTERNAL, "%s: %d blocks of %d threads do not fit", c->name,
          blocks, c->threads);
    TRY_CUDA(cudaSetDevice(timing->gpu.gpu));
    if (c->fresh)
        TRY(stencil_device_fill(&timing->gpu, c->words));
    TRY_CUDA(
        cudaMemsetAsync(timing->device, 0, record_count(timing) * sizeof *timing->host, timing->gpu.stream));
    TRY(stencil_launch(timing->gpu, c->kernel, (unsigned)blocks, (unsigned)c->threads,
                       sm_arguments{repeats, c->size, timing->device, c->words, c->at}));
    TRY(stencil_device_read(&timing->gpu, timing->host, timing->device,
                            (size_t)warps * sizeof *timing->host));
    for (int i = 0; i < warps; i++) {
        const sm_record *r = &timing->host[i];
        CHECK(r->wrong == 0, INTERNAL, "%s: %u wrong results in warp %d of block %d", c->name, r->wrong,
              i % per_block, i / per_block);
        CHECK(r->end > r->start, INTERNAL, "%s: warp %d of block %d left no times", c->name, i % per_block,
              i / per_block);
        CHECK(r->sm < SM_IDS_MAX, INTERNAL, "multiprocessor %u has a number that cannot be", r->sm);
        widen(&of_sm[r->sm], r);
        if (i < per_block)
            widen(&first, r);
    }
    *value = c->scale > 0 ? c->scale * throughput(of_sm, repeats)
                          : (double)(first.end - first.start) / (double)repeats;
    return STENCIL_OK;
}

stencil_status sm_verify(stencil_bench *b, void *what) {
    double dropped;
    sm_case c = *static_cast<sm_case *>(what);
    c.kernel = c.checked;
    c.threads = c.checked_threads;
    c.blocks_per_sm = STENCIL_SM_THREADS_MAX / STENCIL_BLOCK_THREADS_MAX;
    return sm_sample(b, &c, c.checks, &dropped);
}

} // namespace stencil
