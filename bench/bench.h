/* Benchmarks fill results: rows with all their samples, what had to move, and why something could not be
 * measured. Nothing here prints: app/ makes tables, plots or JSON of the results. */
#pragma once

#include <jansson.h>

#include "bench/statistics.h"
#include "solver/plan/model.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { STENCIL_BENCH_SCHEMA_VERSION = 2, STENCIL_BENCH_SAMPLES_MAX = 100000 };
/* A row that is left to itself ends with AUTO_MAX samples at the latest; it is not judged before it has
 * SETTLE, and gets LEAST after the time-out as well, as long as that takes no more than four time-outs. */
enum { STENCIL_BENCH_EDGES_MAX = 16, STENCIL_BENCH_NOTE_SIZE = 512 };
enum { STENCIL_BENCH_AUTO_MAX = 101, STENCIL_BENCH_SETTLE = 7, STENCIL_BENCH_LEAST = 5 };

/* Options of a run of benchmarks. */
typedef struct stencil_bench_options {
    stencil_backend backend; /* AUTO: the GPU where there is one */
    /* Device ordinals asked for; gpu_count 0: not asked. A benchmark is given them filled in: all GPUs of the
     * machine where nobody asked. One that uses a single GPU takes gpu[0]. */
    int gpu_count;
    int gpu[STENCIL_GPUS_MAX];
    /* The problem. rank 0: the benchmark's own size; neither stencil nor kind: the star of radius 1. Steps
     * and tolerance are the benchmark's business. */
    stencil_spec spec;
    bool one_precision; /* the spec's was asked for */
    int edge_count;     /* of squares or cubes, or elements, each a problem; 0: the benchmark's own */
    int64_t edge[STENCIL_BENCH_EDGES_MAX];
    const char *sweep;  /* NULL: all */
    int64_t samples;    /* of each row, up to SAMPLES_MAX; 0: until the spread is under max_noise */
    int64_t iterations; /* in one sample of what is calibrated; 0: as many as take about 0.1 s */
    int64_t repeats;    /* of the repeated instruction or barrier in a published method; 0: as published */
    double max_noise;   /* a relative spread above this marks a row as noisy; 0 < max_noise */
    double timeout_s;   /* no further sample of a benchmark after this time, once all rows have LEAST */
    bool inject_fault;  /* for tests: benchmarks with a fault to plant plant it, and must fail; others are
                           skipped */
    /* The command that answers questions as a child process: program, words, NULL (see
     * stencil_bench_child_main()); the name of a benchmark follows, and then the arguments that make these
     * options there, NULL behind them. child_command NULL: no child processes, all in this one. */
    const char *const *child_command, *const *child_arguments;
    void (*progress)(const char *what); /* what is being measured; may be NULL */
    bool (*go_on)(void); /* asked before each sample; false: no more are taken; NULL: all are */
} stencil_bench_options;

/* A setting that a result depends on; a number, or text where `text` is not "". Not for what was measured
 * or calibrated: results are comparable where all their parameters are equal. */
typedef struct stencil_bench_parameter {
    const char *name; /* lower case with underscores: "threads", "blocks_per_sm" */
    int64_t number;
    char text[64];
} stencil_bench_parameter;

enum { STENCIL_BENCH_AXES_MAX = 4 };

