/* The host side of a sweep: for each rank a list of variants (sweeps/), each with its abilities. Sweeps are
 * listed in kernels/sweeps.def, GPU kernels and CPU loops stand in kernels/sweeps/. Internal. */
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
                        STENCIL_CAN(FIXED) | STENCIL_CAN(CLASS) | STENCIL_CAN(WIDE_ROWS) | STENCIL_CAN(SUM) |
                        STENCIL_CAN(CLASS_IN_TIME) | STENCIL_CAN(FIELDS) | STENCIL_CAN(LAUNCHES) |
                        STENCIL_CAN(WORDS) | STENCIL_CAN(SHORT_MIRROR) | STENCIL_CAN(EVERY_STEP) |
                        STENCIL_CAN(LAST_STEP) | STENCIL_CAN(FEW_STEPS) | STENCIL_CAN(NARROW) |
                        STENCIL_CAN(ONE_STEP)
};

/* The bounds of the passes of a variant of a sweep. */
typedef struct stencil_pass_limits {
    int depth;         /* steps of a pass, from one exchange of ghost cells to the next, at most */
    int checked;       /* steps of a pass whose last one is checked that a GPU can make, at most */
    int levels;        /* steps of a stage of a kernel that can check any step; 0: the last one only */
    int64_t narrowest; /* cells along x that a part must have for passes of several steps */
} stencil_pass_limits;

/* A maker of passes: kernels of one kind, or loops of a CPU. */
typedef struct stencil_maker {
    stencil_sweep_id sweep;   /* the sweep whose calibrated rates hold for the maker's cells */
    bool streams;             /* a CPU can store the results with non-temporal stores */
    stencil_pass_limits most; /* limits of this maker's passes where `limits` is NULL */
    stencil_pass_limits (*limits)(const stencil_problem *problem, bool general);
    /* Returns the steps of a pass that measured fastest, within the limits; such passes may not fit. */
    int (*suits)(const stencil_plan *plan, const stencil_problem *problem, const stencil_machine *machine);
    /* Lays out the passes of a plan whose cut is made, or says why it cannot. */
    stencil_pass_layout (*place)(const stencil_plan *plan, const stencil_problem *problem,
                                 const stencil_machine *machine);

    /* Cells (z, y, x) of the first part that a GPU block updates in passes of several steps. */
    void (*tile)(const stencil_plan *plan, const stencil_problem *problem, int64_t tile[3]);
    /* Sets the functions and shared memory of plan->kernel for passes of several steps on a GPU. */
    void (*enter)(stencil_plan *plan);
    /* The work of a part in a pass of at most plan->depth steps; `checked`: the last sums the residual. */
    stencil_pass_work (*work)(const stencil_plan *plan, const stencil_problem *problem, int part, int steps,
                              bool checked);
} stencil_maker;

/* A maker of passes and its abilities; it runs the plans whose needs are all among them. */
typedef struct stencil_variant {
    uint32_t can; /* STENCIL_CAN(bit) | … */
    const stencil_maker *by;
    bool general; /* its kernel has weights per step, a source term and mirrored sides; where cells have
                     classes, weights of cells, too */
} stencil_variant;

/* The bounds and variants of a sweep; kernels/sweeps.def has its name and summary. */
typedef struct stencil_sweep_host {
    int depth;            /* most steps of a pass of any variant */
    int capability;       /* least compute capability of the kernels of several steps, 90 for 9.0; 0: any */
    int64_t shared_bytes; /* shared memory of a block of the kernels of several steps; 0: the plan decides */
    double guess;         /* cost of a cell in addition to bytes and fma, where none was measured */
    /* Passes of one step: divides parts of up to n cells (z, y, x) among the blocks of a GPU that holds
     * `slots` blocks of the plan's kernel at once, plan->blocks_per_sm on each multiprocessor. Sets the
     * threads of a block (STENCIL_BLOCK_THREADS in all) and the cells of a tile in the plan. */
    void (*shape)(stencil_plan *plan, const stencil_problem *problem, const int64_t n[3], int64_t slots);
    /* Variants for 2D and for 3D: the first one that fits a plan makes the passes; `can` 0 ends a list. */
    stencil_variant variant[2][8];
} stencil_sweep_host;

/* The variant of the stream sweep that makes passes of one step; other sweeps use it for single steps. */
#define STENCIL_STREAM_STEPS                                                                                 \
    { STENCIL_CAN_STEPS, &stencil_stream_steps, false }
extern const stencil_maker stencil_stream_steps;
void stencil_stream_shape(stencil_plan *plan, const stencil_problem *problem, const int64_t n[3],
                          int64_t slots);
stencil_pass_layout stencil_step_place(const stencil_plan *plan, const stencil_problem *problem,
                                       const stencil_machine *machine);
/* Returns the most steps that a pass can have. */
int stencil_sweep_suits(const stencil_plan *plan, const stencil_problem *problem,
                        const stencil_machine *machine);

