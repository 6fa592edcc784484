/* Benchmarks fill results: rows with all their samples, the bytes to be moved, and the reason why something
 * was not measured. Nothing in bench/ prints: app/ makes tables, plots or JSON of the results. */
#pragma once

#include <jansson.h>

#include "base/world.h"
#include "bench/statistics.h"
#include "solver/plan/model.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { STENCIL_BENCH_SCHEMA_VERSION = 2, STENCIL_BENCH_SAMPLES_MAX = 100000 };
/* A row has at most AUTO_MAX samples unless the user gives a number; its spread is judged from SETTLE samples
 * on. A row gets LEAST samples even after the time-out, within four time-outs. */
enum { STENCIL_BENCH_EDGES_MAX = 16, STENCIL_BENCH_NOTE_SIZE = 512 };
enum { STENCIL_BENCH_AUTO_MAX = 101, STENCIL_BENCH_SETTLE = 7, STENCIL_BENCH_LEAST = 5 };

/* The ranks that benchmark `message` measures. say: bits that a rank has for the others after each sample;
 * hear: those that any of them has said; NULL: none. */
typedef struct stencil_bench_ranks {
    stencil_world *world;
    uint64_t (*say)(void *context);
    void (*hear)(void *context, uint64_t bits);
    void *context;
} stencil_bench_ranks;

/* serve: takes part, in ranks other than 0, in the measurements of rank 0, until that calls dismiss(). */
void stencil_bench_serve(const stencil_bench_ranks *ranks);
void stencil_bench_dismiss(const stencil_bench_ranks *ranks);

/* Options of a run of benchmarks. */
typedef struct stencil_bench_options {
    stencil_backend backend; /* AUTO: the GPU, on a machine with one */
    /* CUDA device ordinals that the user asks for; gpu_count 0: the user asks for none. A benchmark gets them
     * filled in, by default with all GPUs of the machine. A benchmark of a single GPU takes gpu[0]. */
    int gpu_count;
    int gpu[STENCIL_GPUS_MAX];
    /* The problem to measure. rank 0: the benchmark chooses the size; neither stencil nor kind: the star of
     * radius 1. The benchmark chooses steps and tolerance. */
    stencil_spec spec;
    bool one_precision; /* the user asks for the precision of `spec` */
    int edge_count;     /* number of edges of squares or cubes, or of numbers of elements; 0: default sizes */
    int64_t edge[STENCIL_BENCH_EDGES_MAX];
    int block_count; /* numbers of blocks, or of CPU threads, that share a case's phases; 0: as there is work
                      */
    int64_t blocks[STENCIL_BENCH_EDGES_MAX];
    const char *sweep;  /* name of the only sweep to measure; NULL: all sweeps */
    int64_t samples;    /* samples of each row, up to SAMPLES_MAX; 0: until the spread is under max_noise */
    int64_t iterations; /* in one sample of a calibrated row; 0: as many as take about 0.1 s */
    int64_t repeats;  /* of the timed instruction or barrier in a published method; 0: the published number */
    double max_noise; /* a relative spread above this marks a row as noisy; 0 < max_noise */
    double timeout_s; /* a benchmark takes no sample after this time once all rows have LEAST samples */
    bool inject_fault; /* for tests: a benchmark plants a fault and must fail, or cannot and is skipped */
    /* The command line of a child process is child_command (program, words), the name of a benchmark, and
     * child_arguments, which give the child the same options; both lists end with NULL. See
     * stencil_bench_child_main(). child_command NULL: benchmarks run in the calling process. */
    const char *const *child_command, *const *child_arguments;
    const stencil_bench_ranks
        *ranks; /* ranks that wait in stencil_bench_serve(); NULL: this process is alone */
    void (*progress)(const char *what); /* called with what is being measured; may be NULL */
    /* Called before each sample; false: the benchmark ends before that sample; NULL: always true. */
    bool (*go_on)(void);
} stencil_bench_options;

