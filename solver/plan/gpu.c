/* The GPU half of a plan: kernel, tiles, grids and device memory. */
#include <string.h>

#include "solver/plan/halves.h"
#include "solver/plan/memory.h"
#include "solver/plan/sweep.h"
#include "solver/problem/factors.h"

/* Counts the tiles of each part. Errors: UNAVAILABLE if the tiles, or n cells of an axis, exceed 32 bits. */
static stencil_status check_tiles(stencil_plan *plan, const int64_t n[3]) {
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        /* Kernels count cells of an axis in 32 bits, a tile beyond the end included. */
        const int64_t most = INT32_MAX - plan->tile[axis] - 16;
        CHECK(n[axis] <= most, UNAVAILABLE,
              "axis %c has %lld cells, the GPU kernels take up to %lld along an axis: use --device cpu",
              "zyx"[axis], (long long)n[axis], (long long)most);
    }
    for (int p = 0; p < stencil_plan_parts(plan); p++) {
        int64_t tiles[3];
        stencil_part_plan *part = &plan->part[p];
        part->tile_count = stencil_tiles(part->box.n, plan->tile, tiles);
        CHECK(part->tile_count <= INT32_MAX, UNAVAILABLE,
              "the field has %lld tiles, one launch covers up to %d: use --device cpu",
              (long long)part->tile_count, INT32_MAX);
    }
    return STENCIL_OK;
}

/* Tells whether the plan is a persistent loop of passes of several steps: one block per multiprocessor. */
static bool loops_deep(const stencil_plan *plan) {
    return plan->backend == STENCIL_BACKEND_GPU && plan->depth > 1 && plan->barrier != STENCIL_BARRIER_none;
}

/* Tells whether the plan is a persistent loop of single steps. */
static bool loops_shallow(const stencil_plan *plan) {
    return plan->barrier != STENCIL_BARRIER_none && plan->depth == 1;
}

/* Tells whether single steps are made by a kernel for classes of cells, which alone reads a factor in time
 * within a loop: in a launch of one step it is a parameter. */
static bool needs_classed(const stencil_plan *plan, const stencil_problem *problem) {
    return stencil_problem_has_classes(problem) || stencil_problem_sum_arrays(problem) > 1 ||
           (stencil_problem_in_time(problem) && loops_shallow(plan));
}

/* Tells whether that kernel is taken for its weights alone: within a loop it reads those of each step. A
 * build of few kernels may lack it. */
static bool takes_classed(const stencil_plan *plan, const stencil_problem *problem) {
    const int64_t *n = plan->cut.layout.n;
    const bool pays = problem->rank == 2 || n[0] * n[1] * n[2] <= plan->tuning.cycle_loop_cells_3d;
    stencil_kernel plain = plan->kernel, classed = plan->kernel;
    classed.classed = true;
    return problem->cycle.length > 1 && loops_shallow(plan) && !plan->kernel.fielded && pays &&
           (stencil_kernel_find(&classed) || !stencil_kernel_find(&plain));
}

/* Takes the kernel from the machine's description, or else from this build. For passes of several steps
 * plan->kernel is the kernel of single steps, which are separate launches. */
stencil_status stencil_plan_kernel(stencil_plan *plan, const stencil_problem *problem,
                                   const stencil_machine *machine) {
    char text[STENCIL_KERNEL_CHARS];
    plan->kernel = (stencil_kernel){.shape = problem->shape->id,
                                    .precision = problem->precision,
                                    .sweep = plan->sweep,
                                    .exchange = plan->halo == STENCIL_HALO_LL ? STENCIL_EXCHANGE_LL
                                                                              : STENCIL_EXCHANGE_STORE,
                                    .barrier = plan->barrier,
                                    .classed = needs_classed(plan, problem),
                                    .fielded = stencil_problem_has_fields(problem)};
    if (plan->backend == STENCIL_BACKEND_GPU && plan->depth > 1)
        plan->kernel.barrier = STENCIL_BARRIER_none;
    if (plan->backend == STENCIL_BACKEND_CPU)
        return STENCIL_OK;
    plan->kernel.classed = plan->kernel.classed || takes_classed(plan, problem);
    stencil_kernel compiled = plan->kernel;
    const bool is_compiled = stencil_kernel_find(&compiled), classed = plan->kernel.classed,
               fielded = plan->kernel.fielded;
    const stencil_kernel_attributes *known =
        stencil_machine_kernel(machine, plan->part[0].gpu, &plan->kernel);
    /* Descriptions of machines have plain kernels only, which have the same tiles. */
    plan->kernel.classed = plan->kernel.fielded = false;
    if (known == NULL && !is_compiled)
        known = stencil_machine_kernel(machine, plan->part[0].gpu, &plan->kernel);
    plan->kernel.classed = classed;
    plan->kernel.fielded = fielded;
    CHECK(is_compiled || known != NULL, UNAVAILABLE,
          "--sweep %s: neither this build nor the description of the machine has a kernel %s: build it "
          "(cmake -D STENCIL_SETS=all -D STENCIL_KERNELS=all), or calibrate a machine that has it again "
          "(stencil calibrate --json FILE)",
          stencil_sweep_infos[plan->sweep].name, stencil_kernel_text(&plan->kernel, text));
    plan->kernel = known != NULL ? known->kernel : compiled;
    plan->kernel.classed = classed;
    plan->kernel.fielded = fielded;
    plan->kernel.function = compiled.function;
    plan->kernel.step_bytes = compiled.step_bytes;
    if (is_compiled && plan->depth > 1)
        plan->variant->by->enter(plan);
    CHECK(!is_compiled || plan->depth == 1 || plan->kernel.deep != NULL, UNAVAILABLE,
          "--sweep %s: this build has no kernel of several steps for cells of classes: build it (cmake -D "
          "STENCIL_SETS=all -D STENCIL_KERNELS=all)",
          stencil_sweep_infos[plan->sweep].name);
    return STENCIL_OK;
}

