/* The arguments of a sweep: plain data, the same for the CUDA kernels and their CPU twin. */
#pragma once

#include <math.h>

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

/* Sides of an axis, and directions: where a copy of an edge cell stands, seen from the part that owns the
 * cell. A direction has one of -1, 0, 1 per axis; 0 along all axes is the part itself. */
enum { STENCIL_LOW, STENCIL_HIGH, STENCIL_SIDES, STENCIL_DIRECTIONS = 27, STENCIL_HERE = 13 };
#define STENCIL_DIRECTION(dz, dy, dx) (((dz) + 1) * 9 + ((dy) + 1) * 3 + (dx) + 1)

/* Weights of all points of a shape in ascending order, and behind them, at STENCIL_SOURCE_WEIGHT, the factor
 * of the source term, rounded to the precision of the sweep. */
enum { STENCIL_SOURCE_WEIGHT = STENCIL_POINTS_MAX, STENCIL_WEIGHTS };
typedef union stencil_weights {
    float f32[STENCIL_WEIGHTS];
    double f64[STENCIL_WEIGHTS];
} stencil_weights;

/* A part of the extent: u[nz][ny][nx] with ghost cells, in two buffers. All parts of a run have the same
 * strides.
 *
 * Ghost cells: the part that owns an edge cell writes its copies. Those go to the part's own ghost cells
 * where a boundary is periodic or mirror, and to those of the part beyond where the extent is cut; both are
 * the same thing, a place for each direction. Cell i at the low edge of an axis becomes cell i + beyond of
 * the part there (alone and periodic: itself), at the high edge cell i - n; mirrored, cell -1-i or 2n-1-i. */
typedef struct stencil_domain {
    int64_t n[3];                    /* updated cells (z, y, x) */
    int64_t row, plane;              /* elements from row to row and from plane to plane */
    void *u[2];                      /* updated cell (0, 0, 0) of the two buffers; rows aligned to 16 bytes */
    const void *b;                   /* source term, same layout; NULL: none */
    int32_t reach[3][STENCIL_SIDES]; /* how many edge cells are copied; 0: no part needs them */
    int32_t mirror[3][STENCIL_SIDES]; /* whether the copies are mirrored */
    int64_t beyond[3];                /* extent along the axis of the part beyond the low edge */
    /* Updated cell (0, 0, 0) of the part that has the copies in a direction, both buffers. */
    void *image[STENCIL_DIRECTIONS][2];
    stencil_weights weights;            /* of all steps of the launch */
    int64_t partial_first;              /* number of this part's first partial sum */
    int64_t partial_row, partial_plane; /* from row to row and from plane to plane of the whole problem */
    int64_t partial_count;              /* of the whole problem */
    int64_t partial_set;                /* on a device: elements from one set of partial sums to the other */
    double *partial;                    /* partial[its number]; only those of this part are there */
} stencil_domain;

/* Tells whether cell i stands at the low (-1) or high (1) edge of an axis, so that a part needs a copy of it;
 * returns the index of the copy along the axis, in that part. */
STENCIL_ANYWHERE bool stencil_is_edge(const stencil_domain *d, int axis, int side, int64_t i) {
    return side < 0 ? i < d->reach[axis][STENCIL_LOW] : i >= d->n[axis] - d->reach[axis][STENCIL_HIGH];
}
STENCIL_ANYWHERE int64_t stencil_image(const stencil_domain *d, int axis, int side, int64_t i) {
    if (side < 0)
        return d->mirror[axis][STENCIL_LOW] ? -1 - i : i + d->beyond[axis];
    return d->mirror[axis][STENCIL_HIGH] ? 2 * d->n[axis] - 1 - i : i - d->n[axis];
}

/* Tells whether any cell of the domain has a copy. */
STENCIL_ANYWHERE bool stencil_has_copies(const stencil_domain *d) {
    int32_t cells = 0;
    for (int axis = 0; axis < 3; axis++)
        cells |= d->reach[axis][STENCIL_LOW] | d->reach[axis][STENCIL_HIGH];
    return cells != 0;
}

/* Tells whether the cells beyond a side of a part take no part in its steps: boundary cells, which keep their
 * values, and cells mirrored there, which are copies after each step. Cells beyond other sides are ghost
 * cells. */
STENCIL_ANYWHERE bool stencil_side_is_closed(const stencil_domain *d, int axis, int side) {
    const int step = side == STENCIL_LOW ? -1 : 1;
    const int direction = STENCIL_DIRECTION(axis == STENCIL_Z ? step : 0, axis == STENCIL_Y ? step : 0,
                                            axis == STENCIL_X ? step : 0);
    return d->image[direction][0] == NULL || d->mirror[axis][side] != 0;
}

/* The reason why a run stopped. A time loop, on either side, finds the first four and INTERRUPTED; the driver
 * the rest. */
