/* Memory of parts that kernels of other parts reach: of this process, or, where a persistent loop goes across
 * the ranks of a host, of all of them, mapped by CUDA IPC. */
#include "solver/device/gpu.h"

#ifdef STENCIL_HAVE_CUDA
#include <stdlib.h>
#include <string.h>

#include "solver/plan/memory.h"

/* Maps arrays of all ranks, which has been tried before the plan was made. */
static stencil_status map_all(const stencil_gpu_run *run, void *const own[], int count, stencil_mapping *m) {
    bool can = false;
    TRY_CUDA(cudaSetDevice(run->part[0].device));
    TRY(stencil_mapping_open(m, run->plan->world, own, count, &can));
    CHECK(can, INTERNAL, "the ranks cannot map each other's memory: give --halo message");
    return STENCIL_OK;
}

stencil_status stencil_gpu_reach_fields(stencil_gpu_run *run, const stencil_gpu_run *lender) {
    const int own = stencil_plan_first_part(run->plan);
    run->whole = run->plan->cut;
    run->whole.own = own;
    run->whole.owned = stencil_plan_parts(run->plan);
    run->reached.cut = &run->whole;
    if (lender != NULL) {
        memcpy(run->reached.at, lender->reached.at, sizeof run->reached.at);
        return STENCIL_OK;
    }
    for (int p = 0; p < run->parts; p++)
        memcpy(run->reached.at[run->part[p].part - own], run->buffers.at[p], sizeof run->buffers.at[p]);
    if (!run->plan->spans_ranks)
        return STENCIL_OK;
    TRY(map_all(run, run->buffers.at[0] + STENCIL_BUFFER_U, 2, &run->fields));
    for (int part = 0; part < run->whole.parts; part++)
        for (int k = 0; k < 2; k++)
            run->reached.at[part][STENCIL_BUFFER_U + k] = run->fields.at[2 * part + k];
    return STENCIL_OK;
}

/* The number of a part's first partial sum where a kernel finds it. */
static int64_t first_partial(const stencil_gpu_run *run, int part) {
    int64_t range[2];
    stencil_gpu_partials(&run->plan->cut, part, range);
    return range[0];
}

/* Opens the exchange of sums of groups: each rank combines a share of them, which all others get. */
static stencil_status open_results(stencil_gpu_run *run) {
    const int64_t results = stencil_level_count(stencil_partial_count(run->plan->cut.mesh.n));
    const int ranks = run->whole.parts, rank = run->part[0].part;
    stencil_message *message = calloc(2 * (size_t)ranks, sizeof *message);
    CHECK(message != NULL, NO_MEMORY, "no memory for the messages between ranks");
    int count = 0;
    for (int peer = 0; peer < ranks; peer++)
        for (int sent = 0; sent < 2; sent++) {
            const int from = sent ? rank : peer;
            const int64_t first = stencil_share(results, ranks, from),
                          end = stencil_share(results, ranks, from + 1);
            if (peer != rank && end > first)
                message[count++] = (stencil_message){peer, sent == 1, run->values + first,
                                                     (size_t)(end - first) * sizeof *run->values};
        }
    const stencil_status status = stencil_exchange_open(run->plan->world, message, count, &run->results);
    free(message);
    return status;
}

stencil_status stencil_gpu_reach_others(stencil_gpu_run *run) {
    enum { CONTROL, PARTIAL, LEVEL, WORDS, SLOTS, BARRIER, COUNT };
    if (run->plan->halo == STENCIL_HALO_MESSAGE)
        return STENCIL_OK;
    for (int p = 0; p < run->parts; p++) {
        const stencil_kernel_args *s = &run->part[p].args;
        stencil_gpu_reach *own = &run->reach[run->part[p].part];
        own->control = s->control;
        own->partial = s->domain.partial;
        own->level = s->level;
        own->words = s->resident.words;
    }
    if (!run->plan->spans_ranks)
        return STENCIL_OK;
    const stencil_gpu_reach *own = &run->reach[run->part[0].part];
    void *const given[COUNT] = {
        [CONTROL] = own->control, [PARTIAL] = own->partial + first_partial(run, run->part[0].part),
        [LEVEL] = own->level,     [WORDS] = own->words,
        [SLOTS] = own->slots,     [BARRIER] = own->barrier};
    TRY(map_all(run, given, COUNT, &run->beside));
    for (int part = 0; part < run->whole.parts; part++) {
        void *const *at = run->beside.at + COUNT * part;
        run->reach[part] = (stencil_gpu_reach){.control = at[CONTROL],
                                               .partial = (double *)at[PARTIAL] - first_partial(run, part),
                                               .level = at[LEVEL],
                                               .words = at[WORDS],
                                               .slots = at[SLOTS],
                                               .barrier = at[BARRIER]};
    }
    return stencil_world_agree(run->plan->world, open_results(run));
}

void stencil_gpu_reach_close(stencil_gpu_run *run) {
    if (run->results != NULL)
        stencil_exchange_close(run->plan->world, run->results);
    stencil_mapping_close(&run->fields);
    stencil_mapping_close(&run->beside);
}

stencil_status stencil_gpu_agree(const stencil_gpu_run *run, stencil_status status) {
    return run->plan->spans_ranks ? stencil_world_agree(run->plan->world, status) : status;
}

void stencil_gpu_exchange_results(const stencil_gpu_run *run) {
    if (!run->plan->spans_ranks)
        return;
    stencil_exchange_start(run->plan->world, run->results);
    stencil_exchange_finish(run->plan->world, run->results);
}
#endif
