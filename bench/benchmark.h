/* Parts that benchmarks are made of: the table row, filling a result, sampling, child processes. Internal to
 * bench/.
 *
 * A benchmark is a function in bench/benchmarks/NAME.c or NAME.cu, or one in each, and a row of
 * benchmarks.def. Every .c of that folder is compiled, and with CUDA every .cu.
 *
 * The planted fault (options->inject_fault, `stencil bench NAME --inject-fault`): a benchmark that has FAULT
 * among its traits measures and verifies, where inject_fault is set, one more thing that is wrong on purpose
 * (on the CPU a barrier that lets everybody pass at once, on a GPU a policy without its release), through the
 * same verification as everything else, and has to fail with INTERNAL because of it. Others are skipped by
 * the framework. */
#pragma once

#include "bench/bench.h"

/* Published ways of timing that several benchmarks share, as they are named in the output. "000": L. Zhang et
 * al., A Study of Single and Multi-device Synchronization Methods in Nvidia GPUs. */
#define STENCIL_METHOD_GPU_CLOCK  "GPU clock on a dependent chain (Wong 2010)"
#define STENCIL_METHOD_SM_CLOCK   "GPU clock of each multiprocessor, first start to last end"
#define STENCIL_METHOD_TWO_COUNTS "two repeat counts, CPU clock (000 Eq. 7, 8)"
#define STENCIL_METHOD_FUSION     "kernel fusion with sleep (000 Eq. 6)"

/* Repeats of an instruction or barrier: 512, and 5120 more in the second kernel (Zhang et al., A Study of
 * Synchronization Methods in Modern GPUs, section 3.4). */
enum { STENCIL_REPEATS = 512, STENCIL_REPEATS_MORE = 5120 };

/* Returns the repeats that the user asks for, or the published number. */
static inline int64_t stencil_repeats(const stencil_bench_options *options, int64_t published) {
    return options->repeats > 0 ? options->repeats : published;
}

/* The next multiple of what a kernel unrolls. */
static inline int64_t stencil_round_up(int64_t repeats, int64_t unrolled) {
    return (repeats + unrolled - 1) / unrolled * unrolled;
}

/* Blocks and threads that are measured on one multiprocessor. */
enum { STENCIL_BLOCKS_MAX = 32, STENCIL_BLOCK_THREADS_MAX = 1024, STENCIL_SM_THREADS_MAX = 2048 };

/* The next shape that fits on a multiprocessor: twice the threads, or twice the blocks of least_threads
 * again. Begins behind 0 blocks; false behind the last one. */
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

/* One run of a benchmark: what it is asked, what it fills in, and what it keeps until it ends, whatever comes
 * back. */
typedef struct stencil_bench {
    /* The backend is the result's (CPU or GPU), gpu_count and gpu[] are filled in on a GPU, the first of
     * which is current when the run begins, and all numbers are in range. */
    const stencil_bench_options *options;
    const stencil_machine *machine;
    stencil_bench_result *result;
    void *own;  /* the benchmark's */
    int row;    /* being sampled, verified or stated */
    int taken;  /* rows before it are done: stencil_bench_take() */
    int stated; /* in a child process that states one row: its number, from 1; 0: all rows are taken */
    /* State that bench/harness.c keeps. */
    struct stencil_bench_case *cases; /* [result->row_count] */
    struct stencil_bench_kept *kept;  /* [kept_count] */
    int kept_count;
    bool calibrated; /* what is sampled from now on counts */
    bool verifying;  /* the sampler shall look at each iteration */
    bool abandoned;  /* something does not end: nothing can be released any more */
} stencil_bench;

typedef stencil_status (*stencil_benchmark_function)(stencil_bench *b);

#define NONE
#define RUN(function)                                       stencil_status function(stencil_bench *b);
#define STENCIL_BENCHMARK(id, name, cpu, gpu, traits, text) cpu gpu
#include "bench/benchmarks.def"
#undef NONE
#undef RUN
#undef STENCIL_BENCHMARK

/* After a run: releases all that is kept, memory last. */
void stencil_bench_end(stencil_bench *b);

/* Calls release(thing) at the end, in the order in which things were kept; at once where there is no memory
 * to remember it. */
stencil_status stencil_bench_keep(stencil_bench *b, void (*release)(void *), void *thing);
/* Zeroed host memory until the end, into the pointer that `to` points at. */
stencil_status stencil_bench_memory(stencil_bench *b, void *to, size_t bytes);

/* Samples b->row, whose case is `what`: the time of `count` iterations in seconds; where the row has a count,
 * or two, a value in its unit, or the time of so many. */
typedef stencil_status (*stencil_bench_case_sampler)(stencil_bench *b, void *what, int64_t count,
                                                     double *value);

/* A row, how it is sampled and, after that, verified (NULL: each sample is), or how it is stated. Texts but
 * the name are kept, not copied. higher_is_better where the unit is a rate ("…/s", "…/cycle"); further
 * members of the row are set directly. */
