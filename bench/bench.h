/* What is measured. A benchmark fills a result: rows with all their samples, what had to move, and why
 * something could not be measured. Nothing here prints: app/ makes a table or JSON of the results. */
#ifndef STENCIL_BENCH_BENCH_H
#define STENCIL_BENCH_BENCH_H

#include <jansson.h>

#include "bench/statistics.h"
#include "solver/run.h"

enum { STENCIL_BENCH_SCHEMA_VERSION = 1, STENCIL_BENCH_SAMPLES_MAX = 100000 };
enum { STENCIL_BENCH_SAMPLES_DEFAULT = 11, STENCIL_BENCH_SAMPLES_LEAST = 3 };
#define STENCIL_BENCH_MAX_S_DEFAULT 60.0

/* What the user asks for. Zero-initialise with stencil_bench_options_init(). */
typedef struct stencil_bench_options {
    stencil_backend backend; /* AUTO: the GPU where there is one */
    int gpu;                 /* device ordinal */
    /* The problem. rank 0: the benchmark's own size; neither stencil nor kind: the star of radius 1. Steps
     * and tolerance are the benchmark's business. */
    stencil_spec spec;
    int64_t samples;    /* of each row, >= 1 */
    int64_t iterations; /* in one sample; 0: as many as take about 0.4 s */
    double max_s;       /* no further round of samples after this time, once there are SAMPLES_LEAST */
    void (*progress)(void *context, const char *what); /* what is being measured; may be NULL */
    void *context;
} stencil_bench_options;

void stencil_bench_options_init(stencil_bench_options *options);

/* A setting that a result depends on; a number, or text where `text` is not "". */
typedef struct stencil_bench_parameter {
    const char *name;
    int64_t number;
    char text[64];
} stencil_bench_parameter;

/* One measured thing. */
typedef struct stencil_bench_row {
    char name[32];
    const char *kind;     /* what sort of thing: "copy", "strategy" */
    const char *unit;     /* of samples and statistics: "s/step", "s/copy" */
    int64_t iterations;   /* in each sample */
    int64_t sample_count; /* 0: skipped */
    double *sample;       /* [sample_count], in the order in which they were taken, owned */
    stencil_statistics statistics;
    double bytes;      /* declared: what must move in one iteration; 0: the thing moves none */
    char formula[96];  /* of `bytes` */
    double cells;      /* updated in one iteration; 0: none */
    double ratio;      /* bandwidth to that of the best copy in the same result; NaN: none */
    char skipped[192]; /* why it was not measured; "" */
} stencil_bench_row;

enum { STENCIL_BENCH_PARAMETERS_MAX = 16, STENCIL_BENCH_NOTES_MAX = 4 };

/* What one benchmark found. */
typedef struct stencil_bench_result {
    const char *benchmark;
    stencil_backend backend; /* CPU or GPU */
    char device[160];        /* "NVIDIA H200" or "2 threads, avx512" */
    int parameter_count;
    stencil_bench_parameter parameter[STENCIL_BENCH_PARAMETERS_MAX];
    int row_count;
    stencil_bench_row *row; /* [row_count], owned */
    int note_count;
    char note[STENCIL_BENCH_NOTES_MAX][160]; /* what a reader has to know of the method, a sentence each */
    char skipped[192];                       /* why nothing was measured; "" */
} stencil_bench_result;

/* The benchmarks, in the order of benchmarks.def. */
int stencil_bench_count(void);
const char *stencil_bench_name(int index); /* NULL behind the last one */
const char *stencil_bench_summary(int index);

/* Runs benchmark `index`; *result is set and destroyed by the caller, whatever comes back. A benchmark that
 * does not apply to the device is skipped, with the reason. UNAVAILABLE: a GPU asked for where none is,
 * NO_MEMORY, INTERNAL: what was timed gave wrong results; BAD_DATA: the problem cannot be. */
stencil_status stencil_bench_run(int index, const stencil_bench_options *options,
                                 const stencil_machine *machine, stencil_bench_result *result);
void stencil_bench_result_destroy(stencil_bench_result *result);

/* Rates at the median; 0 for a row that has none. */
double stencil_bench_bytes_per_s(const stencil_bench_row *row);
double stencil_bench_cells_per_s(const stencil_bench_row *row);

/* Everything, with all samples; owned by the caller, NULL without memory. `command_line` as it was typed,
 * `started_s` in seconds of the Unix epoch. */
json_t *stencil_bench_json(const stencil_bench_result *result, int result_count,
                           const stencil_bench_options *options, const stencil_machine *machine,
                           const char *command_line, int64_t started_s);

#endif
