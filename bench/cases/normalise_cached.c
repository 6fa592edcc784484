#include "bench/cases/normalise_cached.cuh"

#include "bench/cases/normalise.h"

STENCIL_CASE_BODY(normalise_cached, .size = {{1 << 12, 917504, 8}, {917504, 64 * 917504, 4}},
                  .make = normalise_make, .plain = normalise_plain, .keeps = true);
