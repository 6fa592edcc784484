/* The arguments of a sweep, the update of all cells of a field: plain data, the same for CUDA kernels and CPU
 * functions. */
#pragma once

#include <math.h>

#include "kernels/classes.h"
#include "kernels/points.h"
#include "kernels/residual.h"
#include "kernels/sweeps/resident.h"
#include "kernels/trace.h"
#include "sync/barrier.h"

typedef enum stencil_sweep_id {
#define STENCIL_SWEEP(name, exchanges, text) STENCIL_SWEEP_##name,
#include "kernels/sweeps.def"
    STENCIL_SWEEP_COUNT
} stencil_sweep_id;

/* The two sides of an axis, and the 27 directions in which a copy of an edge cell may lie, seen from the part
 * that owns the cell. A direction has one of -1, 0, 1 per axis; STENCIL_HERE, 0 along all axes, is the part
 * itself. */
enum { STENCIL_LOW, STENCIL_HIGH, STENCIL_SIDES, STENCIL_DIRECTIONS = 27, STENCIL_HERE = 13 };
#define STENCIL_DIRECTION(dz, dy, dx) (((dz) + 1) * 9 + ((dy) + 1) * 3 + (dx) + 1)

/* A part of the problem's extent: u[nz][ny][nx] with ghost cells, in two buffers. All parts of a run have the
 * same strides.
 *
 * The part that owns an edge cell writes its copies: into ghost cells of its own where a boundary is periodic
 * or mirror, into ghost cells of the neighbouring part where the extent is cut; `image` has the destination
 * of each direction. The copy of cell i has index i + beyond at the low edge of an axis and i - n at the high
 * edge, counted in the part that holds the copy; the mirrored copy has index -1-i or 2n-1-i. */
typedef struct stencil_domain {
    int64_t n[3];       /* number of updated cells along (z, y, x) */
    int64_t row, plane; /* strides in elements between rows and between planes */
    void *u[2];         /* addresses of updated cell (0, 0, 0) in both buffers; rows aligned to 16 bytes */
    const void *b;      /* source term, with the layout of u; NULL: none */
    int32_t reach[3][STENCIL_SIDES];  /* edge cells copied at a side of an axis; 0: none */
    int32_t mirror[3][STENCIL_SIDES]; /* whether the copies at a side of an axis are mirrored */
    int64_t beyond[3];                /* extent, along each axis, of the part next to the low edge */
    /* Addresses of updated cell (0, 0, 0), in both buffers, in the part that holds the copies of a
     * direction. */
    void *image[STENCIL_DIRECTIONS][2];
    stencil_weights weights;            /* weights of all steps of the launch */
    int64_t partial_first;              /* number of this part's first partial sum, see kernels/residual.h */
    int64_t partial_row, partial_plane; /* strides of partial sums in the whole problem */
    int64_t partial_count;              /* number of partial sums of the whole problem */
    int64_t partial_set; /* stride in elements between the two sets of partial sums on a device */
    double *partial;     /* partial[number of a partial sum]; only the partial sums of this part exist */
    /* Weights of faces, with the layout of u: face[axis] has at cell i that of the face to the next cell
     * along the axis. A step takes the weights of a cell from them (solver/problem/faces.h), and from its own
     * weights the centre's, from which those of the faces are subtracted, or, where faces `divide`, the
     * numerator, which all neighbours have. face[2] NULL: cells have the weights of the step. */
    const void *face[3];
    int32_t divides;
} stencil_domain;

/* Tells whether cell i is near enough to the low (side -1) or high (1) edge of an axis that a part needs a
 * copy of the cell; stencil_image() returns the index of the copy along the axis, in the part that holds
 * it. */
STENCIL_ANYWHERE bool stencil_is_edge(const stencil_domain *d, int axis, int side, int64_t i) {
    return side < 0 ? i < d->reach[axis][STENCIL_LOW] : i >= d->n[axis] - d->reach[axis][STENCIL_HIGH];
}
STENCIL_ANYWHERE int64_t stencil_image(const stencil_domain *d, int axis, int side, int64_t i) {
    if (side < 0)
        return d->mirror[axis][STENCIL_LOW] ? -1 - i : i + d->beyond[axis];
    return d->mirror[axis][STENCIL_HIGH] ? 2 * d->n[axis] - 1 - i : i - d->n[axis];
}

