#include "app/ranks.h"

#include "app/signals.h"

stencil_status ranks_check(const invocation *call, const run_options *options) {
    stencil_world *world = call->world;
    CHECK(!options_given(call, "rank-timeout") || !stencil_world_alone(world), USAGE,
          "--rank-timeout is for several ranks, which mpirun starts: leave it out");
    CHECK(options->latency_ns == 0 || (!stencil_world_alone(world) && world->local_ranks == world->ranks),
          USAGE, "--inject-latency is for several ranks of one host, which mpirun starts: leave it out");
    if (stencil_world_alone(world))
        return STENCIL_OK;
    world->delay_s = 1e-9 * (double)options->latency_ns;
    stencil_world_set_timeout(world, options->rank_timeout_s);
    CHECK(!options->attribute && options->files.trace == NULL, USAGE,
          "--%s is for a run of one process: leave it out, or start the program once, without mpirun",
          options->files.trace != NULL ? "trace" : "attribute");
    CHECK(options->scrub == NULL, USAGE,
          "--scrub is for a run of one process: leave it out, or start the program once, without mpirun");
    return STENCIL_OK;
}

int64_t ranks_threads(stencil_world *world, int64_t asked) {
    if (stencil_world_alone(world) || asked > 0)
        return asked;
    /* Ranks that a launcher has bound to processors of their own have as many threads; others share the host.
     */
    const stencil_processor_limits limits = stencil_processors_limits();
    const int64_t usual = threads_default();
    const bool bound = (int64_t)limits.allowed * world->local_ranks <= limits.online;
    const int64_t quota = limits.quota_thousandths / 1000 + (limits.quota_thousandths % 1000 > 0),
                  here = stencil_smaller(limits.online, quota),
                  share = here / world->local_ranks > 0 ? here / world->local_ranks : 1;
    const int64_t own = bound ? usual : stencil_smaller(usual, share);
    return (int64_t)-stencil_world_largest(world, -(double)own);
}

stencil_status ranks_share_machine(stencil_world *world, stencil_machine *machine) {
    enum { SHORT = 8, LONG = 1 << 18 };
    double short_s, long_s;
    if (stencil_world_alone(world))
        return STENCIL_OK;
    TRY(stencil_world_measure(world, SHORT, &short_s));
    TRY(stencil_world_measure(world, LONG, &long_s));
    const double byte_s = long_s > short_s ? (long_s - short_s) / (LONG - SHORT) : 0;
    machine->link = (stencil_link){.latency_s = short_s, .byte_s = byte_s, .both_byte_s = byte_s};
    /* All ranks of a host share its memory; a limit of address space holds for each of them. */
    const int64_t left = stencil_memory_address_space_left_bytes(), seen = machine->host_available_bytes;
    const bool limited = left <= seen;
    const double own = limited ? (double)seen : (double)(seen / world->local_ranks);
    const double least = -stencil_world_largest(world, -own);
    stencil_world_tell(world, 0, machine, sizeof *machine);
    machine->host_available_bytes = (int64_t)least;
    return STENCIL_OK;
}

uint64_t ranks_say(void *context) {
    const int caught = signals_caught;
    const uint64_t asked = signals_asked != 0;
    if (!stencil_world_leads(context)) /* rank 0 does what is asked for, once all have heard of it */
        signals_asked = 0;
    return asked | (caught > 0 && caught < STENCIL_OBSERVER_BITS ? UINT64_C(1) << caught : 0);
}

void ranks_hear(void *context, uint64_t bits) {
    for (int number = 1; number < STENCIL_OBSERVER_BITS && signals_caught == 0; number++)
        if ((bits >> number & 1) != 0)
            signals_caught = number;
    if ((bits & 1) != 0 && stencil_world_leads(context))
        signals_asked = 1;
}
