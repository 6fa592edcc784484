/* The description of a machine as JSON: `info` writes it, `run --machine` reads it, and the benchmarks hand
 * it to their child processes. */
#ifndef STENCIL_SOLVER_MACHINE_JSON_H
#define STENCIL_SOLVER_MACHINE_JSON_H

#include <jansson.h>

#include "solver/machine/machine.h"

/* Sets the members "cpu", "cuda", "gpus", "peers", "no_gpu_reason" and "kernels" of an object. */
void stencil_machine_write(const stencil_machine *machine, json_t *root);

/* BAD_DATA: names what is wrong. */
stencil_status stencil_machine_read(stencil_machine *machine, const json_t *root);

#endif
