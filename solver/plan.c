/* What a run will do: backend, device, kernel, tiles and launch shape, memory. All of it follows from the
 * description of a machine; no driver is asked. */
#include <string.h>

#include "solver/parts/workers.h"
#include "solver/strategy.h"
#include "solver/sweep.h"

const char *const stencil_backend_names[] = {"auto", "cpu", "gpu", NULL};
const char *const stencil_halo_names[] = {"auto", "store", "copy", "ll", NULL};

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
        if (options->backend == STENCIL_BACKEND_AUTO && options->parts == 0)
            stencil_notes_add(&plan->notes, "no GPU (%s): using the CPU", machine->no_gpu_reason);
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
    text[0] = '\0';
    for (int i = 0; i < stencil_strategy_count(); i++)
        if (stencil_strategy_at(i).spans)
            stencil_text_add(text, size, "%s%s", text[0] != '\0' ? ", " : "", stencil_strategy_at(i).name);
    return text;
}

/* Which strategy a name means for so many parts. */
static stencil_status choose_strategy(stencil_plan *plan, const stencil_run_options *options, int parts) {
    char names[128];
    const char *sync = options->sync != NULL ? options->sync : parts > 1 ? "multi-grid" : "relaunch";
    if (parts > 1 && strcmp(sync, "grid") == 0)
        sync = "multi-grid";
    plan->strategy = stencil_name_find(sync, stencil_strategy_names);
    CHECK(plan->strategy >= 0, USAGE, "--sync %s: unknown strategy; 'stencil info' lists them", sync);
    const stencil_strategy_info strategy = stencil_strategy_at(plan->strategy);
    CHECK(parts == 1 || strategy.spans, USAGE, "--sync %s runs in one part, on one GPU; in several: %s", sync,
          spanning_names(names, sizeof names));
    CHECK(strategy.copies || (options->halo != STENCIL_HALO_COPY && !options->overlap), USAGE,
          "--halo copy and --overlap are for openmp and single-thread; %s %s", sync,
          strategy.spans ? "stores its ghost cells by itself" : "runs in one part");
    CHECK(!options->overlap || options->halo == STENCIL_HALO_AUTO || options->halo == STENCIL_HALO_COPY,
          USAGE, "--overlap is for copies, and --halo %s makes none: give --halo copy",
          stencil_halo_names[options->halo]);
    CHECK(options->halo != STENCIL_HALO_LL || (plan->backend == STENCIL_BACKEND_GPU && strategy.ll), USAGE,
          "--halo ll is for --sync neighbor on GPUs: leave it out");
    plan->barrier = strategy.barrier;
    return STENCIL_OK;
}

/* Which sweep makes the steps, and whether it can. */
static stencil_status choose_sweep(stencil_plan *plan, const stencil_problem *problem,
                                   const stencil_run_options *options) {
    const int sweep = options->sweep != NULL ? stencil_name_find(options->sweep, stencil_sweep_names) : 0;
    CHECK(sweep >= 0, USAGE, "--sweep %s: unknown sweep; 'stencil info' lists them", options->sweep);
    plan->sweep = (stencil_sweep_id)sweep;
    const char *why = stencil_sweep_unavailable(plan->sweep, problem);
    CHECK(why[0] == '\0', UNAVAILABLE, "--sweep %s is not available here: %s",
          stencil_sweep_infos[sweep].name, why);
    CHECK(options->halo != STENCIL_HALO_LL ||
              stencil_kernel_is_compiled(plan->sweep, STENCIL_EXCHANGE_LL, plan->barrier),
          USAGE, "--halo ll is not for --sweep %s: leave one of them out", stencil_sweep_infos[sweep].name);
    return STENCIL_OK;
}

