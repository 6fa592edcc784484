/* Framework of benchmarks: filling a result, sampling, child processes. Internal to bench/.
 *
 * A benchmark is a function in bench/benchmarks/NAME.c or NAME.cu, or one in each, and a row of
 * benchmarks.def. CMake compiles every .c of bench/benchmarks/, and with CUDA every .cu.
 *
 * The planted fault (options->inject_fault, `stencil bench NAME --inject-fault`): a benchmark with trait
 * FAULT also measures something wrong on purpose, such as a barrier without a release, verifies it like every
 * row, and must fail with INTERNAL. The framework skips benchmarks without the trait. */
#pragma once

#include "bench/bench.h"

/* Names of published timing methods, as printed. "000": L. Zhang et
 * al., A Study of Single and Multi-device Synchronization Methods in Nvidia GPUs. */
#define STENCIL_METHOD_GPU_CLOCK  "GPU clock on a dependent chain (Wong 2010)"
#define STENCIL_METHOD_SM_CLOCK   "GPU clock of each multiprocessor, first start to last end"
#define STENCIL_METHOD_TWO_COUNTS "two repeat counts, CPU clock (000 Eq. 7, 8)"
#define STENCIL_METHOD_FUSION     "kernel fusion with sleep (000 Eq. 6)"

/* Repeats of a timed instruction or barrier: 512 in the first kernel, 5120 more in the second (Zhang et al.,
 * A Study of Synchronization Methods in Modern GPUs, section 3.4). */
enum { STENCIL_REPEATS = 512, STENCIL_REPEATS_MORE = 5120 };

/* Returns the repeats that the user asks for, or the published number. */
static inline int64_t stencil_repeats(const stencil_bench_options *options, int64_t published) {
    return options->repeats > 0 ? options->repeats : published;
}

/* Returns `repeats` rounded up to a multiple of the unrolled repeats of a kernel. */
static inline int64_t stencil_round_up(int64_t repeats, int64_t unrolled) {
    return (repeats + unrolled - 1) / unrolled * unrolled;
}

/* Limits of measured shapes: blocks per multiprocessor, threads per block, threads per multiprocessor. */
enum { STENCIL_BLOCKS_MAX = 32, STENCIL_BLOCK_THREADS_MAX = 1024, STENCIL_SM_THREADS_MAX = 2048 };

/* Sets the next shape that fits on a multiprocessor: twice the threads per block, else twice the blocks, of
 * least_threads each. *blocks 0 gives the first shape; false: no shape is left. */
static inline bool stencil_next_shape(int *blocks, int *threads, int most_blocks, int least_threads) {
    const bool more = *blocks > 0 && 2 * *threads <= STENCIL_BLOCK_THREADS_MAX &&
                      2 * *threads * *blocks <= STENCIL_SM_THREADS_MAX;
    *blocks = more ? *blocks : *blocks > 0 ? 2 * *blocks : 1;
    *threads = more ? 2 * *threads : least_threads;
    return *blocks <= most_blocks;
}

