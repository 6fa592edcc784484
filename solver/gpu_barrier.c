/* The barrier of a run on GPUs: who waits for whom, and what ghost cells of other parts travel by. */
#include "solver/gpu.h"

#ifdef STENCIL_HAVE_CUDA
#include <stdlib.h>

#include "solver/parts/workers.h"

/* A list of a part's blocks on its device; each cell names the words of its slot, where the part that reads
 * it has them. */
static stencil_status hand_out_ll(const stencil_gpu_part *gpu, const stencil_ll_list *found,
                                  uint32_t **first_there, stencil_ll_entry **edge_there) {
    const stencil_part_plan *part = &gpu->plan->part[gpu->part];
    const size_t words = (size_t)stencil_ll_words(gpu->plan->cut.layout.precision);
    const uint32_t blocks = (uint32_t)part->grid_blocks, *first = found->first + part->first_block;
    const uint32_t count = first[blocks] - first[0];
    const stencil_ll_cell *item = found->item + first[0];
    stencil_ll_entry *edge =
        malloc((count + (size_t)1) * sizeof *edge + (blocks + (size_t)1) * sizeof *first);
    CHECK(edge != NULL, NO_MEMORY, "no memory for the %u edge cells of a part", (unsigned)count);
    uint32_t *own = (uint32_t *)(edge + count + 1);
    for (uint32_t b = 0; b <= blocks; b++)
        own[b] = first[b] - first[0];
    for (uint32_t i = 0; i < count; i++)
        edge[i] = (stencil_ll_entry){item[i].cell,
                                     gpu->run->part[item[i].to].ll_slots + words * (size_t)item[i].slot};
    edge[count] = (stencil_ll_entry){0};
    stencil_status status = stencil_to_device(first_there, own, (blocks + (size_t)1) * sizeof *own);
    if (status == STENCIL_OK)
        status = stencil_to_device(edge_there, edge, (count + (size_t)1) * sizeof *edge);
    free(edge);
    return status;
}

/* The slots of all parts have one size. No word of them has the number of a step yet: sets of zeros,
 * which step 0 would have. */
static stencil_status create_ll(stencil_gpu_run *run, const stencil_ll_lists *found) {
    const size_t words = (size_t)stencil_ll_words(run->plan->cut.layout.precision);
    size_t set = 0;
    for (int p = 0; p < run->parts; p++)
        set = words * (size_t)found->slots[p] > set ? words * (size_t)found->slots[p] : set;
    for (int p = 0; p < run->parts; p++) {
        stencil_gpu_part *gpu = &run->part[p];
        TRY_CUDA(cudaSetDevice(gpu->device));
        TRY_CUDA(cudaMalloc((void **)&gpu->ll_slots, (2 * set + 2) * sizeof *gpu->ll_slots));
        TRY_CUDA(cudaMemset(gpu->ll_slots, 0, (2 * set + 2) * sizeof *gpu->ll_slots));
    }
    for (int p = 0; p < run->parts; p++) {
        stencil_gpu_part *gpu = &run->part[p];
        TRY_CUDA(cudaSetDevice(gpu->device));
        TRY(hand_out_ll(gpu, &found->send, &gpu->send_first, &gpu->send));
        TRY(hand_out_ll(gpu, &found->receive, &gpu->receive_first, &gpu->receive));
        gpu->args.ll = (stencil_ll){.send_first = gpu->send_first,
                                    .receive_first = gpu->receive_first,
                                    .send = gpu->send,
                                    .receive = gpu->receive,
                                    .set = (int64_t)set};
    }
    return STENCIL_OK;
}

static stencil_status create_neighbors(stencil_gpu_run *run) {
    const stencil_plan *plan = run->plan;
    const bool ll = plan->halo == STENCIL_HALO_LL;
    stencil_workers workers = {.tile = {plan->tile[0], plan->tile[1], plan->tile[2]}};
    for (int p = 0; p <= run->parts; p++)
        workers.first[p] = run->barrier.shape.first[p];
    stencil_neighbors found;
    TRY(stencil_neighbors_find(&found, &plan->cut, &workers));
    /* Flagged words tell of themselves: then blocks of other parts are not waited for. */
    const stencil_status status = stencil_barrier_set_neighbors(&run->barrier, found.first, found.list, ll);
    stencil_neighbors_destroy(&found);
    if (status != STENCIL_OK || !ll)
        return status;
    stencil_ll_lists lists;
    TRY(stencil_ll_find(&lists, &plan->cut, &workers));
    const stencil_status made = create_ll(run, &lists);
    stencil_ll_destroy(&lists);
    return made;
}

/* Parts that share a GPU: their kernels wait for each other, so all of them have to run at once. */
static stencil_status share_gpus(stencil_gpu_run *run) {
    for (int p = 0; p < run->parts; p++) {
        cudaStream_t *stream[STENCIL_PARTS_MAX];
        int count = 0;
        if (!run->part[p].shared || !run->plan->part[p].leads)
            continue;
        for (int q = p; q < run->parts; q++)
            if (run->part[q].device == run->part[p].device)
                stream[count++] = &run->part[q].stream;
        TRY_CUDA(cudaSetDevice(run->part[p].device));
        TRY(stencil_streams_make_coresident(stream, count));
    }
    return STENCIL_OK;
}

stencil_status stencil_gpu_create_barriers(stencil_gpu_run *run) {
    const stencil_plan *plan = run->plan;
    stencil_barrier_shape shape = {.info = &stencil_barriers[plan->barrier],
                                   .parts = run->parts,
                                   .epoch = plan->wait.epoch,
                                   .timeout_s = plan->wait.timeout_s};
    for (int p = 0; p < run->parts; p++) {
        shape.device[p] = run->part[p].device;
        shape.alarm[p] = run->part[p].control->alarm;
        shape.first[p + 1] = plan->part[p].first_block + (uint32_t)plan->part[p].grid_blocks;
    }
    TRY(stencil_barrier_create(&run->barrier, &shape));
    if (shape.info->needs == STENCIL_NEEDS_NEIGHBORS)
        TRY(create_neighbors(run));
    for (int p = 0; p < run->parts; p++)
        run->part[p].args.barrier = run->barrier.state[p];
    return share_gpus(run);
}
#endif
