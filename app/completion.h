/* stencil completion: scripts by which shells complete commands, options and their values, made from the
 * tables of options. */
#pragma once

#include "app/options.h"

/* Prints the script for a shell ("bash", "zsh" or "fish") to standard output. commands: all subcommands, NULL
 * after the last one. Errors: USAGE where the shell is not known, or NULL. */
stencil_status completion_print(const char *shell, const command *const *commands);
