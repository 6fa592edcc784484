/* The plan of a run: backend, device, kernel, tiles and launch shape, memory. It follows from the description
 * of a machine; only stencil_plan_here() asks a driver. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "solver/problem/boxes.h"
#include "solver/problem/cycle.h"
#include "solver/problem/stop.h"
#include "solver/plan/model.h"
#include "solver/parts/reduction.h"
#include "solver/parts/workers.h"
#include "solver/machine/nccl.h"
#include "solver/plan/halves.h"
#include "solver/plan/memory.h"
#include "solver/plan/sweep.h"

const char *const stencil_backend_names[] = {"auto", "cpu", "gpu", NULL};
const char *const stencil_halo_names[] = {"auto", "store", "copy", "ll", "message", "nccl", NULL};
const char *const stencil_stores_names[STENCIL_STORES_COUNT] = {"cached", "streaming", "tried"};

/* Refuses options about devices that are for one process. */
static stencil_status check_ranks(const stencil_run_options *options) {
    CHECK(options->gpu_count == 0, USAGE,
          "--gpus is for one process, and each rank takes one of its host's GPUs: leave it out "
          "(CUDA_VISIBLE_DEVICES says which GPUs there are)");
    CHECK(options->parts == 0, USAGE,
          "--parts cuts a run of one process, and each rank has one part: leave it out");
    return STENCIL_OK;
}

static stencil_status choose_backend(stencil_plan *plan, const stencil_run_options *options,
                                     const stencil_machine *machine) {
    const bool asked = options->gpu_count > 0 || options->backend == STENCIL_BACKEND_GPU;
    if (!stencil_world_alone(plan->world))
        TRY(check_ranks(options));
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
    CHECK(machine->gpu_count > 0 || options->gpu_count < 2, UNAVAILABLE,
          "no GPU here (%s): leave --gpus out, or give --parts %d to 'stencil run', which cuts a run on the "
          "CPU "
          "alike",
          machine->no_gpu_reason, options->gpu_count);
    CHECK(machine->gpu_count > 0, UNAVAILABLE, "no GPU here (%s): leave %s out", machine->no_gpu_reason,
          options->gpu_count > 0 ? "--gpus" : "--device gpu");
    TRY(stencil_gpus_check(machine, options->gpu, options->gpu_count));
    plan->part[0].gpu = options->rank_gpu;
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

/* Tells whether the options ask for a persistent loop that goes across ranks. */
static bool spans_ranks(const stencil_plan *plan, const stencil_run_options *options) {
    const int strategy =
        options->sync != NULL ? stencil_name_find(options->sync, stencil_strategy_names) : -1;
    return !stencil_world_alone(plan->world) && plan->backend == STENCIL_BACKEND_GPU &&
           options->ranks_reach && plan->world->ranks <= STENCIL_PARTS_MAX &&
           options->halo != STENCIL_HALO_MESSAGE && options->halo != STENCIL_HALO_NCCL && strategy >= 0 &&
           stencil_strategy_at(strategy).barrier != STENCIL_BARRIER_none;
}

/* Refuses exchanges that ranks have not, or that are for ranks only. */
static stencil_status check_halo(stencil_plan *plan, const stencil_run_options *options) {
    const bool nccl = options->halo == STENCIL_HALO_NCCL,
               message = nccl || options->halo == STENCIL_HALO_MESSAGE,
               alone = stencil_world_alone(plan->world);
    CHECK(!message || !alone, USAGE, "--halo %s is for several ranks, which mpirun starts: leave it out",
          stencil_halo_names[options->halo]);
    CHECK(!nccl || (plan->backend == STENCIL_BACKEND_GPU && options->rank_sharing <= 1), USAGE,
          "--halo nccl is for ranks with a GPU each: leave it out, or start as many ranks as there are GPUs");
    CHECK(!nccl || stencil_nccl_unavailable()[0] == '\0', UNAVAILABLE,
          "--halo nccl is not available here: %s", stencil_nccl_unavailable());
    plan->nccl = nccl;
    CHECK(message || alone || plan->spans_ranks || options->halo == STENCIL_HALO_AUTO, USAGE,
          "--halo %s is for persistent loops on GPUs that reach each other's memory, and these ranks send "
          "messages: leave it out",
          stencil_halo_names[options->halo]);
    return STENCIL_OK;
}

/* Finds the strategy that options->sync names for `parts` parts of this process. */
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
    CHECK(stencil_world_alone(plan->world) || plan->backend == STENCIL_BACKEND_CPU || plan->spans_ranks ||
              strategy.sends || (strategy.replayed && options->halo == STENCIL_HALO_NCCL),
          USAGE, "--sync %s %s: give --sync relaunch, or --device cpu", sync,
          strategy.barrier == STENCIL_BARRIER_none || options->ranks_reach
              ? "sends no messages, as ranks on GPUs do"
              : "goes across ranks of one host only, whose GPUs, one for each, reach each other's memory");
    TRY(check_halo(plan, options));
    plan->barrier = strategy.barrier;
    if (!stencil_world_alone(plan->world) && !plan->spans_ranks)
        return STENCIL_OK;
    CHECK(strategy.copies || (options->halo != STENCIL_HALO_COPY && !options->overlap), USAGE,
          "--halo copy and --overlap are for openmp and single-thread; %s %s", sync,
          strategy.spans ? "stores its ghost cells by itself" : "runs in one part");
    CHECK(!options->overlap || options->halo == STENCIL_HALO_AUTO || options->halo == STENCIL_HALO_COPY,
          USAGE, "--overlap is for copies, and --halo %s makes none: give --halo copy",
          stencil_halo_names[options->halo]);
    CHECK(options->halo != STENCIL_HALO_LL || (plan->backend == STENCIL_BACKEND_GPU && strategy.ll), USAGE,
          "--halo ll is for --sync neighbor on GPUs: leave it out");
    return STENCIL_OK;
}

