#include "solver/device/gpu.h"

#ifdef STENCIL_HAVE_CUDA
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "solver/parts/workers.h"
#include "solver/plan/memory.h"
#include "solver/plan/sweeps/pipeline_share.h"

/* Allocates the words in which resident tiles exchange rows. Zeroed words do not match the number of any
 * exchange, unless exchanges are counted from -1 or -2. */
static stencil_status allocate_tiles(stencil_gpu_part *gpu) {
    const stencil_plan *plan = gpu->run->plan;
    const size_t tiles = (size_t)stencil_resident_tiles(&plan->layout.resident);
    uint32_t *const made = malloc(tiles * sizeof *made);
    CHECK(made != NULL, NO_MEMORY, "no memory for the numbers of %zu tiles", tiles);
    for (size_t i = 0; i < tiles; i++)
        made[i] = plan->wait.epoch;
    const stencil_status status =
        stencil_gpu_own(gpu, &gpu->args.resident.exchanges, made, tiles * sizeof *made);
    free(made);
    TRY(status);
    TRY(stencil_gpu_own_reached(gpu, &gpu->args.resident.words, (size_t)plan->layout.resident_bytes));
    if (plan->layout.kept_bytes == 0)
        return STENCIL_OK;
    TRY(stencil_gpu_own(gpu, &gpu->args.resident.kept, NULL, (size_t)plan->layout.kept_bytes));
    return stencil_gpu_own(gpu, &gpu->args.resident.nodes, NULL,
                           (size_t)plan->layout.node_count * sizeof *gpu->args.resident.nodes);
}

/* Connects resident tiles at a cut to the words of the part on the other side, to which they send rows. */
static void connect_tiles(stencil_gpu_run *run) {
    for (int p = 0; p < run->parts; p++)
        for (int side = 0; side < 2; side++) {
            const int part = run->part[p].part,
                      beyond = stencil_cut_side(&run->plan->cut, part, STENCIL_Y, side).beyond;
            if (beyond >= 0 && beyond != part)
                run->part[p].args.resident.beyond[side] = run->reach[beyond].words;
        }
}

/* The participants of the barrier: first[p] is the first block of part p, of all whose kernels wait for each
 * other. */
static void find_participants(const stencil_plan *plan, uint32_t first[STENCIL_PARTS_MAX + 1]) {
    first[0] = 0;
    for (int p = 0; p < stencil_plan_parts(plan); p++)
        first[p + 1] = plan->part[p].first_block + (uint32_t)plan->part[p].grid_blocks;
}

/* Allocates the barrier words and LL slots of this rank's part, which those of others reach. */
static stencil_status allocate_for_others(stencil_gpu_run *run) {
    stencil_gpu_part *gpu = &run->part[0];
    stencil_barrier_shape shape = {.parts = stencil_plan_parts(run->plan)};
    find_participants(run->plan, shape.first);
    return stencil_gpu_own_reached(gpu, &run->reach[gpu->part].barrier, stencil_barrier_bytes(&shape));
}

/* Words in each of the two sets of LL slots of a part. */
static int64_t ll_set(const stencil_cut *cut) {
    return stencil_ll_words(cut->layout.precision) * stencil_ll_slots_most(cut);
}

/* Allocates the LL slots of all own parts, all of one size; zeroed slots match the number of no later step.
 */
static stencil_status allocate_slots(stencil_gpu_run *run) {
    const size_t bytes = 2 * (size_t)ll_set(&run->plan->cut) * sizeof(uint64_t);
    for (int p = 0; p < run->parts; p++) {
        TRY_CUDA(cudaSetDevice(run->part[p].device));
        TRY(stencil_gpu_own_reached(&run->part[p], &run->reach[run->part[p].part].slots, bytes));
    }
    return STENCIL_OK;
}

/* Allocates the shares of lines of warps in the rows of passes, which stencil_gpu_share() makes. */
static stencil_status allocate_shares(stencil_gpu_part *gpu, const stencil_problem *problem) {
    const stencil_plan *plan = gpu->plan;
    if (plan->depth == 1 || plan->kernel.kinds == NULL)
        return STENCIL_OK;
    gpu->args.class_passes.lines = (int32_t)stencil_share_line_count(plan, problem);
    return stencil_gpu_own(gpu, &gpu->args.class_passes.share, NULL,
                           (size_t)stencil_share_numbers(plan, problem) * sizeof(int64_t));
}

