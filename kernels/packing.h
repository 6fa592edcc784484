/* Messages between ranks on GPUs: boxes of a part's cells, as a kernel packs them and unpacks them. */
#pragma once

#include "kernels/points.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A box of n cells (z, y, x): elements from the part's updated cell (0, 0, 0) to its first cell, and where
 * its cells stand in a message, without gaps: in pinned memory of the host, which the device reaches at the
 * same address, or in the memory of a device. */
typedef struct stencil_packed_box {
    int64_t cell, n[3];
    int64_t before; /* cells of the boxes before it */
    void *message;
    int64_t odd; /* bytes from there to the message that odd exchanges have */
} stencil_packed_box;

/* The boxes that go one way, one behind the other in the messages. */
typedef struct stencil_packing {
    const stencil_packed_box *box; /* [count], in device memory */
    int32_t count, unpacks;        /* cells go from the messages to the part, else from there */
    int64_t cells;                 /* of all boxes */
    int64_t row, plane;            /* elements of the part from row to row and from plane to plane */
    void *part;                    /* updated cell (0, 0, 0) */
    int32_t odd;                   /* the exchange has an odd number */
} stencil_packing;

/* Returns the kernel pack(stencil_packing by value), in any number of blocks of STENCIL_BLOCK_THREADS
 * threads. Only with CUDA. */
const void *stencil_pack_kernel(stencil_precision precision);

#ifdef __cplusplus
}
#endif
