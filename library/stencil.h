/* libstencil: iterative stencil problems on regular grids, solved on arrays of the caller.
 *
 * A session keeps the description of the machine and threads. A problem says what is to be solved. A plan
 * says how, and keeps the memory of its runs, so that a further run of it costs little beside its steps. A
 * result is what a run says of itself.
 *
 *     stencil_session_new(&session, NULL);
 *     stencil_problem_new(&problem, 2, (const int64_t[]){ny, nx}, "float64");
 *     stencil_problem_set_text(problem, "problem", "heat");
 *     stencil_problem_set_number(problem, "steps", 1, (const double[]){100});
 *     stencil_plan_new(&plan, session, problem, NULL);
 *     stencil_plan_run(plan, &(stencil_run_t){.size = sizeof(stencil_run_t), .u = &u}, &result);
 *
 * The library does not print, exit, fork, read or change the environment, install signal handlers, open files
 * of the user, or leave the calling thread with another affinity, OpenMP setting, CUDA device, locale or
 * floating-point mode than it came with. It has no state outside of its handles but the last error of each
 * thread. Different threads may use different handles at the same time, and any number of threads the same
 * session; a problem, a plan or a result belongs to one thread at a time, and a plan that another thread is
 * running refuses.
 *
 * Axes are in array order, (y, x) or (z, y, x), and x varies fastest in C. Any layout with strides will do:
 * column-major arrays of Fortran, Julia and MATLAB are described by the reverse order of their axes. */
#ifndef STENCIL_STENCIL_H
#define STENCIL_STENCIL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__) && !defined(STENCIL_PUBLIC)
#define STENCIL_PUBLIC __attribute__((visibility("default")))
#elif !defined(STENCIL_PUBLIC)
#define STENCIL_PUBLIC
#endif

/* Version of this interface. Libraries of the same number are compatible: functions and members at the ends
 * of structures may be added, none is changed or taken away. */
#define STENCIL_ABI 1

/* Returns the STENCIL_ABI of the library that is linked; and its version, "0.2.0". */
STENCIL_PUBLIC uint32_t stencil_abi(void);
STENCIL_PUBLIC const char *stencil_version(void);

/* The outcome of a call. A run that ends without reaching its stop rule is no failure: see stencil_report_t.
 */
typedef enum stencil_code_t {
    STENCIL_DONE = 0,
    STENCIL_BAD_ARGUMENT = 1,  /* what was asked for is wrong or contradicts itself */
    STENCIL_NOT_AVAILABLE = 2, /* this machine, or this build, cannot do it */
    STENCIL_OUT_OF_MEMORY = 3,
    STENCIL_FAILED = 4 /* an error within the library or the device */
} stencil_code_t;

/* Returns a line for people on the last call in this thread that failed, "" before the first. Valid until the
 * next call of the library in this thread. */
STENCIL_PUBLIC const char *stencil_last_error(void);

/* Returns entry `index` of a list of names, NULL behind its end and for unknown lists. Lists: "sync"
 * (strategies), "sweep", "problem", "stencil" (point sets), "boundary", "side", "norm", "effort". */
STENCIL_PUBLIC const char *stencil_list(const char *list, int32_t index);

/* Structures that the caller fills begin with `size`, which he sets to the structure's sizeof; members that
 * his header does not know yet are taken as 0, and 0 or NULL is the default of every member. */

/* Numbers of an array's cells. */
typedef enum stencil_type_t {
    STENCIL_TYPE_FLOAT32 = 1,
    STENCIL_TYPE_FLOAT64 = 2,
    STENCIL_TYPE_UINT8 = 3
} stencil_type_t;

/* Memory that an array lies in. */
typedef enum stencil_memory_t {
    STENCIL_MEMORY_HOST = 0,
    STENCIL_MEMORY_DEVICE = 1 /* of a GPU */
} stencil_memory_t;

/* An array with a cell for each cell of the problem. The memory stays the caller's. Where a GPU is, memory
 * that CUDA knows as a device's is taken for that whatever `memory` and `device` say, and a call first waits
 * for the work in `stream`; when it returns, its own work is done. Cells of u, of `out` and of a source are
 * copied on the device, which has to be the one of the plan (NOT_AVAILABLE otherwise). What goes through the
 * host all the same: docs/library.md. */
typedef struct stencil_array_t {
    size_t size;
    void *data;        /* the first cell */
    int64_t stride[3]; /* bytes from a cell to the next one along each axis, in array order; may be negative.
                          All 0: a C array without gaps */
    int32_t type;      /* stencil_type_t */
    int32_t memory;    /* stencil_memory_t */
    int32_t device;    /* number of the GPU */
    int32_t reserved;
    void *stream; /* CUDA stream whose work precedes; NULL: the default stream */
} stencil_array_t;

