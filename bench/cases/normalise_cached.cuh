/* Case normalise-cached: normalise.cuh, with integers kept in shared memory between the phases, as far as
 * they fit. */
#pragma once

#include "bench/cases/normalise.cuh"

enum {
    normalise_cached_lanes = normalise_lanes,
    normalise_cached_shared_bytes = normalise_shared_bytes + NORMALISE_KEPT * (int)sizeof(normalise_integers),
    normalise_cached_resident = 0
};

typedef normalise_arguments normalise_cached_arguments;

STENCIL_ANYWHERE int64_t normalise_cached_phases(const normalise_cached_arguments *a) {
    return normalise_phases(a);
}

STENCIL_ANYWHERE void normalise_cached_phase(const normalise_cached_arguments *a, int64_t phase,
                                             stencil_case_block block) {
    if (phase == 0)
        normalise_find(a, block, true);
    else
        normalise_divide(a, block, true);
}
