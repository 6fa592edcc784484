/* A field in memory: the cells of an array with ghost cells around them, rows aligned for vector access. */
#ifndef STENCIL_SOLVER_FIELD_H
#define STENCIL_SOLVER_FIELD_H

#include "solver/run.h"

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

/* Fields in memory as those of a problem: `read` of a stencil_reader, whose context they are. */
typedef struct stencil_fields {
    const stencil_field *u, *b; /* b may be NULL where there is no source */
} stencil_fields;
stencil_status stencil_fields_read(void *context, stencil_array array, const stencil_box *box,
                                   const stencil_cells *to);

/* A run with fields in memory; the result takes the place of u. b may be NULL. */
stencil_status stencil_run_fields(const stencil_plan *plan, const stencil_problem *problem,
                                  const stencil_field *u, const stencil_field *b,
                                  const stencil_observers *observers, stencil_report *report);

#endif
