/* A sweep as the host knows it: a table for each rank in sweeps/, of variants, each of which can some of what
 * problems need; kernels/sweeps.def lists the sweeps. Their kernels and CPU twins are
 * kernels/sweeps/NAME.cuh. Internal to solver/. */
#pragma once

#include "solver/plan/plan.h"

/* The work of passes of several steps. */
typedef struct stencil_pass_work {
    double cells;      /* computed in all steps, those included that are not kept */
    double longest;    /* the same, were all multiprocessors as busy as what takes longest */
    double wavefronts; /* of shared memory: what a multiprocessor moves in a clock */
} stencil_pass_work;

/* The bits of needs.def: what a problem, and the way in which it is run, need of what makes its steps. */
typedef enum stencil_need {
#define STENCIL_NEED(bit, when, why) STENCIL_NEED_##bit,
#include "solver/plan/needs.def"
    STENCIL_NEED_COUNT
} stencil_need;
#define STENCIL_CAN(bit) (1u << STENCIL_NEED_##bit)
enum {
    STENCIL_CAN_ALL = (1u << STENCIL_NEED_COUNT) - 1,
    /* Abilities of all passes of the pipeline sweep (PASSES), those that general variants add (GENERAL), and
     * those of single steps as the stream sweep makes them (STEPS). */
    STENCIL_CAN_PASSES = STENCIL_CAN(PARTS) | STENCIL_CAN(PARTS_BESIDE) | STENCIL_CAN(SHORT_POINTS),
    STENCIL_CAN_GENERAL = STENCIL_CAN(SOURCE) | STENCIL_CAN(MIRROR) | STENCIL_CAN(CYCLE),
    STENCIL_CAN_STEPS = STENCIL_CAN_PASSES | STENCIL_CAN_GENERAL | STENCIL_CAN(CPU) | STENCIL_CAN(GPU) |
                        STENCIL_CAN(LAUNCHES) | STENCIL_CAN(LOOP) | STENCIL_CAN(WORDS) |
                        STENCIL_CAN(SHORT_MIRROR) | STENCIL_CAN(EVERY_STEP) | STENCIL_CAN(LAST_STEP) |
                        STENCIL_CAN(FEW_STEPS) | STENCIL_CAN(NARROW) | STENCIL_CAN(ONE_STEP)
};

/* The bounds of a variant's passes. */
typedef struct stencil_pass_limits {
    int depth;         /* steps of a pass, from one exchange of ghost cells to the next, at most */
    int checked;       /* steps of a pass whose last one is checked that a GPU can make, at most */
    int64_t narrowest; /* cells along x that a part must have for passes of several steps */
} stencil_pass_limits;

/* A maker of passes: kernels of one kind, or loops of a CPU. */
typedef struct stencil_maker {
    stencil_sweep_id sweep;   /* by which calibrations know its cells */
    bool streams;             /* a CPU can store results past the cache */
    bool goes_on;             /* on a CPU strips along y go on where others ended, and make nothing twice */
    stencil_pass_limits most; /* of its passes, where no function says that */
    stencil_pass_limits (*limits)(const stencil_problem *problem, bool general);
    /* Steps of a pass that were measured to suit it, up to those limits; they may have no room. */
    int (*suits)(const stencil_plan *plan, const stencil_problem *problem, const stencil_machine *machine);
    /* Lays out the passes of a plan whose cut is made, or says why it cannot. */
    stencil_pass_layout (*place)(const stencil_plan *plan, const stencil_problem *problem,
                                 const stencil_machine *machine);

    /* Cells (z, y, x) of what a block of a GPU makes of the first part. This and all members below are for
     * passes of several steps. */
    void (*tile)(const stencil_plan *plan, const stencil_problem *problem, int64_t tile[3]);
    /* Gives the plan's kernel what makes such passes on a GPU. */
    void (*enter)(stencil_plan *plan);
    /* The work of a part in a pass of so many steps up to plan->depth, the last of which may be checked. */
    stencil_pass_work (*work)(const stencil_plan *plan, const stencil_problem *problem, int part, int steps,
                              bool checked);
} stencil_maker;

/* A maker with its abilities, for plans that need nothing else. */
typedef struct stencil_variant {
    uint32_t can; /* STENCIL_CAN(bit) | … */
    const stencil_maker *by;
    bool general; /* of two kernels the one with weights of each step, a source term and mirrored sides */
} stencil_variant;

/* A sweep in fields of one rank. */
typedef struct stencil_sweep_table {
    stencil_variant variant[5]; /* the first one that suits makes the passes; can 0 behind the last */
    /* Steps by themselves: divides parts of up to n cells (z, y, x) among the blocks of a GPU that holds
     * `slots` of the plan's kernel at once, so many on each multiprocessor as the plan says: threads of a
     * block (STENCIL_BLOCK_THREADS) and cells of a tile go into the plan. */
    void (*shape)(stencil_plan *plan, const stencil_problem *problem, const int64_t n[3], int64_t slots);
    bool cpu_waits; /* a CPU computes nothing while it waits for memory: rows are short */
} stencil_sweep_table;

/* A sweep's bounds and tables; its name and summary stand in kernels/sweeps.def. */
typedef struct stencil_sweep_host {
    int depth;            /* steps of a pass, whatever makes it, at most */
    int capability;       /* 90 for 9.0: what its kernels of several steps were compiled for at least; 0:
                             anything */
    int64_t shared_bytes; /* that they need for a block; 0: what they need is the plan's choice */
    double guess;         /* what a cell takes beside bytes and fma, where nobody has measured it */
    const stencil_sweep_table *rank[2]; /* 2D, 3D */
} stencil_sweep_host;

