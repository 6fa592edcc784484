/* The machine that a command is about, with what was measured on it, and files that a run leaves for the next
 * ones, which do not need them: in $XDG_CACHE_HOME/stencil, or ~/.cache/stencil. */
#pragma once

#include <jansson.h>

#include "app/text.h"
#include "solver/machine/machine.h"

/* The machine that the file `path` describes; NULL: this one, with a calibration of this user's cache where
 * there is one. threads: 0, threads_default(). What was ignored is noted. */
stencil_status machine_find(stencil_machine *machine, const char *path, int64_t threads, int streams,
                            stencil_notes *notes);

/* Measures it, within so many seconds, with a line of progress on a terminal unless `quiet`. INTERRUPTED by a
 * signal that was caught; UNAVAILABLE where a quarter of the times spreads by more than the part `noise`. */
stencil_status machine_calibrate(stencil_machine *machine, bool gpu, double seconds, double noise,
                                 bool quiet);
#define MACHINE_CALIBRATION_S 8
#define MACHINE_NOISE_PERCENT 10

/* Keeps what was measured of this machine for later calls. CANNOT_CREATE, IO. */
stencil_status machine_keep_costs(const stencil_machine *machine, bool gpu);

/* Return the device that figures are of: "1 x NVIDIA H200"; and the build that they are valid for: "stencil
 * 0.2.0 5f6f477d9a1b, driver 13.0". */
const char *machine_device(const stencil_machine *machine, bool gpu, char text[160]);
const char *machine_build(const stencil_machine *machine, bool gpu, char text[96]);

/* The path of a file there, or "" where there is no such place (returned). */
const char *cache_path(const char *name, char path[TEXT_NAME_SIZE]);

/* Reads what was written under this kind ("calibration") and key (machine and build); with key NULL any will
 * do. *body, an object, is owned by the caller, NULL where there is no such file. BAD_DATA: it is damaged, or
 * something else; UNAVAILABLE: it is of another version or key; NO_INPUT, NO_MEMORY: it cannot be read. */
stencil_status cache_open(const char *path, const char *kind, const char *key, json_t **body);

/* The same; NULL, with a note of one line, for each of these failures. */
json_t *cache_read(const char *path, const char *kind, const char *key, stencil_notes *notes);

/* Writes it: `body` (consumed) becomes its member "body". The directory is made where it is missing; the file
 * appears whole, in place of an older one. CANNOT_CREATE, IO. */
stencil_status cache_write(const char *path, const char *kind, const char *key, json_t *body);

/* Keeps other processes from between a read and the write behind it, as far as the file system can; *lock is
 * to be given to cache_unlock(). UNAVAILABLE: another one has held it for a second, or a signal came. */
stencil_status cache_lock(const char *path, int *lock);
void cache_unlock(int lock);
