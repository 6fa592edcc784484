/* The subcommands; main.c holds their table. */
#ifndef STENCIL_APP_COMMANDS_H
#define STENCIL_APP_COMMANDS_H

#include "app/options.h"

/* Exit code of a run that ended without what was asked of it. */
enum { EXIT_NOT_CONVERGED = 2 };

extern const command command_run;
extern const command command_new;
extern const command command_compare;
extern const command command_verify;
extern const command command_info;
extern const command command_bench;

#endif
