/* A run on the CPU: buffers and the pieces that its time loops are made of. Internal to solver/. */
#pragma once

#include "kernels/cpu.h"
#include "solver/problem/domain.h"
#include "solver/problem/boxes.h"
#include "solver/parts/workers.h"
#include "solver/plan/plan.h"
#include "sync/host.h"

/* Whether the results of a sweep go through the cache or past it, where the size of the fields does not say:
 * tried with the first passes of the run (cpu_stores.c; a pass of the plain sweep is a step). Both ways give
 * the same bits, so no step is lost. Each way has so many turns, in alternation; the best pass of each
 * counts, so that a fault has to hit all turns of a way to matter. After so many passes they are tried again,
 * since a cache is shared with others. */
enum { STENCIL_STORES_TURNS = 3, STENCIL_STORES_AGAIN = 8192 };

/* Passes of a turn before the one that is timed: they bring the cache into the state that this way leaves.
 * One that just holds the fields gets hold of them again in four. */
enum { STENCIL_STORES_WARM_CACHED = 4, STENCIL_STORES_WARM_STREAMING = 1 };
enum {
    STENCIL_STORES_STEPS =
        STENCIL_STORES_TURNS * (STENCIL_STORES_WARM_CACHED + 1 + STENCIL_STORES_WARM_STREAMING + 1)
};

/* What one thread finds out with its own rows, in two lines of a cache, as they are fetched in pairs. */
typedef struct stencil_stores_trial {
    _Alignas(128) bool streaming; /* the way of the next pass */
    bool timed;                   /* the next pass may count: its time is wanted */
    bool looked_at;               /* the last pass was */
    int turn, warm;               /* turns done; passes done in this one */
    int64_t step;                 /* passes since the trial began */
    double best_s[2];             /* of a step of the best pass of this trial, [streaming] */
    double found_s[2];            /* of the last one that came to an end; NaN: none has */
} stencil_stores_trial;

/* Decides by size: for `threads` threads that share (or each have) a last-level cache of cache_bytes, 0 where
 * that is unknown. */
stencil_stores stencil_stores_choose(const stencil_problem *problem, int threads, int64_t cache_bytes);

void stencil_stores_begin(stencil_stores_trial *trial, stencil_stores stores);

/* A pass was made whose steps took step_s each (any number unless trial->timed); looked_at: with a residual,
 * or with fewer steps than others. */
void stencil_stores_note(stencil_stores_trial *trial, double step_s, bool looked_at);

/* The way that was chosen last, whatever is tried just now. */
bool stencil_stores_chosen(const stencil_stores_trial *trial);

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
    stencil_barrier_id barrier;  /* none: the end of a parallel loop */
    stencil_barrier_state state; /* of the barrier; `words` owned */
    stencil_neighbors neighbors;
    stencil_fault fault;
    stencil_trace trace;         /* of a batch that is only timed; else zeroed */
    stencil_stores_trial *trial; /* [threads], owned */
    char *scratch;               /* of deep passes: scratch_bytes for each thread, owned; or NULL */
    int64_t scratch_bytes;
    stencil_halo_transfers transfers; /* to be copied after each pass; none: the sweep stores them */
} stencil_cpu;

/* Bytes that a run holds. */
int64_t stencil_cpu_bytes(const stencil_problem *problem, const stencil_cut *cut);
/* And each of its threads, for passes of several steps; whole pages. */
int64_t stencil_cpu_scratch_bytes(const stencil_plan *plan, const stencil_problem *problem);

/* NO_MEMORY with need and have; whatever it returns, destroy has to follow. lent: arrays of another run of
 * the same cut, which outlives this one; NULL: its own. */
stencil_status stencil_cpu_create(stencil_cpu *cpu, const stencil_plan *plan, const stencil_problem *problem,
                                  const stencil_buffers *lent);
/* Reads a box of a part's cells. */
stencil_status stencil_cpu_load(stencil_cpu *cpu, int part, stencil_array array, const stencil_box *box,
                                const stencil_reader *from);
/* How results were stored. */
void stencil_cpu_report(const stencil_cpu *cpu, stencil_report *report);
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