/* Allocates all device memory of a part but its fields, and sets the kernel arguments that point to it. */
static stencil_status allocate(stencil_gpu_part *gpu) {
    const stencil_gpu_run *run = gpu->run;
    stencil_kernel_args *s = &gpu->args;
    const bool sends = run->plan->halo == STENCIL_HALO_MESSAGE;
    const size_t levels =
        sends ? 1 : (size_t)stencil_levels_count(stencil_partial_count(run->plan->cut.mesh.n));
    int64_t partials[2];
    stencil_gpu_partials(&run->plan->cut, gpu->part, partials);
    TRY(stencil_gpu_own_reached(gpu, &s->domain.partial,
                                2 * (size_t)s->domain.partial_set * sizeof *s->domain.partial));
    s->domain.partial -= sends ? 0 : partials[0];
    TRY(stencil_gpu_own_reached(gpu, &s->level, levels * sizeof *s->level));
    TRY(stencil_gpu_own(gpu, &s->history, NULL, STENCIL_CHECKS_MAX * sizeof *s->history));
    TRY(stencil_gpu_own_reached(gpu, &s->control, sizeof *s->control));
    TRY(stencil_gpu_own(gpu, &s->cycle, run->cycle,
                        (size_t)(run->cycle_length + run->palette_count) * sizeof *s->cycle));
    s->classes.palette = run->palette_count > 0 ? s->cycle + run->cycle_length : NULL;
    s->class_passes.palette_count = run->palette_count;
    if (run->factors.factor != NULL)
        TRY(stencil_gpu_own(gpu, &s->sums.factor, NULL, (size_t)run->factors_bytes));
    if (run->plan->layout.kind == STENCIL_PASS_ON_CHIP)
        TRY(allocate_tiles(gpu));
    TRY_CUDA(cudaHostAlloc((void **)&s->mailbox, sizeof *s->mailbox, cudaHostAllocMapped));
    TRY_CUDA(cudaMallocHost((void **)&gpu->control_host, sizeof *gpu->control_host));
    *s->mailbox = (stencil_mailbox){.residual = NAN};
    return STENCIL_OK;
}

/* Fills in the kernel arguments that all launches of a part share, but addresses that allocate() sets. */
static void init_args(stencil_gpu_part *gpu, const stencil_problem *problem) {
    const stencil_plan *plan = gpu->plan;
    const int64_t results = stencil_level_count(stencil_partial_count(problem->n));
    stencil_kernel_args *s = &gpu->args;
    stencil_domain_init(&s->domain, problem, gpu->part, &gpu->run->reached, plan->halo == STENCIL_HALO_STORE);
    memcpy(gpu->u, s->domain.u, sizeof gpu->u);
    s->domain.weights = gpu->run->cycle[0];
    s->depth = plan->depth;
    s->sync = plan->barrier;
    s->cycle_length = gpu->run->cycle_length;
    s->domain.partial_set = stencil_gpu_partials_most(&plan->cut, plan->halo);
    if (plan->halo == STENCIL_HALO_MESSAGE) { /* numbered within the part */
        s->domain.partial_first = 0;
        s->domain.partial_row = gpu->run->reduction.row;
        s->domain.partial_plane = gpu->run->reduction.plane;
    }
    /* Each part combines a share of the groups of partial sums; with slabs nearly all of them are its own. A
     * single group belongs to part 0; persistent kernels combine it in every block. */
    s->result_first = stencil_share(results, plan->cut.parts, gpu->part);
    s->result_end = stencil_share(results, plan->cut.parts, gpu->part + 1);
    s->poll_every = plan->poll_every;
    s->past_l2 = stencil_plan_part(plan, gpu->part)->past_l2;
    s->mirrors_rows = plan->cut.mesh.boundary[STENCIL_Y] == STENCIL_MIRROR;
    s->tile_stream = plan->stream;
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        s->tile_count[axis] = (uint32_t)((s->domain.n[axis] + plan->tile[axis] - 1) / plan->tile[axis]);
    s->classes = stencil_classes_of(&gpu->run->buffers, gpu->part);
    s->sums = stencil_sums_of(problem, &gpu->run->buffers, gpu->part);
    s->fault = plan->wait.fault;
    s->resident = plan->layout.resident;
    s->special = s->fault.delay_ns != 0 || s->fault.absent_step != 0;
}