typedef enum stencil_reason {
    STENCIL_REASON_NONE,                /* not yet */
    STENCIL_REASON_FIXED_POINT,         /* the residual is 0: u' = u in every cell */
    STENCIL_REASON_CONVERGED_RTOL,      /* residual under rtol times the first one */
    STENCIL_REASON_CONVERGED_ATOL,      /* residual under atol */
    STENCIL_REASON_DIVERGED,            /* residual not finite */
    STENCIL_REASON_INTERRUPTED,         /* stopped at a step boundary on request */
    STENCIL_REASON_STAGNATED,           /* the residual has not fallen over many checks */
    STENCIL_REASON_STEPS,               /* all steps done, no criterion given */
    STENCIL_REASON_NOT_CONVERGED,       /* all steps done, no criterion met */
    STENCIL_REASON_CONVERGED_PRECISION, /* no criterion met, but what the precision of the run resolves */
    STENCIL_REASON_COUNT
} stencil_reason;

/* The steps that are checked, and the criteria for their residuals. */
typedef struct stencil_schedule {
    int64_t check_every; /* every step that is a multiple of it is checked */
    int64_t check_step;  /* and this one: the last of the run; 0: none */
    double under_rtol;   /* rtol times the first residual; NaN: no such criterion, or not known yet */
    double under_atol;   /* NaN: no such criterion */
    stencil_norm norm;
    int64_t updated_cells; /* of the whole problem */
    int32_t checked_most;  /* steps of a pass whose last one is checked, at most; 0: as many as of any */
} stencil_schedule;

/* Faults for tests: runs with them must give the same bits, or an alarm; unordered ones must not. */
typedef struct stencil_fault {
    uint32_t delay_ns;   /* before each barrier some participants are late by up to this; 0: none */
    uint32_t seed;       /* of which ones, and how late */
    uint32_t late;       /* 1 + a participant that alone is late, always by delay_ns; 0: one in four is */
    int64_t absent_step; /* in this step (1, 2, …) participant `absent` never arrives; 0: none */
    uint32_t absent;
    uint32_t absent_part; /* 1 + a part all of whose blocks are absent instead; 0: none */
    bool unordered; /* tiles of the resident sweep take words of other tiles as they find them, also old ones
                     */
} stencil_fault;

/* Returns how late a participant is in a step, in ns: one in four by the seed, or `late` alone. */
STENCIL_ANYWHERE uint32_t stencil_lateness_ns(const stencil_fault *d, uint32_t participant, int64_t step) {
    if (d->late != 0)
        return d->late == 1 + participant ? d->delay_ns : 0;
    uint32_t h = d->seed ^ participant * 0x9e3779b1u ^ (uint32_t)step * 0x85ebca77u;
    h = (h ^ h >> 15) * 0xc2b2ae3du;
    h = (h ^ h >> 13) * 0x27d4eb2fu;
    h ^= h >> 16;
    return h % 4 != 0 ? 0 : (uint32_t)((uint64_t)(h >> 2) * d->delay_ns >> 30);
}

/* State of a run where the steps are made: device memory for a GPU. Zeroed before the first launch. */
typedef struct stencil_control {
    int64_t step;                        /* steps done */
    int64_t history_count;               /* residuals written to `history` */
    int64_t interrupt;                   /* step at which to leave, set by block 0 when the host asks */
    uint32_t alarm[STENCIL_ALARM_WORDS]; /* of the barrier, see stencil_barrier_state */
    uint32_t reason;                     /* stencil_reason */
} stencil_control;

/* Seen by the host while a persistent loop runs: pinned memory mapped into the device. */
typedef struct stencil_mailbox {
    volatile int64_t step;       /* device to host: a step that is done */
    volatile double residual;    /* device to host: the last one checked */
    volatile uint32_t interrupt; /* host to device: leave at the next step boundary that polls */
} stencil_mailbox;

/* The parts of a run as a kernel reaches them: in device memory, pointers into the memory of every part. */
typedef struct stencil_peers {
    stencil_control *control[STENCIL_PARTS_MAX];
    double *partial[STENCIL_PARTS_MAX]; /* partial[p][its number]; only those of part p are there */
    double *level[STENCIL_PARTS_MAX];   /* level 1 of the residual: every part has all of it */
    int32_t count[3];                   /* parts along each axis, and where they begin: see stencil_cut */
    int64_t first[3][STENCIL_PARTS_MAX + 1];
} stencil_peers;

/* A cell on its way from the part that makes it to one that reads it. */
typedef struct stencil_ll_entry {
    int64_t cell; /* element from updated cell (0, 0, 0) of the buffer: where it is made, or its place in the
                     ghost cells */
    uint64_t *word; /* in the reading part's slots, of even steps: the first of the words that carry it */
} stencil_ll_entry;

