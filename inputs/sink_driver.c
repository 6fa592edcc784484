#include <hdf5.h>
#ifdef H5_VERSION_GE
#if H5_VERSION_GE(1, 14, 0)
#include <H5FDdevelop.h>
#endif
#endif

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "inputs/h5.h"
#include "inputs/sink.h"

/* HDF5's virtual file driver interface: "HDF5 Virtual File Layer", and H5FDpublic.h / H5FDdevelop.h. */
typedef struct driver_file {
    H5FD_t base; /* HDF5's part, first */
    stencil_sink *sink;
} driver_file;

static stencil_sink *sink_of(const H5FD_t *file) {
    return ((const driver_file *)(const void *)file)->sink;
}

static void keep_error(stencil_sink *sink) {
    if (sink->error == 0)
        sink->error = errno != 0 ? errno : EIO;
}

static H5FD_t *driver_open(const char *name, unsigned flags, hid_t access, haddr_t maximum) {
    (void)name, (void)flags, (void)maximum;
    stencil_sink *const *sink = H5Pget_driver_info(access);
    driver_file *file = sink != NULL ? calloc(1, sizeof *file) : NULL;
    if (file == NULL)
        return NULL;
    file->sink = *sink;
    return &file->base;
}

static herr_t driver_close(H5FD_t *file) {
    free(file); /* the descriptor belongs to the sink */
    return 0;
}

static haddr_t driver_get_eoa(const H5FD_t *file, H5FD_mem_t type) {
    (void)type;
    return sink_of(file)->eoa;
}

static herr_t driver_set_eoa(H5FD_t *file, H5FD_mem_t type, haddr_t address) {
    (void)type;
    sink_of(file)->eoa = address;
    return 0;
}

/* Moves bytes of the file from `address` on, as many as there are (returned). */
static size_t move(stencil_sink *sink, haddr_t address, size_t size, char *to, const char *from) {
    size_t done = 0;
    while (done < size && sink->error == 0) {
        const off_t at = (off_t)(address + done);
        errno = 0;
        const ssize_t moved = to != NULL ? pread(sink->fd, to + done, size - done, at)
                                         : pwrite(sink->fd, from + done, size - done, at);
        if (moved > 0)
            done += (size_t)moved;
        else if (moved == 0 && to != NULL)
            break; /* the end of the file */
        else if (errno != EINTR)
            keep_error(sink);
    }
    return done;
}

static herr_t driver_read(H5FD_t *file, H5FD_mem_t type, hid_t transfer, haddr_t address, size_t size,
                          void *buffer) {
    (void)type, (void)transfer;
    const size_t done = move(sink_of(file), address, size, buffer, NULL);
    memset((char *)buffer + done, 0, size - done);
    return 0;
}

static herr_t driver_write(H5FD_t *file, H5FD_mem_t type, hid_t transfer, haddr_t address, size_t size,
                           const void *buffer) {
    (void)type, (void)transfer;
    move(sink_of(file), address, size, NULL, buffer);
    return 0;
}

static const H5FD_class_t driver_class = {
#ifdef H5FD_CLASS_VERSION
    .version = H5FD_CLASS_VERSION,
    .value = 513, /* of the range for drivers of one's own (256 … 65535) */
#endif
    .name = "stencil_sink",
    .maxaddr = (haddr_t)INT64_MAX,
    .fc_degree = H5F_CLOSE_WEAK,
    .fapl_size = sizeof(stencil_sink *),
    .open = driver_open,
    .close = driver_close,
    .get_eoa = driver_get_eoa,
    .set_eoa = driver_set_eoa,
    .get_eof = driver_get_eoa, /* the space is there */
    .read = driver_read,
    .write = driver_write,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

hid_t stencil_sink_access(stencil_sink *sink) {
    STENCIL_HANDLE driver = H5FDregister(&driver_class); /* the list holds on to it */
    const hid_t access = driver < 0 ? -1 : H5Pcreate(H5P_FILE_ACCESS);
    /* Objects that a failed writer left open must not keep the file. */
    if (access < 0 ||
        (H5Pset_driver(access, driver, &sink) >= 0 && H5Pset_fclose_degree(access, H5F_CLOSE_STRONG) >= 0))
        return access;
    H5Pclose(access);
    return -1;
}
