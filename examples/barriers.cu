/* Two barriers of stencil in a kernel of one's own: step by step each block takes its left neighbour's value
 * and adds 1. nvcc -std=c++17 -arch=native $(pkg-config --cflags stencil-sync) barriers.cu -o barriers &&
 * ./barriers */
#include <cstdio>
#include <vector>

#include "sync/central.cuh"
#include "sync/lock_free.cuh"

template <class Barrier> __global__ void pass_on(stencil_barrier_state state, int *value, int64_t steps) {
    Barrier barrier(state); /* by all threads of all blocks */
    for (int64_t step = 1; step <= steps; step++) {
        const int left = value[(blockIdx.x + gridDim.x - 1) % gridDim.x];
        barrier.sync(2 * step - 1); /* all have read */
        if (threadIdx.x == 0)
            value[blockIdx.x] = left + 1;
        barrier.sync(2 * step); /* all have written */
    }
    barrier.leave(); /* a next launch goes on from there */
}

template <class Barrier> static bool holds(const char *name, unsigned blocks, int64_t steps) {
    const size_t words = stencil_barrier_word_count(blocks),
                 bytes = (words + STENCIL_ALARM_WORDS) * sizeof(uint32_t);
    stencil_barrier_state state = {};
    std::vector<int> value(blocks, 0);
    int *device_value = nullptr;
    cudaMalloc(&state.words, bytes);
    cudaMemset(state.words, 0, bytes);
    cudaMalloc(&device_value, blocks * sizeof(int));
    cudaMemset(device_value, 0, blocks * sizeof(int));
    state.participants = blocks;
    state.parts = 1;
    state.timeout_ns = 2000000000;     /* of one wait: */
    state.alarm = state.words + words; /* who gave up after it */
    void *arguments[] = {&state, &device_value,
                         &steps}; /* cooperative: all blocks are there at once, or none */
    cudaLaunchCooperativeKernel((const void *)pass_on<Barrier>, dim3(blocks), dim3(128), arguments, 0,
                                nullptr);
    cudaMemcpy(value.data(), device_value, blocks * sizeof(int), cudaMemcpyDeviceToHost);
    const cudaError_t error = cudaGetLastError();
    const bool right = error == cudaSuccess && value == std::vector<int>(blocks, (int)steps);
    std::printf("%s: %u blocks, %s\n", name, blocks,
                right                  ? "holds"
                : error == cudaSuccess ? "does not hold"
                                       : cudaGetErrorString(error));
    return right;
}

int main() {
    const bool central = holds<stencil::central_barrier>("central", 132, 1000);
    return holds<stencil::lock_free_barrier>("lock-free", 132, 1000) && central ? 0 : 1;
}
