/* Opens files, and refuses with its name what this HDF5 cannot read: files of other formats, of newer
 * versions, packed with missing filters. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inputs/h5.h"

/* The first bytes of files of some format other than HDF5. */
typedef struct magic {
    const char *bytes;
    size_t count;
    const char *is, *advice;
} magic;

#define BYTES(text) text, sizeof(text) - 1
#define NETCDF3                                                                                              \
    "a netCDF-3 file", "make netCDF-4 of it, with nccopy -k nc4 or xarray's to_netcdf(format='NETCDF4')"
#define PACKED "unpack it first"
#define LOADED "load it in Python and write its array with h5py, h5py.File('p.h5', 'w')['u'] = array"
static const magic magics[] = {
    {BYTES("CDF\001"), NETCDF3},
    {BYTES("CDF\002"), NETCDF3},
    {BYTES("CDF\005"), NETCDF3},
    {BYTES("\x93NUMPY"), "a NumPy array (.npy)", LOADED},
    {BYTES("PK\003\004"), "a ZIP archive (.npz, too)", LOADED},
    {BYTES("MATLAB 5.0 MAT-file"), "a MATLAB file of version 5", "save it with -v7.3, which is HDF5"},
    {BYTES("\016\003\023\001"), "an HDF4 file", "convert it with h4toh5"},
    {BYTES("\037\213"), "packed with gzip", PACKED},
    {BYTES("BZh"), "packed with bzip2", PACKED},
    {BYTES("\375"
           "7zXZ"),
     "packed with xz", PACKED},
    {BYTES("\050\265\057\375"), "packed with zstd", PACKED},
    {BYTES("SIMPLE  ="), "a FITS file", LOADED},
    {BYTES("II*\0"), "a TIFF image", LOADED},
    {BYTES("MM\0*"), "a TIFF image", LOADED},
    {BYTES("\x89PNG"), "a PNG image", LOADED},
    {BYTES("# vtk DataFile"), "a VTK file", LOADED},
};

/* Fails with the format of a file that is not HDF5, where its first bytes tell. */
static stencil_status refuse_foreign(const char *path) {
    char start[32] = "";
    FILE *file = fopen(path, "rb");
    const size_t count = file == NULL ? 0 : fread(start, 1, sizeof start, file);
    if (file != NULL)
        fclose(file);
    for (const magic *m = magics; m < magics + sizeof magics / sizeof *magics; m++)
        CHECK(count < m->count || memcmp(start, m->bytes, m->count) != 0, BAD_DATA,
              "'%s' is %s, not an HDF5 file: %s", path, m->is, m->advice);
    FAIL(BAD_DATA, "'%s' is not an HDF5 file: 'stencil new' makes one", path);
}

stencil_status stencil_h5_check_version(const char *path, const char *name) {
    const char *reason = stencil_h5_reason();
    const bool other = strstr(reason, " version") != NULL || strstr(reason, "fail if unknown") != NULL;
    CHECK(!other, BAD_DATA,
          "'%s'%s%s was written by a newer HDF5 than this program has, %s, or is damaged (%s): rewrite "
          "it "
          "with h5repack --low=0 --high=2 of that HDF5, or in h5py without libver='latest'",
          path, name[0] != '\0' ? ": " : "", name, stencil_h5_version(), reason);
    return STENCIL_OK;
}

/* Returns advice for the user about a file that the system cannot open. */
static const char *advice(int number) {
    return number == ENOENT   ? "check the name, or make the file with 'stencil new'"
           : number == EACCES ? "ask for the right to read it"
                              : "give another file";
}

/* Tells whether another program has the file open for writing, in which case HDF5 locks it; false where the
 * user turned locks off. */
static bool is_locked(int fd) {
    const char *use = getenv("HDF5_USE_FILE_LOCKING");
    if (use != NULL && (strcmp(use, "FALSE") == 0 || strcmp(use, "0") == 0))
        return false;
    return flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK; /* close() unlocks */
}

/* Checks a file by system calls before HDF5 opens it, since HDF5's errors tell less. */
static stencil_status check_file(const char *path) {
    struct stat file;
    CHECK(stat(path, &file) == 0, NO_INPUT, "cannot open '%s': %s; %s", path, strerror(errno), advice(errno));
    CHECK(!S_ISDIR(file.st_mode), NO_INPUT, "'%s' is a directory: give an HDF5 file", path);
    CHECK(S_ISREG(file.st_mode), NO_INPUT, "'%s' is not a regular file: give an HDF5 file", path);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0, NO_INPUT, "cannot open '%s': %s; %s", path, strerror(errno), advice(errno));
    const bool locked = is_locked(fd);
    close(fd);
    CHECK(!locked, NO_INPUT,
          "'%s' is locked: another program has it open for writing; close it there, or wait until it is done",
          path);
    CHECK(file.st_size > 0, BAD_DATA, "'%s' is empty: give an HDF5 file", path);
    return STENCIL_OK;
}

