/* What a sweep is told: plain data, the same for the CUDA kernels and their CPU twin. */
#ifndef STENCIL_KERNELS_SWEEP_H
#define STENCIL_KERNELS_SWEEP_H

#include "kernels/points.h"
#include "kernels/residual.h"
#include "sync/barrier.h"

/* Who needs copies of the cells at the edges of an axis. */
typedef enum stencil_rim {
    STENCIL_RIM_NONE,     /* nobody: the rim is fixed */
    STENCIL_RIM_PERIODIC, /* cell i is copied to i + n (low edge) or i - n (high edge) */
    STENCIL_RIM_MIRROR    /* cell i is copied to -1 - i (low edge) or 2n - 1 - i (high edge) */
} stencil_rim;

/* Weights of all points of a shape in ascending order, rounded to the precision of the sweep. */
typedef union stencil_weights {
    float f32[STENCIL_POINTS_MAX];
    double f64[STENCIL_POINTS_MAX];
} stencil_weights;

/* A partition of the extent: u[nz][ny][nx] with a rim, in two buffers. */
typedef struct stencil_domain {
    int64_t n[3];       /* updated cells (z, y, x) */
    int64_t row, plane; /* elements from row to row and from plane to plane */
    void *u[2];         /* updated cell (0, 0, 0) of the two buffers; 16-byte aligned rows */
    const void *b;      /* source term, same layout; NULL: none */
    stencil_rim rim[3]; /* per axis */
    int64_t reach[3];   /* how many edge cells are copied, per axis (0 where rim is NONE) */
    stencil_weights weights;
    int64_t chunks_per_row;
    double *chunk; /* [stencil_chunk_count] values of the step that is looked at */
} stencil_domain;

/* When residuals are looked at and what is decided then. */
typedef struct stencil_schedule {
    int64_t last_step;   /* global number of the last step of the run */
    int64_t check_every; /* steps between residuals; the last step is always looked at */
    double tolerance;    /* NaN: never converged */
    stencil_norm norm;
    int64_t updated_cells; /* of the whole problem */
} stencil_schedule;

/* Why a persistent loop left, in stencil_control.reason. */
typedef enum stencil_leave {
    STENCIL_LEAVE_NOT = 0, /* not: its steps are done */
    STENCIL_LEAVE_CONVERGED,
    STENCIL_LEAVE_DIVERGED,
    STENCIL_LEAVE_INTERRUPTED
} stencil_leave;

/* For tests: a run with these must give the same bits, or end with an alarm. */
typedef struct stencil_disturbance {
    uint32_t
        delay_ns;  /* before each barrier a random part of the participants is late by up to this; 0: none */
    uint32_t seed; /* of who and how much */
    int64_t absent_step; /* in this step (1, 2, …) participant `absent` never arrives; 0: none */
    uint32_t absent;
} stencil_disturbance;

/* How late a participant is in a step, from the seed. One in four is. */
#ifdef __cplusplus
__host__ __device__
#endif
    static inline uint32_t
    stencil_lateness_ns(const stencil_disturbance *d, uint32_t participant, int64_t step) {
    uint32_t h = d->seed ^ participant * 0x9e3779b1u ^ (uint32_t)step * 0x85ebca77u;
    h = (h ^ h >> 15) * 0xc2b2ae3du;
    h = (h ^ h >> 13) * 0x27d4eb2fu;
    h ^= h >> 16;
    return h % 4 != 0 ? 0 : (uint32_t)((uint64_t)(h >> 2) * d->delay_ns >> 30);
}

/* State of a run where the steps are made: device memory for a GPU. Zeroed before the first launch. */
typedef struct stencil_control {
    int64_t step;          /* steps done */
    int64_t history_count; /* residuals written to `history` */
    int64_t interrupt;     /* step at which to leave, set by block 0 when the host asks */
    uint32_t reason;       /* stencil_leave */
    uint32_t alarm[3];     /* of the barrier, see stencil_barrier_state */
} stencil_control;

/* Seen by the host while a persistent loop runs: pinned memory mapped into the device. */
typedef struct stencil_mailbox {
    volatile int64_t step;       /* device to host: a step that is done */
    volatile double residual;    /* device to host: the last one looked at */
    volatile uint32_t interrupt; /* host to device: leave at the next step boundary that looks */
} stencil_mailbox;

/* Argument of a persistent kernel: makes step_count steps from step_first. A relaunch is one step with the
 * empty barrier. Buffer u[s % 2] holds the field after s steps. */
typedef struct stencil_sweep {
    stencil_domain domain;
    stencil_schedule schedule;
    int64_t step_first; /* steps already done */
    int64_t step_count;
    int64_t poll_every; /* steps between looks at the mailbox */
    int64_t tile_march; /* cells of a tile along its march axis (y in 2D, z in 3D) */
    int64_t tile_count[3];
    double *fold;    /* scratch of level 1 of the residual: stencil_fold_count(chunks) values */
    double *history; /* residuals of this launch, one per look */
    stencil_control *control;
    stencil_mailbox *mailbox;
    stencil_barrier_state barrier;
    stencil_disturbance disturbance;
} stencil_sweep;

/* First tile of block `block` where the tiles of blocks follow each other. */
#ifdef __cplusplus
__host__ __device__
#endif
    static inline uint32_t
    stencil_tile_share(uint32_t tiles, uint32_t blocks, uint32_t block) {
    return tiles / blocks * block + (block < tiles % blocks ? block : tiles % blocks);
}

/* Whether the residual of step s (1, 2, …) is looked at. */
#ifdef __cplusplus
__host__ __device__
#else
static
#endif
    inline int
    stencil_schedule_checks(const stencil_schedule *schedule, int64_t step) {
    return step == schedule->last_step || step % schedule->check_every == 0;
}

#endif