/* One measured thing, or a statement. Rows of a result are told apart by kind, name, unit and axes. */
typedef struct stencil_bench_row {
    char name[32];
    const char *kind; /* what sort of thing: "copy", "strategy", "barrier", … */
    /* Unit of samples and statistics: "s", "s/step", "ns", "cycles", "operations/cycle", "bytes/s", …
     * Units that are "s" or begin with "s/" are shown in ns, us or ms. */
    const char *unit;
    bool higher_is_better;
    /* The published method, as it is named in the output; NULL: plain timing. */
    const char *method;
    double method_sd; /* standard deviation that the method itself gives, in `unit`; NaN: none */
    /* Place of the row on the axes of its benchmark, outermost first. */
    int axis_count;
    stencil_bench_parameter axis[STENCIL_BENCH_AXES_MAX];
    int64_t iterations;   /* in each sample */
    int64_t sample_count; /* 0: skipped, or a statement */
    double *sample;       /* [sample_count], in the order in which they were taken, owned */
    stencil_statistics statistics;
    bool noisy;       /* the relative spread is above options->max_noise */
    double bytes;     /* declared: what must move in one iteration; 0: the thing moves none */
    char formula[96]; /* of `bytes` */
    double cells;     /* updated in one iteration; 0: none */
    double ratio;     /* bandwidth to that of the best copy in the same result; NaN: none */
    /* NaN: nothing is known. By the model, in `unit`, and the part of it that is launches and barriers; the
     * median over that of the fastest row on the same problem. */
    double predicted, sync_share, of_fastest;
    /* NaN: not known. The part of the time that is launches and barriers, from noted moments; how many times
     * faster it is than a plain sequential version on the host; blocks, or threads of a CPU, that share the
     * work. */
    double sync_measured, speedup, workers;
    /* NaN: not known. Seconds of T = t_O + M (t_C + t_S) (S. Xiao, W. Feng, IPDPS 2010), of a row of M
     * phases: of a launch, of computing in a phase, and of keeping it in order. */
    double t_o, t_c, t_s;
    char outcome[96];  /* a statement in place of samples: "completes", "agree: 4.03, 4.02"; "" */
    char skipped[192]; /* why it was not measured; "" */
} stencil_bench_row;

/* A case that others have published figures of, or that has a ceiling, and what was measured of it. */
typedef enum stencil_bar_unit {
    STENCIL_GCELL_PER_S,
    STENCIL_US_PER_STEP,
    STENCIL_BAR_UNITS
} stencil_bar_unit;
extern const char *const stencil_bar_units[]; /* "gcell_per_s", "us_per_step", NULL */
typedef struct stencil_bench_bar {
    char name[48]; /* "j2d5pt fp64 8192²"; its own in a result */
    int axis_count;
    stencil_bench_parameter axis[STENCIL_BENCH_AXES_MAX]; /* cells along x, y, z; GPUs, if it is on some */
    stencil_bar_unit unit;
    char best_by[32]; /* whose best_other is; "copy": of the same field, measured beside it */
    double best_other, reach,
        aim;                      /* in `unit`, as are the next three; NaN: beside a copy that was not made */
    double measured, plain;       /* at the median; NaN: not. By the plain sweep beside it */
    bool noisy;                   /* the row of what was measured is */
    double loop;                  /* measured, by a persistent loop; NaN: not */
    char sweep[16], strategy[24]; /* of what was the fastest; "" where nothing was measured */
    int depth;                    /* steps of its passes */
    int64_t steps, samples;       /* steps of a sample */
    struct {
        char resource[16]; /* that allows least; see stencil_model_bound(), with the copy's bandwidth */
        double used[STENCIL_RESOURCE_COUNT]; /* of what each resource allows; NaN: not measured, nor what it
                                                allows */
    } bound;
    char skipped[192]; /* why it was not measured; "" */
} stencil_bench_bar;

/* measured over reach, or the inverse where less is better: 1 and more has reached it. */
double stencil_bench_bar_reached(const stencil_bench_bar *bar);

enum { STENCIL_BENCH_PARAMETERS_MAX = 16, STENCIL_BENCH_NOTES_MAX = 8 };

/* The result of one benchmark. */
typedef struct stencil_bench_result {
    const char *benchmark;
    stencil_backend backend; /* CPU or GPU */
    char device[160];        /* "NVIDIA H200", "4 x NVIDIA H200" or "2 threads, avx512" */
    double clock_hz[2];      /* clock of the (first) device seen before and after; NaN: unknown */
    double seconds;          /* that all of it took */
    int parameter_count;
    stencil_bench_parameter parameter[STENCIL_BENCH_PARAMETERS_MAX];
    int row_count;
    stencil_bench_row *row; /* [row_count], owned */
    int bar_count;
    stencil_bench_bar
        *bar; /* [bar_count], owned: what the rows come to; NULL where they stand for themselves */
    int note_count;
    /* Notes for the reader, a sentence each. */
    char note[STENCIL_BENCH_NOTES_MAX][STENCIL_BENCH_NOTE_SIZE];
    char skipped[192]; /* why nothing was measured; "" */
    char failed[512];  /* why the result must not be used; "" */
    json_t *source;    /* of a result that was read: what its names point into, owned; else NULL */
} stencil_bench_result;

