/* Timed runs of the solver on one problem from the same random field, with all results compared bit for bit,
 * and copies of the field as a ceiling. For the benchmarks copy, sweep, speed and stores; internal to
 * bench/benchmarks/. */
#pragma once

#include "bench/benchmark.h"
#include "solver/device/cpu.h"
#include "solver/run/run.h"

/* Returns a pseudo-random number for `index`: splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom
 * number generators, OOPSLA 2014), with the index as its state. */
uint64_t stencil_mixed(uint64_t index);

/* Fills all cells, ghost cells included, with random numbers in [0, 1), the same on every machine. */
void stencil_field_fill_random(stencil_field *field, uint64_t seed);

/* Compares all updated cells of two fields of the same layout bit for bit. The error message names the fields
 * `a_name` and `b_name`, after `steps` time steps. Errors: INTERNAL where the fields differ, with the number
 * of different cells and the first one. */
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
    double
        sample_s;  /* seconds of a sample of the fastest plan; 0: 0.1 s; negative: samples of `least` steps */
    int64_t least; /* least steps in a sample where the user gives no number; 0: no limit */
    /* Axes of all rows (zeroed: none), and prefix of their names: "j2d5pt f8 " or "". */
    stencil_bench_parameter axis[STENCIL_BENCH_AXES_MAX];
    char of[24];
    int spoiled; /* for tests: number, from 1, of the row whose result gets a flipped bit; 0: none */
} stencil_trial;

/* Sets defaults of a spec: the star of radius 1 and its rank where the user gives none, no tolerance, and
 * enough steps for passes of any plan (calibration sets the steps of a sample). false: the caller must still
 * set the extent. */
bool stencil_trial_default(stencil_spec *spec);

/* Sets the weights of the spec's named stencil to different random numbers of sum 1. */
void stencil_trial_weights(stencil_spec *spec);

/* Finds the square, or the 3D box of `last` planes, with edges from `first` to `last` for which a GPU plan
 * with several steps in a pass wastes least work: redundant cells, and waiting for the busiest
 * multiprocessor. The smallest size wins ties. false: no plan has several steps in a pass. No side effects.
 */
bool stencil_trial_own(const stencil_spec *spec, const stencil_run_options *options,
                       const stencil_machine *machine, int64_t first, int64_t last, int64_t own[3]);

/* Creates problem and fields of a zeroed *trial, which last until stencil_trial_release() or the end of the
 * benchmark. */
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
    /* On a CPU: source, borrowed and 64-byte aligned, and destination, whose data are read at each sample. A
     * GPU copy allocates its arrays. */
    const void *from;
    const stencil_field *to;
    /* Axes of the rows, and prefix of their names; NULL: no axes, no prefix. */
    const stencil_bench_parameter *axis;
    const char *of;
    double sample_s;  /* seconds of a sample; 0: 0.1 s */
    int way, threads; /* way of copying and number of threads, set for each row */
} stencil_ceiling;

/* Appends a row of kind "copy" for every way to copy on the device of the benchmark. A sample overwrites the
 * destination, copies all bytes and compares the arrays after timing; it fails with INTERNAL where they
 * differ. */
stencil_status stencil_ceiling_add_rows(const stencil_ceiling *ceiling, stencil_bench *b);
/* Appends rows that copy the field of a trial, with samples as long as those of its runs. */
stencil_status stencil_trial_add_copies(stencil_bench *b, const stencil_trial *trial);

/* Copies host memory with `threads` threads in equal shares of whole pages, the shares of first touch in
 * stencil_memory_alloc(). */
void stencil_parallel_copy(void *to, const void *from, int64_t bytes, int threads);