/* Ghost cells that travel as words with their step in them (kernels/ll.cuh), in device memory. */
typedef struct stencil_ll {
    const uint32_t *send_first, *receive_first; /* [own blocks + 1] */
    const stencil_ll_entry *send, *receive; /* [send_first[…]]: cells that a block sends on; that it reads */
    int64_t set;                            /* words from an even step's to an odd step's */
} stencil_ll;

/* Argument of a persistent kernel: makes step_count steps from step_first, in passes. A relaunch is one pass,
 * without a barrier. The first pass reads domain.u[step_first % 2], each further one what the one before has
 * written; where every pass is a step, u[s % 2] holds the field after s steps. */
typedef struct stencil_kernel_args {
    stencil_domain domain;
    stencil_schedule schedule;
    int64_t step_first; /* steps already done */
    int64_t step_count;
    int32_t poll_every;  /* steps between polls of the mailbox */
    int64_t tile_stream; /* cells of a tile along its streaming axis (y in 2D, z in 3D) */
    bool past_l2;        /* fields are so far beyond L2 that it holds little from step to step */
    uint32_t tile_first[3], tile_count[3]; /* the box of tiles that the launch makes */
    int64_t result_first, result_end;      /* results of combining partial sums that this part combines */
    const stencil_peers *peers;            /* NULL: no other part is reached */
    double *level;   /* scratch of level 1 of the residual: stencil_level_count(partial sums) values */
    double *history; /* residuals of this launch, one per check */
    stencil_control *control;
    stencil_mailbox *mailbox;
    stencil_ll ll;
    stencil_resident resident;
    stencil_barrier_state barrier;
    stencil_fault fault;
    stencil_trace trace;
    stencil_barrier_id sync; /* which barrier the blocks pass, where a kernel has them all */
    uint32_t special;        /* whether there is a fault, or moments are noted */
    int32_t depth;           /* steps of a pass, at most */
    int32_t cycle_length;
    const stencil_weights *cycle; /* [cycle_length], in device memory: of the step that follows s steps those
                                     at s % cycle_length. In passes of one step domain.weights are its own */
} stencil_kernel_args;

/* Tells whether step `step` (1, 2, …) is checked. */
STENCIL_ANYWHERE bool stencil_schedule_checks(const stencil_schedule *schedule, int64_t step) {
    return step == schedule->check_step || step % schedule->check_every == 0;
}

/* The first step after `step` that is checked. */
STENCIL_ANYWHERE int64_t stencil_schedule_next(const stencil_schedule *schedule, int64_t step) {
    const int64_t next = step + (schedule->check_every - step % schedule->check_every);
    return step < schedule->check_step && schedule->check_step < next ? schedule->check_step : next;
}

/* A pass: the steps that a sweep makes at once, from one buffer to the other. */
enum { STENCIL_DEPTH_MAX = 64 };
typedef struct stencil_pass {
    int64_t first; /* steps before it */
    int32_t steps; /* up to the depth of the sweep; 0: there is nothing left to make */
    int32_t from;  /* the buffer that is read: 0 or 1 */
} stencil_pass;

/* Returns the most steps of a checked pass at this depth; 0: no pass is shorter for its check. */
STENCIL_ANYWHERE int64_t stencil_checked_most(const stencil_schedule *schedule, int64_t depth) {
    return depth == 1 ? 0 : schedule->checked_most < depth ? schedule->checked_most : depth;
}

/* Steps of the pass that follows `step` steps: `depth`, or fewer where a step before is checked, or the last
 * one of all is made (`end`), or where the pass behind it is checked: that one has as many as it may. */
STENCIL_ANYWHERE int64_t stencil_pass_steps(const stencil_schedule *schedule, int64_t depth, int64_t step,
                                            int64_t end) {
    if (depth == 1)
        return step < end;
    const int64_t check = stencil_schedule_next(schedule, step), last = check < end ? check : end,
                  most = stencil_checked_most(schedule, depth),
                  left = last == check && last - step > most ? last - step - most : last - step;
    return left < depth ? left : depth;
}

/* The pass behind another one, of steps up to `end`. */
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

/* Passes of so many steps, of which none but the last may be checked. */
static inline int64_t stencil_passes_to(const stencil_schedule *schedule, int64_t depth, int64_t steps,
                                        bool checked) {
    const int64_t most = checked ? stencil_checked_most(schedule, depth) : 0;
    if (most == 0)
        return (steps + depth - 1) / depth;
    return steps > most ? (steps - most + depth - 1) / depth + 1 : steps > 0;
}

/* Passes of the steps behind `first` up to `end`, of which none but the last is schedule->check_step. */
static inline int64_t stencil_pass_count(const stencil_schedule *schedule, int64_t depth, int64_t first,
                                         int64_t end) {
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

/* Returns the reason to stop that a checked residual gives, or NONE: the one decision of all time loops. */
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
