#include "app/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "app/json.h"
#include "app/progress.h"
#include "app/options.h"
#include "app/signals.h"
#include "bench/revision.h"
#include "solver/run/calibrate.h"

enum { CACHE_VERSION = 1 };

const char *cache_path(const char *name, char path[TEXT_NAME_SIZE]) {
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    path[0] = '\0';
    /* The XDG Base Directory Specification says that relative paths are ignored. */
    if (base != NULL && base[0] == '/')
        snprintf(path, TEXT_NAME_SIZE, "%.3900s/stencil/%s", base, name);
    else if (home != NULL && home[0] == '/')
        snprintf(path, TEXT_NAME_SIZE, "%.3900s/.cache/stencil/%s", home, name);
    return path;
}

/* Makes the missing directories of a file's path. */
static void make_directories(const char *path) {
    char directory[TEXT_NAME_SIZE];
    snprintf(directory, sizeof directory, "%s", path);
    for (char *slash = strchr(directory + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(directory, 0777);
        *slash = '/';
    }
}

static bool is_text(const json_t *root, const char *name, const char *wanted) {
    const char *text = json_string_value(json_object_get(root, name));
    return text != NULL && strcmp(text, wanted) == 0;
}

static stencil_status check(const json_t *root, const char *kind, const char *key) {
    CHECK(is_text(root, "kind", kind), BAD_DATA, "it is something else");
    CHECK(json_integer_value(json_object_get(root, "schema_version")) == CACHE_VERSION, UNAVAILABLE,
          "another version has written it");
    CHECK(key == NULL || is_text(root, "key", key), UNAVAILABLE, "it is of another device, driver or build");
    CHECK(json_is_object(json_object_get(root, "body")), BAD_DATA, "it holds nothing");
    return STENCIL_OK;
}

stencil_status cache_open(const char *path, const char *kind, const char *key, json_t **body) {
    json_t *root = NULL;
    *body = NULL;
    if (path[0] == '\0' || (access(path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR)))
        return STENCIL_OK;
    stencil_status status = json_read(path, &root);
    if (status == STENCIL_OK)
        status = check(root, kind, key);
    if (status == STENCIL_OK)
        *body = json_incref(json_object_get(root, "body"));
    json_decref(root);
    return status;
}

json_t *cache_read(const char *path, const char *kind, const char *key, stencil_notes *notes) {
    json_t *body;
    if (cache_open(path, kind, key, &body) != STENCIL_OK)
        stencil_notes_add(notes, "%s '%s' is ignored: %s", kind, path, stencil_error_last()->message);
    return body;
}

stencil_status cache_write(const char *path, const char *kind, const char *key, json_t *body) {
    json_t *root = json_pack("{s:i, s:s, s:s*, s:s, s:o}", "schema_version", CACHE_VERSION, "kind", kind,
                             "key", key, "version", STENCIL_VERSION, "body", body);
    make_directories(path);
    return json_write(kind, path, true, root);
}

stencil_status cache_lock(const char *path, int *lock) {
    enum { TRIES = 100, PAUSE_NS = 10000000 };
    make_directories(path);
    *lock = open(TEXT_LONG("%s.lock", path), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
    for (int i = 0; *lock >= 0 && flock(*lock, LOCK_EX | LOCK_NB) != 0; i++) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return STENCIL_OK; /* some file systems have no locks: the caller goes on without one */
        if (i == TRIES || signals_caught != 0) {
            cache_unlock(*lock);
            *lock = -1;
            FAIL(UNAVAILABLE, "another program holds the lock '%s.lock'", path);
        }
        nanosleep(&(struct timespec){0, PAUSE_NS}, NULL);
    }
    return STENCIL_OK;
}

void cache_unlock(int lock) {
    if (lock >= 0)
        close(lock);
}

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
