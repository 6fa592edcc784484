/* What a run will do: backend, device, kernel, tiles and launch shape, memory. */
#include <stdio.h>
#include <string.h>

#include "solver/cpu_stores.h"
#include "solver/inbox.h"
#include "solver/strategy.h"
#include "solver/sweep.h"

const char *const stencil_halo_names[STENCIL_HALO_COUNT] = {"auto", "peer", "copy", "stamped"};

static stencil_status choose_backend(stencil_plan *plan, const stencil_run_options *options,
                                     const stencil_machine *machine) {
    const bool asked = options->gpu_count > 0 || options->backend == STENCIL_BACKEND_GPU;
    CHECK(!(asked && options->backend == STENCIL_BACKEND_CPU), USAGE,
          "--gpus and --device cpu contradict each other: give one of the two");
    CHECK(!(asked && options->parts > 0), USAGE,
          "--parts cuts a run on the CPU: for parts on a GPU name it several times, as in --gpus 0,0");
    plan->backend = asked || machine->gpu_count > 0 ? STENCIL_BACKEND_GPU : STENCIL_BACKEND_CPU;
    if (options->backend == STENCIL_BACKEND_CPU || options->parts > 0)
        plan->backend = STENCIL_BACKEND_CPU;
    if (plan->backend == STENCIL_BACKEND_CPU) {
        if (options->backend != STENCIL_BACKEND_CPU && machine->gpu_count == 0)
            snprintf(plan->note, sizeof plan->note, "no GPU (%s): using the CPU", machine->no_gpu_reason);
        return STENCIL_OK;
    }
    CHECK(machine->gpu_count > 0, UNAVAILABLE, "no GPU here (%s): leave %s out", machine->no_gpu_reason,
          options->gpu_count > 0 ? "--gpus" : "--device gpu");
    for (int i = 0; i < options->gpu_count; i++)
        CHECK(options->gpu[i] < machine->gpu_count, UNAVAILABLE,
              "--gpus asks for GPU %d, this machine has %d (0 … %d)", options->gpu[i], machine->gpu_count,
              machine->gpu_count - 1);
    for (int i = 0; i < options->gpu_count; i++)
        plan->part[i].gpu = options->gpu[i];
    return STENCIL_OK;
}

/* The names of the strategies that run on several parts. */
static const char *spanning_names(char *text, size_t size) {
    size_t at = 0;
    text[0] = '\0';
    for (int i = 0; i < stencil_strategy_count() && at < size; i++)
        if (stencil_strategy_row(i)->spans)
            at += (size_t)snprintf(text + at, size - at, "%s%s", at > 0 ? ", " : "",
                                   stencil_strategy_at(i).name);
    return text;
}

/* Which strategy a name means for so many parts. */
static stencil_status choose_strategy(stencil_plan *plan, const stencil_run_options *options, int parts,
                                      const stencil_strategy **strategy) {
    char names[128];
    const char *sync = options->sync != NULL ? options->sync : parts > 1 ? "multi-grid" : "relaunch";
    if (parts > 1 && strcmp(sync, "grid") == 0)
        sync = "multi-grid";
    const int index = stencil_strategy_index(sync);
    CHECK(index >= 0, USAGE, "--sync %s: unknown strategy; 'stencil info' lists them", sync);
    *strategy = stencil_strategy_row(index);
    CHECK(parts == 1 || (*strategy)->spans, USAGE, "--sync %s runs in one part, on one GPU; in several: %s",
          sync, spanning_names(names, sizeof names));
    CHECK((*strategy)->copies || (options->halo != STENCIL_HALO_COPY && !options->overlap), USAGE,
          "--halo copy and --overlap are for openmp and single-thread; %s %s", sync,
          (*strategy)->spans ? "pushes its edges by itself" : "runs in one part");
    CHECK(!options->overlap || options->halo == STENCIL_HALO_AUTO || options->halo == STENCIL_HALO_COPY,
          USAGE, "--overlap is for copies, and --halo %s makes none: give --halo copy",
          stencil_halo_names[options->halo]);
    CHECK(options->halo != STENCIL_HALO_STAMPED ||
              (plan->backend == STENCIL_BACKEND_GPU && stencil_strategy_at(index).stamps),
          USAGE, "--halo stamped is for --sync neighbor on GPUs: leave it out");
    snprintf(plan->strategy, sizeof plan->strategy, "%s", sync);
    plan->barrier = (*strategy)->barrier;
    return STENCIL_OK;
}

