/* Benchmark `random`: random cells of a new file, in slabs as they go to the file, made by the threads of the
 * host and by a GPU, and all of them in the memory of the GPU. */
#include <stdio.h>
#include <string.h>

#include "bench/device.h"
#include "philox/gpu.h"
#include "solver/problem/boxes.h"

/* Cells where the user gives no size: 2 GiB. */
#define CELLS (INT64_C(1) << 28)
enum { SLAB_CELLS = STENCIL_SLAB_BYTES / (int)sizeof(double), SEED = 5 };

/* Ways to make a field. */
typedef enum way { THREADS, TO_HOST, ON_GPU } way;

typedef struct making {
    way way;
    stencil_random_cells cells;
    int64_t count;
    double *slab;  /* [SLAB_CELLS] */
    double *there; /* [count] in the memory of the GPU */
    stencil_random_gpu *gpu;
} making;

static void release(void *what) {
    const making *m = what;
    stencil_random_gpu_close(m->gpu);
}

/* Compares cells from `first` on with the stream, number by number. */
static stencil_status check(const making *m, int64_t first, int64_t count) {
    const stencil_random_cells *c = &m->cells;
    int64_t different = 0;
#pragma omp parallel for schedule(static) reduction(+ : different)
    for (int64_t i = 0; i < count; i++) {
        const double wanted = c->factor * stencil_random_number(c->seed, c->precision, (uint64_t)(first + i));
        different += memcmp(&m->slab[i], &wanted, sizeof wanted) != 0;
    }
    CHECK(different == 0, INTERNAL, "random: %lld cells from number %lld on are not those of the stream",
          (long long)different, (long long)first);
    return STENCIL_OK;
}

static stencil_status make_slab(const making *m, int64_t first, int64_t count) {
    if (m->way == TO_HOST)
        return stencil_random_gpu_read(m->gpu, (uint64_t)first, count, m->slab);
    stencil_random_fill(&m->cells, (uint64_t)first, count, m->slab);
    return STENCIL_OK;
}

/* Times a field that is made slab by slab, as for a file. */
static stencil_status make_slabs(const stencil_bench *b, const making *m, double *time_s) {
    for (int64_t first = 0; first < m->count; first += SLAB_CELLS) {
        const int64_t count = stencil_smaller(SLAB_CELLS, m->count - first);
        if (b->verifying)
            memset(m->slab, 0xff, (size_t)count * sizeof *m->slab);
        const double start_s = stencil_clock_s();
        TRY(make_slab(m, first, count));
        *time_s += stencil_clock_s() - start_s;
        if (b->verifying)
            TRY(check(m, first, count));
    }
    return STENCIL_OK;
}

#ifdef STENCIL_HAVE_CUDA
/* Times a field that is made in the memory of the GPU. */
static stencil_status make_there(const stencil_bench *b, const making *m, double *time_s) {
    if (b->verifying)
        TRY_CUDA(cudaMemset(m->there, 0xff, (size_t)m->count * sizeof *m->there));
    TRY_CUDA(cudaDeviceSynchronize());
    const double start_s = stencil_clock_s();
    TRY(stencil_random_gpu_make(m->gpu, 0, m->count, m->there));
    *time_s += stencil_clock_s() - start_s;
    for (int64_t first = 0; b->verifying && first < m->count; first += SLAB_CELLS) {
        const int64_t count = stencil_smaller(SLAB_CELLS, m->count - first);
        TRY_CUDA(
            cudaMemcpy(m->slab, m->there + first, (size_t)count * sizeof *m->slab, cudaMemcpyDeviceToHost));
        TRY(check(m, first, count));
    }
    return STENCIL_OK;
}
#endif

static stencil_status sample(stencil_bench *b, void *what, int64_t count, double *time_s) {
    const making *m = *(making **)what;
    *time_s = 0;
    for (int64_t i = 0; i < count; i++)
#ifdef STENCIL_HAVE_CUDA
        if (m->way == ON_GPU)
            TRY(make_there(b, m, time_s));
        else
#endif
            TRY(make_slabs(b, m, time_s));
    return STENCIL_OK;
}

/* Opens a GPU for a way that needs it; why[]: the reason why there is none. */
static stencil_status open_gpu(stencil_bench *b, making *m, char why[160]) {
    if (m->way == THREADS)
        return STENCIL_OK;
    const stencil_status status = stencil_random_gpu_open(&m->gpu, b->options->gpu[0], &m->cells);
    if (status == STENCIL_UNAVAILABLE) {
        snprintf(why, 160, "%.150s", stencil_error_last()->message);
        return STENCIL_OK;
    }
    TRY(status);
    TRY(stencil_bench_keep(b, release, m));
#ifdef STENCIL_HAVE_CUDA
    if (m->way == ON_GPU)
        TRY(stencil_device_memory(b, &m->there, (size_t)m->count * sizeof *m->there));
#endif
    return STENCIL_OK;
}

static stencil_status add_row(stencil_bench *b, const making *how, const char *name) {
    char why[160] = "";
    making *m;
    TRY(stencil_bench_memory(b, &m, sizeof *m));
    *m = *how;
    TRY(open_gpu(b, m, why));
    TRY(STENCIL_BENCH_ADD(b, m, "random numbers", name, "s/field", .sample = sample, .verified = 1,
                          .skipped = why, .axis = {{"cells", m->count}}));
    stencil_bench_row *row = stencil_bench_last(b);
    row->bytes = (double)sizeof(double) * (double)m->count;
    snprintf(row->formula, sizeof row->formula, "write 8 x %lld", (long long)m->count);
    return STENCIL_OK;
}

stencil_status stencil_measure_random(stencil_bench *b) {
    const stencil_spec *spec = &b->options->spec;
    making m = {.cells = {SEED, b->options->one_precision ? spec->precision : STENCIL_FLOAT64, 1},
                .count = 1};
    for (int i = 0; i < spec->rank; i++)
        CHECK(stencil_multiply(m.count, spec->extent[i], &m.count) && m.count < INT64_MAX / 64, BAD_DATA,
              "--size: more bytes than can be counted");
    if (spec->rank == 0)
        m.count = CELLS;
    TRY(stencil_bench_memory(b, &m.slab, SLAB_CELLS * sizeof *m.slab));
    TRY(add_row(b, &m, "threads of the host"));
    if (b->options->backend == STENCIL_BACKEND_GPU) {
        m.way = TO_HOST;
        TRY(add_row(b, &m, "GPU, to the host"));
        m.way = ON_GPU;
        TRY(add_row(b, &m, "GPU, its memory"));
    }
    stencil_bench_add_text(b->result, "precision", stencil_precision_name(m.cells.precision));
    stencil_bench_note(b,
                       "Bytes: cells as doubles, as they go to a file, in slabs of %d MiB; none is written.",
                       (int)(STENCIL_SLAB_BYTES >> 20));
    stencil_bench_note(b, "Verified: every cell of a field by each way, with its number of the stream.");
    return stencil_bench_take(b);
}
