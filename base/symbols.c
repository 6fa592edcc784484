#include "base/symbols.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

bool stencil_symbols_load(const char *name, const stencil_symbol *symbols, char why[96]) {
    char beside[128];
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    snprintf(beside, sizeof beside, "/usr/local/cuda/lib64/%.90s", name);
    if (library == NULL)
        library = dlopen(beside, RTLD_NOW | RTLD_LOCAL);
    for (; library != NULL && symbols->name != NULL; symbols++) {
        void *const found = dlsym(library, symbols->name);
        memcpy(symbols->function, &found, sizeof found);
        if (found == NULL)
            library = NULL;
    }
    if (library == NULL)
        snprintf(why, 96, "there is no %s here", name);
    return library != NULL;
}
