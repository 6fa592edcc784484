/* What the tests of test_parts share. */
#pragma once

#include "trial.h"

typedef struct parts_tests {
    stencil_machine machine;
    stencil_world *world; /* ranks whose parts they are; NULL: one process has all */
    bool reach;           /* their GPUs, one for each, reach each other's memory */
    stencil_backend backend;
    int gpus, repeats;
    stencil_sweep_id sweep; /* of the problem at hand, and the depth of its passes, where it has some */
    int depth;
    int turn; /* of configurations, thread counts and residual settings */
    int runs;
} parts_tests;
extern parts_tests here;

/* A way to run in parts: how many, and where they are cut. */
typedef struct division {
    int parts;
    int cut[3]; /* all 0: as the product chooses */
} division;

/* A way to exchange halos. */
typedef struct exchange {
    stencil_halo_mode halo;
    bool overlap;
} exchange;
enum { EXCHANGES = 4 };
extern const exchange exchanges[EXCHANGES];

/* Whether a strategy spans parts. "grid" does not itself: it means multi-grid then. */
bool spans(int strategy);
/* Whether a strategy has a way e to exchange them, other than the one that it chooses. */
bool exchanges_so(int strategy, int e);
/* The next run in parts: thread counts, machine and residual settings take turns. */
trial_run run_of(int strategy, const division *d, const exchange *e, int64_t steps);

/* Tests of parts_stress.c; cmocka's header comes before this one. */
enum { STRESS_TESTS = 5 };
extern const struct CMUnitTest stress_tests[STRESS_TESTS];
