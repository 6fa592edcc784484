#include "solver/machine/nccl.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined STENCIL_HAVE_CUDA && defined STENCIL_HAVE_NCCL
#include <nccl.h>

/* The functions of the library, once it is loaded. */
static struct functions {
    bool tried;
    char why[160]; /* why there are none */
    ncclResult_t (*get_id)(ncclUniqueId *);
    ncclResult_t (*join)(ncclComm_t *, int, ncclUniqueId, int);
    ncclResult_t (*leave)(ncclComm_t);
    ncclResult_t (*begin)(void);
    ncclResult_t (*end)(void);
    ncclResult_t (*send)(const void *, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t);
    ncclResult_t (*receive)(void *, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t);
    const char *(*text)(ncclResult_t);
} library;

struct stencil_nccl {
    ncclComm_t member;
};

/* Finds a function; *to is NULL where the library has none. */
static bool find(void *handle, const char *name, void *to) {
    void *const found = dlsym(handle, name);
    memcpy(to, &found, sizeof found);
    return found != NULL;
}

static bool find_all(void *handle) {
    return find(handle, "ncclGetUniqueId", &library.get_id) &&
           find(handle, "ncclCommInitRank", &library.join) &&
           find(handle, "ncclCommDestroy", &library.leave) &&
           find(handle, "ncclGroupStart", &library.begin) && find(handle, "ncclGroupEnd", &library.end) &&
           find(handle, "ncclSend", &library.send) && find(handle, "ncclRecv", &library.receive) &&
           find(handle, "ncclGetErrorString", &library.text);
}

const char *stencil_nccl_unavailable(void) {
    static const char name[] = "libnccl.so.2";
    if (library.tried)
        return library.why;
    library.tried = true;
    void *handle = dlopen(NULL, RTLD_NOW); /* of a program that has the library */
    if (handle != NULL && find_all(handle))
        return "";
    handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    const char *const error = handle == NULL ? dlerror() : NULL;
    if (handle == NULL)
        snprintf(library.why, sizeof library.why, "no NCCL (%.120s)", error != NULL ? error : name);
    else if (!find_all(handle))
        snprintf(library.why, sizeof library.why, "%s has no send and receive: 2.7 or newer has", name);
    return library.why;
}

static stencil_status check(ncclResult_t result, const char *call) {
    CHECK(result == ncclSuccess, INTERNAL, "NCCL: %s (%s)", library.text(result), call);
    return STENCIL_OK;
}

stencil_status stencil_nccl_open(stencil_nccl **nccl, stencil_world *world) {
    const char *why = stencil_nccl_unavailable();
    stencil_nccl *const n = calloc(1, sizeof *n);
    ncclUniqueId id = {0};
    *nccl = n;
    stencil_status status = n == NULL          ? ERROR(NO_MEMORY, "no memory for NCCL")
                            : why[0] != '\0'   ? ERROR(UNAVAILABLE, "%s", why)
                            : world->rank == 0 ? check(library.get_id(&id), "ncclGetUniqueId")
                                               : STENCIL_OK;
    TRY(stencil_world_agree(world, status));
    stencil_world_tell(world, 0, &id, sizeof id);
    status = check(library.join(&n->member, world->ranks, id, world->rank), "ncclCommInitRank");
    return stencil_world_agree(world, status);
}

void stencil_nccl_close(stencil_nccl *n) {
    if (n != NULL && n->member != NULL)
        library.leave(n->member);
    free(n);
}

stencil_status stencil_nccl_exchange(stencil_nccl *n, const stencil_message *message, int count,
                                     cudaStream_t stream) {
    if (count == 0)
        return STENCIL_OK;
    TRY(check(library.begin(), "ncclGroupStart"));
    stencil_status status = STENCIL_OK;
    for (int i = 0; i < count && status == STENCIL_OK; i++) {
        const stencil_message *m = &message[i];
        status =
            m->sent
                ? check(library.send(m->data, m->bytes, ncclChar, m->peer, n->member, stream), "ncclSend")
                : check(library.receive(m->data, m->bytes, ncclChar, m->peer, n->member, stream), "ncclRecv");
    }
    const stencil_error error = *stencil_error_last();
    const stencil_status ended = check(library.end(), "ncclGroupEnd");
    return status != STENCIL_OK ? stencil_error_adopt(&error) : ended;
}
#else
const char *stencil_nccl_unavailable(void) {
    return "this build has no NCCL, whose header nccl.h was not found";
}
#ifdef STENCIL_HAVE_CUDA
stencil_status stencil_nccl_open(stencil_nccl **nccl, stencil_world *world) {
    (void)world;
    *nccl = NULL;
    FAIL(UNAVAILABLE, "%s", stencil_nccl_unavailable());
}
void stencil_nccl_close(stencil_nccl *nccl) {
    (void)nccl;
}
stencil_status stencil_nccl_exchange(stencil_nccl *nccl, const stencil_message *message, int count,
                                     cudaStream_t stream) {
    (void)nccl, (void)message, (void)count, (void)stream;
    FAIL(UNAVAILABLE, "%s", stencil_nccl_unavailable());
}
#endif
#endif
