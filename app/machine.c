#include "app/machine.h"

#include <inttypes.h>
#include <math.h>

#include "app/json.h"
#include "app/progress.h"
#include "app/options.h"
#include "app/signals.h"
#include "bench/revision.h"
#include "solver/run/calibrate.h"

const char *machine_device(const stencil_machine *machine, bool gpu, char text[160]) {
    if (gpu)
        snprintf(text, 160, "%d x %s", machine->gpu_count, machine->gpu[0].name);
    else
        snprintf(text, 160, "%d threads, %s, cache %" PRId64, machine->cpu_threads, machine->cpu_isa,
                 machine->cpu_cache_bytes);
    return text;
}

const char *machine_build(const stencil_machine *machine, bool gpu, char text[96]) {
    snprintf(text, 96, "stencil %s %s", STENCIL_VERSION, STENCIL_GIT_REVISION);
    return gpu ? stencil_text_add(text, 96, ", driver %s", TEXT_CUDA(machine->driver_version)) : text;
}

/* Returns the key of a calibration file: device and build. */
static const char *key_text(const stencil_machine *machine, bool gpu, char text[256]) {
    char device[160], build[96];
    snprintf(text, 256, "%s, %s", machine_device(machine, gpu, device), machine_build(machine, gpu, build));
    return text;
}

/* Returns the path of a device's calibration file, named by an FNV-1a hash of the device. */
static const char *costs_path(const stencil_machine *machine, bool gpu, char path[TEXT_NAME_SIZE]) {
    char device[160];
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (const char *c = machine_device(machine, gpu, device); *c != '\0'; c++)
        hash = (hash ^ (uint8_t)*c) * UINT64_C(0x100000001b3);
    return cache_path(TEXT("calibration-%s-%016" PRIx64 ".json", gpu ? "gpu" : "cpu", hash), path);
}

static void read_costs(stencil_machine *machine, bool gpu, stencil_notes *notes) {
    char path[TEXT_NAME_SIZE], key[256];
    stencil_calibration *costs = gpu ? &machine->gpu_costs : &machine->cpu_costs, before = *costs;
    costs_path(machine, gpu, path);
    json_t *body = cache_read(path, "calibration", key_text(machine, gpu, key), notes);
    if (body != NULL && stencil_calibration_read(costs, body) != STENCIL_OK) {
        stencil_notes_add(notes, "calibration '%s' is ignored: %s", path, stencil_error_last()->message);
        *costs = before;
    }
    json_decref(body);
}

stencil_status machine_keep_costs(const stencil_machine *machine, bool gpu) {
    char path[TEXT_NAME_SIZE], key[256];
    CHECK(costs_path(machine, gpu, path)[0] != '\0', CANNOT_CREATE,
          "no place for a calibration: neither XDG_CACHE_HOME nor HOME is set");
    return cache_write(path, "calibration", key_text(machine, gpu, key),
                       stencil_calibration_write(gpu ? &machine->gpu_costs : &machine->cpu_costs));
}

static bool show(void *context, double done, const char *what) {
    progress_say(*(const bool *)context,
                 TEXT("calibrating once for this device: %3.0f %%  %s", 100 * fmin(done, 1), what));
    return signals_caught == 0;
}

stencil_status machine_calibrate(stencil_machine *machine, bool gpu, double seconds, double noise,
                                 bool quiet) {
    const stencil_status status = stencil_calibrate(machine, gpu, seconds, noise, show, &quiet);
    progress_say(quiet, "");
    return status;
}

/* Refuses JSON that is not a machine, and says which command wrote it. */
static stencil_status check_kind(const json_t *root) {
    const char *what = json_what(root);
    const json_t *cpu = json_object_get(root, "cpu");
    CHECK(cpu == NULL || json_is_object(cpu), BAD_DATA, "\"cpu\" is not an object");
    CHECK(cpu != NULL, BAD_DATA, "it is not a machine ('stencil info --json FILE' makes one), but %s",
          what != NULL ? what : "other JSON");
    return STENCIL_OK;
}

static stencil_status read_file(stencil_machine *machine, const char *path) {
    json_t *root = NULL;
    stencil_status status = json_read(path, &root);
    if (status == STENCIL_OK)
        status = check_kind(root);
    if (status == STENCIL_OK)
        status = stencil_machine_read(machine, root);
    json_decref(root);
    return text_prefix(text_name_file(status, path), "--machine");
}

stencil_status machine_find(stencil_machine *machine, const char *path, int64_t threads, int streams,
                            stencil_notes *notes) {
    if (path != NULL) {
        TRY(read_file(machine, path));
        if (threads > 0)
            machine->cpu_threads = (int)threads;
        return STENCIL_OK;
    }
    TRY(threads_start(threads));
    TRY(stencil_machine_probe(machine, streams));
    read_costs(machine, false, notes);
    if (machine->gpu_count > 0)
        read_costs(machine, true, notes);
    return STENCIL_OK;
}
