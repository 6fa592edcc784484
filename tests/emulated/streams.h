/* Streams: queues of what a device is to do, in order. */
#pragma once

#include <list>

#include "machine.h"

namespace emulated {

/* What a stream has queued: a launch, a piece of work, or a wait until may_begin(). */
struct stream_item {
    std::shared_ptr<launch> kernel;
    std::function<void()> work;
    std::function<bool()> may_begin;
    bool begun = false;
};

/* Queues, with the lock held; during a capture the item becomes part of the graph. stream NULL: the current
 * device's default stream. */
void queue_launch(cudaStream_t stream, const std::shared_ptr<launch> &kernel);
void queue_work(cudaStream_t stream, std::function<void()> work);
void queue_wait(cudaStream_t stream, std::function<bool()> may_begin);
/* Waits without the lock until a stream, or all of a device, is empty. Returns the device's error. */
cudaError_t wait_stream(cudaStream_t stream, const char *what);
cudaError_t wait_device(int device, const char *what);
int device_of(cudaStream_t stream);

} // namespace emulated

struct emulated_graph {
    std::vector<emulated::stream_item> items;
};
struct emulated_stream {
    int device;
    std::list<emulated::stream_item> queue;
    emulated_graph *capture = nullptr;
};
struct emulated_event {
    uint64_t recorded = 0, made = 0, ns = 0;
};