/* Chooses the sweep that makes the steps, and checks that it can. */
static stencil_status choose_sweep(stencil_plan *plan, const stencil_problem *problem,
                                   const stencil_run_options *options) {
    const int sweep = options->sweep != NULL ? stencil_name_find(options->sweep, stencil_sweep_names)
                                             : (int)stencil_sweep_usual(plan, problem, options->depth);
    CHECK(sweep >= 0, USAGE, "--sweep %s: unknown sweep; 'stencil info' lists them", options->sweep);
    plan->sweep = (stencil_sweep_id)sweep;
    const char *why = stencil_sweep_unavailable(plan->sweep, problem, plan->backend);
    CHECK(why[0] == '\0', UNAVAILABLE, "--sweep %s is not available here: %s",
          stencil_sweep_infos[sweep].name, why);
    CHECK(stencil_world_alone(plan->world) || plan->spans_ranks ||
              stencil_sweep_can(plan->sweep, problem, STENCIL_NEED_LAUNCHES),
          UNAVAILABLE,
          "--sweep %s is not available here: it is a persistent loop, and these ranks send messages between "
          "launches: give --sweep pipeline",
          stencil_sweep_infos[sweep].name);
    CHECK(options->halo != STENCIL_HALO_LL ||
              stencil_kernel_is_compiled(plan->sweep, STENCIL_EXCHANGE_LL, plan->barrier),
          USAGE, "--halo ll is not for --sweep %s: leave one of them out", stencil_sweep_infos[sweep].name);
    stencil_sweep_choose(plan, problem);
    return STENCIL_OK;
}

/* Sets plan->device: "NVIDIA H200", "4 x NVIDIA H200 in 8 parts", "2 threads, avx512", "8 ranks of 2 …". */
static void name_device(stencil_plan *plan, const stencil_machine *machine) {
    char *const text = plan->device;
    const size_t size = sizeof plan->device;
    int gpus = 0;
    for (int p = 0; p < plan->cut.owned; p++)
        gpus += plan->part[p].leads;
    if (plan->backend == STENCIL_BACKEND_CPU) {
        if (!stencil_world_alone(plan->world))
            stencil_text_add(text, size, "%d ranks of ", plan->world->ranks);
        stencil_text_add(text, size, "%d thread%s, %s", plan->threads, stencil_plural(plan->threads),
                         machine->cpu_isa);
        if (plan->cut.owned > 1)
            stencil_text_add(text, size, ", %d parts", plan->cut.owned);
        return;
    }
    const int sharing = plan->part[0].sharing;
    if (!stencil_world_alone(plan->world))
        stencil_text_add(text, size, "%d ranks of ", plan->world->ranks);
    if (gpus > 1 && !plan->spans_ranks)
        stencil_text_add(text, size, "%d x ", gpus);
    stencil_text_add(text, size, "%.100s", machine->gpu[plan->part[0].gpu].name);
    if (!stencil_world_alone(plan->world) && sharing > 1)
        stencil_text_add(text, size, ", up to %d on a GPU", sharing);
    if (gpus < plan->cut.owned)
        stencil_text_add(text, size, " in %d parts", plan->cut.owned);
}

