/* A case with its data: what NAME.c provides, and what the harness makes of it. Internal to bench/. */
#pragma once

#include "base/cuda.h"
#include "bench/cases/case.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum stencil_case_array_kind {
    STENCIL_CASE_INPUT,   /* read only */
    STENCIL_CASE_SCRATCH, /* overwritten before it is read */
    STENCIL_CASE_RESULT   /* the same, and compared with what the plain version expects, bit by bit */
} stencil_case_array_kind;

typedef struct stencil_case_array {
    const char *name;
    stencil_case_array_kind kind;
    size_t pointer_at; /* in the arguments: where its address stands */
    int64_t count;
    size_t element_bytes;
    void *memory, *expected,
        *device; /* owned; `expected`: of a result; `device`: of the current one, or NULL */
} stencil_case_array;

static inline size_t stencil_case_array_bytes(const stencil_case_array *array) {
    return (size_t)array->count * array->element_bytes;
}

enum { STENCIL_CASE_ARRAYS_MAX = 12 };

typedef struct stencil_case stencil_case;

/* One problem of a case. Zeroed before it is made; destroy has to follow. */
typedef struct stencil_case_problem {
    const stencil_case *of;
    int64_t n;                           /* its size, in elements as the case counts them */
    int64_t repeats;                     /* of a case that repeats something; 0: as published */
    int64_t items;                       /* that a phase has work for at once, at most */
    double bytes;                        /* that a run has to read and write at least; 0: none that matter */
    double plain_s;                      /* what the plain version took, once */
    const struct stencil_device *device; /* that has a copy; NULL: none */
    int array_count;
    stencil_case_array array[STENCIL_CASE_ARRAYS_MAX];
    /* NAME_arguments, with the arrays of the host. */
    unsigned char arguments[STENCIL_CASE_ARGUMENTS_BYTES] __attribute__((aligned(16)));
} stencil_case_problem;

/* Kernels of a case, made by bench/cases/kernels.cuh. Their argument is a stencil_case_launch. */
typedef struct stencil_case_kernels {
    const void *phase; /* makes one phase */
    const void
        *persistent[STENCIL_BARRIER_COUNT]; /* makes all of them under a barrier; [none]: in one block */
} stencil_case_kernels;

/* bench/cases/ceiling.h. *why, "" before: a reason where this machine has no such library. */
typedef struct stencil_case_ceiling stencil_case_ceiling;
struct stencil_bench;
typedef stencil_status stencil_case_ceiling_make(struct stencil_bench *b, stencil_case_ceiling *ceiling,
                                                 char why[96]);

/* A function of a library, and where its address is to stand. */
typedef struct stencil_ceiling_symbol {
    const char *name; /* NULL behind the last one */
    void *function;
} stencil_ceiling_symbol;

/* bench/cases/gpu.c: loads a library when it is needed: it is many times as large as this program, which also
 * runs where there is none. false, and *why: it is neither where libraries are looked for nor beside CUDA's,
 * or lacks one of these functions. */
bool stencil_ceiling_load(const char *library, const stencil_ceiling_symbol *symbols, char why[96]);

/* Sizes where nobody asks: from the least to the most, each `factor` times the one before. */
typedef struct stencil_case_sizes {
    int64_t least, most, factor;
} stencil_case_sizes;

