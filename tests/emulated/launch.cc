/* Kernels and their launches: what CUDA checks, and where blocks are placed. */
#include <cxxabi.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>

#include "machine.h"
#include "streams.h"

namespace emulated {

static std::string name_of(const void *kernel) {
    Dl_info info;
    int status = 0;
    if (dladdr(kernel, &info) == 0 || info.dli_sname == nullptr)
        return "?";
    char *text = abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, &status);
    const std::string name = text != nullptr ? text : info.dli_sname;
    free(text);
    return name.substr(0, name.rfind('('));
}

const void *know(const void *kernel, const signature &s) {
    locked lock;
    kernel_info &k = machine().kernels[kernel];
    if (k.how.call == nullptr) {
        k.how = s;
        k.name = name_of(kernel);
        std::fill_n(k.dynamic_most, DEVICES_MOST, (size_t)SHARED_USUAL);
    }
    return kernel;
}

int blocks_per_sm(unsigned threads, size_t shared_bytes) {
    const unsigned warps = (threads + 31) / 32;
    if (threads == 0 || threads > THREADS_PER_BLOCK || shared_bytes > SHARED_PER_BLOCK)
        return 0;
    return (int)std::min({(size_t)BLOCKS_PER_SM, (size_t)(THREADS_PER_SM / 32 / warps),
                          (size_t)(REGISTERS_PER_SM / REGISTERS / 32 / warps),
                          SHARED_PER_SM / (shared_bytes + SHARED_RESERVED)});
}

cudaError_t check_launch(const launch &l) {
    const device_state &d = machine().device[(size_t)l.device];
    const uint64_t threads = (uint64_t)l.block_dim.x * l.block_dim.y * l.block_dim.z;
    if (d.error != cudaSuccess)
        return d.error;
    if (threads == 0 || threads > THREADS_PER_BLOCK || l.grid_dim.x == 0 || l.grid_dim.y == 0 ||
        l.grid_dim.z == 0 || l.grid_dim.x > INT32_MAX || l.grid_dim.y > 65535 || l.grid_dim.z > 65535)
        return cudaErrorInvalidConfiguration;
    if (l.shared_bytes > l.info->dynamic_most[l.device])
        return cudaErrorInvalidValue;
    if (l.cluster == 0 || l.cluster > CLUSTER_MOST || l.grid_dim.x % l.cluster != 0)
        return cudaErrorInvalidConfiguration;
    if (l.cooperative && l.blocks() > (size_t)blocks_per_sm(l.threads(), l.shared_bytes) * d.sm.size())
        return cudaErrorCooperativeLaunchTooLarge;
    return cudaSuccess;
}

static bool has_room(const multiprocessor_state &sm, const launch &l) {
    const int threads = (int)((l.threads() + 31) / 32 * 32);
    return sm.blocks < BLOCKS_PER_SM && sm.threads + threads <= THREADS_PER_SM &&
           (sm.threads + threads) * REGISTERS <= REGISTERS_PER_SM &&
           sm.shared + l.shared_bytes + SHARED_RESERVED <= SHARED_PER_SM;
}
/* Finds multiprocessors with room for `count` blocks, beginning at one drawn; none: returns false. */
static bool find_room(const device_state &d, const launch &l, unsigned count, std::vector<int> &found) {
    std::vector<multiprocessor_state> sm = d.sm;
    const size_t first = draw((uint32_t)sm.size());
    for (size_t tried = 0, i = first; found.size() < count && tried < sm.size(); i = (i + 1) % sm.size()) {
        tried++;
        if (!has_room(sm[i], l))
            continue;
        sm[i].blocks++, sm[i].threads += (int)l.threads(), sm[i].shared += l.shared_bytes + SHARED_RESERVED;
        found.push_back((int)i);
        tried = 0;
    }
    return found.size() == count;
}
/* Starts blocks that have to begin together: a cluster, or all blocks of a cooperative launch. */
static void start_together(device_state &d, launch &l, const std::vector<int> &where) {
    std::shared_ptr<cluster_state> cluster;
    for (size_t i = 0; i < where.size(); i++) {
        running_block *b = start_block(&l, l.started, where[i]);
        multiprocessor_state &sm = d.sm[(size_t)where[i]];
        sm.blocks++, sm.threads += (int)l.threads(), sm.shared += l.shared_bytes + SHARED_RESERVED;
        if (l.cluster > 1) {
            b->rank = l.started % l.cluster;
            if (b->rank == 0)
                cluster = std::make_shared<cluster_state>();
            b->cluster = cluster;
            cluster->blocks.push_back(b);
        }
        l.started++;
    }
}

static bool place_some(device_state &d, launch &l) {
    const unsigned together = l.cooperative ? l.blocks() : l.cluster;
    bool placed = false;
    while (l.started < l.blocks()) {
        std::vector<int> where;
        if (!find_room(d, l, together, where))
            break;
        start_together(d, l, where);
        placed = true;
    }
    return placed;
}
bool place_blocks() {
    bool placed = false;
    for (device_state &d : machine().device)
        for (const auto &l : d.launches)
            placed = place_some(d, *l) || placed;
    return placed;
}

