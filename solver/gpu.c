#include "solver/gpu.h"

#include "solver/parts/ll.h"

/* Of the LL exchange: two sets of words, the entry of who sends each cell and of those who read it, at most
 * so many tiles around a cell. */
static int64_t ll_bytes(const stencil_problem *problem, const stencil_cut *cut) {
    const int64_t words = 2 * stencil_ll_words(problem->precision);
    const int64_t readers = problem->rank == 3 ? 8 : 4;
    return stencil_ll_slots_most(cut) *
           (words * (int64_t)sizeof(uint64_t) + (1 + readers) * (int64_t)sizeof(stencil_edge));
}

int64_t stencil_gpu_bytes(const stencil_problem *problem, const stencil_cut *cut, stencil_halo_mode halo) {
    const int64_t chunks = stencil_chunk_count(problem->n);
    stencil_layout layout;
    if (stencil_cut_layout(&layout, cut) != STENCIL_OK)
        return INT64_MAX;
    const int64_t set =
        stencil_cut_is_slabs(cut) ? chunks / cut->parts + 2 * chunks / problem->n[STENCIL_Z] : chunks;
    return stencil_problem_arrays(problem) * stencil_layout_bytes(&layout) +
           (halo == STENCIL_HALO_STAMPED ? ll_bytes(problem, cut) : 0) +
           (2 * set + stencil_fold_scratch_count(chunks) + 65536 + 2 * STENCIL_FOLD_VALUES) *
               (int64_t)sizeof(double);
}

/* Of a slab, on its way between host and device; never less than a row. */
static int64_t staging_bytes(const stencil_layout *layout) {
    const int64_t row = layout->row * (int64_t)stencil_precision_bytes(layout->precision),
                  most = row > STENCIL_SLAB_BYTES ? row : STENCIL_SLAB_BYTES,
                  all = stencil_layout_bytes(layout);
    return all < most ? all : most;
}

/* Chunk values that come to the host as they are, or folded once. */
static int64_t host_values(const stencil_cut *cut, stencil_halo_mode halo) {
    const int64_t chunks = stencil_chunk_count(cut->mesh.n);
    return cut->parts > 1 && halo == STENCIL_HALO_COPY ? chunks : stencil_fold_count(chunks);
}

int64_t stencil_gpu_host_bytes(const stencil_cut *cut, stencil_halo_mode halo) {
    stencil_layout layout;
    const int64_t values = host_values(cut, halo);
    if (stencil_cut_layout(&layout, cut) != STENCIL_OK)
        return INT64_MAX / 2;
    return staging_bytes(&layout) +
           (values + stencil_fold_scratch_count(values) + STENCIL_CHECKS_MAX) * (int64_t)sizeof(double);
}

#ifdef STENCIL_HAVE_CUDA
#include <math.h>
#include <string.h>

stencil_status stencil_gpu_take(const stencil_gpu_run *gpu) {
    TRY_CUDA(cudaSetDevice(gpu->device));
    return STENCIL_OK;
}

/* Which groups of chunks a part folds: with slabs those that begin with a chunk of its own, so that nearly
 * all values are its own; otherwise equal shares. A single group is part 0's; persistent loops fold it in
 * every block. */
static int64_t first_group(const stencil_gpu_team *team, int part) {
    const int64_t groups = stencil_fold_count(team->chunk_count);
    if (part == 0 || part == team->parts)
        return part == 0 ? 0 : groups;
    if (groups == 1)
        return 1;
    if (!team->slabs)
        return groups * part / team->parts;
    const int64_t chunk = stencil_cut_chunk(&team->plan->cut, team->plan->part[part].box.first);
    return (chunk + STENCIL_FOLD_VALUES - 1) / STENCIL_FOLD_VALUES;
}

/* Each part keeps the values of its own chunks, and folds its share of the groups. */
static void share_chunks(stencil_gpu_team *team) {
    int64_t set = 1;
    for (int p = 0; p < team->parts; p++) {
        stencil_gpu_run *gpu = &team->part[p];
        const stencil_box *box = &team->plan->part[p].box;
        int64_t last[3];
        for (int axis = 0; axis < STENCIL_AXES; axis++)
            last[axis] = box->first[axis] + box->n[axis] - 1;
        gpu->chunk_from = stencil_cut_chunk(&team->plan->cut, box->first);
        gpu->sweep.group_first = first_group(team, p);
        gpu->sweep.group_end = first_group(team, p + 1);
        const int64_t count = stencil_cut_chunk(&team->plan->cut, last) + 1 - gpu->chunk_from;
        set = count > set ? count : set;
    }
    for (int p = 0; p < team->parts; p++)
        team->part[p].sweep.domain.chunk_set = set;
}

