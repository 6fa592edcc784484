/* The files of GPUs in solver/machine/tuning/, which the build lists. */
#include "solver/machine/tuned.h"

#define STENCIL_TUNED_GPU(name)                          STENCIL_TUNED_FILE(name),
#define STENCIL_TUNED(type, member, value, date, figure) STENCIL_TUNED_ROW(member, value),

const stencil_tuned_row stencil_tuned_rows[] = {
#include "tuned_gpus.inc"
    {0},
};
