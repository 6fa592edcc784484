/* Where processors and devices stand, from hwloc. */
#ifndef STENCIL_SOLVER_MACHINE_TOPOLOGY_H
#define STENCIL_SOLVER_MACHINE_TOPOLOGY_H

#include "base/base.h"

/* What a pinned thread needs to get back to where it was: a bitmap of hwloc, the processors there. */
typedef struct hwloc_bitmap_s stencil_pin;

/* Pins the calling thread to the processors near the PCI device `bus_id` ("0000:3b:00.0"). NULL where that
 * cannot be done or makes no difference. */
stencil_pin *stencil_pin_near(const char *bus_id);

/* Lets the calling thread run where it ran before; NULL-safe. */
void stencil_pin_release(stencil_pin *pin);

/* Processors near a PCI device as a list ("0-31,64-95") and the number of their NUMA node; "" and -1:
 * unknown. */
void stencil_topology_near(const char *bus_id, char *processors, size_t size, int *numa_node);

#endif
