#include "solver/device/messages.h"

#include <stdlib.h>

stencil_box stencil_message_cells(const stencil_message_box *box, bool sent) {
    const stencil_halo_transfer *t = &box->transfer;
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

/* Sorts boxes, and adds up the bytes of their cells. */
static void measure(stencil_message_boxes *list, const stencil_cut *cut) {
    sort(list);
    for (int i = 0; i < list->count; i++) {
        list->item[i].bytes =
            (int64_t)stencil_precision_bytes(cut->mesh.precision) *
            stencil_box_cells(&(stencil_box){.n = {list->item[i].transfer.n[0], list->item[i].transfer.n[1],
                                                   list->item[i].transfer.n[2]}});
        list->bytes += list->item[i].bytes;
    }
}

/* Gives boxes their places in messages, from `at` on, and lists these. */
static void lay_out(stencil_message_boxes *list, char *at, bool sent, stencil_message *message, int *count) {
    for (int i = 0; i < list->count; i++) {
        stencil_message_box *b = &list->item[i];
        if (i == 0 || b[-1].peer != b->peer)
            message[(*count)++] = (stencil_message){.peer = b->peer, .sent = sent, .data = at};
        b->at = at;
        at += b->bytes;
        message[*count - 1].bytes += (size_t)b->bytes;
    }
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
        list->item[list->count++] =
            (stencil_message_box){.transfer = *t, .peer = (sends ? t->to : t->from) / cut->owned};
    }
    transfers->count = kept;
}

stencil_status stencil_messages_find(stencil_messages *m, const stencil_cut *cut,
                                     stencil_halo_transfers *transfers, stencil_world *world) {
    *m = (stencil_messages){.world = world};
    m->sent.item = calloc((size_t)transfers->count + 1, sizeof *m->sent.item);
    m->received.item = calloc((size_t)transfers->count + 1, sizeof *m->received.item);
    CHECK(m->sent.item != NULL && m->received.item != NULL, NO_MEMORY,
          "no memory for the messages between ranks");
    take(m, cut, transfers);
    measure(&m->sent, cut);
    measure(&m->received, cut);
    return STENCIL_OK;
}

/* tokens: memory of messages of one byte; NULL: they are those at `memory`. */
static stencil_status open_exchange(stencil_messages *m, void *memory, char *tokens) {
    int count = 0;
    stencil_message *message = calloc((size_t)(m->sent.count + m->received.count) + 1, sizeof *message);
    CHECK(message != NULL, NO_MEMORY, "no memory for the messages between ranks");
    lay_out(&m->received, (char *)memory + m->sent.bytes, false, message, &count);
    lay_out(&m->sent, memory, true, message, &count);
    for (int i = 0; i < count && tokens != NULL; i++)
        message[i].data = tokens + i, message[i].bytes = 1;
    const stencil_status status = stencil_exchange_open(m->world, message, count, &m->exchange);
    free(message);
    return status;
}

stencil_status stencil_messages_open(stencil_messages *m, void *memory) {
    return open_exchange(m, memory, NULL);
}

stencil_status stencil_messages_open_tokens(stencil_messages *m, char *memory) {
    return open_exchange(m, memory, memory); /* places of cells are not used */
}

void stencil_messages_destroy(stencil_messages *m) {
    stencil_exchange_close(m->world, m->exchange);
    free(m->sent.item);
    free(m->received.item);
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
        const stencil_box box = stencil_message_cells(b, sent), share = share_of(&box, thread, threads);
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
