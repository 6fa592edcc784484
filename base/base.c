#define _DEFAULT_SOURCE /* madvise() */
#include "base/base.h"

#include <inttypes.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

size_t stencil_precision_bytes(stencil_precision precision) {
    return precision == STENCIL_FLOAT64     ? sizeof(double)
           : precision == STENCIL_BYTE      ? sizeof(uint8_t)
           : precision == STENCIL_TWO_BYTES ? sizeof(uint16_t)
                                            : sizeof(float);
}

const char *const stencil_precision_names[] = {"float32", "float64", NULL};

const char *stencil_precision_name(stencil_precision precision) {
    return stencil_precision_names[precision];
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void stencil_sort(double *number, size_t count) {
    qsort(number, count, sizeof *number, ascending);
}

double stencil_clock_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

const char *stencil_plural(int64_t count) {
    return count == 1 ? "" : "s";
}

const char *stencil_bytes_text(int64_t bytes, char text[32]) {
    static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    size_t u = 0;
    while (value >= 1024.0 && u + 1 < sizeof unit / sizeof *unit) {
        value /= 1024.0;
        u++;
    }
    snprintf(text, 32, u == 0 ? "%.0f %s" : "%.2f %s", value, unit[u]);
    return text;
}

enum { PATH_CHARS = 4096 };

/* Returns the first number after `key` in a file of /proc or /sys; INT64_MAX: none, or "max". */
static int64_t kernel_number(const char *folder, const char *name, const char *key) {
    char path[PATH_CHARS];
    const int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = length < (int)sizeof path ? fopen(path, "r") : NULL;
    if (file == NULL)
        return INT64_MAX;
    char line[256];
    int64_t number = INT64_MAX;
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, key, strlen(key)) == 0 && sscanf(line + strlen(key), "%" SCNd64, &number) == 1)
            break;
    }
    fclose(file);
    return number;
}

/* Folder where control groups of a version can be mounted, and the names of the files in each group. */
typedef struct group_files {
    int version; /* version of control groups, 1 or 2; 0 ends a list */
    const char *folder, *limit, *used, *reclaimable;
} group_files;

/* A limit that control groups set, ancestor groups included. */
typedef struct group_limit {
    const char *controller; /* name between commas: ",memory," */
    const group_files *versions;
    int64_t (*of_group)(const char *folder, const group_files *files); /* limit of one group alone */
} group_limit;

/* Returns the bytes left under the memory limit of one control group; INT64_MAX: no limit. */
static int64_t one_group_left(const char *folder, const group_files *files) {
    const int64_t limit = kernel_number(folder, files->limit, "");
    int64_t used = kernel_number(folder, files->used, "");
    if (limit == INT64_MAX || used == INT64_MAX)
        return INT64_MAX;
    const int64_t reclaimable = kernel_number(folder, "memory.stat", files->reclaimable);
    used -= reclaimable == INT64_MAX ? 0 : stencil_smaller(reclaimable, used);
    return limit > used ? limit - used : 0;
}

/* Returns the smallest limit of the control groups from `group` ("/a/b") up to the root. Where a container
 * hides its ancestor groups, the first folders do not exist and the root is the container's group. */
static int64_t groups_least(const char *mount, const char *group, const group_limit *what,
                            const group_files *files) {
    char folder[PATH_CHARS];
    const int root = snprintf(folder, sizeof folder, "%s%s", mount, files->folder);
    if (root + strlen(group) >= sizeof folder)
        return INT64_MAX;
    strcpy(folder + root, group);
    int64_t least = INT64_MAX;
    for (;;) {
        least = stencil_smaller(least, what->of_group(folder, files));
        char *slash = strrchr(folder + root, '/');
        if (slash == NULL)
            return least;
        *slash = '\0';
    }
}

static int64_t group_limit_find(const group_limit *what, const char *membership, const char *mount) {
    FILE *file = fopen(membership, "r");
    if (file == NULL)
        return INT64_MAX;
    char line[PATH_CHARS];
    int64_t least = INT64_MAX;
    /* Lines are "ID:CONTROLLERS:GROUP"; version 2 has ID 0 and no controllers. */
    while (fgets(line, sizeof line, file) != NULL) {
        char controllers[PATH_CHARS + 2] = ",", group[PATH_CHARS];
        int version = 0;
        if (sscanf(line, "0::%[^\n]", group) == 1)
            version = 2;
        else if (sscanf(line, "%*d:%[^:]:%[^\n]", controllers + 1, group) == 2)
            version = strstr(strcat(controllers, ","), what->controller) != NULL ? 1 : 0;
        for (const group_files *files = what->versions; files->version > 0; files++)
            if (files->version == version)
                least = stencil_smaller(least, groups_least(mount, group, what, files));
    }
    fclose(file);
    return least;
}

int64_t stencil_memory_group_left_bytes(const char *membership, const char *mount) {
    static const group_files versions[] = {
        {1, "/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "},
        {2, "", "memory.max", "memory.current", "inactive_file "},
        {2, "/unified", "memory.max", "memory.current", "inactive_file "},
        {0}};
    return group_limit_find(&(group_limit){",memory,", versions, one_group_left}, membership, mount);
}

