/* The description of a machine: all that a plan needs to know of it, so that plans can be made for machines
 * that are not here. probe.c asks the driver, topology.c the system; everything else only reads the
 * description. Works without CUDA and without a driver ("no GPU"). */
#pragma once

#include "solver/machine/calibration.h"
#include "solver/machine/tuning.h"

/* Kernels: all that can be, on two kinds of GPUs. */
enum { STENCIL_MACHINE_KERNELS_MAX = 2 * STENCIL_KERNEL_KEYS };

typedef struct stencil_gpu {
    char name[128];
    char bus_id[32]; /* "0000:3B:00.0" */
    int sm_count;
    int capability; /* 90 for 9.0 */
    int code; /* the compute capability that the kernels it loads were compiled for: as that says, from the
                 first kernel on that was asked for, and before as the build lets expect; 0: unknown */
    int clock_khz;
    int registers_per_sm, threads_per_sm, blocks_per_sm;
    int64_t memory_bytes;
    int64_t free_bytes; /* when a kernel was last asked for; 0: never */
    int64_t l2_bytes;
    int64_t shared_per_sm_bytes, shared_per_block_bytes; /* the most that a block can ask for */
    bool cooperative;
    bool clusters;        /* launches in thread-block clusters */
    int clusters_at_once; /* of tuning's cluster_blocks, of blocks that have a multiprocessor each; differs
                             between GPUs of one kind. 0: no kernel was asked for */
} stencil_gpu;

/* The attributes of a kernel on a GPU, as the driver says them. */
typedef struct stencil_kernel_attributes {
    stencil_kernel kernel; /* row of the table in the build that asked; without its function */
    int gpu;
    bool image;                  /* there is code for this GPU; false: the rest is 0 */
    int registers, shared_bytes; /* per thread; per block */
    int blocks_per_sm;           /* resident at once */
    int clusters;                /* of tuning's cluster_blocks, at once; 0 where the barrier needs none */
} stencil_kernel_attributes;

/* The compute capability whose kernels a GPU can run: code for an older GPU has those of that one. */
static inline int stencil_gpu_code(const stencil_gpu *gpu) {
    return gpu->code > 0 && gpu->code < gpu->capability ? gpu->code : gpu->capability;
}

typedef struct stencil_machine {
    int gpu_count;
    stencil_gpu gpu[STENCIL_GPUS_MAX];
    bool peer[STENCIL_GPUS_MAX][STENCIL_GPUS_MAX]; /* device i can access memory of device j */
    char no_gpu_reason[160];                       /* why gpu_count is 0; "" otherwise */
    int driver_version, runtime_version;           /* 13000 for 13.0; 0: none */
    int cpu_threads;
    int cpu_processors;           /* that these may run on; 0: unknown, and taken as enough */
    char cpu_isa[16];             /* instruction set that the CPU kernels use: "avx512", "avx2", "baseline" */
    int64_t cpu_cache_bytes;      /* last-level cache; 0: unknown */
    int64_t cpu_core_bytes;       /* second-level cache, a core's own; 0: unknown */
    int64_t host_available_bytes; /* of memory; 0: unknown, and taken as enough */
    int kernel_count;
    stencil_kernel_attributes kernel[STENCIL_MACHINE_KERNELS_MAX]; /* as far as they were asked for */
    stencil_calibration cpu_costs, gpu_costs;                      /* the latter of GPU 0 and its like */
} stencil_machine;

/* Streams of one GPU whose kernels have to be able to run side by side: of one part; of parts that share it
 * and wait for each other (the most that the driver can have); as many as the driver likes. */
enum { STENCIL_STREAMS_PART = 2, STENCIL_STREAMS_SHARED = 32, STENCIL_STREAMS_DEFAULT = 0 };

/* Tells whether a GPU is named several times in gpu[count]. */
bool stencil_gpus_are_shared(const int *gpu, int count);

/* Checks that all of gpu[count] are there. UNAVAILABLE: names those that are. For machines that have some. */
stencil_status stencil_gpus_check(const stencil_machine *machine, const int *gpu, int count);

/* Looks at the machine, its kernels left out. Fails only on errors of a driver that is there. `streams`: the
 * driver makes a queue for each when a GPU is first used, which takes it some 12 ms each, and as much in the
 * end. A user's CUDA_DEVICE_MAX_CONNECTIONS comes first. */
stencil_status stencil_machine_probe(stencil_machine *machine, int streams);

/* Asks the driver for a kernel on `count` different GPUs, what its code was compiled for, the memory that is
 * free and the clusters that are at once there, and keeps all in the description. That makes contexts and
 * loads the kernel, which takes time: all GPUs side by side.
 */
stencil_status stencil_machine_ask_kernel(stencil_machine *machine, const int *gpu, int count,
                                          const stencil_kernel *kernel);

/* Asks the driver for every compiled kernel, on one GPU of each kind, as far as there is room. */
stencil_status stencil_machine_ask_all(stencil_machine *machine);

/* Returns the attributes of the kernel of this shape, precision, sweep, exchange and barrier: on this GPU,
 * else on one of its kind (same name and compute capability; the clusters that fit can differ between two of
 * them). NULL: none are known. */
const stencil_kernel_attributes *stencil_machine_kernel(const stencil_machine *machine, int gpu,
                                                        const stencil_kernel *kernel);

/* The processors that a thread could run on before it was pinned. */
typedef struct stencil_pin stencil_pin;

/* Pins the calling thread to the processors near the PCI device `bus_id` ("0000:3b:00.0"). NULL where that
 * cannot be done or makes no difference. */
stencil_pin *stencil_pin_near(const char *bus_id);

/* Lets the calling thread run where it ran before; NULL-safe. */
void stencil_pin_release(stencil_pin *pin);

/* Processors near a PCI device as a list ("0-31,64-95") and the number of their NUMA node; "" and -1:
 * unknown. */
void stencil_topology_near(const char *bus_id, char *processors, size_t size, int *numa_node);

/* The description as JSON: `info` writes it, `run --machine` reads it, and the benchmarks hand it to their
 * child processes. Sets the members "cpu", "cuda", "gpus", "peers", "no_gpu_reason" and "kernels" of an
 * object; reading is BAD_DATA where something is wrong, and names it. */
struct json_t;
void stencil_machine_write(const stencil_machine *machine, struct json_t *root);
stencil_status stencil_machine_read(stencil_machine *machine, const struct json_t *root);
