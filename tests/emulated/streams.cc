/* Streams, events and graphs. */
#include "streams.h"

#include <algorithm>

namespace emulated {

static cudaStream_t the_stream(cudaStream_t stream) {
    static cudaStream_t usual[DEVICES_MOST];
    if (stream != nullptr)
        return stream;
    cudaStream_t &own = usual[current_device];
    if (own == nullptr) {
        own = new emulated_stream{current_device, {}, nullptr};
        machine().streams.push_back(own);
    }
    return own;
}
int device_of(cudaStream_t stream) {
    return stream != nullptr ? stream->device : current_device;
}

static void queue(cudaStream_t stream, stream_item item) {
    stream = the_stream(stream);
    if (stream->capture != nullptr)
        stream->capture->items.push_back(std::move(item));
    else
        stream->queue.push_back(std::move(item));
}
void queue_launch(cudaStream_t stream, const std::shared_ptr<launch> &kernel) {
    queue(stream, {kernel, {}, {}});
}
void queue_work(cudaStream_t stream, std::function<void()> work) {
    queue(stream, {{}, std::move(work), {}});
}
void queue_wait(cudaStream_t stream, std::function<bool()> may_begin) {
    queue(stream, {{}, {}, std::move(may_begin)});
}

static void begin_launch(cudaStream_t stream, stream_item &item) {
    item.begun = true;
    machine().device[(size_t)stream->device].launches.push_back(item.kernel);
}
static void end_launch(cudaStream_t stream, const launch *l) {
    auto &launches = machine().device[(size_t)stream->device].launches;
    for (size_t i = 0; i < launches.size(); i++)
        if (launches[i].get() == l)
            launches.erase(launches.begin() + (ptrdiff_t)i--);
}

/* Ends the first item of a stream if it is over, or begins it. */
static bool advance(cudaStream_t stream) {
    if (stream->queue.empty())
        return false;
    stream_item &item = stream->queue.front();
    const bool broken = machine().device[(size_t)stream->device].error != cudaSuccess;
    if (item.kernel && !broken && !item.begun) {
        begin_launch(stream, item);
        return true;
    }
    if (item.kernel && !broken && !item.kernel->done()) {
        /* A launch that allows it begins when all blocks of the one before have said so or have ended. */
        auto next = std::next(stream->queue.begin());
        if (next == stream->queue.end() || !next->kernel || next->begun || !next->kernel->programmatic ||
            item.kernel->triggers < item.kernel->blocks())
            return false;
        next->kernel->before = item.kernel;
        begin_launch(stream, *next);
        return true;
    }
    if (item.may_begin && !broken && !item.may_begin())
        return false;
    if (item.kernel)
        end_launch(stream, item.kernel.get());
    if (item.work)
        item.work();
    stream->queue.pop_front();
    return true;
}
bool advance_streams() {
    const auto &streams = machine().streams;
    bool moved = false;
    if (streams.empty())
        return false;
    const size_t first = draw((uint32_t)streams.size());
    for (size_t i = 0; i < streams.size(); i++)
        moved = advance(streams[(first + i) % streams.size()]) || moved;
    return moved;
}

cudaError_t wait_stream(cudaStream_t stream, const char *what) {
    int device;
    {
        locked lock;
        stream = the_stream(stream);
        device = stream->device;
    }
    wait_for([=] { return stream->queue.empty(); }, what);
    return machine().device[(size_t)device].error;
}
cudaError_t wait_device(int device, const char *what) {
    wait_for(
        [=] {
            const auto &streams = machine().streams;
            return std::all_of(streams.begin(), streams.end(),
                               [=](cudaStream_t s) { return s->device != device || s->queue.empty(); });
        },
        what);
    return machine().device[(size_t)device].error;
}

/* The driver's waits and writes of words, in a stream. */
static int wait_word(cudaStream_t stream, uintptr_t address, uint32_t value, unsigned) {
    locked lock;
    queue_wait(stream, [=] { return (int32_t)(*(volatile uint32_t *)address - value) >= 0; });
    return 0;
}
static int write_word(cudaStream_t stream, uintptr_t address, uint32_t value, unsigned) {
    locked lock;
    queue_work(stream, [=] { *(volatile uint32_t *)address = value; });
    return 0;
}

} // namespace emulated

using namespace emulated;

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned) {
    locked lock;
    *stream = new emulated_stream{current_device, {}, nullptr};
    machine().streams.push_back(*stream);
    return cudaSuccess;
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int) {
    return cudaStreamCreateWithFlags(stream, flags);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    wait_stream(stream, "cudaStreamDestroy");
    locked lock;
    auto &streams = machine().streams;
    streams.erase(std::find(streams.begin(), streams.end(), stream));
    delete stream;
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    if (stream == cudaStreamLegacy)
        stream = nullptr;
    return note(wait_stream(stream, "cudaStreamSynchronize"));
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
    locked lock;
    stream = the_stream(stream);
    go_on([=] { return stream->queue.empty(); });
    const cudaError_t error = machine().device[(size_t)stream->device].error;
    return note(error != cudaSuccess ? error : stream->queue.empty() ? cudaSuccess : cudaErrorNotReady);
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    locked lock;
    const uint64_t version = event->recorded;
    queue_wait(stream, [=] { return event->made >= version; });
    return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
    locked lock;
    if (stream == nullptr || stream->capture != nullptr)
        return note(cudaErrorStreamCaptureUnsupported);
    stream->capture = new emulated_graph();
    return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) {
    locked lock;
    *graph = stream->capture;
    stream->capture = nullptr;
    return note(*graph != nullptr ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaEventCreate(cudaEvent_t *event) {
    *event = new emulated_event();
    return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned) {
    return cudaEventCreate(event);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    wait_for([=] { return event->made >= event->recorded; }, "cudaEventDestroy");
    delete event;
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    locked lock;
    const uint64_t version = ++event->recorded;
    queue_work(stream, [=] {
        event->made = version;
        event->ns = host_clock_ns();
    });
    return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    wait_for([=] { return event->made >= event->recorded; }, "cudaEventSynchronize");
    locked lock;
    return note(machine().device[(size_t)current_device].error);
}
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t begin, cudaEvent_t end) {
    locked lock;
    if (begin->recorded == 0 || end->recorded == 0)
        return note(cudaErrorInvalidResourceHandle);
    if (begin->made < begin->recorded || end->made < end->recorded)
        return note(cudaErrorNotReady);
    *ms = (float)(1e-6 * (double)(int64_t)(end->ns - begin->ns));
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph, unsigned long long) {
    *executable = new emulated_graph(*graph);
    return cudaSuccess;
}
cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) {
    return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
    locked lock;
    for (const stream_item &item : executable->items) {
        stream_item again = item;
        if (item.kernel)
            again.kernel = std::make_shared<launch>(*item.kernel);
        queue(stream, std::move(again));
    }
    return note(machine().device[(size_t)device_of(stream)].error);
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    delete graph;
    return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
    delete executable;
    return cudaSuccess;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult *found) {
    const std::string wanted = name;
    *function = wanted == "cuStreamWaitValue32"    ? reinterpret_cast<void *>(&wait_word)
                : wanted == "cuStreamWriteValue32" ? reinterpret_cast<void *>(&write_word)
                                                   : nullptr;
    *found = *function != nullptr ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    return cudaSuccess;
}
