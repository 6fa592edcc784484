/* Ghost cells that travel between ranks: one message to each neighbour and one from there, after each pass.
 * Boxes of cells are packed into it and unpacked from it, corners included. Internal to solver/. */
#pragma once

#include "base/world.h"
#include "solver/problem/domain.h"

/* A box of a transfer, and where its cells stand in a message, without gaps. */
typedef struct stencil_message_box {
    stencil_halo_transfer transfer;
    int peer;
    int64_t bytes;
    void *at;
} stencil_message_box;

/* The boxes that go one way. */
typedef struct stencil_message_boxes {
    int count;
    stencil_message_box *item; /* [count], owned, those of a rank behind each other */
    int64_t bytes;             /* of all cells */
} stencil_message_boxes;

typedef struct stencil_messages {
    stencil_world *world; /* borrowed; NULL: there are no messages */
    stencil_message_boxes sent, received;
    stencil_exchange *exchange;
} stencil_messages;

/* find: takes those of the transfers that cross between ranks out of the list; part p is in rank
 * p / cut->owned. open: sets up their messages in memory of sent.bytes + received.bytes bytes, which is
 * borrowed, those that are sent first. The caller destroys them, also after a failure. Errors: NO_MEMORY. */
stencil_status stencil_messages_find(stencil_messages *messages, const stencil_cut *cut,
                                     stencil_halo_transfers *transfers, stencil_world *world);
stencil_status stencil_messages_open(stencil_messages *messages, void *memory);
/* Sets up messages of one byte each, which say that cells have been stored at their receivers, in memory of
 * sent.count + received.count bytes, in place of open. Errors: NO_MEMORY. */
stencil_status stencil_messages_open_tokens(stencil_messages *messages, char *memory);
void stencil_messages_destroy(stencil_messages *messages);

/* The cells of a box of a message at their sender, or the ghost cells at their receiver, in indices of the
 * whole problem. */
stencil_box stencil_message_cells(const stencil_message_box *box, bool sent);

/* Share `thread` of `threads` of copying cells of a buffer of u into messages, or from there. */
void stencil_messages_pack(const stencil_messages *messages, const stencil_buffers *buffers, int buffer,
                           int thread, int threads);
void stencil_messages_unpack(const stencil_messages *messages, const stencil_buffers *buffers, int buffer,
                             int thread, int threads);

/* Sends packed messages, and waits for those of others. By the thread that made the world. */
void stencil_messages_start(const stencil_messages *messages);
void stencil_messages_finish(const stencil_messages *messages);
