/* Timers of several GPUs on one scale: how far they are apart, and what kernels noted by them. */
#pragma once

#include "bench/benchmark.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Computes how far a timer is ahead of another one from `rounds` rounds of a flag that goes there and back:
 * the first timer at sending and at return, sent_and_back[2 * rounds], and the other one at arrival,
 * seen[rounds], in ns. The arrival lies between both, so that each round bounds the difference (F. Cristian,
 * "Probabilistic clock synchronization", 1989); *error_s is half of what all rounds leave. */
void stencil_timer_offset(const int64_t *sent_and_back, const int64_t *seen, int rounds, double *offset_s,
                          double *error_s);

/* When the kernels of a GPU ran: start of the first, end of the last, in ns of that GPU's timer. */
typedef struct stencil_kernel_span {
    int64_t begin, end;
} stencil_kernel_span;

/* Sets *time_s to the seconds from the first start to the last end on `count` GPUs, whose timers are
 * offset_s[count] ahead, and *skew_s to those from the first to the last GPU's start. */
void stencil_kernel_spans_join(const stencil_kernel_span *span, const double *offset_s, int count,
                               double *time_s, double *skew_s);

#ifdef STENCIL_HAVE_CUDA
/* Sets offset_s[count] to how far the timers of the first `count` GPUs of the options are ahead of that of
 * the first one, and *error_s to the largest error. The GPUs reach each other's memory. The first GPU becomes
 * current. Errors: INTERNAL where a flag does not come back in time. */
stencil_status stencil_device_timers(const stencil_bench *b, int count, double *offset_s, double *error_s);
#endif

#ifdef __cplusplus
}
#endif