typedef struct stencil_bench_subject {
    const char *kind, *name, *unit, *method;
    stencil_bench_case_sampler sample;
    stencil_status (*verify)(stencil_bench *b, void *what);
    int64_t verified; /* in place of `verify`: `sample` makes so many iterations, with b->verifying set */
    /* States what happens, in the outcome of b->row, instead of being sampled. It may hang, crash or fault
     * the device: it is called in a child process, whose run has added the same rows. One that has not ended
     * after `limit_s` (its start, CUDA included, counts towards that: some seconds) "deadlocks"; one that
     * crashes or fails fails the benchmark, or, where that is an answer, too, "ends its process". */
    stencil_status (*state)(stencil_bench *b, void *what);
    double limit_s;
    bool may_end_process;
    /* Outermost first; name NULL: none. Rows of the same kind, name, unit and axis names make a series or,
     * where the last two axes are "blocks_per_sm" and "threads", a heat map. */
    stencil_bench_parameter axis[STENCIL_BENCH_AXES_MAX];
    /* Iterations of a sample; 0: as many as calibration finds. `more`: so many more make a second count,
     * for the two-repeat-count method, with `pairs` of both counts (0: 1). */
    int64_t count, more;
    int pairs;
    /* Targets of calibration: samples of so many seconds (0: 0.1; less: of the least iterations, however long
     * that takes), at least so many iterations where nobody asks for a number; and where rows share a number,
     * which is 0 at first, as many as the one of them that needs most. */
    double sample_s;
    int64_t least, *shared;
    const char *skipped; /* why it is not measured, copied; NULL or "": it is */
} stencil_bench_subject;

/* Appends a row, which moves the others, and its case, a copy of `what` [size]. */
stencil_status stencil_bench_add(stencil_bench *b, const stencil_bench_subject *subject, const void *what,
                                 size_t size);
#ifdef __cplusplus
#define STENCIL_BENCH_ADD(b, what, ...) stencil_bench_add_row(b, stencil_bench_subject{__VA_ARGS__}, what)
#else
#define STENCIL_BENCH_ADD(b, what, ...)                                                                      \
    stencil_bench_add(b, &(stencil_bench_subject){__VA_ARGS__}, &(what), sizeof(what))
#endif
/* The case of a row; the row that was added last. */
void *stencil_bench_what(const stencil_bench *b, int row);
stencil_bench_row *stencil_bench_last(const stencil_bench *b);

/* Has every row stated that is, each in its child process, calibrates those without a count, and takes
 * samples of every row that is measured: of row->iterations iterations each or, where it has a count, values
 * after one to warm up, which is dropped. Rounds: each row once, starting with another one each time, so that
 * what disturbs the machine hits all rows alike. A row is done after options->samples samples; where that is
 * 0, as soon as its relative spread is under options->max_noise with at least SETTLE samples, or after
 * AUTO_MAX. After options->timeout_s nothing more is begun once all rows have LEAST samples. Then fills the
 * rows' statistics, `noisy`, their ratios where there are rows of kind "copy" and what the two-repeat-count
 * method gives, and verifies every row that was measured. Called again, it does so for the rows that were
 * added since, with as much time. */
stencil_status stencil_bench_take(stencil_bench *b);

/* Instead, of rows that have a planted fault: samples each once. INTERNAL as every row that is not skipped
 * has to be, with the failure of the first one; or where one is not, naming it. */
stencil_status stencil_bench_take_planted(stencil_bench *b);

void stencil_bench_add_number(stencil_bench_result *result, const char *name, int64_t number);
void stencil_bench_add_text(stencil_bench_result *result, const char *name, const char *text);
void stencil_bench_note(stencil_bench *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Tells whether options->go_on wants more; INTERRUPTED, with the benchmark's name, where it does not. */
bool stencil_bench_is_wanted(const stencil_bench_options *options);
stencil_status stencil_bench_check_wanted(const stencil_bench_options *options, const char *benchmark);
/* Why a row, a case or a benchmark that was not reached is skipped. */
#define STENCIL_BENCH_NOT_REACHED "interrupted"

/* Gives a benchmark up without an error. Returns OK. */
stencil_status stencil_bench_skip(stencil_bench_result *result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Bytes per second of the best row of kind "copy" from number `first` on; 0: there is none. */
double stencil_bench_best_copy(const stencil_bench_result *result, int first);
/* Ratio of every row from number `first` on that moves bytes to the best one of kind "copy" among them. */
void stencil_bench_fill_ratios(stencil_bench_result *result, int first);

/* Functions in benchmarks/team.c that benchmarks of CPU and GPU share. */

/* Whom barrier `neighbor` waits for where it is measured alone: the one before and the one after in a ring of
 * `count` participants. The lists are as in stencil_barrier_state: first[count + 1], and behind it
 * list[STENCIL_RING_NEIGHBORS * count]; until the benchmark ends. */
enum { STENCIL_RING_NEIGHBORS = 2 };
stencil_status stencil_ring_create(stencil_bench *b, uint32_t **first, uint32_t count);

/* UNAVAILABLE where OpenMP gave another number of threads than was asked for. */
stencil_status stencil_bench_check_team(int threads, int asked);

/* Writes the outcome of b->row, a row of benchmark partial. */
void stencil_bench_say_part(const stencil_bench *b, bool ended, bool all_done, bool gave_up);

/* Runs benchmark `name` in a fresh process of the same program, all of it (stated 0) or one row. CUDA cannot
 * be used in a process forked after it was initialised, so nothing is shared; the machine of `b` is handed
 * on, and the options are those of the child's command line. *result is the caller's, and replaced where one
 * comes back, which may be so where the benchmark failed, too. *timed_out: there was no answer after
 * `timeout_s` and the child was killed; OK comes back then. INTERNAL where the child crashed, or what it
 * failed with; the message names the benchmark. UNAVAILABLE where options->child_command is NULL. */
stencil_status stencil_bench_in_child(const stencil_bench *b, const char *name, int stated, double timeout_s,
                                      stencil_bench_result *result, bool *timed_out);

/* The other end: answers with what `run` makes of the benchmark (stated 0), or of one row; see
 * stencil_bench_child_main(). */
typedef stencil_status (*stencil_bench_runner)(const char *name, int stated,
                                               const stencil_bench_options *options,
                                               const stencil_machine *machine, stencil_bench_result *result);
stencil_status stencil_bench_answer(const char *name, const stencil_bench_options *options,
                                    stencil_bench_runner run);

/* All of benchmark `index` in a child process; one that hangs fails. */
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
