/* Timed runs of the solver on one problem from the same random field, whose results are compared bit for bit,
 * and copies of the field as a ceiling. Internal to bench/benchmarks/: copy, sweep, speed and stores. */
#pragma once

#include "bench/benchmark.h"
#include "solver/device/cpu.h"
#include "solver/run/run.h"

/* Fills all cells, ghost cells included, with random numbers in [0, 1), the same on every machine. */
void stencil_field_fill_random(stencil_field *field, uint64_t seed);

/* Compares all updated cells of two fields of the same layout bit for bit, after `steps` time steps. Errors:
 * INTERNAL, naming the fields by `a_name` and `b_name`, the number of different cells and the first one. */
stencil_status stencil_field_check_same(const stencil_field *a, const char *a_name, const stencil_field *b,
                                        const char *b_name, int64_t steps);

typedef struct stencil_trial {
    stencil_machine machine; /* machine with the kernels of the plans */
    stencil_problem problem;
    stencil_field initial; /* restored into `result` before every sample */
    stencil_field result;
    stencil_field source;    /* random source term; data NULL: the problem has no source */
    stencil_field reference; /* result of the first timed sample; data NULL before that sample */
    double reference_residual;
    const char *reference_name;
    int64_t steps, bytes; /* time steps in a timed sample, after calibration; bytes of a field */
    /* A CPU run that tries kinds of stores in its first STENCIL_STORES_STEPS steps has samples of at least
     * `tries` times these steps, so that the trial hardly counts. */
    int tries;
    double sample_s; /* seconds of a sample of the fastest plan; 0: 0.1 s; negative: `least` steps */
    int64_t least;   /* least steps in a sample where the user gives no number; 0: no limit */
    /* Axes of all rows (zeroed: none), and prefix of their names: "j2d5pt f8 " or "". */
    stencil_bench_parameter axis[STENCIL_BENCH_AXES_MAX];
    char of[24];
    int spoiled; /* for tests: number, from 1, of the row whose result gets a flipped bit; 0: none */
} stencil_trial;

/* Sets defaults of a spec: the star of radius 1 and its rank where the user gives none, no tolerance, and
 * enough steps for passes of any plan. false: the caller must still set the extent. */
bool stencil_trial_default(stencil_spec *spec);

/* Sets the weights of the spec's named stencil to different random numbers of sum 1. */
void stencil_trial_weights(stencil_spec *spec);

/* Finds the square, or the 3D box of `last` planes, with edges from `first` to `last` for which a GPU plan
 * with several steps in a pass wastes least work: redundant cells, and waiting for the busiest
 * multiprocessor. The smallest size wins ties. false: no plan has several steps in a pass. */
bool stencil_trial_own(const stencil_spec *spec, const stencil_run_options *options,
                       const stencil_machine *machine, int64_t first, int64_t last, int64_t own[3]);

/* Creates problem and fields of a zeroed *trial, until stencil_trial_release() or the benchmark's end. */
stencil_status stencil_trial_create(stencil_bench *b, stencil_trial *trial, const stencil_spec *spec);

void stencil_trial_release(void *trial);

/* Returns the options of a run on the devices of the benchmark; on GPUs, on the first `gpus` of them. */
stencil_run_options stencil_trial_options(const stencil_bench *b, const char *strategy, const char *sweep,
                                          int gpus);

/* Appends a row that runs a copy of `plan`; `why`: reason to skip the row, or "". All samples of a trial have
 * the number of steps that the fastest row needs, so that results compare. Sampling fails with INTERNAL,
 * naming both rows, where field or residual differ in a bit from the first sample. */
stencil_status stencil_trial_add(stencil_bench *b, stencil_trial *trial, const stencil_plan *plan,
                                 const char *kind, const char *name, const char *why);
/* Returns the plan of a row that stencil_trial_add() appended. */
const stencil_plan *stencil_trial_plan(const stencil_bench *b, int row);

/* A copy on a device (bench/benchmarks/copy.c), whose bandwidth is the ceiling of a sweep that reads and
 * writes every cell once. */
typedef struct stencil_ceiling {
    int64_t bytes; /* bytes read, equal to bytes written; a multiple of 64 */
    /* Trial that gives the rows their axes, prefix of names and sample_s; NULL: none of these. A CPU copies
     * its `initial` to its `result`; a GPU copies arrays that it allocates for each sample. */
    const stencil_trial *trial;
    int way; /* way of copying, set for each row */
} stencil_ceiling;

/* Appends a row of kind "copy" for every way to copy on the device. A sample overwrites the destination,
 * copies all bytes and compares the arrays after timing. Errors of sampling: INTERNAL where they differ. */
stencil_status stencil_ceiling_add_rows(const stencil_ceiling *ceiling, stencil_bench *b);

/* Lets each of `threads` threads call `function` (stencil_copy_bytes(): memcpy) for its share of two fields
 * of the same layout: whole pages, those of first touch in stencil_memory_alloc(). Returns the seconds of
 * all. */
double stencil_parallel_copy(const stencil_field *to, const stencil_field *from, int threads,
                             stencil_cpu_copy function, int64_t iterations);
void stencil_copy_bytes(void *to, const void *from, int64_t count);
