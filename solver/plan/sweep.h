/* What the host has to know about a sweep: one C file each in sweeps/, ending in a table; kernels/sweeps.def
 * lists them. Its kernels and its CPU twin are kernels/sweeps/NAME.cuh. Internal to solver/. */
#pragma once

#include "solver/plan/plan.h"

/* What is made in a pass of several steps of a part. */
typedef struct stencil_pass_work {
    double cells;      /* computed in all steps, those included that are not kept */
    double longest;    /* the same, were all multiprocessors as busy as what takes longest */
    double wavefronts; /* of shared memory: what a multiprocessor moves in a clock */
} stencil_pass_work;

/* Name and summary stand in the .def file. */
typedef struct stencil_sweep_host {
    int depth;    /* steps of a pass, from one exchange of ghost cells to the next, at most */
    bool streams; /* its CPU twin can store results past the cache */
    bool gpu_only;
    bool resident;  /* cells stay on chip for a whole launch of a persistent loop, which has all weights */
    int capability; /* 90 for 9.0: what its kernels of several steps were compiled for at least; 0: anything
                     */
    int64_t shared_bytes; /* that they need for a block; 0: what they need is the plan's choice */
    double guess;         /* what a cell takes beside bytes and fma, where nobody has measured it; 0: 1 */
    /* Steps of a pass that it can make here, up to `depth`. NULL: as many. */
    int (*most)(const stencil_plan *plan, const stencil_problem *problem, const stencil_machine *machine);
    /* Cells along x that a part must have for passes of several steps. NULL: any number. */
    int64_t (*narrowest)(const stencil_plan *plan, const stencil_problem *problem);
    /* Cells (z, y, x) of what a block of a GPU makes of a part of n cells in a pass of several steps. */
    void (*deep_tile)(const stencil_plan *plan, const stencil_problem *problem, const int64_t n[3],
                      int64_t tile[3]);
    /* Lays out the passes of a plan whose cut is made. "", or why it cannot. NULL: there is nothing to do. */
    const char *(*place)(stencil_plan *plan, const stencil_problem *problem, const stencil_machine *machine);
    /* Gives the plan's kernel what makes passes of several steps on a GPU. */
    void (*deepen)(stencil_plan *plan, const stencil_problem *problem);
    /* What a step of such a pass takes, and the exchange behind it. NULL: what calibrations measure. */
    void (*seconds)(const stencil_plan *plan, const stencil_problem *problem, const stencil_machine *machine,
                    double *step_s, double *exchange_s);
    /* What it makes of a part in such a pass, of so many steps up to plan->depth, the last of which may be
     * checked. */
    stencil_pass_work (*work)(const stencil_plan *plan, const stencil_problem *problem, int part, int steps,
                              bool checked);
    /* Steps of a pass whose last one is checked that a GPU can make, at most. NULL: 1, as a sweep of single
     * steps. */
    int (*checked)(const stencil_problem *problem);
    /* Steps of a pass that were measured to suit it, up to those; they may have no room. NULL: 1. */
    int (*suits)(const stencil_plan *plan, const stencil_problem *problem, const stencil_machine *machine);
    /* Cells of a strip that a thread of a CPU makes at once in passes of several steps, into plan->tile:
     * columns, and in 3D rows. */
    void (*strip)(stencil_plan *plan, const stencil_problem *problem, const stencil_machine *machine);
    /* Divides parts of up to n cells (z, y, x) among the blocks of a GPU that holds `slots` of the plan's
     * kernel at once, so many on each multiprocessor as the plan says: threads of a block
     * (STENCIL_BLOCK_THREADS) and cells of a tile go into the plan. */
    void (*shape)(stencil_plan *plan, const stencil_problem *problem, const int64_t n[3], int64_t slots);
    /* "", or why it cannot run a problem on a back-end. NULL: it can run them all. */
    const char *(*unavailable)(const stencil_problem *problem, stencil_backend backend);
} stencil_sweep_host;

/* The shape of the stream sweep, whose steps others make, too. */
void stencil_shape_stream(stencil_plan *plan, const stencil_problem *problem, const int64_t n[3],
                          int64_t slots);

/* Whether a GPU's passes of several steps need its general kernel (stencil_kernel_deepen()): weights differ
 * from step to step, there is a source term, or a boundary is mirrored. */
bool stencil_sweep_is_general(const stencil_problem *problem);
/* Steps of a pass whose last one is checked, at most; 0: as many as of any. On a GPU a warp of each line
 * sums in such a pass instead of making steps, or the plain sweep makes that step by itself
 * (docs/performance.md, "Passes whose last step is checked"). */
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

/* Steps that they have in the mean. */
double stencil_sweep_pass_steps(const stencil_plan *plan, const stencil_problem *problem);

/* Cells (z, y, x) that a block of a GPU, or a thread of a CPU, makes of the first part in a pass. */
void stencil_sweep_tile(const stencil_plan *plan, const stencil_problem *problem, int64_t tile[3]);

/* What all parts make in a pass of several steps on GPUs, up to plan->depth, the last of which may be
 * checked.
 */
stencil_pass_work stencil_sweep_work(const stencil_plan *plan, const stencil_problem *problem, int steps,
                                     bool checked);

/* The same per updated cell and step, in the mean over stencil_sweep_passes(), on CPUs, too. */
stencil_pass_work stencil_sweep_mean(const stencil_plan *plan, const stencil_problem *problem);

/* Cells that are computed more than once, as a part of all: those that a tile needs of others for a pass. */
double stencil_sweep_again(const stencil_plan *plan, const stencil_problem *problem);
/* Whether tiles of a CPU along y in 3D go on where others ended, and make nothing twice. */
bool stencil_sweep_goes_on(const stencil_plan *plan, const stencil_problem *problem);
/* What a step of a pass in 3D takes on a CPU beside its cells, for each of them, in what one of 7 points
 * takes: for rows that tiles hand on to others, and for each row for itself. */
double stencil_sweep_beside(const stencil_plan *plan, const stencil_problem *problem);

/* Notes in the plan why passes have fewer steps than were asked for, or (with "as suits") no more than one.
 */
void stencil_sweep_note_depth(stencil_plan *plan, const stencil_problem *problem,
                              const stencil_run_options *options, const stencil_machine *machine);

/* Tells whether a GPU has the sweep's kernels of several steps; UNAVAILABLE says which one has not, why, and
 * what to do. */
stencil_status stencil_sweep_has_kernels(stencil_sweep_id sweep, const stencil_sweep_host *host,
                                         const stencil_machine *machine, int gpu);

/* "", or why it cannot run a problem on a back-end. */
const char *stencil_sweep_unavailable(stencil_sweep_id sweep, const stencil_problem *problem,
                                      stencil_backend backend);