/* Tells whether the LL exchange is faster than stores: for few words, and fields that fit a GPU's L2, since
 * other kernels have no registers to spare (docs/log/2026-11-22.md). */
static bool ll_pays(const stencil_plan *plan, const stencil_problem *problem,
                    const stencil_machine *machine) {
    if (stencil_ll_words(problem->precision) * stencil_ll_slots_most(&plan->cut) > plan->tuning.ll_words_max)
        return false;
    for (int p = 0; p < plan->cut.parts; p++)
        if (stencil_plan_l2_fill(plan, p, problem, machine) > 1)
            return false;
    return true;
}

/* Chooses the way in which ghost cells of other parts are kept up to date, and checks that the GPUs can. */
static stencil_status choose_halo(stencil_plan *plan, const stencil_problem *problem,
                                  const stencil_run_options *options, const stencil_machine *machine) {
    const stencil_strategy_info strategy = stencil_strategy_at(plan->strategy);
    int from = -1, to = -1;
    plan->overlap = options->overlap;
    if (!stencil_world_alone(plan->world) && !plan->spans_ranks) {
        plan->halo = STENCIL_HALO_MESSAGE;
        plan->maps = plan->backend == STENCIL_BACKEND_GPU && options->halo == STENCIL_HALO_AUTO &&
                     plan->world->local_ranks == plan->world->ranks;
        CHECK(plan->backend == STENCIL_BACKEND_CPU || !plan->overlap || plan->depth == 1, USAGE,
              "--overlap is for passes of one step where ranks have GPUs: leave it out, or give --depth 1");
        return STENCIL_OK;
    }
    for (int i = 0; i < plan->cut.parts && plan->backend == STENCIL_BACKEND_GPU; i++)
        for (int j = 0; j < plan->cut.parts; j++)
            if (!stencil_plan_on_one_gpu(plan, i, j) && !plan->spans_ranks && /* which were probed */
                !machine->peer[plan->part[i].gpu][plan->part[j].gpu]) {
                from = plan->part[i].gpu;
                to = plan->part[j].gpu;
            }
    const bool fits = stencil_ll_fits(&plan->cut.mesh);
    const bool ll = fits && plan->backend == STENCIL_BACKEND_GPU && plan->cut.parts > 1 && plan->depth == 1 &&
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
    if (from < 0)
        return STENCIL_OK;
    char why[96];
    plan->apart = machine->loses[from][to];
    if (plan->apart)
        snprintf(why, sizeof why, "GPUs %d and %d lose data that they send each other", to, from);
    else
        snprintf(why, sizeof why, "GPU %d cannot reach the memory of GPU %d", from, to);
    CHECK(plan->halo == STENCIL_HALO_COPY, UNAVAILABLE,
          "%s: --sync %s needs that; openmp and single-thread can copy", why, strategy.name);
    stencil_notes_add(&plan->notes, "%s: halos go through the host", why);
    return STENCIL_OK;
}

