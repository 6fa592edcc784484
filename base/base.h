/* Small things that every room needs: checked arithmetic, clock, aligned memory, rank and precision. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Functions in headers that host and device call, and those of them that also count as constants there. */
#ifdef __cplusplus
#define STENCIL_ANYWHERE __host__ __device__ static inline
#define STENCIL_CONSTANT constexpr STENCIL_ANYWHERE
#else
#define STENCIL_ANYWHERE static inline
#define STENCIL_CONSTANT STENCIL_ANYWHERE
#endif

/* Number type of a field. Its values index tables. */
typedef enum stencil_precision {
    STENCIL_FLOAT32,
    STENCIL_FLOAT64,
    STENCIL_PRECISION_COUNT
} stencil_precision;

size_t stencil_precision_bytes(stencil_precision precision);
const char *stencil_precision_name(stencil_precision precision);               /* "float32", "float64" */
extern const char *const stencil_precision_names[STENCIL_PRECISION_COUNT + 1]; /* NULL behind the last one */

/* Axes are counted in array order: z, y, x. A 2D problem has one plane (extent[STENCIL_Z] == 1). */
enum { STENCIL_Z, STENCIL_Y, STENCIL_X, STENCIL_AXES };

/* a*b into *product; false when it does not fit into 63 bits. Both factors must not be negative. */
static inline bool stencil_multiply(int64_t a, int64_t b, int64_t *product) {
    return !__builtin_mul_overflow(a, b, product);
}

static inline int64_t stencil_smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* Sorts numbers in ascending order; none of them is NaN. */
void stencil_sort(double *number, size_t count);

/* Seconds of a monotonic clock. */
double stencil_clock_s(void);

/* Zeroed memory on a 4096-byte boundary, from 2 MiB on in huge pages, touched by all threads; freed with
 * free(). NO_MEMORY with need and have in the message where the machine does not have it. */
stencil_status stencil_memory_alloc(void **memory, int64_t size_bytes, const char *what);

/* Bytes that this process can still take: the least of the machine's available memory, what its control
 * groups leave (all of them up to the root) and what its limit of address space (ulimit -v) leaves. */
int64_t stencil_memory_available_bytes(void);

/* The limit on the processors of this process. */
typedef struct stencil_processor_limits {
    int online;                /* of the machine */
    int allowed;               /* by the affinity that the process began with; a thread that OpenMP has bound
                                  to one processor has it, too */
    int64_t quota_thousandths; /* processors' time that its control groups leave; INT64_MAX: all of it */
} stencil_processor_limits;
stencil_processor_limits stencil_processors_limits(void);

/* Processors that threads of this process have the use of: the allowed ones, or as many as use up the quota,
 * rounded up. */
int stencil_processors(void);

/* Thousandths of a processor that the control groups which `membership` names leave a process (version 2
 * cpu.max, version 1 cpu.cfs_quota_us); files and the rest as below. */
int64_t stencil_processors_group_quota(const char *membership, const char *mount);

/* Bytes left under the memory limits of the control groups that `membership` (a file as /proc/self/cgroup)
 * names, and of all groups above them; the smallest wins, INT64_MAX: no limit. `mount` is where the groups
 * are mounted (/sys/fs/cgroup): version 2 there or in unified/, version 1 in memory/. File cache that the
 * kernel would give back at once (inactive_file) counts as free. */
int64_t stencil_memory_group_left_bytes(const char *membership, const char *mount);

/* Bytes of address space left under RLIMIT_AS, less some for libraries; INT64_MAX: no limit. */
int64_t stencil_memory_address_space_left_bytes(void);

/* Returns the ending of a noun behind a count: "" or "s". */
const char *stencil_plural(int64_t count);

/* "1.50 GiB" into text (returned). */
const char *stencil_bytes_text(int64_t bytes, char text[32]);

#ifdef __cplusplus
}
#endif