/* ---- Session: what is found out once about a machine. ---- */
typedef struct stencil_session_t stencil_session_t;
typedef struct stencil_session_options_t {
    size_t size;
    int32_t threads; /* threads of a run on the CPU, the calling one included; 0: one for each processor that
                        affinity, control groups and OpenMP allow */
    int32_t reserved;
} stencil_session_options_t;

/* Opens a session; `options` may be NULL. After fork() a child opens sessions of its own, whose default there
 * is one thread where the forking thread had used the library. Threads need stacks of 512 KiB. */
STENCIL_PUBLIC stencil_code_t stencil_session_new(stencil_session_t **session,
                                                  const stencil_session_options_t *options);

/* Measures the costs of steps on this machine for about `seconds` (2 will do), for better predictions; plans
 * that exist keep theirs. NOT_AVAILABLE where the machine is too busy to measure. */
STENCIL_PUBLIC stencil_code_t stencil_session_calibrate(stencil_session_t *session, double seconds);

/* Gives a session up; NULL is allowed. Plans that were made in it go on to work. */
STENCIL_PUBLIC void stencil_session_free(stencil_session_t *session);

/* ---- Problem: what is to be solved. ---- */
typedef struct stencil_problem_t stencil_problem_t;

/* A problem on a grid of extent[rank] cells, boundary cells included, in array order; rank is 2 or 3,
 * precision "float32" or "float64". It has neither points nor physics yet. */
STENCIL_PUBLIC stencil_code_t stencil_problem_new(stencil_problem_t **problem, int32_t rank,
                                                  const int64_t *extent, const char *precision);
STENCIL_PUBLIC void stencil_problem_free(stencil_problem_t *problem);

/* Sets an attribute, whose names and meanings are those of problem files (docs/format.md):
 *   text: "problem" (laplace, poisson, heat), "stencil" (a point set), "boundary" (one of fixed, periodic,
 *     mirror, or one for each axis, separated by commas), "boundary_x-" … "boundary_z+" (of one side),
 *     "accelerate", "norm". "" takes the attribute back.
 *   number: "spacing" and "diffusivity" (count 1 or rank), "omega", "dt", "steps", "time_end", "rtol",
 * "atol", "check_every", "flux_x-", "exchange_x-", "ambient_x-" … of a side: one, or one for each cell along
 * it, boundary cells of other axes included, in array order. Count 0 takes it back. Numbers are finite.
 * Contradictions between attributes are found by stencil_plan_new(). */
STENCIL_PUBLIC stencil_code_t stencil_problem_set_text(stencil_problem_t *problem, const char *name,
                                                       const char *text);
STENCIL_PUBLIC stencil_code_t stencil_problem_set_number(stencil_problem_t *problem, const char *name,
                                                         int32_t count, const double *number);

/* Sets the points that a cell is computed from: offset[count][rank] in array order, from -3 to 3, and
 * weight[rows][count], one row for each class of cells (array "class"), 1 without classes. offset NULL: the
 * points of attribute "stencil", in ascending order. Copies both. */
STENCIL_PUBLIC stencil_code_t stencil_problem_set_points(stencil_problem_t *problem, int32_t count,
                                                         const int32_t *offset, int32_t rows,
                                                         const double *weight);

/* Sets a table of factors in time, table[rows][2] of (time, factor), by which an array is multiplied:
 * "b_factor", "q_factor", "fixed_value_factor", and "q2_factor" … of further arrays. Copied; rows 0 takes it
 * back. */
STENCIL_PUBLIC stencil_code_t stencil_problem_set_table(stencil_problem_t *problem, const char *name,
                                                        int64_t rows, const double *table);

/* Names an array of the problem; NULL takes it back. Each is of the problem's extent, and borrowed until the
 * last plan with it is freed: "b": source term that each step adds; "f": right-hand side of poisson; "q":
 * heat per time. One of these, of type FLOAT32 or FLOAT64. Read by every run, which may bring another one.
 *   "b2" to "b4", "q2" to "q4": further sources; "fixed_value", "fixed_value2" to "fixed_value4": values of
 * cells that keep theirs, NaN for those of u; "k": the coefficient of each cell. FLOAT32 or FLOAT64; their
 * contents must not change while a plan with them exists.
 *   "fixed": cells that keep their values, any but 0; "insulated": cells that are not there; "class": the row
 * of weights of each cell. Type UINT8. Their contents must not change while a plan with them exists. */
STENCIL_PUBLIC stencil_code_t stencil_problem_set_array(stencil_problem_t *problem, const char *name,
                                                        const stencil_array_t *array);

