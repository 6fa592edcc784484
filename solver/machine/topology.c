/* Finds the processors near a device and pins threads to them, as Linux says in sysfs: a library that reads
 * the whole topology takes a tenth of a second on a large host, once for each run. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pthread_setaffinity_np */
#endif
#include "solver/machine/machine.h"

#include <ctype.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct stencil_pin {
    cpu_set_t before;
};

/* The line in a file of the device, "" where there is none. */
static void read_line(const char *bus_id, const char *name, char *line, size_t size) {
    char path[128];
    int length = snprintf(path, sizeof path, "/sys/bus/pci/devices/%.40s/%.40s", bus_id, name);
    for (int i = 0; i < length; i++) /* CUDA says 3B where Linux says 3b */
        path[i] = (char)tolower((unsigned char)path[i]);
    FILE *file = fopen(path, "r");
    if (file == NULL || fgets(line, (int)size, file) == NULL)
        line[0] = '\0';
    if (file != NULL)
        fclose(file);
    line[strcspn(line, "\n")] = '\0';
}

/* Reads from a list such as "0-31,64-95" the processors that are `allowed`. */
static void read_list(const char *list, const cpu_set_t *allowed, cpu_set_t *processors) {
    CPU_ZERO(processors);
    while (isdigit((unsigned char)*list)) {
        char *end;
        const long first = strtol(list, &end, 10), last = *end == '-' ? strtol(end + 1, &end, 10) : first;
        for (long i = first; i <= last && i < CPU_SETSIZE; i++)
            if (CPU_ISSET((size_t)i, allowed))
                CPU_SET((size_t)i, processors);
        list = end + (*end == ',');
    }
}

stencil_pin *stencil_pin_near(const char *bus_id) {
    char list[1024];
    cpu_set_t near;
    stencil_pin *pin = malloc(sizeof *pin);
    if (pin == NULL)
        return NULL;
    read_line(bus_id, "local_cpulist", list, sizeof list);
    if (pthread_getaffinity_np(pthread_self(), sizeof pin->before, &pin->before) == 0) {
        read_list(list, &pin->before, &near);
        if (CPU_COUNT(&near) > 0 && !CPU_EQUAL(&near, &pin->before) &&
            pthread_setaffinity_np(pthread_self(), sizeof near, &near) == 0)
            return pin;
    }
    free(pin);
    return NULL;
}

void stencil_pin_release(stencil_pin *pin) {
    if (pin == NULL)
        return;
    pthread_setaffinity_np(pthread_self(), sizeof pin->before, &pin->before);
    free(pin);
}

void stencil_topology_near(const char *bus_id, char *processors, size_t size, int *numa_node) {
    char node[32];
    read_line(bus_id, "local_cpulist", processors, size);
    read_line(bus_id, "numa_node", node, sizeof node);
    *numa_node = isdigit((unsigned char)node[0]) ? atoi(node) : -1;
}
