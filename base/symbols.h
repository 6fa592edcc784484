/* Functions of shared libraries that are large and optional, and are found at run time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A function to load: its name, and a pointer to the function pointer to set. */
typedef struct stencil_symbol {
    const char *name; /* NULL ends an array of symbols */
    void *function;
} stencil_symbol;

/* Loads functions of a shared library, which stays loaded. Returns false, with a reason in `why`, when the
 * library is neither on the search path nor beside CUDA's libraries, or lacks a function. */
bool stencil_symbols_load(const char *library, const stencil_symbol *symbols, char why[96]);

#ifdef __cplusplus
}
#endif