/* The benchmarks, in the order of benchmarks.def. */
extern const char *const stencil_bench_names[]; /* NULL behind the last one */
const char *stencil_bench_summary(int index);
/* It takes minutes: it runs only where it is named. */
bool stencil_bench_is_long(int index);
/* It is among the applications of the study (bench/cases/), which all of them together have the name
 * STENCIL_BENCH_CASES for. */
#define STENCIL_BENCH_CASES "cases"
bool stencil_bench_is_case(int index);

/* Options that some benchmarks look at and others do not: samples, max_noise and timeout_s; size
 * and precision of `spec`; the rest of it; iterations; repeats; inject_fault; edges and the sweep; the
 * stencil of `spec`, which is also among the rest; edges, as numbers of elements. */
enum {
    STENCIL_BENCH_USES_SAMPLES = 1,
    STENCIL_BENCH_USES_SIZE = 2,
    STENCIL_BENCH_USES_PROBLEM = 4,
    STENCIL_BENCH_USES_ITERATIONS = 8,
    STENCIL_BENCH_USES_REPEATS = 16,
    STENCIL_BENCH_USES_FAULT = 32,
    STENCIL_BENCH_USES_EDGES = 64,
    STENCIL_BENCH_USES_STENCIL = 128,
    STENCIL_BENCH_USES_ELEMENTS = 256
};

/* Returns STENCIL_BENCH_USES_…: the options that benchmark `index` looks at on the device that it would run
 * on; all bits where it does not apply to the device (to be told is better than to be refused). */
unsigned stencil_bench_uses(int index, const stencil_bench_options *options, const stencil_machine *machine);

/* Checks what every benchmark needs of the device. UNAVAILABLE where stencil_bench_run() would refuse any. */
stencil_status stencil_bench_check(const stencil_bench_options *options, const stencil_machine *machine);

/* Runs benchmark `index`; *result is set and destroyed by the caller, whatever comes back. On a GPU, and
 * where there is a child_command, it runs in a child process, so that a fault or a hang leaves the other
 * benchmarks alone. A benchmark that does not apply to the device is skipped, with the reason. Failures of
 * the benchmark stand in result->failed as well. UNAVAILABLE: a GPU asked for where none is, NO_MEMORY,
 * INTERNAL: what was timed gave wrong results, the child crashed or hung; BAD_DATA: the problem cannot be;
 * INTERRUPTED: options->go_on said no; rows keep the samples that they have, and those that have none are
 * skipped as interrupted. */
stencil_status stencil_bench_run(int index, const stencil_bench_options *options,
                                 const stencil_machine *machine, stencil_bench_result *result);
void stencil_bench_result_destroy(stencil_bench_result *result);

/* The other end of child_command: answers one question that concerns benchmark `name`, read from and
 * answered on the descriptor STENCIL_BENCH_CHANNEL, a socket, with the options that the asking process has.
 * The status of the answer itself travels inside it. Does not return once it has answered; the process ends
 * when the one that asks does. USAGE: nobody asks. */
enum { STENCIL_BENCH_CHANNEL = 3 };
stencil_status stencil_bench_child_main(const char *name, const stencil_bench_options *options);

/* `amount` (bytes or cells of an iteration) per second at the median; 0 for a row without samples. */
double stencil_bench_rate(const stencil_bench_row *row, double amount);

/* The number on axis `name`; false: the row has no such axis. */
bool stencil_bench_axis(const stencil_bench_row *row, const char *name, int64_t *number);

json_t *stencil_bench_result_json(const stencil_bench_result *result);

/* One result as stencil_bench_result_json() wrote it; `object` is borrowed, a reference is kept. *result is
 * set and destroyed by the caller, whatever comes back. BAD_DATA, naming what is missing or of another type.
 */
stencil_status stencil_bench_result_read(const json_t *object, stencil_bench_result *result);