#ifdef __cplusplus
extern "C" {
#endif

/* State of a run of a benchmark: options, result, and what is released at its end, after an error as well. */
typedef struct stencil_bench {
    /* Checked options: backend is CPU or GPU, all numbers are in range, and for a GPU gpu[] has gpu_count
     * devices; gpu[0] is the current device when the run begins. */
    const stencil_bench_options *options;
    const stencil_machine *machine;
    stencil_bench_result *result;
    void *own;  /* data of the benchmark function */
    int row;    /* number of the row being sampled, verified or stated */
    int taken;  /* number of rows that stencil_bench_take() has finished */
    int stated; /* in a child process that states a single row: its number, from 1; else 0 */
    /* Internal state of bench/harness.c. */
    struct stencil_bench_case *cases; /* [result->row_count] */
    struct stencil_bench_kept *kept;  /* [kept_count] */
    int kept_count;
    bool calibrated; /* calibration has ended: samples are kept */
    bool verifying;  /* the sampler shall verify each iteration */
    bool abandoned;  /* a kernel does not end: no device resource can be released */
} stencil_bench;

typedef stencil_status (*stencil_benchmark_function)(stencil_bench *b);

#define NONE
#define RUN(function)                                       stencil_status function(stencil_bench *b);
#define STENCIL_BENCHMARK(id, name, cpu, gpu, traits, text) cpu gpu
#include "bench/benchmarks.def"
#undef NONE
#undef RUN
#undef STENCIL_BENCHMARK

/* Ends a run of a benchmark: releases everything kept by stencil_bench_keep(), host memory last. */
void stencil_bench_end(stencil_bench *b);

/* Registers release(thing) for the end of the benchmark, where calls follow the order of registration.
 * Errors: NO_MEMORY, after calling release(thing). */
stencil_status stencil_bench_keep(stencil_bench *b, void (*release)(void *), void *thing);
/* Allocates zeroed host memory until the benchmark ends; `to` points at the pointer to set. NO_MEMORY. */
stencil_status stencil_bench_memory(stencil_bench *b, void *to, size_t bytes);

/* Samples b->row, whose case is `what`: sets *value to the seconds of `count` iterations; for a row with a
 * fixed `count`, to a value in the unit of the row. */
typedef stencil_status (*stencil_bench_case_sampler)(stencil_bench *b, void *what, int64_t count,
                                                     double *value);

/* Describes a row to add, with the function that samples it and the one that verifies it afterwards (NULL:
 * the sampler verifies), or the one that states it. Only name and skipped are copied, other texts are
 * borrowed. A rate ("…/s", "…/cycle") sets the row's higher_is_better; the caller sets further members. */
typedef struct stencil_bench_subject {
    const char *kind, *name, *unit, *method;
    stencil_bench_case_sampler sample;
    stencil_status (*verify)(stencil_bench *b, void *what);
    int64_t verified; /* instead of `verify`: iterations of a call of `sample` with b->verifying */
    /* Function that writes the outcome of b->row, for a row that is stated instead of sampled. The function
     * may hang, crash or fault the device: a child process, which adds the same rows, calls it. Where the
     * child lasts longer than `limit_s` (some seconds of start-up included), the outcome is "deadlocks". A
     * crash or failure fails the benchmark or, with may_end_process, gives "ends its process". */
    stencil_status (*state)(stencil_bench *b, void *what);
    double limit_s;
    bool may_end_process;
    /* Axes, outermost first; name NULL: no axis. Rows of the same kind, name, unit and axis names make a
     * series or, where the last two axes are "blocks_per_sm" and "threads", a heat map. */
    stencil_bench_parameter axis[STENCIL_BENCH_AXES_MAX];
    /* count: iterations of a sample; 0: calibrated. For the two-repeat-count method, `more` is the second
     * count minus `count`, and a sample has `pairs` launches with each count (0: 1). */
    int64_t count, more;
    int pairs;
    /* Targets of calibration: seconds of a sample (0: 0.1 s; negative: `least` iterations); the least
     * iterations where the user gives no number; and a number of iterations, 0 at first, that rows with the
     * same pointer share: the largest that one of them needs. */
    double sample_s;
    int64_t least, *shared;
    const char *skipped; /* reason why the row is not measured, copied; NULL or "": the row is measured */
} stencil_bench_subject;

/* Appends a row and a copy of its case `what` [size]. Pointers to rows become invalid. Errors: NO_MEMORY. */
stencil_status stencil_bench_add(stencil_bench *b, const stencil_bench_subject *subject, const void *what,
                                 size_t size);
#ifdef __cplusplus
#define STENCIL_BENCH_ADD(b, what, ...) stencil_bench_add_row(b, stencil_bench_subject{__VA_ARGS__}, what)
#else
#define STENCIL_BENCH_ADD(b, what, ...)                                                                      \
    stencil_bench_add(b, &(stencil_bench_subject){__VA_ARGS__}, &(what), sizeof(what))
#endif
/* Returns the case of row number `row`; stencil_bench_last() returns the row added last. */
void *stencil_bench_what(const stencil_bench *b, int row);
stencil_bench_row *stencil_bench_last(const stencil_bench *b);

/* Measures all rows added since the last call. Rows with `state` are stated in a child process each, rows
 * without a count are calibrated, rows with a count get a warm-up sample, which is dropped. Each row is
 * sampled once per iteration over the rows, which starts at a different row each time, so that disturbances
 * of the machine hit all rows alike. A row is done after options->samples samples; with 0, when its relative
 * spread is under options->max_noise after at least SETTLE samples, or after AUTO_MAX. Sampling ends after
 * options->timeout_s once all rows have LEAST samples. Then fills in statistics, `noisy`, ratios to rows of
 * kind "copy" and results of the two-repeat-count method, and verifies every measured row. Errors: INTERNAL,
 * INTERRUPTED, NO_MEMORY, and those of samplers. */
stencil_status stencil_bench_take(stencil_bench *b);

/* Samples rows with a planted fault once each, instead of stencil_bench_take(). Errors: INTERNAL, with the
 * failure of the first row, as every row must fail; or naming a row that does not fail. */
stencil_status stencil_bench_take_planted(stencil_bench *b);

void stencil_bench_add_number(stencil_bench_result *result, const char *name, int64_t number);
void stencil_bench_add_text(stencil_bench_result *result, const char *name, const char *text);
void stencil_bench_note(stencil_bench *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Tells whether options->go_on allows more samples; stencil_bench_check_wanted(): INTERRUPTED if not. */
bool stencil_bench_is_wanted(const stencil_bench_options *options);
stencil_status stencil_bench_check_wanted(const stencil_bench_options *options, const char *benchmark);
/* Reason for skipping a row, case or benchmark after an interruption. */
#define STENCIL_BENCH_NOT_REACHED "interrupted"

/* Marks a benchmark as skipped with a formatted reason. Returns OK. */
stencil_status stencil_bench_skip(stencil_bench_result *result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Returns bytes per second of the best row of kind "copy" among rows `first` and later; 0: no such row. */
double stencil_bench_best_copy(const stencil_bench_result *result, int first);
/* Sets the ratio of every row that moves bytes to the best row of kind "copy", from row `first` on. */
void stencil_bench_fill_ratios(stencil_bench_result *result, int first);

/* Creates the neighbor lists of barrier `neighbor` for a ring of `count` participants, each waiting for the
 * previous and the next. The lists are as in stencil_barrier_state: first[count + 1], then
 * list[STENCIL_RING_NEIGHBORS * count]; they last until the benchmark ends. */
enum { STENCIL_RING_NEIGHBORS = 2 };
stencil_status stencil_ring_create(stencil_bench *b, uint32_t **first, uint32_t count);

/* Checks that OpenMP gave the number of threads asked for. Errors: UNAVAILABLE. */
stencil_status stencil_bench_check_team(int threads, int asked);

/* Writes the outcome of b->row for benchmark partial: deadlock, missing threads, time limit or completion. */
void stencil_bench_say_part(const stencil_bench *b, bool ended, bool all_done, bool gave_up);

/* Runs benchmark `name` in a new process of the same program: all rows (stated 0), or the statement of row
 * `stated`. A process forked after CUDA's initialisation cannot use CUDA, so the child is spawned; it gets
 * the machine of `b` and reads its options from its command line. *result, owned by the caller, is replaced
 * where the child sends a result, even of a failed benchmark. *timed_out: the child gave no answer in
 * `timeout_s` and was killed; the function then returns OK. Errors: INTERNAL (the child crashed), UNAVAILABLE
 * (options->child_command is NULL), and those of the benchmark. */
stencil_status stencil_bench_in_child(const stencil_bench *b, const char *name, int stated, double timeout_s,
                                      stencil_bench_result *result, bool *timed_out);

/* Function that runs a benchmark in a child process: all rows (stated 0), or the statement of one row.
 * stencil_bench_answer() serves a request with it; see stencil_bench_child_main(). */
typedef stencil_status (*stencil_bench_runner)(const char *name, int stated,
                                               const stencil_bench_options *options,
                                               const stencil_machine *machine, stencil_bench_result *result);
stencil_status stencil_bench_answer(const char *name, const stencil_bench_options *options,
                                    stencil_bench_runner run);

/* Runs all rows of a benchmark in a child process. Errors: of stencil_bench_in_child(); INTERNAL: a hang. */
stencil_status stencil_bench_run_in_child(int index, const stencil_bench_options *options,
                                          const stencil_machine *machine, stencil_bench_result *result);

#ifdef __cplusplus
}

template <class Case>
static inline stencil_status stencil_bench_add_row(stencil_bench *b, const stencil_bench_subject &subject,
                                                   const Case &what) {
    return stencil_bench_add(b, &subject, &what, sizeof what);
}
#endif
