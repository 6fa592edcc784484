/* Arrays of other programs in a GPU's memory, as kernels copy them to the cells of a part and back. */
#pragma once

#include "kernels/residual.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An array of any strides in bytes, (z, y, x), from the first updated cell of the problem on. */
typedef struct stencil_strided {
    char *at;
    int64_t stride[3];
    bool wide; /* its numbers are double, else float */
} stencil_strided;

/* Facts about the cells that were taken: bits of the largest absolute value as a double, NaN not counted,
 * and the number of the first cell of the box, in array order, that is NaN or infinite; UINT64_MAX: none. */
typedef struct stencil_taken {
    unsigned long long largest, odd;
} stencil_taken;

/* A box of cells on its way between an array and a part. Cells of the box beyond the ends of periodic and
 * mirrored axes are those that they are copies of. */
typedef struct stencil_array_move {
    stencil_strided other;
    char *own;                   /* the first cell of the box in the part */
    int64_t row, plane;          /* elements of the part from row to row and from plane to plane */
    int64_t first[3], n[3];      /* the box, in indices from the first updated cell */
    int64_t size[3];             /* updated cells of the problem */
    bool periodic[3], mirror[3]; /* axes */
    bool wide;                   /* cells of the part are double, else float */
    bool same;                   /* cells are copied as they are */
    bool writes;                 /* to the array, else from it */
    double scale, again;  /* else: numbers times `scale` in double are rounded, then multiplied by `again` */
    stencil_taken *taken; /* NULL: nobody asks */
    double *partial; /* partial sums of all cells (kernels/residual.h), of which the box writes its own; NULL:
                        nobody asks */
    stencil_norm norm;
} stencil_array_move;

/* Returns the kernel move(stencil_array_move by value), in any number of blocks of STENCIL_BLOCK_THREADS
 * threads, and sum(stencil_array_move by value), which writes the partial sums of the cells of the part that
 * the box has. Only with CUDA. */
const void *stencil_move_kernel(void);
const void *stencil_sum_kernel(void);

#ifdef __cplusplus
}
#endif
