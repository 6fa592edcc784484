/* One host thread per GPU: each thread launches the steps of its part, waits for its stream, and meets the
 * other threads at an OpenMP barrier. Ghost cells of other parts are written by the sweep itself, or by
 * copies in the same stream; with overlap the edges are computed first and copied while the inner cells are
 * computed. On a CPU one team of threads makes all steps, with the compiler's barrier between them. */
#include <math.h>
#include <omp.h>
#include <sched.h>

#include "solver/run/strategy.h"

#ifdef STENCIL_HAVE_CUDA
#include <cuda.h>
#include <stdlib.h>
#include <string.h>

/* State shared by the host threads: thread 0 writes, a barrier follows, all threads read. */
typedef struct loop {
    const stencil_batch *batch;
    stencil_outcome *outcome;
    stencil_status failed; /* status of a thread that failed, or OK */
} loop;

/* A gate in a stream, which hides launch times: the next pass is queued while the current one runs, after a
 * wait for a word that the host writes after the barrier. After each pass the stream writes the number of its
 * last step to host memory: the host cannot synchronise with a stream that waits at the gate, and sees the
 * word sooner. (A second stream for every other pass takes 1.2 us more per step on an H200.) */
typedef CUresult (*stream_word)(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags);
typedef struct gate {
    stream_word wait, write;   /* NULL: not supported; each pass is launched after the barrier */
    volatile uint32_t *opened; /* pinned: passes that start after at most this many steps may begin */
    volatile uint32_t *done;   /* pinned: number of steps that have ended */
    int64_t queued;            /* number of steps before the pass that waits at the gate; 0: none waits */
} gate;

enum { LINE_WORDS = 32 };

static bool find_word(const char *name, stream_word *function) {
    enum cudaDriverEntryPointQueryResult found;
    void *address = NULL;
    if (cudaGetDriverEntryPointByVersion(name, &address, 12000, cudaEnableDefault, &found) != cudaSuccess ||
        found != cudaDriverEntryPointSuccess || address == NULL) {
        (void)cudaGetLastError();
        return false;
    }
    memcpy(function, &address, sizeof *function); /* ISO C cannot cast to a function pointer */
    return true;
}

/* Creates the gate of a part that has a GPU, and its driver queues, for itself. */
static stencil_status create_gate(stencil_gpu_part *gpu, void *gates) {
    gate *g = (gate *)gates + gpu->part;
    stream_word wait, write;
    void *words = NULL;
    if (gpu->shared || gpu->run->transfers.count > 0 || !find_word("cuStreamWaitValue32", &wait) ||
        !find_word("cuStreamWriteValue32", &write))
        return STENCIL_OK;
    TRY_CUDA(cudaHostAlloc(&words, 2 * LINE_WORDS * sizeof(uint32_t),
                           cudaHostAllocMapped | cudaHostAllocPortable));
    memset(words, 0, 2 * LINE_WORDS * sizeof(uint32_t));
    g->opened = words;
    g->done = g->opened + LINE_WORDS;
    g->wait = wait;
    g->write = write;
    return STENCIL_OK;
}

static stencil_status use_word(stream_word function, cudaStream_t stream, volatile uint32_t *word,
                               int64_t value, unsigned flags) {
    const CUresult state = function((CUstream)stream, (CUdeviceptr)(uintptr_t)word, (cuuint32_t)value, flags);
    CHECK(state == CUDA_SUCCESS, INTERNAL, "CUDA: error %d of a wait or write in a stream", (int)state);
    return STENCIL_OK;
}

/* Launches a pass, and queues the write of its last step after it. */
static stencil_status launch_in(stencil_gpu_part *gpu, const gate *g, const stencil_pass *pass) {
    TRY(stencil_gpu_advance(gpu, pass));
    return g->write != NULL ? use_word(g->write, gpu->stream, g->done, pass->first + pass->steps,
                                       CU_STREAM_WRITE_VALUE_DEFAULT)
                            : STENCIL_OK;
}

/* Waits for the end of the pass up to `step` by polling the stream's word, now and then the stream itself. */
static stencil_status wait_for(const stencil_gpu_part *gpu, const gate *g, int64_t step) {
    if (g->write == NULL) {
        TRY_CUDA(cudaStreamSynchronize(gpu->stream));
        return STENCIL_OK;
    }
    for (uint32_t poll = 1; !stencil_reached(*g->done, (uint32_t)step); poll++) {
        if (poll % gpu->plan->tuning.word_polls != 0)
            continue;
        sched_yield(); /* there may be fewer cores than GPUs */
        const cudaError_t state = cudaStreamQuery(gpu->stream);
        if (state != cudaSuccess && state != cudaErrorNotReady)
            TRY_CUDA_STATE(state, "cudaStreamQuery(gpu->stream)");
    }
    return STENCIL_OK;
}