/* A setting that a result depends on: a number, or text where `text` is not "". Two results are comparable
 * where all their parameters are equal, so no parameter is measured or calibrated. */
typedef struct stencil_bench_parameter {
    const char *name; /* lower case with underscores: "threads", "blocks_per_sm" */
    int64_t number;
    char text[64];
} stencil_bench_parameter;

enum { STENCIL_BENCH_AXES_MAX = 4 };

/* Speed-ups of a row, whose part of synchronisation is known, by quicker barriers and by quicker computing,
 * from Amdahl's law (S. Xiao, W. Feng, IPDPS 2010; p: the part of computing). NaN: unknown. */
typedef struct stencil_bench_gains {
    double most_by_sync, most_by_computing; /* speed-ups without synchronisation, 1 / p; without computing,
                                               1 / (1 - p) */
    /* Beside the row "implicit" at the same position, and with p of that row: how many times quicker a run
     * synchronises (S_S) and computes (S_C); the speed-up that follows from each alone, 1 / (p + (1 - p) /
     * S_S) and 1 / ((1 - p) + p / S_C); and the measured one. */
    double sync_times, computing_times, by_sync, by_computing, over_implicit;
    double sync_s, computing_s; /* seconds of a run for synchronisation and for computing */
} stencil_bench_gains;

/* Cycles at which each lane of a warp came to a barrier and left it, in one run; 0: the first lane comes. */
enum { STENCIL_BENCH_LANES = 32 };
typedef struct stencil_bench_lanes {
    bool known;
    double before[STENCIL_BENCH_LANES], after[STENCIL_BENCH_LANES];
} stencil_bench_lanes;

/* A measured operation or a statement ("completes"), identified in a result by kind, name, unit and axes. */
typedef struct stencil_bench_row {
    char name[32];
    const char *kind; /* kind of the measured operation: "copy", "strategy", "barrier", … */
    /* Unit of samples and statistics: "s", "s/step", "ns", "cycles", "operations/cycle", "bytes/s", …
     * Units that are "s" or begin with "s/" are shown in ns, us or ms. */
    const char *unit;
    bool higher_is_better;
    /* Name of the published timing method, as printed; NULL: plain timing. */
    const char *method;
    double method_sd; /* standard deviation computed by `method`, in `unit`; NaN: none */
    /* Position of the row on the axes of its benchmark, outermost axis first. */
    int axis_count;
    stencil_bench_parameter axis[STENCIL_BENCH_AXES_MAX];
    int64_t iterations;   /* iterations in each sample */
    int64_t sample_count; /* 0: the row is skipped, or a statement */
    double *sample;       /* [sample_count], in the order of measurement, owned */
    stencil_statistics statistics;
    bool noisy;       /* the relative spread is above options->max_noise */
    double bytes;     /* that one iteration must move, as declared by the benchmark; 0: no memory traffic */
    char formula[96]; /* formula of `bytes`, for the reader */
    double cells;     /* cells updated in one iteration; 0: none */
    double ratio;     /* bandwidth over the bandwidth of the best copy in the same result; NaN: none */
    /* Time by the performance model, in `unit`; the fraction of this time for launches and barriers; the
     * median over the median of the fastest row on the same problem. NaN: unknown. */
    double predicted, sync_share, of_fastest;
    /* Fraction of the time for launches and barriers, by time stamps; speed-up over a plain sequential
     * version on the host; number of blocks, or of CPU threads, that share the work. NaN: unknown. */
    double sync_measured, speedup, workers;
    /* Seconds of the launch, of computing in a phase and of synchronising a phase, for a row of M phases: T =
     * t_O + M (t_C + t_S) (S. Xiao, W. Feng, IPDPS 2010). NaN: unknown. */
    double t_o, t_c, t_s;
    /* Seconds from the start of a run's first kernel to the end of its last one; seconds by which the first
     * kernels of its GPUs start apart, and the error of both, as timers of several GPUs were compared; by the
     * GPUs' timers. NaN: unknown. */
    double kernels_s, skew_s, timer_error_s;
    stencil_bench_gains gains; /* by stencil_bench_derive(), also for a row that was read */
    double of_nominal; /* bandwidth over the nominal one of the GPU's memory, likewise; NaN: unknown */
    stencil_bench_lanes lanes;
    char outcome[96];  /* statement instead of samples: "completes", "agree: 4.03, 4.02"; or "" */
    char skipped[192]; /* reason why nothing was measured; or "" */
} stencil_bench_row;

