#include "philox/gpu.h"

#include <omp.h>

#include "base/cuda.h"
#include "solver/machine/tuning.h"

int64_t stencil_random_gpu_pays(void) {
    stencil_tuning tuning; /* no driver is asked for the name of a GPU: this takes a tenth of a second */
    stencil_tuning_find(&tuning, "");
    return tuning.random_cells * omp_get_max_threads();
}

#ifdef STENCIL_HAVE_CURAND
#include <curand.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/symbols.h"
#include "kernels/table.h"
#include "philox/cells.h"

/* Cells that are made at once, so few that they stay in L2 until they are converted and copied; and buffers
 * of as many on the host, of which one is copied to while the next is filled. */
enum { CHUNK_CELLS = 1 << 21, STAGES = 2 };

/* The functions of the library, once it is loaded. */
static struct functions {
    curandStatus_t (*create)(curandGenerator_t *, curandRngType_t);
    curandStatus_t (*destroy)(curandGenerator_t);
    curandStatus_t (*set_ordering)(curandGenerator_t, curandOrdering_t);
    curandStatus_t (*set_seed)(curandGenerator_t, unsigned long long);
    curandStatus_t (*set_stream)(curandGenerator_t, cudaStream_t);
    curandStatus_t (*set_offset)(curandGenerator_t, unsigned long long);
    curandStatus_t (*generate)(curandGenerator_t, unsigned int *, size_t);
} library;

struct stencil_random_gpu {
    stencil_random_cells cells;
    curandGenerator_t generator;
    cudaStream_t stream;
    uint32_t *words; /* of a chunk, on the device */
    double *made;    /* a chunk on the device */
    struct stage {
        double *at; /* a chunk in pinned memory */
        cudaEvent_t done;
    } stage[STAGES];
};

static stencil_status check(curandStatus_t state, const char *call) {
    if (state == CURAND_STATUS_SUCCESS)
        return STENCIL_OK;
    return stencil_error_set(state == CURAND_STATUS_ALLOCATION_FAILED ? STENCIL_NO_MEMORY : STENCIL_INTERNAL,
                             __FILE__, __LINE__, call, "cuRAND: error %d (%s)", (int)state, call);
}

#define TRY_CURAND(function, ...) TRY(check(library.function(__VA_ARGS__), #function))

static stencil_status load(void) {
    const stencil_symbol symbols[] = {{"curandCreateGenerator", &library.create},
                                      {"curandDestroyGenerator", &library.destroy},
                                      {"curandSetGeneratorOrdering", &library.set_ordering},
                                      {"curandSetPseudoRandomGeneratorSeed", &library.set_seed},
                                      {"curandSetStream", &library.set_stream},
                                      {"curandSetGeneratorOffset", &library.set_offset},
                                      {"curandGenerate", &library.generate},
                                      {0}};
    char name[64], why[96];
    snprintf(name, sizeof name, "libcurand.so.%d", CURAND_VER_MAJOR);
    CHECK(stencil_symbols_load(name, symbols, why), UNAVAILABLE, "%s", why);
    return STENCIL_OK;
}

static stencil_status prepare(stencil_random_gpu *g, int device) {
    struct cudaFuncAttributes attributes;
    TRY_CUDA(cudaSetDevice(device));
    TRY_CUDA(cudaStreamCreateWithFlags(&g->stream, cudaStreamNonBlocking));
    TRY_CUDA(
        cudaFuncGetAttributes(&attributes, stencil_random_kernel())); /* the build has code for this GPU */
    TRY_CURAND(create, &g->generator, CURAND_RNG_PSEUDO_PHILOX4_32_10);
    /* The one order that cuRAND promises to keep. */
    TRY_CURAND(set_ordering, g->generator, CURAND_ORDERING_PSEUDO_LEGACY);
    TRY_CURAND(set_seed, g->generator, g->cells.seed);
    TRY_CURAND(set_stream, g->generator, g->stream);
    TRY_CUDA(cudaMalloc((void **)&g->words, CHUNK_CELLS * 2 * sizeof *g->words));
    TRY_CUDA(cudaMalloc((void **)&g->made, CHUNK_CELLS * sizeof *g->made));
    for (int i = 0; i < STAGES; i++) {
        TRY_CUDA(cudaMallocHost((void **)&g->stage[i].at, CHUNK_CELLS * sizeof *g->stage[i].at));
        TRY_CUDA(cudaEventCreateWithFlags(&g->stage[i].done, cudaEventDisableTiming));
    }
    return STENCIL_OK;
}

stencil_status stencil_random_gpu_open(stencil_random_gpu **gpu, int device,
                                       const stencil_random_cells *cells) {
    int count = 0;
    *gpu = NULL;
    TRY(load());
    const bool counted = cudaGetDeviceCount(&count) == cudaSuccess && device < count;
    if (!counted)
        cudaGetLastError();
    CHECK(counted, UNAVAILABLE, "there is no GPU %d here", device);
    stencil_random_gpu *const g = calloc(1, sizeof *g);
    CHECK(g != NULL, NO_MEMORY, "no memory for random numbers");
    g->cells = *cells;
    const stencil_status status = prepare(g, device);
    if (status == STENCIL_OK) {
        *gpu = g;
        return STENCIL_OK;
    }
    const stencil_error error = *stencil_error_last();
    stencil_random_gpu_close(g);
    cudaGetLastError();
    CHECK(status == STENCIL_NO_MEMORY, UNAVAILABLE, "GPU %d cannot be used: %s", device, error.message);
    return stencil_error_adopt(&error);
}

