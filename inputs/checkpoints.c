#include "inputs/checkpoints.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char last_mark[] = ".ckpt", before_mark[] = ".ckpt.prev";

/* Returns the length of a name without its suffix .h5 or .hdf5. */
static size_t stem_of(const char *path) {
    const char *last = stencil_path_last(path), *dot = strrchr(last, '.');
    const bool suffix = dot != NULL && dot > last && (strcmp(dot, ".h5") == 0 || strcmp(dot, ".hdf5") == 0);
    return suffix ? (size_t)(dot - path) : strlen(path);
}

stencil_status stencil_checkpoint_name(const char *output, bool before, char name[PATH_MAX]) {
    const size_t stem = stem_of(output);
    const int length =
        snprintf(name, PATH_MAX, "%.*s%s%s", (int)stem, output, before ? before_mark : last_mark,
                 output[stem] != '\0' ? output + stem : ".h5");
    CHECK(length > 0 && length < PATH_MAX, USAGE,
          "'%s' is too long for the names of its checkpoints: give --output FILE", output);
    return STENCIL_OK;
}

bool stencil_checkpoint_is_last(const char *path, char before[PATH_MAX]) {
    const size_t stem = stem_of(path), mark = sizeof last_mark - 1;
    if (stem <= mark || strncmp(path + stem - mark, last_mark, mark) != 0)
        return false;
    const int length =
        snprintf(before, PATH_MAX, "%.*s%s%s", (int)(stem - mark), path, before_mark, path + stem);
    return length > 0 && length < PATH_MAX;
}

void stencil_checkpoint_result(const char *path, char name[PATH_MAX]) {
    static const char *const marks[] = {before_mark, last_mark};
    const size_t stem = stem_of(path);
    size_t kept = stem;
    for (int i = 0; i < 2 && kept == stem; i++) {
        const size_t mark = strlen(marks[i]);
        if (stem > mark && strncmp(path + stem - mark, marks[i], mark) == 0)
            kept -= mark;
    }
    snprintf(name, PATH_MAX, "%.*s%s", (int)kept, path, path + stem);
}

/* Opens one more file with its space reserved, as a copy of the begun result. */
static stencil_status open_room(stencil_checkpoints *c) {
    stencil_output *file = &c->room[(c->next + c->rooms) % 2];
    *file = *c->result;
    file->path = c->path;
    file->force = true;
    file->notes = NULL;
    file->result = c->result->path;
    file->sink = (stencil_sink){0};
    stencil_status status = stencil_sink_open(&file->sink, c->path, true, NULL, c->result->known_bytes);
    if (status == STENCIL_OK)
        status = stencil_sink_copy(&file->sink, &c->result->sink);
    if (status != STENCIL_OK)
        stencil_sink_close(&file->sink);
    c->rooms += status == STENCIL_OK;
    return status;
}

stencil_status stencil_checkpoints_open(stencil_checkpoints *c, stencil_output *result,
                                        const stencil_problem *problem, const stencil_reader *from) {
    *c = (stencil_checkpoints){.result = result};
    TRY(stencil_checkpoint_name(result->path, false, c->path));
    TRY(stencil_checkpoint_name(result->path, true, c->before));
    TRY(stencil_output_digest_kept(result, problem, from));
    TRY(open_room(c));
    return open_room(c);
}

/* Gives the last checkpoint the name of the one before, in addition to its own, which a link does without a
 * moment in which neither name has a file; file systems without links rename it. */
static stencil_status keep_last(const stencil_checkpoints *c) {
    /* A process that is killed before the rename leaves this name, hidden as those of temporary files are. */
    char spare[PATH_MAX + 32];
    const char *last = stencil_path_last(c->before);
    snprintf(spare, sizeof spare, "%.*s.%s.%ld", (int)(last - c->before), c->before, last, (long)getpid());
    if (c->drops_last || access(c->path, F_OK) != 0)
        return STENCIL_OK;
    unlink(spare);
    const bool linked = link(c->path, spare) == 0;
    const bool renamed = rename(linked ? spare : c->path, c->before) == 0;
    const int failed = errno;
    if (linked)
        unlink(spare); /* rename() leaves it where both names are of the same file */
    CHECK(renamed, IO, "cannot rename '%s' to '%s': %s", c->path, c->before, strerror(failed));
    return STENCIL_OK;
}

stencil_status stencil_checkpoints_write(stencil_checkpoints *c, const stencil_problem *problem,
                                         const stencil_reader *from, const stencil_report *report) {
    const double start_s = stencil_clock_s();
    if (c->rooms == 0 && open_room(c) != STENCIL_OK) {
        if (access(c->path, F_OK) == 0)
            unlink(c->before);
        TRY(open_room(c));
    }
    stencil_output *file = &c->room[c->next];
    stencil_status status = stencil_output_fill(file, problem, from, report);
    if (status == STENCIL_OK)
        status = keep_last(c);
    if (status == STENCIL_OK)
        status = stencil_sink_commit(&file->sink);
    stencil_sink_close(&file->sink);
    c->next = !c->next;
    c->rooms--;
    TRY(status);
    c->drops_last = false;
    c->count++;
    c->step = report->steps;
    c->done_s = stencil_clock_s();
    c->write_s = c->done_s - start_s;
    if (c->rooms == 0)
        open_room(c); /* without room the next one tries again */
    return STENCIL_OK;
}

void stencil_checkpoints_remove(const stencil_checkpoints *c) {
    unlink(c->path);
    unlink(c->before);
}

void stencil_checkpoints_close(stencil_checkpoints *c) {
    for (int i = 0; i < 2; i++)
        stencil_sink_close(&c->room[i].sink);
    *c = (stencil_checkpoints){0};
}
