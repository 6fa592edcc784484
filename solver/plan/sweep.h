/* The host side of a sweep: a table of variants for each rank (sweeps/), each variant with the abilities that
 * problems need. kernels/sweeps.def lists the sweeps, kernels/sweeps/NAME.cuh has their GPU kernels and CPU
 * loops. Internal to solver/. */
#pragma once

#include "solver/plan/plan.h"

/* The work of a pass of several steps. */
typedef struct stencil_pass_work {
    double cells;      /* cells computed in all steps, redundant ones included */
    double longest;    /* cells computed if every multiprocessor had the work of the busiest one */
    double wavefronts; /* wavefronts of shared memory, each what a multiprocessor moves in one clock */
} stencil_pass_work;

/* The needs in needs.def: abilities that a problem and its run options require of a sweep's variant. */
typedef enum stencil_need {
#define STENCIL_NEED(bit, when, why) STENCIL_NEED_##bit,
#include "solver/plan/needs.def"
    STENCIL_NEED_COUNT
} stencil_need;
#define STENCIL_CAN(bit) (1u << STENCIL_NEED_##bit)
enum {
    STENCIL_CAN_ALL = (1u << STENCIL_NEED_COUNT) - 1,
    /* PASSES: abilities of all passes of the pipeline sweep. GENERAL: abilities that its general variants
     * add. STEPS: abilities of the stream sweep's passes of one step. */
    STENCIL_CAN_PASSES = STENCIL_CAN(PARTS) | STENCIL_CAN(PARTS_BESIDE) | STENCIL_CAN(SHORT_POINTS),
    STENCIL_CAN_GENERAL = STENCIL_CAN(SOURCE) | STENCIL_CAN(MIRROR) | STENCIL_CAN(CYCLE),
    STENCIL_CAN_STEPS = STENCIL_CAN_PASSES | STENCIL_CAN_GENERAL | STENCIL_CAN(CPU) | STENCIL_CAN(GPU) |
                        STENCIL_CAN(LAUNCHES) | STENCIL_CAN(LOOP) | STENCIL_CAN(WORDS) |
                        STENCIL_CAN(SHORT_MIRROR) | STENCIL_CAN(EVERY_STEP) | STENCIL_CAN(LAST_STEP) |
                        STENCIL_CAN(FEW_STEPS) | STENCIL_CAN(NARROW) | STENCIL_CAN(ONE_STEP)
};

/* The bounds of the passes of a variant of a sweep. */
typedef struct stencil_pass_limits {
    int depth;         /* steps of a pass, from one exchange of ghost cells to the next, at most */
    int checked;       /* steps of a pass whose last one is checked that a GPU can make, at most */
    int64_t narrowest; /* cells along x that a part must have for passes of several steps */
} stencil_pass_limits;

/* A maker of passes: kernels of one kind, or loops of a CPU. */
typedef struct stencil_maker {
    stencil_sweep_id sweep; /* the sweep whose calibrated rates hold for the maker's cells */
    bool streams;           /* a CPU can store the results with non-temporal stores */
    bool goes_on; /* on a CPU a strip along y continues where the last one ended: no redundant cells */
    stencil_pass_limits most; /* limits of this maker's passes where `limits` is NULL */
    stencil_pass_limits (*limits)(const stencil_problem *problem, bool general);
    /* Returns the steps of a pass that measured fastest, up to the maker's limits; such passes may not fit.
     */
    int (*suits)(const stencil_plan *plan, const stencil_problem *problem, const stencil_machine *machine);
    /* Lays out the passes of a plan whose cut is made, or says why it cannot. */
    stencil_pass_layout (*place)(const stencil_plan *plan, const stencil_problem *problem,
                                 const stencil_machine *machine);

    /* Cells (z, y, x) of the first part that one GPU block updates. `tile`, `enter` and `work` are for passes
     * of several steps. */
    void (*tile)(const stencil_plan *plan, const stencil_problem *problem, int64_t tile[3]);
    /* Sets the functions and shared memory of plan->kernel for passes of several steps on a GPU. */
    void (*enter)(stencil_plan *plan);
    /* The work of a part in a pass of `steps` steps, at most plan->depth; `checked`: the last step sums the
     * residual. */
    stencil_pass_work (*work)(const stencil_plan *plan, const stencil_problem *problem, int part, int steps,
                              bool checked);
} stencil_maker;