/* Loads a kernel eagerly, as lazy loading could deadlock while kernels wait for each other, and raises the
 * limit of its dynamic shared memory to shared_bytes. The limit is never lowered: other plans of the run may
 * use the same kernel, and a launch above the limit fails. A NULL function is ignored. */
static stencil_status load_kernel(const void *function, int shared_bytes) {
    struct cudaFuncAttributes attributes;
    if (function == NULL)
        return STENCIL_OK;
    TRY_CUDA(cudaFuncGetAttributes(&attributes, function));
    if (attributes.maxDynamicSharedSizeBytes < shared_bytes)
        TRY_CUDA(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
    return STENCIL_OK;
}

/* Loads all kernels that a plan launches; persistent kernels of single steps combine residuals themselves. */
static stencil_status load_kernels(const stencil_plan *plan) {
    const stencil_kernel *kernel = &plan->kernel;
    TRY(load_kernel(kernel->function, kernel->step_bytes));
    TRY(load_kernel(kernel->traced, kernel->step_bytes));
    if (plan->halo == STENCIL_HALO_MESSAGE) {
        TRY(load_kernel(stencil_pack_kernel(kernel->precision), 0));
        TRY(load_kernel(stencil_groups_kernel(), 0));
    }
    if (plan->barrier == STENCIL_BARRIER_none || plan->depth > 1) {
        TRY(load_kernel(stencil_combine_kernel(), 0));
        TRY(load_kernel(stencil_judge_kernel(), 0));
    }
    if (plan->depth == 1)
        return STENCIL_OK;
    TRY(load_kernel(kernel->deep, kernel->deep_bytes));
    TRY(load_kernel(kernel->checked, kernel->checked_bytes));
    TRY(load_kernel(stencil_copies_kernel(kernel->precision), 0));
    return load_kernel(kernel->mirror, 0);
}

/* Checks that the loaded machine code has what the plan needs: a missing kernel would end in a trap. Kernels
 * order programmatic launches by an instruction that code for older architectures lacks. */
static stencil_status check_code(stencil_gpu_part *gpu) {
    enum { PROGRAMMATIC = 90 };
    const stencil_plan *plan = gpu->plan;
    const int barrier = stencil_barriers[plan->barrier].capability,
              deep = plan->depth > 1 ? plan->kernel.deep_capability : 0;
    int code = 0, major = 0;
    TRY(stencil_code_loaded(&code));
    CHECK(code >= barrier && code >= deep, INTERNAL,
          "GPU %d has code for compute capability %d.%d, too old for %s", gpu->device, code / 10, code % 10,
          code < barrier ? stencil_barriers[plan->barrier].name : stencil_sweep_names[plan->sweep]);
    TRY_CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, gpu->device));
    gpu->programmatic = 10 * major >= PROGRAMMATIC && code >= PROGRAMMATIC;
    return STENCIL_OK;
}

/* Creates the streams and events of a part and loads its kernels. */
static stencil_status start_part(stencil_gpu_part *gpu, const stencil_gpu_run *lender) {
    TRY(load_kernels(gpu->plan));
    TRY(check_code(gpu));
    int least = 0, greatest = 0;
    TRY_CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    /* persistent kernels that share a GPU need streams that were tested to run concurrently */
    gpu->lent = lender != NULL && (!gpu->shared || gpu->plan->barrier == STENCIL_BARRIER_none ||
                                   lender->plan->barrier != STENCIL_BARRIER_none);
    if (gpu->lent)
        gpu->stream = stencil_gpu_part_of(lender, gpu->part)->stream;
    else
        TRY_CUDA(cudaStreamCreateWithFlags(&gpu->stream, cudaStreamNonBlocking));
    if (gpu->plan->overlap)
        TRY_CUDA(cudaStreamCreateWithPriority(&gpu->edge_stream, cudaStreamNonBlocking, greatest));
    TRY_CUDA(cudaEventCreate(&gpu->begin));
    TRY_CUDA(cudaEventCreate(&gpu->end));
    TRY_CUDA(cudaEventCreateWithFlags(&gpu->step_done, cudaEventDisableTiming));
    TRY_CUDA(cudaEventCreateWithFlags(&gpu->edges_done, cudaEventDisableTiming));
    TRY_CUDA(cudaEventCreateWithFlags(&gpu->polled, cudaEventDisableTiming));
    for (int k = 0; k < 2; k++)
        TRY_CUDA(cudaEventCreateWithFlags(&gpu->made[k], cudaEventDisableTiming));
    return STENCIL_OK;
}

