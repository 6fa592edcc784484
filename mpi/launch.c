#include "mpi/watch.h"

#include <stdlib.h>
#include <string.h>

#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

/* Finds the ranks of this host, which MPI knows whatever the launcher. */
static void find_host(stencil_world *world) {
    MPI_Comm host;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, world->rank, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &world->local_rank);
    MPI_Comm_size(host, &world->local_ranks);
    world->host = world->rank;
    MPI_Bcast(&world->host, 1, MPI_INT, 0, host);
    MPI_Comm_free(&host);
}

/* Tells whether this MPI says that it takes messages from the memory of NVIDIA GPUs; $STENCIL_MPI_MEMORY,
 * `device` or `host`, decides in its place. */
static bool sends_device_memory(void) {
    const char *const told = getenv("STENCIL_MPI_MEMORY");
    if (told != NULL && (strcmp(told, "device") == 0 || strcmp(told, "host") == 0))
        return told[0] == 'd';
#if defined MPIX_CUDA_AWARE_SUPPORT && MPIX_CUDA_AWARE_SUPPORT
    return MPIX_Query_cuda_support() == 1;
#elif defined MPIX_GPU_SUPPORT_CUDA
    int supported = 0;
    return MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &supported) == MPI_SUCCESS && supported != 0;
#else
    return false;
#endif
}

/* Makes the world's members, and begins the watch. */
static bool make_world(stencil_world *world) {
    *world = (stencil_world){.call = &stencil_mpi_functions, .rank_timeout_s = STENCIL_RANK_TIMEOUT_S};
    MPI_Comm_rank(MPI_COMM_WORLD, &world->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world->ranks);
    find_host(world);
    world->sends_device_memory = sends_device_memory();
    return stencil_watch_begin(world);
}

stencil_world *stencil_mpi_begin(stencil_mpi_lost *lost, double begin_s) {
    static stencil_world world;
    int provided;
    if (!stencil_watch_init(lost, begin_s))
        return NULL;
    const bool made = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided) == MPI_SUCCESS &&
                      provided >= MPI_THREAD_SERIALIZED && make_world(&world);
    stencil_watch_begun();
    return made ? &world : NULL;
}

void stencil_mpi_end(stencil_world *world) {
    (void)world;
    stencil_watch_end();
    MPI_Finalize();
    stencil_watch_ended();
}

void stencil_mpi_abort(stencil_world *world, int exit_code) {
    (void)world;
    if (!stencil_watch_has_lost()) /* the thread that has lost one calls MPI already */
        stencil_watch_enter();
    MPI_Abort(MPI_COMM_WORLD, exit_code);
    _Exit(exit_code);
}
