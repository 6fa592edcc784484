/* A field in memory: the cells of an array with a rim around them, rows aligned for vector access. */
#ifndef STENCIL_SOLVER_FIELD_H
#define STENCIL_SOLVER_FIELD_H

#include "kernels/points.h"
#include "solver/spec.h"

/* Layout of u[nz][ny][nx] with a rim. Interior cell (z, y, x) stands at element
 * origin + z*plane + y*row + x; indices down to -rim and up to n+rim-1 are valid on every axis.
 * Cell x = 0 of every row is aligned to 128 bytes. */
typedef struct stencil_layout {
    stencil_precision precision;
    int64_t n[3];   /* interior (updated) cells per axis */
    int64_t rim[3]; /* cells on each side */
    int64_t row;    /* elements from row to row */
    int64_t plane;  /* elements from plane to plane */
    int64_t origin; /* elements before interior cell (0, 0, 0) */
    int64_t element_count;
} stencil_layout;

/* BAD_DATA where the sizes overflow 63 bits. */
stencil_status stencil_layout_init(stencil_layout *layout, stencil_precision precision, const int64_t n[3],
                                   const int64_t rim[3]);

int64_t stencil_layout_bytes(const stencil_layout *layout);

typedef struct stencil_field {
    stencil_layout layout;
    void *data;   /* layout.element_count elements; NULL: no field */
    void *memory; /* the allocation around them, owned */
} stencil_field;

/* A zeroed field; NO_MEMORY with need and have. `what` names it in the message. */
stencil_status stencil_field_create(stencil_field *field, const stencil_layout *layout, const char *what);
/* The same for a field that one sweep writes while it reads `other`: half a page apart from it. Swap fields,
 * not their data. */
stencil_status stencil_field_create_apart(stencil_field *field, const stencil_field *other, const char *what);
void stencil_field_destroy(stencil_field *field);

/* Writes the rim cells of periodic and mirror axes from the interior, `radius` cells deep per axis
 * (axes in z, y, x; fixed axes are left as they are; edges and corners included). */
void stencil_field_fill_rims(stencil_field *field, const stencil_boundary boundary[3],
                             const int64_t radius[3]);

/* The largest absolute value, rims included; infinite or NaN values count as they do in fmax(). */
double stencil_field_largest(const stencil_field *field);

/* Index (z, y, x) of the first cell that is NaN or infinite in the window [first, first+count) of interior
 * indices (rim allowed); false when all are finite. */
bool stencil_field_find_nonfinite(const stencil_field *field, const int64_t first[3], const int64_t count[3],
                                  int64_t found[3]);

#endif
