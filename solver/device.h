/* The machine: GPUs and their links, CPU threads. Works without CUDA and without a driver ("no GPU"). */
#ifndef STENCIL_SOLVER_DEVICE_H
#define STENCIL_SOLVER_DEVICE_H

#include "base/base.h"

enum { STENCIL_GPUS_MAX = 16 };

typedef struct stencil_gpu {
    char name[128];
    char bus_id[32]; /* "0000:3B:00.0" */
    int sm_count;
    int capability; /* 90 for 9.0 */
    int clock_khz;
    int64_t memory_bytes;
    int64_t l2_bytes;
    int64_t shared_per_sm_bytes;
    bool cooperative;
} stencil_gpu;

typedef struct stencil_machine {
    int gpu_count;
    stencil_gpu gpu[STENCIL_GPUS_MAX];
    bool peer[STENCIL_GPUS_MAX][STENCIL_GPUS_MAX]; /* device i can access memory of device j */
    char no_gpu_reason[160];                       /* why gpu_count is 0; "" otherwise */
    int driver_version, runtime_version;           /* 13000 for 13.0; 0: none */
    int cpu_threads;
    const char *cpu_isa;     /* instruction set that the CPU kernels use here: "avx512", "avx2", "baseline" */
    int64_t cpu_cache_bytes; /* last-level cache; 0: unknown */
} stencil_machine;

/* Looks at the machine. Fails only on errors of a driver that is there. */
stencil_status stencil_machine_probe(stencil_machine *machine);

#endif
