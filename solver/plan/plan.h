/* The plan of a run: its choices of devices, parts, kernel and tiles, and the memory that it needs. */
#pragma once

#include "base/words.h"
#include "base/world.h"
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

/* The way in which persistent loops wait. Zero-initialised: defaults. The last six are for tests. */
typedef struct stencil_wait_policy {
    double timeout_s;         /* a wait longer than this ends the run; 0: STENCIL_TIMEOUT_DEFAULT_S */
    uint32_t epoch;           /* initial count of barriers */
    int64_t steps_per_launch; /* steps of one launch of a persistent kernel; 0: all steps */
    stencil_fault fault;
    int64_t illegal_step; /* step in whose batch a GPU writes to an illegal address; 0: none */
    int64_t flip_step;    /* step from which on a bit of a cell is wrong after each batch; 0: none */
    int64_t flip_cell[3]; /* that cell, in indices of the array (z, y, x); negative: in the middle */
} stencil_wait_policy;
#define STENCIL_TIMEOUT_DEFAULT_S 10.0

/* The ways in which edge cells get into the ghost cells of other parts. */
typedef enum stencil_halo_mode {
    STENCIL_HALO_AUTO,  /* ll where it pays; store where every GPU reaches every other one, else copy */
    STENCIL_HALO_STORE, /* the sweep stores edge cells into the ghost cells of other parts */
    STENCIL_HALO_COPY,  /* edge cells are copied after the sweep, via the host where GPUs lack peer access */
    STENCIL_HALO_LL, /* edge cells are sent in words flagged with their step; barrier neighbor on GPUs only */
    STENCIL_HALO_MESSAGE, /* edge cells are sent in a message to each rank that has copies, after each pass */
    STENCIL_HALO_NCCL,    /* an option only: messages by NCCL, see stencil_plan.nccl */
    STENCIL_HALO_COUNT
} stencil_halo_mode;
extern const char *const stencil_halo_names[STENCIL_HALO_COUNT + 1]; /* "auto", …, "nccl", NULL */

/* The ways in which a CPU sweep stores its results. */
typedef enum stencil_stores {
    STENCIL_STORES_CACHED,    /* through the cache */
    STENCIL_STORES_STREAMING, /* non-temporal: a cache line is not loaded before it is overwritten */
    STENCIL_STORES_TRIED,     /* cached or streaming, whichever the first steps of the run find faster */
    STENCIL_STORES_COUNT
} stencil_stores;
extern const char *const stencil_stores_names[STENCIL_STORES_COUNT]; /* "cached", "streaming", "tried" */

typedef struct stencil_run_options {
    const char *sync;  /* name of a strategy; NULL: "relaunch" */
    const char *sweep; /* name of a sweep; NULL: the first sweep */
    int depth;         /* steps of a pass; 0: as many as suit, by the model on a CPU */
    stencil_backend backend;
    int gpu_count;              /* entries of gpu[]; 0: not asked for */
    int gpu[STENCIL_PARTS_MAX]; /* device ordinals, one for each part; repeated: the parts share it */
    int parts;                  /* parts of a run on the CPU; 0: not asked for */
    int cut[3];                 /* parts along z, y, x; all 0: as stencil_cut_make() chooses */
    stencil_halo_mode halo;
    bool overlap; /* edge cells are computed first and copied or sent while the rest is computed */
    stencil_wait_policy wait;
    stencil_world
        *world; /* ranks that make the run together, a part each; borrowed; NULL: this process alone */
    int rank_gpu, rank_sharing; /* several ranks: the GPU of this one, and the most ranks that share a GPU */
    bool ranks_reach;           /* their GPUs, one for each, reach each other's memory */
} stencil_run_options;

/* Returns "" where strategy `index` can run on `backend` of `machine`, else the reason why it cannot. */
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
    int gpu;      /* device ordinal */
    int sharing;  /* parts on that device, this one included; of several ranks: the most on any */
    bool past_l2; /* the fields of all parts on the device are so large that L2 keeps little between steps */
    bool leads;   /* the first of the parts on its device */
    stencil_box box; /* the part's updated cells */
    int64_t tile_count;
    int grid_blocks;
    uint32_t first_block; /* number of the part's first block among the blocks of all parts */
} stencil_part_plan;