/* Tells whether any cell of the domain has a copy in ghost cells. */
STENCIL_ANYWHERE bool stencil_has_copies(const stencil_domain *d) {
    int32_t cells = 0;
    for (int axis = 0; axis < 3; axis++)
        cells |= d->reach[axis][STENCIL_LOW] | d->reach[axis][STENCIL_HIGH];
    return cells != 0;
}

/* Tells whether a side of a part is closed: the cells outside it are boundary cells, which keep their values,
 * or mirrored copies of the part's own cells. Outside other sides are ghost cells that copy the cells
 * adjacent to the part. */
STENCIL_ANYWHERE bool stencil_side_is_closed(const stencil_domain *d, int axis, int side) {
    const int step = side == STENCIL_LOW ? -1 : 1;
    const int direction = STENCIL_DIRECTION(axis == STENCIL_Z ? step : 0, axis == STENCIL_Y ? step : 0,
                                            axis == STENCIL_X ? step : 0);
    return d->image[direction][0] == NULL || d->mirror[axis][side] != 0;
}

/* The reason why a run stopped. Time loops, on GPU and CPU, find FIXED_POINT to INTERRUPTED; the driver on
 * the host finds STAGNATED to CONVERGED_PRECISION. */
typedef enum stencil_reason {
    STENCIL_REASON_NONE,                /* the run has not stopped */
    STENCIL_REASON_FIXED_POINT,         /* the residual is 0: u' = u in every cell */
    STENCIL_REASON_CONVERGED_RTOL,      /* residual below rtol times the first residual */
    STENCIL_REASON_CONVERGED_ATOL,      /* residual below atol */
    STENCIL_REASON_DIVERGED,            /* the residual is not finite */
    STENCIL_REASON_INTERRUPTED,         /* stopped at a step boundary on request */
    STENCIL_REASON_STAGNATED,           /* the residual has not fallen over many checks */
    STENCIL_REASON_STEPS,               /* all steps done, no criterion given */
    STENCIL_REASON_NOT_CONVERGED,       /* all steps done, no criterion met */
    STENCIL_REASON_CONVERGED_PRECISION, /* no criterion met, but the precision's limit */
    STENCIL_REASON_COUNT
} stencil_reason;

/* The steps whose residual is computed (checked steps), and the criteria for these residuals. */
typedef struct stencil_schedule {
    int64_t check_every; /* steps that are multiples of check_every are checked */
    int64_t check_step;  /* this step, the last one of the run, is checked, too; 0: none */
    double under_rtol;   /* rtol times the first residual; NaN: no such criterion, or no residual yet */
    double under_atol;   /* atol; NaN: no such criterion */
    stencil_norm norm;
    int64_t updated_cells; /* number of updated cells of the whole problem */
    int32_t checked_most;  /* most steps of a pass whose last step is checked; 0: the same as for any pass */
    int32_t check_levels;  /* 0: a checked step is the last one of its pass. Else any step of a pass may be
                              checked: the kernel has stages of check_levels steps, check_depth steps in all,
                              and makes fewer steps in the stage that ends with the checked one */
    int32_t check_depth;
} stencil_schedule;

/* Faults that tests inject: a run with late or absent participants must give the same bits as without, or an
 * alarm; a run with `unordered` must give other bits. */
typedef struct stencil_fault {
    uint32_t delay_ns;   /* some participants reach each barrier late by up to this time; 0: none */
    uint32_t seed;       /* seed of the choice of late participants and of their delays */
    uint32_t late;       /* 1 + the only late participant, always by delay_ns; 0: one participant in four */
    int64_t absent_step; /* participant `absent` never reaches the barrier of this step (1, 2, …); 0: none */
    uint32_t absent;
    uint32_t absent_part; /* 1 + a part all of whose blocks are absent, instead of `absent`; 0: none */
    bool unordered;       /* the resident sweep uses words of other tiles unchecked, also old ones */
} stencil_fault;

/* Returns how late a participant reaches the barrier of a step, in ns: one in four by the seed, or only
 * participant late - 1. */
STENCIL_ANYWHERE uint32_t stencil_lateness_ns(const stencil_fault *d, uint32_t participant, int64_t step) {
    if (d->late != 0)
        return d->late == 1 + participant ? d->delay_ns : 0;
    uint32_t h = d->seed ^ participant * 0x9e3779b1u ^ (uint32_t)step * 0x85ebca77u;
    h = (h ^ h >> 15) * 0xc2b2ae3du;
    h = (h ^ h >> 13) * 0x27d4eb2fu;
    h ^= h >> 16;
    return h % 4 != 0 ? 0 : (uint32_t)((uint64_t)(h >> 2) * d->delay_ns >> 30);
}

