/* The machine of h200-x8.json, with problems and options for the tests of predictions. */
#pragma once

#include <stdio.h>

#include "../all_kernels.h"
#include "app/json.h"
#include "solver/plan/choose.h"
#include "solver/plan/sweep.h"

static stencil_machine h200;

static inline void problem_of(stencil_problem *problem, const char *stencil, stencil_precision precision,
                              int64_t extent) {
    stencil_spec spec;
    stencil_spec_init(&spec);
    spec.rank = stencil_shape_find(stencil)->rank;
    for (int axis = 0; axis < spec.rank; axis++)
        spec.extent[axis] = extent;
    spec.precision = precision;
    spec.check_every = 100;
    snprintf(spec.stencil, sizeof spec.stencil, "%s", stencil);
    assert_int_equal(stencil_problem_resolve(problem, &spec), STENCIL_OK);
}

static inline stencil_run_options on_gpus(const char *sync, int gpus) {
    stencil_run_options options = {.sync = sync, .backend = STENCIL_BACKEND_GPU, .gpu_count = gpus};
    for (int i = 0; i < gpus; i++)
        options.gpu[i] = i;
    return options;
}

/* Returns the H200 with kernels of sweep pipeline for all point sets, compiled here or not. */
static inline const stencil_machine *deep_machine(void) {
    static stencil_machine machine;
    machine = h200;
    add_kernels(&machine, STENCIL_SWEEP_pipeline);
    return &machine;
}

/* Reads the machine from the file argv[1]; returns false, with a message on stderr, where that fails. */
static inline bool read_h200(int argc, char **argv) {
    json_t *file = NULL;
    const bool read = argc == 2 && json_read(argv[1], &file) == STENCIL_OK &&
                      stencil_machine_read(&h200, file) == STENCIL_OK;
    if (!read)
        fprintf(stderr, "%s\n", argc == 2 ? stencil_error_last()->message : "usage: test FILE");
    json_decref(file);
    return read;
}
