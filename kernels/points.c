#include "kernels/points.h"

#include "base/words.h"

const stencil_shape stencil_shapes[] = {
#define STENCIL_SHAPE(name, rank, rule, radius, count, text)                                                 \
    {STENCIL_SHAPE_##name, #name, rank, STENCIL_##rule, radius, count, text},
#include "kernels/stencils.def"
};

const char *const stencil_shape_names[] = {
#define STENCIL_SHAPE(name, rank, rule, radius, count, text) #name,
#include "kernels/stencils.def"
    NULL,
};

const stencil_shape *stencil_shape_find(const char *name) {
    const int index = stencil_name_find(name, stencil_shape_names);
    return index >= 0 ? &stencil_shapes[index] : NULL;
}

int stencil_shape_offsets(const stencil_shape *shape, int32_t offset[STENCIL_POINTS_MAX][3]) {
    const int r = shape->radius, rz = shape->rank == 3 ? r : 0;
    int count = 0;
    for (int dz = -rz; dz <= rz; dz++)
        for (int dy = -r; dy <= r; dy++)
            for (int dx = -r; dx <= r; dx++)
                if (stencil_rule_contains(shape->rule, r, dz, dy, dx)) {
                    offset[count][STENCIL_Z] = dz;
                    offset[count][STENCIL_Y] = dy;
                    offset[count][STENCIL_X] = dx;
                    count++;
                }
    return count;
}