/* The description of a case in its NAME.c. */
typedef struct stencil_case_body {
    uint32_t lanes;
    size_t shared_bytes;
    stencil_case_sizes size[2]; /* on a CPU, on a GPU; most 0: as far as all blocks are resident */
    /* Sizes that there are: from `least` to 2^most_level (0: what memory holds), or powers of two alone. */
    int64_t least;
    int most_level;
    bool power_of_two;
    int64_t (*phases)(const void *arguments);
    void (*phase)(const void *arguments, int64_t phase, stencil_case_block block);
    /* Makes a problem of its n and repeats, inputs filled in. BAD_DATA: more than can be counted. */
    stencil_status (*make)(stencil_case_problem *problem);
    /* Fills in what results have to be: sequential, and another program than the phases. */
    void (*plain)(const stencil_case_problem *problem);
    /* Returns how many items of CASE_GROUPS() a phase has. Where a launch makes the phase it has a block
     * for each, and the GPU gives them out as others end: shares stay even where multiprocessors are not as
     * fast as each other. NULL: as many blocks as a persistent kernel has. */
    int64_t (*groups)(const void *arguments, int64_t phase);
    const stencil_case_kernels *kernels; /* NULL without CUDA */
    stencil_case_ceiling_make *ceiling;  /* stencil_case_ceiling_NAME(); NULL: it has none, or no CUDA */
    /* Bytes that a block has under way at once, in a case whose runs stream p->bytes through memory and do
     * little else. 0: nothing is predicted of the case. */
    double in_flight;
    /* Tells whether a phase finds in block.shared what the previous one left there: only persistent
     * kernels, which make all phases under a barrier, run such a case. */
    bool keeps;
    bool alike; /* its phases are, so that runs are split by a launch, computing and waiting */
    /* Tells whether the host's results are within the bound of error of any good way to make them; NULL:
     * all ways give the same bits. */
    bool (*agrees)(const stencil_case_problem *problem);
} stencil_case_body;

/* A row of cases.def; bench/cases/measure.c. */
struct stencil_case {
    const char *name;
    bool ring; /* blocks depend on those before and after them only */
    const stencil_case_body *body;
};
extern const stencil_case stencil_cases[];               /* name NULL behind the last one */
const stencil_case *stencil_case_find(const char *name); /* which is one of theirs */

/* The body of case `id`, at the end of its NAME.c: what is in NAME.cuh, and the members given. */
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
    stencil_case_ceiling_make stencil_case_ceiling_##id; /* not of every case */
#include "bench/cases/cases.def"

/* Adds an array of `count` elements, zeroed, and writes its address into the arguments at pointer_at. */
stencil_status stencil_case_add_array(stencil_case_problem *problem, const stencil_case_array *array);
#define CASE_ADD_ARRAY(problem, id, member, what, elements)                                                  \
    stencil_case_add_array(problem,                                                                          \
                           &(stencil_case_array){.name = #member,                                            \
                                                 .kind = STENCIL_CASE_##what,                                \
                                                 .pointer_at = offsetof(id##_arguments, member),             \
                                                 .count = (elements),                                        \
                                                 .element_bytes = sizeof *((id##_arguments *)NULL)->member})
/* Returns the values that the result added as `name` has to have; the problem owns them. */
void *stencil_case_expected(const stencil_case_problem *problem, const char *name);

/* Numbers that follow from the state alone: 64 bits; 0 <= x < 1 (G. Steele et al., "Fast splittable
 * pseudorandom number generators", 2014). */
uint64_t stencil_case_random(uint64_t *state);
double stencil_case_random_real(uint64_t *state);

/* BAD_DATA: the case has no problem of size n. Nothing is made. */
stencil_status stencil_case_check_size(const stencil_case *of, int64_t n);

/* Makes a problem of size n, and has the plain version solve it. BAD_DATA: the case has no such size. */
stencil_status stencil_case_make(stencil_case_problem *problem, const stencil_case *of, int64_t n,
                                 int64_t repeats);
void stencil_case_destroy(stencil_case_problem *problem);

/* Spoils all host arrays but the inputs, so that nothing of an earlier run is taken for a result. */
void stencil_case_spoil(const stencil_case_problem *problem);
/* INTERNAL where a result on the host is not what it has to be: the first element that differs, and who made
 * it. And where it is not within the bound of error, of a case that has one. */
stencil_status stencil_case_check(const stencil_case_problem *problem, const char *by);
stencil_status stencil_case_check_bound(const stencil_case_problem *problem, const char *by);

#ifdef __cplusplus
}
#endif
