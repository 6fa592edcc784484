/* The memory that a run takes of the host and of devices, by its plan. */
#pragma once

#include "solver/plan/plan.h"

/* Chooses how a CPU stores results, by the size of the fields, for `threads` threads that share (or each
 * have) a last-level cache of cache_bytes, 0 where that is unknown. */
stencil_stores stencil_stores_choose(const stencil_problem *problem, int threads, int64_t cache_bytes);

/* Bytes of the fields, partial sums and weights of a run on a CPU. */
int64_t stencil_cpu_bytes(const stencil_problem *problem, const stencil_cut *cut);
/* Bytes that each thread of a CPU needs for passes of several steps, in whole pages; 0 for other plans. */
int64_t stencil_cpu_scratch_bytes(const stencil_plan *plan, const stencil_problem *problem);

/* Checks that one batch can hold. */
enum { STENCIL_CHECKS_MAX = 65536 };

/* Device memory of any one part, in bytes; at most. */
int64_t stencil_gpu_bytes(const stencil_problem *problem, const stencil_cut *cut, stencil_halo_mode halo);
/* Host memory of all parts of a run on GPUs, in bytes. */
int64_t stencil_gpu_host_bytes(const stencil_cut *cut, stencil_halo_mode halo);

/* The partial sums that have cells of a part: numbers from range[0] on, before range[1]; and how many the
 * part with most of them has. */
void stencil_gpu_partials(const stencil_cut *cut, int part, int64_t range[2]);
int64_t stencil_gpu_partials_most(const stencil_cut *cut);
/* Partial sums that come to the host as they are, or combined once. */
int64_t stencil_gpu_values(const stencil_cut *cut, stencil_halo_mode halo);
/* Bytes of a slab on its way between host and device; never less than a row. */
int64_t stencil_gpu_staging_bytes(const stencil_layout *layout);
