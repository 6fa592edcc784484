/* A claim on the name of a result, which one process of a host has at a time: another one that would write
 * the result, its checkpoints or its series is refused. It is a lock of one byte of the result's directory,
 * the number of which is made from the name. So it locks no file, disturbs no reader, and ends with the
 * process, however that ends. */
#pragma once

#include "base/base.h"

/* A claim. Zero-initialised: none. */
typedef struct stencil_claim {
    int fd; /* descriptor of the directory */
    bool held;
} stencil_claim;

/* Takes the claim on `path`, whose file need not exist. Where the file system has no such locks, or the
 * directory cannot be read, there is no claim, and no error. Errors: CANNOT_CREATE: another process has it.
 */
stencil_status stencil_claim_take(stencil_claim *claim, const char *path);

void stencil_claim_release(stencil_claim *claim);