static stencil_status allocate(stencil_gpu_run *gpu) {
    stencil_gpu_team *team = gpu->team;
    const size_t fold_count = (size_t)stencil_fold_scratch_count(team->chunk_count);
    for (int k = 0; k < team->buffers.count; k++)
        TRY_CUDA(
            cudaMalloc(&team->buffers.at[gpu->part][k], (size_t)stencil_layout_bytes(&team->buffers.layout)));
    TRY_CUDA(cudaMalloc((void **)&gpu->chunk, 2 * (size_t)gpu->sweep.domain.chunk_set * sizeof(double)));
    TRY_CUDA(cudaMalloc((void **)&gpu->fold, fold_count * sizeof(double)));
    TRY_CUDA(cudaMalloc((void **)&gpu->history, STENCIL_CHECKS_MAX * sizeof(double)));
    TRY_CUDA(cudaMalloc((void **)&gpu->control, sizeof *gpu->control));
    TRY_CUDA(cudaHostAlloc((void **)&gpu->mailbox, sizeof *gpu->mailbox, cudaHostAllocMapped));
    TRY_CUDA(cudaMallocHost((void **)&gpu->control_host, sizeof *gpu->control_host));
    return STENCIL_OK;
}

/* Slab by slab, each as long as fits into the staging memory with the gaps between its rows, so that it is
 * copied in one piece. */
stencil_status stencil_gpu_move(const stencil_gpu_team *team, int part, int buffer, const stencil_box *box,
                                const stencil_reader *from, const stencil_cells *to) {
    const stencil_buffers *b = &team->buffers;
    const stencil_layout *l = &b->layout;
    const stencil_array array = buffer == STENCIL_BUFFER_B ? STENCIL_ARRAY_B : STENCIL_ARRAY_U;
    const stencil_cells all = stencil_buffer_cells(b, part, buffer);
    const int64_t cells_max = team->staging_bytes / (int64_t)stencil_precision_bytes(l->precision);
    stencil_box gaps = *box, slab;
    gaps.n[STENCIL_X] = l->row;
    gaps.n[STENCIL_Y] = l->plane / l->row;
    slab = stencil_slab_first(&gaps, cells_max);
    TRY(stencil_gpu_take(&team->part[part]));
    do {
        const stencil_box cells = stencil_box_common(&slab, box);
        const stencil_cells there = stencil_cells_from(&all, cells.first);
        stencil_cells here = there;
        here.at = team->staging;
        const size_t bytes = stencil_cells_span(&here, cells.n);
        if (stencil_box_cells(&cells) == 0)
            continue;
        if (from != NULL) {
            TRY(stencil_boxes_fill(from, &b->cut->mesh, array, &cells, &here));
            TRY_CUDA(cudaMemcpy(there.at, here.at, bytes, cudaMemcpyHostToDevice));
        } else {
            const stencil_cells out = stencil_cells_from(to, cells.first);
            TRY_CUDA(cudaMemcpy(here.at, there.at, bytes, cudaMemcpyDeviceToHost));
            stencil_cells_copy(&out, &here, cells.n);
        }
    } while (stencil_slab_next(&slab, &gaps, cells_max));
    return STENCIL_OK;
}

/* Both buffers get everything, so that rims and padding of both are right from the start. What lies between
 * rows is zero, on the way, too, where gaps are at the same places of all slabs. */
stencil_status stencil_gpu_load(const stencil_gpu_team *team, int part, stencil_array array,
                                const stencil_reader *from) {
    const int buffer = stencil_buffer_of(array, 0);
    const stencil_box box = stencil_buffer_box(&team->buffers, part, buffer);
    const size_t bytes = (size_t)stencil_layout_bytes(&team->buffers.layout);
    void *const *at = team->buffers.at[part];
    TRY(stencil_gpu_take(&team->part[part]));
    TRY_CUDA(cudaMemset(at[buffer], 0, bytes));
    memset(team->staging, 0, (size_t)team->staging_bytes);
    TRY(stencil_gpu_move(team, part, buffer, &box, from, NULL));
    if (array == STENCIL_ARRAY_U)
        TRY_CUDA(cudaMemcpy(at[stencil_buffer_of(array, 1)], at[buffer], bytes, cudaMemcpyDeviceToDevice));
    TRY_CUDA(cudaDeviceSynchronize()); /* streams of kernels do not wait for it */
    return STENCIL_OK;
}

