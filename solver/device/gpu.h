/* A run on GPUs: device memory, streams, and what its time loops share. Internal to solver/. Without CUDA
 * only the names are there. */
#pragma once

#include "base/cuda.h"
#include "kernels/table.h"
#include "solver/parts/workers.h"
#include "solver/problem/domain.h"
#include "solver/plan/plan.h"
#include "sync/host.h"

typedef struct stencil_gpu_part stencil_gpu_part;
typedef struct stencil_gpu_run stencil_gpu_run;

/* Pieces of device memory that a part has at the most. */
enum { STENCIL_GPU_ARRAYS_MAX = 16 };

#ifdef STENCIL_HAVE_CUDA
/* One part of a run, on one GPU. Functions that take one expect its device to be the calling thread's. */
struct stencil_gpu_part {
    stencil_gpu_run *run;
    int part, device;
    const stencil_plan *plan;
    stencil_kernel_args args; /* what every launch starts from */
    void *u[2];               /* updated cell (0, 0, 0) of buffers 0 and 1 */
    /* The second one for edges that are copied while the rest is computed. */
    cudaStream_t stream, edge_stream;
    cudaEvent_t begin, end, step_done, edges_done;
    cudaEvent_t made[2]; /* behind the last pass from each buffer, for other parts */
    bool shared;         /* other parts have the same device */
    bool lent;           /* the stream, by another run */
    bool programmatic;   /* the device has programmatic dependent launch, and the kernels wait for the one
                            before */
    /* Device memory, owned: the part's buffers and all that `args` points to. */
    void *memory[STENCIL_GPU_ARRAYS_MAX];
    int memory_count;
    stencil_control *control_host; /* pinned memory, owned, as is args.mailbox, which is mapped */
    uint32_t partners;             /* for single-thread: parts that it exchanges cells with, a bit each */
};

/* Run on all GPUs of a plan, a part each. */
struct stencil_gpu_run {
    const stencil_plan *plan;
    int parts;
    stencil_gpu_part part[STENCIL_PARTS_MAX];
    stencil_buffers buffers;          /* device memory, owned or lent */
    stencil_halo_transfers transfers; /* made after each step, in mode COPY */
    stencil_schedule schedule;
    stencil_weights *cycle; /* [cycle_length], owned: of the step that follows s steps those at
                               s % cycle_length */
    int cycle_length;
    stencil_barrier barrier;
    stencil_neighbors neighbors; /* whom its blocks wait for, where they do not wait for all; owned */
    const struct stencil_strategy *strategy; /* that makes its steps */
    void *loop;                              /* what that keeps between batches, owned by it */
    bool combine_on_host; /* parts do not reach each other: partial sums come to the host as they are */
    double *values;       /* pinned: partial sums, or those of their groups; and room to combine them */
    void *staging;        /* pinned: a slab of a part, with the gaps between its rows */
    int64_t staging_bytes;
};

/* Takes the devices, loads the kernels, allocates; whatever it returns, destroy has to follow. lender: a run
 * of the same cut on the same devices, which outlives this one and makes no steps while this one does: its
 * arrays and, where they will do, its streams, of which a GPU runs not many at once; NULL: its own. */
stencil_status stencil_gpu_create(stencil_gpu_run *run, const stencil_plan *plan,
                                  const stencil_problem *problem, const stencil_gpu_run *lender);
/* Gives a part a box of its cells; of u all at once. */
stencil_status stencil_gpu_load(const stencil_gpu_run *run, int part, stencil_array array,
                                const stencil_box *box, const stencil_reader *from);
/* Moves a box of a part's buffer while nothing runs on the device: there from a reader, or, where that is
 * NULL, back `to` the host. */
stencil_status stencil_gpu_move(const stencil_gpu_run *run, int part, int buffer, const stencil_box *box,
                                const stencil_reader *from, const stencil_cells *to);
void stencil_gpu_destroy(stencil_gpu_run *run);

/* Calls function(part, context) for every part at once, each in a thread of its own with the part's device
 * taken; with several GPUs it is pinned near its own. Part 0 has the calling thread. Waits for all; the
 * failure of the first part that failed. */
stencil_status stencil_gpu_each(stencil_gpu_run *run, stencil_status (*function)(stencil_gpu_part *, void *),
                                void *context);

/* Sets what the next launches check and decide; called before the first of them. */
void stencil_gpu_set_schedule(stencil_gpu_run *run, const stencil_schedule *schedule);

/* Sets which steps the next launch with `args` makes, from which buffer, with the weights of the first of
 * them: one pass, or any number of steps where the cycle has length 1. */
void stencil_gpu_set_steps(const stencil_gpu_part *gpu, stencil_kernel_args *args, int64_t first,
                           int64_t count, int from);

/* Launches a pass with `args`; `programmatic`: its blocks may be set up before the launch before it has
 * ended. */
stencil_status stencil_gpu_launch(const stencil_gpu_part *gpu, stencil_kernel_args *args,
                                  const stencil_pass *pass, bool programmatic, cudaStream_t stream);
/* Launches a pass with the part's own arguments, checked when it is time to. */
stencil_status stencil_gpu_launch_pass(stencil_gpu_part *gpu, const stencil_pass *pass);
/* Launches a pass with the part's own arguments and the halo copies that the plan wants, queued so that what
 * is queued in `stream` next comes after all of it. */
stencil_status stencil_gpu_advance(stencil_gpu_part *gpu, const stencil_pass *pass);

/* After a step that was checked: combines this part's results of partial sums and brings them to the host,
 * queued; waits for everything queued; and, when all parts have: the residual. */
stencil_status stencil_gpu_start_combine(stencil_gpu_part *gpu);
stencil_status stencil_gpu_wait(stencil_gpu_part *gpu);
double stencil_gpu_residual(stencil_gpu_run *run);

/* For tests: queues a kernel that writes to an address that nobody has, on the first GPU. */
stencil_status stencil_gpu_break(stencil_gpu_run *run);

/* The longest time between the events `begin` and `end` of the parts, which the loop has recorded. */
stencil_status stencil_gpu_time_s(stencil_gpu_run *run, double *time_s);
#endif
