#include "solver/spec.h"

#include <math.h>

const char *const stencil_shape_names[] = {
#define STENCIL_SHAPE(name, rank, rule, radius, count, text) #name,
#include "kernels/stencils.def"
#undef STENCIL_SHAPE
    NULL,
};

const char *const stencil_kind_names[] = {"", "laplace", "poisson", "heat", NULL};
const char *const stencil_boundary_names[] = {"fixed", "periodic", "mirror", NULL};
const char *const stencil_norm_names[] = {"l2", "max", NULL};

void stencil_spec_init(stencil_spec *spec) {
    *spec = (stencil_spec){
        .precision = STENCIL_FLOAT64,
        .omega = NAN,
        .diffusivity = NAN,
        .dt = NAN,
        .steps = -1,
        .rtol = NAN,
        .atol = NAN,
        .norm = STENCIL_NORM_L2,
        .steps_total = -1,
        .residual_first = NAN,
        .time = NAN,
        .time_first = NAN,
    };
}
