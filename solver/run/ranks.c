/* Cells of a run that lie in several ranks: rank 0 asks the others for boxes, or to write their own cells to
 * a file, while it does what needs them, and they answer until it tells them to go on. Cells travel in slabs,
 * so that no rank has more than its own. */
#include <stdlib.h>
#include <string.h>

#include "solver/run/drive.h"

/* A request of rank 0: for cells of a box that the rank has, to write its own to a file, or to go on. */
typedef struct request {
    bool goes_on, writes;
    stencil_array array;
    stencil_box box;
} request;

/* Bytes of a slab that travels, or is written: as many as stay in a cache on the way. */
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

/* Undoes the scale of cells of a run. */
static void unscale(const stencil_run *r, stencil_array array, const stencil_box *box,
                    const stencil_cells *cells) {
    if (r->exponent != 0 && stencil_array_has_values(array))
        stencil_cells_scale(cells, box->n, -r->exponent);
}

stencil_status stencil_run_read(void *run, stencil_array array, const stencil_box *box,
                                const stencil_cells *to) {
    const stencil_run *r = run;
    TRY(stencil_run_read_own(r, array, box, to));
    if (!stencil_world_alone(r->on.plan->world))
        TRY(read_others(r, array, box, to));
    unscale(r, array, box, to);
    return STENCIL_OK;
}

/* A rank that writes its cells. */
typedef struct writing {
    const stencil_run *run;
    const stencil_shared_file *to;
    stencil_file *file;
    stencil_box array; /* of the cells of /u */
    stencil_digest *digest;
} writing;

static stencil_status check_written(const writing *w, int failed) {
    CHECK(failed == 0, IO, "cannot write '%s': %s; make room or choose another output file", w->to->path,
          strerror(failed));
    return STENCIL_OK;
}

/* Writes cells to their places in the file, and adds them to the digest. */
static stencil_status write_slab(const writing *w, const stencil_box *slab, const stencil_cells *cells) {
    const stencil_box there = stencil_box_from(slab, w->array.first);
    const int64_t *at = there.first, *n = w->array.n,
                  bytes = (int64_t)stencil_precision_bytes(cells->precision), row = n[STENCIL_X] * bytes,
                  plane = n[STENCIL_Y] * row;
    const stencil_stretches to = {.offset = w->to->offset + at[STENCIL_Z] * plane + at[STENCIL_Y] * row +
                                            at[STENCIL_X] * bytes,
                                  .bytes = slab->n[STENCIL_X] * bytes,
                                  .count = {slab->n[STENCIL_Z], slab->n[STENCIL_Y]},
                                  .stride = {plane, row}};
    stencil_digest_add(w->digest, &w->array, slab, cells);
    return check_written(w, stencil_world_write_file(w->run->on.plan->world, w->file, &to, cells->at));
}

/* Writes the cells of a part, slab by slab. */
static stencil_status write_part(const writing *w, int part) {
    const stencil_cut *cut = &w->run->on.plan->cut;
    const stencil_precision precision = cut->mesh.precision;
    const int64_t bytes = (int64_t)stencil_precision_bytes(precision), most = SLAB_BYTES / bytes;
    const stencil_box own = stencil_cut_cells(cut, part);
    stencil_box slab = stencil_slab_first(&own, most);
    stencil_status status = STENCIL_OK;
    void *memory = NULL;
    TRY(stencil_memory_alloc(&memory, stencil_box_cells(&slab) * bytes, "cells that are written"));
    do {
        const stencil_cells cells = stencil_cells_dense(precision, memory, &slab);
        status = stencil_run_read_own(w->run, STENCIL_ARRAY_U, &slab, &cells);
        unscale(w->run, STENCIL_ARRAY_U, &slab, &cells);
        if (status == STENCIL_OK)
            status = write_slab(w, &slab, &cells);
    } while (status == STENCIL_OK && stencil_slab_next(&slab, &own, most));
    free(memory);
    return status;
}

/* Writes the cells of this rank, and closes the file. */
static stencil_status write_own(const writing *w) {
    const stencil_cut *cut = &w->run->on.plan->cut;
    stencil_status status = STENCIL_OK;
    for (int part = cut->own; part < cut->own + cut->owned && status == STENCIL_OK; part++)
        status = write_part(w, part);
    const int failed = stencil_world_close_file(w->run->on.plan->world, w->file);
    return status == STENCIL_OK ? check_written(w, failed) : status;
}

/* Adds up the digests of all ranks, in rank 0. */
static void add_digests(stencil_world *world, stencil_digest *digest) {
    stencil_digest other;
    if (!stencil_world_leads(world))
        stencil_world_send(world, 0, digest, sizeof *digest);
    for (int rank = 1; rank < world->ranks && stencil_world_leads(world); rank++) {
        stencil_world_receive(world, rank, &other, sizeof other);
        for (size_t lane = 0; lane < sizeof other.lane / sizeof *other.lane; lane++)
            digest->lane[lane] += other.lane[lane];
    }
}

/* Writes the cells of all ranks, each its own. */
static stencil_status write_by_all(const stencil_run *r, const stencil_shared_file *to, bool *written,
                                   stencil_digest *digest) {
    stencil_world *world = r->on.plan->world;
    stencil_file *file = stencil_world_open_file(world, to->temporary);
    *digest = (stencil_digest){0};
    *written = file != NULL;
    if (file == NULL)
        return STENCIL_OK;
    const writing w = {r, to, file, stencil_mesh_array(&r->on.plan->cut.mesh), digest};
    TRY(stencil_world_agree(world, write_own(&w)));
    add_digests(world, digest);
    return STENCIL_OK;
}

stencil_status stencil_run_write(stencil_run *r, const stencil_shared_file *to, bool *written,
                                 stencil_digest *digest) {
    stencil_world *world = r->on.plan->world;
    const request q = {.writes = true};
    for (int rank = 1; rank < world->ranks; rank++)
        stencil_world_send(world, rank, &q, sizeof q);
    stencil_world_tell(world, 0, (void *)to, sizeof *to);
    return write_by_all(r, to, written, digest);
}

/* Writes own cells as rank 0 asks, which learns of errors and knows what follows from them. */
static void write_asked(const stencil_run *r) {
    stencil_shared_file to;
    stencil_digest digest;
    bool written;
    stencil_world_tell(r->on.plan->world, 0, &to, sizeof to);
    (void)write_by_all(r, &to, &written, &digest);
}

/* Answers rank 0 until it goes on. */
static stencil_status serve(const stencil_run *r) {
    for (;;) {
        request q;
        stencil_world_receive(r->on.plan->world, 0, &q, sizeof q);
        if (q.goes_on)
            return STENCIL_OK;
        if (q.writes) {
            write_asked(r);
            continue;
        }
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