/* A maker of passes and its abilities; it runs the plans whose needs are all among them. */
typedef struct stencil_variant {
    uint32_t can; /* STENCIL_CAN(bit) | … */
    const stencil_maker *by;
    bool general; /* its kernel has weights per step, a source term and mirrored sides */
} stencil_variant;

/* The variants of a sweep for fields of one rank, 2D or 3D. */
typedef struct stencil_sweep_table {
    stencil_variant
        variant[5]; /* the first variant that fits the plan makes the passes; `can` 0 ends the list */
    /* Passes of one step: divides parts of up to n cells (z, y, x) among the blocks of a GPU that holds
     * `slots` blocks of the plan's kernel at once, plan->blocks_per_sm on each multiprocessor. Sets the
     * threads of a block (STENCIL_BLOCK_THREADS in all) and the cells of a tile in the plan. */
    void (*shape)(stencil_plan *plan, const stencil_problem *problem, const int64_t n[3], int64_t slots);
    bool cpu_waits; /* a CPU computes nothing while it waits for memory: rows are short */
} stencil_sweep_table;

/* The bounds and tables of a sweep; kernels/sweeps.def has its name and summary. */
typedef struct stencil_sweep_host {
    int depth;            /* most steps of a pass of any variant */
    int capability;       /* least compute capability of the kernels of several steps, 90 for 9.0; 0: any */
    int64_t shared_bytes; /* shared memory of a block of the kernels of several steps; 0: the plan decides */
    double guess;         /* cost of a cell in addition to bytes and fma, where none was measured */
    const stencil_sweep_table *rank[2]; /* 2D, 3D */
} stencil_sweep_host;

/* The table of a sweep for the problem's rank. */
const stencil_sweep_table *stencil_sweep_table_of(stencil_sweep_id sweep, const stencil_problem *problem);

/* The variant of the stream sweep that makes passes of one step; other sweeps use it for single steps. */
#define STENCIL_STREAM_STEPS                                                                                 \
    { STENCIL_CAN_STEPS, &stencil_stream_steps, false }
extern const stencil_maker stencil_stream_steps;
void stencil_shape_stream_2d(stencil_plan *plan, const stencil_problem *problem, const int64_t n[3],
                             int64_t slots);
void stencil_shape_stream_3d(stencil_plan *plan, const stencil_problem *problem, const int64_t n[3],
                             int64_t slots);
stencil_pass_layout stencil_step_place(const stencil_plan *plan, const stencil_problem *problem,
                                       const stencil_machine *machine);
/* The maker of a sweep's passes of one step; `past`: a CPU can store the results with non-temporal stores. */
#define STENCIL_STEP_MAKER(name, past)                                                                       \
    {                                                                                                        \
        .sweep = STENCIL_SWEEP_##name, .streams = past, .most = {.depth = 1, .checked = 1},                  \
        .suits = stencil_sweep_suits, .place = stencil_step_place                                            \
    }
/* Returns the most steps that a pass can have. */
int stencil_sweep_suits(const stencil_plan *plan, const stencil_problem *problem,
                        const stencil_machine *machine);

/* The bounds of the passes of the plan's variant. */
stencil_pass_limits stencil_sweep_limits(const stencil_plan *plan, const stencil_problem *problem);

/* Chooses the first variant of the plan's sweep that has all that the plan needs so far. The plan's reason
 * becomes why the closest earlier variant was rejected, "" where no variant was. Returns false where no
 * variant fits: the plan then has the last variant for its back-end until the rest of the plan is known. */
bool stencil_sweep_choose(stencil_plan *plan, const stencil_problem *problem);
/* Tells whether any variant of a sweep has the ability `need`. */
bool stencil_sweep_can(stencil_sweep_id sweep, const stencil_problem *problem, stencil_need need);
/* The default sweep for passes of `depth` steps: the first sweep with all that the plan needs so far, else
 * sweep 0. */
