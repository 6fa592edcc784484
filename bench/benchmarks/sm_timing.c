#include "bench/benchmarks/sm.h"

#include "base/cuda.h"

#ifdef STENCIL_HAVE_CUDA
#include <stdlib.h>

enum { SM_IDS_MAX = 1024 };

static size_t record_count(const stencil_sm_timing *timing) {
    return (size_t)timing->sm_count * STENCIL_SM_THREADS_MAX / 32;
}

stencil_status stencil_sm_timing_create(stencil_sm_timing *timing, int sm_count) {
    *timing = (stencil_sm_timing){.sm_count = sm_count};
    timing->host = malloc(record_count(timing) * sizeof *timing->host);
    CHECK(timing->host != NULL, NO_MEMORY, "no memory for the records of %zu warps", record_count(timing));
    TRY_CUDA(cudaMalloc((void **)&timing->device, record_count(timing) * sizeof *timing->device));
    return STENCIL_OK;
}

void stencil_sm_timing_destroy(stencil_sm_timing *timing) {
    cudaFree(timing->device);
    free(timing->host);
    *timing = (stencil_sm_timing){0};
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Warps of one multiprocessor: its clock starts with the first and stops with the last of them. */
typedef struct sm_span {
    int64_t start, end;
    int warps;
} sm_span;

static stencil_status throughput(const stencil_sm_record *record, int warps, int64_t repeats,
                                 double *median) {
    static sm_span spans[SM_IDS_MAX];
    double of_sm[SM_IDS_MAX];
    int count = 0;
    for (int i = 0; i < SM_IDS_MAX; i++)
        spans[i] = (sm_span){.start = INT64_MAX, .end = INT64_MIN};
    for (int i = 0; i < warps; i++) {
        CHECK(record[i].sm < SM_IDS_MAX, INTERNAL, "multiprocessor %u has a number that cannot be",
              record[i].sm);
        sm_span *span = &spans[record[i].sm];
        span->start = record[i].start < span->start ? record[i].start : span->start;
        span->end = record[i].end > span->end ? record[i].end : span->end;
        span->warps++;
    }
    for (int i = 0; i < SM_IDS_MAX; i++)
        if (spans[i].warps > 0)
            of_sm[count++] =
                (double)spans[i].warps * (double)repeats / (double)(spans[i].end - spans[i].start);
    qsort(of_sm, (size_t)count, sizeof *of_sm, compare);
    *median = 0.5 * (of_sm[(count - 1) / 2] + of_sm[count / 2]);
    return STENCIL_OK;
}

stencil_status stencil_sm_run(stencil_sm_timing *timing, const void *kernel, const char *what, int blocks,
                              int threads, int64_t repeats, int size, stencil_sm_times *times) {
    const int per_block = (threads + 31) / 32, warps = blocks * per_block;
    const size_t bytes = (size_t)warps * sizeof *timing->host;
    CHECK((size_t)warps <= record_count(timing), INTERNAL, "%s: %d blocks of %d threads do not fit", what,
          blocks, threads);
    stencil_sm_arguments a = {.repeats = repeats, .size = size, .record = timing->device};
    void *arguments[] = {&a};
    const dim3 grid = {(unsigned)blocks, 1, 1}, block = {(unsigned)threads, 1, 1};
    TRY_CUDA(cudaMemsetAsync(timing->device, 0, record_count(timing) * sizeof *timing->host, NULL));
    TRY_CUDA(cudaLaunchKernel(kernel, grid, block, arguments, 0, NULL));
    TRY_CUDA(cudaMemcpy(timing->host, timing->device, bytes, cudaMemcpyDeviceToHost));
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (int i = 0; i < warps; i++) {
        const stencil_sm_record *r = &timing->host[i];
        CHECK(r->wrong == 0, INTERNAL, "%s: %u wrong results in warp %d of block %d", what, r->wrong,
              i % per_block, i / per_block);
        CHECK(r->end > r->start, INTERNAL, "%s: warp %d of block %d left no times", what, i % per_block,
              i / per_block);
        if (i < per_block) {
            first = r->start < first ? r->start : first;
            last = r->end > last ? r->end : last;
        }
    }
    times->cycles = (double)(last - first);
    return throughput(timing->host, warps, repeats, &times->throughput);
}
#endif
