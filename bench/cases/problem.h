/* Benchmark cases with their data: what a case's NAME.c provides, and the problems made of it. Internal to
 * bench/. */
#pragma once

#include "base/cuda.h"
#include "bench/cases/case.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum stencil_case_array_kind {
    STENCIL_CASE_INPUT,   /* an array that phases only read */
    STENCIL_CASE_SCRATCH, /* an array that phases overwrite before they read it */
    STENCIL_CASE_RESULT   /* a scratch array that is compared bit by bit with the sequential result */
} stencil_case_array_kind;

typedef struct stencil_case_array {
    const char *name;
    stencil_case_array_kind kind;
    size_t pointer_at; /* offset of the array's pointer in the case's arguments */
    int64_t count;
    size_t element_bytes;
    void *memory, *expected; /* owned: host array, expected values of a RESULT */
} stencil_case_array;

static inline size_t stencil_case_array_bytes(const stencil_case_array *array) {
    return (size_t)array->count * array->element_bytes;
}

enum { STENCIL_CASE_ARRAYS_MAX = 12 };

typedef struct stencil_case stencil_case;

/* One problem of a case. The caller zeroes it before stencil_case_make() and destroys it afterwards. */
typedef struct stencil_case_problem {
    const stencil_case *of;
    int64_t n;       /* problem size, in elements as the case counts them */
    int64_t repeats; /* repetitions, in cases that have some; 0: as published */
    int64_t items;   /* largest number of independent work items of a phase */
    double bytes;    /* least bytes that a run reads and writes; 0: negligible */
    double plain_s;  /* seconds of one run of the sequential version */
    int array_count;
    stencil_case_array array[STENCIL_CASE_ARRAYS_MAX];
    /* The case's NAME_arguments, with pointers to host arrays. */
    unsigned char arguments[STENCIL_CASE_ARGUMENTS_BYTES] __attribute__((aligned(16)));
} stencil_case_problem;

/* CUDA kernels of a case, made by bench/cases/kernels.cuh. Each takes a stencil_case_launch. */
typedef struct stencil_case_kernels {
    const void *phase; /* kernel that runs one phase */
    const void
        *persistent[STENCIL_BARRIER_COUNT]; /* kernels that run all phases, per barrier; [none]: one block */
} stencil_case_kernels;

struct stencil_bench;
struct stencil_case_loop;
/* Prepares a loop of runs in an order of its case, or its ceiling, a vendor library's run with the same
 * result on the same GPU. `why`, "" before, receives a reason when this machine cannot run the order. */
typedef stencil_status stencil_case_create(struct stencil_bench *b, struct stencil_case_loop *loop,
                                           char why[96]);

/* Default problem sizes: a geometric series from `least` to `most` by `factor`. */
typedef struct stencil_case_sizes {
    int64_t least, most, factor;
} stencil_case_sizes;

/* The description of a case in its NAME.c. */
typedef struct stencil_case_body {
    uint32_t lanes;
    size_t shared_bytes;
    stencil_case_sizes size[2]; /* default sizes on a CPU, on a GPU; most 0: work for all resident blocks */
    /* Valid sizes: from `least` to 2^most_level (0: limited by memory only), or only powers of two of these.
     */
    int64_t least;
    int most_level;
    bool power_of_two;
    int64_t (*phases)(const void *arguments);
    void (*phase)(const void *arguments, int64_t phase, stencil_case_block block);
    /* Makes a problem from its n and repeats, and fills in inputs. Errors: BAD_DATA for integer overflow. */
    stencil_status (*make)(stencil_case_problem *problem);
    /* Computes the expected results by a sequential program, independent of the phases. */
    void (*plain)(const stencil_case_problem *problem);
    /* Returns the number of CASE_GROUPS() items of a phase. A launch of one phase has a block per item, which
     * the GPU schedules as blocks end, so that multiprocessors of unequal speed stay busy. NULL: such a
     * launch has as many blocks as a persistent kernel. */
    int64_t (*groups)(const void *arguments, int64_t phase);
    const stencil_case_kernels *kernels; /* NULL in a build without CUDA */
    stencil_case_create *ceiling;        /* stencil_case_ceiling_NAME(); NULL: no ceiling, or no CUDA */
    stencil_case_create *sample;         /* as ceiling, in the structure of a CUDA sample */
    /* Bytes of memory traffic that a block has in flight, for a case whose runs mainly stream the problem's
     * bytes through memory. 0: run times of the case are not predicted. */
    double in_flight;
    /* block.shared keeps its contents from phase to phase; only persistent kernels can run such a case. */
    bool keeps;
    bool alike; /* all phases do the same work, so that run times are attributed per phase */
    /* Returns whether host results are within the error bound of any valid summation order; NULL: results
     * are the same to the bit in every order. */
    bool (*agrees)(const stencil_case_problem *problem);
} stencil_case_body;

