/* The processes (ranks) that make a run together, and how they reach each other. Knows of no library for
 * messages: a folder above the solver fills in the functions (mpi/). Where a process is the only one, as
 * everywhere without a launcher, all of it costs nothing.
 *
 * All ranks call the functions of a world in the same order, from the thread that made it. A function returns
 * when it has done its part; where another rank is gone or stands still, it does not return: the world ends
 * this one, too. A rank that computes, reads or writes for long does not stand still. */
#pragma once

#include "base/base.h"

typedef struct stencil_world stencil_world;

/* A message of an exchange, to another rank or from there. The bytes stay where they are between exchanges.
 */
typedef struct stencil_message {
    int peer;
    bool sent; /* else received */
    void *data;
    size_t bytes;
} stencil_message;

/* Messages that are set up once and then travel many times. */
typedef struct stencil_exchange stencil_exchange;

/* A file that a rank has open to write bytes of its own, as the others have. */
typedef struct stencil_file stencil_file;

/* Stretches of a file, count[0] times count[1] of `bytes` bytes: the first one begins at `offset`, and each
 * axis of them has a stride. In memory they follow each other without gaps. */
typedef struct stencil_stretches {
    int64_t offset, bytes, count[2], stride[2];
} stencil_stretches;

/* The functions of a world, see those of stencil_world_…() for what they do. */
typedef struct stencil_world_functions {
    uint64_t (*any)(stencil_world *world, uint64_t bits);
    double (*largest)(stencil_world *world, double value);
    void (*tell)(stencil_world *world, int root, void *data, size_t bytes);
    void (*send)(stencil_world *world, int to, const void *data, size_t bytes);
    void (*receive)(stencil_world *world, int from, void *data, size_t bytes);
    stencil_status (*open)(stencil_world *world, const stencil_message *message, int count,
                           stencil_exchange **exchange);
    void (*start)(stencil_exchange *exchange);
    void (*finish)(stencil_exchange *exchange);
    void (*close)(stencil_exchange *exchange);
    void (*set_timeout)(stencil_world *world, double s);
    void (*meet)(stencil_world *world);
    stencil_file *(*open_file)(stencil_world *world, const char *path);
    int (*write_file)(stencil_file *file, const stencil_stretches *to, const void *data);
    int (*close_file)(stencil_file *file);
} stencil_world_functions;

struct stencil_world {
    const stencil_world_functions *call;
    int rank, ranks;             /* this one, of so many */
    int local_rank, local_ranks; /* this one among those on its host, and how many these are */
    int host;                    /* the first rank on this host */
    bool sends_device_memory;    /* messages may lie in the memory of a GPU */
    double rank_timeout_s;       /* a rank that gives no sign of life for longer is given up, and all end */
    double delay_s;   /* for tests: messages of exchanges opened from now on arrive so much later */
    bool knows_error; /* all ranks know of an error, which each returns: of the last stage that they ended */
};

/* The default of rank_timeout_s. */
#define STENCIL_RANK_TIMEOUT_S 60.0

/* Tells whether this process is the only one; `world` may be NULL, which means the same. */
static inline bool stencil_world_alone(const stencil_world *world) {
    return world == NULL || world->ranks == 1;
}
/* Tells whether this process speaks for all: it is the only one, or rank 0. */
static inline bool stencil_world_leads(const stencil_world *world) {
    return world == NULL || world->rank == 0;
}

/* Sets world->rank_timeout_s, alike in all ranks. */
void stencil_world_set_timeout(stencil_world *world, double s);

/* any: returns the bits that any rank has set. largest: returns the largest of the values of all ranks. */
uint64_t stencil_world_any(stencil_world *world, uint64_t bits);
double stencil_world_largest(stencil_world *world, double value);

/* Measures, by all ranks at once, the seconds of a message of so many bytes from each rank to the next one; a
 * quartile, since others may use the processors, too; of the slowest rank. *s is 0 for a process alone.
 * Errors: NO_MEMORY. */
stencil_status stencil_world_measure(stencil_world *world, size_t bytes, double *s);

/* Returns when all ranks have called it. */
void stencil_world_meet(stencil_world *world);

/* Gives all ranks the bytes of rank `root`. */
void stencil_world_tell(stencil_world *world, int root, void *data, size_t bytes);

/* Send bytes to another rank, which receives as many. */
void stencil_world_send(stencil_world *world, int to, const void *data, size_t bytes);
void stencil_world_receive(stencil_world *world, int from, void *data, size_t bytes);

/* Sets up `count` messages, in an order that both ends share; their memory is borrowed. *exchange is NULL
 * where there are none, as for the other functions. start: messages begin to travel; finish: they have
 * arrived. Errors: NO_MEMORY. */
stencil_status stencil_exchange_open(stencil_world *world, const stencil_message *message, int count,
                                     stencil_exchange **exchange);
void stencil_exchange_start(stencil_world *world, stencil_exchange *exchange);
void stencil_exchange_finish(stencil_world *world, stencil_exchange *exchange);
void stencil_exchange_close(stencil_world *world, stencil_exchange *exchange);

/* Opens a file that rank 0 has made; NULL, in all ranks, where not all of them find it by this name. */
stencil_file *stencil_world_open_file(stencil_world *world, const char *path);

/* write: writes stretches, by this rank alone. close: has all that this rank wrote reach the disk, and closes
 * the file. Return 0, or the errno of a failure. */
int stencil_world_write_file(stencil_world *world, stencil_file *file, const stencil_stretches *to,
                             const void *data);
int stencil_world_close_file(stencil_world *world, stencil_file *file);

/* Ends a stage of which each rank has its own status: OK where all are, else the error of the first rank that
 * has one, with its number where others have none. */
stencil_status stencil_world_agree(stencil_world *world, stencil_status status);

/* Ends a stage of rank 0 alone, which others wait for: all return its status, with its error. */
stencil_status stencil_world_heed(stencil_world *world, stencil_status status);
