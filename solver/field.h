/* A field in memory: the cells of an array with a rim around them, rows aligned for vector access. */
#ifndef STENCIL_SOLVER_FIELD_H
#define STENCIL_SOLVER_FIELD_H

#include "solver/parts/boundary.h"
#include "solver/parts/layout.h"

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
