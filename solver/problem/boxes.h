/* Input and output of cells in boxes, so that all cells never need to be in memory at once. */
#pragma once

#include "kernels/classes.h"
#include "solver/parts/cut.h"

/* Bytes of the buffers through which slabs are read and written; one row where a row is larger. */
#define STENCIL_SLAB_BYTES (INT64_C(64) << 20)

typedef enum stencil_array {
    STENCIL_ARRAY_U,     /* the field /u, boundary cells included */
    STENCIL_ARRAY_B,     /* the source term as a step adds it, for updated cells only; 0 in kept cells */
    STENCIL_ARRAY_CLASS, /* the classes of cells (classes.h), in bytes; only where the problem has classes */
    STENCIL_ARRAY_COUNT,
    STENCIL_ARRAY_KIND = STENCIL_ARRAY_COUNT, /* what is said of single cells, of which rows.h makes classes:
                                                 only readers of problems have it */
    STENCIL_ARRAY_MORE, /* and the next two: the second to fourth array whose factor changes in time, like B
                         */
    STENCIL_ARRAY_MORE_LAST = STENCIL_ARRAY_MORE + STENCIL_SUM_ARRAYS - 2,
    STENCIL_ARRAY_K,    /* the cells of /k in float64: only readers of problems have it */
    STENCIL_ARRAY_FACE, /* + axis: weights of faces (faces.h); only where steps read fields of them */
    STENCIL_ARRAY_FACE_LAST = STENCIL_ARRAY_FACE + STENCIL_AXES - 1,
    STENCIL_ARRAY_ROW /* numbers of rows of weights of the cells of class WIDE, 0 in others, in two bytes;
                         only where the problem has more rows than bytes name */
} stencil_array;

/* Kinds of cells, of two bytes: the number of the row that the author gives them, below ROWS_MAX, or one of
 * these. */
typedef uint16_t stencil_cell_kind;
enum {
    STENCIL_KIND_PLAIN = 0,
    STENCIL_KIND_INSULATED = 0xfffc, /* is not there */
    STENCIL_KIND_DRIVEN,  /* keeps its value, or is of a fixed side, and /fixed_value has a number for it */
    STENCIL_KIND_STRANGE, /* of a row that cannot exist */
    STENCIL_KIND_KEPT     /* keeps its value */
};

/* Array k of those with factors in time: B, and those behind it. It has the source in updated cells and the
 * value of the sum in driven ones, both 0 where that sum has fewer arrays. */
static inline stencil_array stencil_array_of_sum(int k) {
    return k == 0 ? STENCIL_ARRAY_B : (stencil_array)(STENCIL_ARRAY_MORE + k - 1);
}
/* The number of such an array; -1: it is none. */
static inline int stencil_array_in_sum(stencil_array array) {
    const bool more = array >= STENCIL_ARRAY_MORE && array <= STENCIL_ARRAY_MORE_LAST;
    return array == STENCIL_ARRAY_B ? 0 : more ? (int)array - STENCIL_ARRAY_MORE + 1 : -1;
}
/* The array of the weights of faces along an axis; the axis of such an array, -1 for others. */
static inline stencil_array stencil_array_of_face(int axis) {
    return (stencil_array)(STENCIL_ARRAY_FACE + axis);
}
static inline int stencil_array_axis(stencil_array array) {
    const bool face = array >= STENCIL_ARRAY_FACE && array <= STENCIL_ARRAY_FACE_LAST;
    return face ? (int)array - STENCIL_ARRAY_FACE : -1;
}
/* Tells whether an array has values of the field, or what is added to them: those that a run may scale. */
static inline bool stencil_array_has_values(stencil_array array) {
    return array == STENCIL_ARRAY_U || stencil_array_in_sum(array) >= 0;
}
/* The type of the elements of an array that a run of a field of `precision` has, or of kinds. */
static inline stencil_precision stencil_array_precision(stencil_array array, stencil_precision precision) {
    return array == STENCIL_ARRAY_CLASS                                ? STENCIL_BYTE
           : array == STENCIL_ARRAY_KIND || array == STENCIL_ARRAY_ROW ? STENCIL_TWO_BYTES
                                                                       : precision;
}

