/* Orders of benchmark `message` that all ranks carry out together: rank 0 gives them, and times them. */
#pragma once

#include "bench/benchmark.h"
#include "solver/parts/cut.h"
#include "solver/plan/late.h"

typedef enum stencil_order_kind {
    STENCIL_ORDER_END,   /* the ranks stop serving */
    STENCIL_ORDER_HOSTS, /* they say on which hosts they are */
    STENCIL_ORDER_TRAIN, /* rank 0 sends messages to `peer`, which answers the last one */
    STENCIL_ORDER_HALO,  /* each rank sends ghost cells to its neighbours */
    STENCIL_ORDER_REDUCTION,
    STENCIL_ORDER_BARRIER,
    STENCIL_ORDER_PASSES /* ranks sleep for the passes of a simulation, and wait for their neighbours'
                            messages */
} stencil_order_kind;

typedef struct stencil_order {
    stencil_order_kind kind;
    int64_t count; /* repetitions */
    bool check;    /* what arrives is compared with what was sent */
    bool flip;     /* a sender flips a bit, which the check must find */
    /* TRAIN: `messages` of so many bytes, with a pause behind the begin of each but the last. */
    int peer, messages;
    int64_t bytes;
    double pause_s;
    bool both;   /* the answer does not wait for the messages: both ways at once */
    bool device; /* they lie in the memory of a GPU */
    /* HALO: the cut, whose shape is found by its name. */
    stencil_cut cut;
    char shape[32];
    stencil_late late; /* PASSES, all of them in each repetition */
} stencil_order;

/* Has all ranks carry out an order; *seconds is what the repetitions took in rank 0, which calls it.
 * each[order->count] (NULL: not asked for): of a TRAIN, the seconds of each repetition without the pauses.
 * Errors, the same in all ranks: NO_MEMORY; INTERNAL where something else arrived than was sent. */
stencil_status stencil_ranks_order(const stencil_bench_ranks *ranks, const stencil_order *order, double *each,
                                   double *seconds);

/* Returns the bytes of the messages that a rank sends for an order HALO, the number of which is *messages. */
int64_t stencil_ranks_halo_bytes(const stencil_cut *cut, int rank, int *messages);

/* The hosts of the ranks. */
typedef struct stencil_hosts {
    int count;
    int inside, between; /* the first rank on the host of rank 0, and on another host; 0: there is none */
} stencil_hosts;
stencil_status stencil_ranks_hosts(const stencil_bench_ranks *ranks, stencil_hosts *hosts);