/* The table of a sweep for the problem's rank. */
const stencil_sweep_table *stencil_sweep_table_of(stencil_sweep_id sweep, const stencil_problem *problem);

/* Steps by themselves, which other sweeps make as the stream sweep does; and what makes them. */
#define STENCIL_STREAM_STEPS                                                                                 \
    { STENCIL_CAN_STEPS, &stencil_stream_steps, false }
extern const stencil_maker stencil_stream_steps;
void stencil_shape_stream_2d(stencil_plan *plan, const stencil_problem *problem, const int64_t n[3],
                             int64_t slots);
void stencil_shape_stream_3d(stencil_plan *plan, const stencil_problem *problem, const int64_t n[3],
                             int64_t slots);
stencil_pass_layout stencil_step_place(const stencil_plan *plan, const stencil_problem *problem,
                                       const stencil_machine *machine);
/* The maker of a sweep's steps by themselves; `past`: a CPU can store their results past the cache. */
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

/* Gives a plan the first variant of its sweep that can what it needs, as far as it is made, and the reason of
 * whoever came farthest of those before it, "" where there are none; false: none can, and until all is known
 * the plan goes by the last one for its back-end. */
bool stencil_sweep_choose(stencil_plan *plan, const stencil_problem *problem);
/* Tells whether a variant of a sweep can something. */
bool stencil_sweep_can(stencil_sweep_id sweep, const stencil_problem *problem, stencil_need need);
/* The sweep that makes passes of `depth` steps where nobody names one: the first one that can what the plan
 * needs by now, or else the first of all. */
stencil_sweep_id stencil_sweep_usual(const stencil_plan *plan, const stencil_problem *problem, int depth);

/* Steps of a pass whose last one is checked, at most; 0: as many as of any. On a GPU a warp of each line
 * sums in such a pass instead of making steps, or the plain sweep makes that step by itself
 * (docs/log/2026-11-23.md, "Passes whose last step is checked"). */
int stencil_sweep_checked_most(const stencil_plan *plan, const stencil_problem *problem);

/* Gives a plan of a sweep of several steps the passes that were measured to suit it, which are also those of
 * calibrations; only the model may look at it then. */
void stencil_sweep_suit(stencil_plan *plan, const stencil_problem *problem, const stencil_machine *machine);

/* Bytes that must move per cell and step: every array once for each pass. */
double stencil_sweep_traffic(const stencil_plan *plan, const stencil_problem *problem);

/* Steps that a pass can have at most, were `depth` no limit: those from one check to the next, or of the
 * whole run where they are fewer, but for those of a shorter pass that is checked. */
int64_t stencil_sweep_longest(const stencil_plan *plan, const stencil_problem *problem);

/* The passes from one check to the next, or of the whole run where it ends before: what is told of passes, or
 * predicted, is a mean over these. */
typedef struct stencil_passes {
    int64_t steps;   /* of all of them */
    int64_t whole;   /* passes of plan->depth steps */
    int64_t rest;    /* steps of the one behind these; 0: there is none */
    int64_t checked; /* steps of the last one, where the step that is checked ends a shorter pass; 0: it ends
                        one of those */
    bool first;      /* the run's first step is a pass by itself: a criterion needs its residual */
} stencil_passes;
stencil_passes stencil_sweep_passes(const stencil_plan *plan, const stencil_problem *problem);

/* Mean number of steps of a pass, over stencil_sweep_passes(). */
double stencil_sweep_pass_steps(const stencil_plan *plan, const stencil_problem *problem);

/* Cells (z, y, x) that a block of a GPU, or a thread of a CPU, makes of the first part in a pass. */
void stencil_sweep_tile(const stencil_plan *plan, const stencil_problem *problem, int64_t tile[3]);

/* The work of all parts in a pass of several steps, up to plan->depth, the last of which may be checked. */
stencil_pass_work stencil_sweep_work(const stencil_plan *plan, const stencil_problem *problem, int steps,
                                     bool checked);

/* The work of passes per updated cell and step, in the mean over stencil_sweep_passes(). */
stencil_pass_work stencil_sweep_mean(const stencil_plan *plan, const stencil_problem *problem);

/* Cells that are computed more than once, as a part of all: those that a tile needs of others for a pass. */
double stencil_sweep_again(const stencil_plan *plan, const stencil_problem *problem);
/* Tells whether tiles of a CPU along y in 3D go on where others ended, and make nothing twice. */
bool stencil_sweep_goes_on(const stencil_plan *plan, const stencil_problem *problem);
/* Cost of a step of a CPU's pass in 3D beside that of its cells, for each cell, in cells of 7 points: for
 * rows that tiles hand on to others, and for each row for itself. */
double stencil_sweep_beside(const stencil_plan *plan, const stencil_problem *problem);

/* Notes in the plan why passes have fewer steps than were asked for, or (with "as suits") no more than one.
 */
void stencil_sweep_note_depth(stencil_plan *plan, const stencil_run_options *options);

/* Tells whether a GPU has the sweep's kernels of several steps; UNAVAILABLE says which one has not, why, and
 * what to do. */
stencil_status stencil_sweep_has_kernels(stencil_sweep_id sweep, const stencil_machine *machine, int gpu);

/* Returns why a sweep cannot run a problem on a back-end, or "". */
const char *stencil_sweep_unavailable(stencil_sweep_id sweep, const stencil_problem *problem,
                                      stencil_backend backend);
