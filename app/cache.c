#include "app/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "app/json.h"
#include "app/signals.h"

enum { CACHE_VERSION = 1 };

const char *cache_path(const char *name, char path[TEXT_NAME_SIZE]) {
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    path[0] = '\0';
    /* The XDG Base Directory Specification: a relative path is to be ignored. */
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
            return STENCIL_OK; /* goes on without a lock: some file systems have none */
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
