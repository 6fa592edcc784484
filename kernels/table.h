/* The table of compiled kernels: code that includes it needs no kernel templates, it picks a row. */
#pragma once

#include "kernels/sweep.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const char *const stencil_sweep_names[]; /* NULL after the last name */

/* Way in which a kernel writes ghost cells of other parts. Kernels whose ghost cells are copied between steps
 * have STORE, too. */
typedef enum stencil_exchange_id {
    STENCIL_EXCHANGE_STORE, /* the sweep stores ghost cells into other parts' memory */
    STENCIL_EXCHANGE_LL,    /* ghost cells are sent after the sweep in words that contain their step; for
                               barriers between neighbours only, since no other part's ghost cells are waited for
                             */
    STENCIL_EXCHANGE_COUNT
} stencil_exchange_id;

/* A compiled CUDA kernel. Its only argument is a stencil_kernel_args by value. */
typedef struct stencil_kernel {
    stencil_shape_id shape;
    stencil_precision precision;
    stencil_sweep_id sweep;
    stencil_exchange_id exchange;
    stencil_barrier_id barrier;
    /* For cells of several classes, and for those whose weights are fields, which may have classes, too; no
     * parts of a key: calibrations know plain kernels only. */
    bool classed, fielded;
    int cells;   /* cells along x that a thread updates at once */
    int block_x; /* threads along x that are fastest; any multiple of 32 that divides the block is correct */
    int blocks;  /* blocks that fit on a multiprocessor, at least: registers are limited for that */
    const void *function; /* the kernel, for cudaLaunchKernel, cudaFuncGetAttributes, …; NULL: none */
    const void *traced;   /* kernel of a step that notes moments; NULL: `function` notes them */
    int step_bytes;       /* dynamic shared memory of a block of `function` or `traced` */
    /* Set by stencil_kernel_deepen(). deep: a pass of up to `depth` steps, in any number of blocks of
     * deep_threads threads with deep_bytes bytes of dynamic shared memory (one block fills a multiprocessor),
     * which leaves the copies of edge cells to stencil_copies_kernel(); or a persistent loop of such passes,
     * without checked steps, with any barrier (stencil_kernel_args.sync). NULL: none. mirror: the kernel to
     * launch before a pass (a loop does it itself) where a side along y is mirrored, in any number of blocks
     * of STENCIL_BLOCK_THREADS threads; NULL: none. checked: a pass with a checked step, any one, in blocks
     * of checked_threads threads with checked_bytes bytes, which sums residuals into set 0 of the partial
     * sums; NULL: no pass of several steps can be checked. kinds: the kernel that finds the kinds of the rows
     * of all strips (stencil_class_passes), in any number of blocks of STENCIL_BLOCK_THREADS threads; NULL:
     * lines of a pass have equal numbers of rows. Code compiled for less than `deep_capability` (90 for 9.0;
     * 0: no code is too old) has these kernels by name only. */
    const void *deep, *mirror, *checked, *kinds;
    int depth, deep_threads, deep_bytes, checked_threads, checked_bytes, deep_capability;
} stencil_kernel;

enum { STENCIL_BLOCK_THREADS = STENCIL_COMBINE_LANES }; /* threads of a block of every kernel */

/* Every combination that could be compiled, by its number. A key's members after `barrier` are 0, but depth
 * is 1. */
enum {
    STENCIL_KERNEL_KEYS = STENCIL_SHAPE_COUNT * STENCIL_SWEEP_COUNT * STENCIL_EXCHANGE_COUNT *
                          STENCIL_PRECISION_COUNT * STENCIL_BARRIER_COUNT
};
stencil_kernel stencil_kernel_key(int index);
int stencil_kernel_index(const stencil_kernel *key);

/* Writes a kernel's name, such as "j2d5pt float32 stream central": stencil, precision, sweep, barrier, and
 * "ll" for LL exchange. Returns `text`. */
enum { STENCIL_KERNEL_CHARS = 96 };
const char *stencil_kernel_text(const stencil_kernel *kernel, char text[STENCIL_KERNEL_CHARS]);
/* Sets *kernel to the key that has this text; false: no key has this text. */
bool stencil_kernel_read(stencil_kernel *kernel, const char *text);