/* A benchmark case: a row of cases.def. */
struct stencil_case {
    const char *name;
    bool ring;       /* a block depends only on the previous and the next block, in a ring */
    bool any_blocks; /* any number of blocks can share the work, as the user says (--blocks) */
    const stencil_case_body *body;
};
extern const stencil_case stencil_cases[];               /* all cases; a NULL name ends the array */
const stencil_case *stencil_case_find(const char *name); /* `name` must be the name of a case */

/* STENCIL_CASE_BODY() defines the body of case `id`, at the end of its NAME.c, from the functions of NAME.cuh
 * and the members given. */
#ifdef STENCIL_HAVE_CUDA
#define STENCIL_CASE_KERNELS(id) &stencil_case_kernels_##id
#else
#define STENCIL_CASE_KERNELS(id) NULL
#endif
#define STENCIL_CASE_BODY(id, ...)                                                                           \
    _Static_assert(sizeof(id##_arguments) <= STENCIL_CASE_ARGUMENTS_BYTES, "room for the arguments");        \
    _Static_assert((int)id##_shared_bytes <= (int)STENCIL_CASE_SHARED_MAX, "room in shared memory");         \
    static int64_t id##_phases_of(const void *arguments) {                                                   \
        return id##_phases(arguments);                                                                       \
    }                                                                                                        \
    static void id##_phase_of(const void *arguments, int64_t phase, stencil_case_block block) {              \
        id##_phase(arguments, phase, block);                                                                 \
    }                                                                                                        \
    extern const stencil_case_kernels stencil_case_kernels_##id;                                             \
    const stencil_case_body stencil_case_##id = {.lanes = id##_lanes,                                        \
                                                 .shared_bytes = id##_shared_bytes,                          \
                                                 .phases = id##_phases_of,                                   \
                                                 .phase = id##_phase_of,                                     \
                                                 .kernels = STENCIL_CASE_KERNELS(id),                        \
                                                 __VA_ARGS__}
#define STENCIL_CASE(id, name, partners, traits, text) extern const stencil_case_body stencil_case_##id;
#include "bench/cases/cases.def"
#define STENCIL_CASE(id, name, partners, traits, text)                                                       \
    stencil_case_create stencil_case_ceiling_##id; /* defined for some cases only */
#include "bench/cases/cases.def"

stencil_case_create stencil_case_sample_reduction;

/* Adds a zeroed array to a problem and stores its address in the problem's arguments at pointer_at. */
stencil_status stencil_case_add_array(stencil_case_problem *problem, const stencil_case_array *array);
#define CASE_ADD_ARRAY(problem, id, member, what, elements)                                                  \
    stencil_case_add_array(problem,                                                                          \
                           &(stencil_case_array){.name = #member,                                            \
                                                 .kind = STENCIL_CASE_##what,                                \
                                                 .pointer_at = offsetof(id##_arguments, member),             \
                                                 .count = (elements),                                        \
                                                 .element_bytes = sizeof *((id##_arguments *)NULL)->member})
/* Returns the expected values of the RESULT array `name`; the problem owns them. */
void *stencil_case_expected(const stencil_case_problem *problem, const char *name);

/* Pseudorandom numbers of 64 bits, and reals 0 <= x < 1, by SplitMix64 (G. Steele et al., "Fast splittable
 * pseudorandom number generators", 2014). */
uint64_t stencil_case_random(uint64_t *state);
double stencil_case_random_real(uint64_t *state);

/* Checks that a case has a problem of size n. Errors: BAD_DATA. */
stencil_status stencil_case_check_size(const stencil_case *of, int64_t n);

/* Makes a problem of size n and its expected results. Errors: BAD_DATA when the case has no such size. */
stencil_status stencil_case_make(stencil_case_problem *problem, const stencil_case *of, int64_t n,
                                 int64_t repeats);
void stencil_case_destroy(stencil_case_problem *problem);

/* Overwrites all host arrays except inputs, so that old values do not pass for results. */
void stencil_case_spoil(const stencil_case_problem *problem);
/* Compares a problem's host results with the expected ones; stencil_case_check_bound() allows the case's
 * error bound. Errors: INTERNAL, naming the first wrong element and `by`, the program that computed it. */
stencil_status stencil_case_check(const stencil_case_problem *problem, const char *by);
stencil_status stencil_case_check_bound(const stencil_case_problem *problem, const char *by);

#ifdef __cplusplus
}
#endif
