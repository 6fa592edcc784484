/* Messages of NCCL between processes with emulated GPUs: files that appear by being renamed. Those of a pair
 * of ranks are numbered as they are queued, since both ends list them in one order. */
#include <nccl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "machine.h"
#include "streams.h"

using namespace emulated;

struct emulated_nccl {
    std::string folder;
    int rank, ranks;
    std::map<int, uint64_t> sent, received; /* messages that have travelled, to a peer and from it */
};

static std::string path_of(const emulated_nccl *n, int from, int to, uint64_t number) {
    return n->folder + "/" + std::to_string(from) + "-" + std::to_string(to) + "-" + std::to_string(number);
}

static void write_message(emulated_nccl *n, int to, const void *data, size_t bytes) {
    const std::string path = path_of(n, n->rank, to, n->sent[to]++), begun = path + ".begun";
    FILE *file = fopen(begun.c_str(), "wb");
    if (file == nullptr || fwrite(data, 1, bytes, file) != bytes || fclose(file) != 0 ||
        rename(begun.c_str(), path.c_str()) != 0)
        fail("no message of NCCL in %s", path.c_str());
}

static bool has_come(const emulated_nccl *n, int from) {
    const auto found = n->received.find(from);
    return access(path_of(n, from, n->rank, found == n->received.end() ? 0 : found->second).c_str(), R_OK) ==
           0;
}

static void read_message(emulated_nccl *n, int from, void *data, size_t bytes) {
    const std::string path = path_of(n, from, n->rank, n->received[from]++);
    FILE *file = fopen(path.c_str(), "rb");
    struct stat about;
    if (file == nullptr || fstat(fileno(file), &about) != 0 || (size_t)about.st_size != bytes ||
        fread(data, 1, bytes, file) != bytes)
        fail("a message of NCCL in %s has not the %zu bytes that are expected", path.c_str(), bytes);
    fclose(file);
    unlink(path.c_str());
}

/* Receives of a group are queued behind its sends, or two ranks would wait for each other. */
struct pending {
    void *data;
    size_t bytes;
    int peer;
    ncclComm_t member;
    cudaStream_t stream;
};
static thread_local std::vector<pending> receives;
static thread_local int depth;

static void queue_receives() {
    locked lock;
    for (const pending &r : receives) {
        queue_wait(r.stream, [=] { return has_come(r.member, r.peer); });
        queue_work(r.stream, [=] { read_message(r.member, r.peer, r.data, r.bytes); });
    }
    receives.clear();
}

const char *ncclGetErrorString(ncclResult_t result) {
    return result == ncclSuccess ? "no error" : "invalid argument";
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
    memset(id, 0, sizeof *id);
    snprintf(id->internal, sizeof id->internal, "/tmp/emulated-nccl-XXXXXX");
    return mkdtemp(id->internal) != nullptr ? ncclSuccess : ncclInvalidArgument;
}

ncclResult_t ncclCommInitRank(ncclComm_t *member, int ranks, ncclUniqueId id, int rank) {
    *member = new emulated_nccl{id.internal, rank, ranks, {}, {}};
    return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t member) {
    rmdir(member->folder.c_str()); /* by whoever is the last one */
    delete member;
    return ncclSuccess;
}

ncclResult_t ncclGroupStart(void) {
    depth++;
    return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void) {
    if (--depth == 0)
        queue_receives();
    return ncclSuccess;
}

ncclResult_t ncclSend(const void *data, size_t count, ncclDataType_t, int peer, ncclComm_t member,
                      cudaStream_t stream) {
    if (peer < 0 || peer >= member->ranks || depth == 0)
        return ncclInvalidArgument;
    locked lock;
    queue_work(stream, [=] { write_message(member, peer, data, count); });
    return ncclSuccess;
}

ncclResult_t ncclRecv(void *data, size_t count, ncclDataType_t, int peer, ncclComm_t member,
                      cudaStream_t stream) {
    if (peer < 0 || peer >= member->ranks || depth == 0)
        return ncclInvalidArgument;
    receives.push_back({data, count, peer, member, stream});
    return ncclSuccess;
}
