/* State of a run on GPUs: device memory, streams, and functions that its time loops share. A build without
 * CUDA declares only the type names. Internal to solver/. */
#pragma once

#include "base/cuda.h"
#include "kernels/arrays.h"
#include "kernels/packing.h"
#include "kernels/table.h"
#include "solver/machine/nccl.h"
#include "solver/device/mapping.h"
#include "solver/device/messages.h"
#include "solver/parts/reduction.h"
#include "solver/parts/workers.h"
#include "solver/problem/domain.h"
#include "solver/problem/factors.h"
#include "solver/plan/plan.h"
#include "sync/host.h"

typedef struct stencil_gpu_part stencil_gpu_part;
typedef struct stencil_gpu_run stencil_gpu_run;

/* Upper limit on the device allocations of one part. */
enum { STENCIL_GPU_ARRAYS_MAX = 32 };

#ifdef STENCIL_HAVE_CUDA
/* One part of a run, on one GPU. Functions that take a part expect its device to be the calling thread's. */
struct stencil_gpu_part {
    stencil_gpu_run *run;
    int part, device; /* number of the part in the cut, and its GPU */
    const stencil_plan *plan;
    stencil_kernel_args args; /* arguments that every kernel launch of this part is copied from */
    void *u[2];               /* device addresses of updated cell (0, 0, 0) in buffers 0 and 1 */
    /* edge_stream computes and copies the edge cells while `stream` computes the inner cells. */
    cudaStream_t stream, edge_stream;
    cudaEvent_t begin, end, step_done, edges_done;
    cudaEvent_t polled;  /* after the last pass that was queued when the host looked at its observers */
    cudaEvent_t made[2]; /* made[b]: after the last pass that read buffer b, for other parts */
    bool shared;         /* another part of the run uses the same device */
    bool lent;           /* `stream` is borrowed from another run */
    bool programmatic;   /* device and kernels have programmatic dependent launch */
    /* Device allocations of this part, owned: its buffers and all arrays that `args` points to. */
    void *memory[STENCIL_GPU_ARRAYS_MAX];
    int memory_count;
    stencil_control *control_host; /* pinned, owned; args.mailbox is owned, too, and mapped into the device */
    uint32_t partners; /* strategy single-thread: set of parts that exchange cells with this part */
    stencil_packing sent,
        received; /* boxes of messages to other ranks, and from there; their boxes are owned */
};

/* Memory of a part, in this process or another one, that kernels of other parts reach; its fields are in
 * run->reached. */
typedef struct stencil_gpu_reach {
    stencil_control *control;
    double *partial, *level; /* partial: of number 0, which may be another part's */
    uint64_t *words;         /* in which resident tiles exchange rows */
    uint64_t *slots;         /* of the exchange LL */
    uint32_t *barrier;       /* words; NULL: the barrier allocates them */
} stencil_gpu_reach;

/* Run of a plan on its GPUs, divided into one or more parts: all of the cut, or this rank's. */
struct stencil_gpu_run {
    const stencil_plan *plan;
    int parts;
    stencil_gpu_part part[STENCIL_PARTS_MAX]; /* [parts], see stencil_gpu_part_of() */
    stencil_buffers buffers; /* addresses of the cell arrays on the devices, owned or borrowed */
    /* Parts whose memory kernels of this process reach: its own, or those of all ranks. */
    stencil_cut whole;       /* the cut, as if this process had all of them */
    stencil_buffers reached; /* their cell arrays; of parts of other ranks the field only */
    stencil_gpu_reach reach[STENCIL_PARTS_MAX];
    stencil_mapping fields, beside;   /* where the plan spans ranks: both buffers of the field; the rest */
    stencil_exchange *results;        /* likewise: sums of groups that the ranks have combined, in `values` */
    stencil_halo_transfers transfers; /* halo copies to make after each step with STENCIL_HALO_COPY */
    stencil_schedule schedule;
    stencil_weights *cycle; /* [cycle_length], owned: weights of the step after s steps at s % cycle_length */
    int cycle_length;
    stencil_factors factors; /* of the steps of the batch, where they change in time */
    void *rounded;           /* owned: the same, in the precision of the field */
    int64_t factors_bytes;   /* bytes of either */
    int palette_count;       /* rows of the palette, whose weights follow those of the cycle */
    stencil_barrier barrier;
    stencil_neighbors neighbors; /* blocks that each block waits for with barrier neighbor; owned */
    const struct stencil_strategy *strategy; /* time loop that makes the steps of this run */
    bool ends;   /* event `end` of all parts is recorded behind the last launch of the batch so far */
    bool leaves; /* an observer wants the end of the batch: nothing more is queued ahead */
    void *loop;  /* state of `strategy` between batches, made by open_gpu, freed by close_gpu */
    bool
        combine_on_host; /* several parts without peer access, or several ranks: the host combines all sums */
    double *values;      /* pinned: partial sums, or sums of their groups; then scratch space */
    void *staging; /* pinned: staging memory for a slab of a part, including the gaps between its rows */
    int64_t staging_bytes;
    stencil_taken *taken; /* device memory, owned, of the first part; NULL: no array was taken */
    double *partials;     /* likewise: partial sums of a source that was taken */
    /* One of several ranks has one part, and: */
    stencil_messages messages; /* ghost cells that other ranks update */
    void *message_memory;      /* pinned, owned: of the messages */
    stencil_mapping mapped;    /* memory in which ranks store each other's messages, where they can */
    stencil_nccl *nccl; /* owned: makes the exchange of by_nccl[by_nccl_count], in memory of the device */
    stencil_message *by_nccl;
    int by_nccl_count;
    uint32_t exchanges;          /* made so far */
    stencil_reduction reduction; /* the partial sums of this rank, and what of them travels */
    stencil_group_sums groups;   /* of the reduction's level 0: what the device combines; `to` is owned */
};

