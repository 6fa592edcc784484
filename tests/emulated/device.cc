/* What the emulated devices say of themselves. */
#include <algorithm>

#include "streams.h"

namespace emulated {

thread_local int current_device = 0;
thread_local cudaError_t last_error = cudaSuccess;

cudaError_t note(cudaError_t error) {
    if (error != cudaSuccess && error != cudaErrorNotReady)
        last_error = error;
    return error;
}
static bool exists(int device) {
    return device >= 0 && (size_t)device < machine().device.size();
}

} // namespace emulated

using namespace emulated;

cudaError_t cudaGetDeviceCount(int *count) {
    locked lock;
    *count = (int)machine().device.size();
    return note(*count > 0 ? cudaSuccess : cudaErrorNoDevice);
}
cudaError_t cudaGetDevice(int *device) {
    *device = current_device;
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
    locked lock;
    if (!exists(device))
        return note(cudaErrorInvalidDevice);
    current_device = device;
    return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize(void) {
    return note(wait_device(current_device, "cudaDeviceSynchronize"));
}
cudaError_t cudaDeviceReset(void) {
    wait_device(current_device, "cudaDeviceReset");
    locked lock;
    machine().device[(size_t)current_device].error = cudaSuccess;
    last_error = cudaSuccess;
    return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int device) {
    locked lock;
    if (!exists(device))
        return note(cudaErrorInvalidDevice);
    *p = {};
    snprintf(p->name, sizeof p->name, "Emulated GPU");
    p->totalGlobalMem = (size_t)4 << 30;
    p->sharedMemPerBlock = SHARED_USUAL;
    p->sharedMemPerBlockOptin = SHARED_PER_BLOCK;
    p->sharedMemPerMultiprocessor = SHARED_PER_SM;
    p->major = CAPABILITY / 10, p->minor = CAPABILITY % 10;
    p->multiProcessorCount = (int)machine().device[(size_t)device].sm.size();
    p->l2CacheSize = 50 << 20;
    p->regsPerMultiprocessor = REGISTERS_PER_SM;
    p->maxThreadsPerMultiProcessor = THREADS_PER_SM;
    p->maxBlocksPerMultiProcessor = BLOCKS_PER_SM;
    p->cooperativeLaunch = 1;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device) {
    cudaDeviceProp p;
    const cudaError_t error = cudaGetDeviceProperties(&p, device);
    if (error != cudaSuccess)
        return error;
    *value = attribute == cudaDevAttrClockRate                ? 1000000 /* kHz: clock64() counts ns */
             : attribute == cudaDevAttrMultiProcessorCount    ? p.multiProcessorCount
             : attribute == cudaDevAttrComputeCapabilityMajor ? p.major
                                                              : 1;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char *text, int size, int device) {
    snprintf(text, (size_t)size, "0000:%02x:00.0", (unsigned)device);
    return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer) {
    *can = device != peer;
    return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned) {
    locked lock;
    machine().device[(size_t)current_device].reaches |= 1u << peer;
    return cudaSuccess;
}
cudaError_t cudaDeviceDisablePeerAccess(int peer) {
    locked lock;
    machine().device[(size_t)current_device].reaches &= ~(1u << peer);
    return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
    *least = 0, *greatest = -5;
    return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int *version) {
    *version = 13000;
    return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int *version) {
    *version = 13000;
    return cudaSuccess;
}
cudaError_t cudaGetLastError(void) {
    const cudaError_t error = last_error;
    last_error = cudaSuccess;
    return error;
}
const char *cudaGetErrorString(cudaError_t error) {
    static const struct {
        cudaError_t error;
        const char *text;
    } texts[] = {{cudaSuccess, "no error"},
                 {cudaErrorInvalidValue, "invalid argument"},
                 {cudaErrorMemoryAllocation, "out of memory"},
                 {cudaErrorInvalidConfiguration, "invalid configuration argument"},
                 {cudaErrorInvalidDeviceFunction, "invalid device function"},
                 {cudaErrorNoDevice, "no CUDA-capable device is detected"},
                 {cudaErrorInvalidDevice, "invalid device ordinal"},
                 {cudaErrorInvalidResourceHandle, "invalid resource handle"},
                 {cudaErrorNotReady, "device not ready"},
                 {cudaErrorIllegalAddress, "an illegal memory access was encountered"},
                 {cudaErrorLaunchFailure, "unspecified launch failure"},
                 {cudaErrorCooperativeLaunchTooLarge, "too many blocks in cooperative launch"}};
    for (const auto &t : texts)
        if (t.error == error)
            return t.text;
    return "another error";
}
