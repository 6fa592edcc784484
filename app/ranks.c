#include "app/ranks.h"

#include <stdlib.h>
#include <string.h>

#include "app/signals.h"
#include "solver/device/mapping.h"

stencil_status ranks_be_patient(const invocation *call, double timeout_s) {
    CHECK(!options_given(call, "rank-timeout") || !stencil_world_alone(call->world), USAGE,
          "--rank-timeout is for several ranks, which mpirun starts: leave it out");
    if (!stencil_world_alone(call->world))
        stencil_world_set_timeout(call->world, timeout_s);
    return STENCIL_OK;
}

stencil_status ranks_check(const invocation *call, const run_options *options) {
    stencil_world *world = call->world;
    TRY(ranks_be_patient(call, options->rank_timeout_s));
    CHECK(options->latency_ns == 0 || (!stencil_world_alone(world) && world->local_ranks == world->ranks),
          USAGE, "--inject-latency is for several ranks of one host, which mpirun starts: leave it out");
    if (stencil_world_alone(world))
        return STENCIL_OK;
    world->delay_s = 1e-9 * (double)options->latency_ns;
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

/* The GPU that a rank takes: that of a host, known by its bus, with a number among those that it sees. */
typedef struct taken_gpu {
    int host, number;
    char bus_id[sizeof((stencil_gpu *)NULL)->bus_id];
} taken_gpu;

static int by_gpu(const void *a, const void *b) {
    const taken_gpu *x = a, *y = b;
    return x->host != y->host ? x->host - y->host : strcmp(x->bus_id, y->bus_id);
}

/* Returns the most equal entries of a list, which it sorts. */
static int most_on_one(taken_gpu *list, int count) {
    int most = 0;
    qsort(list, (size_t)count, sizeof *list, by_gpu);
    for (int first = 0, i = 0; i < count; i++) {
        first = by_gpu(&list[first], &list[i]) == 0 ? first : i;
        most = i - first + 1 > most ? i - first + 1 : most;
    }
    return most;
}

/* Tells rank 0 the GPUs of all, and all how many ranks share one. Errors: NO_MEMORY. */
static stencil_status gather_gpus(stencil_world *world, const taken_gpu *own, ranks_gpus *gpus) {
    taken_gpu *list = stencil_world_leads(world) ? calloc((size_t)world->ranks, sizeof *list) : NULL;
    TRY(stencil_world_heed(world, list == NULL && stencil_world_leads(world)
                                      ? ERROR(NO_MEMORY, "no memory for the GPUs of the ranks")
                                      : STENCIL_OK));
    if (list == NULL) {
        stencil_world_send(world, 0, own, sizeof *own);
    } else {
        list[0] = *own;
        for (int rank = 1; rank < world->ranks; rank++)
            stencil_world_receive(world, rank, &list[rank], sizeof *list);
        for (int rank = 0; rank < world->ranks && rank < STENCIL_PARTS_MAX; rank++)
            gpus->of[rank] = list[rank].number;
        gpus->sharing = most_on_one(list, world->ranks);
    }
    free(list);
    stencil_world_tell(world, 0, &gpus->sharing, sizeof gpus->sharing);
    return STENCIL_OK;
}

/* Tells whether plans for two GPUs are the same. */
static bool is_kind(const stencil_gpu *a, const stencil_gpu *b) {
    return strcmp(a->name, b->name) == 0 && a->capability == b->capability && a->code == b->code &&
           a->sm_count == b->sm_count;
}

/* Leaves the machine of rank 0 without GPUs, for a reason that the first of the ranks with `why` has. Returns
 * whether there is one. */
static bool leave_gpus(stencil_world *world, stencil_machine *machine, const char *why) {
    const int first = (int)-stencil_world_largest(world, -(double)(why != NULL ? world->rank : world->ranks));
    if (first == world->ranks)
        return false;
    machine->gpu_count = 0;
    if (world->rank == first)
        snprintf(machine->no_gpu_reason, sizeof machine->no_gpu_reason, "rank %d: %.120s", first, why);
    stencil_world_tell(world, first, machine->no_gpu_reason, sizeof machine->no_gpu_reason);
    return true;
}

/* Gives each rank a GPU. *machine is that of rank 0, in which the rank's GPU is as rank 0's is; seen: the
 * GPUs that this rank sees, for a reason if there are none. Errors: NO_MEMORY. */
static stencil_status share_gpus(stencil_world *world, stencil_machine *machine, const stencil_machine *seen,
                                 ranks_gpus *gpus) {
    const int count = seen->gpu_count, used = count < world->local_ranks ? count : world->local_ranks;
    if (machine->gpu_count == 0)
        return STENCIL_OK; /* rank 0 says why */
    if (leave_gpus(world, machine, count == 0 ? seen->no_gpu_reason : NULL))
        return STENCIL_OK;
    gpus->own = world->local_rank * used / world->local_ranks;
    int leader = gpus->own;
    stencil_world_tell(world, 0, &leader, sizeof leader);
    const stencil_gpu of_leader = machine->gpu[leader], *own = &seen->gpu[gpus->own];
    if (leave_gpus(world, machine,
                   is_kind(&of_leader, own) ? NULL : "its GPU is of another kind than rank 0's"))
        return STENCIL_OK;
    taken_gpu taken = {.host = world->host, .number = gpus->own};
    snprintf(taken.bus_id, sizeof taken.bus_id, "%s", own->bus_id);
    machine->gpu[gpus->own] = of_leader;
    if (machine->gpu_count <= gpus->own)
        machine->gpu_count = gpus->own + 1;
    return gather_gpus(world, &taken, gpus);
}

stencil_status ranks_share_machine(stencil_world *world, stencil_machine *machine, ranks_gpus *gpus) {
    enum { SHORT = 8, LONG = 1 << 18 };
    double short_s, long_s;
    *gpus = (ranks_gpus){.sharing = 1};
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
    stencil_machine *mine = malloc(sizeof *mine);
    TRY(stencil_world_agree(world, mine == NULL ? ERROR(NO_MEMORY, "no memory for the machine of a rank")
                                                : STENCIL_OK));
    *mine = *machine;
    stencil_world_tell(world, 0, machine, sizeof *machine);
    machine->host_available_bytes = (int64_t)least;
    const stencil_status status = share_gpus(world, machine, mine, gpus);
    free(mine);
    return status;
}

stencil_status ranks_find_reach(stencil_world *world, const stencil_machine *machine,
                                const stencil_run_options *options, ranks_gpus *gpus) {
    gpus->reach = false;
#ifdef STENCIL_HAVE_CUDA
    if (!stencil_world_alone(world) && world->local_ranks == world->ranks && machine->gpu_count > 0 &&
        gpus->sharing == 1 && options->backend != STENCIL_BACKEND_CPU &&
        options->halo != STENCIL_HALO_MESSAGE && options->halo != STENCIL_HALO_NCCL &&
        world->ranks <= STENCIL_PARTS_MAX)
        return stencil_ranks_reach(world, gpus->own, &gpus->reach);
#else
    (void)world, (void)machine, (void)options;
#endif
    return STENCIL_OK;
}

stencil_status ranks_check_plan(stencil_world *world, const stencil_plan *plan) {
    typedef struct choices {
        int strategy, sweep, depth, backend, poll_every;
    } choices;
    const choices own = {plan->strategy, (int)plan->sweep, plan->depth, (int)plan->backend, plan->poll_every};
    choices first = own;
    stencil_world_tell(world, 0, &first, sizeof first);
    CHECK(memcmp(&first, &own, sizeof own) == 0, UNAVAILABLE,
          "what rank 0 plans (--sync %s --sweep %s --depth %d) is not possible here: give others",
          stencil_strategy_at(first.strategy).name, stencil_sweep_infos[first.sweep].name, first.depth);
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
