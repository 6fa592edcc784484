/* Times at which the kernels of a case start and end. */
#include "bench/cases/loop.h"

#ifdef STENCIL_HAVE_CUDA
/* Makes a run with empty spans, and copies them to the host. */
static stencil_status note_spans(stencil_case_loop *loop, stencil_kernel_span *span) {
    const stencil_parts_spread *s = loop->spread;
    const stencil_kernel_span empty = {INT64_MAX, 0};
    double time_s;
    for (int p = 0; p < s->parts; p++) {
        TRY_CUDA(cudaSetDevice(s->device[p]->gpu));
        TRY_CUDA(cudaMemcpyAsync(loop->span[p], &empty, sizeof empty, cudaMemcpyHostToDevice,
                                 s->device[p]->stream));
        TRY_CUDA(cudaStreamSynchronize(s->device[p]->stream));
    }
    TRY_CUDA(cudaSetDevice(s->device[0]->gpu));
    TRY(stencil_case_loop_run(loop, 1, &time_s));
    for (int p = s->parts - 1; p >= 0; p--) {
        TRY_CUDA(cudaSetDevice(s->device[p]->gpu));
        TRY(stencil_device_read(s->device[p], &span[p], loop->span[p], sizeof *span));
        CHECK(span[p].end > span[p].begin, INTERNAL, "%s of %lld elements, %s: no kernel of part %d ran",
              s->problem->of->name, (long long)s->problem->n, loop->name, p);
    }
    return STENCIL_OK;
}

stencil_status stencil_case_spans(stencil_bench *b, stencil_case_loop *loop, stencil_bench_row *row) {
    enum { RUNS = 15, FEW_RUNS = 3 };
    const double long_s = 0.02;
    const stencil_parts_spread *s = loop->spread;
    stencil_kernel_span *memory[STENCIL_PARTS_MAX], span[STENCIL_PARTS_MAX];
    double offset_s[STENCIL_PARTS_MAX], time_s[RUNS], skew_s[RUNS], scratch[RUNS];
    stencil_status status = STENCIL_OK;
    if (loop->ceiling != NULL || (s->of->one_part && loop->order == STENCIL_CASE_GRAPH))
        return STENCIL_OK;
    for (int p = s->parts - 1; p >= 0; p--)
        TRY(stencil_case_memory(b, s->device[p], NULL, sizeof *span, &memory[p]));
    TRY(stencil_device_timers(b, s->parts, offset_s, &row->timer_error_s));
    stencil_case_gpu_set_spans(loop, memory);
    const int runs = row->statistics.median > long_s ? FEW_RUNS : RUNS;
    for (int i = 0; i < runs && status == STENCIL_OK; i++) {
        status = note_spans(loop, span);
        stencil_kernel_spans_join(span, offset_s, s->parts, &time_s[i], &skew_s[i]);
    }
    stencil_case_gpu_set_spans(loop, NULL);
    TRY(status);
    row->kernels_s = stencil_statistics_of(time_s, runs, scratch).median;
    if (s->parts > 1)
        row->skew_s = stencil_statistics_of(skew_s, runs, scratch).median;
    return STENCIL_OK;
}
#endif
