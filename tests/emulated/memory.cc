/* Memory of the emulated devices: of the host, filled with NaN. Its end, rounded up to what CUDA aligns to,
 * is the end of a page, with none behind it; bytes beside it are guards that nobody may change. */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <climits>
#include <memory>
#include <vector>

#include "streams.h"

namespace emulated {

enum : size_t { TOTAL_BYTES = (size_t)4 << 30, ALIGN_BYTES = 256, PAGE_BYTES = 4096 };
enum : unsigned char { UNWRITTEN = 0xff, GUARD = 0xfd };

struct allocation {
    size_t bytes;
    int device; /* the host's memory, too, belongs to one */
    bool on_device;
    char *low; /* of the pages that exist, with one before and one behind that do not */
    size_t pages_bytes;
    int shared = -1; /* a file that has the pages, which other processes map; -1: there is none */
};
static std::map<char *, allocation> allocations;
static std::map<char *, std::pair<char *, size_t>> mapped; /* memory of others: pages and their bytes */

static size_t up(size_t bytes, size_t unit) {
    return (bytes + unit - 1) / unit * unit;
}

static cudaError_t allocate(void **memory, size_t bytes, bool on_device) {
    locked lock;
    size_t &used = machine().device[(size_t)current_device].used_bytes;
    if (on_device && used + bytes > TOTAL_BYTES)
        return note(cudaErrorMemoryAllocation);
    const size_t rounded = up(bytes, ALIGN_BYTES), pages = up(rounded, PAGE_BYTES);
    void *all =
        mmap(nullptr, pages + 2 * PAGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED)
        return note(cudaErrorMemoryAllocation);
    char *low = static_cast<char *>(all) + PAGE_BYTES, *at = low + pages - rounded;
    if (mprotect(low, pages, PROT_READ | PROT_WRITE) != 0)
        fail("no memory for an allocation of %zu bytes", bytes);
    memset(low, GUARD, pages);
    memset(at, UNWRITTEN, bytes);
    allocations[at] = {bytes, current_device, on_device, low, pages, -1};
    used += on_device ? bytes : 0;
    *memory = at;
    return cudaSuccess;
}

static void check_guards(const char *at, const allocation &a, const char *who) {
    for (const char *p = a.low; p < at; p++)
        if ((unsigned char)*p != GUARD)
            fail("%s wrote byte %zu before an allocation of %zu bytes", who, (size_t)(at - p), a.bytes);
    for (const char *p = at + a.bytes; p < a.low + a.pages_bytes; p++)
        if ((unsigned char)*p != GUARD)
            fail("%s wrote byte %zu of an allocation of %zu bytes", who, (size_t)(p - at), a.bytes);
}
/* Tells whether an address is in memory that was allocated here, on a device or pinned. */
static bool is_allocated(const void *memory) {
    const char *at = static_cast<const char *>(memory);
    locked lock;
    auto found = allocations.upper_bound(const_cast<char *>(at));
    return found != allocations.begin() && at < (--found)->first + found->second.bytes;
}
static cudaError_t describe(cudaPointerAttributes *to, const void *memory) {
    char *at = static_cast<char *>(const_cast<void *>(memory));
    locked lock;
    auto found = allocations.upper_bound(at);
    *to = {cudaMemoryTypeUnregistered, -2, nullptr, at};
    if (found == allocations.begin() || at >= (--found)->first + found->second.bytes)
        return cudaSuccess;
    const bool on_device = found->second.on_device;
    *to = {on_device ? cudaMemoryTypeDevice : cudaMemoryTypeHost, found->second.device, at,
           on_device ? nullptr : at};
    return cudaSuccess;
}
/* Frees memory when its device has nothing to do. */
static cudaError_t release(void *memory, const char *what) {
    int device;
    if (memory == nullptr)
        return cudaSuccess;
    {
        locked lock;
        const auto found = allocations.find(static_cast<char *>(memory));
        if (found == allocations.end())
            return note(cudaErrorInvalidValue);
        device = found->second.device;
    }
    wait_device(device, what);
    locked lock;
    const auto found = allocations.find(static_cast<char *>(memory));
    const allocation &a = found->second;
    check_guards(found->first, a, "somebody");
    machine().device[(size_t)device].used_bytes -= a.on_device ? a.bytes : 0;
    munmap(a.low - PAGE_BYTES, a.pages_bytes + 2 * PAGE_BYTES);
    if (a.shared >= 0)
        close(a.shared);
    allocations.erase(found);
    return cudaSuccess;
}

/* Data by which another process maps an allocation. */
struct memory_handle {
    long process;
    int file;
    size_t bytes, at;
};
static_assert(sizeof(memory_handle) <= sizeof(cudaIpcMemHandle_t), "");

/* Moves the pages of an allocation to a file that other processes can open. */
static cudaError_t share(cudaIpcMemHandle_t *handle, void *memory) {
    locked lock;
    const auto found = allocations.find(static_cast<char *>(memory));
    if (found == allocations.end() || !found->second.on_device)
        return note(cudaErrorInvalidValue);
    allocation &a = found->second;
    if (a.shared < 0) {
        const int file = memfd_create("device memory", 0);
        if (file < 0 || write(file, a.low, a.pages_bytes) != (ssize_t)a.pages_bytes ||
            mmap(a.low, a.pages_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) != a.low)
            fail("an allocation of %zu bytes cannot be shared", a.bytes);
        a.shared = file;
    }
    const memory_handle all = {(long)getpid(), a.shared, a.pages_bytes, (size_t)(found->first - a.low)};
    memset(handle, 0, sizeof *handle);
    memcpy(handle, &all, sizeof all);
    return cudaSuccess;
}
static cudaError_t map_shared(void **memory, const cudaIpcMemHandle_t &handle) {
    locked lock;
    memory_handle all;
    memcpy(&all, &handle, sizeof all);
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/fd/%d", all.process, all.file);
    const int file = open(path, O_RDWR);
    void *pages =
        file < 0 ? MAP_FAILED : mmap(nullptr, all.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file >= 0)
        close(file);
    if (pages == MAP_FAILED)
        return note(cudaErrorInvalidValue);
    *memory = static_cast<char *>(pages) + all.at;
    mapped[static_cast<char *>(*memory)] = {static_cast<char *>(pages), all.bytes};
    return cudaSuccess;
}
static cudaError_t unmap_shared(void *memory) {
    locked lock;
    const auto found = mapped.find(static_cast<char *>(memory));
    if (found == mapped.end())
        return note(cudaErrorInvalidValue);
    munmap(found->second.first, found->second.second);
    mapped.erase(found);
    return cudaSuccess;
}

struct box {
    char *to;
    const char *from;
    size_t to_row, from_row, to_rows, from_rows, width, height, depth;
};
static void copy_box(const box &b) {
    for (size_t z = 0; z < b.depth; z++)
        for (size_t y = 0; y < b.height; y++)
            memcpy(b.to + (z * b.to_rows + y) * b.to_row, b.from + (z * b.from_rows + y) * b.from_row,
                   b.width);
}
template <class Parms> static box box_of(const Parms &p) {
    return {static_cast<char *>(p.dstPtr.ptr),
            static_cast<const char *>(p.srcPtr.ptr),
            p.dstPtr.pitch,
            p.srcPtr.pitch,
            p.dstPtr.ysize,
            p.srcPtr.ysize,
            p.extent.width,
            p.extent.height,
            p.extent.depth};
}
static cudaError_t queue_box(const box &b, cudaStream_t stream) {
    locked lock;
    queue_work(stream, [=] { copy_box(b); });
    return note(machine().device[(size_t)device_of(stream)].error);
}
/* Copies from the host or to it, or within a device. A copy from pageable memory has left it on return, but
 * need not have reached the device, which streams that do not block do not wait for. */
static cudaError_t copy_now(box b, cudaMemcpyKind kind, const char *what) {
    std::shared_ptr<std::vector<char>> staged;
    const bool pageable = kind == cudaMemcpyHostToDevice && !is_allocated(b.from);
    if (pageable) {
        staged = std::make_shared<std::vector<char>>(b.width * b.height * b.depth);
        const box out = b;
        b.from = staged->data(), b.from_row = b.width, b.from_rows = b.height;
        copy_box({staged->data(), out.from, b.width, out.from_row, b.height, out.from_rows, b.width, b.height,
                  b.depth});
    }
    cudaError_t error;
    {
        locked lock;
        queue_work(nullptr, [=] { copy_box(b), (void)staged; });
        error = note(machine().device[(size_t)device_of(nullptr)].error);
    }
    return error != cudaSuccess || pageable || kind == cudaMemcpyDeviceToDevice
               ? error
               : note(wait_stream(nullptr, what));
}
/* A copy between two devices; where they reach each other, with the fault that a test asked for. */
static cudaError_t queue_peer(const box &b, int to, int from, cudaStream_t stream) {
    static const long first = setting("STENCIL_EMULATED_PEER_FAULT", 0, 0, LONG_MAX);
    static long made = 0;
    locked lock;
    const bool reached = (machine().device[(size_t)from].reaches >> to & 1) != 0;
    const bool wrong = first > 0 && to != from && reached && ++made >= first;
    queue_work(stream, [=] {
        copy_box(b);
        if (wrong)
            b.to[4 * draw((uint32_t)(b.width / 4)) + 1] ^= 1;
    });
    return note(machine().device[(size_t)device_of(stream)].error);
}
static cudaError_t queue_copy(void *to, const void *from, size_t bytes, cudaStream_t stream) {
    return queue_box({static_cast<char *>(to), static_cast<const char *>(from), 0, 0, 0, 0, bytes, 1, 1},
                     stream);
}

} // namespace emulated

