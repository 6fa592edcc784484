/* The plan of a run, which --dry-run shows. */
#pragma once

#include "base/words.h"
#include "solver/machine/machine.h"
#include "solver/machine/strategies.h"
#include "solver/problem/problem.h"
#include "sync/barrier.h"

typedef enum stencil_backend {
    STENCIL_BACKEND_AUTO,
    STENCIL_BACKEND_CPU,
    STENCIL_BACKEND_GPU
} stencil_backend;
extern const char *const stencil_backend_names[]; /* "auto", "cpu", "gpu", NULL */

/* The way in which persistent loops wait. Zero-initialised: defaults. The last four are for tests. */
typedef struct stencil_wait_policy {
    double timeout_s;         /* a wait longer than this ends the run; 0: STENCIL_TIMEOUT_DEFAULT_S */
    uint32_t epoch;           /* what barriers count from */
    int64_t steps_per_launch; /* launch again after so many steps; 0: never */
    stencil_fault fault;
    int64_t illegal_step; /* before the batch that makes this step, a kernel on a GPU writes to an illegal
                             address; 0: none does */
} stencil_wait_policy;
#define STENCIL_TIMEOUT_DEFAULT_S 10.0

/* The ways in which edge cells get into the ghost cells of other parts. */
typedef enum stencil_halo_mode {
    STENCIL_HALO_AUTO,  /* ll where it pays; store where every GPU reaches every other one, else copy */
    STENCIL_HALO_STORE, /* the sweep stores them there */
    STENCIL_HALO_COPY,  /* copied after the sweep, through the host where GPUs do not reach each other */
    STENCIL_HALO_LL,    /* sent after the sweep in words that carry their step; neighbor on GPUs */
    STENCIL_HALO_COUNT
} stencil_halo_mode;
extern const char *const stencil_halo_names[STENCIL_HALO_COUNT + 1]; /* "auto", "store", "copy", "ll", NULL */

/* The ways in which a CPU sweep stores its results. */
typedef enum stencil_stores {
    STENCIL_STORES_CACHED,    /* through the cache */
    STENCIL_STORES_STREAMING, /* past it: a line is not loaded before it is overwritten */
    STENCIL_STORES_TRIED,     /* as is quicker: the first steps of the run find out */
    STENCIL_STORES_COUNT
} stencil_stores;
extern const char *const stencil_stores_names[STENCIL_STORES_COUNT]; /* "cached", "streaming", "tried" */

typedef struct stencil_run_options {
    const char *sync;  /* name of a strategy; NULL: "relaunch" */
    const char *sweep; /* name of a sweep; NULL: the first one */
    int depth;         /* steps of a pass; 0: on a GPU as many as there is room for, on a CPU as are
                          predicted to be quickest */
    stencil_backend backend;
    int gpu_count;              /* 0: not asked for */
    int gpu[STENCIL_PARTS_MAX]; /* one part each; an ordinal that comes several times shares its
                                   multiprocessors */
    int parts;                  /* of a run on the CPU; 0: not asked for */
    int cut[3];                 /* parts along z, y, x; all 0: as stencil_cut_make() chooses */
    stencil_halo_mode halo;
    bool overlap; /* with copies: edges first, copied while the rest is computed */
    stencil_wait_policy wait;
} stencil_run_options;

/* "" when strategy `index` can run on that backend of this machine, else why it cannot. */
const char *stencil_strategy_unavailable(int index, stencil_backend backend, const stencil_machine *machine);

/* One row per sweep, in the order of stencil_sweep_id, and one with the name NULL. */
typedef struct stencil_sweep_info {
    const char *name;
    const char *summary;
    const struct stencil_sweep_host *host; /* see sweep.h */
} stencil_sweep_info;
extern const stencil_sweep_info stencil_sweep_infos[];

/* The device, cells and blocks of one part of a run. */
typedef struct stencil_part_plan {
    int gpu;         /* device ordinal */
    int sharing;     /* parts on that device, this one included */
    bool past_l2;    /* the fields of those are so far beyond L2 that it holds little from step to step */
    bool leads;      /* the first of them */
    stencil_box box; /* its updated cells */
    int64_t tile_count;
    int grid_blocks;
    uint32_t first_block; /* number of its first block among those of all parts */
} stencil_part_plan;

/* Tells what the passes of a plan are. */
typedef enum stencil_pass_kind {
    STENCIL_PASS_STEP,     /* of one step each: launches, and tiles, are those of a step by itself */
    STENCIL_PASS_STRIPS,   /* threads of a CPU walk strips of plan->tile */
    STENCIL_PASS_STREAMED, /* the field moves through the GPU once for several steps */
    STENCIL_PASS_ON_CHIP   /* it stays on chip for a whole launch */
} stencil_pass_kind;