/* Counters of a residual check inside a loop on chip (kernels/sweeps/resident_check.cuh). Each of them counts
 * what is done of a stage, over all checks of all launches of a run. */
typedef enum stencil_check_counter {
    STENCIL_CHECK_KEPT,     /* tiles of the part that stored their cells before and after a checked step */
    STENCIL_CHECK_SUMMED,   /* blocks of all parts that summed their share of the partial sums */
    STENCIL_CHECK_COMBINED, /* groups of partial sums, of all parts, that are combined */
    STENCIL_CHECK_COUNTERS
} stencil_check_counter;

/* The state of a run, in the memory of the processor that makes the steps (a GPU's device memory). Zeroed
 * before the first launch. */
typedef struct stencil_control {
    int64_t step;          /* number of steps done */
    int64_t history_count; /* number of residuals written to `history` */
    int64_t interrupt; /* step whose barrier is the last one, set by block 0 when the host asks to leave */
    uint32_t alarm[STENCIL_ALARM_WORDS]; /* alarm of the barrier, see stencil_barrier_state */
    uint32_t reason;                     /* a stencil_reason */
    uint32_t counted[STENCIL_CHECK_COUNTERS];
    uint32_t verdict; /* last check decided inside a loop on chip: its number, from 1, times 16, plus the
                         stencil_reason that its residual gives */
} stencil_control;

/* Values that host and device exchange while a persistent loop runs: pinned memory mapped into the device. */
typedef struct stencil_mailbox {
    volatile int64_t step;       /* device to host: number of steps done at the last poll */
    volatile double residual;    /* device to host: residual of the last checked step */
    volatile uint32_t interrupt; /* host to device: asks to leave at the next poll */
} stencil_mailbox;

/* Pointers by which a kernel reaches the memory of every part of a run. The struct lies in device memory. */
typedef struct stencil_peers {
    stencil_control *control[STENCIL_PARTS_MAX];
    double *partial[STENCIL_PARTS_MAX]; /* partial[p][number]: part p's partial sums only */
    double *level[STENCIL_PARTS_MAX];   /* level 1 of the residual's reduction: every part holds all values */
    int32_t count[3];                   /* number of parts along each axis; first: see stencil_cut */
    int64_t first[3][STENCIL_PARTS_MAX + 1];
} stencil_peers;

/* A cell that the part which updates it sends to a part which reads it. */
typedef struct stencil_ll_entry {
    int64_t cell;   /* element of the cell, counted from updated cell (0, 0, 0) of the buffer: in the sender's
                       field, or in the receiver's ghost cells */
    uint64_t *word; /* receiver's slot of even steps: the cell's first word */
} stencil_ll_entry;

/* Lists, in device memory, of the ghost cells that travel as words with a step number in them
 * (kernels/ll.cuh). */
typedef struct stencil_ll {
    const uint32_t *send_first, *receive_first; /* [blocks + 1]: where each block's list begins */
    const stencil_ll_entry *send, *receive;     /* lists of all blocks: cells that a block sends, receives */
    int64_t set; /* distance in words from the slots of even steps to those of odd steps */
} stencil_ll;

/* Arrays whose factors change in time. Updated cells add, in order, each source array times its factor;
 * driven cells, which are no updated ones, have the sum of all arrays times their factors for driven cells as
 * their value. Kernels for classes of cells read all of it; others know one source array, domain.b, and its
 * factor in a single step as the weight of the source. */
typedef struct stencil_sums {
    /* factor[i * STENCIL_STEP_FACTORS + k], in device memory and the precision of u: factor k of the step
     * after first + i steps; NULL: no factor changes in time, and there is one array at most. */
    const void *factor;
    int64_t first;
    const void *array[STENCIL_SUM_ARRAYS]; /* with the layout of u; NULL: none */
    int32_t sources, driven; /* how many of the arrays are added to updated cells, make driven cells */
} stencil_sums;

/* Shares of lines and kinds of rows, for passes of several steps in 2D for classes of cells. Other kernels do
 * not read them. */
typedef struct stencil_class_passes {
    /* share[(steps - 1) * (lines + 1) + line]: where the share of a line of warps begins, in a pass of so
     * many steps, in the sequence of the rows of all strips (kernels/sweeps/pipeline.h). NULL, or another
     * number of lines: lines have equal numbers of rows. */
    const int64_t *share;
    int32_t lines;
    int32_t palette_count; /* rows of the palette */
    uint16_t *kind;        /* written by the kernel that finds the kinds of rows, for a pass of `steps` */
    int32_t steps;
} stencil_class_passes;