/* Which sweep makes the steps, and whether it can. */
static stencil_status choose_sweep(stencil_plan *plan, const stencil_problem *problem,
                                   const stencil_run_options *options) {
    int sweep = 0;
    while (options->sweep != NULL && sweep < STENCIL_SWEEP_COUNT &&
           strcmp(options->sweep, stencil_sweep_infos[sweep].name) != 0)
        sweep++;
    CHECK(sweep < STENCIL_SWEEP_COUNT, USAGE, "--sweep %s: unknown sweep; 'stencil info' lists them",
          options->sweep);
    plan->sweep = (stencil_sweep_id)sweep;
    const char *why = stencil_sweep_unavailable(plan->sweep, problem);
    CHECK(why[0] == '\0', UNAVAILABLE, "--sweep %s is not available here: %s",
          stencil_sweep_infos[sweep].name, why);
    CHECK(options->halo != STENCIL_HALO_STAMPED ||
              stencil_kernel_is_compiled(plan->sweep, STENCIL_EXCHANGE_LL, plan->barrier),
          USAGE, "--halo stamped is not for --sweep %s: leave one of them out",
          stencil_sweep_infos[sweep].name);
    return STENCIL_OK;
}

/* How many parts a GPU has. */
static int parts_on(const stencil_plan *plan, int gpu) {
    int count = 0;
    for (int p = 0; p < plan->cut.parts; p++)
        count += plan->part[p].gpu == gpu;
    return count;
}

/* Words into an inbox up to which they pay: stores of the sweep need half of them, and travel while it
 * computes, but a flag has to follow them. Nor do they where steps are long, whose kernel has no room for
 * what stamped edges keep in registers: as soon as a GPU's fields are more than its L2 holds
 * (docs/performance.md). */
enum { STAMPED_WORDS_MAX = 65536 };

static bool stamps_pay(const stencil_plan *plan, const stencil_problem *problem,
                       const stencil_machine *machine) {
    stencil_layout largest;
    if (stencil_inbox_words(problem->precision) * stencil_inbox_slots_most(problem, &plan->cut) >
            STAMPED_WORDS_MAX ||
        stencil_cut_layout(&largest, &plan->cut, problem) != STENCIL_OK)
        return false;
    for (int p = 0; p < plan->cut.parts; p++) {
        const int gpu = plan->part[p].gpu;
        if (stencil_gpu_fields(problem) * parts_on(plan, gpu) * stencil_layout_bytes(&largest) >
            machine->gpu[gpu].l2_bytes)
            return false;
    }
    return true;
}

/* Who keeps the rims of other parts up to date, and whether the GPUs can. */
static stencil_status choose_halo(stencil_plan *plan, const stencil_problem *problem,
                                  const stencil_run_options *options, const stencil_strategy *strategy,
                                  const stencil_machine *machine) {
    int from = -1, to = -1;
    for (int i = 0; i < plan->cut.parts && plan->backend == STENCIL_BACKEND_GPU; i++)
        for (int j = 0; j < plan->cut.parts; j++)
            if (plan->part[i].gpu != plan->part[j].gpu &&
                !machine->peer[plan->part[i].gpu][plan->part[j].gpu]) {
                from = plan->part[i].gpu;
                to = plan->part[j].gpu;
            }
    plan->overlap = options->overlap;
    plan->halo = options->halo;
    const bool fits = stencil_inbox_fits(problem);
    const bool stamps = fits && plan->backend == STENCIL_BACKEND_GPU && plan->cut.parts > 1 &&
                        stencil_kernel_is_compiled(plan->sweep, STENCIL_EXCHANGE_LL, plan->barrier);
    CHECK(plan->halo != STENCIL_HALO_STAMPED || fits || plan->cut.parts == 1, USAGE,
          "--halo stamped is not for points that reach less far than %s along an axis that is not fixed: "
          "leave it out",
          problem->shape->name);
    if (plan->halo == STENCIL_HALO_AUTO && stamps && stamps_pay(plan, problem, machine))
        plan->halo = STENCIL_HALO_STAMPED;
    if (plan->halo == STENCIL_HALO_STAMPED && !stamps) /* a single part has no edges to send */
        plan->halo = STENCIL_HALO_PEER;
    if (plan->halo == STENCIL_HALO_AUTO)
        plan->halo = strategy->copies && (plan->overlap || from >= 0) ? STENCIL_HALO_COPY : STENCIL_HALO_PEER;
    CHECK(from < 0 || plan->halo == STENCIL_HALO_COPY, UNAVAILABLE,
          "GPU %d cannot reach the memory of GPU %d: --sync %s needs that; openmp and single-thread can copy",
          from, to, plan->strategy);
    if (from >= 0)
        snprintf(plan->note, sizeof plan->note,
                 "GPU %d cannot reach the memory of GPU %d: halos go through the host", from, to);
    return STENCIL_OK;
}

