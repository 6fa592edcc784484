/* Look-ups in the description of a machine. */
#include "solver/machine/machine.h"

#include <stdio.h>
#include <string.h>

const stencil_kernel_attributes *stencil_machine_kernel(const stencil_machine *machine, int gpu,
                                                        const stencil_kernel *kernel) {
    const stencil_kernel_attributes *found = NULL;
    const stencil_gpu *own = &machine->gpu[gpu];
    for (int i = 0; i < machine->kernel_count; i++) {
        const stencil_kernel_attributes *row = &machine->kernel[i];
        const stencil_gpu *other = &machine->gpu[row->gpu];
        if (stencil_kernel_index(&row->kernel) != stencil_kernel_index(kernel) ||
            row->kernel.classed != kernel->classed || row->kernel.fielded != kernel->fielded)
            continue;
        if (row->gpu == gpu)
            return row;
        if (strcmp(own->name, other->name) == 0 && own->capability == other->capability)
            found = row;
    }
    return found;
}

bool stencil_gpus_are_shared(const int *gpu, int count) {
    for (int i = 0; i < count; i++)
        for (int j = 0; j < i; j++)
            if (gpu[i] == gpu[j])
                return true;
    return false;
}

stencil_status stencil_gpus_check(const stencil_machine *machine, const int *gpu, int count) {
    const int have = machine->gpu_count;
    bool is_count = count > 1; /* the first ones, as --gpus N names them */
    char there[64] = "one GPU (0)";
    int missing = count;
    for (int i = count - 1; i >= 0; i--) {
        is_count = is_count && gpu[i] == i;
        missing = gpu[i] < 0 || gpu[i] >= have ? i : missing;
    }
    if (missing == count)
        return STENCIL_OK;
    if (have > 1)
        snprintf(there, sizeof there, "%d GPUs (0 … %d)", have, have - 1);
    CHECK(!is_count, UNAVAILABLE,
          "--gpus asks for %d GPUs, this machine has %s: give --gpus %d, or a list that names one "
          "several times (0,0) for more parts",
          count, there, have);
    FAIL(UNAVAILABLE, "--gpus asks for GPU %d, this machine has %s: name one of these", gpu[missing], there);
}
