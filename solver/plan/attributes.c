/* The attributes of a plan's kernel on a GPU. */
#include "solver/plan/halves.h"

/* Clusters resident at once on a GPU of `sms` multiprocessors that hold blocks_per_sm blocks each. A cluster
 * stays within a processing cluster (GPC); a slice of a GPU may be smaller than one. */
static int clusters_of(const stencil_plan *plan, int sms, int blocks_per_sm) {
    const int whole = plan->tuning.processing_cluster, most = whole < sms ? whole : sms;
    return sms / most * (most * blocks_per_sm / plan->tuning.cluster_blocks);
}

int stencil_plan_clusters(const stencil_plan *plan, const stencil_gpu *gpu) {
    return gpu->clusters_at_once > 0 ? gpu->clusters_at_once : clusters_of(plan, gpu->sm_count, 1);
}

stencil_kernel_attributes stencil_plan_attributes(const stencil_plan *plan, const stencil_machine *machine,
                                                  int gpu) {
    const stencil_kernel_attributes *known = stencil_machine_kernel(machine, gpu, &plan->kernel);
    if (known != NULL)
        return *known;
    enum { REGISTERS_MAX = 255, REGISTERS_UNIT = 8 }; /* registers of a thread on all GPUs */
    if (plan->kernel.step_bytes > machine->gpu[gpu].shared_per_block_bytes)
        return (stencil_kernel_attributes){.image = true};
    const int blocks = plan->kernel.blocks, sms = machine->gpu[gpu].sm_count;
    const int registers = machine->gpu[gpu].registers_per_sm / STENCIL_BLOCK_THREADS / blocks;
    return (stencil_kernel_attributes){
        .image = true,
        .blocks_per_sm = blocks,
        .registers = registers > REGISTERS_MAX ? REGISTERS_MAX : registers / REGISTERS_UNIT * REGISTERS_UNIT,
        .clusters = clusters_of(plan, sms, blocks)};
}