/* What a test asks for must be possible, or it would show nothing. */
static stencil_status check_disturbance(const stencil_plan *plan, const stencil_problem *problem,
                                        const stencil_run_options *options) {
    const stencil_disturbance *d = &options->patience.disturbance;
    CHECK((d->delay_ns == 0 && d->absent_step == 0) || plan->barrier != STENCIL_BARRIER_none, USAGE,
          "--inject-delay and --inject-absent are for persistent loops; %s has no barrier of its own",
          plan->strategy);
    CHECK(d->absent_step <= problem->stop.steps, USAGE,
          "--inject-absent %lld: the run has at most %lld step%s", (long long)d->absent_step,
          (long long)problem->stop.steps, stencil_plural(problem->stop.steps));
    CHECK(d->absent_part <= (uint32_t)plan->cut.parts, USAGE,
          "--inject-absent-part %u: the run has %d part%s (0 … %d)", (unsigned)d->absent_part - 1,
          plan->cut.parts, stencil_plural(plan->cut.parts), plan->cut.parts - 1);
    return STENCIL_OK;
}

static stencil_status choose_parts(stencil_plan *plan, const stencil_problem *problem,
                                   const stencil_run_options *options, int parts) {
    TRY(stencil_cut_make(&plan->cut, problem, parts, options->cut));
    for (int p = 0; p < parts; p++)
        stencil_cut_box(&plan->cut, p, plan->part[p].first, plan->part[p].n);
    return STENCIL_OK;
}

static stencil_status check_host_memory(stencil_plan *plan) {
    char need[32], have[32];
    CHECK(plan->host_bytes < plan->host_available_bytes, NO_MEMORY,
          "the run needs %s of host memory, %s is available", stencil_bytes_text(plan->host_bytes, need),
          stencil_bytes_text(plan->host_available_bytes, have));
    return STENCIL_OK;
}

static int64_t field_count(const stencil_problem *problem) {
    return problem->spec.source != STENCIL_SOURCE_NONE ? 2 : 1;
}

#ifdef STENCIL_HAVE_CUDA
/* Whether the kernels can count the tiles of all parts, and the cells of the largest one (n). */
static stencil_status check_tiles(stencil_plan *plan, const int64_t n[3]) {
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        /* Kernels count cells of an axis in 32 bits, a tile beyond the end included. */
        const int64_t most = INT32_MAX - plan->tile[axis] - 16;
        CHECK(n[axis] <= most, UNAVAILABLE,
              "axis %c has %lld cells, the GPU kernels take up to %lld along an axis: use --device cpu",
              "zyx"[axis], (long long)n[axis], (long long)most);
    }
    for (int p = 0; p < plan->cut.parts; p++) {
        stencil_part_plan *part = &plan->part[p];
        part->tile_count = 1;
        for (int axis = 0; axis < STENCIL_AXES; axis++)
            part->tile_count *= (part->n[axis] + plan->tile[axis] - 1) / plan->tile[axis];
        CHECK(part->tile_count <= INT32_MAX, UNAVAILABLE,
              "the field has %lld tiles, one launch covers up to %d: use --device cpu",
              (long long)part->tile_count, INT32_MAX);
    }
    return STENCIL_OK;
}