/* Tells whether a sweep has kernels with LL exchange, as sweeps.def says; stencil_kernel_is_compiled() tells
 * whether a combination is compiled. */
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

/* Adds the kernel that makes single steps to a key, for classes of cells where kernel->classed is set, for
 * fields where kernel->fielded is.
 * Returns false where the build has no such kernel (without CUDA, or for other point sets: STENCIL_SETS). */
bool stencil_kernel_find(stencil_kernel *kernel);

/* Adds to *kernel the functions that make several steps at once: one pass, or a `loop` of passes. general:
 * with weights that differ between steps, a source term and mirrored sides; otherwise without these, and
 * faster. With kernel->classed, general ones are for all classes of cells, others for plain and kept cells
 * only. Adds nothing where the build has none. */
void stencil_kernel_deepen(stencil_kernel *kernel, bool general, bool loop);

/* Returns the loop of the resident sweep for tiles of a shape (kernels/sweeps/resident.h), for the point set,
 * precision and classes of *kernel, `general` as in stencil_kernel_deepen(); NULL where the build has none.
 */
const void *stencil_resident_kernel(const stencil_kernel *kernel, bool general, int shape);

/* Returns the compute capability (90 for 9.0) of the code that a GPU of `capability` is expected to load: the
 * largest one, up to `capability`, that the build's device code was compiled for; 0: none. Only with CUDA. */
int stencil_code_expected(int capability);
/* Finds the compute capability of the code that the current device loaded. Only with CUDA and such code. */
stencil_status stencil_code_loaded(int *capability);

/* Returns the kernel combine(stencil_kernel_args by value), the first reduction level of the last check: it
 * combines this part's groups from set 0 of the partial sums, a block of STENCIL_BLOCK_THREADS threads per
 * group, any grid. Only with CUDA. */
const void *stencil_combine_kernel(void);

/* Returns the kernel judge(stencil_kernel_args by value), for one block of STENCIL_BLOCK_THREADS threads
 * after the kernel combine of the only part: it writes the residual of the last check to the mailbox, and the
 * stencil_reason that it gives to control->reason. Only with CUDA. */
const void *stencil_judge_kernel(void);

/* Groups of values to combine: group g is value[first[g]] … and has count[g] values; -1: it is left out.
 * Arrays of the device but `to`, which the host may read. */
typedef struct stencil_group_sums {
    const double *value;
    const int64_t *first, *count;
    int64_t groups;
    double *to;
    stencil_norm norm;
} stencil_group_sums;
/* Returns the kernel combine_groups(stencil_group_sums by value), in any number of blocks of
 * STENCIL_BLOCK_THREADS threads. Only with CUDA. */
const void *stencil_groups_kernel(void);

/* Returns the kernel copies(stencil_kernel_args by value), which copies the edge cells of a 2D part after a
 * pass, in any number of blocks of STENCIL_BLOCK_THREADS threads. Only with CUDA. */
const void *stencil_copies_kernel(stencil_precision precision);

/* The argument of the kernel mark: all groups of a part that have a mark, `count` along each axis from
 * `first` on, in groups along x; elements from row to row and from plane to plane of the classes. */
typedef struct stencil_marking {
    stencil_classes classes;
    int64_t first[3], count[3], row, plane;
} stencil_marking;

/* Returns the kernel mark(stencil_marking by value), which writes the marks and bits of a part's cells, that
 * classes.mark and classes.bits point to, in any number of blocks of STENCIL_BLOCK_THREADS threads. Only with
 * CUDA. */
const void *stencil_mark_kernel(void);

/* Returns the kernel compare_clocks(stencil_clock_pair *pair, uint32_t places), which fills
 * pair[places][STENCIL_CLOCK_PAIRS], zeroed before. One thread on each multiprocessor writes, so a grid has
 * blocks of 1024 threads, four blocks per multiprocessor. Only with CUDA. */
const void *stencil_clocks_kernel(void);

#ifdef __cplusplus
}
#endif
