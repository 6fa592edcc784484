/* Two HDF5 file drivers. One reads an input and the files that its links and virtual datasets lead to, which
 * HDF5 opens by the same driver: it opens regular files only, and so never waits as HDF5's own driver would
 * for a FIFO. The other one writes to the descriptor of a sink. The interface is that of "HDF5 Virtual File
 * Layer", H5FDpublic.h and H5FDdevelop.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inputs/h5.h"
#include "inputs/reading.h"

#ifdef H5_VERSION_GE
#if H5_VERSION_GE(1, 14, 0)
#include <H5FDdevelop.h>
#endif
#endif

typedef struct driver_file {
    H5FD_t base;        /* HDF5's base class, must be first */
    stencil_sink *sink; /* NULL: the file is only read */
    int fd;             /* descriptor of the file, owned if the file is only read */
    struct stat info;   /* identity of a file that is only read */
    haddr_t eoa, eof;
} driver_file;

static driver_file *of(const H5FD_t *file) {
    return (driver_file *)(void *)file;
}

static H5FD_t *open_file(const char *name, unsigned flags, hid_t access, haddr_t maximum) {
    struct stat info;
    (void)access, (void)maximum;
    const int fd = (flags & H5F_ACC_RDWR) != 0 ? -1 : open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    driver_file *file =
        fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) ? calloc(1, sizeof *file) : NULL;
    if (file == NULL) {
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    file->fd = fd;
    file->info = info;
    file->eof = (haddr_t)info.st_size;
    stencil_reading_opened((int64_t)info.st_size);
    return &file->base;
}

static H5FD_t *open_sink(const char *name, unsigned flags, hid_t access, haddr_t maximum) {
    (void)name, (void)flags, (void)maximum;
    stencil_sink *const *sink = H5Pget_driver_info(access);
    driver_file *file = sink != NULL ? calloc(1, sizeof *file) : NULL;
    if (file == NULL)
        return NULL;
    file->sink = *sink;
    file->fd = file->sink->fd;
    file->eoa = file->sink->eoa;
    file->eof = file->sink->closed_eoa;
    return &file->base;
}

static herr_t close_file(H5FD_t *file) {
    const int failed = of(file)->sink == NULL ? close(of(file)->fd) : 0;
    free(of(file));
    return failed == 0 ? 0 : -1;
}

/* Compares two open files: HDF5 shares its state of a file among all handles of that file. */
static int compare(const H5FD_t *left, const H5FD_t *right) {
    const struct stat *a = &of(left)->info, *b = &of(right)->info;
    return a->st_dev != b->st_dev ? (a->st_dev < b->st_dev ? -1 : 1)
                                  : (a->st_ino > b->st_ino) - (a->st_ino < b->st_ino);
}

/* Reports the same features as HDF5's own driver for POSIX files. */
static herr_t query(const H5FD_t *file, unsigned long *flags) {
    (void)file;
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
             H5FD_FEAT_AGGREGATE_SMALLDATA | H5FD_FEAT_POSIX_COMPAT_HANDLE;
    return 0;
}

static haddr_t get_eoa(const H5FD_t *file, H5FD_mem_t type) {
    (void)type;
    return of(file)->eoa;
}

static herr_t set_eoa(H5FD_t *file, H5FD_mem_t type, haddr_t address) {
    (void)type;
    of(file)->eoa = address;
    if (of(file)->sink != NULL)
        of(file)->sink->eoa = address;
    return 0;
}

/* Returns the end of the file as it is now, since a series grows while it is read: HDF5 compares it with what
 * it has read of the file; of a file being written, the end of what HDF5 has allocated, if larger. */
static haddr_t get_eof(const H5FD_t *file, H5FD_mem_t type) {
    (void)type;
    const driver_file *f = of(file);
    struct stat info;
    if (f->sink == NULL && fstat(f->fd, &info) == 0)
        return (haddr_t)info.st_size;
    return f->sink != NULL && f->eoa > f->eof ? f->eoa : f->eof;
}

static herr_t get_handle(H5FD_t *file, hid_t access, void **handle) {
    (void)access;
    *handle = &of(file)->fd;
    return 0;
}

int64_t stencil_h5_bytes(int fd, int64_t offset, void *to, const void *from, int64_t bytes) {
    int64_t done = 0;
    while (done < bytes) {
        const off_t at = (off_t)(offset + done);
        const size_t left = (size_t)(bytes - done);
        errno = 0;
        const ssize_t moved = to != NULL ? pread(fd, (char *)to + done, left, at)
                                         : pwrite(fd, (const char *)from + done, left, at);
        if (moved == 0 && to != NULL)
            break; /* the file ends here */
        if (moved <= 0 && errno != EINTR)
            return -1;
        done += moved > 0 ? moved : 0;
        stencil_reading_progress(moved > 0 ? (size_t)moved : 0);
    }
    return done;
}