/* Blocks of a cluster; a processing cluster of the device has 16 or 18 multiprocessors. */
enum { CLUSTER_BLOCKS = 4 };

/* The grid becomes a whole number of clusters, as many as fit at once at the most. */
static stencil_status fit_clusters(stencil_plan *plan, const stencil_kernel *kernel) {
    cudaLaunchAttribute attribute = {.id = cudaLaunchAttributeClusterDimension,
                                     .val.clusterDim = {CLUSTER_BLOCKS, 1, 1}};
    const cudaLaunchConfig_t config = {.gridDim = {CLUSTER_BLOCKS, 1, 1},
                                       .blockDim = {(unsigned)plan->block_x, (unsigned)plan->block_y, 1},
                                       .attrs = &attribute,
                                       .numAttrs = 1};
    int clusters = 0;
    TRY_CUDA(cudaOccupancyMaxActiveClusters(&clusters, kernel->function, &config));
    stencil_part_plan *part = &plan->part[0];
    CHECK(clusters > 0, UNAVAILABLE, "GPU %d cannot hold a cluster of %d blocks of kernel %s", part->gpu,
          CLUSTER_BLOCKS, plan->kernel);
    const int needed = (part->grid_blocks + CLUSTER_BLOCKS - 1) / CLUSTER_BLOCKS;
    part->grid_blocks = CLUSTER_BLOCKS * (needed < clusters ? needed : clusters);
    plan->cluster_blocks = CLUSTER_BLOCKS;
    return STENCIL_OK;
}

stencil_status stencil_gpu_find_kernel(const stencil_plan *plan, const stencil_problem *problem,
                                       const stencil_kernel **kernel) {
    *kernel = stencil_kernel_find(
        problem->shape->id, problem->precision, plan->sweep,
        plan->halo == STENCIL_HALO_STAMPED ? STENCIL_EXCHANGE_LL : STENCIL_EXCHANGE_STORE, plan->barrier);
    CHECK(*kernel != NULL, INTERNAL, "no kernel for %s", plan->kernel);
    return STENCIL_OK;
}

/* Whether the GPUs have it, too. */
static stencil_status load_kernel(stencil_plan *plan, const stencil_problem *problem,
                                  const stencil_machine *machine, const stencil_kernel **found) {
    const stencil_kernel *kernel;
    TRY(stencil_gpu_find_kernel(plan, problem, &kernel));
    for (int p = 0; p < plan->cut.parts; p++) {
        const int id = plan->part[p].gpu, capability = machine->gpu[id].capability;
        TRY_CUDA(cudaSetDevice(id));
        struct cudaFuncAttributes attributes;
        const cudaError_t state = cudaFuncGetAttributes(&attributes, kernel->function);
        CHECK(state != cudaErrorNoKernelImageForDevice && state != cudaErrorInvalidDeviceFunction,
              UNAVAILABLE,
              "this build has no kernels for GPU %d (compute capability %d.%d): build with "
              "-DCMAKE_CUDA_ARCHITECTURES=%d",
              id, capability / 10, capability % 10, capability);
        TRY_CUDA(state);
        plan->registers = attributes.numRegs;
    }
    *found = kernel;
    return STENCIL_OK;
}

/* Blocks of each part: one for each tile, or as many as fit into the part's share of its GPU at once. */
static stencil_status choose_grids(stencil_plan *plan, const stencil_strategy *strategy,
                                   const stencil_machine *machine, const stencil_kernel *kernel) {
    uint32_t first = 0;
    for (int p = 0; p < plan->cut.parts; p++) {
        stencil_part_plan *part = &plan->part[p];
        const int sharing = parts_on(plan, part->gpu);
        const int64_t slots = (int64_t)plan->blocks_per_sm * machine->gpu[part->gpu].sm_count / sharing;
        CHECK(slots > 0 || !strategy->cooperative, UNAVAILABLE,
              "GPU %d holds %d blocks of kernel %s at once, not one for each of its %d parts: use fewer",
              part->gpu, plan->blocks_per_sm * machine->gpu[part->gpu].sm_count, plan->kernel, sharing);
        part->grid_blocks = (int)part->tile_count;
        if (strategy->cooperative && part->tile_count > slots)
            part->grid_blocks = (int)slots;
        if (stencil_barriers[plan->barrier].needs == STENCIL_NEEDS_CLUSTERS)
            TRY(fit_clusters(plan, kernel));
        part->first_block = first;
        first += (uint32_t)part->grid_blocks;
    }
    return STENCIL_OK;
}

