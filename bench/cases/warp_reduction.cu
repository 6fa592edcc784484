/* The sum of 32 doubles in a warp (000 section 7.3, Table 5; L. Zhang et al., "A Study of Single and
 * Multi-device Synchronization Methods in Nvidia GPUs"), in cycles: by one lane, and by all of them in five
 * steps, s_t += s_(t+16) for t < 16, then 8, … 1, through shared memory or by shuffles. Not a case of
 * cases.def: it has no phases, and its barriers are those of a warp.
 *
 * The values are integers that grow by one from sum to sum, so every order of additions is exact, and a stale
 * value shows. Each sum depends on the previous result: its start value contains bits of that result under a
 * mask, which is 0. */
#include <stdio.h>

#include "bench/benchmarks/sm.cuh"

using namespace stencil;

namespace {

enum { LANES = 32, UNROLLED = 4, CHECKED_SUMS = 512 };

/* Groups of lanes without synchronisation: no_group does nothing, compiler_barrier only stops reordering by
 * the compiler. */
struct no_group {
    __device__ void sync() const {}
};
struct compiler_barrier {
    __device__ void sync() const {
        asm volatile("" ::: "memory");
    }
};

/* Serial method: lane 0 adds the values that all lanes have stored in shared memory. */
struct serial {
    using number = double;
    whole_warp group;
    __device__ double sum(double *word, unsigned lane, double value) const {
        word[lane] = value;
        group.sync();
        double sum = word[lane];
        if (lane == 0)
#pragma unroll
            for (int i = 1; i < LANES; i++)
                sum += word[i];
        group.sync();
        return sum;
    }
};

template <class Group, class Word = double> struct in_memory {
    using number = double;
    Group group;
    __device__ double sum(double *memory, unsigned lane, double value) const {
        Word *const word = memory;
        word[lane] = value;
        group.sync();
#pragma unroll
        for (unsigned step = LANES / 2; step > 0; step /= 2) {
            if (lane < step)
                word[lane] = word[lane] + word[lane + step];
            group.sync();
        }
        return word[lane];
    }
};

template <class Group> struct by_shuffle {
    using number = double;
    Group group;
    __device__ double sum(double *, unsigned, double value) const {
#pragma unroll
        for (unsigned step = LANES / 2; step > 0; step /= 2)
            value += group.shfl_down(value, step);
        return value;
    }
};

/* The warp-reduction instruction (redux), which adds integers only. */
struct redux {
    using number = uint32_t;
    __device__ uint32_t sum(double *, unsigned, uint32_t value) const {
#if __CUDA_ARCH__ >= 800
        return __reduce_add_sync(~0u, value);
#else
        __trap(); /* never launched: the method's `capability` is checked */
        return value;
#endif
    }
};

/* Returns `value` unchanged, but dependent on `result`: adds bits of `result` under a mask that is 0. */
__device__ __forceinline__ double after(double value, double result, int nothing) {
    return __hiloint2double(__double2hiint(value) | (__double2hiint(result) & nothing),
                            __double2loint(value));
}
__device__ __forceinline__ uint32_t after(uint32_t value, uint32_t result, int nothing) {
    return value | (result & (uint32_t)nothing);
}

/* The sums of a sequence that lane 0 checks: the last, each, or none (for a method that may be wrong). */
enum check { LAST, EACH, NEVER };
template <class Method, check Looks> struct reduction : sm_operation {
    using number = typename Method::number;
    Method method;
    double *word; /* [LANES]: the warp's shared memory */
    unsigned lane = threadIdx.x % LANES, wrong_sums = 0;
    number value = (number)lane, result = 0, wanted = LANES * (LANES - 1) / 2;
    int nothing;
    __device__ explicit reduction(const sm_arguments &a) : nothing(a.size) {
        __shared__ double words[STENCIL_BLOCK_THREADS_MAX];
        word = words + threadIdx.x / LANES * LANES;
    }
    __device__ void once() {
        result = method.sum(word, lane, value);
        if (Looks == EACH) {
            wrong_sums += lane == 0 && result != wanted;
            wanted += LANES;
        }
        value = after(value + 1, result, nothing);
    }
    __device__ int settle() {
        return after((uint32_t)0, (uint32_t)result, nothing);
    }
    __device__ unsigned wrong(int64_t times) {
        if (Looks == LAST)
            return lane == 0 && result != (number)(LANES * (LANES - 1) / 2 + LANES * (times - 1));
        return wrong_sums;
    }
};

struct method {
    const char *name;
    sm_kernel *timed, *checked;
    int capability; /* smallest compute capability */
    bool right;     /* the method's sums must be correct */
};

template <class Method> method synchronised(const char *name, int capability) {
    return {name, time_operation<reduction<Method, LAST>, UNROLLED>,
            time_operation<reduction<Method, EACH>, 1>, capability, true};
}

template <class Method> method unsynchronised(const char *name) {
    return {name, time_operation<reduction<Method, NEVER>, UNROLLED>,
            time_operation<reduction<Method, EACH>, 1>, 0, false};
}

const method methods[] = {
    synchronised<serial>("serial", 0),
    unsynchronised<in_memory<no_group>>("nosync"),
    unsynchronised<in_memory<compiler_barrier>>("nosync, compiler barrier"),
    unsynchronised<in_memory<no_group, volatile double>>("nosync, volatile"),
    synchronised<in_memory<tile<LANES>>>("tile", 0),
    synchronised<in_memory<coalesced>>("coalesced", 0),
    synchronised<by_shuffle<tile<LANES>>>("tile shuffle", 0),
    synchronised<by_shuffle<coalesced>>("coalesced shuffle", 0),
    synchronised<redux>("redux, 32-bit integers", 80),
};

/* Adds a row with the number of wrong sums of a method that does not synchronise the lanes of a warp. */
stencil_status state_wrong(stencil_bench *b, const sm_timing *timing, const method &m) {
    TRY_CUDA(cudaMemsetAsync(timing->device, 0, LANES * sizeof *timing->device, timing->gpu.stream));
    TRY(stencil_launch(timing->gpu, m.checked, 1, LANES,
                       sm_arguments{.repeats = CHECKED_SUMS, .record = timing->device}));
    TRY(stencil_device_read(&timing->gpu, timing->host, timing->device, sizeof *timing->host));
    TRY(STENCIL_BENCH_ADD(b, *timing, "sums", m.name, "cycles", .axis = {{"values", LANES}}));
    snprintf(stencil_bench_last(b)->outcome, sizeof stencil_bench_last(b)->outcome, "%u of %d are wrong",
             timing->host->wrong, CHECKED_SUMS + 1);
    return STENCIL_OK;
}

} // namespace

