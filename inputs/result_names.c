#include "inputs/result_names.h"

#include <stdio.h>
#include <string.h>

#include "inputs/file.h"

size_t stencil_stem_length(const char *path) {
    const char *last = stencil_path_last(path), *dot = strrchr(last, '.');
    const bool suffix = dot != NULL && dot > last && (strcmp(dot, ".h5") == 0 || strcmp(dot, ".hdf5") == 0);
    return suffix ? (size_t)(dot - path) : strlen(path);
}

bool stencil_marked_name(const char *output, const char *mark, char name[PATH_MAX]) {
    const size_t stem = stencil_stem_length(output);
    const int length = snprintf(name, PATH_MAX, "%.*s%s%s", (int)stem, output, mark,
                                output[stem] != '\0' ? output + stem : ".h5");
    return length > 0 && length < PATH_MAX;
}

size_t stencil_unmarked_length(const char *path, size_t length, const char *mark) {
    const size_t marked = strlen(mark);
    return length > marked && strncmp(path + length - marked, mark, marked) == 0 ? length - marked : length;
}