static void init_sweep(stencil_gpu_run *gpu, const stencil_problem *problem) {
    const stencil_plan *plan = gpu->plan;
    stencil_sweep *s = &gpu->sweep;
    const int64_t chunk_set = s->domain.chunk_set;
    stencil_domain_init(&s->domain, problem, gpu->part, &gpu->team->buffers, plan->halo == STENCIL_HALO_PEER);
    s->domain.weights = gpu->team->cycle[0];
    s->domain.chunk_set = chunk_set;
    s->domain.chunk = gpu->chunk - gpu->chunk_from;
    s->poll_every = plan->poll_every;
    s->tile_march = plan->tile[problem->rank == 3 ? STENCIL_Z : STENCIL_Y];
    if (problem->rank == 2)
        s->tile_march /= plan->block_y;
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        s->tile_count[axis] = (uint32_t)((s->domain.n[axis] + plan->tile[axis] - 1) / plan->tile[axis]);
    s->fold = gpu->fold;
    s->history = gpu->history;
    s->control = gpu->control;
    s->mailbox = gpu->mailbox;
    s->span = gpu->span;
    s->disturbance = plan->patience.disturbance;
    s->barrier.parts = (uint32_t)gpu->team->parts;
    s->barrier.part = (uint32_t)gpu->part;
    const stencil_transfers *all = &gpu->team->transfers;
    gpu->halo = all->item + all->first[gpu->part];
    gpu->halo_count = all->first[gpu->part + 1] - all->first[gpu->part];
}

/* Streams, events and the kernels. Asking for attributes loads a kernel: nothing is loaded lazily while
 * kernels wait for each other. A persistent loop folds by itself. */
static stencil_status start_part(stencil_gpu_run *gpu) {
    struct cudaFuncAttributes attributes;
    TRY_CUDA(cudaFuncGetAttributes(&attributes, gpu->kernel->function));
    if (gpu->plan->barrier == STENCIL_BARRIER_none)
        TRY_CUDA(cudaFuncGetAttributes(&attributes, stencil_fold_kernel()));
    int least = 0, greatest = 0, major = 0;
    TRY_CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    TRY_CUDA(cudaStreamCreateWithFlags(&gpu->stream, cudaStreamNonBlocking));
    if (gpu->plan->overlap)
        TRY_CUDA(cudaStreamCreateWithPriority(&gpu->edge_stream, cudaStreamNonBlocking, greatest));
    TRY_CUDA(cudaEventCreate(&gpu->begin));
    TRY_CUDA(cudaEventCreate(&gpu->end));
    TRY_CUDA(cudaEventCreateWithFlags(&gpu->step_done, cudaEventDisableTiming));
    TRY_CUDA(cudaEventCreateWithFlags(&gpu->edges_done, cudaEventDisableTiming));
    for (int k = 0; k < 2; k++)
        TRY_CUDA(cudaEventCreateWithFlags(&gpu->made[k], cudaEventDisableTiming));
    TRY_CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, gpu->device));
    gpu->programmatic = major >= 9;
    return STENCIL_OK;
}

static stencil_status create_span(stencil_gpu_run *gpu) {
    const stencil_gpu_team *team = gpu->team;
    stencil_span span = {0};
    for (int p = 0; p < team->parts; p++) {
        const stencil_gpu_run *other = &team->part[p];
        span.control[p] = other->control;
        span.chunk[p] = other->chunk - other->chunk_from;
        span.fold[p] = other->fold;
    }
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        span.count[axis] = team->plan->cut.count[axis];
        memcpy(span.first[axis], team->plan->cut.first[axis], sizeof span.first[axis]);
    }
    TRY_CUDA(cudaMalloc((void **)&gpu->span, sizeof span));
    TRY_CUDA(cudaMemcpy(gpu->span, &span, sizeof span, cudaMemcpyHostToDevice));
    gpu->sweep.span = gpu->span;
    return STENCIL_OK;
}

/* Memory of all parts, as far as they have it in common. */
static stencil_status allocate_shared(stencil_gpu_team *team) {
    const int64_t values = host_values(&team->plan->cut, team->plan->halo);
    team->staging_bytes = staging_bytes(&team->buffers.layout);
    TRY_CUDA(cudaHostAlloc(&team->staging, (size_t)team->staging_bytes, cudaHostAllocPortable));
    TRY_CUDA(cudaHostAlloc((void **)&team->values,
                           (size_t)(values + stencil_fold_scratch_count(values)) * sizeof(double),
                           cudaHostAllocPortable));
    return STENCIL_OK;
}

