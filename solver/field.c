#include "solver/field.h"

#include <stdlib.h>

stencil_status stencil_field_create(stencil_field *field, const stencil_layout *layout, const char *what) {
    *field = (stencil_field){.layout = *layout};
    const stencil_status status = stencil_memory_alloc(&field->memory, stencil_layout_bytes(layout), what);
    field->data = field->memory;
    return status;
}

/* A core takes a load for one of what it has just stored by the last 12 bits of both addresses, and waits. A
 * cell that stands at the same place of its page in both buffers is such a case, and so is its column in all
 * rows of a band where rows are whole pages apart. */
stencil_status stencil_field_create_apart(stencil_field *field, const stencil_field *other,
                                          const char *what) {
    enum { PAGE_BYTES = 4096, LINE_BYTES = 128, APART_BYTES = PAGE_BYTES / 2 + LINE_BYTES };
    *field = (stencil_field){.layout = other->layout};
    TRY(stencil_memory_alloc(&field->memory, stencil_layout_bytes(&other->layout) + PAGE_BYTES, what));
    const uintptr_t shift = (uintptr_t)other->data - (uintptr_t)field->memory + APART_BYTES;
    field->data = (char *)field->memory + shift % PAGE_BYTES;
    return STENCIL_OK;
}

void stencil_field_destroy(stencil_field *field) {
    if (field == NULL)
        return;
    free(field->memory);
    field->data = field->memory = NULL;
}

static stencil_cells field_cells(const stencil_field *field) {
    return stencil_cells_in(&field->layout, field->data, (const int64_t[]){0, 0, 0});
}

stencil_status stencil_fields_read(void *context, stencil_array array, const stencil_box *box,
                                   const stencil_cells *to) {
    const stencil_fields *fields = context;
    const stencil_field *field = array == STENCIL_ARRAY_U ? fields->u : fields->b;
    const stencil_cells all = field_cells(field), from = stencil_cells_from(&all, box->first);
    stencil_cells_copy(to, &from, box->n);
    return STENCIL_OK;
}

stencil_status stencil_run_fields(const stencil_plan *plan, const stencil_problem *problem,
                                  const stencil_field *u, const stencil_field *b,
                                  const stencil_observers *observers, stencil_report *report) {
    stencil_fields fields = {u, b};
    const stencil_reader from = {stencil_fields_read, &fields};
    const stencil_box array = stencil_mesh_array(&plan->cut.mesh);
    const stencil_cells all = field_cells(u), to = stencil_cells_from(&all, array.first);
    stencil_run *run;
    TRY(stencil_run_open(&run, plan, problem, &from));
    stencil_status status = stencil_run_drive(run, observers, report);
    if (status == STENCIL_OK)
        status = stencil_run_read(run, STENCIL_ARRAY_U, &array, &to);
    stencil_run_close(run);
    return status;
}
