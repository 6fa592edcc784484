#include "app/json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/output.h"
#include "app/target.h"
#include "app/text.h"

enum { FORMAT = JSON_INDENT(2) | JSON_REAL_PRECISION(17) };

json_t *json_number(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *json_text(const char *text) {
    if (text == NULL || text[0] == '\0')
        return json_null();
    char *utf8 = text_utf8(text);
    json_t *string = utf8 != NULL ? json_string(utf8) : NULL;
    free(utf8);
    return string;
}

json_t *json_numbers(const double *values, int64_t count) {
    json_t *array = json_array();
    for (int64_t i = 0; i < count; i++)
        json_array_append_new(array, json_number(values[i]));
    return array;
}

json_t *json_integers(const int64_t *values, int64_t count) {
    json_t *array = json_array();
    for (int64_t i = 0; i < count; i++)
        json_array_append_new(array, json_integer(values[i]));
    return array;
}

stencil_status json_read(const char *path, json_t **root) {
    json_error_t error;
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL, NO_INPUT, "cannot be read: %s", strerror(errno));
    *root = json_loadf(file, 0, &error);
    fclose(file);
    CHECK(*root != NULL, BAD_DATA, "no JSON: line %d: %s", error.line, error.text);
    return STENCIL_OK;
}

static bool print(FILE *out, const void *root) {
    /* What stands behind \u is the same to a reader, and passes a stream that becomes ASCII. */
    const size_t escapes = out == stdout && output_is_ascii() ? JSON_ENSURE_ASCII : 0;
    return json_dumpf(root, out, FORMAT | escapes) == 0 && fputc('\n', out) != EOF;
}

stencil_status json_write(const char *target, bool force, json_t *root) {
    stencil_status status = STENCIL_OK;
    if (target != NULL && root == NULL)
        status = stencil_error_set(STENCIL_NO_MEMORY, __FILE__, __LINE__, "", "--json %s: no memory for it",
                                   target);
    else
        status = target_write("--json", target, force, print, root);
    json_decref(root);
    return status;
}