void kill_device(int device, cudaError_t error) {
    machine_state &m = machine();
    device_state &d = m.device[(size_t)device];
    d.error = error;
    m.held = nullptr;
    for (size_t i = m.running.size(); i-- > 0;)
        if (m.running[i]->run->device == device) {
            m.running[i]->run->shared_bytes = SHARED_PER_BLOCK; /* its guard is not looked at */
            end_block(m.running[i]);
        }
    for (const auto &l : d.launches)
        l->started = l->ended = l->triggers = l->blocks();
    for (multiprocessor_state &sm : d.sm)
        sm = {};
}

void trap() {
    fprintf(stderr, "emulated GPU: kernel %s, block %u, thread %u,%u: trap\n",
            me().in_block().run->info->name.c_str(), now->of->index.x, now->index.x, now->index.y);
    machine().device[(size_t)me().in_block().run->device].error = cudaErrorLaunchFailure;
    park(fiber_state::ready);
    fail("a thread went on after a trap");
}

void await_launch_before() {
    running_block &b = me().in_block();
    launch &l = *b.run;
    if (!b.triggered) {
        b.triggered = true;
        l.triggers++;
    }
    while (l.before && !l.before->done())
        yield();
}
unsigned *grid_word() {
    launch &l = *me().in_block().run;
    if (!l.cooperative)
        fail("a grid barrier in a launch that is not cooperative");
    return &l.word;
}

static cudaError_t start(const cudaLaunchConfig_t &config, const void *kernel, void **arguments) {
    locked lock;
    const auto known = machine().kernels.find(kernel);
    if (known == machine().kernels.end())
        return note(cudaErrorInvalidDeviceFunction);
    auto l = std::make_shared<launch>();
    const signature &how = known->second.how;
    l->grid_dim = config.gridDim, l->block_dim = config.blockDim;
    l->kernel = kernel, l->info = &known->second;
    l->shared_bytes = config.dynamicSmemBytes;
    l->device = device_of(config.stream);
    l->cluster = 1, l->cooperative = l->programmatic = false;
    for (unsigned i = 0; i < config.numAttrs; i++) {
        const cudaLaunchAttribute &a = config.attrs[i];
        if (a.id == cudaLaunchAttributeCooperative)
            l->cooperative = a.val.cooperative != 0;
        else if (a.id == cudaLaunchAttributeClusterDimension)
            l->cluster = a.val.clusterDim.x;
        else
            l->programmatic = a.val.programmaticStreamSerializationAllowed != 0;
    }
    l->arguments.resize(how.bytes);
    for (size_t i = 0, at = 0; i < (size_t)how.count; at += aligned(how.size[i]), i++)
        memcpy(l->arguments.data() + at, arguments[i], how.size[i]);
    const cudaError_t error = check_launch(*l);
    catch_faults();
    if (error == cudaSuccess)
        queue_launch(config.stream, l);
    return note(error);
}

} // namespace emulated

using namespace emulated;

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *kernel, void **arguments) {
    return start(*config, kernel, arguments);
}
cudaError_t cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared_bytes,
                             cudaStream_t stream) {
    return start({grid, block, shared_bytes, stream, nullptr, 0}, kernel, arguments);
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, const void *kernel) {
    locked lock;
    const auto known = machine().kernels.find(kernel);
    if (known == machine().kernels.end())
        return note(cudaErrorInvalidDeviceFunction);
    *attributes = {};
    attributes->maxThreadsPerBlock = THREADS_PER_BLOCK;
    attributes->numRegs = REGISTERS;
    attributes->ptxVersion = attributes->binaryVersion = CAPABILITY;
    attributes->maxDynamicSharedSizeBytes = (int)known->second.dynamic_most[current_device];
    return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void *kernel, cudaFuncAttribute, int value) {
    locked lock;
    const auto known = machine().kernels.find(kernel);
    if (known == machine().kernels.end())
        return note(cudaErrorInvalidDeviceFunction);
    if (value < 0 || (size_t)value > SHARED_PER_BLOCK)
        return note(cudaErrorInvalidValue);
    known->second.dynamic_most[current_device] = std::max((size_t)value, (size_t)SHARED_USUAL);
    return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *, int threads,
                                                          size_t shared_bytes) {
    *blocks = blocks_per_sm((unsigned)threads, shared_bytes);
    return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveClusters(int *clusters, const void *, const cudaLaunchConfig_t *config) {
    locked lock;
    unsigned blocks = 1;
    for (unsigned i = 0; i < config->numAttrs; i++)
        if (config->attrs[i].id == cudaLaunchAttributeClusterDimension)
            blocks = config->attrs[i].val.clusterDim.x;
    const unsigned threads = config->blockDim.x * config->blockDim.y * config->blockDim.z;
    const size_t most = machine().device[(size_t)current_device].sm.size() *
                        (size_t)blocks_per_sm(threads, config->dynamicSmemBytes);
    *clusters = (int)(most / std::max(blocks, 1u));
    return cudaSuccess;
}
