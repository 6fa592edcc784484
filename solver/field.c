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

stencil_status stencil_fields_read(void *context, stencil_array array, const stencil_box *box,
                                   const stencil_cells *to) {
    const stencil_fields *fields = context;
    const stencil_field *field = array == STENCIL_ARRAY_U ? fields->u : fields->b;
    const stencil_cells from = stencil_cells_in(&field->layout, field->data, box->first);
    stencil_cells_copy(to, &from, box->n);
    return STENCIL_OK;
}
