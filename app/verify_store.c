#define _GNU_SOURCE /* O_TMPFILE */
#include "app/verify_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/text.h"

/* Bytes that the reference has for a cell at most. */
static int64_t cell_bytes(const reference *base, const stencil_problem *problem) {
    const stencil_spec *spec = &problem->spec;
    const bool kinds = spec->fixed || spec->classed || spec->insulated || spec->driven_count > 0;
    enum { FIELDS = 2, KINDS = 6, WALLS = 6, COEFFICIENTS = 9 * sizeof(double) };
    const int64_t arrays = FIELDS + stencil_problem_sum_arrays(problem) + 1;
    return arrays * (int64_t)stencil_precision_bytes(base->precision) + (kinds ? KINDS : 0) + WALLS +
           (spec->has_k ? COEFFICIENTS : 0);
}

slab_plan slab_plan_make(const reference *base, const stencil_problem *problem, int64_t bytes) {
    enum { LEAST_SHARE = 8, STEPS_MOST = 32 };
    const int64_t n = base->extent[base->axis], line = reference_cells(base) / n * cell_bytes(base, problem),
                  around = base->around;
    const int64_t left = stencil_memory_available_bytes(),
                  buffers = 2 * stencil_smaller(n * line, STENCIL_SLAB_BYTES);
    if (bytes == 0)
        bytes = n * line + buffers <= left ? n * line : left / 2;
    if (n * line <= bytes)
        return (slab_plan){.slabs = 1, .lines = n, .steps = 1};
    /* Lines around a slab are a quarter of it at most, unless it is as thin as that. */
    const int64_t held = bytes / line, deep = around > 0 ? held / (LEAST_SHARE * around) : STEPS_MOST,
                  steps = deep < 1 ? 1 : stencil_smaller(deep, STEPS_MOST), own = held - 2 * steps * around;
    const int64_t lines = own > 0 ? own : 1;
    return (slab_plan){.slabs = (n + lines - 1) / lines, .lines = lines, .steps = steps};
}

/* Opens a file that has no name, or that has lost it. */
static int open_nameless(const char *directory) {
    const int file = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file >= 0)
        return file;
    char *name = strdup(TEXT_LONG("%s/stencil-XXXXXX", directory));
    const int named = name == NULL ? -1 : mkostemp(name, O_CLOEXEC);
    if (named >= 0)
        unlink(name);
    free(name);
    return named;
}

stencil_status slab_store_open(slab_store *store) {
    const char *temporary = getenv("TMPDIR"),
               *directory = temporary != NULL && temporary[0] != '\0' ? temporary : "/var/tmp";
    for (int which = 0; which < 2; which++) {
        store->file[which] = open_nameless(directory);
        CHECK(
            store->file[which] > 0, CANNOT_CREATE,
            "cannot create a file for lines that have no room in memory in '%s': %s; give another directory "
            "as TMPDIR",
            directory, strerror(errno));
    }
    return STENCIL_OK;
}

void slab_store_close(slab_store *store) {
    for (int which = 0; which < 2; which++)
        if (store->file[which] > 0)
            close(store->file[which]);
    *store = (slab_store){0};
}

/* Moves bytes of a file, all of them. */
static stencil_status move(int file, bool writes, char *data, int64_t bytes, int64_t at) {
    while (bytes > 0) {
        const ssize_t moved =
            writes ? pwrite(file, data, (size_t)bytes, at) : pread(file, data, (size_t)bytes, at);
        if (moved < 0 && errno == EINTR)
            continue;
        CHECK(moved > 0, IO, "the temporary file of lines: %s",
              moved < 0 ? strerror(errno) : "it is too short");
        data += moved;
        at += moved;
        bytes -= moved;
    }
    return STENCIL_OK;
}

stencil_status slab_store_put(const slab_store *store, int which, const slab *s, const void *field) {
    const reference *r = &s->reference;
    const int64_t line = slab_line_bytes(s);
    return move(store->file[which], true, (char *)field + (r->first - r->begin) * line,
                (r->end - r->first) * line, r->first * line);
}

stencil_status slab_store_get(const slab_store *store, int which, const slab *s, void *field) {
    const reference *r = &s->reference;
    const int64_t n = r->extent[r->axis], line = slab_line_bytes(s);
    for (int64_t at = 0, count; at < r->held; at += count) { /* a periodic axis goes round */
        const int64_t from = (r->begin + at + n) % n;
        count = stencil_smaller(r->held - at, n - from);
        TRY(move(store->file[which], false, (char *)field + at * line, count * line, from * line));
    }
    return STENCIL_OK;
}
