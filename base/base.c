#include "base/base.h"

#include <stdio.h>
#include <time.h>

size_t stencil_precision_bytes(stencil_precision precision) {
    return precision == STENCIL_FLOAT64 ? sizeof(double) : sizeof(float);
}

const char *const stencil_precision_names[] = {"float32", "float64", NULL};

const char *stencil_precision_name(stencil_precision precision) {
    return stencil_precision_names[precision];
}

bool stencil_multiply(int64_t a, int64_t b, int64_t *product) {
    return !__builtin_mul_overflow(a, b, product);
}

double stencil_clock_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

const char *stencil_plural(int64_t count) {
    return count == 1 ? "" : "s";
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