static stencil_status create_peers(stencil_gpu_part *gpu) {
    const stencil_gpu_run *run = gpu->run;
    stencil_peers peers = {0};
    for (int p = 0; p < run->whole.parts; p++) {
        peers.control[p] = run->reach[p].control;
        peers.partial[p] = run->reach[p].partial;
        peers.level[p] = run->reach[p].level;
    }
    memcpy(peers.count, run->plan->cut.count, sizeof peers.count);
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        for (int k = 0; k <= run->plan->cut.count[axis]; k++)
            peers.first[axis][k] = stencil_cut_first(&run->plan->cut, axis, k);
    TRY_CUDA(cudaSetDevice(gpu->device));
    return stencil_gpu_own(gpu, &gpu->args.peers, &peers, sizeof peers);
}

/* Copies a part's share of an LL list to its device; the entries keep their indices of the whole list. */
static stencil_status hand_out(stencil_gpu_part *gpu, const stencil_ll_list *list, const uint32_t **first,
                               const stencil_ll_entry **item) {
    const stencil_part_plan *part = stencil_plan_part(gpu->plan, gpu->part);
    const uint32_t *own_first = list->first + part->first_block;
    const size_t blocks = (size_t)part->grid_blocks, count = own_first[blocks] - own_first[0];
    TRY(stencil_gpu_own(gpu, first, own_first, (blocks + 1) * sizeof *own_first));
    TRY(stencil_gpu_own(gpu, item, list->item + own_first[0], count * sizeof *list->item));
    *item -= own_first[0];
    return STENCIL_OK;
}

/* Tells the blocks of all parts in which LL slots they find and store which cells. */
static stencil_status create_ll(stencil_gpu_run *run, const stencil_workers *workers) {
    uint64_t *slots[STENCIL_PARTS_MAX] = {0};
    stencil_ll_lists found;
    for (int p = 0; p < run->whole.parts; p++)
        slots[p] = run->reach[p].slots;
    stencil_status status = stencil_ll_find(&found, &run->whole, workers, slots);
    for (int p = 0; p < run->parts && status == STENCIL_OK; p++) {
        stencil_gpu_part *gpu = &run->part[p];
        stencil_ll *ll = &gpu->args.ll;
        ll->set = ll_set(&run->plan->cut);
        cudaSetDevice(gpu->device);
        status = hand_out(gpu, &found.send, &ll->send_first, &ll->send);
        if (status == STENCIL_OK)
            status = hand_out(gpu, &found.receive, &ll->receive_first, &ll->receive);
    }
    stencil_ll_destroy(&found);
    return status;
}

/* Finds the blocks with whose tiles on chip those of each block exchange cells: these wait for no others. */
static stencil_status find_tiles_beside(stencil_gpu_run *run, const uint32_t *first) {
    const stencil_resident *r = &run->plan->layout.resident;
    const int64_t tiles[3] = {r->tiles_z, r->tiles[0], r->tiles[1]};
    bool periodic[3];
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        periodic[axis] = run->plan->cut.mesh.boundary[axis] == STENCIL_PERIODIC;
    stencil_neighbors_destroy(&run->neighbors);
    return stencil_neighbors_of_grid(&run->neighbors, run->whole.parts, first, tiles, periodic);
}

/* Finds the blocks that each block waits for and, with halo LL, creates the slots for ghost cells. */
static stencil_status create_neighbors(stencil_gpu_run *run) {
    const stencil_plan *plan = run->plan;
    const bool ll = plan->halo == STENCIL_HALO_LL;
    stencil_workers workers = {.tile = {plan->tile[0], plan->tile[1], plan->tile[2]}};
    find_participants(plan, workers.first);
    TRY(stencil_neighbors_find(&run->neighbors, &run->whole, &workers));
    /* LL words carry their own flags, so blocks need not wait for blocks of other parts */
    TRY(stencil_barrier_set_neighbors(&run->barrier, run->neighbors.first, run->neighbors.list, ll));
    if (plan->layout.kind == STENCIL_PASS_ON_CHIP)
        TRY(find_tiles_beside(run, workers.first));
    return ll ? create_ll(run, &workers) : STENCIL_OK;
}

