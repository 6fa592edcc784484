/* The ranks that the program of parts.c is run as: of mpi/parts_ranks.c; NULL: none, of parts_alone.c. */
#pragma once

#include "base/world.h"

stencil_world *parts_world(void);
void parts_world_end(void);
