#include <stdio.h>

#include "base/symbols.h"
#include "bench/cases/fft.cuh"
#include "bench/cases/loop.h"

#ifdef STENCIL_HAVE_CUFFT
#include <cufft.h>

/* A cuFFT plan, and the cuFFT functions that the ceiling calls. */
struct transform {
    decltype(&cufftPlan1d) make;
    decltype(&cufftSetStream) set_stream;
    decltype(&cufftExecC2C) run;
    decltype(&cufftDestroy) destroy;
    cufftHandle plan;
};

#define TRY_CUFFT(call)                                                                                      \
    do {                                                                                                     \
        const cufftResult result_ = (call);                                                                  \
        CHECK(result_ == CUFFT_SUCCESS, INTERNAL, "cuFFT: error %d (%s)", (int)result_, #call);              \
    } while (0)

static stencil_status run(const stencil_case_loop *loop) {
    const transform *t = static_cast<const transform *>(loop->ceiling_state);
    const fft_arguments *f = reinterpret_cast<const fft_arguments *>(loop->part);
    cufftComplex *input = reinterpret_cast<cufftComplex *>(const_cast<fft_number *>(f->input));
    TRY_CUFFT(t->run(t->plan, input, reinterpret_cast<cufftComplex *>(f->output), CUFFT_FORWARD));
    return STENCIL_OK;
}

static void destroy(void *kept) {
    const transform *t = static_cast<const transform *>(kept);
    t->destroy(t->plan);
}
#endif

stencil_status stencil_case_ceiling_fft(stencil_bench *b, stencil_case_loop *loop, char why[96]) {
    loop->name = "cuFFT";
    loop->bytes = 0;
#ifdef STENCIL_HAVE_CUFFT
    transform *t;
    char name[64];
    snprintf(name, sizeof name, "libcufft.so.%d", CUFFT_VER_MAJOR);
    TRY(stencil_bench_memory(b, &t, sizeof *t));
    const stencil_symbol symbols[] = {{"cufftPlan1d", &t->make},
                                      {"cufftSetStream", &t->set_stream},
                                      {"cufftExecC2C", &t->run},
                                      {"cufftDestroy", &t->destroy},
                                      {}};
    if (!stencil_symbols_load(name, symbols, why))
        return STENCIL_OK;
    TRY_CUFFT(t->make(&t->plan, (int)loop->spread->problem->n, CUFFT_C2C, 1));
    TRY(stencil_bench_keep(b, destroy, t));
    TRY_CUFFT(t->set_stream(t->plan, loop->spread->device[0]->stream));
    loop->ceiling = run;
    loop->ceiling_state = t;
#else
    (void)b;
    snprintf(why, 96, "built without cuFFT");
#endif
    return STENCIL_OK;
}
