/* Kernels of the benchmark host-barrier. Internal to it. */
#ifndef STENCIL_BENCH_HOST_BARRIER_KERNELS_H
#define STENCIL_BENCH_HOST_BARRIER_KERNELS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Without arguments: does nothing. */
const void *stencil_host_null_kernel(void);
/* (uint32_t *word, uint32_t round): spins some microseconds, more for some rounds, then stores the round. */
const void *stencil_host_mark_kernel(void);

#ifdef __cplusplus
}
#endif
#endif
