/* Runs of the solver as they are timed: one problem from the same random field again and again, all results
 * compared bit for bit. What the benchmarks sweep and stores share. Internal to bench/benchmarks/. */
#ifndef STENCIL_BENCH_TRIAL_H
#define STENCIL_BENCH_TRIAL_H

#include "bench/benchmark.h"
#include "solver/cpu_stores.h"
#include "solver/field.h"

typedef struct stencil_trial {
    stencil_problem problem;
    stencil_field initial; /* restored into `result` before every sample */
    stencil_field result;
    stencil_field reference; /* result of the first timed sample; data NULL until there is one */
    double reference_residual;
    const char *reference_name;
    int64_t steps, bytes; /* of timed samples, 0 while they are being chosen; of a field */
    int threads;
} stencil_trial;

/* The star of radius 1 and the rank where nobody asked for others; no source, no tolerance, one step. false:
 * the extent is still to be filled in. */
bool stencil_trial_default(stencil_spec *spec);

/* Problem and fields, until the benchmark ends; *trial is zeroed before. */
stencil_status stencil_trial_create(stencil_bench *b, stencil_trial *trial, const stencil_spec *spec);

/* What a step updates and has to move, into the row that was added last. */
void stencil_trial_fill_row(const stencil_bench *b, const stencil_trial *trial);

/* After calibration: as many steps in all samples of `rows` rows from `first` on as the fastest needs, or
 * their results could not be compared; at least `least`. */
void stencil_trial_settle(const stencil_bench *b, stencil_trial *trial, int first, int rows, int64_t least);

/* Runs `steps` steps. Where these are trial->steps, the result becomes the reference, or has to equal it,
 * residual included: INTERNAL where it does not, with both names. */
stencil_status stencil_trial_sample(const stencil_bench *b, stencil_trial *trial, const stencil_plan *plan,
                                    const char *name, int64_t steps, double *time_s);

#endif