/* "NVIDIA H200", "4 x NVIDIA H200", or with how many parts share them; "2 threads, avx512". */
static void name_device(stencil_plan *plan, const stencil_machine *machine) {
    char *const text = plan->device;
    const size_t size = sizeof plan->device;
    int gpus = 0;
    for (int p = 0; p < plan->cut.parts; p++)
        gpus += plan->part[p].leads;
    if (plan->backend == STENCIL_BACKEND_CPU) {
        stencil_text_add(text, size, "%d thread%s, %s", plan->threads, stencil_plural(plan->threads),
                         machine->cpu_isa);
        if (plan->cut.parts > 1)
            stencil_text_add(text, size, ", %d parts", plan->cut.parts);
        return;
    }
    if (gpus > 1)
        stencil_text_add(text, size, "%d x ", gpus);
    stencil_text_add(text, size, "%.100s", machine->gpu[plan->part[0].gpu].name);
    if (gpus < plan->cut.parts)
        stencil_text_add(text, size, " in %d parts", plan->cut.parts);
}

/* Not for more words than pay, nor where steps are long, whose kernel has no room for what flagged words keep
 * in registers: as soon as a GPU's fields are more than its L2 holds (docs/performance.md). */
static bool ll_pays(const stencil_plan *plan, const stencil_problem *problem,
                    const stencil_machine *machine) {
    if (stencil_ll_words(problem->precision) * stencil_ll_slots_most(&plan->cut) > plan->tuning.ll_words_max)
        return false;
    for (int p = 0; p < plan->cut.parts; p++)
        if (stencil_problem_arrays(problem) * plan->part[p].sharing *
                stencil_layout_bytes(&plan->cut.layout) >
            machine->gpu[plan->part[p].gpu].l2_bytes)
            return false;
    return true;
}

/* Who keeps the ghost cells of other parts up to date, and whether the GPUs can. */
static stencil_status choose_halo(stencil_plan *plan, const stencil_problem *problem,
                                  const stencil_run_options *options, const stencil_machine *machine) {
    const stencil_strategy_info strategy = stencil_strategy_at(plan->strategy);
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
    const bool fits = stencil_ll_fits(&plan->cut.mesh);
    const bool ll = fits && plan->backend == STENCIL_BACKEND_GPU && plan->cut.parts > 1 &&
                    stencil_kernel_is_compiled(plan->sweep, STENCIL_EXCHANGE_LL, plan->barrier);
    CHECK(plan->halo != STENCIL_HALO_LL || fits || plan->cut.parts == 1, USAGE,
          "--halo ll is not for points that reach less far than %s along an axis that is not fixed: "
          "leave it out",
          problem->shape->name);
    if (plan->halo == STENCIL_HALO_AUTO && ll && ll_pays(plan, problem, machine))
        plan->halo = STENCIL_HALO_LL;
    if (plan->halo == STENCIL_HALO_LL && !ll) /* a single part has no cells to send */
        plan->halo = STENCIL_HALO_STORE;
    if (plan->halo == STENCIL_HALO_AUTO)
        plan->halo = strategy.copies && (plan->overlap || from >= 0) ? STENCIL_HALO_COPY : STENCIL_HALO_STORE;
    CHECK(from < 0 || plan->halo == STENCIL_HALO_COPY, UNAVAILABLE,
          "GPU %d cannot reach the memory of GPU %d: --sync %s needs that; openmp and single-thread can copy",
          from, to, strategy.name);
    if (from >= 0)
        stencil_notes_add(&plan->notes, "GPU %d cannot reach the memory of GPU %d: halos go through the host",
                          from, to);
    return STENCIL_OK;
}