/* Kernels that wait for each other must be on the GPU together: each has a stream of its own, and a device
 * has so many queues for streams. */
enum { SHARING_MAX = 8 };

static stencil_status check_device_memory(stencil_plan *plan, const stencil_problem *problem) {
    for (int p = 0; p < plan->cut.parts; p++) {
        const int id = plan->part[p].gpu, sharing = parts_on(plan, id);
        size_t free_bytes = 0, total_bytes = 0;
        int64_t bytes = 0;
        char need[32], have[32];
        CHECK(sharing <= SHARING_MAX, UNAVAILABLE, "GPU %d is named %d times, it can hold up to %d parts", id,
              sharing, SHARING_MAX);
        TRY_CUDA(cudaSetDevice(id));
        TRY_CUDA(cudaMemGetInfo(&free_bytes, &total_bytes));
        if (!stencil_multiply(stencil_gpu_bytes(problem, &plan->cut, plan->halo), sharing, &bytes))
            bytes = INT64_MAX;
        if (bytes > plan->device_bytes || p == 0) {
            plan->device_bytes = bytes;
            plan->device_available_bytes = (int64_t)free_bytes;
        }
        CHECK(bytes < (int64_t)free_bytes, NO_MEMORY, "the run needs %s of memory on GPU %d, %s is free",
              stencil_bytes_text(bytes, need), id, stencil_bytes_text((int64_t)free_bytes, have));
    }
    return STENCIL_OK;
}

static stencil_status plan_gpu(stencil_plan *plan, const stencil_problem *problem,
                               const stencil_strategy *strategy, const stencil_machine *machine) {
    const stencil_kernel *kernel = NULL;
    stencil_layout largest;
    TRY(load_kernel(plan, problem, machine, &kernel));
    TRY_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&plan->blocks_per_sm, kernel->function,
                                                           STENCIL_BLOCK_THREADS, 0));
    CHECK(plan->blocks_per_sm > 0, UNAVAILABLE, "GPU %d cannot hold a block of kernel %s", plan->part[0].gpu,
          plan->kernel);
    TRY(stencil_cut_layout(&largest, &plan->cut, problem));
    const int gpu = plan->part[0].gpu;
    const int64_t share = (int64_t)plan->blocks_per_sm * machine->gpu[gpu].sm_count / parts_on(plan, gpu);
    stencil_sweep_shape shape;
    stencil_sweep_row(plan->sweep)->shape(&shape, problem, kernel, largest.n, share > 0 ? share : 1);
    plan->block_x = shape.block_x;
    plan->block_y = shape.block_y;
    memcpy(plan->tile, shape.tile, sizeof plan->tile);
    TRY(check_tiles(plan, largest.n));
    TRY(choose_grids(plan, strategy, machine, kernel));
    TRY(check_device_memory(plan, problem));
    /* A look at the mailbox crosses the bus: about once a millisecond, by the time that memory needs for a
     * step. */
    const double cells = (double)largest.n[0] * (double)largest.n[1] * (double)largest.n[2];
    plan->poll_every = (int32_t)(1e-3 / (2e-6 + 16.0 * cells / 4e12)) + 1;
    /* Weights are parameters of a launch: taken from memory they cost the sweep registers that it does not
     * have. */
    if (problem->cycle.length > 1)
        plan->patience.steps_per_launch = 1;
    const int64_t pieces = plan->patience.steps_per_launch;
    if (pieces > 0 && pieces < plan->poll_every)
        plan->poll_every = (int32_t)pieces;
    return STENCIL_OK;
}
#else
static stencil_status plan_gpu(stencil_plan *plan, const stencil_problem *problem,
                               const stencil_strategy *strategy, const stencil_machine *machine) {
    (void)problem, (void)strategy;
    FAIL(UNAVAILABLE, "no GPU here (%s): use --device cpu instead of %s", machine->no_gpu_reason,
         plan->kernel);
}
#endif

