#include "records/record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"

/* For each member type, its name in messages and the JSON types that it accepts. */
#define IS(type) (1u << JSON_##type)
static const struct {
    const char *name;
    unsigned json;
} types[] = {
    [STENCIL_MEMBER_TEXT] = {"a string", IS(STRING)},
    [STENCIL_MEMBER_NAME] = {"a string", IS(STRING)},
    [STENCIL_MEMBER_CHOICE] = {"a string", IS(STRING)},
    [STENCIL_MEMBER_INTEGER] = {"a whole number", IS(INTEGER)},
    [STENCIL_MEMBER_REAL] = {"a number", IS(INTEGER) | IS(REAL) | IS(NULL)},
    [STENCIL_MEMBER_RATE] = {"a number", IS(INTEGER) | IS(REAL) | IS(NULL)},
    [STENCIL_MEMBER_FLAG] = {"true or false", IS(TRUE) | IS(FALSE)},
    [STENCIL_MEMBER_LIST] = {"an array", IS(ARRAY)},
    [STENCIL_MEMBER_ARRAY] = {"an array", IS(ARRAY)},
    [STENCIL_MEMBER_OBJECT] = {"an object", IS(OBJECT)},
};

json_t *stencil_record_number(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *text_json(const stencil_member *m, const char *text) {
    return m->or_null && (text == NULL || text[0] == '\0') ? json_null() : json_string(text);
}

static json_t *list_json(const stencil_member *m, const char *first, const void *record) {
    json_t *array = json_array();
    const int count = *(const int *)(const void *)((const char *)record + m->list_count);
    for (const char *at = first; at < first + (size_t)count * m->element; at += m->element)
        json_array_append_new(array, m->members != NULL ? stencil_record_write(json_object(), m->members, at)
                                                        : json_string(at));
    return array;
}

/* Returns the JSON of the value at `at`, a member of the structure `record`. */
static json_t *value_json(const stencil_member *m, size_t size, const void *at, const void *record) {
    switch (m->type) {
    case STENCIL_MEMBER_TEXT:
        return text_json(m, at);
    case STENCIL_MEMBER_NAME:
        return text_json(m, *(const char *const *)at);
    case STENCIL_MEMBER_CHOICE:
        return json_string(m->names[*(const int *)at]);
    case STENCIL_MEMBER_INTEGER:
        return json_integer(size == sizeof(int) ? *(const int *)at : *(const int64_t *)at);
    case STENCIL_MEMBER_REAL:
        return stencil_record_number(*(const double *)at);
    case STENCIL_MEMBER_RATE:
        return *(const double *)at > 0 ? stencil_record_number(*(const double *)at) : json_null();
    case STENCIL_MEMBER_FLAG:
        return json_boolean(*(const bool *)at);
    case STENCIL_MEMBER_LIST:
        return list_json(m, m->owned ? *(const char *const *)at : at, record);
    default:
        return m->members != NULL ? stencil_record_write(json_object(), m->members, at) : m->write(m, record);
    }
}

json_t *stencil_record_write(json_t *object, const stencil_member *members, const void *record) {
    for (const stencil_member *m = members; m->name != NULL; m++) {
        const char *at = (const char *)record + m->offset;
        const size_t size = m->count > 0 ? m->size / m->count : m->size;
        json_t *value = m->count > 0 ? json_array() : value_json(m, size, at, record);
        for (size_t i = 0; i < m->count; i++)
            json_array_append_new(value, value_json(m, size, at + i * size, record));
        json_object_set_new(object, m->name, value);
    }
    return object;
}

static stencil_status read_text(const stencil_member *m, const char *text, size_t size, char *to) {
    CHECK(strlen(text) < size, BAD_DATA, "\"%s\" has more than %zu characters", m->name, size - 1);
    /* The text may be printed to a terminal, where control characters would act. */
    for (const char *c = text; *c != '\0'; c++)
        CHECK((unsigned char)*c >= ' ' && *c != 127, BAD_DATA, "\"%s\" holds control characters", m->name);
    strcpy(to, text);
    return STENCIL_OK;
}

static stencil_status read_integer(const stencil_member *m, int64_t number, size_t size, void *to) {
    const bool limits = m->minimum < m->maximum, small = size == sizeof(int);
    const int64_t minimum = limits ? m->minimum : small ? INT32_MIN : INT64_MIN;
    const int64_t maximum = limits ? m->maximum : small ? INT32_MAX : INT64_MAX;
    CHECK(number >= minimum && number <= maximum, BAD_DATA, "\"%s\" is not a whole number of %lld to %lld",
          m->name, (long long)minimum, (long long)maximum);
    if (small)
        *(int *)to = (int)number;
    else
        *(int64_t *)to = number;
    return STENCIL_OK;
}

/* Reads a list. The list's count includes an element that failed to be read, since the caller frees it too.
 */
static stencil_status read_list(const stencil_member *m, const json_t *value, char *to, void *record) {
    const size_t count = json_array_size(value);
    int *counter = (int *)(void *)((char *)record + m->list_count);
    if (m->owned) {
        to = *(char **)(void *)to = calloc(count + 1, m->element);
        CHECK(to != NULL, NO_MEMORY, "no memory for %zu %s", count, m->name);
    }
    CHECK(m->owned || count <= m->size / m->element, BAD_DATA, "\"%s\" has more than %zu members", m->name,
          m->size / m->element);
    for (size_t i = 0; i < count; i++, to += m->element) {
        const json_t *element = json_array_get(value, i);
        ++*counter;
        CHECK(m->members != NULL ? json_is_object(element) : json_is_string(element), BAD_DATA,
              "\"%s\" holds what is not %s", m->name, m->members != NULL ? "an object" : "a string");
        TRY(m->members != NULL ? stencil_record_read(element, m->members, to)
                               : read_text(m, json_string_value(element), m->element, to));
    }
    return STENCIL_OK;
}

static stencil_status read_value(const stencil_member *m, const json_t *value, size_t size, void *to,
                                 void *record) {
    const bool null = json_is_null(value);
    CHECK(value != NULL && ((types[m->type].json >> json_typeof(value) & 1) != 0 || (null && m->or_null)),
          BAD_DATA, "\"%s\" is not %s", m->name, types[m->type].name);
    switch (m->type) {
    case STENCIL_MEMBER_TEXT:
        return read_text(m, null ? "" : json_string_value(value), size, to);
    case STENCIL_MEMBER_NAME:
        *(const char **)to = json_string_value(value); /* NULL where the JSON is null */
        return STENCIL_OK;
    case STENCIL_MEMBER_CHOICE:
        *(int *)to = stencil_name_find(json_string_value(value), m->names);
        CHECK(*(int *)to >= 0, BAD_DATA, "\"%s\" is not a known name", m->name);
        return STENCIL_OK;
    case STENCIL_MEMBER_INTEGER:
        return read_integer(m, json_integer_value(value), size, to);
    case STENCIL_MEMBER_REAL:
        *(double *)to = null ? NAN : json_number_value(value);
        return STENCIL_OK;
    case STENCIL_MEMBER_RATE:
        *(double *)to = json_number_value(value);
        return STENCIL_OK;
    case STENCIL_MEMBER_FLAG:
        *(bool *)to = json_is_true(value);
        return STENCIL_OK;
    case STENCIL_MEMBER_LIST:
        return read_list(m, value, to, record);
    default:
        return m->members != NULL ? stencil_record_read(value, m->members, to) : m->read(m, value, record);
    }
}

stencil_status stencil_record_read(const json_t *object, const stencil_member *members, void *record) {
    for (const stencil_member *m = members; m->name != NULL; m++) {
        const json_t *there = json_object_get(object, m->name);
        const json_t *value = there == NULL && m->newer ? json_null() : there;
        char *to = (char *)record + m->offset;
        const size_t size = m->count > 0 ? m->size / m->count : m->size;
        if (m->type == STENCIL_MEMBER_DERIVED || (there == NULL && m->newer && m->count > 0))
            continue;
        CHECK(value != NULL, BAD_DATA, "\"%s\" is missing", m->name);
        if (m->count == 0)
            TRY(read_value(m, value, size, to, record));
        CHECK(m->count == 0 || json_is_array(value), BAD_DATA, "\"%s\" is not an array", m->name);
        for (size_t i = 0; i < m->count; i++)
            TRY(read_value(m, json_array_get(value, i), size, to + i * size, record));
    }
    return STENCIL_OK;
}
