/* Ranks watch each other, so that all end where one has died or stands still: each tells the one before it,
 * in a ring, that it lives, from a thread that does so also while the rank computes, reads or writes for
 * long. The calls of MPI of both threads come one after the other (MPI_THREAD_SERIALIZED). Internal to mpi/.
 */
#pragma once

#include <mpi.h>

#include "mpi/mpi_world.h"

/* Watches MPI_Init_thread() and what follows, until stencil_watch_begun(): calls `lost` after
 * begin_s seconds. false where the system starts no thread. */
bool stencil_watch_init(stencil_mpi_lost *lost, double begin_s);
void stencil_watch_begun(void);

/* Begins and ends the watch, between MPI_Init_thread() and MPI_Finalize(). begin: false where the system
 * starts no thread. end: returns when the other ranks have come there; MPI_Finalize() is then watched until
 * stencil_watch_ended(). */
bool stencil_watch_begin(stencil_world *world);
void stencil_watch_end(void);
void stencil_watch_ended(void);

/* The thread that made the world calls MPI between these two. */
void stencil_watch_enter(void);
void stencil_watch_leave(void);

/* Wait for requests, or until the clock shows a time, in between. */
void stencil_watch_wait(int count, MPI_Request *request);
void stencil_watch_wait_until(double s);

/* Waits likewise for a request that writes to a file; returns how many bytes it has written. */
int stencil_watch_wait_written(MPI_Request *request);

/* Tells whether a rank is given up, by the calling thread. */
bool stencil_watch_has_lost(void);

/* Sets world->rank_timeout_s. */
void stencil_watch_set_timeout(stencil_world *world, double s);
