/* A run on the CPU: buffers and the pieces that its time loops are made of. Internal to solver/. */
#pragma once

#include "kernels/cpu.h"
#include "solver/problem/domain.h"
#include "solver/problem/boxes.h"
#include "solver/device/stores.h"
#include "solver/parts/workers.h"
#include "sync/host.h"

typedef struct stencil_cpu {
    const stencil_plan *plan;
    stencil_domain domain[STENCIL_PARTS_MAX];
    int64_t row_base[STENCIL_PARTS_MAX + 1]; /* rows of the parts before */
    stencil_schedule schedule;
    stencil_cpu_sweep sweep;
    stencil_weights *cycle; /* [cycle_length], owned: of the step that follows s steps those at s % that */
    int cycle_length;
    int threads;
    stencil_buffers buffers;
    stencil_field field[STENCIL_PARTS_MAX][STENCIL_BUFFERS]; /* what they stand in */
    double *partial,
        *level; /* partial sums of the whole problem; scratch of all reduction levels; one allocation */
    stencil_barrier_state state; /* of the barrier; `words` owned */
    stencil_neighbors neighbors;
    stencil_fault fault;
    stencil_trace trace;         /* of a batch that is only timed; else zeroed */
    stencil_stores_trial *trial; /* [threads], owned */
    char *scratch;               /* of deep passes: scratch_bytes for each thread, owned; or NULL */
    int64_t scratch_bytes;
    stencil_halo_transfers transfers; /* to be copied after each pass; none: the sweep stores them */
} stencil_cpu;

/* NO_MEMORY with need and have; whatever it returns, destroy has to follow. lent: arrays of another run of
 * the same cut, which outlives this one; NULL: its own. */
stencil_status stencil_cpu_create(stencil_cpu *cpu, const stencil_plan *plan, const stencil_problem *problem,
                                  const stencil_buffers *lent);
/* Reads a box of a part's cells. */
stencil_status stencil_cpu_load(stencil_cpu *cpu, int part, stencil_array array, const stencil_box *box,
                                const stencil_reader *from);
/* Reports how results were stored. */
void stencil_cpu_report(const stencil_cpu *cpu, stencil_store_report *report);
void stencil_cpu_destroy(stencil_cpu *cpu);

/* Thread `thread` of `threads` makes its rows of a pass, and its share of the halo copies where the plan
 * wants them. Called by all threads of the OpenMP team, which then waits for all of them. */
void stencil_cpu_advance(const stencil_cpu *cpu, const stencil_pass *pass, int thread, int threads);

/* UNAVAILABLE where OpenMP gave a team of another size than the run has: shares, and what threads keep of
 * their own, are of that size. */
stencil_status stencil_cpu_check_team(const stencil_cpu *cpu, int threads);

/* Thread `thread` notes a moment of the pass up to step `step` (1, 2, …; 0 is none), where that is traced. */
void stencil_cpu_note(const stencil_cpu *cpu, int64_t step, int thread, stencil_mark mark);

/* Passes the barrier behind a pass, disturbed as the test asks; NULL: one within a check. false: its time is
 * over. */
bool stencil_cpu_sync(stencil_cpu *cpu, const stencil_pass *pass, int thread, bool all);

/* The residual of the step just made. Called by every thread of the team that made it (the OpenMP team of the
 * caller); all get the same number. Contains barriers; false: their time is over. */
bool stencil_cpu_residual(stencil_cpu *cpu, int thread, int threads, double *residual);