/* What a test asks for must be possible, or it would show nothing. */
static stencil_status check_fault(const stencil_plan *plan, const stencil_problem *problem,
                                  const stencil_run_options *options) {
    const stencil_fault *d = &options->wait.fault;
    CHECK((d->delay_ns == 0 && d->absent_step == 0) || plan->barrier != STENCIL_BARRIER_none, USAGE,
          "--inject-delay and --inject-absent are for persistent loops; %s has no barrier of its own",
          stencil_strategy_at(plan->strategy).name);
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
    const stencil_mesh mesh = stencil_problem_mesh(problem, stencil_sweep_infos[plan->sweep].host->depth);
    TRY(stencil_cut_make(&plan->cut, &mesh, parts, options->cut));
    for (int p = 0; p < parts; p++) {
        stencil_part_plan *part = &plan->part[p];
        part->box = stencil_cut_box(&plan->cut, p);
        part->leads = true;
        for (int other = 0; other < parts; other++) {
            const bool same = plan->part[other].gpu == part->gpu;
            part->sharing += same;
            part->leads = part->leads && !(same && other < p);
        }
    }
    return STENCIL_OK;
}

/* What the parts hold in host memory, and a slab of each array of the problem on its way to or from them. */
static stencil_status check_host_memory(stencil_plan *plan, const stencil_problem *problem,
                                        const stencil_machine *machine) {
    char need[32], have[32];
    const int64_t parts = plan->backend == STENCIL_BACKEND_CPU
                              ? stencil_cpu_bytes(problem, &plan->cut)
                              : stencil_gpu_host_bytes(&plan->cut, plan->halo);
    plan->host_bytes = parts + stencil_intake_bytes(problem) +
                       (stencil_problem_arrays(problem) - 1) * stencil_slab_bytes(&plan->cut.mesh);
    plan->host_available_bytes = machine->host_available_bytes;
    CHECK(plan->host_available_bytes == 0 || plan->host_bytes < plan->host_available_bytes, NO_MEMORY,
          "the run needs %s of host memory, %s is available", stencil_bytes_text(plan->host_bytes, need),
          stencil_bytes_text(plan->host_available_bytes, have));
    return STENCIL_OK;
}

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
        int64_t tiles[3];
        stencil_part_plan *part = &plan->part[p];
        part->tile_count = stencil_tiles(part->box.n, plan->tile, tiles);
        CHECK(part->tile_count <= INT32_MAX, UNAVAILABLE,
              "the field has %lld tiles, one launch covers up to %d: use --device cpu",
              (long long)part->tile_count, INT32_MAX);
    }
    return STENCIL_OK;
}

/* What is known of the plan's kernel on a GPU; where nobody has asked, what its compilation guarantees. */
static stencil_kernel_attributes attributes_on(const stencil_plan *plan, const stencil_machine *machine,
                                               int gpu) {
    const stencil_kernel_attributes *known = stencil_machine_kernel(machine, gpu, &plan->kernel);
    if (known != NULL)
        return *known;
    /* Clusters stay within a processing cluster of the device, which has 16 multiprocessors at least. */
    enum { PROCESSING_CLUSTER = 16, REGISTERS_MAX = 255, REGISTERS_UNIT = 8 };
    const int blocks = plan->kernel.blocks, sms = machine->gpu[gpu].sm_count;
    const int registers = machine->gpu[gpu].registers_per_sm / STENCIL_BLOCK_THREADS / blocks;
    return (stencil_kernel_attributes){
        .image = true,
        .blocks_per_sm = blocks,
        .registers = registers > REGISTERS_MAX ? REGISTERS_MAX : registers / REGISTERS_UNIT * REGISTERS_UNIT,
        .clusters = sms / PROCESSING_CLUSTER * (PROCESSING_CLUSTER * blocks / plan->tuning.cluster_blocks)};
}

/* The row of the kernel that all choices lead to: as the machine was asked about it, else of this build. */
static stencil_status choose_kernel(stencil_plan *plan, const stencil_problem *problem,
                                    const stencil_machine *machine) {
    char text[STENCIL_KERNEL_CHARS];
    plan->kernel = (stencil_kernel){.shape = problem->shape->id,
                                    .precision = problem->precision,
                                    .sweep = plan->sweep,
                                    .exchange = plan->halo == STENCIL_HALO_LL ? STENCIL_EXCHANGE_LL
                                                                              : STENCIL_EXCHANGE_STORE,
                                    .barrier = plan->barrier};
    if (plan->backend == STENCIL_BACKEND_CPU)
        return STENCIL_OK;
    const stencil_kernel *compiled = stencil_kernel_find(&plan->kernel);
    const stencil_kernel_attributes *known =
        stencil_machine_kernel(machine, plan->part[0].gpu, &plan->kernel);
    CHECK(compiled != NULL || known != NULL, UNAVAILABLE,
          "kernel %s is neither in this build nor in the description of the machine",
          stencil_kernel_text(&plan->kernel, text));
    plan->kernel = known != NULL ? known->kernel : *compiled;
    plan->kernel.function = compiled != NULL ? compiled->function : NULL;
    return STENCIL_OK;
}

