/* The description of a machine, all that plans depend on, so that plans can be made for other machines. Only
 * probe.c asks the driver, and topology.c the system. Works without CUDA or driver ("no GPU"). */
#pragma once

#include "solver/machine/calibration.h"
#include "solver/machine/link.h"
#include "solver/machine/tuning.h"

/* Most kernels in a description: all possible kernels on two kinds of GPUs. */
enum { STENCIL_MACHINE_KERNELS_MAX = 2 * STENCIL_KERNEL_KEYS };

typedef struct stencil_gpu {
    char name[128];
    char bus_id[32]; /* "0000:3B:00.0" */
    int sm_count;
    int capability; /* 90 for 9.0 */
    int code; /* compute capability that this GPU's kernels were compiled for: expected from the build until a
                 kernel is loaded, then as the kernel says; 0: unknown */
    int clock_khz;
    int registers_per_sm, threads_per_sm, blocks_per_sm;
    int64_t memory_bytes;
    int64_t free_bytes; /* free memory at the last stencil_machine_ask_kernel(); 0: unknown */
    int64_t l2_bytes;
    int64_t shared_per_sm_bytes, shared_per_block_bytes; /* shared memory; the opt-in limit of a block */
    bool cooperative;
    bool clusters;        /* the GPU can launch thread-block clusters */
    int clusters_at_once; /* resident clusters of tuning.cluster_blocks blocks that fill a multiprocessor
                             each, a number of this very GPU; 0: unknown */
} stencil_gpu;

/* The attributes of a kernel on a GPU, as the driver says them. */
typedef struct stencil_kernel_attributes {
    stencil_kernel kernel; /* the kernel's row in the table of kernels, without its function */
    int gpu;

    bool image;                  /* the build has code for the GPU; false: all members below are 0 */
    int registers, shared_bytes; /* registers per thread; shared memory per block */
    int blocks_per_sm;           /* blocks resident at once on a multiprocessor */
    int clusters;                /* clusters resident at once on the GPU; 0 where the barrier needs none */
} stencil_kernel_attributes;

/* The compute capability whose kernels a GPU can run: its own, or that of older compiled code. */
static inline int stencil_gpu_code(const stencil_gpu *gpu) {
    return gpu->code > 0 && gpu->code < gpu->capability ? gpu->code : gpu->capability;
}

typedef struct stencil_machine {
    int gpu_count;
    stencil_gpu gpu[STENCIL_GPUS_MAX];
    bool peer[STENCIL_GPUS_MAX][STENCIL_GPUS_MAX];   /* device i can access memory of device j */
    bool probed[STENCIL_GPUS_MAX][STENCIL_GPUS_MAX]; /* what i and j send each other was looked at, */
    bool loses[STENCIL_GPUS_MAX][STENCIL_GPUS_MAX];  /* and is lost: peer is false then */
    char no_gpu_reason[160];                         /* reason for gpu_count 0; "" otherwise */
    int driver_version, runtime_version;             /* versions of CUDA, 13000 for 13.0; 0: none */
    int cpu_threads;
    int cpu_processors;      /* processors that the CPU threads may run on; 0: unknown, taken as enough */
    char cpu_isa[16];        /* instruction set that the CPU kernels use: "avx512", "avx2", "baseline" */
    int64_t cpu_cache_bytes; /* last-level cache; 0: unknown */
    int64_t cpu_core_bytes;  /* second-level cache, a core's own; 0: unknown */
    int64_t host_available_bytes; /* available host memory; 0: unknown, taken as enough */
    stencil_link link; /* between ranks, as a run measures it: latency_s is all of a short message; 0: there
                          are none */
    int kernel_count;
    stencil_kernel_attributes kernel[STENCIL_MACHINE_KERNELS_MAX]; /* [kernel_count], known attributes */
    stencil_calibration cpu_costs, gpu_costs;                      /* gpu_costs: of GPUs like GPU 0 */
} stencil_machine;

/* Streams of one GPU whose kernels must be able to run concurrently. PART: for one part. SHARED: for parts
 * that share the GPU and wait for each other, the driver's limit. DEFAULT: the driver's choice. */
enum { STENCIL_STREAMS_PART = 2, STENCIL_STREAMS_SHARED = 32, STENCIL_STREAMS_DEFAULT = 0 };

/* Tells whether a GPU is named several times in gpu[count]. */
bool stencil_gpus_are_shared(const int *gpu, int count);

/* Checks that a machine with GPUs has all of gpu[count]. Errors: UNAVAILABLE, naming its GPUs. */
stencil_status stencil_gpus_check(const stencil_machine *machine, const int *gpu, int count);

/* Fills in the description of this machine, without kernels. Fails only on errors of an installed driver.
 * `streams`: number of hardware queues, each of which costs the driver some 12 ms at the first use of a GPU
 * and again at the end. The environment's CUDA_DEVICE_MAX_CONNECTIONS takes precedence. */
stencil_status stencil_machine_probe(stencil_machine *machine, int streams);

/* Adds to the description what the driver says of a kernel on `count` different GPUs: its attributes, the
 * compute capability of its code, free memory and resident clusters. Creates contexts and loads the kernel,
 * which takes time, on all GPUs in parallel. */
stencil_status stencil_machine_ask_kernel(stencil_machine *machine, const int *gpu, int count,
                                          const stencil_kernel *kernel);

/* Sends a pattern of 1 MiB both ways between all pairs of `count` different GPUs that reach each other's
 * memory and were not probed yet. Where it does not arrive, access is taken back, and the description says
 * that the two do not reach each other: *lost is set. Only in builds with CUDA. Errors: those of CUDA;
 * NO_MEMORY. */
stencil_status stencil_machine_probe_peers(stencil_machine *machine, const int *gpu, int count, bool *lost);

/* Asks the driver for every compiled kernel on one GPU of each kind, until the description's list is full. */
stencil_status stencil_machine_ask_all(stencil_machine *machine);

/* Returns the attributes of the kernel with the same shape, precision, sweep, exchange and barrier on a GPU,
 * else on another GPU of the same name and capability (except for clusters). NULL: unknown. */
const stencil_kernel_attributes *stencil_machine_kernel(const stencil_machine *machine, int gpu,
                                                        const stencil_kernel *kernel);

/* The processors that a thread could run on before it was pinned. */
typedef struct stencil_pin stencil_pin;

/* Pins the calling thread to the processors near the PCI device `bus_id` ("0000:3b:00.0"). NULL where that
 * cannot be done or makes no difference. */
stencil_pin *stencil_pin_near(const char *bus_id);

/* Restores the processors that the calling thread could run on before it was pinned; NULL-safe. */
void stencil_pin_release(stencil_pin *pin);

/* Processors near a PCI device ("0-31,64-95") and the number of their NUMA node; "" and -1: unknown. */
void stencil_topology_near(const char *bus_id, char *processors, size_t size, int *numa_node);