/* A problem with a published figure or a ceiling to compare with, and its measurement. */
typedef enum stencil_bar_unit {
    STENCIL_GCELL_PER_S,
    STENCIL_US_PER_STEP,
    STENCIL_BAR_UNITS
} stencil_bar_unit;
extern const char *const stencil_bar_units[]; /* "gcell_per_s", "us_per_step", NULL */
typedef struct stencil_bench_bar {
    char name[48]; /* "j2d5pt fp64 8192²"; unique in a result */
    int axis_count;
    stencil_bench_parameter axis[STENCIL_BENCH_AXES_MAX]; /* cells along x, y, z; number of GPUs, if any */
    stencil_bar_unit unit;
    char best_by[32]; /* code that reaches best_other; "copy": a copy of the same field in the same run */
    double best_other, reach, aim; /* published figure, goals to reach and to aim at; NaN: no copy is known */
    double measured, plain; /* medians of the fastest and the plain sweep, in `unit`; NaN: not measured */
    bool noisy;             /* the row of `measured` is noisy */
    double loop;            /* median of a persistent loop, in `unit`; NaN: not measured */
    char sweep[16], strategy[24]; /* of the fastest row; "": nothing was measured */
    int depth;                    /* time steps in a pass of the fastest row */
    int64_t steps, samples;       /* time steps in a sample; number of samples */
    struct {
        char resource[16]; /* the limiting resource by stencil_model_bound() with the copy's bandwidth */
        double used[STENCIL_RESOURCE_COUNT]; /* fraction used of each resource; NaN: unknown */
    } bound;
    char skipped[192]; /* reason why nothing was measured; or "" */
} stencil_bench_bar;

/* Returns measured / goal, or goal / measured for times: at least 1 where the goal is reached. */
double stencil_bench_bar_reached(const stencil_bench_bar *bar);

enum { STENCIL_BENCH_PARAMETERS_MAX = 16, STENCIL_BENCH_NOTES_MAX = 8 };

/* The result of one benchmark. */
typedef struct stencil_bench_result {
    const char *benchmark;
    stencil_backend backend; /* CPU or GPU */
    char device[160];        /* "NVIDIA H200", "4 x NVIDIA H200" or "2 threads, avx512" */
    double clock_hz[2];      /* clock of the (first) device before and after the benchmark; NaN: unknown */
    double seconds;          /* wall time of the benchmark */
    int parameter_count;
    stencil_bench_parameter parameter[STENCIL_BENCH_PARAMETERS_MAX];
    int row_count;
    stencil_bench_row *row; /* [row_count], owned */
    int bar_count;
    stencil_bench_bar *bar; /* [bar_count], owned: rows compared with published figures; or NULL */
    int note_count;
    /* Notes for the reader of the result, a sentence each. */
    char note[STENCIL_BENCH_NOTES_MAX][STENCIL_BENCH_NOTE_SIZE];
    char skipped[192]; /* reason why the benchmark was skipped; or "" */
    char failed[512];  /* error that makes the result invalid; or "" */
    json_t *source;    /* owned JSON that the names of a result read from a file point into; else NULL */
} stencil_bench_result;

