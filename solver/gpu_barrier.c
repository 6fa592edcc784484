/* The barrier of a run on GPUs: who waits for whom, and what edge cells for other parts travel by. */
#include "solver/gpu.h"

#ifdef STENCIL_HAVE_CUDA
#include <stdlib.h>

#include "solver/parts/ll.h"

/* A list of a part's blocks on its device; each cell names the words of its slot, where the part that reads
 * it has them. */
static stencil_status hand_out_ll(const stencil_gpu_run *gpu, const stencil_ll_list *found,
                                  uint32_t **first_there, stencil_edge **edge_there) {
    const stencil_part_plan *part = &gpu->plan->part[gpu->part];
    const size_t words = (size_t)stencil_ll_words(gpu->team->buffers.layout.precision);
    const uint32_t blocks = (uint32_t)part->grid_blocks, *first = found->first + part->first_block;
    const uint32_t count = first[blocks] - first[0];
    const stencil_ll_cell *item = found->item + first[0];
    stencil_edge *edge = malloc((count + (size_t)1) * sizeof *edge + (blocks + (size_t)1) * sizeof *first);
    CHECK(edge != NULL, NO_MEMORY, "no memory for the %u edge cells of a part", (unsigned)count);
    uint32_t *own = (uint32_t *)(edge + count + 1);
    for (uint32_t b = 0; b <= blocks; b++)
        own[b] = first[b] - first[0];
    for (uint32_t i = 0; i < count; i++)
        edge[i] =
            (stencil_edge){item[i].cell, gpu->team->part[item[i].to].inbox + words * (size_t)item[i].slot};
    edge[count] = (stencil_edge){0};
    stencil_status status = stencil_to_device(first_there, own, (blocks + (size_t)1) * sizeof *own);
    if (status == STENCIL_OK)
        status = stencil_to_device(edge_there, edge, (count + (size_t)1) * sizeof *edge);
    free(edge);
    return status;
}

/* The slots of all parts have one size. No word of them has the number of a step yet: sets of zeros,
 * which step 0 would have. */
static stencil_status create_ll(stencil_gpu_team *team, const stencil_ll_lists *found) {
    const size_t words = (size_t)stencil_ll_words(team->buffers.layout.precision);
    size_t set = 0;
    for (int p = 0; p < team->parts; p++)
        set = words * (size_t)found->slots[p] > set ? words * (size_t)found->slots[p] : set;
    for (int p = 0; p < team->parts; p++) {
        stencil_gpu_run *gpu = &team->part[p];
        TRY_CUDA(cudaSetDevice(gpu->device));
        TRY_CUDA(cudaMalloc((void **)&gpu->inbox, (2 * set + 2) * sizeof *gpu->inbox));
        TRY_CUDA(cudaMemset(gpu->inbox, 0, (2 * set + 2) * sizeof *gpu->inbox));
    }
    for (int p = 0; p < team->parts; p++) {
        stencil_gpu_run *gpu = &team->part[p];
        TRY_CUDA(cudaSetDevice(gpu->device));
        TRY(hand_out_ll(gpu, &found->send, &gpu->push_first, &gpu->push));
        TRY(hand_out_ll(gpu, &found->receive, &gpu->pull_first, &gpu->pull));
        gpu->sweep.inbox = (stencil_inbox){.push_first = gpu->push_first,
                                           .pull_first = gpu->pull_first,
                                           .push = gpu->push,
                                           .pull = gpu->pull,
                                           .set = (int64_t)set};
    }
    return STENCIL_OK;
}

static stencil_status create_neighbors(stencil_gpu_team *team) {
    const stencil_plan *plan = team->plan;
    const bool stamped = plan->halo == STENCIL_HALO_STAMPED;
    stencil_workers workers = {.tile = {plan->tile[0], plan->tile[1], plan->tile[2]}};
    for (int p = 0; p <= team->parts; p++)
        workers.first[p] = team->barrier.shape.first[p];
    stencil_neighbors found;
    TRY(stencil_neighbors_find(&found, &plan->cut, &workers));
    /* Edges that come stamped tell of themselves: then blocks of other parts are not waited for. */
    const stencil_status status =
        stencil_barrier_set_neighbors(&team->barrier, found.first, found.list, stamped);
    stencil_neighbors_destroy(&found);
    if (status != STENCIL_OK || !stamped)
        return status;
    stencil_ll_lists lists;
    TRY(stencil_ll_find(&lists, &plan->cut, &workers, &team->buffers.layout));
    const stencil_status made = create_ll(team, &lists);
    stencil_ll_destroy(&lists);
    return made;
}

/* Parts that share a GPU: their kernels wait for each other, so all of them have to run at once. */
static stencil_status share_gpus(stencil_gpu_team *team) {
    for (int p = 0; p < team->parts; p++) {
        cudaStream_t *stream[STENCIL_PARTS_MAX];
        int count = 0;
        bool first = team->part[p].shared;
        for (int q = 0; q < team->parts; q++)
            if (team->part[q].device == team->part[p].device) {
                first = first && q >= p;
                stream[count++] = &team->part[q].stream;
            }
        if (!first)
            continue;
        TRY_CUDA(cudaSetDevice(team->part[p].device));
        TRY(stencil_streams_make_coresident(stream, count));
    }
    return STENCIL_OK;
}

stencil_status stencil_gpu_create_barriers(stencil_gpu_team *team) {
    const stencil_plan *plan = team->plan;
    stencil_barrier_shape shape = {.info = &stencil_barriers[plan->barrier],
                                   .parts = team->parts,
                                   .epoch = plan->patience.epoch,
                                   .timeout_s = plan->patience.timeout_s};
    for (int p = 0; p < team->parts; p++) {
        shape.device[p] = team->part[p].device;
        shape.alarm[p] = team->part[p].control->alarm;
        shape.first[p + 1] = plan->part[p].first_block + (uint32_t)plan->part[p].grid_blocks;
    }
    TRY(stencil_barrier_create(&team->barrier, &shape));
    if (shape.info->needs == STENCIL_NEEDS_NEIGHBORS)
        TRY(create_neighbors(team));
    for (int p = 0; p < team->parts; p++)
        team->part[p].sweep.barrier = team->barrier.state[p];
    return share_gpus(team);
}
#endif
