#include "base/world.h"

#include <math.h>
#include <string.h>

uint64_t stencil_world_any(stencil_world *world, uint64_t bits) {
    return stencil_world_alone(world) ? bits : world->call->any(world, bits);
}

double stencil_world_largest(stencil_world *world, double value) {
    return stencil_world_alone(world) ? value : world->call->largest(world, value);
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
