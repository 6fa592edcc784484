/* The host and device memory that a run needs by its plan. */
#pragma once

#include "solver/plan/plan.h"

/* Chooses how a CPU stores results, by the size of the fields, for `threads` threads with a last-level cache
 * of cache_bytes, shared or one each; cache_bytes 0: unknown. */
stencil_stores stencil_stores_choose(const stencil_problem *problem, int threads, int64_t cache_bytes);

/* Bytes of the fields, partial sums and weights of a run on a CPU. */
int64_t stencil_cpu_bytes(const stencil_problem *problem, const stencil_cut *cut);
/* Scratch bytes of each CPU thread for passes of several steps, in whole pages; 0 for other plans. */
int64_t stencil_cpu_scratch_bytes(const stencil_plan *plan, const stencil_problem *problem);

/* Most residual checks in one batch of steps. */
enum { STENCIL_CHECKS_MAX = 65536 };

/* Upper bound on the device memory of any one part, in bytes. */
int64_t stencil_gpu_bytes(const stencil_problem *problem, const stencil_cut *cut, stencil_halo_mode halo);
/* Host memory of all parts of a run on GPUs, in bytes. */
int64_t stencil_gpu_host_bytes(const stencil_cut *cut, stencil_halo_mode halo);

/* The numbers range[0] … range[1] - 1 of the partial sums with cells of a part; the most of any part, where
 * several ranks have them without those of other parts in between. */
void stencil_gpu_partials(const stencil_cut *cut, int part, int64_t range[2]);
int64_t stencil_gpu_partials_most(const stencil_cut *cut, stencil_halo_mode halo);
/* Number of values that the host gets in a residual check: partial sums, or the sums of their groups; of one
 * of several ranks its partial sums, at most. */
int64_t stencil_gpu_values(const stencil_cut *cut, stencil_halo_mode halo);
/* Bytes of the staging buffer for a slab copied between host and device; at least one row. */
int64_t stencil_gpu_staging_bytes(const stencil_layout *layout);
