/* A world whose ranks are the processes that an MPI launcher has started. */
#pragma once

#include "base/world.h"

/* Initialises MPI, which the calling thread alone will use, and returns the world; NULL: MPI cannot be
 * initialised as is needed. Called once; MPI ends the process where it fails. */
stencil_world *stencil_mpi_begin(void);

/* Ends MPI, when all ranks have come here. */
void stencil_mpi_end(stencil_world *world);

/* Ends all ranks at once with an exit code. */
_Noreturn void stencil_mpi_abort(stencil_world *world, int exit_code);

/* The functions of that world. */
extern const stencil_world_functions stencil_mpi_functions;
