#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* O_TMPFILE, fallocate, copy_file_range */
#endif

#include "inputs/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/words.h"
#include "inputs/h5.h"

enum { TEMPORARY_NAME_CHARS = 200, TEMPORARY_TRIES = 100 };
/* Space reserved for HDF5's metadata, in addition to values; generous. */
#define METADATA_BYTES ((int64_t)64 << 10)

/* Gives the nameless file a name that no file has. Returns 0, or an errno. */
static int link_nameless(const stencil_sink *sink, const char *name) {
    char descriptor[64];
    snprintf(descriptor, sizeof descriptor, "/proc/self/fd/%d", sink->fd);
    return linkat(AT_FDCWD, descriptor, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

/* Opens a new file .NAME.PID-n.tmp in the directory of sink->path, or gives the open file such a name. */
static stencil_status name_temporary(stencil_sink *sink) {
    const bool is_open = sink->fd >= 0;
    int failed = EEXIST;
    for (int attempt = 0; failed == EEXIST && attempt < TEMPORARY_TRIES; attempt++) {
        snprintf(sink->temporary, sizeof sink->temporary, "%s.%.*s.%ld-%d.tmp", sink->directory,
                 TEMPORARY_NAME_CHARS, stencil_path_last(sink->path), (long)getpid(), attempt);
        if (!is_open)
            sink->fd = open(sink->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        failed = is_open ? link_nameless(sink, sink->temporary) : sink->fd >= 0 ? 0 : errno;
    }
    if (failed != 0)
        sink->temporary[0] = '\0';
    CHECK(failed == 0, CANNOT_CREATE, "cannot write to directory '%s': %s; choose another output file",
          sink->directory, strerror(failed));
    return STENCIL_OK;
}

/* Opens a nameless file, where the file system has such files and /proc can name them later: however this
 * process ends, nothing is left behind, unless other ranks write the file, too. Else opens a temporary file.
 */
static stencil_status open_temporary(stencil_sink *sink) {
    const int length = (int)(stencil_path_last(sink->path) - sink->path);
    snprintf(sink->directory, sizeof sink->directory, "%.*s", length > 0 ? length : 2,
             length > 0 ? sink->path : "./");
    if (access("/proc/self/fd", X_OK) == 0)
        sink->fd = open(sink->directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    return sink->fd >= 0 ? STENCIL_OK : name_temporary(sink);
}

stencil_status stencil_sink_check(const char *path, bool replace, const char *other, bool plain) {
    CHECK(stencil_path_last(path)[0] != '\0', CANNOT_CREATE,
          "'%s' names no file: give the output a file name", path);
    struct stat target, source;
    if (stat(path, &target) != 0) {
        CHECK(errno == ENOENT || errno == ENOTDIR, CANNOT_CREATE, "cannot create '%s': %s", path,
              strerror(errno));
        CHECK(replace || lstat(path, &source) != 0, CANNOT_CREATE,
              "'%s' exists (a link to nothing): use --force to replace it, or choose another output file",
              path);
        return STENCIL_OK;
    }
    CHECK(!S_ISDIR(target.st_mode), CANNOT_CREATE, "'%s' is a directory: give the output a file name", path);
    CHECK(S_ISREG(target.st_mode), CANNOT_CREATE, "'%s' is not a regular file: choose another output file",
          path);
    if (other != NULL && stat(other, &source) == 0 && source.st_dev == target.st_dev &&
        source.st_ino == target.st_ino) {
        CHECK(!plain, CANNOT_CREATE, "'%s' is the input file: choose another output file", path);
        CHECK(replace, CANNOT_CREATE,
              "'%s' is the input file: use --force to put the result in its place, or choose another output "
              "file",
              path);
    }
    CHECK(replace, CANNOT_CREATE, "'%s' exists: use --force to replace it, or choose another output file",
          path);
    return STENCIL_OK;
}

/* Returns the bytes that this process can write into a file of that file system; INT64_MAX where the system
 * does not tell. */
static int64_t room_bytes(int fd) {
    struct statvfs system;
    struct rlimit limit;
    int64_t room = INT64_MAX;
    if (fstatvfs(fd, &system) == 0 && system.f_blocks > 0 &&
        !stencil_multiply((int64_t)system.f_bavail, (int64_t)system.f_frsize, &room))
        room = INT64_MAX;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < (rlim_t)room)
        room = (int64_t)limit.rlim_cur;
    return room;
}

/* Reserves the space of a file, so that a full disk is detected before the computation. */
static stencil_status reserve(const stencil_sink *sink, int64_t bytes) {
    int failed = EINTR;
    while (failed == EINTR)
        failed = fallocate(sink->fd, 0, 0, (off_t)bytes) == 0 ? 0 : errno;
    const int64_t room = room_bytes(sink->fd);
    if (failed == EOPNOTSUPP || failed == ENOSYS || failed == EINVAL) /* no fallocate() */
        failed = bytes <= room ? 0 : ENOSPC;
    char need[32], have[32], free_text[64] = "";
    if (room < bytes) /* with a quota, free space does not explain the failure */
        snprintf(free_text, sizeof free_text, ", %s is free", stencil_bytes_text(room, have));
    CHECK(failed == 0, IO, "cannot write '%s': %s: it needs %s%s; make room or choose another output file",
          sink->path, strerror(failed), stencil_bytes_text(bytes, need), free_text);
    return STENCIL_OK;
}

void stencil_sink_close(stencil_sink *sink) {
    if (sink->path == NULL)
        return;
    if (sink->file > 0)
        H5Fclose(sink->file);
    if (sink->fd >= 0)
        close(sink->fd);
    if (sink->temporary[0] != '\0')
        unlink(sink->temporary);
    *sink = (stencil_sink){0};
}

stencil_status stencil_sink_open(stencil_sink *sink, const char *path, bool replace, const char *other,
                                 int64_t bytes) {
    *sink = (stencil_sink){.fd = -1, .replace = replace, .path = path};
    TRY(stencil_sink_check(path, replace, other, bytes == STENCIL_SINK_PLAIN));
    TRY(open_temporary(sink));
    if (bytes == STENCIL_SINK_PLAIN)
        return STENCIL_OK;
    TRY(reserve(sink, bytes + METADATA_BYTES));
    return stencil_sink_empty(sink);
}

/* Creates (is_new) or reopens the HDF5 file that is being written. */
static stencil_status open_hdf5(stencil_sink *sink, bool is_new) {
    stencil_h5_quiet();
    STENCIL_HANDLE access = stencil_h5_access(sink);
    CHECK(access >= 0, INTERNAL, "HDF5 takes no file driver: %s", stencil_h5_reason());
    sink->file = is_new ? H5Fcreate(sink->path, H5F_ACC_TRUNC, H5P_DEFAULT, access)
                        : H5Fopen(sink->path, H5F_ACC_RDWR, access);
    TRY(stencil_sink_state(sink));
    CHECK(sink->file >= 0, IO, "cannot write '%s': %s", sink->path, stencil_h5_reason());
    return STENCIL_OK;
}

stencil_status stencil_sink_empty(stencil_sink *sink) {
    if (sink->file > 0)
        H5Fclose(sink->file);
    sink->file = 0;
    sink->eoa = sink->closed_eoa = 0;
    return open_hdf5(sink, true);
}

stencil_status stencil_sink_pause(stencil_sink *sink) {
    const herr_t closed = H5Fclose(sink->file);
    sink->file = 0;
    TRY(stencil_sink_state(sink));
    CHECK(closed >= 0, IO, "cannot write '%s': %s", sink->path, stencil_h5_reason());
    sink->closed_eoa = sink->eoa;
    return STENCIL_OK;
}

stencil_status stencil_sink_go_on(stencil_sink *sink, uint64_t eoa) {
    sink->closed_eoa = eoa;
    return open_hdf5(sink, false);
}

/* Copies bytes between files within the kernel, which may share them, else through memory. */
static stencil_status copy_bytes(const stencil_sink *to, int from, int64_t bytes) {
    enum { PIECE = 1 << 20 };
    static const char *const why = "cannot write '%s': %s; make room or choose another output file";
    off_t in = 0, out = 0;
    ssize_t moved = 1;
    while (in < bytes && moved > 0)
        moved = copy_file_range(from, &in, to->fd, &out, (size_t)(bytes - in), 0);
    if (in == bytes)
        return STENCIL_OK;
    CHECK(moved >= 0 || errno != ENOSPC, IO, why, to->path, strerror(errno));
    void *piece = malloc(PIECE);
    CHECK(piece != NULL, NO_MEMORY, "no memory to write '%s'", to->path);
    for (moved = 1; in < bytes && moved > 0; in += moved) {
        moved = stencil_h5_bytes(from, in, piece, NULL, stencil_smaller(PIECE, bytes - in));
        if (moved > 0)
            moved = stencil_h5_bytes(to->fd, in, NULL, piece, moved);
    }
    free(piece);
    CHECK(in >= bytes && moved > 0, IO, why, to->path, strerror(errno));
    return STENCIL_OK;
}

stencil_status stencil_sink_copy(stencil_sink *to, stencil_sink *from) {
    TRY(stencil_sink_pause(to));
    TRY(stencil_sink_pause(from));
    const stencil_status status = copy_bytes(to, from->fd, (int64_t)from->eoa);
    TRY(stencil_sink_go_on(from, from->eoa));
    TRY(status);
    to->eoa = from->eoa;
    return stencil_sink_go_on(to, to->eoa);
}

int64_t stencil_sink_array_bytes(const stencil_problem *problem) {
    const stencil_mesh mesh = stencil_problem_mesh(problem, 1);
    const stencil_box all = stencil_mesh_array(&mesh);
    return stencil_box_cells(&all) * (int64_t)stencil_precision_bytes(problem->precision);
}

stencil_status stencil_sink_state(const stencil_sink *sink) {
    CHECK(sink->error == 0, IO, "cannot write '%s': %s; make room or choose another output file", sink->path,
          strerror(sink->error));
    return STENCIL_OK;
}

/* Gives the file its final name; by link() where rename() would replace a file that must be kept. */
static stencil_status give_name(stencil_sink *sink) {
    if (!sink->replace) {
        const int failed = sink->temporary[0] == '\0'               ? link_nameless(sink, sink->path)
                           : link(sink->temporary, sink->path) == 0 ? 0
                                                                    : errno;
        if (failed == 0)
            return STENCIL_OK; /* stencil_sink_close() removes the temporary name */
        /* A file system without hard links is no error: the file is renamed instead. */
        CHECK(failed != EEXIST && access(sink->path, F_OK) != 0, CANNOT_CREATE,
              "'%s' has come up meanwhile: use --force to replace it, or choose another output file",
              sink->path);
    }
    if (sink->temporary[0] == '\0')
        TRY(name_temporary(sink));
    CHECK(rename(sink->temporary, sink->path) == 0, IO, "cannot rename '%s' to '%s': %s", sink->temporary,
          sink->path, strerror(errno));
    sink->temporary[0] = '\0';
    return STENCIL_OK;
}

static stencil_status sync_directory(const stencil_sink *sink) {
    const int fd = open(sink->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return STENCIL_OK; /* fsync is skipped for a directory that may be written but not read */
    const int failed = fsync(fd) != 0 ? errno : 0;
    close(fd);
    CHECK(failed == 0 || failed == EINVAL || failed == ENOTSUP, IO, "cannot sync directory '%s': %s",
          sink->directory, strerror(failed));
    return STENCIL_OK;
}

static stencil_status finish_hdf5(stencil_sink *sink) {
    const herr_t flushed = H5Fflush(sink->file, H5F_SCOPE_GLOBAL);
    TRY(stencil_sink_state(sink));
    CHECK(flushed >= 0, IO, "cannot write '%s': %s", sink->path, stencil_h5_reason());
    const herr_t closed = H5Fclose(sink->file);
    sink->file = 0;
    TRY(stencil_sink_state(sink));
    CHECK(closed >= 0, IO, "cannot close '%s': %s", sink->path, stencil_h5_reason());
    /* Releases space that was reserved beyond the end of the file. */
    CHECK(ftruncate(sink->fd, (off_t)sink->eoa) == 0, IO, "cannot write '%s': %s", sink->path,
          strerror(errno));
    return STENCIL_OK;
}

stencil_status stencil_sink_finish(stencil_sink *sink) {
    if (sink->file > 0)
        TRY(finish_hdf5(sink));
    CHECK(fsync(sink->fd) == 0, IO, "cannot write '%s': %s; make room or choose another output file",
          sink->path, strerror(errno));
    return STENCIL_OK;
}

stencil_status stencil_sink_commit(stencil_sink *sink) {
    TRY(stencil_sink_finish(sink));
    TRY(give_name(sink));
    return sync_directory(sink);
}

/* State of writing a dataset piece by piece. */
typedef struct writing {
    const stencil_sink *sink;
    const stencil_sink_dataset *dataset;
    hid_t to;
    const int64_t *first; /* index of the first cell in /u */
} writing;

static stencil_status write_slab(void *context, const stencil_box *slab, const stencil_cells *cells) {
    const writing *w = context;
    const stencil_box there = stencil_box_from(slab, w->first);
    TRY(stencil_h5_check_written(stencil_h5_box(w->to, &there, w->dataset->memory_type, cells, true) >= 0,
                                 w->sink->path, w->dataset->name));
    return stencil_sink_state(w->sink);
}

stencil_status stencil_sink_create(const stencil_sink *sink, const stencil_sink_dataset *dataset,
                                   const stencil_problem *problem) {
    const int64_t *extent = problem->extent + STENCIL_AXES - problem->rank;
    const hid_t made =
        stencil_h5_create(sink->file, dataset->name, problem->rank, extent, dataset->file_type, 0);
    return stencil_h5_check_written(made >= 0 && H5Dclose(made) >= 0, sink->path, dataset->name);
}

stencil_status stencil_sink_fill(const stencil_sink *sink, const stencil_sink_dataset *dataset,
                                 const stencil_problem *problem, const stencil_reader *from) {
    const stencil_mesh mesh = stencil_problem_mesh(problem, 1);
    const stencil_box array = stencil_mesh_array(&mesh);
    const stencil_slabs slabs = {.from = from,
                                 .mesh = &mesh,
                                 .array = dataset->array,
                                 .cell_bytes = (int64_t)H5Tget_size(dataset->memory_type)};
    writing w = {sink, dataset, H5Dopen2(sink->file, dataset->name, H5P_DEFAULT), array.first};
    TRY(stencil_h5_check_written(w.to >= 0, sink->path, dataset->name));
    const stencil_status status = stencil_slabs_visit(&slabs, &array, write_slab, &w);
    const bool closed = H5Dclose(w.to) >= 0;
    TRY(status);
    return stencil_h5_check_written(closed, sink->path, dataset->name);
}

stencil_status stencil_sink_share(stencil_sink *sink, const stencil_sink_dataset *dataset, int64_t *offset) {
    const stencil_box first = {.n = {1, 1, 1}};
    double zero = 0;
    const stencil_cells cell = stencil_cells_dense(STENCIL_FLOAT64, &zero, &first);
    *offset = 0;
    if (H5Tequal(dataset->file_type, dataset->memory_type) <= 0)
        return STENCIL_OK;
    /* HDF5 allocates the space of the dataset with its first cell, and forgets that cell with the handle. */
    const hid_t to = H5Dopen2(sink->file, dataset->name, H5P_DEFAULT);
    const bool allocated = to >= 0 && stencil_h5_box(to, &first, H5T_NATIVE_DOUBLE, &cell, true) >= 0;
    const haddr_t at = allocated && stencil_dataset_layout(to) == H5D_CONTIGUOUS ? H5Dget_offset(to) : 0;
    const bool closed = to >= 0 && H5Dclose(to) >= 0;
    TRY(stencil_sink_state(sink));
    TRY(stencil_h5_check_written(allocated && closed, sink->path, dataset->name));
    if (at == 0 || at > INT64_MAX)
        return STENCIL_OK;
    if (sink->temporary[0] == '\0')
        TRY(name_temporary(sink));
    *offset = (int64_t)at;
    return STENCIL_OK;
}
