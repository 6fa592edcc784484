/* The program of test_parts is one process. */
#include "parts_world.h"

stencil_world *parts_world(void) {
    return NULL;
}

void parts_world_end(void) {}