/* Refuses faults that cannot occur in the planned run, since a test with them would prove nothing. */
static stencil_status check_fault(const stencil_plan *plan, const stencil_problem *problem,
                                  const stencil_run_options *options) {
    const stencil_fault *d = &options->wait.fault;
    CHECK((d->delay_ns == 0 && d->absent_step == 0) || plan->barrier != STENCIL_BARRIER_none, USAGE,
          "--inject-delay and --inject-absent are for persistent loops; %s has no barrier of its own",
          stencil_strategy_at(plan->strategy).name);
    CHECK(options->wait.illegal_step == 0 || plan->backend == STENCIL_BACKEND_GPU, USAGE,
          "--inject-illegal is for runs on GPUs");
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        CHECK(options->wait.flip_cell[axis] < problem->extent[axis], USAGE,
              "--inject-flip-cell: there is no cell %lld of %lld", (long long)options->wait.flip_cell[axis],
              (long long)problem->extent[axis]);
    CHECK(d->absent_step <= problem->stop.steps, USAGE,
          "--inject-absent %lld: the run has at most %lld step%s", (long long)d->absent_step,
          (long long)problem->stop.steps, stencil_plural(problem->stop.steps));
    CHECK(d->absent_part <= (uint32_t)plan->cut.owned, USAGE,
          "--inject-absent-part %u: the run has %d part%s (0 … %d)", (unsigned)d->absent_part - 1,
          plan->cut.owned, stencil_plural(plan->cut.owned), plan->cut.owned - 1);
    return STENCIL_OK;
}

/* Chooses the steps of a pass: those asked for, else the number that suits and whose ghost cells fit. */
static stencil_status choose_depth(stencil_plan *plan, const stencil_problem *problem,
                                   const stencil_run_options *options, const stencil_machine *machine) {
    const stencil_sweep_host *sweep = stencil_sweep_infos[plan->sweep].host;
    const char *name = stencil_sweep_infos[plan->sweep].name;
    CHECK(options->depth <= 1 || sweep->depth > 1, USAGE,
          "--depth %d is not for --sweep %s, which makes one step at a time", options->depth, name);
    CHECK(options->depth <= sweep->depth, USAGE, "--depth %d: --sweep %s makes up to %d steps at once",
          options->depth, name, sweep->depth);
    for (int p = 0; p < plan->cut.owned && plan->backend == STENCIL_BACKEND_GPU; p++)
        if (options->depth != 1 && options->halo != STENCIL_HALO_LL && sweep->depth > 1)
            TRY(stencil_sweep_has_kernels(plan->sweep, machine, plan->part[p].gpu));
    const int most = stencil_sweep_limits(plan, problem).depth;
    CHECK(options->depth <= most, USAGE,
          "--depth %d: --sweep %s makes up to %d step%s at once here: give --depth %d", options->depth, name,
          most, stencil_plural(most), most);
    plan->depth = options->depth > 0
                      ? (int)stencil_smaller(options->depth, stencil_sweep_longest(plan, problem))
                      : plan->variant->by->suits(plan, problem, machine);
    return STENCIL_OK;
}

/* Tells whether all parts are wide enough for passes of several steps. */
static bool has_width(const stencil_plan *plan, const stencil_problem *problem) {
    const int last = plan->cut.count[STENCIL_X] - 1; /* the narrowest one */
    return problem->n[STENCIL_X] - stencil_cut_first(&plan->cut, STENCIL_X, last) >=
           stencil_sweep_limits(plan, problem).narrowest;
}

/* Cuts the field into parts with ghost cells for plan->depth steps, or for as many as fit. */
static stencil_status cut_deep(stencil_plan *plan, const stencil_problem *problem,
                               const stencil_run_options *options, int parts) {
    const int asked = plan->depth, stacked[STENCIL_AXES] = {1, parts, 1};
    const bool stacks = (plan->variant->can & STENCIL_CAN(PARTS_BESIDE)) == 0 && options->cut[0] == 0;
    for (;; plan->depth--) {
        const stencil_mesh mesh = stencil_problem_mesh(problem, plan->depth);
        if (plan->depth > 1 && !stencil_mesh_has_room(&mesh))
            continue;
        const stencil_status status =
            stencil_cut_make(&plan->cut, &mesh, parts, stacks ? stacked : options->cut);
        if (status == STENCIL_OK && (plan->depth == 1 || has_width(plan, problem)))
            break;
        if (plan->depth == 1)
            return status;
    }
    CHECK(options->depth == 0 || plan->depth == asked, USAGE,
          "--depth %d: %s room for the ghost cells of %d step%s: give --depth %d%s", options->depth,
          parts > 1 ? "parts and boundaries have" : "the field has", plan->depth, stencil_plural(plan->depth),
          plan->depth, parts > 1 ? ", or fewer parts" : "");
    return STENCIL_OK;
}