stencil_kernel_launch stencil_plan_launch(const stencil_plan *plan, int steps, bool checked) {
    const stencil_kernel *kernel = &plan->kernel;
    if (steps == 1)
        return (stencil_kernel_launch){kernel->function, kernel->traced, plan->block_x, plan->block_y,
                                       kernel->step_bytes};
    const void *pass = checked ? kernel->checked : kernel->deep;
    return (stencil_kernel_launch){pass, pass, checked ? kernel->checked_threads : kernel->deep_threads, 1,
                                   checked ? kernel->checked_bytes : kernel->deep_bytes};
}

/* Sets the plan's registers, and its blocks per multiprocessor to the least of its GPUs. Errors: UNAVAILABLE
 * where a GPU has no code of the kernel, or cannot hold a block. */
static stencil_status check_kernel(stencil_plan *plan, const stencil_machine *machine) {
    char text[STENCIL_KERNEL_CHARS];
    for (int p = 0; p < stencil_plan_parts(plan); p++) {
        const int id = plan->part[p].gpu, capability = machine->gpu[id].capability;
        const stencil_kernel_attributes attributes = stencil_plan_attributes(plan, machine, id);
        CHECK(attributes.image, UNAVAILABLE,
              "this build has no kernels for GPU %d (compute capability %d.%d): build with "
              "-DCMAKE_CUDA_ARCHITECTURES=%d",
              id, capability / 10, capability % 10, capability);
        CHECK(attributes.blocks_per_sm > 0, UNAVAILABLE,
              "GPU %d cannot hold a block of kernel %s: give another --sweep or --sync", id,
              stencil_kernel_text(&plan->kernel, text));
        plan->registers = attributes.registers;
        if (p == 0 || attributes.blocks_per_sm < plan->blocks_per_sm)
            plan->blocks_per_sm = attributes.blocks_per_sm;
    }
    return STENCIL_OK;
}

/* Rounds the grid to a whole number of clusters, at most as many as are resident at once. */
static stencil_status fit_clusters(stencil_plan *plan, const stencil_machine *machine) {
    char text[STENCIL_KERNEL_CHARS];
    stencil_part_plan *part = &plan->part[0];
    const int blocks = plan->tuning.cluster_blocks, needed = (part->grid_blocks + blocks - 1) / blocks,
              clusters = loops_deep(plan) ? stencil_plan_clusters(plan, &machine->gpu[part->gpu])
                                          : stencil_plan_attributes(plan, machine, part->gpu).clusters;
    CHECK(clusters > 0, UNAVAILABLE, "GPU %d cannot hold a cluster of %d blocks of kernel %s", part->gpu,
          blocks, stencil_kernel_text(&plan->kernel, text));
    part->grid_blocks = blocks * (needed < clusters ? needed : clusters);
    plan->cluster_blocks = blocks;
    return STENCIL_OK;
}

/* Chooses the blocks of each part: one per tile, at most as many as are resident in the part's share of its
 * GPU; in persistent loops of passes of several steps always that many. */
