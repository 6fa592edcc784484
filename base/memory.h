/* How much memory a process may still take: what stands behind stencil_memory_available_bytes(). */
#ifndef STENCIL_BASE_MEMORY_H
#define STENCIL_BASE_MEMORY_H

#include "base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes left under the memory limits of the control groups that `membership` (a file as /proc/self/cgroup)
 * names, and of all groups above them; the smallest wins, INT64_MAX: no limit. `mount` is where the groups
 * are mounted (/sys/fs/cgroup): version 2 there or in unified/, version 1 in memory/. File cache that the
 * kernel would give back at once (inactive_file) counts as free. */
int64_t stencil_memory_group_left_bytes(const char *membership, const char *mount);

/* Bytes of address space left under RLIMIT_AS, less some for libraries; INT64_MAX: no limit. */
int64_t stencil_memory_address_space_left_bytes(void);

#ifdef __cplusplus
}
#endif
#endif
