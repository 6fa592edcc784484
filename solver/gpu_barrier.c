/* Memory of the barriers of a run on GPUs: words, who waits for whom, and how parts reach each other. */
#include "solver/gpu.h"

#ifdef STENCIL_HAVE_CUDA
#include <stdlib.h>

#include "solver/parts/ll.h"

static stencil_status to_device(void *to, const void *from, size_t bytes) {
    void **pointer = to;
    TRY_CUDA(cudaMalloc(pointer, bytes > 0 ? bytes : 4));
    TRY_CUDA(cudaMemcpy(*pointer, from, bytes, cudaMemcpyHostToDevice));
    return STENCIL_OK;
}

static uint32_t participants_of(const stencil_plan *plan) {
    const stencil_part_plan *last = &plan->part[plan->cut.parts - 1];
    return last->first_block + (uint32_t)last->grid_blocks;
}

static stencil_status create_words(stencil_gpu_run *gpu) {
    const stencil_plan *plan = gpu->plan;
    const uint32_t participants = participants_of(plan);
    const size_t count = stencil_barrier_word_count(participants);
    uint32_t *words = malloc(count * sizeof *words);
    CHECK(words != NULL, NO_MEMORY, "no memory for the barrier of %u blocks", (unsigned)participants);
    for (size_t i = 0; i < count; i++)
        words[i] = plan->patience.epoch;
    const stencil_status status = to_device(&gpu->barrier_words, words, count * sizeof *words);
    free(words);
    TRY(status);
    stencil_barrier_state *s = &gpu->sweep.barrier;
    s->words = gpu->barrier_words;
    s->participants = participants;
    s->first = plan->part[gpu->part].first_block;
    s->timeout_ns = (uint64_t)(1e9 * plan->patience.timeout_s);
    s->alarm = gpu->control->alarm;
    return STENCIL_OK;
}

/* How this part reaches the words and alarms of all. */
static stencil_status create_peers(stencil_gpu_run *gpu) {
    uint32_t *pointer[2 * STENCIL_PARTS_MAX];
    const int parts = gpu->team->parts;
    for (int p = 0; p < parts; p++) {
        pointer[p] = gpu->team->part[p].barrier_words;
        pointer[parts + p] = gpu->team->part[p].control->alarm;
    }
    TRY(to_device(&gpu->peers, pointer, 2 * (size_t)parts * sizeof *pointer));
    gpu->sweep.barrier.peer_words = gpu->peers;
    gpu->sweep.barrier.peer_alarm = gpu->peers + parts;
    return STENCIL_OK;
}

static int part_of(const stencil_plan *plan, uint32_t block) {
    int part = 0;
    while (part + 1 < plan->cut.parts && block >= plan->part[part + 1].first_block)
        part++;
    return part;
}

/* The part's share of the lists: from its first block on, and which parts wait for each of its blocks (whom
 * it waits for waits for it). Edges that come stamped tell of themselves: then blocks of other parts are not
 * waited for. */
static stencil_status hand_out(stencil_gpu_run *gpu, const stencil_neighbors *found) {
    const stencil_part_plan *part = &gpu->plan->part[gpu->part];
    const bool stamped = gpu->plan->halo == STENCIL_HALO_STAMPED;
    const uint32_t blocks = (uint32_t)part->grid_blocks, *first = found->first + part->first_block;
    const uint32_t entries = first[blocks] - first[0];
    uint32_t *own = malloc((2 * (size_t)blocks + 1 + entries + 1) * sizeof *own);
    uint32_t *announce = own + blocks + 1, *list = announce + blocks, count = 0, most = 0;
    CHECK(own != NULL, NO_MEMORY, "no memory for the neighbours of %u blocks", (unsigned)blocks);
    for (uint32_t b = 0; b < blocks; b++) {
        own[b] = count;
        announce[b] = 0;
        for (uint32_t i = first[b]; i < first[b + 1]; i++) {
            const int other = part_of(gpu->plan, found->list[i]);
            announce[b] |= other != gpu->part ? 1u << other : 0;
            if (!stamped || other == gpu->part)
                list[count++] = found->list[i];
        }
        most = count - own[b] > most ? count - own[b] : most;
    }
    own[blocks] = count;
    list[count] = 0; /* never empty: an address to hand over */
    stencil_status status = to_device(&gpu->neighbor_first, own, (blocks + 1) * sizeof *own);
    if (status == STENCIL_OK)
        status = to_device(&gpu->neighbor, list, (count + 1) * sizeof *list);
    if (status == STENCIL_OK && gpu->team->parts > 1 && !stamped)
        status = to_device(&gpu->announce, announce, blocks * sizeof *announce);
    free(own);
    gpu->sweep.barrier.neighbor_first = gpu->neighbor_first;
    gpu->sweep.barrier.neighbor = gpu->neighbor;
    gpu->sweep.barrier.neighbor_most = most;
    gpu->sweep.barrier.announce = gpu->announce;
    return status;
}