/* What the kernel needs, and how much of it fits on every GPU of the plan. */
static stencil_status check_kernel(stencil_plan *plan, const stencil_machine *machine) {
    char text[STENCIL_KERNEL_CHARS];
    for (int p = 0; p < plan->cut.parts; p++) {
        const int id = plan->part[p].gpu, capability = machine->gpu[id].capability;
        const stencil_kernel_attributes attributes = attributes_on(plan, machine, id);
        CHECK(attributes.image, UNAVAILABLE,
              "this build has no kernels for GPU %d (compute capability %d.%d): build with "
              "-DCMAKE_CUDA_ARCHITECTURES=%d",
              id, capability / 10, capability % 10, capability);
        CHECK(attributes.blocks_per_sm > 0, UNAVAILABLE, "GPU %d cannot hold a block of kernel %s", id,
              stencil_kernel_text(&plan->kernel, text));
        plan->registers = attributes.registers;
        if (p == 0 || attributes.blocks_per_sm < plan->blocks_per_sm)
            plan->blocks_per_sm = attributes.blocks_per_sm;
    }
    return STENCIL_OK;
}

/* The grid becomes a whole number of clusters, as many as fit at once at the most. */
static stencil_status fit_clusters(stencil_plan *plan, const stencil_machine *machine) {
    char text[STENCIL_KERNEL_CHARS];
    stencil_part_plan *part = &plan->part[0];
    const int blocks = plan->tuning.cluster_blocks, needed = (part->grid_blocks + blocks - 1) / blocks,
              clusters = attributes_on(plan, machine, part->gpu).clusters;
    CHECK(clusters > 0, UNAVAILABLE, "GPU %d cannot hold a cluster of %d blocks of kernel %s", part->gpu,
          blocks, stencil_kernel_text(&plan->kernel, text));
    part->grid_blocks = blocks * (needed < clusters ? needed : clusters);
    plan->cluster_blocks = blocks;
    return STENCIL_OK;
}

/* Blocks of each part: one for each tile, or as many as fit into the part's share of its GPU at once. */
static stencil_status choose_grids(stencil_plan *plan, const stencil_machine *machine) {
    const bool cooperative = plan->barrier != STENCIL_BARRIER_none; /* all blocks of a launch resident */
    char text[STENCIL_KERNEL_CHARS];
    uint32_t first = 0;
    for (int p = 0; p < plan->cut.parts; p++) {
        stencil_part_plan *part = &plan->part[p];
        const int64_t slots = (int64_t)plan->blocks_per_sm * machine->gpu[part->gpu].sm_count / part->sharing;
        CHECK(slots > 0 || !cooperative, UNAVAILABLE,
              "GPU %d holds %d blocks of kernel %s at once, not one for each of its %d parts: use fewer",
              part->gpu, plan->blocks_per_sm * machine->gpu[part->gpu].sm_count,
              stencil_kernel_text(&plan->kernel, text), part->sharing);
        part->grid_blocks = (int)part->tile_count;
        if (cooperative && part->tile_count > slots)
            part->grid_blocks = (int)slots;
        if (stencil_barriers[plan->barrier].needs == STENCIL_NEEDS_CLUSTERS)
            TRY(fit_clusters(plan, machine));
        part->first_block = first;
        first += (uint32_t)part->grid_blocks;
    }
    return STENCIL_OK;
}