/* Lays out the passes of the variant of the sweep that suits the plan, all of whose needs are known. */
static stencil_status place_passes(stencil_plan *plan, const stencil_problem *problem,
                                   const stencil_machine *machine) {
    const char *name = stencil_sweep_infos[plan->sweep].name;
    CHECK(stencil_sweep_choose(plan, problem), UNAVAILABLE, "--sweep %s is not available here: %s", name,
          plan->why_not);
    plan->layout = plan->variant->by->place(plan, problem, machine);
    CHECK(plan->layout.refusal == NULL, UNAVAILABLE, "--sweep %s is not available here: %s", name,
          plan->layout.refusal);
    memcpy(plan->tile, plan->layout.tile, sizeof plan->tile);
    return STENCIL_OK;
}

/* Notes how many parts there are, `parts` of them planned here, and which of these have the same GPU. */
static void share_devices(stencil_plan *plan, int parts) {
    plan->cut.parts = plan->spans_ranks ? parts : parts * stencil_plan_ranks(plan);
    plan->cut.owned = parts;
    for (int p = 0; p < parts; p++) {
        stencil_part_plan *part = &plan->part[p];
        part->leads = true;
        part->gpu = plan->spans_ranks ? plan->part[0].gpu : part->gpu;
        for (int other = 0; other < parts; other++) {
            const bool same = stencil_plan_on_one_gpu(plan, other, p);
            part->sharing += same;
            part->leads = part->leads && !(same && other < p);
        }
    }
}

/* Tells whether an acceleration cycle may take longer than a user who interrupts the run wants to wait. */
static bool keeps_cycle(const stencil_plan *plan, const stencil_problem *problem) {
    static const double patience_s = 0.5;
    const double cells = (double)stencil_problem_cells(problem);
    return stencil_cycle_accelerates(&problem->cycle) &&
           problem->cycle.length * stencil_plan_step_s(plan, cells) > patience_s;
}

/* Adds up the host memory of the parts, a slab of each array for input and output, and kept copies of cells.
 * Errors: NO_MEMORY where less is available. */
static stencil_status check_host_memory(stencil_plan *plan, const stencil_problem *problem,
                                        const stencil_machine *machine) {
    char need[32], have[32];
    const int64_t parts = plan->backend == STENCIL_BACKEND_CPU
                              ? stencil_cpu_bytes(problem, &plan->cut) +
                                    plan->threads * stencil_cpu_scratch_bytes(plan, problem)
                              : stencil_gpu_host_bytes(&plan->cut, plan->halo);
    const bool alone = stencil_world_alone(plan->world);
    const int64_t intake = alone || stencil_intake_bytes(problem) == 0 ? stencil_intake_bytes(problem)
                                                                       : stencil_reduction_bytes(&plan->cut);
    plan->host_bytes =
        parts + intake + (stencil_problem_arrays(problem) - 1) * stencil_slab_bytes(&plan->cut.mesh);
    plan->keeps_cycle = keeps_cycle(plan, problem);
    if (plan->keeps_cycle)
        plan->host_bytes += stencil_layout_bytes(alone ? &problem->layout : &plan->cut.layout);
    plan->host_available_bytes = machine->host_available_bytes;
    CHECK(plan->host_available_bytes == 0 || plan->host_bytes < plan->host_available_bytes, NO_MEMORY,
          "the run needs %s of host memory, %s is available", stencil_bytes_text(plan->host_bytes, need),
          stencil_bytes_text(plan->host_available_bytes, have));
    return STENCIL_OK;
}

static stencil_status plan_cpu(stencil_plan *plan, const stencil_problem *problem,
                               const stencil_machine *machine) {
    const double cells = (double)stencil_problem_cells(problem);
    plan->poll_every = stencil_plan_poll_every(plan, cells);
    if (plan->poll_every > plan->tuning.cpu_poll_steps)
        plan->poll_every = plan->tuning.cpu_poll_steps;
    plan->stores = plan->variant->by->streams
                       ? stencil_stores_choose(problem, plan->threads * stencil_plan_ranks(plan),
                                               machine->cpu_cache_bytes)
                       : STENCIL_STORES_CACHED;
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
    if (stencil_gpu_code(&machine->gpu[0]) < stencil_barriers[barrier].capability)
        return "this build's code is for an older GPU, which has no such barrier";
    if (barrier != STENCIL_BARRIER_none && !machine->gpu[0].cooperative)
        return "the GPU has no cooperative launch";
    return "";
}

