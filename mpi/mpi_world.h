/* A world whose ranks are the processes that an MPI launcher has started. */
#pragma once

#include "base/world.h"

/* Called, by any thread, where a rank has given no sign of life for more than s seconds: ends all ranks by
 * stencil_mpi_abort(); -1: some rank while MPI begins (`world` is NULL) or ends, of which it only ends this
 * one, and the launcher the others. */
typedef void stencil_mpi_lost(stencil_world *world, int rank, double s);

/* Initialises MPI, which the calling thread alone will use, and returns the world; NULL: MPI cannot be
 * initialised as is needed. Called once; MPI ends the process where it fails, and `lost` is called where not
 * all ranks have begun after begin_s seconds. */
stencil_world *stencil_mpi_begin(stencil_mpi_lost *lost, double begin_s);

/* Ends MPI, when all ranks have come here. */
void stencil_mpi_end(stencil_world *world);

/* Ends all ranks at once with an exit code. */
_Noreturn void stencil_mpi_abort(stencil_world *world, int exit_code);

/* Tags of messages: those of exchanges, those of stencil_world_send(), signs of life, and that a
 * rank is lost. */
enum { STENCIL_TAG_EXCHANGE = 1, STENCIL_TAG_BYTES, STENCIL_TAG_LIFE, STENCIL_TAG_LOST };

/* The functions of that world. Those of files stand in file.c. */
extern const stencil_world_functions stencil_mpi_functions;
stencil_file *stencil_mpi_open_file(stencil_world *world, const char *path);
int stencil_mpi_write_file(stencil_file *file, const stencil_stretches *to, const void *data);
int stencil_mpi_close_file(stencil_file *file);
