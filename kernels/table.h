/* The table of compiled kernels: templates end here, everything above picks a row. */
#pragma once

#include "kernels/sweep.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const char *const stencil_sweep_names[]; /* NULL behind the last one */

/* The way of ghost cells from a kernel to other parts; STORE also where they are copied between steps. */
typedef enum stencil_exchange_id {
    STENCIL_EXCHANGE_STORE, /* the sweep stores them */
    STENCIL_EXCHANGE_LL,    /* sent after the sweep in words with their step in them; for barriers that wait
                               for neighbours only, since no other part's ghost cells are waited for */
    STENCIL_EXCHANGE_COUNT
} stencil_exchange_id;

/* A compiled CUDA kernel. Its only argument is a stencil_kernel_args by value. */
typedef struct stencil_kernel {
    stencil_shape_id shape;
    stencil_precision precision;
    stencil_sweep_id sweep;
    stencil_exchange_id exchange;
    stencil_barrier_id barrier;
    int cells;   /* cells along x that a thread updates at once */
    int block_x; /* threads along x that suit it best; any multiple of 32 that divides the block is right */
    int blocks;  /* that fit on a multiprocessor, at least: registers are kept down for it */
    const void *function; /* for cudaLaunchKernel, cudaFuncGetAttributes, …; NULL: there is none */
    const void *traced;   /* a step that notes moments (kernels/trace.h); NULL: `function` does */
    int step_bytes;       /* dynamic shared memory of a block of these two */
    /* From stencil_kernel_deepen(): a pass of several steps, up to `depth`, in any number of blocks of so
     * many threads with so many bytes of dynamic shared memory: one fills a multiprocessor. It leaves the
     * copies of edge cells to stencil_copies_kernel(). Or a persistent loop of such passes, none of whose
     * steps is checked, with any barrier (stencil_kernel_args.sync). NULL: there is none. And what has to be
     * launched before a pass where a side along y is mirrored, in any number of blocks of
     * STENCIL_BLOCK_THREADS threads; NULL: it is not for such sides. And a pass whose last step is checked,
     * with so many bytes, which sums residuals into set 0 of the partial sums; NULL: none of several steps.
     * Code that was compiled for less than `deep_capability` (90 for 9.0; 0: none is too old) has these
     * kernels by name only. */
    const void *deep, *mirror, *checked;
    int depth, deep_threads, deep_bytes, checked_bytes, deep_capability;
} stencil_kernel;

enum { STENCIL_BLOCK_THREADS = STENCIL_COMBINE_LANES }; /* of every kernel: a block combines a group */

/* Every combination that could be compiled, by its number. The members behind the barrier are 0. */
enum {
    STENCIL_KERNEL_KEYS = STENCIL_SHAPE_COUNT * STENCIL_SWEEP_COUNT * STENCIL_EXCHANGE_COUNT *
                          STENCIL_PRECISION_COUNT * STENCIL_BARRIER_COUNT
};
stencil_kernel stencil_kernel_key(int index);
int stencil_kernel_index(const stencil_kernel *key);

/* "j2d5pt float32 stream central": stencil, precision, sweep, barrier, and "ll" for LL exchange. Returns
 * `text`. */
enum { STENCIL_KERNEL_CHARS = 96 };
const char *stencil_kernel_text(const stencil_kernel *kernel, char text[STENCIL_KERNEL_CHARS]);
/* The key that has this text; false: none has. */
bool stencil_kernel_read(stencil_kernel *kernel, const char *text);

/* Tells whether a sweep has kernels with LL exchange, as sweeps.def says; whether a combination is
 * compiled. */
STENCIL_CONSTANT bool stencil_sweep_has_ll(stencil_sweep_id sweep) {
    enum { STORE, STORE_LL };
    const int exchanges[] = {
#define STENCIL_SWEEP(name, exchanges, text) exchanges,
#include "kernels/sweeps.def"
    };
    return exchanges[sweep] == STORE_LL;
}
bool stencil_kernel_is_compiled(stencil_sweep_id sweep, stencil_exchange_id exchange,
                                stencil_barrier_id barrier);

/* Completes a key with the kernel that makes single steps. false: the build has none (without CUDA,
 * or for other point sets: STENCIL_SETS). */
bool stencil_kernel_find(stencil_kernel *kernel);

/* Gives the kernel of a sweep that makes several steps at once what makes them: one pass, or a `loop` of
 * them. `general`: with weights of each step, a source term and mirrored sides; otherwise without, and
 * faster: all that loops can. Nothing where the build has none. */
void stencil_kernel_deepen(stencil_kernel *kernel, bool general, bool loop);

/* The loop of the resident sweep for tiles of a shape (kernels/sweeps/resident.h), `general` as above; NULL
 * where the build has none. */
const void *stencil_resident_kernel(stencil_shape_id set, stencil_precision precision, bool general,
                                    int shape);

/* The compute capability (90 for 9.0) of the code that a GPU of `capability` is expected to load: the largest
 * that the build's device code was compiled for and that is not larger; 0: none. Only with CUDA. */
int stencil_code_expected(int capability);
/* Finds the compute capability of the code that the current device loaded. Only with CUDA and such code. */
stencil_status stencil_code_loaded(int *capability);

/* The first reduction level of the last check: combine(stencil_kernel_args by value) combines its groups from
 * set 0 of the partial sums, a block of STENCIL_BLOCK_THREADS threads per group, any grid. Only with CUDA. */
const void *stencil_combine_kernel(void);

/* Copies of the edge cells of a 2D part, in any number of blocks of STENCIL_BLOCK_THREADS threads: copies(
 * stencil_kernel_args by value) as behind a pass. Only with CUDA. */
const void *stencil_copies_kernel(stencil_precision precision);

/* compare_clocks(stencil_clock_pair *pair, uint32_t places) fills pair[places][STENCIL_CLOCK_PAIRS], zeroed
 * before: one thread on each multiprocessor, so a grid has blocks of 1024 threads, four for each. Only with
 * CUDA. */
const void *stencil_clocks_kernel(void);

#ifdef __cplusplus
}
#endif
