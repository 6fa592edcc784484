#include "solver/machine/machine.h"

#include <string.h>

const stencil_kernel_attributes *stencil_machine_kernel(const stencil_machine *machine, int gpu,
                                                        const stencil_kernel *kernel) {
    const stencil_kernel_attributes *found = NULL;
    const stencil_gpu *own = &machine->gpu[gpu];
    for (int i = 0; i < machine->kernel_count; i++) {
        const stencil_kernel_attributes *row = &machine->kernel[i];
        const stencil_gpu *other = &machine->gpu[row->gpu];
        if (stencil_kernel_index(&row->kernel) != stencil_kernel_index(kernel))
            continue;
        if (row->gpu == gpu)
            return row;
        if (strcmp(own->name, other->name) == 0 && own->capability == other->capability)
            found = row;
    }
    return found;
}

bool stencil_tuning_find(stencil_tuning *tuning, const char *gpu) {
    *tuning = (stencil_tuning){
#define STENCIL_TUNED(type, name, value, measured_on, date, figure) .name = value,
#include "solver/machine/tuning.def"
    };
    bool measured = false;
#define STENCIL_TUNED(type, name, value, measured_on, date, figure)                                          \
    measured = measured || strcmp(gpu, measured_on) == 0;
#include "solver/machine/tuning.def"
    return measured;
}

bool stencil_gpus_are_shared(const int *gpu, int count) {
    for (int i = 0; i < count; i++)
        for (int j = 0; j < i; j++)
            if (gpu[i] == gpu[j])
                return true;
    return false;
}
