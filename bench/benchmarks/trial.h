/* Fields, and runs of the solver as they are timed: one problem from the same random field again and again,
 * all results compared bit for bit; and copies, what they are compared with. What the benchmarks copy, sweep
 * and stores share. Internal to bench/benchmarks/. */
#pragma once

#include "bench/benchmark.h"
#include "solver/device/cpu.h"
#include "solver/run/run.h"

/* Any number made of any other: splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number
 * generators, OOPSLA 2014), with the index as its state. */
uint64_t stencil_mixed(uint64_t index);

/* Random numbers in [0, 1) in all cells, ghost cells included, the same on every machine. */
void stencil_field_fill_random(stencil_field *field, uint64_t seed);

/* Bit for bit over all updated cells. INTERNAL where they differ, with the number of different cells and the
 * first one; `a_name` and `b_name` say in the message whose results these are, `steps` after how many steps.
 * Both fields have the same layout. */
stencil_status stencil_field_check_same(const stencil_field *a, const char *a_name, const stencil_field *b,
                                        const char *b_name, int64_t steps);

typedef struct stencil_trial {
    stencil_machine machine; /* with the kernels of the plans */
    stencil_problem problem;
    stencil_field initial; /* restored into `result` before every sample */
    stencil_field result;
    stencil_field source;    /* random, too; data NULL: the problem has none */
    stencil_field reference; /* result of the first timed sample; data NULL until there is one */
    double reference_residual;
    const char *reference_name;
    int64_t steps, bytes; /* of timed samples, once they are chosen; of a field */
    /* A CPU run that tries stores in its first steps has samples of at least so many times those steps, so
     * that they hardly show. */
    int tries;
    double sample_s; /* of the fastest plan; 0: as usual; less: of the least steps */
    int64_t least;   /* steps of a sample where nobody asks for a number; 0: any */
    /* Axes of the rows, and the beginning of their names: "j2d5pt f8 "; zeroed: no axis, nothing. */
    stencil_bench_parameter axis[STENCIL_BENCH_AXES_MAX];
    char of[24];
    int spoiled; /* for tests: a bit of the result of this row is turned over, from 1 */
} stencil_trial;

/* The star of radius 1 and the rank where nobody asked for others; no tolerance, and steps enough for passes
 * as long as suits a plan (a sample has its own number). false: the extent is still to be filled in. */
bool stencil_trial_default(stencil_spec *spec);

/* Weights of the spec's named set: random, all different, of sum 1. */
void stencil_trial_weights(stencil_spec *spec);

/* The square, or in 3D the box of `last` planes, with edges from `first` to `last` whose passes of several
 * steps by a plan with these options keep most of what they compute on GPUs, the time that others wait for
 * what takes longest included; the smallest of several. false: there are no such passes. Pure. */
bool stencil_trial_own(const stencil_spec *spec, const stencil_run_options *options,
                       const stencil_machine *machine, int64_t first, int64_t last, int64_t own[3]);

/* Problem and fields, until the benchmark ends or they are released; *trial is zeroed before. */
stencil_status stencil_trial_create(stencil_bench *b, stencil_trial *trial, const stencil_spec *spec);

void stencil_trial_release(void *trial);

/* Returns the options of a run on the devices of the benchmark; of its GPUs, on the first `gpus`. */
stencil_run_options stencil_trial_options(const stencil_bench *b, const char *strategy, const char *sweep,
                                          int gpus);

/* Appends a row for a plan, a copy of which is in use then; `why` it is skipped, "": it is not. All samples
 * of a trial have as many steps as the fastest needs, or their results could not be compared: each has to
 * give the bits that the first one gave, residual included, INTERNAL where it does not, with both names. */
stencil_status stencil_trial_add(stencil_bench *b, stencil_trial *trial, const stencil_plan *plan,
                                 const char *kind, const char *name, const char *why);
/* The plan of such a row. */
const stencil_plan *stencil_trial_plan(const stencil_bench *b, int row);

/* The ceiling: what copying reaches on a device, which is what a sweep that moves every cell once in and once
 * out can reach at best. Of bench/benchmarks/copy.c. */
typedef struct stencil_ceiling {
    int64_t bytes; /* read, and as many written; a multiple of 64 */
    /* CPU: host memory on 64-byte boundaries, borrowed, and what the field has at the time; a GPU brings its
     * own. */
    const void *from;
    const stencil_field *to;
    /* Axes of the rows, and the beginning of their names; NULL: no axis, nothing. */
    const stencil_bench_parameter *axis;
    const char *of;
    double sample_s;  /* of a sample; 0: as usual */
    int way, threads; /* filled in for each row */
} stencil_ceiling;

/* Appends a row of kind "copy" for every way to copy on this device. A sample copies all bytes. The
 * destination is overwritten with something else before, and compared after timing: INTERNAL where it
 * differs. */
stencil_status stencil_ceiling_add_rows(const stencil_ceiling *ceiling, stencil_bench *b);
/* Appends rows of copies of the field of a trial, in samples as long as the trial's own. */
stencil_status stencil_trial_add_copies(stencil_bench *b, const stencil_trial *trial);

/* Host memory, copied by `threads` threads in equal shares of whole pages: the shares in which
 * stencil_memory_alloc() touches it. */
void stencil_parallel_copy(void *to, const void *from, int64_t bytes, int threads);