/* The argument of a kernel, which makes step_count steps after step_first, in passes. A launch per step makes
 * one pass, without a barrier. The first pass reads domain.u[step_first % 2], each further pass reads what
 * the previous one has written; where every pass is one step, u[s % 2] holds the field after s steps. */
typedef struct stencil_kernel_args {
    stencil_domain domain;
    stencil_schedule schedule;
    int64_t step_first; /* number of steps done before the launch */
    int64_t step_count;
    int32_t poll_every;  /* steps between polls of the mailbox */
    int64_t tile_stream; /* cells of a tile along its streaming axis (y in 2D, z in 3D) */
    bool past_l2;      /* fields are so much larger than L2 that L2 holds little from one step to the next */
    bool mirrors_rows; /* sides of the field are mirrored along y, those of this part or of another one */
    uint32_t tile_first[3], tile_count[3]; /* the box of tiles that the launch updates */
    int64_t result_first, result_end;      /* range of groups of partial sums that this part combines */
    const stencil_peers *peers;            /* NULL: the kernel reaches no other part */
    double *level;   /* scratch of level 1 of the residual: stencil_level_count(partial sums) values */
    double *history; /* residuals of this launch, one per check */
    stencil_control *control;
    stencil_mailbox *mailbox;
    stencil_ll ll;
    stencil_resident resident;
    stencil_barrier_state barrier;
    stencil_fault fault;
    stencil_trace trace;
    stencil_barrier_id sync; /* the blocks' barrier, where a kernel has all of them */
    uint32_t special;        /* nonzero: the launch has a fault or notes moments */
    int32_t depth;           /* most steps of a pass */
    int32_t cycle_length;
    const stencil_weights *cycle; /* [cycle_length], in device memory: step s + 1 has the weights cycle[s %
                                     cycle_length]. A launch of one step uses domain.weights */
    stencil_classes classes; /* read by kernels that are compiled for classes of cells, and by no others */
    stencil_sums sums;
    stencil_class_passes class_passes;
    /* The stencil_reason that a check leaves on the device, where the launch was queued before the host knew
     * it: if it ends the run, the launch makes nothing. Passes of several steps read it. NULL: none. */
    const uint32_t *undecided;
} stencil_kernel_args;

/* Tells whether step `step` (1, 2, …) is checked: its residual is computed. */
STENCIL_ANYWHERE bool stencil_schedule_checks(const stencil_schedule *schedule, int64_t step) {
    return step == schedule->check_step || step % schedule->check_every == 0;
}

/* Returns the first step after `step` whose residual is computed. */
STENCIL_ANYWHERE int64_t stencil_schedule_next(const stencil_schedule *schedule, int64_t step) {
    const int64_t next = step + (schedule->check_every - step % schedule->check_every);
    return step < schedule->check_step && schedule->check_step < next ? schedule->check_step : next;
}

/* A pass: the steps that a sweep makes while it moves the field once, from one buffer to the other. */
enum { STENCIL_DEPTH_MAX = 64 };
typedef struct stencil_pass {
    int64_t first; /* number of steps done before the pass */
    int32_t steps; /* steps of the pass, up to the depth of the sweep; 0: no steps are left to make */
    int32_t from;  /* the buffer that the pass reads: 0 or 1 */
} stencil_pass;

/* Returns which step of a pass (1, 2, …) is checked; 0: none. */
STENCIL_ANYWHERE int64_t stencil_pass_check(const stencil_schedule *schedule, const stencil_pass *pass) {
    const int64_t check = stencil_schedule_next(schedule, pass->first) - pass->first;
    return check <= pass->steps ? check : 0;
}

/* Returns the most steps of a pass whose last step is checked, at this depth; 0: a check makes no pass
 * shorter. */
STENCIL_ANYWHERE int64_t stencil_checked_most(const stencil_schedule *schedule, int64_t depth) {
    return depth == 1 ? 0 : schedule->checked_most < depth ? schedule->checked_most : depth;
}

/* Returns the most steps of the pass that starts after `step` steps, where any step of a pass may be checked,
 * but only one. */
STENCIL_ANYWHERE int64_t stencil_pass_around(const stencil_schedule *schedule, int64_t depth, int64_t step) {
    const int64_t levels = schedule->check_levels, check = stencil_schedule_next(schedule, step),
                  before = check - step, idle = (levels - before % levels) % levels;
    if (before > depth)
        return depth;
    const int64_t to_second = stencil_schedule_next(schedule, check) - 1 - step,
                  most = depth < schedule->check_depth - idle ? depth : schedule->check_depth - idle;
    return most < to_second ? most : to_second;
}

