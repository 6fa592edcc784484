/* The description of a machine as JSON, with the costs that were measured there. */
#pragma once

#include "records/record.h"
#include "solver/machine/machine.h"

/* The description as JSON: `info` writes it, `run --machine` reads it, and the benchmarks hand it to their
 * child processes. Sets the members "cpu", "cuda", "gpus", "peers", "no_gpu_reason" and "kernels" of an
 * object. Errors of reading: BAD_DATA, whose message names what is wrong. */
void stencil_machine_write(const stencil_machine *machine, json_t *root);
stencil_status stencil_machine_read(stencil_machine *machine, const json_t *root);

/* write: returns a calibration as a JSON object that the caller owns. read: overwrites those strategies and
 * sweeps of *calibration that the object names. Errors: BAD_DATA, whose message names what is wrong. */
json_t *stencil_calibration_write(const stencil_calibration *calibration);
stencil_status stencil_calibration_read(stencil_calibration *calibration, const json_t *object);