/* Chooses the number of CPU threads, and each thread's share of the field. */
static void choose_threads(stencil_plan *plan, const stencil_problem *problem,
                           const stencil_machine *machine) {
    const int64_t rows = problem->n[STENCIL_Z] * problem->n[STENCIL_Y];
    if (plan->backend == STENCIL_BACKEND_GPU)
        return;
    plan->threads = machine->cpu_threads;
    const int64_t shares = (int64_t)plan->threads * stencil_plan_ranks(plan);
    plan->share_rows = (rows + shares - 1) / shares;
}

static void choose_tuning(stencil_plan *plan, const stencil_machine *machine) {
    const bool gpu = plan->backend == STENCIL_BACKEND_GPU;
    const char *name = machine->gpu[plan->part[0].gpu].name;
    if (!stencil_tuning_find(&plan->tuning, gpu ? name : "") && gpu)
        stencil_notes_add(&plan->notes, "nothing was measured on %s: tiles and limits are those of an H200",
                          name);
}

/* Makes parts `own` … those of this process. */
static void own_parts(stencil_plan *plan, int own, int owned) {
    plan->cut.own = own;
    plan->cut.owned = owned;
    for (int p = 0; p < stencil_plan_parts(plan); p++)
        plan->part[p].box = stencil_cut_box(&plan->cut, stencil_plan_first_part(plan) + p);
}

/* Makes the first half of a plan: up to plan->kernel, about which the driver is asked next. */
static stencil_status choose(stencil_plan *plan, const stencil_problem *problem,
                             const stencil_run_options *options, const stencil_machine *machine) {
    *plan = (stencil_plan){
        .cluster_blocks = 1, .halo = options->halo, .wait = options->wait, .world = options->world};
    if (!(plan->wait.timeout_s > 0))
        plan->wait.timeout_s = STENCIL_TIMEOUT_DEFAULT_S;
    if (!stencil_world_alone(plan->world)) /* threads wait for one that waits for other ranks */
        plan->wait.timeout_s += plan->world->rank_timeout_s;
    TRY(choose_backend(plan, options, machine));
    choose_tuning(plan, machine);
    choose_threads(plan, problem, machine);
    plan->spans_ranks = spans_ranks(plan, options);
    const int asked = plan->backend == STENCIL_BACKEND_CPU ? options->parts
                      : plan->spans_ranks                  ? plan->world->ranks
                                                           : options->gpu_count;
    const int parts = asked > 0 ? asked : 1;
    CHECK(parts <= STENCIL_PARTS_MAX, USAGE, "the field can be cut into 1 to %d parts, not %d",
          STENCIL_PARTS_MAX, parts);
    TRY(choose_strategy(plan, options, parts));
    const char *why = stencil_strategy_unavailable(plan->strategy, plan->backend, machine);
    CHECK(why[0] == '\0', UNAVAILABLE, "--sync %s is not available here: %s",
          stencil_strategy_at(plan->strategy).name, why);
    TRY(choose_sweep(plan, problem, options));
    share_devices(plan, parts);
    if (!stencil_world_alone(plan->world) && options->rank_sharing > 1)
        plan->part[0].sharing = options->rank_sharing;
    TRY(choose_depth(plan, problem, options, machine));
    TRY(cut_deep(plan, problem, options, plan->cut.parts));
    own_parts(plan, 0, parts);
    TRY(place_passes(plan, problem, machine));
    TRY(check_fault(plan, problem, options));
    TRY(choose_halo(plan, problem, options, machine));
    if (plan->backend == STENCIL_BACKEND_CPU)
        TRY(plan_cpu(plan, problem, machine));
    TRY(check_host_memory(plan, problem, machine));
    name_device(plan, machine);
    return stencil_plan_kernel(plan, problem, machine);
}

/* Chooses the passes on a CPU that are predicted to be fastest, equal between two residual checks: the
 * longest of equally fast ones, since the overhead of a pass is not predicted. */