/* Access to the cells of a problem in a file, in memory or in a run. `read` writes the cells of `box`, whose
 * indices count from the first updated cell, to `to`, in the precision of the problem, classes as bytes,
 * kinds and numbers of rows in two. */
typedef struct stencil_reader {
    stencil_status (*read)(void *context, stencil_array array, const stencil_box *box,
                           const stencil_cells *to);
    void *context;
} stencil_reader;

/* Reads a box that may reach beyond the ends of periodic and mirrored axes, where it gets the wrapped or
 * mirrored cells. Errors: those of the reader. */
stencil_status stencil_boxes_fill(const stencil_reader *reader, const stencil_mesh *mesh, stencil_array array,
                                  const stencil_box *box, const stencil_cells *to);

/* A field in memory: the cells of an array with ghost cells around them, rows aligned for vector access. */
typedef struct stencil_field {
    stencil_layout layout;
    void *data;   /* layout.element_count elements; NULL: no field */
    void *memory; /* the allocation around them, owned */
} stencil_field;

/* Creates a zeroed field. Errors: NO_MEMORY, naming `what` with the bytes needed and available. */
stencil_status stencil_field_create(stencil_field *field, const stencil_layout *layout, const char *what);
/* Creates a zeroed field of the layout of `other`, for sweeps that read one of the two and write the other:
 * their addresses differ by half a page, so swap the fields, not their data. Errors: NO_MEMORY. */
stencil_status stencil_field_create_apart(stencil_field *field, const stencil_field *other, const char *what);
void stencil_field_destroy(stencil_field *field);
/* Cells of a field, from the first updated one on. */
stencil_cells stencil_field_cells(const stencil_field *field);

/* The fields of a problem in memory: the context of a stencil_reader with stencil_fields_read(). */
typedef struct stencil_fields {
    const stencil_field *u, *b;                        /* b may be NULL where there is no source */
    const stencil_field *kinds;                        /* classes, or kinds; NULL where all cells are plain */
    const stencil_field *rows;                         /* NULL where no class is WIDE */
    const stencil_field *more[STENCIL_SUM_ARRAYS - 1]; /* arrays behind b whose factors change in time */
    const stencil_field *k;                            /* float64; NULL where there is no /k */
} stencil_fields;
stencil_status stencil_fields_read(void *context, stencil_array array, const stencil_box *box,
                                   const stencil_cells *to);

/* The source and extents of a visit of a box slab by slab. */
typedef struct stencil_slabs {
    const stencil_reader *from;
    const stencil_mesh *mesh;
    stencil_array array;
    int64_t around[3];  /* extra cells on each side of a slab */
    int64_t cell_bytes; /* bytes of a cell from the reader; 0: those of the mesh's precision */
} stencil_slabs;

/* Reads a box in slabs of whole rows, in array order, and visits each. Errors: NO_MEMORY; those of both. */
typedef stencil_status stencil_slab_visitor(void *context, const stencil_box *slab,
                                            const stencil_cells *cells);
stencil_status stencil_slabs_visit(const stencil_slabs *slabs, const stencil_box *box,
                                   stencil_slab_visitor *visit, void *context);

/* Bytes of a slab of the cells of /u. */
int64_t stencil_slab_bytes(const stencil_mesh *mesh);

/* Sets *share to the fraction of the cells of u that are subnormal numbers: of all cells up to some millions,
 * else of a sample of as many in rows across the field. Errors: NO_MEMORY; those of the reader. */
stencil_status stencil_boxes_subnormal(const stencil_reader *from, const stencil_mesh *mesh, double *share);

/* The largest absolute value of n cells (z, y, x); infinite or NaN values count as they do in fmax(). */
double stencil_cells_largest(const stencil_cells *cells, const int64_t n[3]);

/* Multiplies n cells (z, y, x) by 2^exponent. */
void stencil_cells_scale(const stencil_cells *cells, const int64_t n[3], int exponent);

/* Finds the index (z, y, x) of the first of n cells that is NaN or infinite; false when all are finite. */
bool stencil_cells_find_nonfinite(const stencil_cells *cells, const int64_t n[3], int64_t found[3]);