/* The benchmarks, in the order of benchmarks.def. */
extern const char *const stencil_bench_names[]; /* ends with NULL */
const char *stencil_bench_summary(int index);
/* Tells whether a benchmark takes minutes; such a benchmark runs only where the user names it. */
bool stencil_bench_is_long(int index);
/* Tells whether a benchmark is an application of the study (bench/cases/); "cases" names all of them. */
#define STENCIL_BENCH_CASES "cases"
bool stencil_bench_is_case(int index);

/* Options that only some benchmarks use. */
enum {
    STENCIL_BENCH_USES_SAMPLES = 1, /* samples, max_noise and timeout_s */
    STENCIL_BENCH_USES_SIZE = 2,    /* size and precision of `spec` */
    STENCIL_BENCH_USES_PROBLEM = 4, /* members of `spec` besides size and precision */
    STENCIL_BENCH_USES_ITERATIONS = 8,
    STENCIL_BENCH_USES_REPEATS = 16,
    STENCIL_BENCH_USES_FAULT = 32,     /* inject_fault */
    STENCIL_BENCH_USES_EDGES = 64,     /* edges and the sweep */
    STENCIL_BENCH_USES_STENCIL = 128,  /* the stencil of `spec`, which PROBLEM includes */
    STENCIL_BENCH_USES_ELEMENTS = 256, /* edges, as numbers of elements */
    STENCIL_BENCH_USES_RANKS = 512,    /* ranks, whose links it measures */
    STENCIL_BENCH_USES_BLOCKS = 1024   /* blocks */
};

/* Returns STENCIL_BENCH_USES_…: the options that benchmark `index` uses on the device of `options`; all bits
 * where the benchmark does not apply to the device, so that the run gives the reason. */
unsigned stencil_bench_uses(int index, const stencil_bench_options *options, const stencil_machine *machine);

/* Checks what every benchmark needs of the device. Errors: UNAVAILABLE (no such GPU, or none). */
stencil_status stencil_bench_check(const stencil_bench_options *options, const stencil_machine *machine);

/* Runs benchmark `index`; *result is set and the caller destroys it, after an error as well. On a GPU with a
 * child_command the benchmark runs in a child process, so that a fault or a hang cannot harm other
 * benchmarks. A benchmark that does not apply to the device is skipped, with the reason. result->failed has
 * the message of a failure as well. Errors: UNAVAILABLE (no GPU), NO_MEMORY, INTERNAL (wrong results, or a
 * crash or hang of the child), BAD_DATA (impossible problem), INTERRUPTED (options->go_on returned false:
 * rows keep their samples, and rows without samples are skipped as interrupted). */
stencil_status stencil_bench_run(int index, const stencil_bench_options *options,
                                 const stencil_machine *machine, stencil_bench_result *result);
void stencil_bench_result_destroy(stencil_bench_result *result);

/* Serves one request for benchmark `name` in a child process: reads it from the socket descriptor
 * STENCIL_BENCH_CHANNEL, sends a reply with the status of the benchmark, and exits, as when the parent
 * process ends. `options` equal the parent's. Errors: USAGE: no parent process sends a valid request. */
enum { STENCIL_BENCH_CHANNEL = 3 };
stencil_status stencil_bench_child_main(const char *name, const stencil_bench_options *options);

/* Returns `amount` (bytes or cells of an iteration) per second at the median; 0 for a row without samples. */
double stencil_bench_rate(const stencil_bench_row *row, double amount);

/* A model of the time of a pass of a barrier over N, the blocks or threads that it holds, fitted by least
 * squares to the medians of all its rows. "t_GBS" of barrier `lock`: N t_a + t_c + t_s; "t_GFS" of
 * `lock-free`: t_SI + t_CI + 2 t_s + t_SO + t_CO, which N is no part of (S. Xiao, W. Feng, IPDPS 2010), also
 * of those rows alone where a block has N threads, as the model supposes; "line", of any barrier: as t_GBS.
 */