static void choose_passes(stencil_plan *plan, const stencil_problem *problem,
                          const stencil_run_options *options, const stencil_machine *machine) {
    static const double as_good = 1.01;
    const int64_t steps = stencil_sweep_longest(plan, problem);
    const stencil_sweep_host *sweep = stencil_sweep_infos[plan->sweep].host;
    double best_s = INFINITY;
    stencil_run_options asked = *options;
    stencil_plan other;
    if (plan->backend == STENCIL_BACKEND_GPU || options->depth > 0 || sweep->depth == 1)
        return;
    for (int64_t most = stencil_smaller(sweep->depth, steps); most > 0; most = asked.depth - 1) {
        const int64_t passes = (steps + most - 1) / most;
        asked.depth = (int)((steps + passes - 1) / passes);
        if (choose(&other, problem, &asked, machine) != STENCIL_OK)
            continue; /* the parts are too small for so many steps */
        const double step_s = stencil_model_step(&other, problem, machine).step_s;
        if (as_good * step_s < best_s) {
            *plan = other;
            best_s = step_s;
        }
    }
}

/* Chooses all of a plan that does not depend on the attributes of a GPU's kernel. */
static stencil_status choose_all(stencil_plan *plan, const stencil_problem *problem,
                                 const stencil_run_options *options, const stencil_machine *machine) {
    TRY(choose(plan, problem, options, machine));
    choose_passes(plan, problem, options, machine);
    stencil_sweep_note_depth(plan, options);
    return STENCIL_OK;
}

stencil_status stencil_plan_make(stencil_plan *plan, const stencil_problem *problem,
                                 const stencil_run_options *options, const stencil_machine *machine) {
    TRY(choose_all(plan, problem, options, machine));
    return plan->backend == STENCIL_BACKEND_GPU ? stencil_plan_gpu(plan, problem, machine) : STENCIL_OK;
}

/* Asks the driver about the kernel of a plan, and probes its GPUs; *news: the answer may change the choices.
 */
static stencil_status ask_driver(const stencil_plan *plan, stencil_machine *machine, bool *news) {
    const bool clusters = stencil_barriers[plan->barrier].needs == STENCIL_NEEDS_CLUSTERS;
    int gpu[STENCIL_PARTS_MAX], code[STENCIL_PARTS_MAX], count = 0;
    for (int p = 0; p < plan->cut.owned; p++)
        if (plan->part[p].leads) {
            gpu[count] = plan->part[p].gpu;
            code[count++] = stencil_gpu_code(&machine->gpu[plan->part[p].gpu]);
        }
    const bool asked = machine->gpu[gpu[0]].clusters_at_once > 0;
    TRY(stencil_machine_ask_kernel(machine, gpu, count, &plan->kernel));
    *news = !asked && clusters && machine->gpu[gpu[0]].clusters_at_once > 0;
    for (int i = 0; i < count; i++)
        *news = *news || stencil_gpu_code(&machine->gpu[gpu[i]]) != code[i];
#ifdef STENCIL_HAVE_CUDA
    bool lost;
    TRY(stencil_machine_probe_peers(machine, gpu, count, &lost));
    *news = *news || lost;
#endif
    return STENCIL_OK;
}

stencil_status stencil_plan_here(stencil_plan *plan, const stencil_problem *problem,
                                 const stencil_run_options *options, stencil_machine *machine) {
    for (bool news = true; news;) {
        TRY(choose_all(plan, problem, options, machine));
        const int owned = plan->cut.parts / stencil_plan_ranks(plan);
        if (!stencil_world_alone(plan->world))
            own_parts(plan, plan->world->rank * owned, owned);
        if (plan->backend == STENCIL_BACKEND_CPU)
            return STENCIL_OK;
        TRY(ask_driver(plan, machine, &news));
    }
    return stencil_plan_gpu(plan, problem, machine);
}

bool stencil_plans_share_cells(const stencil_plan *a, const stencil_plan *b) {
    bool same = a->backend == b->backend && a->cut.parts == b->cut.parts &&
                memcmp(a->cut.count, b->cut.count, sizeof a->cut.count) == 0 &&
                memcmp(a->cut.layout.n, b->cut.layout.n, sizeof a->cut.layout.n) == 0 &&
                memcmp(a->cut.layout.ghost, b->cut.layout.ghost, sizeof a->cut.layout.ghost) == 0;
    for (int p = 0; p < a->cut.owned && a->backend == STENCIL_BACKEND_GPU; p++)
        same = same && a->part[p].gpu == b->part[p].gpu;
    return same;
}
