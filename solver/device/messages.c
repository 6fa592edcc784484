#include "solver/device/messages.h"

#include <stdlib.h>

/* The box of cells of a transfer at its sender, or of ghost cells at its receiver. */
static stencil_box box_of(const stencil_halo_transfer *t, bool sent) {
    const int64_t *first = sent ? t->from_first : t->to_first;
    return (stencil_box){{first[0], first[1], first[2]}, {t->n[0], t->n[1], t->n[2]}};
}

/* Sorts boxes by ranks; those of a rank keep the order in which both ends have found them. */
static void sort(stencil_message_boxes *list) {
    for (int i = 1; i < list->count; i++) {
        const stencil_message_box moved = list->item[i];
        int at = i;
        for (; at > 0 && list->item[at - 1].peer > moved.peer; at--)
            list->item[at] = list->item[at - 1];
        list->item[at] = moved;
    }
}

/* Gives boxes their places in messages, and lists these. */
static stencil_status lay_out(stencil_message_boxes *list, const stencil_cut *cut, bool sent,
                              stencil_message *message, int *count, int64_t *bytes) {
    const int64_t cell = (int64_t)stencil_precision_bytes(cut->mesh.precision);
    void *memory = NULL;
    *bytes = 0;
    sort(list);
    for (int i = 0; i < list->count; i++) {
        const stencil_box box = box_of(&list->item[i].transfer, sent);
        *bytes += cell * stencil_box_cells(&box);
    }
    TRY(stencil_memory_alloc(&memory, *bytes + 1, "the messages between ranks"));
    char *at = list->buffer = memory;
    for (int i = 0; i < list->count; i++) {
        stencil_message_box *b = &list->item[i];
        const stencil_box box = box_of(&b->transfer, sent);
        if (i == 0 || b[-1].peer != b->peer)
            message[(*count)++] = (stencil_message){.peer = b->peer, .sent = sent, .data = at};
        b->at = at;
        at += cell * stencil_box_cells(&box);
        message[*count - 1].bytes += (size_t)(cell * stencil_box_cells(&box));
    }
    return STENCIL_OK;
}

/* Moves the transfers that cross between ranks to the lists of messages. */
static void take(stencil_messages *m, const stencil_cut *cut, stencil_halo_transfers *transfers) {
    int kept = 0;
    for (int i = 0; i < transfers->count; i++) {
        const stencil_halo_transfer *t = &transfers->item[i];
        const bool sends = stencil_cut_has(cut, t->from), receives = stencil_cut_has(cut, t->to);
        if (sends && receives) {
            transfers->item[kept++] = *t;
            continue;
        }
        stencil_message_boxes *list = sends ? &m->sent : &m->received;
        list->item[list->count++] = (stencil_message_box){*t, (sends ? t->to : t->from) / cut->owned, NULL};
    }
    transfers->count = kept;
}

stencil_status stencil_messages_create(stencil_messages *m, const stencil_cut *cut,
                                       stencil_halo_transfers *transfers, stencil_world *world) {
    int count = 0;
    int64_t received;
    *m = (stencil_messages){.world = world};
    m->sent.item = calloc((size_t)transfers->count + 1, sizeof *m->sent.item);
    m->received.item = calloc((size_t)transfers->count + 1, sizeof *m->received.item);
    stencil_message *message = calloc(2 * (size_t)transfers->count + 1, sizeof *message);
    stencil_status status = m->sent.item == NULL || m->received.item == NULL || message == NULL
                                ? ERROR(NO_MEMORY, "no memory for the messages between ranks")
                                : STENCIL_OK;
    if (status == STENCIL_OK) {
        take(m, cut, transfers);
        status = lay_out(&m->received, cut, false, message, &count, &received);
    }
    if (status == STENCIL_OK)
        status = lay_out(&m->sent, cut, true, message, &count, &m->bytes);
    if (status == STENCIL_OK)
        status = stencil_exchange_open(world, message, count, &m->exchange);
    free(message);
    return status;
}

static void destroy_boxes(stencil_message_boxes *list) {
    free(list->item);
    free(list->buffer);
}

void stencil_messages_destroy(stencil_messages *m) {
    stencil_exchange_close(m->world, m->exchange);
    destroy_boxes(&m->sent);
    destroy_boxes(&m->received);
    *m = (stencil_messages){0};
}

/* The share of a thread of a box: of its planes, or of its rows where there are more of them. */
static stencil_box share_of(const stencil_box *box, int thread, int threads) {
    stencil_box share = *box;
    const int axis = box->n[STENCIL_Z] > box->n[STENCIL_Y] ? STENCIL_Z : STENCIL_Y;
    const int64_t first = stencil_share(box->n[axis], threads, thread);
    share.first[axis] += first;
    share.n[axis] = stencil_share(box->n[axis], threads, thread + 1) - first;
    return share;
}

/* Copies a thread's share of boxes between messages and a buffer of the part that has them. */
static void copy(const stencil_message_boxes *list, const stencil_buffers *buffers, int buffer, bool sent,
                 int thread, int threads) {
    for (int i = 0; i < list->count; i++) {
        const stencil_message_box *b = &list->item[i];
        const stencil_box box = box_of(&b->transfer, sent), share = share_of(&box, thread, threads);
        const int part = sent ? b->transfer.from : b->transfer.to;
        if (stencil_box_cells(&share) == 0)
            continue;
        const stencil_cells packed = stencil_cells_dense(buffers->cut->mesh.precision, b->at, &box),
                            there = stencil_cells_from(&packed, share.first),
                            here = stencil_buffer_cells(buffers, part, buffer, share.first);
        stencil_cells_copy(sent ? &there : &here, sent ? &here : &there, share.n);
    }
}

void stencil_messages_pack(const stencil_messages *m, const stencil_buffers *buffers, int buffer, int thread,
                           int threads) {
    copy(&m->sent, buffers, buffer, true, thread, threads);
}

void stencil_messages_unpack(const stencil_messages *m, const stencil_buffers *buffers, int buffer,
                             int thread, int threads) {
    copy(&m->received, buffers, buffer, false, thread, threads);
}

void stencil_messages_start(const stencil_messages *m) {
    stencil_exchange_start(m->world, m->exchange);
}

void stencil_messages_finish(const stencil_messages *m) {
    stencil_exchange_finish(m->world, m->exchange);
}
