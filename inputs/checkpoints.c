#include "inputs/checkpoints.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inputs/result_names.h"

stencil_status stencil_checkpoint_name(const char *output, bool before, char name[PATH_MAX]) {
    CHECK(stencil_marked_name(output, before ? STENCIL_MARK_BEFORE : STENCIL_MARK_CHECKPOINT, name), USAGE,
          "'%s' is too long for the names of its checkpoints: give --output FILE", output);
    return STENCIL_OK;
}

bool stencil_checkpoint_is_last(const char *path, char before[PATH_MAX]) {
    const size_t stem = stencil_stem_length(path),
                 kept = stencil_unmarked_length(path, stem, STENCIL_MARK_CHECKPOINT);
    if (kept == stem)
        return false;
    const int length =
        snprintf(before, PATH_MAX, "%.*s%s%s", (int)kept, path, STENCIL_MARK_BEFORE, path + stem);
    return length > 0 && length < PATH_MAX;
}

void stencil_checkpoint_result(const char *path, char name[PATH_MAX]) {
    const size_t stem = stencil_stem_length(path);
    size_t kept = stencil_unmarked_length(path, stem, STENCIL_MARK_BEFORE);
    if (kept == stem)
        kept = stencil_unmarked_length(path, stem, STENCIL_MARK_CHECKPOINT);
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
    TRY(stencil_sink_check(c->before, true, NULL, false)); /* open_room() checks the other name */
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
    if (status == STENCIL_OK) /* memory of the system that nobody reads, and that a removal would free */
        (void)posix_fadvise(file->sink.fd, 0, 0, POSIX_FADV_DONTNEED);
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

void stencil_checkpoints_remove_older(const stencil_checkpoints *c) {
    unlink(c->before);
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