/* ---- Plan: how it is solved. ---- */
typedef struct stencil_plan_t stencil_plan_t;
typedef struct stencil_plan_options_t {
    size_t size;
    const char *sync;   /* strategy, how steps are kept in order; NULL, "auto": the quickest */
    const char *sweep;  /* how a step is made; NULL, "auto": the quickest */
    const char *device; /* "auto" (a GPU where there is one), "cpu", "gpu" */
    const char *effort; /* "estimate" (default): as predicted; "measure", "patient", "exhaustive": plans are
                           timed in the first steps of the first run, if that is long */
    int32_t depth;      /* steps that a pass over the field makes; 0: as many as suit */
    int32_t parts;      /* parts of a run on the CPU, cut as for so many GPUs; 0: one */
    int32_t allow_nonfinite; /* not 0: NaN and infinity are taken for values, otherwise they are refused */
    int32_t no_bound;   /* not 0: runs end without a bound on the error, for which the host reads the field */
    const int32_t *gpu; /* [gpu_count]: numbers of the GPUs to use, or some of them; one for each part */
    int32_t gpu_count;  /* 0: not asked for */
    int32_t reserved;
} stencil_plan_options_t;

/* Makes a plan for the problem as it stands; later changes of the problem do not change the plan. `options`
 * may be NULL. Reads the arrays that say what cells are. Every plan of a problem gives the same bits. */
STENCIL_PUBLIC stencil_code_t stencil_plan_new(stencil_plan_t **plan, stencil_session_t *session,
                                               const stencil_problem_t *problem,
                                               const stencil_plan_options_t *options);
STENCIL_PUBLIC void stencil_plan_free(stencil_plan_t *plan);

/* The plan in a few lines for people, and as JSON with all plans that were compared; owned by the plan, until
 * the next call of either. NULL on failure. */
STENCIL_PUBLIC const char *stencil_plan_text(stencil_plan_t *plan);
STENCIL_PUBLIC const char *stencil_plan_json(stencil_plan_t *plan);

/* ---- Run. ---- */
typedef struct stencil_result_t stencil_result_t;

/* Called during a run by the thread that called stencil_plan_run(), after every 16 steps or so: `step` steps
 * are done; residual: the last one that was checked, or NaN. Not 0: the run ends at a step boundary, with
 * reason "interrupted" and the field as it is. Must not use the plan. */
typedef int (*stencil_progress_t)(void *context, int64_t step, double residual);

typedef struct stencil_run_t {
    size_t size;
    const stencil_array_t *u;   /* initial field, in the precision of the problem */
    const stencil_array_t *out; /* where the result goes; NULL: over u */
    const stencil_array_t
        *source; /* in place of the problem's "b", "f" or "q", which must be set; NULL: that one */
    stencil_progress_t progress; /* or NULL */
    void *context;               /* handed to `progress` */
    const volatile int *stop;    /* not 0: the run ends likewise; set by another thread or a signal handler */
} stencil_run_t;

/* Makes the steps until the problem's stop rule. *result may be NULL where it is not wanted; else the caller
 * frees it. On failure the contents of `out` are not defined. */
STENCIL_PUBLIC stencil_code_t stencil_plan_run(stencil_plan_t *plan, const stencil_run_t *run,
                                               stencil_result_t **result);

/* What a run says of itself. Texts live as long as the result; numbers that are not known are NaN. */
typedef struct stencil_report_t {
    size_t size;
    const char *reason; /* "steps", "converged_rtol", "converged_atol", "fixed_point", "not_converged",
                           "stagnated", "diverged", "interrupted", … */
    const char *sync, *sweep, *device; /* strategy, sweep, "2 threads, avx512" */
    int32_t reached;                   /* 1: the run did what the stop rule asked for */
    int32_t depth;
    int64_t steps;                              /* steps made */
    int64_t checks;                             /* entries of the history */
    double residual, residual_first, threshold; /* the last one; that of step 1; the limit to fall below */
    double error_bound, error_bound_relative;   /* of laplace and poisson: root mean square of u* - u */
    double time;                                /* physical time of heat */
    double read_s, prepare_s, compute_s, finish_s,
        write_s;        /* seconds: reading arrays, memory and plans, steps,
                           evaluating the end, writing the result */
    double total_s;     /* seconds of the call */
    double cells_per_s; /* over compute_s */
} stencil_report_t;

/* Fills in *report, whose `size` the caller sets. */
STENCIL_PUBLIC stencil_code_t stencil_result_report(const stencil_result_t *result, stencil_report_t *report);

/* The residuals of checked steps: returns how many, and where they are, which lives as long as the result. */
STENCIL_PUBLIC int64_t stencil_result_history(const stencil_result_t *result, const int64_t **step,
                                              const double **residual);
STENCIL_PUBLIC void stencil_result_free(stencil_result_t *result);

#ifdef __cplusplus
}
#endif
#endif
