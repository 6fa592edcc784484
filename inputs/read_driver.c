/* HDF5's way to the bytes of an input, and of the files that links and virtual datasets in it lead to: those
 * are opened by the same driver. Nothing but regular files is opened, and none is waited for, as HDF5's own
 * driver would for a FIFO.
 *
 * The interface is that of "HDF5 Virtual File Layer", H5FDpublic.h and H5FDdevelop.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inputs/h5.h"
#include "inputs/reading.h"

typedef struct driver_file {
    H5FD_t base; /* HDF5's part, first */
    int fd;
    dev_t device;
    ino_t inode;
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
    file->device = info.st_dev;
    file->inode = info.st_ino;
    file->eof = (haddr_t)info.st_size;
    stencil_reading_opened((int64_t)info.st_size);
    return &file->base;
}

static herr_t close_file(H5FD_t *file) {
    const int failed = close(of(file)->fd);
    free(of(file));
    return failed == 0 ? 0 : -1;
}

/* HDF5 shares what it knows of a file among all who have opened it. */
static int compare(const H5FD_t *left, const H5FD_t *right) {
    const driver_file *a = of(left), *b = of(right);
    return a->device != b->device ? (a->device < b->device ? -1 : 1)
                                  : (a->inode > b->inode) - (a->inode < b->inode);
}

/* As HDF5's own driver for POSIX files. */
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
    return 0;
}

static haddr_t get_eof(const H5FD_t *file, H5FD_mem_t type) {
    (void)type;
    return of(file)->eof;
}

static herr_t get_handle(H5FD_t *file, hid_t access, void **handle) {
    (void)access;
    *handle = &of(file)->fd;
    return 0;
}

int64_t stencil_h5_bytes(int fd, int64_t offset, void *to, int64_t bytes) {
    int64_t done = 0;
    while (done < bytes) {
        const ssize_t got = pread(fd, (char *)to + done, (size_t)(bytes - done), (off_t)(offset + done));
        if (got < 0 && errno != EINTR)
            return -1;
        if (got == 0)
            break;
        done += got > 0 ? got : 0;
        stencil_reading_progress(got > 0 ? (size_t)got : 0);
    }
    return done;
}

/* Bytes behind the end of the file are zeros, as HDF5 asks for. */
static herr_t read_bytes(H5FD_t *file, H5FD_mem_t type, hid_t transfer, haddr_t address, size_t size,
                         void *buffer) {
    (void)type, (void)transfer;
    const int64_t done = stencil_h5_bytes(of(file)->fd, (int64_t)address, buffer, (int64_t)size);
    if (done >= 0)
        memset((char *)buffer + done, 0, size - (size_t)done);
    return done < 0 ? -1 : 0;
}

static herr_t write_bytes(H5FD_t *file, H5FD_mem_t type, hid_t transfer, haddr_t address, size_t size,
                          const void *buffer) {
    (void)file, (void)type, (void)transfer, (void)address, (void)size, (void)buffer;
    return -1;
}

/* Not every file system has locks. */
static herr_t lock_file(H5FD_t *file, hbool_t write) {
    return flock(of(file)->fd, (write ? LOCK_EX : LOCK_SH) | LOCK_NB) == 0 || errno != EWOULDBLOCK ? 0 : -1;
}

static herr_t unlock_file(H5FD_t *file) {
    return flock(of(file)->fd, LOCK_UN) == 0 || errno != EWOULDBLOCK ? 0 : -1;
}

static const H5FD_class_t driver_class = {
#ifdef H5FD_CLASS_VERSION
    .version = H5FD_CLASS_VERSION,
    .value = 514, /* of the range for drivers of one's own (256 … 65535) */
#endif
    .name = "stencil_read",
    .maxaddr = (haddr_t)INT64_MAX,
    .fc_degree = H5F_CLOSE_WEAK,
    .open = open_file,
    .close = close_file,
    .cmp = compare,
    .query = query,
    .get_eoa = get_eoa,
    .set_eoa = set_eoa,
    .get_eof = get_eof,
    .get_handle = get_handle,
    .read = read_bytes,
    .write = write_bytes,
    .lock = lock_file,
    .unlock = unlock_file,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

hid_t stencil_h5_read_access(void) {
    static hid_t driver; /* registered once, for good: see inputs/sink.c */
    if (driver <= 0)
        driver = H5FDregister(&driver_class);
    const hid_t access = driver < 0 ? -1 : H5Pcreate(H5P_FILE_ACCESS);
    if (access < 0 || H5Pset_driver(access, driver, NULL) >= 0)
        return access;
    H5Pclose(access);
    return -1;
}

bool stencil_h5_state(hid_t file, stencil_file_state *state) {
    struct stat info;
    void *fd = NULL;
    if (H5Fget_vfd_handle(file, H5P_DEFAULT, &fd) < 0 || fd == NULL || fstat(*(int *)fd, &info) != 0)
        return false;
    *state =
        (stencil_file_state){(int64_t)info.st_size, (int64_t)info.st_mtim.tv_sec,
                             (int64_t)info.st_mtim.tv_nsec, (uint64_t)info.st_dev, (uint64_t)info.st_ino};
    return true;
}