static stencil_status plan_cpu(stencil_plan *plan, const stencil_problem *problem,
                               const stencil_machine *machine) {
    plan->threads = machine->cpu_threads;
    plan->stores = stencil_sweep_row(plan->sweep)->streams
                       ? stencil_stores_choose(problem, plan->threads, machine->cpu_cache_bytes)
                       : STENCIL_STORES_CACHED;
    const int64_t rows = problem->n[STENCIL_Z] * problem->n[STENCIL_Y];
    plan->tile[STENCIL_Z] = 1;
    plan->tile[STENCIL_Y] = (rows + plan->threads - 1) / plan->threads;
    plan->tile[STENCIL_X] = problem->n[STENCIL_X];
    plan->host_bytes += stencil_cpu_bytes(problem, &plan->cut);
    const stencil_disturbance *d = &plan->patience.disturbance;
    CHECK(d->absent_step == 0 || d->absent_part > 0 || d->absent < (uint32_t)plan->threads, USAGE,
          "--inject-absent stops thread %u, and there are %d: give --threads %u", (unsigned)d->absent,
          plan->threads, (unsigned)d->absent + 1);
    return STENCIL_OK;
}

const char *stencil_strategy_unavailable(int index, stencil_backend backend, const stencil_machine *machine) {
    const stencil_strategy *strategy = stencil_strategy_row(index);
    if (backend == STENCIL_BACKEND_CPU)
        return strategy->batch_cpu != NULL ? "" : "has no CPU twin";
    if (machine->gpu_count == 0)
        return machine->no_gpu_reason;
    if (strategy->batch_gpu == NULL)
        return "built without CUDA";
    if (machine->gpu[0].capability < stencil_barriers[strategy->barrier].capability)
        return "the GPU is too old for its barrier";
    if (strategy->cooperative && !machine->gpu[0].cooperative)
        return "the GPU has no cooperative launch";
    return "";
}

stencil_status stencil_plan_make(stencil_plan *plan, const stencil_problem *problem,
                                 const stencil_run_options *options, const stencil_machine *machine) {
    const stencil_strategy *strategy = NULL;
    *plan = (stencil_plan){.cluster_blocks = 1, .patience = options->patience};
    if (!(plan->patience.timeout_s > 0))
        plan->patience.timeout_s = STENCIL_TIMEOUT_DEFAULT_S;
    TRY(choose_backend(plan, options, machine));
    const int asked = plan->backend == STENCIL_BACKEND_CPU ? options->parts : options->gpu_count;
    const int parts = asked > 0 ? asked : 1;
    TRY(choose_strategy(plan, options, parts, &strategy));
    const char *why =
        stencil_strategy_unavailable(stencil_strategy_index(plan->strategy), plan->backend, machine);
    CHECK(why[0] == '\0', UNAVAILABLE, "--sync %s is not available here: %s", plan->strategy, why);
    TRY(choose_sweep(plan, problem, options));
    TRY(choose_parts(plan, problem, options, parts));
    TRY(check_disturbance(plan, problem, options));
    TRY(choose_halo(plan, problem, options, strategy, machine));
    snprintf(plan->kernel, sizeof plan->kernel, "%s %s %s %s%s", problem->shape->name,
             stencil_precision_name(problem->precision), stencil_sweep_infos[plan->sweep].name,
             stencil_barriers[strategy->barrier].name, plan->halo == STENCIL_HALO_STAMPED ? " stamped" : "");
    plan->host_bytes = field_count(problem) * stencil_layout_bytes(&problem->layout);
    plan->host_available_bytes = stencil_memory_available_bytes();
    if (plan->backend == STENCIL_BACKEND_CPU)
        TRY(plan_cpu(plan, problem, machine));
    TRY(check_host_memory(plan));
    return plan->backend == STENCIL_BACKEND_GPU ? plan_gpu(plan, problem, strategy, machine) : STENCIL_OK;
}
