/* Constants of a GPU that its driver does not say, which were measured, in solver/machine/tuning/. All
 * stand in default.def; a GPU has a file with those that differ, which the build finds in that folder. */
#pragma once

#include "base/base.h"

/* Microseconds, as stencil_sync_cost has seconds. */
typedef struct stencil_sync_us {
    double few, all, two, most, check;
} stencil_sync_us;

/* A value of several numbers, as the argument of STENCIL_TUNED(). */
#define STENCIL_LIST(...)                                                                                    \
    { __VA_ARGS__ }

typedef struct stencil_tuning {
#define STENCIL_TUNED(type, name, value, date, figure) type name;
#include "solver/machine/tuning/default.def"
} stencil_tuning;

/* The constants for a GPU ("NVIDIA H200"); false: it has no file, and *tuning is default.def. */
bool stencil_tuning_find(stencil_tuning *tuning, const char *gpu);
