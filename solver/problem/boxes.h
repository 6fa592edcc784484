/* Boxes of cells, by which cells get into a run and out of it, so that nobody has to have all cells. */
#pragma once

#include "solver/parts/cut.h"

/* Size, in bytes, of the blocks that slabs are read and written through; a row where that is more. */
#define STENCIL_SLAB_BYTES (INT64_C(64) << 20)

typedef enum stencil_array {
    STENCIL_ARRAY_U, /* the field; boxes of cells of /u, boundary cells included */
    STENCIL_ARRAY_B, /* the source term as it is added in a step; boxes of updated cells */
    STENCIL_ARRAY_COUNT
} stencil_array;

/* Access to the cells of a problem, in a file, memory or a run. `read` puts a box of them, counted from the
 * first updated cell, where the caller wants the first of them and the others, in the precision of the
 * problem. */
typedef struct stencil_reader {
    stencil_status (*read)(void *context, stencil_array array, const stencil_box *box,
                           const stencil_cells *to);
    void *context;
} stencil_reader;

/* Reads a box that may reach beyond the ends of the problem, along periodic and mirrored axes: there what
 * those show. */
stencil_status stencil_boxes_fill(const stencil_reader *reader, const stencil_mesh *mesh, stencil_array array,
                                  const stencil_box *box, const stencil_cells *to);

/* A field in memory: the cells of an array with ghost cells around them, rows aligned for vector access. */
typedef struct stencil_field {
    stencil_layout layout;
    void *data;   /* layout.element_count elements; NULL: no field */
    void *memory; /* the allocation around them, owned */
} stencil_field;

/* A zeroed field; NO_MEMORY with need and have. `what` names it in the message. */
stencil_status stencil_field_create(stencil_field *field, const stencil_layout *layout, const char *what);
/* Creates a field that one sweep writes while it reads `other`: half a page apart from it, zeroed, of its
 * layout. NO_MEMORY. Swap fields, not their data. */
stencil_status stencil_field_create_apart(stencil_field *field, const stencil_field *other, const char *what);
void stencil_field_destroy(stencil_field *field);
/* Cells of a field, from the first updated one on. */
stencil_cells stencil_field_cells(const stencil_field *field);

/* Fields in memory as those of a problem: `read` of a stencil_reader, whose context they are. */
typedef struct stencil_fields {
    const stencil_field *u, *b; /* b may be NULL where there is no source */
} stencil_fields;
stencil_status stencil_fields_read(void *context, stencil_array array, const stencil_box *box,
                                   const stencil_cells *to);

/* Reader and extents by which boxes are gone over slab by slab. */
typedef struct stencil_slabs {
    const stencil_reader *from;
    const stencil_mesh *mesh;
    stencil_array array;
    int64_t around[3];  /* cells more on each side of a slab */
    int64_t cell_bytes; /* that the reader gives; 0: as the mesh says */
} stencil_slabs;

/* Reads a box in array order, a slab of whole rows after the other, and calls visit for each. NO_MEMORY; what
 * the reader or visit fail with. */
typedef stencil_status stencil_slab_visitor(void *context, const stencil_box *slab,
                                            const stencil_cells *cells);
stencil_status stencil_slabs_visit(const stencil_slabs *slabs, const stencil_box *box,
                                   stencil_slab_visitor *visit, void *context);

/* Bytes of a slab of the cells of /u. */
int64_t stencil_slab_bytes(const stencil_mesh *mesh);

/* The part of the cells of u that are subnormal numbers, by their bits: of all cells where there are up to
 * some millions, else of as many in rows from all over the field. NO_MEMORY; what the reader fails with. */
stencil_status stencil_boxes_subnormal(const stencil_reader *from, const stencil_mesh *mesh, double *share);

/* The largest absolute value of n cells (z, y, x); infinite or NaN values count as they do in fmax(). */
double stencil_cells_largest(const stencil_cells *cells, const int64_t n[3]);

/* Multiplies n cells (z, y, x) by 2^exponent. */
void stencil_cells_scale(const stencil_cells *cells, const int64_t n[3], int exponent);

/* Index (z, y, x) of the first of n cells that is NaN or infinite; false when all are finite. */
bool stencil_cells_find_nonfinite(const stencil_cells *cells, const int64_t n[3], int64_t found[3]);
