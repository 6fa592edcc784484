/* The costs of a step on a machine: measured there with this program's own plans (stencil_calibrate()), or
 * else those in its GPU's file (machine/tuning.h). solver/plan/model.h makes predictions of them. */
#pragma once

#include "kernels/table.h"
#include "solver/machine/strategies.h"

enum { STENCIL_GPUS_MAX = 16 };

/* The kind of time loop: a kernel launch per step (CPU loops, too), or a persistent kernel. */
typedef enum stencil_loop { STENCIL_LOOP_LAUNCHED, STENCIL_LOOP_PERSISTENT, STENCIL_LOOP_COUNT } stencil_loop;

/* Memory that holds the arrays of a field: the GPU's L2 cache (the CPU's caches), or device (main) memory. */
typedef enum stencil_distance { STENCIL_NEAR, STENCIL_FAR, STENCIL_DISTANCES } stencil_distance;

/* The blocks of a device that a small field fills: some, or all with a row each, or all with several. */
typedef enum stencil_filling { STENCIL_FEW, STENCIL_ROW, STENCIL_ROWS, STENCIL_FILLINGS } stencil_filling;

/* The synchronization cost of a strategy: seconds of a nearly empty step. */
typedef struct stencil_sync_cost {
    double few_s, all_s;  /* seconds in one part, with few blocks and with all resident blocks */
    double two_s, most_s; /* seconds across two parts, and across most_parts, with the halo exchange */
    double check_s;       /* additional seconds of a step that checks the residual */
} stencil_sync_cost;

/* The costs of a CPU, or of GPUs of one kind. */
typedef struct stencil_calibration {
    bool measured;
    double latency_s;                   /* latency of a step's first loads, included in every sync cost */
    double round_s[STENCIL_LOOP_COUNT]; /* seconds of each further wave of tiles over the resident blocks */
    double
        set_bytes[STENCIL_DISTANCES]; /* arrays of up to [NEAR] bytes are in cache, from [FAR] on in memory */
    double fma_per_s[STENCIL_PRECISION_COUNT];
    double bytes_per_s[STENCIL_LOOP_COUNT][2][STENCIL_DISTANCES]; /* bandwidth of a step, [loop][rank - 2] */
    double peer_bytes_per_s, copy_s; /* bandwidth of stores to another GPU; seconds of a copy between GPUs */
    int most_parts;
    stencil_sync_cost sync[STENCIL_STRATEGIES];
    /* The speed of each kind of kernel without a source; 0: not measured. rate: cells per second, of fields
     * in memory and of cells in cache beyond the last filling. step_s: seconds of a step of cells[filling]
     * cells, less the synchronization. GPU passes of several steps have a rate only, of all computed cells
     * (stencil_model_made()). */
    double rate[STENCIL_SHAPE_COUNT][STENCIL_PRECISION_COUNT][STENCIL_SWEEP_COUNT][STENCIL_LOOP_COUNT]
               [STENCIL_DISTANCES];
    double cells[STENCIL_FILLINGS];
    double step_s[STENCIL_SHAPE_COUNT][STENCIL_PRECISION_COUNT][STENCIL_SWEEP_COUNT][STENCIL_LOOP_COUNT]
                 [STENCIL_FILLINGS];
} stencil_calibration;

struct stencil_machine;

/* Sets a machine's calibrations to constants (machine/tuning.h), scaled by multiprocessors and clock. */
void stencil_calibration_defaults(struct stencil_machine *machine);