stencil_status stencil_h5_open(const char *path, hid_t *file) {
    *file = -1;
    TRY(check_file(path));
    stencil_h5_quiet();
    /* A file truncated within its signature also counts as not HDF5. */
    if (H5Fis_hdf5(path) <= 0)
        return refuse_foreign(path);
    STENCIL_HANDLE access = stencil_h5_access(NULL);
#if H5_VERSION_GE(1, 12, 1) || (H5_VERSION_GE(1, 10, 7) && !H5_VERSION_GE(1, 12, 0))
    H5Pset_file_locking(access, true, true); /* also opens files where the file system has no locks */
#endif
    *file = access < 0 ? -1 : H5Fopen(path, H5F_ACC_RDONLY, access);
    if (*file < 0)
        TRY(stencil_h5_check_version(path, ""));
    CHECK(*file >= 0, BAD_DATA, "'%s' is truncated or damaged, or still being written (%s)", path,
          stencil_h5_reason());
    return STENCIL_OK;
}

/* Names of filters that are registered with the HDF Group, for messages. */
static const struct {
    H5Z_filter_t number;
    const char *name;
} filters[] = {
    {H5Z_FILTER_DEFLATE, "gzip"},
    {H5Z_FILTER_SHUFFLE, "shuffle"},
    {H5Z_FILTER_FLETCHER32, "fletcher32"},
    {H5Z_FILTER_SZIP, "szip"},
    {H5Z_FILTER_NBIT, "nbit"},
    {H5Z_FILTER_SCALEOFFSET, "scaleoffset"},
    {305, "lzo"},
    {307, "bzip2"},
    {32000, "lzf"},
    {32001, "blosc"},
    {32002, "mafisc"},
    {32003, "snappy"},
    {32004, "lz4"},
    {32008, "bitshuffle"},
    {32013, "zfp"},
    {32014, "fpzip"},
    {32015, "zstd"},
    {32017, "sz"},
    {32019, "jpeg"},
    {32024, "sz3"},
    {32026, "blosc2"},
};

static const char *filter_name(H5Z_filter_t number, const char *in_file) {
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++)
        if (filters[i].number == number)
            return filters[i].name;
    return in_file[0] != '\0' ? in_file : "of no registered name";
}

/* Tells whether any of the first chunks has passed the filter at this position of the pipeline: HDF5 skips an
 * optional filter for chunks that it makes no smaller. False also where only later chunks have. */
static bool is_used(hid_t dataset, unsigned place) {
    enum { LOOK_MAX = 16 };
    STENCIL_HANDLE space = H5Dget_space(dataset);
    hsize_t count = 0, offset[H5S_MAX_RANK], size;
    haddr_t address;
    unsigned skipped;
    if (space < 0 || H5Dget_num_chunks(dataset, space, &count) < 0)
        return false;
    for (hsize_t i = 0; i < count && i < LOOK_MAX; i++)
        if (H5Dget_chunk_info(dataset, space, i, offset, &skipped, &address, &size) >= 0 &&
            (skipped & 1U << place) == 0)
            return true;
    return false;
}

stencil_status stencil_h5_check_filters(hid_t dataset, const char *path, const char *name, bool failed) {
    STENCIL_HANDLE create = H5Dget_create_plist(dataset);
    const int count = create < 0 ? 0 : H5Pget_nfilters(create);
    for (int i = 0; i < count; i++) {
        char given[64] = "";
        unsigned flags, config;
        size_t values = 0;
        const H5Z_filter_t number =
            H5Pget_filter2(create, (unsigned)i, &flags, &values, NULL, sizeof given, given, &config);
        given[sizeof given - 1] = '\0';
        for (int k = 0; k < i; k++) {
            size_t none = 0;
            CHECK(H5Pget_filter2(create, (unsigned)k, &flags, &none, NULL, 0, NULL, &config) != number,
                  BAD_DATA,
                  "'%s': %s is packed with filter %d (%s) twice: repack it, with h5repack -f GZIP=4", path,
                  name, (int)number, filter_name(number, given));
        }
        if (number <= 0 || H5Zfilter_avail(number) > 0 || !(failed || is_used(dataset, (unsigned)i)))
            continue;
        FAIL(BAD_DATA,
             "'%s': %s is packed with filter %d (%s), which HDF5 here does not have: repack it where it is "
             "known, "
             "with h5repack -f GZIP=4 or h5py's compression='gzip', or name its plugin in HDF5_PLUGIN_PATH",
             path, name, (int)number, filter_name(number, given));
    }
    return STENCIL_OK;
}
