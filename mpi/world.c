/* The functions of a world, by MPI. Errors of MPI end all ranks (MPI_ERRORS_ARE_FATAL, its default). */
#include <mpi.h>
#include <stdlib.h>

#include "mpi/mpi_world.h"

/* Tags of messages: those of exchanges, and those of stencil_world_send(). */
enum { TAG_EXCHANGE = 1, TAG_BYTES = 2 };

/* Most bytes of one message; MPI counts in int. */
enum { MESSAGE_MOST = 1 << 30 };

static uint64_t any(stencil_world *world, uint64_t bits) {
    (void)world;
    MPI_Allreduce(MPI_IN_PLACE, &bits, 1, MPI_UINT64_T, MPI_BOR, MPI_COMM_WORLD);
    return bits;
}

static double largest(stencil_world *world, double value) {
    (void)world;
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return value;
}

/* Returns the bytes of the next message of `bytes`. */
static int some_of(size_t bytes) {
    return bytes < MESSAGE_MOST ? (int)bytes : MESSAGE_MOST;
}

static void tell(stencil_world *world, int root, void *data, size_t bytes) {
    (void)world;
    for (char *at = data; bytes > 0; at += some_of(bytes), bytes -= (size_t)some_of(bytes))
        MPI_Bcast(at, some_of(bytes), MPI_BYTE, root, MPI_COMM_WORLD);
}

static void send_bytes(stencil_world *world, int to, const void *data, size_t bytes) {
    (void)world;
    for (const char *at = data; bytes > 0; at += some_of(bytes), bytes -= (size_t)some_of(bytes))
        MPI_Send(at, some_of(bytes), MPI_BYTE, to, TAG_BYTES, MPI_COMM_WORLD);
}

static void receive_bytes(stencil_world *world, int from, void *data, size_t bytes) {
    (void)world;
    for (char *at = data; bytes > 0; at += some_of(bytes), bytes -= (size_t)some_of(bytes))
        MPI_Recv(at, some_of(bytes), MPI_BYTE, from, TAG_BYTES, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
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
            MPI_Send_init(at, some_of(bytes), MPI_BYTE, m->peer, TAG_EXCHANGE, MPI_COMM_WORLD, request);
        else
            MPI_Recv_init(at, some_of(bytes), MPI_BYTE, m->peer, TAG_EXCHANGE, MPI_COMM_WORLD, request);
    }
}

static stencil_status open_exchange(stencil_world *world, const stencil_message *message, int count,
                                    stencil_exchange **exchange) {
    (void)world;
    const size_t requests = (size_t)requests_of(message, count);
    stencil_exchange *e = *exchange = calloc(1, sizeof *e + requests * sizeof *e->request);
    CHECK(e != NULL, NO_MEMORY, "no memory for %d messages", count);
    for (int i = 0; i < count; i++) /* messages that are awaited come first: they find their place ready */
        if (!message[i].sent)
            add_message(e, &message[i]);
    for (int i = 0; i < count; i++)
        if (message[i].sent)
            add_message(e, &message[i]);
    return STENCIL_OK;
}

static void start_exchange(stencil_exchange *e) {
    MPI_Startall(e->count, e->request);
}

static void finish_exchange(stencil_exchange *e) {
    MPI_Waitall(e->count, e->request, MPI_STATUSES_IGNORE);
}

static void close_exchange(stencil_exchange *e) {
    for (int i = 0; i < e->count; i++)
        MPI_Request_free(&e->request[i]);
    free(e);
}

static void meet(stencil_world *world) {
    (void)world;
    MPI_Barrier(MPI_COMM_WORLD);
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
                                                       .meet = meet};
