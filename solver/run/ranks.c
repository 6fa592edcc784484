/* Cells of a run that lie in several ranks: rank 0 asks the others for boxes while it does what needs them,
 * and they answer until it tells them to go on. Cells travel in slabs, so that no rank has more than its own.
 */
#include <stdlib.h>

#include "solver/run/drive.h"

/* A request of rank 0: for cells of a box that the rank has, or to go on. */
typedef struct request {
    bool goes_on;
    stencil_array array;
    stencil_box box;
} request;

/* Bytes of a slab that travels. */
enum { SLAB_BYTES = 1 << 20 };

static stencil_precision precision_of(const stencil_run *r, stencil_array array) {
    return stencil_array_precision(array, r->on.plan->cut.mesh.precision);
}

/* Bytes of memory for the slabs of a request. */
static int64_t bytes_of(const stencil_run *r, const request *q) {
    const int64_t bytes = (int64_t)stencil_precision_bytes(precision_of(r, q->array));
    const stencil_box slab = stencil_slab_first(&q->box, SLAB_BYTES / bytes);
    return stencil_box_cells(&slab) * bytes;
}

/* Sends the cells of a box of this rank's part, or receives those of another rank, slab by slab. */
static stencil_status move(const stencil_run *r, int peer, const request *q, void *memory,
                           const stencil_cells *to) {
    stencil_world *world = r->on.plan->world;
    const int64_t bytes = (int64_t)stencil_precision_bytes(precision_of(r, q->array)),
                  most = SLAB_BYTES / bytes;
    stencil_box slab = stencil_slab_first(&q->box, most);
    stencil_status status = STENCIL_OK;
    do {
        const stencil_cells packed = stencil_cells_dense(precision_of(r, q->array), memory, &slab);
        const size_t size = (size_t)(stencil_box_cells(&slab) * bytes);
        if (to != NULL) {
            const stencil_cells there = stencil_cells_from(to, slab.first);
            stencil_world_receive(world, peer, memory, size);
            stencil_cells_copy(&there, &packed, slab.n);
        } else {
            status = stencil_run_read_own(r, q->array, &slab, &packed);
            stencil_world_send(world, peer, memory, size);
        }
    } while (status == STENCIL_OK && stencil_slab_next(&slab, &q->box, most));
    return status;
}

/* Makes the request of this rank, rank 0, to the rank of another part; returns false where that has no such
 * cells. */
static bool ask_of(const stencil_run *r, int part, stencil_array array, const stencil_box *box, request *q) {
    *q = (request){.array = array, .box = stencil_run_held(r, part, array, box)};
    return !stencil_cut_has(&r->on.plan->cut, part) && stencil_box_cells(&q->box) > 0;
}

/* Reads the cells of a box that other ranks hold, which serve this one, rank 0. It has the memory before it
 * asks: who is asked sends all. */
static stencil_status read_others(const stencil_run *r, stencil_array array, const stencil_box *box,
                                  const stencil_cells *to) {
    const stencil_cut *cut = &r->on.plan->cut;
    request q;
    int64_t most = 0;
    void *memory = NULL;
    for (int part = 0; part < cut->parts; part++)
        if (ask_of(r, part, array, box, &q) && bytes_of(r, &q) > most)
            most = bytes_of(r, &q);
    if (most == 0)
        return STENCIL_OK;
    TRY(stencil_memory_alloc(&memory, most, "cells that travel between ranks"));
    for (int part = 0; part < cut->parts; part++) /* all are asked before the first one answers */
        if (ask_of(r, part, array, box, &q))
            stencil_world_send(r->on.plan->world, part / cut->owned, &q, sizeof q);
    stencil_status status = STENCIL_OK;
    for (int part = 0; part < cut->parts && status == STENCIL_OK; part++)
        if (ask_of(r, part, array, box, &q))
            status = move(r, part / cut->owned, &q, memory, to);
    free(memory);
    return status;
}

stencil_status stencil_run_read(void *run, stencil_array array, const stencil_box *box,
                                const stencil_cells *to) {
    const stencil_run *r = run;
    TRY(stencil_run_read_own(r, array, box, to));
    if (!stencil_world_alone(r->on.plan->world))
        TRY(read_others(r, array, box, to));
    if (r->exponent != 0 && stencil_array_has_values(array))
        stencil_cells_scale(to, box->n, -r->exponent);
    return STENCIL_OK;
}

/* Answers rank 0 until it goes on. */
static stencil_status serve(const stencil_run *r) {
    for (;;) {
        request q;
        stencil_world_receive(r->on.plan->world, 0, &q, sizeof q);
        if (q.goes_on)
            return STENCIL_OK;
        void *memory = NULL;
        TRY(stencil_memory_alloc(&memory, bytes_of(r, &q), "cells that travel between ranks"));
        const stencil_status status = move(r, 0, &q, memory, NULL);
        free(memory);
        TRY(status);
    }
}

stencil_status stencil_run_lead(stencil_run *r, stencil_status (*work)(void *context), void *context,
                                void *told, size_t bytes) {
    stencil_world *world = r->on.plan->world;
    if (stencil_world_alone(world))
        return work(context);
    stencil_status status = STENCIL_OK;
    if (!stencil_world_leads(world)) {
        TRY(serve(r));
    } else {
        const request done = {.goes_on = true};
        status = work(context);
        for (int rank = 1; rank < world->ranks; rank++)
            stencil_world_send(world, rank, &done, sizeof done);
    }
    status = stencil_world_heed(world, status);
    if (status == STENCIL_OK)
        stencil_world_tell(world, 0, told, bytes);
    return status;
}