/* Kernels that wait for each other must be on the GPU together: each has a stream of its own, and a device
 * has so many queues for streams. */
enum { SHARING_MAX = 8 };

static stencil_status check_device_memory(stencil_plan *plan, const stencil_problem *problem,
                                          const stencil_machine *machine) {
    for (int p = 0; p < plan->cut.parts; p++) {
        const int id = plan->part[p].gpu, sharing = plan->part[p].sharing;
        const stencil_gpu *gpu = &machine->gpu[id];
        const int64_t free_bytes = gpu->free_bytes > 0 ? gpu->free_bytes : gpu->memory_bytes;
        int64_t bytes = 0;
        char need[32], have[32];
        CHECK(sharing <= SHARING_MAX, UNAVAILABLE, "GPU %d is named %d times, it can hold up to %d parts", id,
              sharing, SHARING_MAX);
        if (!stencil_multiply(stencil_gpu_bytes(problem, &plan->cut, plan->halo), sharing, &bytes))
            bytes = INT64_MAX;
        if (bytes > plan->device_bytes || p == 0) {
            plan->device_bytes = bytes;
            plan->device_available_bytes = free_bytes;
        }
        CHECK(bytes < free_bytes, NO_MEMORY, "the run needs %s of memory on GPU %d, %s is free",
              stencil_bytes_text(bytes, need), id, stencil_bytes_text(free_bytes, have));
    }
    return STENCIL_OK;
}

/* A step takes its barrier and the like, and the time that memory needs for 16 bytes a cell. */
static int32_t steps_between_polls(const stencil_tuning *tuning, double cells, double bytes_per_s) {
    return (int32_t)(tuning->poll_s / (tuning->step_s + 16.0 * cells / bytes_per_s)) + 1;
}

static stencil_status plan_gpu(stencil_plan *plan, const stencil_problem *problem,
                               const stencil_machine *machine) {
    const int64_t *n = plan->cut.layout.n; /* of the largest part */
    TRY(check_kernel(plan, machine));
    const stencil_part_plan *part = &plan->part[0];
    const int64_t share = (int64_t)plan->blocks_per_sm * machine->gpu[part->gpu].sm_count / part->sharing;
    stencil_sweep_infos[plan->sweep].host->shape(plan, problem, n, share > 0 ? share : 1);
    TRY(check_tiles(plan, n));
    TRY(choose_grids(plan, machine));
    TRY(check_device_memory(plan, problem, machine));
    const double cells = (double)n[0] * (double)n[1] * (double)n[2];
    plan->poll_every = steps_between_polls(&plan->tuning, cells, plan->tuning.bytes_per_s);
    /* Weights are parameters of a launch: taken from memory they cost the sweep registers that it does not
     * have. */
    if (problem->cycle.length > 1)
        plan->wait.steps_per_launch = 1;
    return STENCIL_OK;
}

static stencil_status plan_cpu(stencil_plan *plan, const stencil_problem *problem,
                               const stencil_machine *machine) {
    plan->threads = machine->cpu_threads;
    const double cells = (double)stencil_problem_updated_cells(problem);
    plan->poll_every = steps_between_polls(&plan->tuning, cells, plan->tuning.cpu_bytes_per_s);
    if (plan->poll_every > plan->tuning.cpu_poll_steps)
        plan->poll_every = plan->tuning.cpu_poll_steps;
    plan->stores = stencil_sweep_infos[plan->sweep].host->streams
                       ? stencil_stores_choose(problem, plan->threads, machine->cpu_cache_bytes)
                       : STENCIL_STORES_CACHED;
    const int64_t rows = problem->n[STENCIL_Z] * problem->n[STENCIL_Y];
    plan->tile[STENCIL_Z] = 1;
    plan->tile[STENCIL_Y] = (rows + plan->threads - 1) / plan->threads;
    plan->tile[STENCIL_X] = problem->n[STENCIL_X];
    const stencil_fault *d = &plan->wait.fault;
    CHECK(d->absent_step == 0 || d->absent_part > 0 || d->absent < (uint32_t)plan->threads, USAGE,
          "--inject-absent stops thread %u, and there are %d: give --threads %u", (unsigned)d->absent,
          plan->threads, (unsigned)d->absent + 1);
    return STENCIL_OK;
}

