/* The program of test_ranks is a process of an MPI launcher. */
#include "mpi/mpi_world.h"
#include "parts_world.h"

static stencil_world *world;

stencil_world *parts_world(void) {
    if (world == NULL)
        world = stencil_mpi_begin();
    return world;
}

void parts_world_end(void) {
    stencil_mpi_end(world);
}