void stencil_random_gpu_close(stencil_random_gpu *g) {
    if (g == NULL)
        return;
    if (g->stream != NULL)
        cudaStreamSynchronize(g->stream);
    if (g->generator != NULL)
        library.destroy(g->generator);
    for (int i = 0; i < STAGES; i++) {
        if (g->stage[i].done != NULL)
            cudaEventDestroy(g->stage[i].done);
        cudaFreeHost(g->stage[i].at);
    }
    cudaFree(g->made);
    cudaFree(g->words);
    if (g->stream != NULL)
        cudaStreamDestroy(g->stream);
    free(g);
}

/* Queues the making of at most a chunk of cells. */
static stencil_status queue(stencil_random_gpu *g, uint64_t first, int64_t count, double *there) {
    enum { BLOCKS_MOST = 1 << 16 };
    stencil_random_conversion c = {g->words, there, count, g->cells.factor,
                                   g->cells.precision == STENCIL_FLOAT64};
    const uint64_t words = (uint64_t)stencil_random_words_of(c.wide);
    const int64_t blocks = (count + STENCIL_BLOCK_THREADS - 1) / STENCIL_BLOCK_THREADS;
    void *arguments[] = {&c};
    TRY_CURAND(set_offset, g->generator, words * first);
    TRY_CURAND(generate, g->generator, g->words, words * (size_t)count);
    TRY_CUDA(cudaLaunchKernel(stencil_random_kernel(),
                              (dim3){(unsigned)stencil_smaller(blocks, BLOCKS_MOST), 1, 1},
                              (dim3){STENCIL_BLOCK_THREADS, 1, 1}, arguments, 0, g->stream));
    return STENCIL_OK;
}

stencil_status stencil_random_gpu_make(stencil_random_gpu *g, uint64_t first, int64_t count, double *there) {
    for (int64_t at = 0; at < count; at += CHUNK_CELLS)
        TRY(queue(g, first + (uint64_t)at, stencil_smaller(CHUNK_CELLS, count - at), there + at));
    TRY_CUDA(cudaStreamSynchronize(g->stream));
    return STENCIL_OK;
}

/* Queues a chunk, and its copy to a stage. */
static stencil_status queue_stage(stencil_random_gpu *g, uint64_t first, int64_t count, struct stage *stage) {
    TRY(queue(g, first, count, g->made));
    TRY_CUDA(cudaMemcpyAsync(stage->at, g->made, (size_t)count * sizeof *g->made, cudaMemcpyDeviceToHost,
                             g->stream));
    TRY_CUDA(cudaEventRecord(stage->done, g->stream));
    return STENCIL_OK;
}

/* Copies by all threads. */
static void copy(double *to, const double *from, int64_t count) {
    enum { PIECE = 1 << 13 };
#pragma omp parallel for schedule(static)
    for (int64_t at = 0; at < count; at += PIECE)
        memcpy(to + at, from + at, (size_t)stencil_smaller(PIECE, count - at) * sizeof *to);
}

/* Compares some cells of a chunk, its ends among them, with those of the host. */
static stencil_status check_stage(const stencil_random_cells *c, uint64_t first, int64_t count,
                                  const double *cell) {
    enum { LOOKS = 64 };
    for (int64_t look = 0; look < LOOKS; look++) {
        const int64_t i = (count - 1) * look / (LOOKS - 1);
        CHECK(cell[i] == c->factor * stencil_random_number(c->seed, c->precision, first + (uint64_t)i),
              INTERNAL, "random number %llu of cuRAND is not that of the stream",
              (unsigned long long)first + (unsigned long long)i);
    }
    return STENCIL_OK;
}

/* Waits for a chunk, looks at it, and copies it. */
static stencil_status take_stage(const stencil_random_gpu *g, uint64_t first, int64_t count,
                                 const struct stage *stage, double *to) {
    TRY_CUDA(cudaEventSynchronize(stage->done));
    TRY(check_stage(&g->cells, first, count, stage->at));
    copy(to, stage->at, count);
    return STENCIL_OK;
}

stencil_status stencil_random_gpu_read(stencil_random_gpu *g, uint64_t first, int64_t count, double *to) {
    const int64_t chunks = (count + CHUNK_CELLS - 1) / CHUNK_CELLS;
    for (int64_t i = 0; i <= chunks; i++) {
        const int64_t at = i * CHUNK_CELLS, before = at - CHUNK_CELLS;
        if (i < chunks)
            TRY(queue_stage(g, first + (uint64_t)at, stencil_smaller(CHUNK_CELLS, count - at),
                            &g->stage[i % STAGES]));
        if (i > 0)
            TRY(take_stage(g, first + (uint64_t)before, stencil_smaller(CHUNK_CELLS, count - before),
                           &g->stage[(i - 1) % STAGES], to + before));
    }
    return STENCIL_OK;
}
#else
stencil_status stencil_random_gpu_open(stencil_random_gpu **gpu, int device,
                                       const stencil_random_cells *cells) {
    *gpu = NULL;
    (void)device, (void)cells;
    FAIL(UNAVAILABLE, "this build has no cuRAND, whose header curand.h was not found");
}

void stencil_random_gpu_close(stencil_random_gpu *gpu) {
    (void)gpu;
}

stencil_status stencil_random_gpu_make(stencil_random_gpu *gpu, uint64_t first, int64_t count,
                                       double *there) {
    (void)gpu, (void)first, (void)count, (void)there;
    FAIL(UNAVAILABLE, "this build has no cuRAND");
}

stencil_status stencil_random_gpu_read(stencil_random_gpu *gpu, uint64_t first, int64_t count, double *to) {
    (void)gpu, (void)first, (void)count, (void)to;
    FAIL(UNAVAILABLE, "this build has no cuRAND");
}
#endif