/* A list of a part's blocks on its device; each cell names the words of its slot, where the part that reads
 * it has them. */
static stencil_status hand_out_ll(const stencil_gpu_run *gpu, const stencil_ll_list *found,
                                  uint32_t **first_there, stencil_edge **edge_there) {
    const stencil_part_plan *part = &gpu->plan->part[gpu->part];
    const size_t words = (size_t)stencil_ll_words(gpu->team->layout.precision);
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
    stencil_status status = to_device(first_there, own, (blocks + (size_t)1) * sizeof *own);
    if (status == STENCIL_OK)
        status = to_device(edge_there, edge, (count + (size_t)1) * sizeof *edge);
    free(edge);
    return status;
}

/* The slots of all parts have one size. No word of them has the number of a step yet: sets of zeros,
 * which step 0 would have. */
static stencil_status create_ll(stencil_gpu_team *team, const stencil_ll_lists *found) {
    const size_t words = (size_t)stencil_ll_words(team->layout.precision);
    size_t set = 0;
    for (int p = 0; p < team->parts; p++)
        set = words * (size_t)found->slots[p] > set ? words * (size_t)found->slots[p] : set;
    for (int p = 0; p < team->parts; p++) {
        stencil_gpu_run *gpu = &team->part[p];
        TRY(stencil_gpu_take(gpu));
        TRY_CUDA(cudaMalloc((void **)&gpu->inbox, (2 * set + 2) * sizeof *gpu->inbox));
        TRY_CUDA(cudaMemset(gpu->inbox, 0, (2 * set + 2) * sizeof *gpu->inbox));
    }
    for (int p = 0; p < team->parts; p++) {
        stencil_gpu_run *gpu = &team->part[p];
        TRY(stencil_gpu_take(gpu));
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
    stencil_workers workers = {.tile = {plan->tile[0], plan->tile[1], plan->tile[2]}};
    for (int p = 0; p < team->parts; p++)
        workers.first[p] = plan->part[p].first_block;
    workers.first[team->parts] = participants_of(plan);
    stencil_neighbors found;
    TRY(stencil_neighbors_find(&found, &plan->cut, &workers));
    stencil_status status = STENCIL_OK;
    for (int p = 0; p < team->parts && status == STENCIL_OK; p++) {
        status = stencil_gpu_take(&team->part[p]);
        if (status == STENCIL_OK)
            status = hand_out(&team->part[p], &found);
    }
    stencil_neighbors_destroy(&found);
    if (status != STENCIL_OK || plan->halo != STENCIL_HALO_STAMPED)
        return status;
    stencil_ll_lists lists;
    TRY(stencil_ll_find(&lists, &plan->cut, &workers, &team->layout));
    status = create_ll(team, &lists);
    stencil_ll_destroy(&lists);
    return status;
}

stencil_status stencil_gpu_create_barriers(stencil_gpu_team *team) {
    for (int p = 0; p < team->parts; p++) {
        TRY(stencil_gpu_take(&team->part[p]));
        TRY(create_words(&team->part[p]));
    }
    for (int p = 0; p < team->parts && team->parts > 1; p++) {
        TRY(stencil_gpu_take(&team->part[p]));
        TRY(create_peers(&team->part[p]));
    }
    if (stencil_barriers[team->plan->barrier].needs == STENCIL_NEEDS_NEIGHBORS)
        TRY(create_neighbors(team));
    return STENCIL_OK;
}
#endif