/* Reads or writes bytes of a file for HDF5. HDF5 is not told that writing failed; after its first failure a
 * file being written is left alone. */
static int64_t move_of(const driver_file *f, haddr_t address, char *to, const char *from, size_t size) {
    if (f->sink != NULL && f->sink->error != 0)
        return 0;
    const int64_t done = stencil_h5_bytes(f->fd, (int64_t)address, to, from, (int64_t)size);
    if (done >= 0 || f->sink == NULL)
        return done;
    f->sink->error = errno != 0 ? errno : EIO;
    return 0;
}

/* Reads bytes for HDF5; bytes beyond the end of the file are zeros, as HDF5 requires. */
static herr_t read_bytes(H5FD_t *file, H5FD_mem_t type, hid_t transfer, haddr_t address, size_t size,
                         void *buffer) {
    (void)type, (void)transfer;
    const int64_t done = move_of(of(file), address, buffer, NULL, size);
    if (done >= 0)
        memset((char *)buffer + done, 0, size - (size_t)done);
    return done < 0 ? -1 : 0;
}

static herr_t write_bytes(H5FD_t *file, H5FD_mem_t type, hid_t transfer, haddr_t address, size_t size,
                          const void *buffer) {
    (void)type, (void)transfer;
    return of(file)->sink != NULL && move_of(of(file), address, NULL, buffer, size) >= 0 ? 0 : -1;
}

/* Locks a file; file systems without locks are accepted. */
static herr_t lock_file(H5FD_t *file, hbool_t write) {
    return flock(of(file)->fd, (write ? LOCK_EX : LOCK_SH) | LOCK_NB) == 0 || errno != EWOULDBLOCK ? 0 : -1;
}

static herr_t unlock_file(H5FD_t *file) {
    return flock(of(file)->fd, LOCK_UN) == 0 || errno != EWOULDBLOCK ? 0 : -1;
}

/* Registers a driver once, for as long as the process lives: when HDF5 1.10 closes a file, it reads the
 * driver's class after releasing the driver. */
static hid_t driver_of(bool sink) {
    static hid_t driver[2];
    const H5FD_class_t kind = {
#ifdef H5FD_CLASS_VERSION
        .version = H5FD_CLASS_VERSION,
        .value = sink ? 513 : 514, /* HDF5 leaves 256 … 65535 to applications */
#endif
        .name = sink ? "stencil_sink" : "stencil_read",
        .maxaddr = (haddr_t)INT64_MAX,
        .fc_degree = H5F_CLOSE_WEAK,
        .fapl_size = sink ? sizeof(stencil_sink *) : 0,
        .open = sink ? open_sink : open_file,
        .close = close_file,
        .cmp = sink ? NULL : compare,
        .query = sink ? NULL : query,
        .get_eoa = get_eoa,
        .set_eoa = set_eoa,
        .get_eof = get_eof,
        .get_handle = sink ? NULL : get_handle,
        .read = read_bytes,
        .write = write_bytes,
        .lock = sink ? NULL : lock_file,
        .unlock = sink ? NULL : unlock_file,
        .fl_map = H5FD_FLMAP_DICHOTOMY,
    };
    if (driver[sink] <= 0)
        driver[sink] = H5FDregister(&kind);
    return driver[sink];
}

hid_t stencil_h5_access(stencil_sink *sink) {
    const hid_t driver = driver_of(sink != NULL), access = driver < 0 ? -1 : H5Pcreate(H5P_FILE_ACCESS);
    bool set = access >= 0 && H5Pset_driver(access, driver, sink != NULL ? &sink : NULL) >= 0;
    /* A file being written is closed even if a failed writer left objects open, and has versions that the
     * oldest HDF5 reads. */
    if (sink != NULL)
        set = set && H5Pset_fclose_degree(access, H5F_CLOSE_STRONG) >= 0 &&
              H5Pset_libver_bounds(access, H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST) >= 0;
    if (set || access < 0)
        return access;
    H5Pclose(access);
    return -1;
}

bool stencil_file_state_read(int fd, stencil_file_state *state) {
    struct stat info;
    if (fstat(fd, &info) != 0)
        return false;
    *state =
        (stencil_file_state){(int64_t)info.st_size, (int64_t)info.st_mtim.tv_sec,
                             (int64_t)info.st_mtim.tv_nsec, (uint64_t)info.st_dev, (uint64_t)info.st_ino};
    return true;
}