/* A part of this process, by its number in the cut. */
static inline const stencil_gpu_part *stencil_gpu_part_of(const stencil_gpu_run *run, int part) {
    return &run->part[part - run->plan->cut.own];
}

/* Selects the devices, loads the kernels and allocates memory; after success and failure the caller must call
 * stencil_gpu_destroy(). lender: a run with the same cut on the same devices, which outlives the new run and
 * makes no steps while the new run does; its cell arrays are borrowed and, where they suit, its streams (a
 * GPU executes only few streams at once). NULL: nothing is borrowed. */
stencil_status stencil_gpu_create(stencil_gpu_run *run, const stencil_plan *plan,
                                  const stencil_problem *problem, const stencil_gpu_run *lender);
/* Loads a box of cells of one part from a reader; array u must be loaded in one call for the whole part. */
stencil_status stencil_gpu_load(const stencil_gpu_run *run, int part, stencil_array array,
                                const stencil_box *box, const stencil_reader *from);

/* An array of another program in the memory of the device of all parts, for a run's cells. */
typedef struct stencil_gpu_array {
    const stencil_problem *problem;
    const stencil_strided *at;
    double scale, again; /* see stencil_array_move */
    bool sums;           /* partial sums of the cells are wanted */
} stencil_gpu_array;

/* take: copies a box of cells from an array; array u must be taken in one call for the whole part. Fills in
 * *taken. sums: copies the partial sums of all boxes of b to `to`. give: copies a box of a part's buffer to
 * an array. All of them wait for the copies, which follow all work that the host has waited for. */
stencil_status stencil_gpu_take(stencil_gpu_run *run, int part, stencil_array array, const stencil_box *box,
                                const stencil_gpu_array *from, stencil_taken *taken);
stencil_status stencil_gpu_sums(const stencil_gpu_run *run, const stencil_problem *problem, double *to);
stencil_status stencil_gpu_give(stencil_gpu_run *run, int part, int buffer, const stencil_box *box,
                                const stencil_gpu_array *to);

/* Copies a box of a part's buffer while the device is idle: from the reader `from` to the device or, if
 * `from` is NULL, from the device to the host cells `to`. */
stencil_status stencil_gpu_move(const stencil_gpu_run *run, int part, int buffer, const stencil_box *box,
                                const stencil_reader *from, const stencil_cells *to);
/* keep: copies all cells of a buffer of the only part of this rank to host memory of the same layout;
 * restore: copies them from there to both buffers. While the device is idle. */
stencil_status stencil_gpu_keep(const stencil_gpu_run *run, int buffer, void *to);
stencil_status stencil_gpu_restore(const stencil_gpu_run *run, const void *from);
/* Marks the groups and the bits of a part's cells, where cells have classes; to be called once all classes of
 * the part are loaded, those of ghost cells included. */
stencil_status stencil_gpu_mark(const stencil_gpu_run *run, int part);
/* Divides the rows of a part whose cells are marked among the lines of warps of passes of several steps by
 * what the rows cost, where the plan's kernel has such shares. */
stencil_status stencil_gpu_share(const stencil_gpu_run *run, const stencil_problem *problem, int part);
void stencil_gpu_destroy(stencil_gpu_run *run);

/* Calls function(part, context) for all parts concurrently, each in a host thread that has set the part's
 * device; with several GPUs each thread is pinned to cores near its GPU. Part 0 runs in the calling thread.
 * Returns after all calls, with the failure of the lowest part that failed. */
stencil_status stencil_gpu_each(stencil_gpu_run *run, stencil_status (*function)(stencil_gpu_part *, void *),
                                void *context);

/* Sets the steps that the launches of a batch check, and their stopping criteria. */
void stencil_gpu_set_schedule(stencil_gpu_run *run, const stencil_schedule *schedule);

