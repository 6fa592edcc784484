/* The functions of a world, by MPI. Errors of MPI end all ranks (MPI_ERRORS_ARE_FATAL, its default). */
#include <stdlib.h>

#include "mpi/watch.h"

/* Most bytes of one message; MPI counts in int. */
enum { MESSAGE_MOST = 1 << 30 };

/* Combines a value of all ranks. */
static void combine(void *value, MPI_Datatype type, MPI_Op how) {
    MPI_Request request;
    stencil_watch_enter();
    MPI_Iallreduce(MPI_IN_PLACE, value, 1, type, how, MPI_COMM_WORLD, &request);
    stencil_watch_wait(1, &request);
    stencil_watch_leave();
}

static uint64_t any(stencil_world *world, uint64_t bits) {
    (void)world;
    combine(&bits, MPI_UINT64_T, MPI_BOR);
    return bits;
}

static double largest(stencil_world *world, double value) {
    (void)world;
    combine(&value, MPI_DOUBLE, MPI_MAX);
    return value;
}

/* Returns the bytes of the next message of `bytes`. */
static int some_of(size_t bytes) {
    return bytes < MESSAGE_MOST ? (int)bytes : MESSAGE_MOST;
}

/* Ways to move bytes: from `peer` to all, to a rank, from a rank. */
typedef enum way { TELL, SEND, RECEIVE } way;

static void move(way how, int peer, char *at, size_t bytes) {
    stencil_watch_enter();
    for (; bytes > 0; at += some_of(bytes), bytes -= (size_t)some_of(bytes)) {
        const int some = some_of(bytes);
        MPI_Request request;
        if (how == TELL)
            MPI_Ibcast(at, some, MPI_BYTE, peer, MPI_COMM_WORLD, &request);
        else if (how == SEND)
            MPI_Isend(at, some, MPI_BYTE, peer, STENCIL_TAG_BYTES, MPI_COMM_WORLD, &request);
        else
            MPI_Irecv(at, some, MPI_BYTE, peer, STENCIL_TAG_BYTES, MPI_COMM_WORLD, &request);
        stencil_watch_wait(1, &request);
    }
    stencil_watch_leave();
}

static void tell(stencil_world *world, int root, void *data, size_t bytes) {
    (void)world;
    move(TELL, root, data, bytes);
}

static void send_bytes(stencil_world *world, int to, const void *data, size_t bytes) {
    (void)world;
    move(SEND, to, (char *)data, bytes); /* which is read only */
}

static void receive_bytes(stencil_world *world, int from, void *data, size_t bytes) {
    (void)world;
    move(RECEIVE, from, data, bytes);
}

struct stencil_exchange {
    int count;
    MPI_Request request[];
};

/* Counts the requests that messages take. */
static int requests_of(const stencil_message *message, int count) {
    size_t requests = 0;
    for (int i = 0; i < count; i++)
        requests += (message[i].bytes + MESSAGE_MOST - 1) / MESSAGE_MOST;
    return (int)requests;
}

static void add_message(stencil_exchange *e, const stencil_message *m) {
    char *at = m->data;
    for (size_t bytes = m->bytes; bytes > 0; at += some_of(bytes), bytes -= (size_t)some_of(bytes)) {
        MPI_Request *request = &e->request[e->count++];
        if (m->sent)
            MPI_Send_init(at, some_of(bytes), MPI_BYTE, m->peer, STENCIL_TAG_EXCHANGE, MPI_COMM_WORLD,
                          request);
        else
            MPI_Recv_init(at, some_of(bytes), MPI_BYTE, m->peer, STENCIL_TAG_EXCHANGE, MPI_COMM_WORLD,
                          request);
    }
}

static stencil_status open_exchange(stencil_world *world, const stencil_message *message, int count,
                                    stencil_exchange **exchange) {
    (void)world;
    const size_t requests = (size_t)requests_of(message, count);
    stencil_exchange *e = *exchange = calloc(1, sizeof *e + requests * sizeof *e->request);
    CHECK(e != NULL, NO_MEMORY, "no memory for %d messages", count);
    stencil_watch_enter();
    for (int i = 0; i < count; i++) /* messages that are awaited come first: they find their place ready */
        if (!message[i].sent)
            add_message(e, &message[i]);
    for (int i = 0; i < count; i++)
        if (message[i].sent)
            add_message(e, &message[i]);
    stencil_watch_leave();
    return STENCIL_OK;
}

static void start_exchange(stencil_exchange *e) {
    stencil_watch_enter();
    MPI_Startall(e->count, e->request);
    stencil_watch_leave();
}

static void finish_exchange(stencil_exchange *e) {
    stencil_watch_enter();
    stencil_watch_wait(e->count, e->request);
    stencil_watch_leave();
}

static void close_exchange(stencil_exchange *e) {
    stencil_watch_enter();
    for (int i = 0; i < e->count; i++)
        MPI_Request_free(&e->request[i]);
    stencil_watch_leave();
    free(e);
}

const stencil_world_functions stencil_mpi_functions = {.any = any,
                                                       .largest = largest,
                                                       .tell = tell,
                                                       .send = send_bytes,
                                                       .receive = receive_bytes,
                                                       .open = open_exchange,
                                                       .start = start_exchange,
                                                       .finish = finish_exchange,
                                                       .close = close_exchange,
                                                       .be_patient = stencil_watch_set_patience};