stencil_sweep_id stencil_sweep_usual(const stencil_plan *plan, const stencil_problem *problem, int depth);

/* Most steps of a pass whose last step is checked for its residual; 0: as many as any pass. On a GPU either
 * one warp of each line sums instead of making steps, or the plain sweep makes the checked step alone
 * (docs/log/2026-11-23.md, "Passes whose last step is checked"). */
int stencil_sweep_checked_most(const stencil_plan *plan, const stencil_problem *problem);

/* Sets the fastest measured passes in the plan of a sweep of several steps, the same as calibrations time.
 * The plan is then good for the model only, not for a run. */
void stencil_sweep_suit(stencil_plan *plan, const stencil_problem *problem, const stencil_machine *machine);

/* Bytes of memory traffic per cell and step where every array moves once in each pass. */
double stencil_sweep_traffic(const stencil_plan *plan, const stencil_problem *problem);

/* Most steps of a pass if `depth` were no limit: the steps from one residual check to the next, or of the
 * whole run where that is shorter, less those of a shorter checked pass. */
int64_t stencil_sweep_longest(const stencil_plan *plan, const stencil_problem *problem);

/* The passes from one residual check to the next, or of the whole run where it ends before. Reports and
 * predictions about passes are means over them. */
typedef struct stencil_passes {
    int64_t steps;   /* steps of all these passes */
    int64_t whole;   /* passes of plan->depth steps */
    int64_t rest;    /* steps of the pass after the whole ones; 0: there is none */
    int64_t checked; /* steps of the last pass, where the checked step ends a shorter pass; 0: it ends a whole
                        pass or the rest */
    bool first; /* the first step of the run is a pass of one step, since a criterion needs its residual */
} stencil_passes;
stencil_passes stencil_sweep_passes(const stencil_plan *plan, const stencil_problem *problem);

/* Mean number of steps of a pass, over stencil_sweep_passes(). */
double stencil_sweep_pass_steps(const stencil_plan *plan, const stencil_problem *problem);

/* Cells (z, y, x) of the first part that a GPU block, or a CPU thread, updates in a pass. */
void stencil_sweep_tile(const stencil_plan *plan, const stencil_problem *problem, int64_t tile[3]);

/* The work of all parts in a pass of `steps` steps, at most plan->depth; `checked`: the last step sums the
 * residual. */
stencil_pass_work stencil_sweep_work(const stencil_plan *plan, const stencil_problem *problem, int steps,
                                     bool checked);

/* The work of passes per updated cell and step, in the mean over stencil_sweep_passes(). */
stencil_pass_work stencil_sweep_mean(const stencil_plan *plan, const stencil_problem *problem);

/* Fraction of the computed cells that is redundant: cells of other tiles that a tile computes for a pass. */
double stencil_sweep_again(const stencil_plan *plan, const stencil_problem *problem);
/* Tells whether a CPU's tiles along y in 3D continue where the last tile ended: no redundant cells. */
bool stencil_sweep_goes_on(const stencil_plan *plan, const stencil_problem *problem);
/* Overhead per cell of a step of a CPU's pass in 3D, in units of the time of a 7-point cell: for rows that
 * one tile passes to the next, and a fixed cost of each row. */
double stencil_sweep_beside(const stencil_plan *plan, const stencil_problem *problem);

/* Notes in the plan why passes have fewer steps than the options ask for, or one step where they ask for as
 * many as suit. */
void stencil_sweep_note_depth(stencil_plan *plan, const stencil_run_options *options);

/* Checks that a GPU has the sweep's kernels of several steps. Errors: UNAVAILABLE, whose message names the
 * GPU, the reason and the remedy. */
stencil_status stencil_sweep_has_kernels(stencil_sweep_id sweep, const stencil_machine *machine, int gpu);

/* Returns why a sweep cannot run a problem on a back-end, or "". */
const char *stencil_sweep_unavailable(stencil_sweep_id sweep, const stencil_problem *problem,
                                      stencil_backend backend);
