/* The description of a machine as JSON: `info` writes it, `run --machine` reads it. */
#ifndef STENCIL_APP_MACHINE_FILE_H
#define STENCIL_APP_MACHINE_FILE_H

#include <jansson.h>

#include "solver/machine/machine.h"

/* Sets the members "cpu", "cuda", "gpus", "peers", "no_gpu_reason" and "kernels" of an object. */
void machine_write(const stencil_machine *machine, json_t *root);

/* NO_INPUT, BAD_DATA: names the file and what is wrong with it. */
stencil_status machine_read(stencil_machine *machine, const char *path);

#endif