static stencil_status choose_grids(stencil_plan *plan, const stencil_machine *machine) {
    const bool cooperative = plan->barrier != STENCIL_BARRIER_none; /* all blocks must be resident */
    char text[STENCIL_KERNEL_CHARS];
    uint32_t first = 0;
    for (int p = 0; p < stencil_plan_parts(plan); p++) {
        stencil_part_plan *part = &plan->part[p];
        const int64_t per_sm = loops_deep(plan) ? 1 : plan->blocks_per_sm,
                      slots = per_sm * machine->gpu[part->gpu].sm_count / part->sharing;
        CHECK(slots > 0 || !cooperative, UNAVAILABLE,
              "GPU %d holds %d blocks of kernel %s at once, not one for each of its %d parts: use fewer",
              part->gpu, plan->blocks_per_sm * machine->gpu[part->gpu].sm_count,
              stencil_kernel_text(&plan->kernel, text), part->sharing);
        part->grid_blocks = (int)part->tile_count;
        if ((cooperative && part->tile_count > slots) || loops_deep(plan))
            part->grid_blocks = (int)slots;
        if (plan->layout.kind == STENCIL_PASS_ON_CHIP)
            part->grid_blocks = stencil_resident_tiles(&plan->layout.resident);
        if (stencil_barriers[plan->barrier].needs == STENCIL_NEEDS_CLUSTERS)
            TRY(fit_clusters(plan, machine));
        part->first_block = first;
        first += (uint32_t)part->grid_blocks;
    }
    if (loops_deep(plan)) {
        plan->layout.blocks = plan->part[0].grid_blocks;
        plan->layout.slots = machine->gpu[plan->part[0].gpu].sm_count / plan->part[0].sharing;
    }
    const int tiles = stencil_resident_tiles(&plan->layout.resident);
    CHECK(plan->layout.kind != STENCIL_PASS_ON_CHIP || tiles <= plan->layout.blocks, UNAVAILABLE,
          "--sweep resident is not available here: it needs %d blocks at once, --sync %s has %d", tiles,
          stencil_strategy_at(plan->strategy).name, plan->layout.blocks);
    return STENCIL_OK;
}

/* Most parts that share a GPU: kernels that wait for each other must run concurrently, each in its own
 * stream, and the driver has a limited number of hardware queues. */
enum { SHARING_MAX = 8 };

static stencil_status check_device_memory(stencil_plan *plan, const stencil_problem *problem,
                                          const stencil_machine *machine) {
    for (int p = 0; p < stencil_plan_parts(plan); p++) {
        const int id = plan->part[p].gpu, sharing = plan->part[p].sharing;
        const stencil_gpu *gpu = &machine->gpu[id];
        const int64_t free_bytes = gpu->free_bytes > 0 ? gpu->free_bytes : gpu->memory_bytes;
        int64_t bytes = 0;
        char need[32], have[32];
        CHECK(sharing <= SHARING_MAX || !stencil_world_alone(plan->world), UNAVAILABLE,
              "GPU %d is named %d times, it can hold up to %d parts", id, sharing, SHARING_MAX);
        if (!stencil_multiply(stencil_gpu_bytes(problem, &plan->cut, plan->halo) +
                                  plan->layout.resident_bytes + plan->layout.kept_bytes +
                                  plan->layout.node_count * (int64_t)sizeof(double),
                              sharing, &bytes))
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

stencil_status stencil_plan_gpu(stencil_plan *plan, const stencil_problem *problem,
                                const stencil_machine *machine) {
    const int64_t *n = plan->cut.layout.n; /* cells of the largest part */
    TRY(check_kernel(plan, machine));
    const stencil_part_plan *part = &plan->part[0];
    const int64_t share = (int64_t)plan->blocks_per_sm * machine->gpu[part->gpu].sm_count / part->sharing;
    stencil_sweep_infos[plan->sweep].host->shape(plan, problem, n, share > 0 ? share : 1);
    plan->layout.slots = plan->layout.blocks = machine->gpu[part->gpu].sm_count;
    TRY(check_tiles(plan, n));
    TRY(choose_grids(plan, machine));
    TRY(check_device_memory(plan, problem, machine));
    for (int p = 0; p < stencil_plan_parts(plan); p++)
        plan->part[p].past_l2 = stencil_plan_l2_fill(plan, p, problem, machine) > plan->tuning.past_l2;
    const double cells = (double)n[0] * (double)n[1] * (double)n[2];
    plan->poll_every = stencil_plan_poll_every(plan, cells);
    const bool resident = plan->layout.kind == STENCIL_PASS_ON_CHIP;
    /* Without a kernel for classes (takes_classed()), a loop of single steps has the weights of its launch.
     */
    if (problem->cycle.length > 1 && loops_shallow(plan) && !plan->kernel.classed && !plan->kernel.fielded)
        plan->wait.steps_per_launch = 1;
    if (loops_deep(plan) && !resident && stencil_barriers[plan->barrier].needs == STENCIL_NEEDS_NEIGHBORS)
        stencil_notes_add(&plan->notes, "behind a pass of several steps --sync %s waits for all blocks",
                          stencil_strategy_at(plan->strategy).name);
    return STENCIL_OK;
}