/* The results of a run, and where, when and with what it was. Texts are borrowed. */
typedef struct stencil_bench_report {
    int result_count;
    stencil_bench_result *result; /* [result_count], owned */
    const char *command_line;     /* as it was typed */
    int64_t started_s;            /* seconds of the Unix epoch */
    double seconds;               /* that all of it took */
    /* The program that measured; git_revision: that of its sources ("0123456789ab", with "-dirty" behind it
     * where files were changed), "unknown" where they were built outside a git tree. */
    const char *version, *git_revision, *compiler;
    const char *kernel_driver; /* version of the GPU driver's kernel module ("580.65.06"); "", NULL: none */
    stencil_bench_options options;
    stencil_machine machine;
    json_t *source; /* of a report that was read: what its texts point into, owned; else NULL */
} stencil_bench_report;

/* Sets what this program says of itself. */
void stencil_bench_report_init(stencil_bench_report *report);

/* Everything, with all samples, and the bars of all results as "rows", where there are some; owned by the
 * caller, NULL without memory. */
json_t *stencil_bench_report_json(const stencil_bench_report *report);

/* Tells whether it is a report, or a list of them. */
bool stencil_bench_is_report(const json_t *root);

/* Reads what stencil_bench_report_json() wrote, or a list of it; keeps a reference to `root`. Of the options
 * it reads those that say how it was measured, of the machine the versions of CUDA; a list has those of its
 * first report, and the results of all. *report is set and destroyed by the caller, whatever comes back.
 * BAD_DATA, naming what is missing or of another type; NO_MEMORY. */
stencil_status stencil_bench_report_read(json_t *root, stencil_bench_report *report);
void stencil_bench_report_destroy(stencil_bench_report *report);

/* bench/crossover.c: which row is the fastest up to which place on an axis, in words: "`graph` up to 700²,
 * `neighbor` from there to 2300², then `relaunch`". Places lie between those that were measured, on straight
 * lines of the logarithms; what is within the noise of the fastest is as good, and stays; where that is not
 * known, or large, it is not certain. "" with less than two places. */
typedef struct stencil_ranking {
    const stencil_bench_result *result;
    const char *kind;         /* of the rows; NULL: all of them */
    const char *axis, *shape; /* "nx"; what stands behind its numbers: "²" */
    bool predicted;           /* by what was predicted for the same rows, not by what was measured */
} stencil_ranking;
void stencil_bench_crossovers(const stencil_ranking *ranking, char text[STENCIL_BENCH_NOTE_SIZE]);

/* bench/against.c: is it as fast as it was? Verdicts over two results of the same benchmark.
 * Let the cost be the samples, or their inverse where higher is better, and [low, high] the 99 % interval of
 * its ratio, now over then (stencil_shift_of()); margin m. */
typedef enum stencil_verdict {
    STENCIL_VERDICT_SAME,    /* the interval is within [1 / (1 + m), 1 + m] */
    STENCIL_VERDICT_FASTER,  /* all of it is under 1 / (1 + m) */
    STENCIL_VERDICT_SLOWER,  /* all of it is above 1 + m */
    STENCIL_VERDICT_UNCLEAR, /* neither: too much noise, or too few samples */
    STENCIL_VERDICT_CHANGED, /* a statement that differs */
    STENCIL_VERDICT_NEW,     /* not measured then */
    STENCIL_VERDICT_GONE,    /* measured then, not now */
    STENCIL_VERDICT_COUNT
} stencil_verdict;

/* "same", "faster", … */
extern const char *const stencil_verdict_names[STENCIL_VERDICT_COUNT];

/* One row, then and now. */
typedef struct stencil_comparison {
    const stencil_bench_row *then, *now; /* NULL: not there */
    stencil_verdict verdict;
    stencil_shift shift; /* of the samples, now over then; ratio NaN: nothing to compare */
} stencil_comparison;

/* Why two results cannot be compared: another back-end, a parameter that differs, one of them failed; "":
 * they can be. */
void stencil_bench_check_comparable(const stencil_bench_result *then, const stencil_bench_result *now,
                                    char why[192]);

/* Compares all rows of `now` and those of `then` that are not among them. *comparison (owned by the caller,
 * freed with free()) is [*count]. Where the results cannot be compared, why[0] is not '\0' and there is
 * nothing else. NO_MEMORY. */
stencil_status stencil_bench_compare(const stencil_bench_result *then, const stencil_bench_result *now,
                                     double margin, stencil_comparison **comparison, int *count,
                                     char why[192]);

#ifdef __cplusplus
}
#endif
