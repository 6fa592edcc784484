/* Reads the files of tuned constants in solver/machine/tuning/, and writes one for a new GPU. */
#pragma once

#include <stdio.h>

#include "solver/machine/tuning.h"

/* Members of a tuning, in the order of default.def; a row without a name ends them. */
typedef struct stencil_tuned_member {
    const char *name, *type;
    size_t offset;
} stencil_tuned_member;
extern const stencil_tuned_member stencil_tuned_members[];

/* The member (a stencil_sync_us) of stencil_tuning for a strategy: "sync_" and its name, or, where there is
 * none, that of all launches or, if `persistent`, of all barriers. */
const stencil_tuned_member *stencil_tuned_sync(const char *strategy, bool persistent);

/* The files of all GPUs as rows: a row with the name of a GPU begins its file, the rows after it are the
 * GPU's values, and an empty row ends the table. Tests replace the table by their own. */
typedef struct stencil_tuned_row {
    const char *gpu;
    size_t offset, size;
    const stencil_tuning *holds; /* the value, where it is in a tuning */
} stencil_tuned_row;
extern const stencil_tuned_row stencil_tuned_rows[];

/* The rows that STENCIL_TUNED_GPU() and STENCIL_TUNED() of a file become. */
#define STENCIL_TUNED_FILE(name)                                                                             \
    { .gpu = name }
#define STENCIL_TUNED_ROW(member, ...)                                                                       \
    {                                                                                                        \
        .offset = offsetof(stencil_tuning, member), .size = sizeof((stencil_tuning *)NULL)->member,          \
        .holds = &(const stencil_tuning) {                                                                   \
            .member = __VA_ARGS__                                                                            \
        }                                                                                                    \
    }

/* Writes the file of GPU 0 for solver/machine/tuning/: what its costs were calibrated to, with figures, and
 * what then no longer holds in proportion to another GPU. `date` ("2026-11-20") is that of all values. */
struct stencil_machine;
void stencil_tuning_write(FILE *out, const struct stencil_machine *machine, const char *date);
