/* The program of test_ranks is a process of an MPI launcher. */
#include <stdio.h>

#include "mpi/mpi_world.h"
#include "parts_world.h"

static stencil_world *world;

static void lose(stencil_world *lost_by, int rank, double s) {
    fprintf(stderr, "rank %d has given no sign of life for %g s\n", rank, s);
    stencil_mpi_abort(lost_by, 1);
}

stencil_world *parts_world(void) {
    if (world == NULL)
        world = stencil_mpi_begin(lose, 300);
    return world;
}

void parts_world_end(void) {
    stencil_mpi_end(world);
}
