/* Which processors are near a device, as hwloc says, and how a thread is pinned to them. */
#include "solver/machine/machine.h"

#include <hwloc.h>
#include <pthread.h>

static hwloc_topology_t topology;
static pthread_once_t loaded = PTHREAD_ONCE_INIT;

/* Read once and kept: it takes some milliseconds. */
static void load(void) {
    if (hwloc_topology_init(&topology) != 0)
        topology = NULL;
    if (topology == NULL)
        return;
    hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    if (hwloc_topology_load(topology) != 0) {
        hwloc_topology_destroy(topology);
        topology = NULL;
    }
}

/* The smallest part of the machine that holds processors and is near the device. */
static hwloc_obj_t near(const char *bus_id) {
    pthread_once(&loaded, load);
    if (topology == NULL)
        return NULL;
    const hwloc_obj_t device = hwloc_get_pcidev_by_busidstring(topology, bus_id);
    return device != NULL ? hwloc_get_non_io_ancestor_obj(topology, device) : NULL;
}

stencil_pin *stencil_pin_near(const char *bus_id) {
    const hwloc_obj_t place = near(bus_id);
    const hwloc_bitmap_t before = place != NULL ? hwloc_bitmap_alloc() : NULL;
    if (before != NULL && hwloc_get_cpubind(topology, before, HWLOC_CPUBIND_THREAD) == 0 &&
        hwloc_set_cpubind(topology, place->cpuset, HWLOC_CPUBIND_THREAD) == 0)
        return before;
    hwloc_bitmap_free(before);
    return NULL;
}

void stencil_pin_release(stencil_pin *pin) {
    if (pin == NULL)
        return;
    hwloc_set_cpubind(topology, pin, HWLOC_CPUBIND_THREAD);
    hwloc_bitmap_free(pin);
}

void stencil_topology_near(const char *bus_id, char *processors, size_t size, int *numa_node) {
    const hwloc_obj_t place = near(bus_id);
    processors[0] = '\0';
    *numa_node = -1;
    if (place == NULL)
        return;
    hwloc_bitmap_list_snprintf(processors, size, place->cpuset);
    *numa_node = hwloc_bitmap_first(place->nodeset);
}