/* Prepares a batch of steps after `first` steps, while the devices are idle: its factors in time may be
 * others. */
stencil_status stencil_gpu_begin_batch(stencil_gpu_run *run, const stencil_problem *problem, int64_t first,
                                       int64_t count);

/* Sets in `args` which steps the next launch makes, from which buffer, and the weights of the first step: one
 * pass, or any number of steps if the cycle of weights has length 1. */
void stencil_gpu_set_steps(const stencil_gpu_part *gpu, stencil_kernel_args *args, int64_t first,
                           int64_t count, int from);

/* Launches a pass with `args`; `programmatic`: its blocks may start before the preceding launch has ended. */
stencil_status stencil_gpu_launch(const stencil_gpu_part *gpu, stencil_kernel_args *args,
                                  const stencil_pass *pass, bool programmatic, cudaStream_t stream);
/* Launches a pass with the part's own arguments; a pass whose last step is checked sums partial residuals. */
stencil_status stencil_gpu_launch_pass(stencil_gpu_part *gpu, const stencil_pass *pass);
/* Queues a pass with the part's own arguments and its halo copies; later work in `stream` follows both.
 * Messages to other ranks are sent, and those from there have come, when it returns. */
stencil_status stencil_gpu_advance(stencil_gpu_part *gpu, const stencil_pass *pass);

/* Allocates device memory that the part owns: a copy of `from`, or zeros if `from` is NULL. reached: zeros
 * that other parts reach, those of other ranks, too. */
stencil_status stencil_gpu_own(stencil_gpu_part *gpu, void *to, const void *from, size_t bytes);
stencil_status stencil_gpu_own_reached(stencil_gpu_part *gpu, void *to, size_t bytes);

/* Copies data to memory of the current device, where they are when it returns: the streams that launch
 * kernels do not wait for a copy from memory that is not pinned, and cudaMemcpy() need not either. */
stencil_status stencil_gpu_put(void *to, const void *from, size_t bytes);

/* Fill in run->reached, once the parts of this process have their buffers, and run->reach, once they have all
 * their memory, unless it is lent; both are collective where the plan spans ranks. Errors: INTERNAL: a rank
 * cannot map what it could before. close: ends the mappings. */
stencil_status stencil_gpu_reach_fields(stencil_gpu_run *run, const stencil_gpu_run *lender);
stencil_status stencil_gpu_reach_others(stencil_gpu_run *run);
void stencil_gpu_reach_close(stencil_gpu_run *run);
/* Both are for plans that span ranks; for others agree returns `status`, and exchange_results does nothing.
 * agree: ends a stage of all ranks, see stencil_world_agree(). exchange_results: all ranks get the sums of
 * groups that the others have in run->values. */
stencil_status stencil_gpu_agree(const stencil_gpu_run *run, stencil_status status);
void stencil_gpu_exchange_results(const stencil_gpu_run *run);

/* Exchanges of a rank with others (solver/device/gpu_messages.c). create: before the memory of its part.
 * send: queues what packs the ghost cells of others after a pass and, by NCCL, what sends them and waits for
 * those of this rank. exchange: else does both once `packed` has come; and queues what unpacks them, where
 * `packed` is before. start_reduction and reduce: the residual,
 * as stencil_gpu_start_combine() and stencil_gpu_residual(). */
stencil_status stencil_gpu_messages_create(stencil_gpu_run *run);
void stencil_gpu_messages_destroy(stencil_gpu_run *run);
stencil_status stencil_gpu_send(const stencil_gpu_part *gpu, const stencil_pass *pass, cudaStream_t stream);
stencil_status stencil_gpu_exchange(const stencil_gpu_part *gpu, const stencil_pass *pass,
                                    cudaEvent_t packed);
stencil_status stencil_gpu_start_reduction(stencil_gpu_part *gpu);
double stencil_gpu_reduce(stencil_gpu_run *run);

/* Residual of a checked step, in three calls: start_combine queues the combination of a part's partial sums
 * and its copy to the host; wait synchronises with the part's stream; residual returns the value at last. */
stencil_status stencil_gpu_start_combine(stencil_gpu_part *gpu);
stencil_status stencil_gpu_wait(stencil_gpu_part *gpu);
double stencil_gpu_residual(stencil_gpu_run *run);
/* Queues the residual of a checked step of a run of one part: once the stream is there, it is in the mailbox,
 * and control->reason is what it decides. */
stencil_status stencil_gpu_start_judge(stencil_gpu_run *run);

/* Queues a kernel on the first GPU that writes to an unmapped address, for tests. */
stencil_status stencil_gpu_break(stencil_gpu_run *run);

/* Sets *time_s to the longest time of any part from its event `begin` to `end`, in seconds. */
stencil_status stencil_gpu_time_s(stencil_gpu_run *run, double *time_s);
#endif
