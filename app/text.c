#include "app/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/words.h"

const char *text_number(double value, char text[TEXT_SIZE]) {
    snprintf(text, TEXT_SIZE, fabs(value) >= 9999.5 && fabs(value) < 1e15 ? "%.0f" : "%.4g", value);
    return text;
}

const char *text_count(int64_t count, char text[TEXT_SIZE]) {
    char digits[TEXT_SIZE];
    const int length = snprintf(digits, sizeof digits, "%" PRId64, count);
    char *out = text;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0 && digits[i - 1] != '-')
            *out++ = ' ';
        *out++ = digits[i];
    }
    *out = '\0';
    return text;
}

const char *text_extent(const int64_t *extent, int rank, const char *by, char *text, size_t size) {
    text[0] = '\0';
    for (int axis = rank - 1; axis >= 0; axis--)
        stencil_text_add(text, size, "%" PRId64 "%s", extent[axis], axis > 0 ? by : "");
    return text;
}

const char *text_list(const int64_t *values, int count, char *text, size_t size) {
    snprintf(text, size, "[");
    for (int i = 0; i < count; i++)
        stencil_text_add(text, size, "%s%" PRId64, i > 0 ? ", " : "", values[i]);
    return stencil_text_add(text, size, "]");
}

const char *text_escape(const char *name, char *text, size_t size) {
    size_t used = 0;
    for (; *name != '\0' && used + 5 < size; name++) {
        const unsigned char c = (unsigned char)*name;
        const char *format = c == '\n' ? "\\n" : c == '\t' ? "\\t" : c < ' ' || c == 0x7f ? "\\x%02x" : "%c";
        used += (size_t)sprintf(text + used, format, c);
    }
    text[used] = '\0';
    return text;
}

/* Bytes of the UTF-8 character that `c` begins with; 0: it begins with none. */
static int utf8_length(const unsigned char *c) {
    const int length = *c < 0x80 ? 1 : *c < 0xC2 ? 0 : *c < 0xE0 ? 2 : *c < 0xF0 ? 3 : *c < 0xF5 ? 4 : 0;
    for (int i = 1; i < length; i++)
        if ((c[i] & 0xC0) != 0x80)
            return 0;
    /* Longer than need be, half of a pair, beyond the last one. */
    const bool wrong = (*c == 0xE0 && c[1] < 0xA0) || (*c == 0xED && c[1] > 0x9F) ||
                       (*c == 0xF0 && c[1] < 0x90) || (*c == 0xF4 && c[1] > 0x8F);
    return wrong ? 0 : length;
}

char *text_utf8(const char *name) {
    char *text = malloc(4 * strlen(name) + 1), *out = text;
    if (text == NULL)
        return NULL;
    *out = '\0';
    for (const unsigned char *c = (const unsigned char *)name; *c != '\0';) {
        const int length = utf8_length(c);
        out += length > 0 ? sprintf(out, "%.*s", length, (const char *)c) : sprintf(out, "\\x%02x", *c);
        c += length > 0 ? length : 1;
    }
    return text;
}

stencil_status text_prefix(stencil_status status, const char *where) {
    if (status == STENCIL_OK)
        return status;
    const stencil_error seen = *stencil_error_last();
    return stencil_error_set(status, seen.file, seen.line, seen.expression, "%s: %s", where, seen.message);
}

stencil_status text_append(stencil_status status, const char *name, const char *text) {
    if (status == STENCIL_OK)
        return status;
    const stencil_error seen = *stencil_error_last();
    return stencil_error_set(status, seen.file, seen.line, seen.expression, "%s; '%s' %s", seen.message, name,
                             text);
}

stencil_status text_name_file(stencil_status status, const char *path) {
    char where[TEXT_NAME_SIZE + 2];
    snprintf(where, sizeof where, "'%s'", path);
    return text_prefix(status, where);
}

stencil_status text_name_out_of_memory(stencil_status status, const char *path) {
    return status == STENCIL_NO_MEMORY ? text_name_file(status, path) : status;
}