/* The kinds of passes over a field. */
typedef enum stencil_pass_kind {
    STENCIL_PASS_STEP,     /* one step per pass, with the launches and tiles of a single step */
    STENCIL_PASS_STRIPS,   /* CPU threads make several steps of strips of plan->tile cells */
    STENCIL_PASS_STREAMED, /* the field moves through the GPU once for several steps */
    STENCIL_PASS_ON_CHIP   /* the field stays in registers and shared memory for a whole launch */
} stencil_pass_kind;

/* Corrections to calibrated rates, for passes of several steps: `fma` and `cells` are factors of the rates of
 * fma and of cells; `beside` is the overhead per cell in units of one fma, in addition to one per point. */
typedef struct stencil_pass_cost {
    double fma, beside, cells, loop;
    bool launched; /* a persistent loop has the same rates as launches */
} stencil_pass_cost;

/* The layout of a plan's passes (stencil_maker.place). */
typedef struct stencil_pass_layout {
    stencil_pass_kind kind;
    const char *refusal;       /* why such passes are impossible; NULL where they are possible */
    int64_t tile[3];           /* cells of a CPU thread's tile (z, y, x) */
    int blocks;                /* blocks of a pass's launch in the first part */
    int slots;                 /* most blocks that could run at once, one per multiprocessor */
    stencil_resident resident; /* tiles held on chip; like all members below but `cost` 0 for other kinds */
    int64_t resident_bytes;    /* device memory for the ghost cells of on-chip tiles */
    int64_t node_count;        /* doubles for the nodes of the residual of on-chip tiles in 2D */
    int64_t kept_bytes;        /* device memory for a copy of on-chip tiles in 2D */
    int shared_bytes;          /* shared memory of a block */
    bool each_step;            /* tiles exchange ghost cells after each step, not after each pass */
    double check_s;            /* seconds of a residual check inside the loop, where it checks */
    bool checks;               /* a loop of passes makes checked steps and decides inside */
    double step_s, exchange_s; /* seconds of one step and of one exchange of ghost cells */
    stencil_pass_cost cost;    /* corrections, where the cost of a step comes from calibrations */
} stencil_pass_layout;

/* The choices that make a run, and the memory that it needs. */
typedef struct stencil_plan {
    int strategy; /* index, as for stencil_strategy_at() */
    stencil_sweep_id sweep;
    const struct stencil_variant *variant; /* variant of the sweep that makes the passes, see sweep.h */
    const char *why_not;                   /* why no earlier variant makes them; "": there is none */
    int depth;                             /* most steps of a pass */
    stencil_backend backend;               /* CPU or GPU */
    stencil_kernel kernel;                 /* function NULL: on the CPU, or not compiled into this build */
    stencil_tuning tuning;                 /* tuned constants of the first part's GPU */
    stencil_notes notes;                   /* "no GPU (…): using the CPU" */
    char device[160];                      /* "2 x NVIDIA H200", "2 threads, avx512" */
    int threads;                           /* CPU threads */
    stencil_stores stores;                 /* stores of CPU threads */
    stencil_barrier_id barrier;            /* barrier between the steps of a persistent loop, or none */
    int32_t poll_every;                    /* steps between polls of the observers */
    int block_x, block_y;                  /* threads of a block */
    int cluster_blocks;                    /* blocks of a thread-block cluster; 1: no clusters */
    stencil_wait_policy wait;
    stencil_world *world; /* of the options; all ranks have the same plan but for their own part */
    bool nccl;            /* ranks with GPUs send messages by NCCL, in the stream; halo is MESSAGE */
    bool maps; /* ranks with GPUs of one host store ghost cells in each other's memory, where that can be
                  mapped */
    /* A persistent loop goes across ranks, whose GPUs reach each other's memory: but for who launches which
     * part it is planned and runs as in one process. */
    bool spans_ranks;
    stencil_cut cut;
    stencil_part_plan part[STENCIL_PARTS_MAX]; /* see stencil_plan_part() */
    stencil_halo_mode halo;                    /* chosen mode, never AUTO */
    bool overlap;
    bool apart;                 /* some GPUs lose data that they send each other: none reaches another one */
    int64_t tile[3];            /* cells per tile (z, y, x), the same in all parts */
    int64_t share_rows;         /* most rows of a CPU thread, counted plane by plane over all parts */
    int64_t stream;             /* cells of a tile along the axis that a thread streams over */
    stencil_pass_layout layout; /* layout of the passes */
    int registers;              /* registers per thread */
    int blocks_per_sm;          /* blocks resident at once on a multiprocessor */
    bool keeps_cycle;           /* the field at the begin of each acceleration cycle is kept */
    int64_t host_bytes, device_bytes; /* memory needed, fields included; on the device that needs most */
    int64_t host_available_bytes, device_available_bytes;
} stencil_plan;

