/* cuFFT is loaded when it is needed: it is several times as large as this program, which also runs where
 * there is none. */
#include <stdio.h>

#include "bench/cases/ceiling.h"
#include "bench/cases/fft.cuh"

#ifdef STENCIL_HAVE_CUFFT
#include <cufft.h>
#include <dlfcn.h>

/* A plan, and what is called of the library. */
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

static void *load_library() {
    char name[96];
    snprintf(name, sizeof name, "libcufft.so.%d", CUFFT_VER_MAJOR);
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    snprintf(name, sizeof name, "/usr/local/cuda/lib64/libcufft.so.%d", CUFFT_VER_MAJOR);
    return library != nullptr ? library : dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

template <class Function> static bool find(void *library, const char *name, Function *function) {
    *function = reinterpret_cast<Function>(dlsym(library, name));
    return *function != nullptr;
}

static stencil_status run(const stencil_case_ceiling *c) {
    const transform *t = static_cast<const transform *>(c->state);
    const fft_arguments *f = static_cast<const fft_arguments *>(c->arguments);
    cufftComplex *input = reinterpret_cast<cufftComplex *>(const_cast<fft_number *>(f->input));
    TRY_CUFFT(t->run(t->plan, input, reinterpret_cast<cufftComplex *>(f->output), CUFFT_FORWARD));
    return STENCIL_OK;
}

static void destroy(void *kept) {
    const transform *t = static_cast<const transform *>(kept);
    t->destroy(t->plan);
}
#endif

stencil_status stencil_case_ceiling_fft(stencil_bench *b, stencil_case_ceiling *c, char why[96]) {
    c->name = "cuFFT";
#ifdef STENCIL_HAVE_CUFFT
    transform *t;
    void *library = load_library();
    TRY(stencil_bench_memory(b, &t, sizeof *t));
    if (library == nullptr || !find(library, "cufftPlan1d", &t->make) ||
        !find(library, "cufftSetStream", &t->set_stream) || !find(library, "cufftExecC2C", &t->run) ||
        !find(library, "cufftDestroy", &t->destroy)) {
        snprintf(why, 96, "there is no libcufft.so.%d here", CUFFT_VER_MAJOR);
        return STENCIL_OK;
    }
    TRY_CUFFT(t->make(&t->plan, (int)c->problem->n, CUFFT_C2C, 1));
    TRY(stencil_bench_keep(b, destroy, t));
    TRY_CUFFT(t->set_stream(t->plan, c->stream));
    c->state = t;
    c->run = run;
#else
    (void)b;
    snprintf(why, 96, "built without cuFFT");
#endif
    return STENCIL_OK;
}
