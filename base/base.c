#include "base/base.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

size_t stencil_precision_bytes(stencil_precision precision) {
    return precision == STENCIL_FLOAT64 ? sizeof(double) : sizeof(float);
}

const char *stencil_precision_name(stencil_precision precision) {
    return precision == STENCIL_FLOAT64 ? "float64" : "float32";
}

bool stencil_multiply(int64_t a, int64_t b, int64_t *product) {
    return !__builtin_mul_overflow(a, b, product);
}

double stencil_clock_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* First number behind `key` in a file of the kernel's; INT64_MAX where there is none ("max" included). */
static int64_t kernel_number(const char *path, const char *key) {
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return INT64_MAX;
    char line[256];
    int64_t number = INT64_MAX;
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, key, strlen(key)) == 0 && sscanf(line + strlen(key), "%" SCNd64, &number) == 1)
            break;
    }
    fclose(file);
    return number;
}

int64_t stencil_memory_available_bytes(void) {
    int64_t available = kernel_number("/proc/meminfo", "MemAvailable:");
    if (available != INT64_MAX)
        available *= 1024;
    const int64_t limit = kernel_number("/sys/fs/cgroup/memory.max", "");
    const int64_t used = kernel_number("/sys/fs/cgroup/memory.current", "");
    if (limit != INT64_MAX && used != INT64_MAX && limit - used < available)
        available = limit - used;
    return available;
}

stencil_status stencil_memory_alloc(void **memory, int64_t size_bytes, const char *what) {
    const int64_t page = 4096;
    *memory = NULL;
    const int64_t have = stencil_memory_available_bytes();
    char need_text[32], have_text[32];
    CHECK(size_bytes >= 0 && size_bytes < have - page, NO_MEMORY, "%s needs %s of host memory, %s available",
          what, stencil_bytes_text(size_bytes, need_text), stencil_bytes_text(have, have_text));
    const int64_t rounded = (size_bytes + page - 1) / page * page;
    char *bytes = aligned_alloc((size_t)page, (size_t)(rounded ? rounded : page));
    CHECK(bytes != NULL, NO_MEMORY, "%s needs %s of host memory, %s available", what, need_text, have_text);
    /* The first touch places a page near the thread that will sweep it. */
#pragma omp parallel for schedule(static)
    for (int64_t at = 0; at < rounded; at += page)
        memset(bytes + at, 0, (size_t)page);
    *memory = bytes;
    return STENCIL_OK;
}

const char *stencil_bytes_text(int64_t bytes, char text[32]) {
    static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    size_t u = 0;
    while (value >= 1024.0 && u + 1 < sizeof unit / sizeof *unit) {
        value /= 1024.0;
        u++;
    }
    snprintf(text, 32, u == 0 ? "%.0f %s" : "%.2f %s", value, unit[u]);
    return text;
}