typedef struct stencil_bench_fit {
    const char *barrier, *model;
    const char *per; /* what N counts: "block", "thread" or, in old records, "block per multiprocessor" */
    int points;
    double each_s, rest_s;       /* t_a (NaN: the model has none); the sum of the other terms */
    double residual_s, relative; /* root of the mean square of what the model leaves; over the mean time */
} stencil_bench_fit;
enum { STENCIL_BENCH_FITS_MAX = 32 };
/* Fits the models to the rows of kind "barrier" of a result, of one grid or team and at least three for each
 * barrier. Returns the number of fits, 0 for other results; names are borrowed from the result. */
int stencil_bench_fits(const stencil_bench_result *result, stencil_bench_fit fit[STENCIL_BENCH_FITS_MAX]);
/* Fits a line, or a constant, to count >= 1 points; a line needs two different n. Sets the numbers of *fit.
 */
void stencil_fit_line(const double *n, const double *time_s, int count, bool constant,
                      stencil_bench_fit *fit);

/* Returns Amdahl's speed-up of a whole of which a part (0 to 1) becomes `times` times quicker. */
double stencil_bench_gain(double part, double times);
/* Sets what follows from other members of all rows: `gains`, from medians and parts of synchronisation, and
 * of_nominal, from the parameter STENCIL_BENCH_NOMINAL. */
#define STENCIL_BENCH_NOMINAL "nominal_bytes_per_s"
void stencil_bench_derive(stencil_bench_result *result);

/* Sets *number to the position of a row on axis `name`; false: the row has no such axis. */
bool stencil_bench_axis(const stencil_bench_row *row, const char *name, int64_t *number);

json_t *stencil_bench_result_json(const stencil_bench_result *result);

/* Reads a result that stencil_bench_result_json() wrote; keeps a reference to the borrowed `object`. *result
 * is set and the caller destroys it, after an error as well. Errors: BAD_DATA, naming the member that is
 * missing or of another type. */
stencil_status stencil_bench_result_read(const json_t *object, stencil_bench_result *result);

/* The results of a run, with its machine, time, program and options. Texts are borrowed. */
typedef struct stencil_bench_report {
    int result_count;
    stencil_bench_result *result; /* [result_count], owned */
    const char *command_line;     /* command of the run, as the user typed the command */
    int64_t started_s;            /* seconds of the Unix epoch */
    double seconds;               /* wall time of the run */
    /* The program that measured. git_revision: of its sources ("0123456789ab", or "0123456789ab-dirty" with
     * changed files); "unknown" for a build outside a git tree. */
    const char *version, *git_revision, *compiler;
    const char *kernel_driver; /* version of the GPU driver's kernel module ("580.65.06"); "", NULL: none */
    stencil_bench_options options;
    stencil_machine machine;
    json_t *source; /* owned JSON that the texts of a report read from a file point into; else NULL */
} stencil_bench_report;

/* A barrier of a level ("warp", "block", "grid", "multi-grid") beside those of other levels: seconds with one
 * block (of a grid: with one on each multiprocessor), and on full multiprocessors, with `full_blocks` blocks
 * on each; a barrier of a warp then at the best rate, among STENCIL_BENCH_FULL_WARPS. NaN: not measured. */
typedef struct stencil_bench_level {
    const char *level;
    char name[48]; /* "tile, 32 lanes", "__syncthreads", "grid.sync" */
    int64_t threads, full_blocks;
    int gpus;
    double one_s, full_s;
} stencil_bench_level;
enum { STENCIL_BENCH_LEVELS_MAX = 256, STENCIL_BENCH_FULL_WARPS = 64 };
/* Collects the barriers of all levels from the results of benchmarks warp, block, grid and multi-grid, whose
 * cycles are converted by the clock measured with them. Returns their number; 0: less than two benchmarks. */
int stencil_bench_levels(const stencil_bench_report *report,
                         stencil_bench_level level[STENCIL_BENCH_LEVELS_MAX]);

