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

#ifdef STENCIL_HAVE_CUDA
static stencil_status gpu_clock_hz(stencil_bench *b, int gpu, double *hz) {
    const stencil_device null_stream = {.gpu = gpu};
    int64_t seen[2], *device;
    TRY_CUDA(cudaSetDevice(gpu));
    TRY(stencil_device_memory(b, &device, sizeof seen));
    TRY(stencil_device_launch(&null_stream, stencil_clock_kernel, 1, 1, (void *[]){&device}));
    TRY(stencil_device_read(&null_stream, seen, device, sizeof seen));
    CHECK(seen[0] > 0 && seen[1] > 0, INTERNAL, "the clocks of the GPU do not run");
    *hz = 1e9 * (double)seen[0] / (double)seen[1];
    return STENCIL_OK;
}
#else
static stencil_status gpu_clock_hz(stencil_bench *b, int gpu, double *hz) {
    (void)b, (void)hz;
    FAIL(UNAVAILABLE, "GPU %d: built without CUDA", gpu);
}
#endif

stencil_status stencil_clock_seen(stencil_bench *b, int gpu, double *hz) {
    if (b->options->backend == STENCIL_BACKEND_GPU)
        return gpu_clock_hz(b, gpu, hz);
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
