/* State of a run on the CPU: its buffers and the functions that its time loops call. Internal to solver/. */
#pragma once

#include "kernels/cpu.h"
#include "solver/problem/domain.h"
#include "solver/problem/factors.h"
#include "solver/problem/boxes.h"
#include "solver/device/messages.h"
#include "solver/device/stores.h"
#include "solver/parts/reduction.h"
#include "solver/parts/workers.h"
#include "sync/host.h"

/* The notes that a thread makes of its passes, on a cache line of its own. */
typedef struct stencil_cpu_notes {
    int64_t passes; /* number of passes that it has begun since the trace was set */
    int64_t sample; /* sample number of the last one; -1: it is not noted */
    char unused[48];
} stencil_cpu_notes;

typedef struct stencil_cpu {
    const stencil_plan *plan;
    stencil_domain domain[STENCIL_PARTS_MAX];   /* of each part of this process, like all arrays of parts */
    stencil_classes classes[STENCIL_PARTS_MAX]; /* `of` NULL: all cells are plain */
    int64_t row_base[STENCIL_PARTS_MAX + 1];    /* row_base[k]: number of rows in own parts before the k-th */
    stencil_schedule schedule;
    stencil_cpu_sweep sweep;
    stencil_weights *cycle; /* [cycle_length], owned: weights of the step after s steps at s % cycle_length */
    int cycle_length;
    stencil_sums sums[STENCIL_PARTS_MAX]; /* arrays of each part whose factors change in time */
    stencil_factors factors;              /* of the steps of the batch, where they change in time */
    stencil_weights *own_weights; /* [threads][depth + 1], owned: of the steps of a thread's pass, with the
                                     factors of these; NULL: no factor changes in time */
    int threads;
    stencil_buffers buffers;
    stencil_field field[STENCIL_PARTS_MAX][STENCIL_BUFFERS]; /* owns the memory of `buffers` */
    double *partial, *level;     /* `level`: scratch space, followed by the partial sums of the whole problem;
                                    NULL     where it has several ranks, which have: */
    stencil_reduction reduction; /* the partial sums of this rank, and what of them travels */
    double combined;             /* last value of the reduction, set by the first thread for all */
    stencil_barrier_state state; /* state of the barrier; its `words` are owned */
    stencil_neighbors neighbors;
    stencil_fault fault;
    stencil_trace trace;         /* parts of a step that timed batches record or leave out */
    stencil_cpu_notes *notes;    /* [threads], owned */
    stencil_stores_trial *trial; /* [threads], owned: trial of cached and streaming stores in each thread */
    char *scratch;               /* scratch_bytes for each thread, owned; NULL: passes have one step */
    int64_t scratch_bytes;
    stencil_halo_transfers transfers; /* halo copies after each pass; empty if the sweep stores ghost cells */
    stencil_messages messages;        /* ghost cells that other ranks update */
    void *message_memory;             /* of the messages, owned */
} stencil_cpu;

/* Creates the CPU state of a run; the caller must call stencil_cpu_destroy() even on failure. lent: arrays of
 * another run with the same cut, which outlives this run; NULL: none. Errors: NO_MEMORY with all bytes. */
stencil_status stencil_cpu_create(stencil_cpu *cpu, const stencil_plan *plan, const stencil_problem *problem,
                                  const stencil_buffers *lent);
/* Prepares a batch of steps after `first` steps, whose factors in time may be others. */
void stencil_cpu_begin_batch(stencil_cpu *cpu, const stencil_problem *problem, int64_t first, int64_t count);
/* Reads a box of a part's cells from the reader `from` into its buffers. */
stencil_status stencil_cpu_load(stencil_cpu *cpu, int part, stencil_array array, const stencil_box *box,
                                const stencil_reader *from);
/* Marks the groups of a part's cells, where cells have classes; to be called once all of these are loaded. */
void stencil_cpu_mark(const stencil_cpu *cpu, int part);
/* Reports how many threads use streaming stores, and the times of both ways to store. */
void stencil_cpu_report(const stencil_cpu *cpu, stencil_store_report *report);
void stencil_cpu_destroy(stencil_cpu *cpu);

/* Thread `thread` of `threads` computes its share of the rows of a pass and makes its share of the halo
 * copies of the plan; the first thread exchanges messages with other ranks. Called by all threads of the
 * OpenMP team, which need a barrier afterwards, of all of them where there are messages. May contain
 * barriers; returns false if one timed out. */
bool stencil_cpu_advance(const stencil_cpu *cpu, const stencil_pass *pass, int thread, int threads);

/* Errors: UNAVAILABLE if an OpenMP team has not cpu->threads threads, among which rows are shared. */
stencil_status stencil_cpu_check_team(const stencil_cpu *cpu, int threads);

/* Sets what the following batches record and leave out, and counts passes and launches from 0. */
void stencil_cpu_set_trace(stencil_cpu *cpu, const stencil_trace *trace);

/* Begins a pass of a thread; note: records a time stamp of it, if the pass is traced; note_launch: records
 * one of the thread in the time loop of a batch. */
void stencil_cpu_begin_pass(const stencil_cpu *cpu, int thread);
void stencil_cpu_note(const stencil_cpu *cpu, int thread, stencil_mark mark);
void stencil_cpu_note_launch(const stencil_cpu *cpu, int thread, stencil_launch_mark mark);

/* Passes the barrier after a pass, with the delays of the fault that a test asked for; pass NULL: a barrier
 * within the residual reduction. all: not only neighbours meet. Returns false if the barrier timed out. */
bool stencil_cpu_sync(stencil_cpu *cpu, const stencil_pass *pass, int thread, bool all);

/* Computes the residual of the step just made. Called by every thread of the OpenMP team; all get the same
 * number. Contains barriers; returns false if one timed out. */
bool stencil_cpu_residual(stencil_cpu *cpu, int thread, int threads, double *residual);