/* Sets version, git_revision and compiler to those of the running program. */
void stencil_bench_report_init(stencil_bench_report *report);

/* Returns a report as JSON, all bars also as "rows" of their own, and its barriers as "levels"; owned by the
 * caller; NULL: no memory. */
json_t *stencil_bench_report_json(const stencil_bench_report *report);

/* Tells whether `root` is a report or a list of reports. */
bool stencil_bench_is_report(const json_t *root);

/* Reads a report that stencil_bench_report_json() wrote, or a list of reports; keeps a reference to `root`.
 * Reads only the options of measuring, and of the machine only the CUDA versions; a list gives these of its
 * first report, and the results of all. *report is set and the caller destroys it, after an error as well.
 * Errors: BAD_DATA, naming the member that is missing or of another type; NO_MEMORY. */
stencil_status stencil_bench_report_read(json_t *root, stencil_bench_report *report);
void stencil_bench_report_destroy(stencil_bench_report *report);

/* Input of stencil_bench_crossovers() (bench/crossover.c), which says in words which row is the fastest in
 * which range of an axis: "`graph` up to 700², then `relaunch`"; "" for less than two positions. Crossovers
 * are interpolated between measured positions, linearly in logarithms. A row within the noise of the fastest
 * counts as fastest; with unknown or large noise the text says that a crossover is uncertain. */
typedef struct stencil_ranking {
    const stencil_bench_result *result;
    const char *kind;         /* kind of the rows to rank; NULL: all rows */
    const char *axis, *shape; /* name of the axis, "nx"; suffix of its numbers in the text, "²" */
    bool predicted;           /* rank rows by predicted times instead of measured ones */
} stencil_ranking;
void stencil_bench_crossovers(const stencil_ranking *ranking, char text[STENCIL_BENCH_NOTE_SIZE]);

/* Verdicts of comparing a new result ("now") with an old one ("then") of the same benchmark
 * (bench/against.c). The cost is a sample, or its inverse where higher is better; [low, high] is the 99 %
 * interval of the cost ratio now / then (stencil_shift_of()); m is the margin. */
typedef enum stencil_verdict {
    STENCIL_VERDICT_SAME,    /* the interval is within [1 / (1 + m), 1 + m] */
    STENCIL_VERDICT_FASTER,  /* the interval is below 1 / (1 + m) */
    STENCIL_VERDICT_SLOWER,  /* the interval is above 1 + m */
    STENCIL_VERDICT_UNCLEAR, /* none of the verdicts above holds: too much noise or too few samples */
    STENCIL_VERDICT_CHANGED, /* the statement of the row differs */
    STENCIL_VERDICT_NEW,     /* only the new result has the row */
    STENCIL_VERDICT_GONE,    /* only the old result has the row */
    STENCIL_VERDICT_COUNT
} stencil_verdict;

/* Names of the verdicts: "same", "faster", … */
extern const char *const stencil_verdict_names[STENCIL_VERDICT_COUNT];

/* A row in an old and in a new result, compared. */
typedef struct stencil_comparison {
    const stencil_bench_row *then, *now; /* the row in the old and in the new result; NULL: missing */
    stencil_verdict verdict;
    stencil_shift shift; /* ratio of the samples, now / then; NaN: nothing to compare */
} stencil_comparison;

/* Sets why[] to why two results cannot be compared (back-ends, parameters, a failure); "": they can be. */
void stencil_bench_check_comparable(const stencil_bench_result *then, const stencil_bench_result *now,
                                    char why[192]);

/* Compares all rows of `now`, and reports rows that only `then` has. *comparison is [*count], freed by the
 * caller with free(). Results that cannot be compared set why[] to the reason, only. Error: NO_MEMORY. */
stencil_status stencil_bench_compare(const stencil_bench_result *then, const stencil_bench_result *now,
                                     double margin, stencil_comparison **comparison, int *count,
                                     char why[192]);

#ifdef __cplusplus
}
#endif