const char *stencil_strategy_unavailable(int index, stencil_backend backend, const stencil_machine *machine) {
    const stencil_barrier_id barrier = stencil_strategy_at(index).barrier;
    if (backend == STENCIL_BACKEND_CPU)
        return "";
    if (machine->gpu_count == 0)
        return machine->no_gpu_reason;
    if (machine->gpu[0].capability < stencil_barriers[barrier].capability)
        return "the GPU is too old for its barrier";
    if (barrier != STENCIL_BARRIER_none && !machine->gpu[0].cooperative)
        return "the GPU has no cooperative launch";
    return "";
}

static void choose_tuning(stencil_plan *plan, const stencil_machine *machine) {
    const bool gpu = plan->backend == STENCIL_BACKEND_GPU;
    const char *name = machine->gpu[plan->part[0].gpu].name;
    if (!stencil_tuning_find(&plan->tuning, gpu ? name : "") && gpu)
        stencil_notes_add(&plan->notes, "nothing was measured on %s: tiles and limits are those of an H200",
                          name);
}

/* The first half: up to plan->kernel and the GPU of each part, which is what a machine has to be asked about.
 */
static stencil_status choose(stencil_plan *plan, const stencil_problem *problem,
                             const stencil_run_options *options, const stencil_machine *machine) {
    *plan = (stencil_plan){.cluster_blocks = 1, .wait = options->wait};
    if (!(plan->wait.timeout_s > 0))
        plan->wait.timeout_s = STENCIL_TIMEOUT_DEFAULT_S;
    TRY(choose_backend(plan, options, machine));
    choose_tuning(plan, machine);
    const int asked = plan->backend == STENCIL_BACKEND_CPU ? options->parts : options->gpu_count;
    const int parts = asked > 0 ? asked : 1;
    TRY(choose_strategy(plan, options, parts));
    const char *why = stencil_strategy_unavailable(plan->strategy, plan->backend, machine);
    CHECK(why[0] == '\0', UNAVAILABLE, "--sync %s is not available here: %s",
          stencil_strategy_at(plan->strategy).name, why);
    TRY(choose_sweep(plan, problem, options));
    TRY(choose_parts(plan, problem, options, parts));
    TRY(check_fault(plan, problem, options));
    TRY(choose_halo(plan, problem, options, machine));
    if (plan->backend == STENCIL_BACKEND_CPU)
        TRY(plan_cpu(plan, problem, machine));
    TRY(check_host_memory(plan, problem, machine));
    name_device(plan, machine);
    return choose_kernel(plan, problem, machine);
}

stencil_status stencil_plan_make(stencil_plan *plan, const stencil_problem *problem,
                                 const stencil_run_options *options, const stencil_machine *machine) {
    TRY(choose(plan, problem, options, machine));
    return plan->backend == STENCIL_BACKEND_GPU ? plan_gpu(plan, problem, machine) : STENCIL_OK;
}

stencil_status stencil_plan_here(stencil_plan *plan, const stencil_problem *problem,
                                 const stencil_run_options *options, stencil_machine *machine) {
    TRY(choose(plan, problem, options, machine));
    if (plan->backend == STENCIL_BACKEND_CPU)
        return STENCIL_OK;
    int gpu[STENCIL_PARTS_MAX], count = 0;
    for (int p = 0; p < plan->cut.parts; p++)
        if (plan->part[p].leads)
            gpu[count++] = plan->part[p].gpu;
    TRY(stencil_machine_ask_kernel(machine, gpu, count, &plan->kernel));
    return plan_gpu(plan, problem, machine);
}