static stencil_status create_part(stencil_gpu_run *gpu, const stencil_problem *problem) {
    TRY(stencil_gpu_take(gpu));
    TRY_CUDA(cudaMemset(gpu->control, 0, sizeof *gpu->control));
    *gpu->mailbox = (stencil_mailbox){.residual = NAN};
    init_sweep(gpu, problem);
    return gpu->team->parts > 1 && !gpu->team->fold_on_host ? create_span(gpu) : STENCIL_OK;
}

static stencil_status create_all(stencil_gpu_team *team, const stencil_problem *problem) {
    int device[STENCIL_PARTS_MAX];
    for (int p = 0; p < team->parts; p++)
        device[p] = team->part[p].device;
    if (team->plan->halo == STENCIL_HALO_COPY)
        TRY(stencil_transfers_find(&team->transfers, &team->plan->cut, STENCIL_GHOSTS_OF_OTHERS));
    for (int p = 0; p < team->parts; p++) {
        stencil_gpu_run *gpu = &team->part[p];
        TRY(stencil_gpu_take(gpu));
        TRY(start_part(gpu));
        TRY(stencil_peers_reach(gpu->device, device, team->parts));
        TRY(allocate(gpu));
    }
    TRY(allocate_shared(team));
    for (int p = 0; p < team->parts; p++)
        TRY(create_part(&team->part[p], problem));
    if (team->plan->barrier != STENCIL_BARRIER_none)
        TRY(stencil_gpu_create_barriers(team));
    for (int p = 0; p < team->parts; p++) {
        TRY(stencil_gpu_take(&team->part[p]));
        TRY_CUDA(cudaDeviceSynchronize());
    }
    return STENCIL_OK;
}

stencil_status stencil_gpu_create(stencil_gpu_team *team, const stencil_plan *plan,
                                  const stencil_problem *problem) {
    *team = (stencil_gpu_team){.plan = plan, .parts = plan->cut.parts};
    TRY(stencil_buffers_init(&team->buffers, problem, &plan->cut));
    team->slabs = stencil_cut_is_slabs(&plan->cut);
    team->chunk_count = stencil_chunk_count(problem->n);
    team->fold_on_host = team->parts > 1 && plan->halo == STENCIL_HALO_COPY;
    for (int p = 0; p < team->parts; p++)
        team->part[p] = (stencil_gpu_run){
            .team = team, .part = p, .device = plan->part[p].gpu, .plan = plan, .kernel = &plan->kernel};
    for (int p = 0; p < team->parts; p++)
        for (int q = 0; q < team->parts; q++)
            team->part[p].shared =
                team->part[p].shared || (p != q && team->part[p].device == team->part[q].device);
    team->cycle_length = stencil_weights_round(team->cycle, problem);
    share_chunks(team);
    const stencil_status status = create_all(team, problem);
    if (status != STENCIL_OK)
        stencil_gpu_destroy(team);
    return status;
}

static void destroy_part(stencil_gpu_run *gpu) {
    void *const *array = gpu->team->buffers.at[gpu->part];
    void *const device[] = {array[0],        array[1],     array[2],  gpu->chunk, gpu->fold,
                            gpu->history,    gpu->control, gpu->span, gpu->inbox, gpu->push_first,
                            gpu->pull_first, gpu->push,    gpu->pull};
    const cudaEvent_t event[] = {gpu->begin,      gpu->end,     gpu->step_done,
                                 gpu->edges_done, gpu->made[0], gpu->made[1]};
    cudaSetDevice(gpu->device);
    for (size_t i = 0; i < sizeof device / sizeof *device; i++)
        cudaFree(device[i]);
    cudaFreeHost(gpu->mailbox);
    cudaFreeHost(gpu->control_host);
    for (size_t i = 0; i < sizeof event / sizeof *event; i++)
        if (event[i] != NULL)
            cudaEventDestroy(event[i]);
    if (gpu->stream != NULL)
        cudaStreamDestroy(gpu->stream);
    if (gpu->edge_stream != NULL)
        cudaStreamDestroy(gpu->edge_stream);
}

void stencil_gpu_destroy(stencil_gpu_team *team) {
    if (team == NULL)
        return;
    for (int p = 0; p < team->parts; p++)
        destroy_part(&team->part[p]);
    cudaFreeHost(team->values);
    cudaFreeHost(team->staging);
    stencil_barrier_destroy(&team->barrier);
    stencil_transfers_destroy(&team->transfers);
    if (team->parts > 0)
        cudaSetDevice(team->part[0].device);
    *team = (stencil_gpu_team){0};
}
#endif
