/* The option --boundary: what lies beyond the sides of the field. */
#pragma once

#include "solver/problem/problem.h"

/* Reads the value of --boundary into a spec. Entries, divided by commas, are names of boundaries, one for all
 * axes or one per axis, which replace all that the spec says of its sides, and AXIS=WALL or SIDE=WALL, such
 * as y=periodic and x-=flux:2.5, which go before them. Where an entry is given twice, the last one counts. A
 * wall has its numbers behind it: flux:G, exchange:A:AMBIENT. Errors: USAGE, with what is accepted. */
stencil_status sides_read(const char *text, stencil_spec *spec);

/* Checks that the sides of a spec are those of axes that it has (a rank of 0 is not known yet), and that it
 * has none of its own where the command cannot have them. Errors: USAGE. */
stencil_status sides_check(const stencil_spec *spec, bool may_have);