/* Factors of what calibrations have measured: of the rate of fma, of the rate of cells. And the fma of a cell
 * beside those of its points, in what such an fma takes. */
typedef struct stencil_pass_cost {
    double fma, beside, cells, loop;
    bool launched; /* in a loop, too, cells take what they take in launches */
} stencil_pass_cost;
#define STENCIL_PASS_COST_NONE                                                                               \
    { 1, 0, 1, 1, false }

/* The layout of a plan's passes (stencil_maker.place). */
typedef struct stencil_pass_layout {
    stencil_pass_kind kind;
    const char *refusal;       /* why they cannot be; "" where they can */
    int64_t tile[3];           /* of a CPU's thread (z, y, x) */
    int blocks;                /* of a launch of a pass in the first part */
    int slots;                 /* as many as there could be, were there work for all: one a multiprocessor */
    stencil_resident resident; /* tiles on chip, and 0 elsewhere, as all below but `cost` */
    int64_t resident_bytes;    /* of device memory for their ghost cells */
    int shared_bytes;          /* of a block */
    bool each_step;            /* they exchange ghost cells behind each step, not behind each pass */
    double step_s, exchange_s; /* what either takes */
    stencil_pass_cost cost;    /* where calibrations say what a step takes */
} stencil_pass_layout;

/* The choices that make a run, and the memory that it needs. */
typedef struct stencil_plan {
    int strategy; /* index, as for stencil_strategy_at() */
    stencil_sweep_id sweep;
    const struct stencil_variant *variant; /* of it, that makes the passes: see solver/plan/sweep.h */
    const char *why_not;                   /* not one before that; "": there is none */
    int depth;                             /* steps of a pass, at most */
    stencil_backend backend;               /* CPU or GPU */
    stencil_kernel kernel;                 /* function NULL: on the CPU, or not compiled into this build */
    stencil_tuning tuning;                 /* for the GPU of the first part */
    stencil_notes notes;                   /* "no GPU (…): using the CPU" */
    char device[160];                      /* "2 x NVIDIA H200", "2 threads, avx512" */
    int threads;                           /* CPU threads */
    stencil_stores stores;                 /* CPU */
    stencil_barrier_id barrier;            /* between the steps */
    int32_t poll_every;                    /* steps between polls of the observers */
    int block_x, block_y;                  /* threads of a block */
    int cluster_blocks;                    /* blocks of a cluster; 1: none */
    stencil_wait_policy wait;
    stencil_cut cut;
    stencil_part_plan part[STENCIL_PARTS_MAX]; /* [cut.parts] */
    stencil_halo_mode halo;                    /* not AUTO */
    bool overlap;
    int64_t tile[3];            /* cells per tile (z, y, x), the same in all parts */
    int64_t share_rows;         /* of a CPU's thread, at most: of all parts, plane after plane */
    int64_t stream;             /* cells of a tile along the axis that a thread streams over */
    stencil_pass_layout layout; /* of passes */
    int registers;              /* per thread */
    int blocks_per_sm;          /* resident at once */
    bool keeps_cycle; /* of an accelerated problem; the cells at its beginning are kept: it takes long */
    int64_t host_bytes, device_bytes; /* needed, fields included; on the device that needs most */
    int64_t host_available_bytes, device_available_bytes;
} stencil_plan;

/* The kernel, and the shape of its blocks, that makes so many steps on a GPU; `checked`: the last of them is.
 */
typedef struct stencil_kernel_launch {
    const void *function, *traced; /* the latter also notes moments; of several steps either does */
    int block_x, block_y;          /* threads */
    int shared_bytes;              /* dynamic shared memory of a block */
} stencil_kernel_launch;
stencil_kernel_launch stencil_plan_launch(const stencil_plan *plan, int steps, bool checked);

/* Chooses backend, devices, cut, kernel and launch shape from the description of a machine alone: nothing is
 * asked of a driver, nothing is allocated. What the description does not know of a kernel is taken from what
 * its compilation guarantees. With several parts strategy "grid" means "multi-grid". UNAVAILABLE (a GPU asked
 * for where none is, more than there are, two that cannot reach each other, strategy not possible there),
 * NO_MEMORY, USAGE (unknown strategy, one for a single part, no such cut). */
stencil_status stencil_plan_make(stencil_plan *plan, const stencil_problem *problem,
                                 const stencil_run_options *options, const stencil_machine *machine);

/* A plan for this very machine, whose driver is asked about the kernel once that is chosen. */
stencil_status stencil_plan_here(stencil_plan *plan, const stencil_problem *problem,
                                 const stencil_run_options *options, stencil_machine *machine);

/* Tells whether two plans for a problem have their cells in the same places. */
bool stencil_plans_share_cells(const stencil_plan *a, const stencil_plan *b);
