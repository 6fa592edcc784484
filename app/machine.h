/* Machine that a command uses or predicts for, with its calibration; and cache files of later use, which can
 * be deleted at any time: in $XDG_CACHE_HOME/stencil, or ~/.cache/stencil. */
#pragma once

#include <jansson.h>

#include "app/text.h"
#include "solver/machine/machine.h"

/* Finds the machine that the file `path` describes; NULL: the local machine, with a calibration from this
 * user's cache if there is one. threads 0: threads_default(). Adds a note on each file that was ignored. */
stencil_status machine_find(stencil_machine *machine, const char *path, int64_t threads, int streams,
                            stencil_notes *notes);

/* Calibrates a machine by measurements within `seconds`, with a line of progress on a terminal unless
 * `quiet`. Errors: INTERRUPTED by a caught signal; UNAVAILABLE where a quarter of the times have a relative
 * spread above `noise`. */
stencil_status machine_calibrate(stencil_machine *machine, bool gpu, double seconds, double noise,
                                 bool quiet);
#define MACHINE_CALIBRATION_S 8
#define MACHINE_NOISE_PERCENT 10

/* Stores a calibration in this user's cache for later commands. Errors: CANNOT_CREATE, IO. */
stencil_status machine_keep_costs(const stencil_machine *machine, bool gpu);

/* Return the device of a calibration: "1 x NVIDIA H200"; and the build that it is valid for: "stencil
 * 0.2.0 5f6f477d9a1b, driver 13.0". */
const char *machine_device(const stencil_machine *machine, bool gpu, char text[160]);
const char *machine_build(const stencil_machine *machine, bool gpu, char text[96]);

/* Returns the path of a file in this user's cache; "" where there is no cache directory. */
const char *cache_path(const char *name, char path[TEXT_NAME_SIZE]);

/* Reads a cache file of this kind ("calibration") and key (machine and build; NULL: any). *body, an object,
 * is owned by the caller, NULL where there is no such file. Errors: BAD_DATA: damaged, or another kind of
 * file; UNAVAILABLE: of another version or key; NO_INPUT, NO_MEMORY: cannot be read. */
stencil_status cache_open(const char *path, const char *kind, const char *key, json_t **body);

/* Reads a cache file as cache_open() and returns its body; NULL, with a note of one line, on failure. */
json_t *cache_read(const char *path, const char *kind, const char *key, stencil_notes *notes);

/* Writes a cache file, whose member "body" is `body` (consumed), and its directory where missing. The file
 * appears whole, and replaces an older one. Errors: CANNOT_CREATE, IO. */
stencil_status cache_write(const char *path, const char *kind, const char *key, json_t *body);

/* Locks a cache file against other processes between a read and the next write, if the file system has locks;
 * *lock is for cache_unlock(). Errors: UNAVAILABLE: locked by others for over a second, or a signal came. */
stencil_status cache_lock(const char *path, int *lock);
void cache_unlock(int lock);