/* Lets the kernels of parts on one GPU, which wait for each other, run in concurrent streams. */
static stencil_status share_gpus(stencil_gpu_run *run) {
    for (int p = 0; p < run->parts; p++) {
        cudaStream_t *stream[STENCIL_PARTS_MAX];
        int count = 0;
        if (!run->part[p].shared || !run->plan->part[p].leads || run->part[p].lent)
            continue;
        for (int q = p; q < run->parts; q++)
            if (run->part[q].device == run->part[p].device)
                stream[count++] = &run->part[q].stream;
        TRY_CUDA(cudaSetDevice(run->part[p].device));
        TRY(stencil_streams_make_coresident(stream, count));
    }
    return STENCIL_OK;
}

static stencil_status create_barriers(stencil_gpu_run *run) {
    const stencil_plan *plan = run->plan;
    stencil_barrier_shape shape = {.info = &stencil_barriers[plan->barrier],
                                   .parts = stencil_plan_parts(plan),
                                   .epoch = plan->wait.epoch,
                                   .timeout_s = plan->wait.timeout_s};
    find_participants(plan, shape.first);
    for (int p = 0; p < shape.parts; p++) {
        shape.device[p] = plan->part[p].gpu;
        shape.alarm[p] = run->reach[p].control->alarm;
        shape.words[p] = run->reach[p].barrier;
    }
    if (plan->spans_ranks)
        shape.own = plan->cut.own, shape.owned = run->parts;
    TRY(stencil_barrier_create(&run->barrier, &shape));
    if (shape.info->needs == STENCIL_NEEDS_NEIGHBORS &&
        plan->depth == 1) /* passes of several steps have a full barrier */
        TRY(create_neighbors(run));
    for (int p = 0; p < run->parts; p++)
        run->part[p].args.barrier = run->barrier.state[run->part[p].part];
    return share_gpus(run);
}

/* Creates kernels, streams and buffers of each part. */
static stencil_status start_parts(stencil_gpu_run *run, const stencil_problem *problem,
                                  const stencil_gpu_run *lender) {
    int device[STENCIL_PARTS_MAX];
    const unsigned buffers = lender == NULL ? stencil_buffers_of(problem, true) : 0;
    for (int p = 0; p < run->parts; p++)
        device[p] = run->part[p].device;
    if (run->plan->halo == STENCIL_HALO_COPY)
        TRY(stencil_halo_transfers_find(&run->transfers, &run->plan->cut));
    for (int p = 0; p < run->parts; p++) {
        stencil_gpu_part *gpu = &run->part[p];
        TRY_CUDA(cudaSetDevice(gpu->device));
        TRY(start_part(gpu, lender));
        if (!run->plan->apart)
            TRY(stencil_peers_reach(gpu->device, device, run->parts));
        for (int k = 0; k < STENCIL_BUFFERS; k++)
            if ((buffers >> k & 1) != 0)
                TRY(stencil_gpu_own_reached(gpu, &run->buffers.at[p][k],
                                            (size_t)stencil_buffer_bytes(&run->plan->cut, k)));
    }
    return STENCIL_OK;
}

/* Allocates all other memory of each part, and sets the arguments that do not point to that of others. */
static stencil_status allocate_parts(stencil_gpu_run *run, const stencil_problem *problem) {
    const int64_t values = stencil_gpu_values(&run->plan->cut, run->plan->halo);
    TRY_CUDA(cudaHostAlloc(&run->staging, (size_t)run->staging_bytes, cudaHostAllocPortable));
    TRY_CUDA(
        cudaHostAlloc((void **)&run->values, (size_t)stencil_values_bytes(values), cudaHostAllocPortable));
    for (int p = 0; p < run->parts; p++) {
        TRY_CUDA(cudaSetDevice(run->part[p].device));
        init_args(&run->part[p], problem);
        TRY(allocate(&run->part[p]));
        TRY(allocate_shares(&run->part[p], problem));
    }
    if (run->plan->spans_ranks)
        TRY(allocate_for_others(run));
    return run->plan->halo == STENCIL_HALO_LL ? allocate_slots(run) : STENCIL_OK;
}

/* Connects each part to the others. */
static stencil_status connect_parts(stencil_gpu_run *run) {
    for (int p = 0; p < run->parts && run->whole.parts > 1 && !run->combine_on_host; p++)
        TRY(create_peers(&run->part[p]));
    if (run->plan->layout.kind == STENCIL_PASS_ON_CHIP)
        connect_tiles(run);
    if (run->plan->barrier != STENCIL_BARRIER_none)
        TRY(create_barriers(run));
    for (int p = 0; p < run->parts; p++) {
        TRY_CUDA(cudaSetDevice(run->part[p].device));
        TRY_CUDA(cudaDeviceSynchronize());
    }
    return STENCIL_OK;
}

