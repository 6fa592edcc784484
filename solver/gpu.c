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
    return stencil_gpu_fields(problem) * stencil_layout_bytes(&layout) +
           (halo == STENCIL_HALO_STAMPED ? ll_bytes(problem, cut) : 0) +
           (2 * set + stencil_fold_scratch_count(chunks) + 65536 + 2 * STENCIL_FOLD_VALUES) *
               (int64_t)sizeof(double);
}

#ifdef STENCIL_HAVE_CUDA
#include <math.h>
#include <stdlib.h>
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

static stencil_status allocate(stencil_gpu_run *gpu, const stencil_problem *problem) {
    const stencil_gpu_team *team = gpu->team;
    const size_t field_bytes = (size_t)stencil_layout_bytes(&team->layout);
    const size_t fold_count = (size_t)stencil_fold_scratch_count(team->chunk_count);
    TRY_CUDA(cudaMalloc(&gpu->u[0], field_bytes));
    TRY_CUDA(cudaMalloc(&gpu->u[1], field_bytes));
    if (problem->b.data != NULL)
        TRY_CUDA(cudaMalloc(&gpu->b, field_bytes));
    TRY_CUDA(cudaMalloc((void **)&gpu->chunk, 2 * (size_t)gpu->sweep.domain.chunk_set * sizeof(double)));
    TRY_CUDA(cudaMalloc((void **)&gpu->fold, fold_count * sizeof(double)));
    TRY_CUDA(cudaMalloc((void **)&gpu->history, STENCIL_CHECKS_MAX * sizeof(double)));
    TRY_CUDA(cudaMalloc((void **)&gpu->control, sizeof *gpu->control));
    TRY_CUDA(cudaHostAlloc((void **)&gpu->mailbox, sizeof *gpu->mailbox, cudaHostAllocMapped));
    TRY_CUDA(cudaMallocHost((void **)&gpu->control_host, sizeof *gpu->control_host));
    return STENCIL_OK;
}

/* The part's window of a field of the whole problem, rims included, or (down) its updated cells back into it.
 */
static stencil_status copy_window(const stencil_gpu_run *gpu, void *device, const stencil_field *whole,
                                  bool down) {
    const stencil_copy c =
        stencil_cut_copy(&gpu->plan->cut, gpu->part, &gpu->team->layout, &whole->layout, down);
    char *from = (char *)(down ? device : whole->data) + c.from;
    char *to = (char *)(down ? whole->data : device) + c.to;
    const enum cudaMemcpyKind kind = down ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice;
    if (gpu->team->slabs && c.span > 0) {
        /* In one piece: what lies between the rows is the same on both sides or nobody's. */
        TRY_CUDA(cudaMemcpy(to, from, c.span, kind));
        return STENCIL_OK;
    }
    struct cudaMemcpy3DParms copy = {.srcPtr = {from, c.from_row, c.from_row, c.from_plane / c.from_row},
                                     .dstPtr = {to, c.to_row, c.to_row, c.to_plane / c.to_row},
                                     .extent = {c.row_bytes, c.rows, c.planes},
                                     .kind = kind};
    TRY_CUDA(cudaMemcpy3D(&copy));
    return STENCIL_OK;
}

/* Both buffers get everything, so that rims and padding of both are right from the start. */
static stencil_status upload(stencil_gpu_run *gpu, const stencil_problem *problem) {
    const size_t field_bytes = (size_t)stencil_layout_bytes(&gpu->team->layout);
    TRY_CUDA(cudaMemset(gpu->u[0], 0, field_bytes));
    TRY(copy_window(gpu, gpu->u[0], &problem->u, false));
    TRY_CUDA(cudaMemcpy(gpu->u[1], gpu->u[0], field_bytes, cudaMemcpyDeviceToDevice));
    if (gpu->b != NULL) {
        TRY_CUDA(cudaMemset(gpu->b, 0, field_bytes));
        TRY(copy_window(gpu, gpu->b, &problem->b, false));
    }
    TRY_CUDA(cudaMemset(gpu->control, 0, sizeof *gpu->control));
    *gpu->mailbox = (stencil_mailbox){.residual = NAN};
    return STENCIL_OK;
}

static void init_sweep(stencil_gpu_run *gpu, const stencil_problem *problem, const stencil_buffers *buffers) {
    const stencil_plan *plan = gpu->plan;
    stencil_sweep *s = &gpu->sweep;
    const int64_t chunk_set = s->domain.chunk_set;
    stencil_domain_init(&s->domain, problem, &plan->cut, gpu->part, &gpu->team->layout, buffers, gpu->b,
                        plan->halo == STENCIL_HALO_PEER);
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

static stencil_status create_all(stencil_gpu_team *team, const stencil_problem *problem) {
    stencil_buffers buffers = {0};
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
        TRY(allocate(gpu, problem));
        for (int k = 0; k < 2; k++)
            buffers.u[p][k] = gpu->u[k];
    }
    for (int p = 0; p < team->parts; p++) {
        stencil_gpu_run *gpu = &team->part[p];
        TRY(stencil_gpu_take(gpu));
        TRY(upload(gpu, problem));
        init_sweep(gpu, problem, &buffers);
        if (team->parts > 1 && !team->fold_on_host)
            TRY(create_span(gpu));
    }
    const int64_t values = team->fold_on_host ? team->chunk_count : stencil_fold_count(team->chunk_count);
    TRY_CUDA(cudaHostAlloc((void **)&team->values,
                           (size_t)(values + stencil_fold_scratch_count(values)) * sizeof(double),
                           cudaHostAllocPortable));
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
    TRY(stencil_cut_layout(&team->layout, &plan->cut));
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
    team->cycle_length = problem->cycle.length;
    for (int set = 0; set < team->cycle_length; set++)
        stencil_weights_round(&team->cycle[set], problem, set);
    share_chunks(team);
    const stencil_status status = create_all(team, problem);
    if (status != STENCIL_OK)
        stencil_gpu_destroy(team);
    return status;
}

stencil_status stencil_gpu_finish(stencil_gpu_team *team, stencil_problem *problem, int64_t steps) {
    for (int p = 0; p < team->parts; p++) {
        TRY(stencil_gpu_take(&team->part[p]));
        TRY(copy_window(&team->part[p], team->part[p].u[steps % 2], &problem->u, true));
    }
    return STENCIL_OK;
}

static void destroy_part(stencil_gpu_run *gpu) {
    void *const device[] = {gpu->u[0],       gpu->u[1],    gpu->b,    gpu->chunk, gpu->fold,
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
    stencil_barrier_destroy(&team->barrier);
    stencil_transfers_destroy(&team->transfers);
    if (team->parts > 0)
        cudaSetDevice(team->part[0].device);
    *team = (stencil_gpu_team){0};
}
#endif
