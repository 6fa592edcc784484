/* Processors near a device, as the system says it. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pthread_getaffinity_np */
#endif
#include <glob.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "solver/machine/machine.h"

static void no_such_device(void **state) {
    char processors[64] = "left";
    int node = 7;
    (void)state;
    stencil_topology_near("ffff:ff:ff.f", processors, sizeof processors, &node);
    assert_string_equal(processors, "");
    assert_int_equal(node, -1);
    assert_null(stencil_pin_near("ffff:ff:ff.f"));
    stencil_pin_release(NULL);
}

/* Every device here: the system's list, from a name as CUDA writes it; a thread stays where it may run, and
 * comes back. */
static void devices_here(void **state) {
    glob_t found = {0};
    (void)state;
    if (glob("/sys/bus/pci/devices/*/local_cpulist", 0, NULL, &found) != 0)
        skip();
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char bus_id[64], list[1024] = "", processors[1024];
        int node;
        cpu_set_t before, pinned, common, after;
        FILE *file = fopen(found.gl_pathv[i], "r");
        assert_non_null(file);
        assert_true(fscanf(file, "%1023s", list) <= 1);
        fclose(file);
        assert_int_equal(sscanf(found.gl_pathv[i], "/sys/bus/pci/devices/%63[^/]", bus_id), 1);
        for (char *c = bus_id; *c != '\0'; c++)
            *c = (char)(*c >= 'a' && *c <= 'f' ? *c - 'a' + 'A' : *c);
        stencil_topology_near(bus_id, processors, sizeof processors, &node);
        assert_string_equal(processors, list);
        assert_int_equal(pthread_getaffinity_np(pthread_self(), sizeof before, &before), 0);
        stencil_pin *pin = stencil_pin_near(bus_id);
        assert_int_equal(pthread_getaffinity_np(pthread_self(), sizeof pinned, &pinned), 0);
        CPU_AND(&common, &pinned, &before);
        assert_true(CPU_EQUAL(&common, &pinned));
        assert_true(pin == NULL ? CPU_EQUAL(&pinned, &before) : CPU_COUNT(&pinned) < CPU_COUNT(&before));
        stencil_pin_release(pin);
        assert_int_equal(pthread_getaffinity_np(pthread_self(), sizeof after, &after), 0);
        assert_true(CPU_EQUAL(&after, &before));
    }
    globfree(&found);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_such_device), cmocka_unit_test(devices_here)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
