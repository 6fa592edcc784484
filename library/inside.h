/* What is behind the handles of stencil.h. Internal to library/. Names of stencil.h end in _t, or in verbs
 * that nobody else uses (new, free, set, run, list), so that they never meet those of other folders. */
#pragma once

#include "library/stencil.h"
#include "solver/run/tune.h"

#include <pthread.h>
#include <sys/types.h>

/* Ends a public function that failed: records the text of the internal error of this thread, without what is
 * of the command only, and returns its code. A success leaves the last error as it was. */
stencil_code_t stencil_code_of(stencil_status status);

/* Records a failure of a public function itself, and returns its code. */
stencil_code_t stencil_code_fail(stencil_code_t code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Copies a structure of the caller, of `size` bytes by its first member, to one of `own` bytes; what it lacks
 * becomes 0. Errors: USAGE where it has no size, or members that this library does not know are not 0. */
stencil_status stencil_structure_take(void *to, size_t own, const void *from, const char *what);

struct stencil_session_t {
    int uses;           /* handles that refer to the session, atomically counted */
    pid_t process;      /* that opened it */
    int threads;        /* of runs on the CPU */
    pthread_mutex_t at; /* held while the description of the machine is used */
    stencil_machine machine;
};

/* Counts one more user of a session; stencil_session_free() takes one away. */
stencil_session_t *stencil_session_share(stencil_session_t *session);

/* What a call changes of the calling thread, to be put back at its end. */
typedef struct stencil_visit {
    int threads, dynamic; /* OpenMP's for this thread */
    int device;           /* CUDA's; -1: none */
} stencil_visit;

/* enter: gives the calling thread the session's number of threads. Errors: UNAVAILABLE in a child of the
 * process that opened the session, USAGE without a session. leave: puts back what the thread came with. */
stencil_status stencil_visit_enter(stencil_visit *visit, const stencil_session_t *session);
void stencil_visit_leave(const stencil_visit *visit);

/* The arrays of a problem beside u, in the order of stencil_list("array"): first arrays of sources, in the
 * order of stencil_source less one, their further ones, values of fixed cells, and what cells are. */
enum { STENCIL_SOURCES = STENCIL_SOURCE_COUNT - 1 };
enum {
    STENCIL_GIVEN_MORE_B = STENCIL_SOURCES,
    STENCIL_GIVEN_MORE_Q = STENCIL_GIVEN_MORE_B + STENCIL_SUM_ARRAYS - 1,
    STENCIL_GIVEN_VALUE = STENCIL_GIVEN_MORE_Q + STENCIL_SUM_ARRAYS - 1,
    STENCIL_GIVEN_K = STENCIL_GIVEN_VALUE + STENCIL_SUM_ARRAYS,
    STENCIL_GIVEN_FIXED, /* from here on bytes */
    STENCIL_GIVEN_INSULATED,
    STENCIL_GIVEN_CLASS,
    STENCIL_GIVEN_COUNT
};
extern const char *const stencil_given_names[STENCIL_GIVEN_COUNT + 1]; /* "b", "f", "q", "b2", … NULL */

/* Tables of factors in time, of arrays b, q and fixed_value and of those that they are sums with. */
enum {
    STENCIL_TABLE_B,
    STENCIL_TABLE_Q = STENCIL_SUM_ARRAYS,
    STENCIL_TABLE_VALUE = 2 * STENCIL_SUM_ARRAYS,
    STENCIL_TABLE_COUNT = 3 * STENCIL_SUM_ARRAYS
};
enum { STENCIL_TABLE_ROWS_MAX = 1 << 24 };
extern const char *const stencil_factor_names[STENCIL_TABLE_COUNT + 1]; /* "b_factor", …, NULL */
typedef struct stencil_factor_table {
    int64_t count; /* rows; 0: there is no such table */
    double *row;   /* owned: time, factor */
} stencil_factor_table;

struct stencil_problem_t {
    stencil_spec spec;     /* but what depends on several arrays or tables, see stencil_tables_take() */
    stencil_tables tables; /* owned; no factors */
    stencil_factor_table table[STENCIL_TABLE_COUNT];
    stencil_array_t given[STENCIL_GIVEN_COUNT]; /* data NULL: not given */
};

/* Sets the numbers along a side, copied; count 0 takes them back. Errors: USAGE, NO_MEMORY. */
typedef struct stencil_along {
    int axis, side;
    stencil_wall_number which;
} stencil_along;
stencil_status stencil_tables_along(stencil_problem_t *problem, const char *name, const stencil_along *side,
                                    int64_t count, const double *number);

/* Checks that the problem uses all numbers and texts that are set. Errors: USAGE. */
stencil_status stencil_settings_check(const stencil_spec *spec);

/* Copies a problem's spec and tables to a plan: plan->spec and plan->tables. Errors: USAGE where a table or
 * array of a sum is not of any use; NO_MEMORY. free: frees tables, which may be zeroed. */
stencil_status stencil_tables_take(stencil_plan_t *plan, const stencil_problem_t *problem);
void stencil_tables_free(stencil_tables *tables);

/* Arrays of the caller as a reader of boxes finds them. */
typedef struct stencil_arrays {
    const stencil_problem *problem;
    stencil_array_t u, given[STENCIL_GIVEN_COUNT];
    bool allow_nonfinite;
} stencil_arrays;

/* Takes an array of the caller: fills in strides of a C array, and checks its type. `extent` has `rank`
 * entries; floating: its numbers are of FLOAT32 or FLOAT64, else UINT8. Errors: USAGE. */
stencil_status stencil_array_take(stencil_array_t *to, const stencil_array_t *from, const char *name,
                                  int rank, const int64_t *extent, bool floating);

/* locate: finds out whether an array is in the memory of a GPU, and waits for the work of its stream. fetch:
 * makes one that is an array of the host, whose memory *memory the caller frees. The calling thread's device
 * may be another one afterwards. Errors: USAGE for an array that is not where it is said to be, UNAVAILABLE
 * without CUDA; NO_MEMORY. */
stencil_status stencil_array_locate(stencil_array_t *array, const char *name,
                                    const stencil_session_t *session);
stencil_status stencil_array_fetch(stencil_array_t *array, int rank, const int64_t *extent, void **memory);

/* Tells whether an array is in the memory of the GPU that a plan runs on. check: an array that is in the
 * memory of a GPU is in that one's. Errors: UNAVAILABLE. */
bool stencil_array_is_beside(const stencil_array_t *array, const stencil_plan *plan);
stencil_status stencil_array_check_beside(const stencil_array_t *array, const char *name,
                                          const stencil_plan *plan);

/* The cells of an array of a problem for kernels. */
stencil_strided stencil_array_strided(const stencil_array_t *array, const stencil_problem *problem);

/* Fails, BAD_DATA: a cell of u or of the source is NaN or infinite. */
stencil_status stencil_arrays_refuse(const stencil_arrays *arrays, stencil_array array,
                                     const int64_t cell[3]);

/* Reads a box of the arrays, as a stencil_reader whose context is a stencil_arrays. Errors: BAD_DATA for
 * values that are not finite, unless they are allowed. */
stencil_status stencil_arrays_read(void *arrays, stencil_array array, const stencil_box *box,
                                   const stencil_cells *to);

/* Writes all cells of a run's field to an array. */
stencil_status stencil_array_write(const stencil_array_t *to, const stencil_problem *problem,
                                   const stencil_plan *plan, const stencil_reader *from);

struct stencil_plan_t {
    stencil_session_t *session;
    stencil_problem problem;
    stencil_arrays arrays;
    stencil_spec spec;                  /* the problem as it was stated */
    stencil_tables tables;              /* owned */
    void *fetched[STENCIL_GIVEN_COUNT]; /* owned: what cells are, where a GPU has it */
    bool no_bound;
    bool studied; /* stencil_plan_study() is done */
    stencil_choice choice;
    stencil_tune tune;
    stencil_run *run; /* of the last call, with its memory; NULL: before the first, and after a failure */
    int busy;         /* 1 while a thread runs the plan, atomically set */
    char *text;       /* what stencil_plan_text() or stencil_plan_json() has returned, owned */
};

/* Finds out, before the first run, whether the problem has a solution, and estimates the eigenvalues that it
 * needs; other_source: before a further run, whether there is one with another source. Errors: BAD_DATA where
 * there is none. reads_source: it looks at the source, by the host. */
stencil_status stencil_plan_study(stencil_plan_t *plan, bool other_source);
bool stencil_study_reads_source(const stencil_problem *problem);

/* The plan that the next run makes. */
static inline const stencil_candidate *stencil_plan_chosen(const stencil_plan_t *plan) {
    return &plan->choice.item[plan->choice.chosen];
}

struct stencil_result_t {
    stencil_report report;
    stencil_report_t told;
    char device[160];
};
