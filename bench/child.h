/* Child processes: each runs a benchmark, or states one row of it, asked and answered as JSON on a socket.
 * Internal to bench/. */
#ifndef STENCIL_BENCH_CHILD_H
#define STENCIL_BENCH_CHILD_H

#include "bench/benchmark.h"

/* The benchmark with that name, -1: there is none; and running one in this process (bench.c), or stating the
 * row with the number `stated`, from 1. */
int stencil_bench_find(const char *name);
stencil_status stencil_bench_run_here(int index, int stated, const stencil_bench_options *options,
                                      const stencil_machine *machine, stencil_bench_result *result);

/* Runs benchmark `name` in a fresh process of the same program, all of it (stated 0) or one row. CUDA cannot
 * be used in a process forked after it was initialised, so nothing is shared; options, without progress, and
 * machine of `b` are handed on. *result is the caller's, and replaced where one comes back, which may be so
 * where the benchmark failed, too. *timed_out: there was no answer after `timeout_s` and the child was
 * killed; OK comes back then. INTERNAL where the child crashed, or what it failed with; the message names the
 * benchmark. UNAVAILABLE where options->child_command is NULL. */
stencil_status stencil_bench_in_child(const stencil_bench *b, const char *name, int stated, double timeout_s,
                                      stencil_bench_result *result, bool *timed_out);

/* All of benchmark `index`; one that hangs fails. */
stencil_status stencil_bench_run_in_child(int index, const stencil_bench_options *options,
                                          const stencil_machine *machine, stencil_bench_result *result);

/* Options without progress and child_command, as a child process is told them. BAD_DATA: what was read is not
 * what was written. */
json_t *stencil_bench_options_json(const stencil_bench_options *options);
stencil_status stencil_bench_options_read(const json_t *object, stencil_bench_options *options);

#endif
