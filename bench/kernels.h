/* How a .cu file hands its kernels to the host's side: it declares  STENCIL_KERNELS name[COUNT];  in a header
 * and defines  const void *const name[] = {STENCIL_KERNEL(kernel), …};  or it declares a function with
 * STENCIL_C that finds them by its arguments, NULL where there is no such kernel. Internal to bench/. */
#ifndef STENCIL_BENCH_KERNELS_H
#define STENCIL_BENCH_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
#define STENCIL_C           extern "C"
#define STENCIL_KERNEL(...) reinterpret_cast<const void *>(&__VA_ARGS__)
#else
#define STENCIL_C extern
#endif
#define STENCIL_KERNELS STENCIL_C const void *const

#endif