/* The kernel and blocks for `steps` steps on a GPU; `checked`: the last step sums the residual. */
typedef struct stencil_kernel_launch {
    const void *function, *traced; /* `traced` also records times; for several steps both are the same */
    int block_x, block_y;          /* threads */
    int shared_bytes;              /* dynamic shared memory of a block */
} stencil_kernel_launch;
stencil_kernel_launch stencil_plan_launch(const stencil_plan *plan, int steps, bool checked);

/* Tells whether a loop of passes makes checked steps and decides inside, without a launch for each of them.
 */
static inline bool stencil_plan_checks_inside(const stencil_plan *plan) {
    return plan->layout.kind == STENCIL_PASS_ON_CHIP && plan->layout.checks;
}

/* Chooses backend, devices, cut, kernel and launch shape from the description of a machine alone, without a
 * driver call or an allocation. Kernel attributes that the description lacks are those that the compilation
 * guarantees. With several parts strategy "grid" means "multi-grid". Errors: UNAVAILABLE (no GPU, too few
 * GPUs, no peer access, strategy impossible on the device), NO_MEMORY, USAGE (unknown strategy, a strategy
 * for a single part only, no such cut). */
stencil_status stencil_plan_make(stencil_plan *plan, const stencil_problem *problem,
                                 const stencil_run_options *options, const stencil_machine *machine);

/* Makes a plan for the machine that the program runs on: the driver is asked for the attributes of the chosen
 * kernel. Of several ranks each takes its own part; until then all of them plan with that of rank 0, the
 * largest, so that they choose alike. Errors: as stencil_plan_make(). */
stencil_status stencil_plan_here(stencil_plan *plan, const stencil_problem *problem,
                                 const stencil_run_options *options, stencil_machine *machine);

/* Ranks that a plan is for; 1: this process alone. */
static inline int stencil_plan_ranks(const stencil_plan *plan) {
    return stencil_world_alone(plan->world) ? 1 : plan->world->ranks;
}

/* The parts that plan->part[] describes, from `first_part` on: those of this process, or those of all ranks
 * where the plan spans them. Others are planned like this process's. */
static inline int stencil_plan_parts(const stencil_plan *plan) {
    return plan->spans_ranks ? plan->cut.parts : plan->cut.owned;
}
static inline int stencil_plan_first_part(const stencil_plan *plan) {
    return plan->spans_ranks ? 0 : plan->cut.own;
}
/* The plan of one of them, by its number in the cut. */
static inline const stencil_part_plan *stencil_plan_part(const stencil_plan *plan, int part) {
    return &plan->part[part - stencil_plan_first_part(plan)];
}
/* Tells whether two of them, by their index, are on one GPU: ranks that reach each other have one each, which
 * is the same one of those that they see. */
static inline bool stencil_plan_on_one_gpu(const stencil_plan *plan, int a, int b) {
    return a == b || (!plan->spans_ranks && plan->part[a].gpu == plan->part[b].gpu);
}

/* Tells whether two plans for a problem have the same memory layout of cells. */
bool stencil_plans_share_cells(const stencil_plan *a, const stencil_plan *b);