/* Creates the parts: in stages where ranks reach each other's, so that each has what the others map. */
static stencil_status create_parts(stencil_gpu_run *run, const stencil_problem *problem,
                                   const stencil_gpu_run *lender) {
    if (run->plan->halo == STENCIL_HALO_MESSAGE)
        TRY(stencil_gpu_messages_create(run));
    TRY(stencil_gpu_agree(run, start_parts(run, problem, lender)));
    TRY(stencil_gpu_reach_fields(run, lender));
    TRY(stencil_gpu_agree(run, allocate_parts(run, problem)));
    TRY(stencil_gpu_reach_others(run));
    return stencil_gpu_agree(run, connect_parts(run));
}

stencil_status stencil_gpu_create(stencil_gpu_run *run, const stencil_plan *plan,
                                  const stencil_problem *problem, const stencil_gpu_run *lender) {
    *run = (stencil_gpu_run){.plan = plan, .parts = plan->cut.owned};
    run->buffers = (stencil_buffers){.cut = &plan->cut};
    if (lender != NULL)
        memcpy(run->buffers.at, lender->buffers.at, sizeof run->buffers.at);
    run->staging_bytes = stencil_gpu_staging_bytes(&plan->cut.layout);
    run->combine_on_host =
        (run->parts > 1 && plan->halo == STENCIL_HALO_COPY) || plan->halo == STENCIL_HALO_MESSAGE;
    TRY(stencil_weights_make(&run->cycle, &run->cycle_length, problem));
    TRY(stencil_factors_create(&run->factors, problem));
    run->factors_bytes = stencil_factors_bytes(problem);
    if (run->factors_bytes > 0)
        TRY(stencil_memory_alloc(&run->rounded, run->factors_bytes, "the factors of the steps"));
    run->palette_count = stencil_weights_rows(problem);
    for (int p = 0; p < run->parts; p++)
        run->part[p] = (stencil_gpu_part){.run = run,
                                          .part = plan->cut.own + p,
                                          .device = stencil_plan_part(plan, plan->cut.own + p)->gpu,
                                          .shared = stencil_plan_part(plan, plan->cut.own + p)->sharing > 1,
                                          .plan = plan};
    TRY(create_parts(run, problem, lender));
    for (int p = 0; p < run->parts && lender != NULL; p++)
        TRY(stencil_gpu_share(run, problem, plan->cut.own + p));
    return STENCIL_OK;
}

static void destroy_part(stencil_gpu_part *gpu) {
    const cudaEvent_t event[] = {gpu->begin,  gpu->end,     gpu->step_done, gpu->edges_done,
                                 gpu->polled, gpu->made[0], gpu->made[1]};
    cudaSetDevice(gpu->device);
    for (int i = 0; i < gpu->memory_count; i++)
        cudaFree(gpu->memory[i]);
    cudaFreeHost(gpu->args.mailbox);
    cudaFreeHost(gpu->control_host);
    for (size_t i = 0; i < sizeof event / sizeof *event; i++)
        if (event[i] != NULL)
            cudaEventDestroy(event[i]);
    if (gpu->stream != NULL && !gpu->lent)
        cudaStreamDestroy(gpu->stream);
    if (gpu->edge_stream != NULL)
        cudaStreamDestroy(gpu->edge_stream);
}

void stencil_gpu_destroy(stencil_gpu_run *run) {
    if (run == NULL)
        return;
    stencil_gpu_messages_destroy(run);
    stencil_gpu_reach_close(run);
    for (int p = 0; p < run->parts; p++)
        destroy_part(&run->part[p]);
    cudaFreeHost(run->values);
    cudaFreeHost(run->staging);
    cudaFree(run->taken);
    cudaFree(run->partials);
    free(run->rounded);
    free(run->cycle);
    stencil_factors_destroy(&run->factors);
    stencil_neighbors_destroy(&run->neighbors);
    stencil_barrier_destroy(&run->barrier);
    stencil_halo_transfers_destroy(&run->transfers);
    if (run->parts > 0)
        cudaSetDevice(run->part[0].device);
    *run = (stencil_gpu_run){0};
}
#endif
