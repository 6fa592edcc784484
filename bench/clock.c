#include "bench/clock.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/device.h"

static double cpu_clock_hz(void) {
    FILE *file = fopen("/proc/cpuinfo", "r");
    double highest = NAN, mhz;
    char line[512];
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "cpu MHz : %lf", &mhz) == 1 && mhz > 0)
            highest = fmax(highest, 1e6 * mhz); /* NaN gives way */
    if (file != NULL)
        fclose(file);
    return highest;
}

stencil_status stencil_clock_seen(stencil_bench *b, int gpu, double *hz) {
#ifdef STENCIL_HAVE_CUDA
    if (b->options->backend == STENCIL_BACKEND_GPU)
        return stencil_device_clock(b, gpu, hz);
#endif
    (void)b, (void)gpu;
    *hz = cpu_clock_hz();
    return STENCIL_OK;
}

const char *stencil_kernel_driver(void) {
    static char version[32];
    char line[256];
    FILE *file = fopen("/proc/driver/nvidia/version", "r");
    if (file == NULL)
        return "";
    /* "NVRM version: NVIDIA UNIX … Kernel Module … 580.65.06  Release Build …": the first such number. */
    if (fgets(line, sizeof line, file) != NULL)
        for (char *word = strtok(line, " \t\n"); word != NULL && version[0] == '\0';
             word = strtok(NULL, " \t\n"))
            if (word[0] != '.' && strchr(word, '.') != NULL && strspn(word, "0123456789.") == strlen(word))
                snprintf(version, sizeof version, "%s", word);
    fclose(file);
    return version;
}
