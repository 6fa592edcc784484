/* The values behind options: one parser per type. */
#ifndef STENCIL_APP_OPTION_VALUES_H
#define STENCIL_APP_OPTION_VALUES_H

#include "app/options.h"

/* The index-th name that an option accepts, NULL behind the last one. */
const char *option_choice(const option *option, int index);

/* Sets *target to "not given" for the option's type. */
void option_clear(const option *option, void *target);

/* Reads `text` into *target. USAGE with the option, the text and what is accepted. */
stencil_status option_read(const option *option, const char *text, void *target);

#endif