/* Returns the number of steps of the pass that starts after `step` steps: `depth`, or fewer where the pass
 * ends with a checked step or with step `end`, or where the next pass is checked and has as many steps as a
 * checked pass may have. Where any step of a pass may be checked, its check ends no pass. */
STENCIL_ANYWHERE int64_t stencil_pass_steps(const stencil_schedule *schedule, int64_t depth, int64_t step,
                                            int64_t end) {
    if (depth == 1)
        return step < end;
    if (schedule->check_levels > 0) {
        const int64_t around = stencil_pass_around(schedule, depth, step);
        return end - step < around ? end - step : around;
    }
    const int64_t check = stencil_schedule_next(schedule, step), last = check < end ? check : end,
                  most = stencil_checked_most(schedule, depth),
                  left = last == check && last - step > most ? last - step - most : last - step;
    return left < depth ? left : depth;
}

/* Returns the step that ends the passes without a checked step from the pass that starts after `step` steps
 * on. */
STENCIL_ANYWHERE int64_t stencil_passes_plain(const stencil_schedule *schedule, int64_t depth, int64_t step,
                                              int64_t end) {
    const int64_t check = stencil_schedule_next(schedule, step);
    if (check > end)
        return end;
    return schedule->check_levels > 0 ? step + (check - 1 - step) / depth * depth
                                      : check - stencil_checked_most(schedule, depth);
}

/* Returns the pass that follows `pass`, with steps up to `end`. */
static inline stencil_pass stencil_pass_next(const stencil_pass *pass, const stencil_schedule *schedule,
                                             int depth, int64_t end) {
    stencil_pass next = {pass->first + pass->steps, 0, !pass->from};
    next.steps = (int32_t)stencil_pass_steps(schedule, depth, next.first, end);
    return next;
}

/* Tells whether a pass has a step that is a multiple of `every`. */
static inline bool stencil_pass_reaches(const stencil_pass *pass, int64_t every) {
    return (pass->first + pass->steps) / every > pass->first / every;
}

/* Returns the number of passes that make `steps` steps, of which only the last one may be checked. */
static inline int64_t stencil_passes_to(const stencil_schedule *schedule, int64_t depth, int64_t steps,
                                        bool checked) {
    const int64_t most = checked ? stencil_checked_most(schedule, depth) : 0;
    if (most == 0)
        return (steps + depth - 1) / depth;
    return steps > most ? (steps - most + depth - 1) / depth + 1 : steps > 0;
}

/* Returns the number of passes for the steps after `first` up to `end`; of these only `end` may be
 * schedule->check_step. */
static inline int64_t stencil_pass_count(const stencil_schedule *schedule, int64_t depth, int64_t first,
                                         int64_t end) {
    if (schedule->check_levels > 0 && depth > 1) {
        int64_t count = 0;
        for (int64_t step = first; step < end; count++)
            step += stencil_pass_steps(schedule, depth, step, end);
        return count;
    }
    const int64_t every = schedule->check_every, low = first / every + (first % every != 0),
                  high = end / every;
    const bool checked = stencil_schedule_checks(schedule, end);
    if (low > high)
        return stencil_passes_to(schedule, depth, end - first, checked);
    return stencil_passes_to(schedule, depth, low * every - first, true) +
           (high - low) * (high > low ? stencil_passes_to(schedule, depth, every, true) : 0) +
           stencil_passes_to(schedule, depth, end - high * every, checked);
}

/* Tells whether the run has a criterion for its residual. */
STENCIL_ANYWHERE bool stencil_schedule_has_criterion(const stencil_schedule *schedule) {
    return !isnan(schedule->under_rtol) || !isnan(schedule->under_atol);
}

/* Returns the reason to stop that a checked residual gives, or NONE. All time loops decide by this
 * function. */
STENCIL_ANYWHERE stencil_reason stencil_schedule_decide(const stencil_schedule *schedule, double residual) {
    if (!isfinite(residual))
        return STENCIL_REASON_DIVERGED;
    if (residual == 0 && stencil_schedule_has_criterion(schedule))
        return STENCIL_REASON_FIXED_POINT;
    if (residual < schedule->under_rtol)
        return STENCIL_REASON_CONVERGED_RTOL;
    if (residual < schedule->under_atol)
        return STENCIL_REASON_CONVERGED_ATOL;
    return STENCIL_REASON_NONE;
}
