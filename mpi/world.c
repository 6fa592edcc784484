/* The functions of a world, by MPI. Errors of MPI end all ranks (MPI_ERRORS_ARE_FATAL, its default). */
#include <stdlib.h>
#include <string.h>

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

/* With a delay each message is followed by one that says when it was sent. */
struct stencil_exchange {
    double delay_s;
    int messages, count;
    const stencil_message *message; /* [messages], owned, with a delay only */
    double *sent_s;                 /* [messages], owned, likewise */
    MPI_Request request[];          /* [count] */
};

/* Counts the requests that messages take. */
static int requests_of(const stencil_message *message, int count, bool delays) {
    size_t requests = 0;
    for (int i = 0; i < count; i++)
        requests += (message[i].bytes + MESSAGE_MOST - 1) / MESSAGE_MOST + delays;
    return (int)requests;
}

static void add_bytes(stencil_exchange *e, const stencil_message *m, char *at, size_t bytes) {
    for (; bytes > 0; at += some_of(bytes), bytes -= (size_t)some_of(bytes)) {
        MPI_Request *request = &e->request[e->count++];
        if (m->sent)
            MPI_Send_init(at, some_of(bytes), MPI_BYTE, m->peer, STENCIL_TAG_EXCHANGE, MPI_COMM_WORLD,
                          request);
        else
            MPI_Recv_init(at, some_of(bytes), MPI_BYTE, m->peer, STENCIL_TAG_EXCHANGE, MPI_COMM_WORLD,
                          request);
    }
}

/* Sets up the messages that are sent, or those that are awaited. */
static void add_messages(stencil_exchange *e, const stencil_message *message, bool sent) {
    for (int i = 0; i < e->messages; i++) {
        const stencil_message *m = &message[i];
        if (m->sent != sent)
            continue;
        add_bytes(e, m, m->data, m->bytes);
        if (e->delay_s > 0)
            add_bytes(e, m, (char *)&e->sent_s[i], sizeof e->sent_s[i]);
    }
}

static void free_exchange(stencil_exchange *e) {
    free((void *)e->message);
    free(e->sent_s);
    free(e);
}

static stencil_status open_exchange(stencil_world *world, const stencil_message *message, int count,
                                    stencil_exchange **exchange) {
    const bool delays = world->delay_s > 0;
    const size_t requests = (size_t)requests_of(message, count, delays);
    stencil_exchange *e = *exchange = calloc(1, sizeof *e + requests * sizeof *e->request);
    CHECK(e != NULL, NO_MEMORY, "no memory for %d messages", count);
    e->delay_s = world->delay_s;
    e->messages = count;
    if (delays) {
        stencil_message *copy = calloc((size_t)count, sizeof *copy);
        e->message = copy;
        e->sent_s = calloc((size_t)count, sizeof *e->sent_s);
        if (copy == NULL || e->sent_s == NULL) {
            free_exchange(e);
            *exchange = NULL;
            FAIL(NO_MEMORY, "no memory for %d messages", count);
        }
        memcpy(copy, message, (size_t)count * sizeof *copy);
    }
    stencil_watch_enter();
    add_messages(e, message, false); /* messages that are awaited come first: they find their place ready */
    add_messages(e, message, true);
    stencil_watch_leave();
    return STENCIL_OK;
}

static void start_exchange(stencil_exchange *e) {
    for (int i = 0; i < e->messages && e->delay_s > 0; i++)
        if (e->message[i].sent)
            e->sent_s[i] = stencil_clock_s();
    stencil_watch_enter();
    MPI_Startall(e->count, e->request);
    stencil_watch_leave();
}

static void finish_exchange(stencil_exchange *e) {
    stencil_watch_enter();
    stencil_watch_wait(e->count, e->request);
    for (int i = 0; i < e->messages && e->delay_s > 0; i++)
        if (!e->message[i].sent)
            stencil_watch_wait_until(e->sent_s[i] + e->delay_s);
    stencil_watch_leave();
}

static void close_exchange(stencil_exchange *e) {
    stencil_watch_enter();
    for (int i = 0; i < e->count; i++)
        MPI_Request_free(&e->request[i]);
    stencil_watch_leave();
    free_exchange(e);
}

static void meet(stencil_world *world) {
    (void)world;
    MPI_Request request;
    stencil_watch_enter();
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    stencil_watch_wait(1, &request);
    stencil_watch_leave();
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
                                                       .set_timeout = stencil_watch_set_timeout,
                                                       .meet = meet,
                                                       .open_file = stencil_mpi_open_file,
                                                       .write_file = stencil_mpi_write_file,
                                                       .close_file = stencil_mpi_close_file};