/* The bounds of the passes of the plan's variant. */
stencil_pass_limits stencil_sweep_limits(const stencil_plan *plan, const stencil_problem *problem);

/* Chooses the first variant of the plan's sweep that has all that the plan needs so far, and sets the plan's
 * reason: why the closest earlier variant was rejected, "" if none was. Returns false if no variant fits: the
 * plan then has the last variant for its back-end until the rest of the plan is known. */
bool stencil_sweep_choose(stencil_plan *plan, const stencil_problem *problem);
/* Tells whether any variant of a sweep has the ability `need`. */
bool stencil_sweep_can(stencil_sweep_id sweep, const stencil_problem *problem, stencil_need need);
/* The default sweep for passes of `depth` steps: the first with all that the plan needs, or sweep 0. */
stencil_sweep_id stencil_sweep_usual(const stencil_plan *plan, const stencil_problem *problem, int depth);

/* Most steps of a pass whose last step is checked for its residual; 0: as many as any pass. On a GPU the
 * plain sweep makes a checked step alone, unless a kernel of passes can check any step. */
int stencil_sweep_checked_most(const stencil_plan *plan, const stencil_problem *problem);
/* Sets the members of a schedule that say how passes of the plan are checked: checked_most, check_levels,
 * check_depth. */
void stencil_sweep_schedule(const stencil_plan *plan, const stencil_problem *problem,
                            stencil_schedule *schedule);

/* Sets the fastest measured passes, those that calibrations time, in the plan of a sweep of several steps,
 * which is then good for the model only. */
void stencil_sweep_suit(stencil_plan *plan, const stencil_problem *problem, const stencil_machine *machine);

/* Bytes of memory traffic per cell and step where every array moves once in each pass. */
double stencil_sweep_traffic(const stencil_plan *plan, const stencil_problem *problem);

/* Most steps of a pass if `depth` were no limit: the steps from one residual check to the next, or of a
 * shorter run, less those of a shorter checked pass. */
int64_t stencil_sweep_longest(const stencil_plan *plan, const stencil_problem *problem);

/* The passes from one residual check to the next, or of a shorter run; predictions are means over them. */
typedef struct stencil_passes {
    int64_t steps; /* steps of all these passes */
    double whole;  /* passes of plan->depth steps that are not checked: a mean, where checks end no passes */
    int64_t rest;  /* steps of the pass after the whole ones; 0: there is none */
    int64_t checked; /* steps of the last pass if that is shorter for its checked step; else 0 */
    bool around;     /* one more pass of plan->depth steps has a checked step, which may be any of them */
    bool first; /* the first step of the run is a pass of one step, since a criterion needs its residual */
} stencil_passes;
stencil_passes stencil_sweep_passes(const stencil_plan *plan, const stencil_problem *problem);

/* Mean number of steps of a pass, over stencil_sweep_passes(). */
double stencil_sweep_pass_steps(const stencil_plan *plan, const stencil_problem *problem);

/* Cells (z, y, x) of the first part that a GPU block, or a CPU thread, updates in a pass. */
void stencil_sweep_tile(const stencil_plan *plan, const stencil_problem *problem, int64_t tile[3]);

/* The work of all parts in a pass of up to plan->depth steps; `checked`: the last one sums the residual. */
stencil_pass_work stencil_sweep_work(const stencil_plan *plan, const stencil_problem *problem, int steps,
                                     bool checked);

/* The work of passes per updated cell and step, in the mean over stencil_sweep_passes(). */
stencil_pass_work stencil_sweep_mean(const stencil_plan *plan, const stencil_problem *problem);

/* Fraction of the computed cells that is redundant: cells of other tiles that a tile computes for a pass. */
double stencil_sweep_again(const stencil_plan *plan, const stencil_problem *problem);
/* Tells whether a CPU's tiles along y in 3D continue where the last tile ended: no redundant cells. */
bool stencil_sweep_goes_on(const stencil_plan *plan, const stencil_problem *problem);
/* Overhead per cell and step of a CPU's passes in 3D, in units of the time of a 7-point cell: rows that one
 * tile passes to the next, and a fixed cost of each row. */
double stencil_sweep_beside(const stencil_plan *plan, const stencil_problem *problem);

/* Notes in the plan why passes have fewer steps than the options ask for, or only one by default. */
void stencil_sweep_note_depth(stencil_plan *plan, const stencil_run_options *options);

/* Checks that a GPU has the sweep's kernels of several steps. Errors: UNAVAILABLE, with reason and remedy. */
stencil_status stencil_sweep_has_kernels(stencil_sweep_id sweep, const stencil_machine *machine, int gpu);

/* Returns why a sweep cannot run a problem on a back-end, or "". */
const char *stencil_sweep_unavailable(stencil_sweep_id sweep, const stencil_problem *problem,
                                      stencil_backend backend);
