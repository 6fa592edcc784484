/* Helpers that all modules use: checked arithmetic, clock, aligned memory, axes and precision. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* STENCIL_ANYWHERE marks functions of headers that host and device call, STENCIL_CONSTANT such functions that
 * are also constexpr. */
#ifdef __cplusplus
#define STENCIL_ANYWHERE __host__ __device__ static inline
#define STENCIL_CONSTANT constexpr STENCIL_ANYWHERE
#else
#define STENCIL_ANYWHERE static inline
#define STENCIL_CONSTANT STENCIL_ANYWHERE
#endif

/* Number type of a field's cells; tables have an entry for each value of the enumeration before BYTE, which
 * is the type of arrays that have a class for each cell (kernels/classes.h). TWO_BYTES is that of arrays of
 * uint16_t: kinds of cells, and numbers of rows of weights. */
typedef enum stencil_precision {
    STENCIL_FLOAT32,
    STENCIL_FLOAT64,
    STENCIL_PRECISION_COUNT,
    STENCIL_BYTE = STENCIL_PRECISION_COUNT,
    STENCIL_TWO_BYTES
} stencil_precision;

size_t stencil_precision_bytes(stencil_precision precision);
const char *stencil_precision_name(stencil_precision precision);               /* "float32", "float64" */
extern const char *const stencil_precision_names[STENCIL_PRECISION_COUNT + 1]; /* ends with NULL */

/* Axes are counted in array order: z, y, x. A 2D problem has one plane (extent[STENCIL_Z] == 1). */
enum { STENCIL_Z, STENCIL_Y, STENCIL_X, STENCIL_AXES };

/* Sets *product to a*b; returns false when the product does not fit into 63 bits. Factors are not negative.
 */
static inline bool stencil_multiply(int64_t a, int64_t b, int64_t *product) {
    return !__builtin_mul_overflow(a, b, product);
}

static inline int64_t stencil_smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* Sorts numbers in ascending order; none of them is NaN. */
void stencil_sort(double *number, size_t count);

/* Returns the seconds of a monotonic clock. */
double stencil_clock_s(void);

/* Allocates zeroed memory on a 4096-byte boundary, from 2 MiB on in huge pages, touched by all threads; the
 * caller frees it with free(). What is available is asked first only for sizes that matter. Errors:
 * NO_MEMORY, with the bytes needed and available in the message. */
stencil_status stencil_memory_alloc(void **memory, int64_t size_bytes, const char *what);

/* Returns the bytes that this process can still allocate: the least of the machine's available memory, what
 * the process's control groups leave up to the root, and what its limit of address space leaves. */
int64_t stencil_memory_available_bytes(void);

/* Limits on the processors that this process can use. */
typedef struct stencil_processor_limits {
    int online;                /* number of online processors of the machine */
    int allowed;               /* number of processors in the affinity mask that the process began with, also
                                  when OpenMP has bound the calling thread to one processor */
    int64_t quota_thousandths; /* CPU time that control groups allow, in thousandths of a processor;
                                  INT64_MAX: no limit */
} stencil_processor_limits;
stencil_processor_limits stencil_processors_limits(void);

/* Returns how many processors this process can use: the smaller of the number allowed by affinity and the
 * control groups' CPU quota, rounded up. */
int stencil_processors(void);

/* Returns the CPU quota of the control groups that `membership` (a file like /proc/self/cgroup) names, in
 * thousandths of a processor (cpu.max, cpu.cfs_quota_us): the smallest up to the root, INT64_MAX: no limit.
 * `mount` is where the groups are mounted, as in stencil_memory_group_left_bytes(). */
int64_t stencil_processors_group_quota(const char *membership, const char *mount);

/* Returns the bytes left under the memory limits of the control groups that `membership` (a file like
 * /proc/self/cgroup) names: the smallest up to the root, INT64_MAX: no limit. `mount` is where the groups
 * are mounted (/sys/fs/cgroup): version 2 there or in unified/, version 1 in memory/. File cache that the
 * kernel would give back at once (inactive_file) counts as free. */
int64_t stencil_memory_group_left_bytes(const char *membership, const char *mount);

/* Returns the bytes of address space left under RLIMIT_AS, less a reserve for libraries; INT64_MAX: no limit.
 */
int64_t stencil_memory_address_space_left_bytes(void);

/* Returns the ending of a noun that follows a count: "" or "s". */
const char *stencil_plural(int64_t count);

/* Writes a number of bytes like "1.50 GiB" to `text` and returns `text`. */
const char *stencil_bytes_text(int64_t bytes, char text[32]);

#ifdef __cplusplus
}
#endif