/* Makes one pass: opens its gate or, if it is not queued, launches it. The pass `next` is queued meanwhile;
 * NULL: the residual or an observer may end the run before the next pass. */
static stencil_status make_pass(stencil_gpu_part *gpu, gate *g, const stencil_pass *pass,
                                const stencil_pass *next) {
    if (g->queued == pass->first && pass->first > 0)
        *g->opened = (uint32_t)pass->first;
    else
        TRY(launch_in(gpu, g, pass));
    if (next != NULL && g->wait != NULL) { /* the next pass waits at the gate */
        TRY(use_word(g->wait, gpu->stream, g->opened, next->first, CU_STREAM_WAIT_VALUE_GEQ));
        g->queued = next->first;
        TRY(launch_in(gpu, g, next));
    }
    return wait_for(gpu, g, pass->first + pass->steps);
}

/* Waits for all threads at a barrier; returns whether none has failed, else all leave. */
static bool all_well(loop *l, stencil_status status) {
    if (status != STENCIL_OK)
        __atomic_store_n(&l->failed, status, __ATOMIC_RELAXED);
#pragma omp barrier
    return __atomic_load_n(&l->failed, __ATOMIC_RELAXED) == STENCIL_OK;
}

static stencil_status mark(stencil_gpu_part *gpu, cudaEvent_t event) {
    TRY_CUDA(cudaEventRecord(event, gpu->stream));
    return STENCIL_OK;
}

static stencil_status combine(stencil_gpu_part *gpu) {
    TRY(stencil_gpu_start_combine(gpu));
    return stencil_gpu_wait(gpu);
}

/* Makes the steps of a batch of one part. A second barrier tells all threads what thread 0 polled. Every
 * thread reaches every all_well(), so that a failure leaves no other thread waiting. */
static stencil_status batch_part(stencil_gpu_part *gpu, void *context) {
    loop *l = context;
    gate *g = (gate *)gpu->run->loop + gpu->part;
    const stencil_schedule *schedule = &gpu->run->schedule;
    const int64_t end = l->batch->first + l->batch->count;
    const int depth = gpu->plan->depth;
    stencil_status status = mark(gpu, gpu->begin);
    stencil_pass next = stencil_batch_pass(l->batch, schedule, depth), pass = next;
    if (g->write != NULL)
        *g->opened = *g->done = (uint32_t)next.first;
    while (next.steps > 0 && l->outcome->reason == STENCIL_REASON_NONE) {
        pass = next;
        const int64_t step = pass.first + pass.steps;
        const bool check = stencil_pass_check(schedule, &pass) > 0,
                   word = check || stencil_pass_reaches(&pass, gpu->plan->poll_every) || step == end;
        next = stencil_pass_next(&pass, schedule, depth, end);
        if (status == STENCIL_OK)
            status = make_pass(gpu, g, &pass, word ? NULL : &next);
        if (!all_well(l, status))
            return status;
        if (!word)
            continue;
        if (check)
            status = combine(gpu);
        if (check && !all_well(l, status))
            return status;
        if (gpu->part == 0)
            stencil_host_loop_end(schedule, gpu->plan, l->batch, &pass,
                                  check ? stencil_gpu_residual(gpu->run) : NAN, l->outcome);
        if (!all_well(l, status))
            return status;
    }
    pass = stencil_pass_again(&pass, l->batch, l->outcome);
    if (pass.steps > 0)
        TRY(stencil_gpu_advance(gpu, &pass));
    TRY(mark(gpu, gpu->end));
    return stencil_gpu_wait(gpu);
}

static stencil_status batch_gpu(stencil_gpu_run *run, const stencil_batch *batch, stencil_outcome *outcome) {
    loop l = {.batch = batch, .outcome = outcome};
    return stencil_gpu_each(run, batch_part, &l);
}

static stencil_status open_gpu(stencil_gpu_run *run) {
    run->loop = calloc((size_t)run->parts, sizeof(gate));
    CHECK(run->loop != NULL, NO_MEMORY, "no memory for %d parts", run->parts);
    return stencil_gpu_each(run, create_gate, run->loop);
}

static void close_gpu(stencil_gpu_run *run) {
    gate *g = run->loop;
    for (int p = 0; p < run->parts && run->loop != NULL; p++, g++) {
        cudaSetDevice(run->part[p].device);
        if (g->opened != NULL) /* a pass that waits at the gate has to end */
            *g->opened = (uint32_t)g->queued;
        cudaStreamSynchronize(run->part[p].stream);
        cudaFreeHost((void *)(uintptr_t)g->opened);
    }
    free(run->loop);
}
#endif

const stencil_strategy stencil_strategy_openmp = {
    .batch_gpu = STENCIL_ON_GPU(batch_gpu),
    .open_gpu = STENCIL_ON_GPU(open_gpu),
    .close_gpu = STENCIL_ON_GPU(close_gpu),
};
