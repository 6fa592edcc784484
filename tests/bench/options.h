/* Default options of `stencil bench`. */
#pragma once

#include "bench/bench.h"

static inline void options_init(stencil_bench_options *options) {
    *options = (stencil_bench_options){.max_noise = 0.05, .timeout_s = 8};
    stencil_spec_init(&options->spec);
}