/* Returns the thousandths of a processor that one control group allows: the quota of microseconds per period
 * over the period's length, which is in the file `used` or, where that is NULL, after the quota. */
static int64_t one_group_quota(const char *folder, const group_files *files) {
    char first[32];
    const int64_t quota = kernel_number(folder, files->limit, "");
    snprintf(first, sizeof first, "%" PRId64 " ", quota);
    const int64_t period = files->used != NULL ? kernel_number(folder, files->used, "")
                                               : kernel_number(folder, files->limit, first);
    int64_t thousandths;
    if (quota == INT64_MAX || period == INT64_MAX || quota <= 0 || period <= 0 ||
        !stencil_multiply(quota, 1000, &thousandths))
        return INT64_MAX;
    return thousandths / period + (thousandths % period > 0);
}

int64_t stencil_processors_group_quota(const char *membership, const char *mount) {
    static const group_files versions[] = {
        {.version = 1, .folder = "/cpu", .limit = "cpu.cfs_quota_us", .used = "cpu.cfs_period_us"},
        {.version = 1, .folder = "/cpu,cpuacct", .limit = "cpu.cfs_quota_us", .used = "cpu.cfs_period_us"},
        {.version = 2, .folder = "", .limit = "cpu.max"},
        {.version = 2, .folder = "/unified", .limit = "cpu.max"},
        {0}};
    return group_limit_find(&(group_limit){",cpu,", versions, one_group_quota}, membership, mount);
}

stencil_processor_limits stencil_processors_limits(void) {
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    const int allowed = omp_get_num_procs();
    return (stencil_processor_limits){
        .online = online > allowed ? (int)online : allowed,
        .allowed = allowed,
        .quota_thousandths = stencil_processors_group_quota("/proc/self/cgroup", "/sys/fs/cgroup")};
}

int stencil_processors(void) {
    const stencil_processor_limits limits = stencil_processors_limits();
    const int64_t quota = limits.quota_thousandths;
    return (int)stencil_smaller(limits.allowed, quota / 1000 + (quota % 1000 > 0));
}

/* Bytes of address space reserved for HDF5, which does not check its allocations. */
enum { LIBRARY_BYTES = 4 << 20 };

int64_t stencil_memory_address_space_left_bytes(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > INT64_MAX)
        return INT64_MAX;
    const int64_t pages = kernel_number("/proc/self", "statm", ""), page = sysconf(_SC_PAGESIZE);
    int64_t used = 0;
    if (pages == INT64_MAX || !stencil_multiply(pages, page, &used))
        return (int64_t)limit.rlim_cur;
    used += LIBRARY_BYTES;
    return (int64_t)limit.rlim_cur > used ? (int64_t)limit.rlim_cur - used : 0;
}

int64_t stencil_memory_available_bytes(void) {
    int64_t available = kernel_number("/proc", "meminfo", "MemAvailable:");
    if (available != INT64_MAX)
        available *= 1024;
    const int64_t group = stencil_memory_group_left_bytes("/proc/self/cgroup", "/sys/fs/cgroup");
    const int64_t space = stencil_memory_address_space_left_bytes();
    return stencil_smaller(available, stencil_smaller(group, space));
}

enum { PARALLEL_BYTES = 1 << 22, HUGE_BYTES = 1 << 21, SMALL_BYTES = 1 << 18 };

stencil_status stencil_memory_alloc(void **memory, int64_t size_bytes, const char *what) {
    const int64_t page = 4096, boundary = size_bytes >= HUGE_BYTES ? HUGE_BYTES : page;
    *memory = NULL;
    /* Asking the kernel takes longer than all the steps of many a small problem. */
    const bool small = size_bytes <= SMALL_BYTES;
    int64_t have = small ? INT64_MAX : stencil_memory_available_bytes();
    const bool fits = size_bytes >= 0 && size_bytes < have - boundary;
    const int64_t rounded = fits ? (size_bytes + page - 1) / page * page : 0;
    void *bytes = NULL;
    const bool has =
        fits && posix_memalign(&bytes, (size_t)boundary, (size_t)(rounded > 0 ? rounded : page)) == 0;
    if (!has && small)
        have = stencil_memory_available_bytes();
    CHECK(has, NO_MEMORY, "%s needs %s of host memory, %s available", what,
          stencil_bytes_text(size_bytes, (char[32]){""}), stencil_bytes_text(have, (char[32]){""}));
    /* Rows and planes of a sweep are pages apart, and a core's TLB holds few pages; huge pages need fewer
     * entries. A failure only means that the system has no huge pages. */
    if (boundary == HUGE_BYTES)
        (void)madvise(bytes, (size_t)rounded, MADV_HUGEPAGE);
    *memory = bytes;
    /* The first touch places a page near the thread that will sweep it; for few pages, waking the threads of
     * a large machine costs more than it gains. */
#pragma omp parallel for schedule(static) if (rounded > PARALLEL_BYTES)
    for (int64_t at = 0; at < rounded; at += page)
        memset((char *)bytes + at, 0, (size_t)page);
    return STENCIL_OK;
}