using namespace emulated;

cudaError_t cudaMalloc(void **memory, size_t bytes) {
    return allocate(memory, bytes, true);
}
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *memory) {
    return share(handle, memory);
}
cudaError_t cudaIpcOpenMemHandle(void **memory, cudaIpcMemHandle_t handle, unsigned) {
    return map_shared(memory, handle);
}
cudaError_t cudaIpcCloseMemHandle(void *memory) {
    return unmap_shared(memory);
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *attributes, const void *memory) {
    return describe(attributes, memory);
}
cudaError_t cudaFree(void *memory) {
    return release(memory, "cudaFree");
}
cudaError_t cudaMallocHost(void **memory, size_t bytes) {
    return allocate(memory, bytes, false);
}
cudaError_t cudaHostAlloc(void **memory, size_t bytes, unsigned) {
    return allocate(memory, bytes, false);
}
cudaError_t cudaFreeHost(void *memory) {
    return release(memory, "cudaFreeHost");
}
cudaError_t cudaMemGetInfo(size_t *available, size_t *total) {
    locked lock;
    *total = TOTAL_BYTES;
    *available = TOTAL_BYTES - machine().device[(size_t)current_device].used_bytes;
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
    return queue_copy(to, from, bytes, stream);
}
/* A memset and a copy within a device do not wait for their end. */
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
    return copy_now({static_cast<char *>(to), static_cast<const char *>(from), 0, 0, 0, 0, bytes, 1, 1}, kind,
                    "cudaMemcpy");
}
cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                         size_t height, cudaMemcpyKind kind) {
    return copy_now({static_cast<char *>(to), static_cast<const char *>(from), to_pitch, from_pitch, height,
                     height, width, height, 1},
                    kind, "cudaMemcpy2D");
}
cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes,
                                cudaStream_t stream) {
    const box b = {static_cast<char *>(to), static_cast<const char *>(from), 0, 0, 0, 0, bytes, 1, 1};
    return queue_peer(b, to_device, from_device, stream);
}
cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms *copy, cudaStream_t stream) {
    return queue_box(box_of(*copy), stream);
}
cudaError_t cudaMemcpy3DPeerAsync(const cudaMemcpy3DPeerParms *copy, cudaStream_t stream) {
    return queue_peer(box_of(*copy), copy->dstDevice, copy->srcDevice, stream);
}
cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream) {
    locked lock;
    queue_work(stream, [=] { memset(memory, value, bytes); });
    return note(machine().device[(size_t)device_of(stream)].error);
}
cudaError_t cudaMemset(void *memory, int value, size_t bytes) {
    return cudaMemsetAsync(memory, value, bytes, nullptr);
}