stencil_status stencil_measure_warp_reduction(stencil_bench *b) {
    sm_timing timing;
    TRY(sm_begin(b, &timing, UNROLLED));
    const int capability = stencil_gpu_code(&b->machine->gpu[timing.gpu.gpu]);
    for (const method &m : methods) {
        const sm_case c = {.timing = &timing,
                           .kernel = m.timed,
                           .name = m.name,
                           .threads = LANES,
                           .checked = m.checked,
                           .checked_threads = STENCIL_BLOCK_THREADS_MAX,
                           .checks = CHECKED_SUMS};
        TRY(STENCIL_BENCH_ADD(b, c, "latency", m.name, "cycles", STENCIL_METHOD_GPU_CLOCK,
                              .sample = sm_sample, .verify = m.right ? sm_verify : nullptr,
                              .axis = {{"values", LANES}}, .count = timing.latency_repeats,
                              .skipped =
                                  capability < m.capability ? "the GPU's code has no such instruction" : ""));
    }
    TRY(stencil_bench_take(b));
    stencil_bench_note(b,
                       "Cycles of a sum: values stored and added up, one sum behind the other in one warp. "
                       "\"nosync\" leaves out what keeps lanes together; a barrier of the compiler or "
                       "volatile accesses in its place promise nothing either.");
    stencil_bench_note(b,
                       "Verified: after timing, %d sums of every warp of full multiprocessors, but for "
                       "nosync, of which is said how many are wrong in one warp.",
                       CHECKED_SUMS + 1);
    for (const method &m : methods)
        if (!m.right)
            TRY(state_wrong(b, &timing, m));
    return STENCIL_OK;
}
