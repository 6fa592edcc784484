/* The costs of a step on a machine: measured there with this program's own plans (stencil_calibrate()), or
 * else those in its GPU's file (machine/tuning.h). solver/plan/model.h makes predictions of them. */
#pragma once

#include "kernels/table.h"
#include "solver/machine/strategies.h"

/* GPUs of a machine, at most. */
enum { STENCIL_GPUS_MAX = 16 };

/* The kernel that makes the cells: of a launch per step, or of a persistent loop. A CPU has the first. */
typedef enum stencil_loop { STENCIL_LOOP_LAUNCHED, STENCIL_LOOP_PERSISTENT, STENCIL_LOOP_COUNT } stencil_loop;

/* The place of a field: the GPU's L2 cache (the CPU's caches), or memory. */
typedef enum stencil_distance { STENCIL_NEAR, STENCIL_FAR, STENCIL_DISTANCES } stencil_distance;

/* The part of a device that a field which is near fills: some of its blocks, or all that are resident at once
 * with a row each, or with several. */
typedef enum stencil_filling { STENCIL_FEW, STENCIL_ROW, STENCIL_ROWS, STENCIL_FILLINGS } stencil_filling;

/* Seconds of a step with next to nothing to compute. */
typedef struct stencil_sync_cost {
    double few_s, all_s;  /* in one part, of few blocks and of all that fit at once */
    double two_s, most_s; /* across two parts, and across most_parts; with their exchange */
    double check_s;       /* more, where the residual is checked */
} stencil_sync_cost;

/* The costs of a CPU, or of GPUs of one kind. */
typedef struct stencil_calibration {
    bool measured;
    double latency_s;                    /* first loads of a step: part of every sync_cost */
    double round_s[STENCIL_LOOP_COUNT];  /* each further round of tiles over the resident blocks */
    double set_bytes[STENCIL_DISTANCES]; /* arrays up to the first are near, from the second on far */
    double fma_per_s[STENCIL_PRECISION_COUNT];
    double bytes_per_s[STENCIL_LOOP_COUNT][2][STENCIL_DISTANCES]; /* of a step, [rank - 2] */
    double peer_bytes_per_s, copy_s; /* to another GPU by stores; of a copy between two of them */
    int most_parts;
    stencil_sync_cost sync[STENCIL_STRATEGIES];
    /* The speed of each kind of kernel, without a source: cells per second, of those beyond the last filling
     * and of any in memory; and seconds of a step of so many cells, but for what keeps it in order. 0: not
     * measured. Passes on GPUs have the rate alone, of all cells that they make (stencil_model_made()). */
    double rate[STENCIL_SHAPE_COUNT][STENCIL_PRECISION_COUNT][STENCIL_SWEEP_COUNT][STENCIL_LOOP_COUNT]
               [STENCIL_DISTANCES];
    double cells[STENCIL_FILLINGS];
    double step_s[STENCIL_SHAPE_COUNT][STENCIL_PRECISION_COUNT][STENCIL_SWEEP_COUNT][STENCIL_LOOP_COUNT]
                 [STENCIL_FILLINGS];
} stencil_calibration;

struct stencil_machine;
struct json_t;

/* Gives a machine the figures of machine/tuning.h: those of a GPU by how many multiprocessors it has, and
 * their clock. */
void stencil_calibration_defaults(struct stencil_machine *machine);

/* Makes a JSON object of a calibration, owned by the caller; reads one over *calibration, whose strategies
 * and sweeps that the object does not name stay. BAD_DATA: names what is wrong. */
struct json_t *stencil_calibration_write(const stencil_calibration *calibration);
stencil_status stencil_calibration_read(stencil_calibration *calibration, const struct json_t *object);
