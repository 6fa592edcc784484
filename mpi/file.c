/* Files that all ranks write, by MPI-IO. Each rank opens the file for itself (MPI_COMM_SELF) and writes its
 * own bytes, so that none waits for another one's disk. Writes are requests, in whose wait the rank gives
 * signs of life. What MPI fails to write is written by the system, whose error tells more than MPI's. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mpi/watch.h"

/* Most bytes of one write; MPI counts in int. */
enum { WRITE_MOST = 1 << 30 };

/* Writes that are under way at once. */
enum { WRITES = 64 };

/* A write that is under way. */
typedef struct piece {
    MPI_Request request; /* MPI_REQUEST_NULL: MPI has not taken it */
    int64_t offset;
    const char *data;
    int bytes;
} piece;

struct stencil_file {
    MPI_File file;
    int fd;     /* the same file, for what MPI has no request for */
    int failed; /* errno of the first failure; 0: none */
    int pieces;
    piece piece[WRITES];
};

/* Opens the file by the system; negative where it is not the one that rank 0 finds. */
static int find_file(stencil_world *world, const char *path) {
    struct stat info = {0};
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    uint64_t number = fd >= 0 && fstat(fd, &info) == 0 ? (uint64_t)info.st_ino : 0;
    stencil_world_tell(world, 0, &number, sizeof number);
    if (fd < 0 || number == (uint64_t)info.st_ino)
        return fd;
    close(fd);
    return -1;
}

/* Tells whether all ranks have what they need. */
static bool all_have(stencil_world *world, bool here) {
    return stencil_world_any(world, !here) == 0;
}

static void free_file(stencil_file *f) {
    if (f != NULL && f->fd >= 0)
        close(f->fd);
    free(f);
}

/* Drops this host's cached pages of the file, beside whose bytes ranks of other hosts are going to write. */
static void let_go(const stencil_file *f) {
    (void)fsync(f->fd);
    (void)posix_fadvise(f->fd, 0, 0, POSIX_FADV_DONTNEED);
}

stencil_file *stencil_mpi_open_file(stencil_world *world, const char *path) {
    const int fd = find_file(world, path);
    stencil_file *f = calloc(1, sizeof *f);
    if (f != NULL)
        f->fd = fd;
    else if (fd >= 0)
        close(fd);
    if (!all_have(world, f != NULL && fd >= 0)) {
        free_file(f);
        return NULL;
    }
    if (world->local_ranks < world->ranks && world->rank == 0)
        let_go(f);
    stencil_watch_enter();
    const bool opened =
        MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_WRONLY, MPI_INFO_NULL, &f->file) == MPI_SUCCESS;
    stencil_watch_leave();
    if (all_have(world, opened))
        return f;
    stencil_watch_enter();
    if (opened)
        MPI_File_close(&f->file);
    stencil_watch_leave();
    free_file(f);
    return NULL;
}

/* Writes bytes by the system; returns 0 or an errno. */
static int write_plainly(int fd, int64_t offset, const char *data, int64_t bytes) {
    while (bytes > 0) {
        const ssize_t written = pwrite(fd, data, (size_t)bytes, (off_t)offset);
        if (written == 0)
            return EIO;
        if (written < 0 && errno != EINTR)
            return errno;
        const int64_t some = written > 0 ? written : 0;
        offset += some;
        data += some;
        bytes -= some;
    }
    return 0;
}

/* Ends the writes that are under way. */
static void end_writes(stencil_file *f) {
    int written[WRITES];
    stencil_watch_enter();
    for (int i = 0; i < f->pieces; i++) {
        piece *p = &f->piece[i];
        written[i] = p->request == MPI_REQUEST_NULL ? 0 : stencil_watch_wait_written(&p->request);
        if (written[i] < 0 || written[i] > p->bytes)
            written[i] = 0; /* MPI_UNDEFINED */
    }
    stencil_watch_leave();
    for (int i = 0; i < f->pieces && f->failed == 0; i++) {
        const piece *p = &f->piece[i];
        f->failed = write_plainly(f->fd, p->offset + written[i], p->data + written[i], p->bytes - written[i]);
    }
    f->pieces = 0;
}

/* Begins to write bytes, in pieces that MPI can count. */
static void begin_write(stencil_file *f, int64_t offset, const char *data, int64_t bytes) {
    while (bytes > 0 && f->failed == 0) {
        if (f->pieces == WRITES)
            end_writes(f);
        piece *p = &f->piece[f->pieces++];
        *p = (piece){.request = MPI_REQUEST_NULL, .offset = offset, .data = data};
        p->bytes = bytes < WRITE_MOST ? (int)bytes : WRITE_MOST;
        stencil_watch_enter();
        if (MPI_File_iwrite_at(f->file, (MPI_Offset)offset, data, p->bytes, MPI_BYTE, &p->request) !=
            MPI_SUCCESS)
            p->request = MPI_REQUEST_NULL;
        stencil_watch_leave();
        offset += p->bytes;
        data += p->bytes;
        bytes -= p->bytes;
    }
}

/* Makes one stretch of those along an axis between which nothing lies. */
static void join(stencil_stretches *s, int axis) {
    if (s->count[axis] > 1 && s->stride[axis] != s->bytes)
        return;
    s->bytes *= s->count[axis];
    s->count[axis] = 1;
}

int stencil_mpi_write_file(stencil_file *f, const stencil_stretches *to, const void *data) {
    stencil_stretches s = *to;
    const char *from = data;
    join(&s, 1);
    if (s.count[1] == 1)
        join(&s, 0);
    for (int64_t k = 0; k < s.count[0]; k++)
        for (int64_t i = 0; i < s.count[1]; i++, from += s.bytes)
            begin_write(f, s.offset + k * s.stride[0] + i * s.stride[1], from, s.bytes);
    end_writes(f);
    return f->failed;
}

int stencil_mpi_close_file(stencil_file *f) {
    if (f->failed == 0 && fsync(f->fd) != 0) /* outside MPI, where a slow disk keeps no sign of life */
        f->failed = errno;
    stencil_watch_enter();
    const bool synced = MPI_File_sync(f->file) == MPI_SUCCESS,
               closed = MPI_File_close(&f->file) == MPI_SUCCESS;
    stencil_watch_leave();
    const int failed = f->failed != 0 ? f->failed : synced && closed ? 0 : EIO;
    free_file(f);
    return failed;
}
