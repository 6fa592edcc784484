#include "base/world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

uint64_t stencil_world_any(stencil_world *world, uint64_t bits) {
    return stencil_world_alone(world) ? bits : world->call->any(world, bits);
}

double stencil_world_largest(stencil_world *world, double value) {
    return stencil_world_alone(world) ? value : world->call->largest(world, value);
}

void stencil_world_set_timeout(stencil_world *world, double s) {
    if (!stencil_world_alone(world))
        world->call->set_timeout(world, s);
}

void stencil_world_meet(stencil_world *world) {
    if (!stencil_world_alone(world))
        world->call->meet(world);
}

void stencil_world_tell(stencil_world *world, int root, void *data, size_t bytes) {
    if (!stencil_world_alone(world) && bytes > 0)
        world->call->tell(world, root, data, bytes);
}

void stencil_world_send(stencil_world *world, int to, const void *data, size_t bytes) {
    world->call->send(world, to, data, bytes);
}

void stencil_world_receive(stencil_world *world, int from, void *data, size_t bytes) {
    world->call->receive(world, from, data, bytes);
}

stencil_status stencil_exchange_open(stencil_world *world, const stencil_message *message, int count,
                                     stencil_exchange **exchange) {
    *exchange = NULL;
    return count > 0 ? world->call->open(world, message, count, exchange) : STENCIL_OK;
}

void stencil_exchange_start(stencil_world *world, stencil_exchange *exchange) {
    if (exchange != NULL)
        world->call->start(exchange);
}

void stencil_exchange_finish(stencil_world *world, stencil_exchange *exchange) {
    if (exchange != NULL)
        world->call->finish(exchange);
}

void stencil_exchange_close(stencil_world *world, stencil_exchange *exchange) {
    if (exchange != NULL)
        world->call->close(exchange);
}

stencil_file *stencil_world_open_file(stencil_world *world, const char *path) {
    return world->call->open_file(world, path);
}

int stencil_world_write_file(stencil_world *world, stencil_file *file, const stencil_stretches *to,
                             const void *data) {
    return world->call->write_file(file, to, data);
}

int stencil_world_close_file(stencil_world *world, stencil_file *file) {
    return world->call->close_file(file);
}

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

stencil_status stencil_world_measure(stencil_world *world, size_t bytes, double *s) {
    enum {
        ROUNDS = 9,
        EACH = 4
    }; /* in a single one a rank that comes late waits for less than a message takes */
    double round_s[ROUNDS];
    stencil_exchange *exchange = NULL;
    *s = 0;
    if (stencil_world_alone(world))
        return STENCIL_OK;
    char *data = calloc(2, bytes);
    const int next = (world->rank + 1) % world->ranks,
              before = (world->rank + world->ranks - 1) % world->ranks;
    const stencil_message message[] = {{.peer = before, .data = data, .bytes = bytes},
                                       {.peer = next, .sent = true, .data = data + bytes, .bytes = bytes}};
    stencil_status status = data == NULL ? ERROR(NO_MEMORY, "no memory for messages that are timed")
                                         : stencil_exchange_open(world, message, 2, &exchange);
    status = stencil_world_agree(world, status);
    for (int round = -1; round < ROUNDS && status == STENCIL_OK; round++) { /* the first one is not counted */
        const double start_s = stencil_clock_s();
        for (int i = 0; i < EACH; i++) {
            stencil_exchange_start(world, exchange);
            stencil_exchange_finish(world, exchange);
        }
        if (round >= 0)
            round_s[round] = (stencil_clock_s() - start_s) / EACH;
    }
    stencil_exchange_close(world, exchange);
    free(data);
    if (status != STENCIL_OK)
        return status;
    qsort(round_s, ROUNDS, sizeof *round_s, by_value);
    *s = stencil_world_largest(world, round_s[ROUNDS / 4]);
    return STENCIL_OK;
}

/* An error on its way to other ranks, as bytes: constant texts have other addresses there. */
typedef struct telling {
    stencil_status status;
    char message[sizeof((stencil_error *)NULL)->message];
} telling;

/* Gives all ranks the error of one. */
static telling tell_error(stencil_world *world, int root, stencil_status status) {
    telling t = {.status = status};
    if (status != STENCIL_OK)
        memcpy(t.message, stencil_error_last()->message, sizeof t.message);
    stencil_world_tell(world, root, &t, sizeof t);
    world->knows_error = t.status != STENCIL_OK;
    return t;
}

stencil_status stencil_world_heed(stencil_world *world, stencil_status status) {
    if (stencil_world_alone(world))
        return status;
    const telling t = tell_error(world, 0, status);
    return t.status == STENCIL_OK ? STENCIL_OK
                                  : stencil_error_set(t.status, __FILE__, __LINE__, "", "%s", t.message);
}

stencil_status stencil_world_agree(stencil_world *world, stencil_status status) {
    enum { FAILED = 1, WELL = 2 };
    if (stencil_world_alone(world))
        return status;
    const uint64_t seen = stencil_world_any(world, status == STENCIL_OK ? WELL : FAILED);
    world->knows_error = false;
    if ((seen & FAILED) == 0)
        return STENCIL_OK;
    const double first = -stencil_world_largest(world, status == STENCIL_OK ? -INFINITY : -world->rank);
    const telling t = tell_error(world, (int)first, status);
    return (seen & WELL) != 0
               ? stencil_error_set(t.status, __FILE__, __LINE__, "", "rank %d: %s", (int)first, t.message)
               : stencil_error_set(t.status, __FILE__, __LINE__, "", "%s", t.message);
}
