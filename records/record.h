/* Structures as JSON and back, by one table for each: reports, descriptions of machines, and what the
 * processes of a benchmark tell each other. */
#pragma once

#include <jansson.h>

#include "base/base.h"

typedef enum stencil_member_type {
    STENCIL_MEMBER_TEXT,    /* char[size], without control characters */
    STENCIL_MEMBER_NAME,    /* const char *, which points into the JSON that it was read from */
    STENCIL_MEMBER_INTEGER, /* int, int64_t or an enumeration, by its size */
    STENCIL_MEMBER_CHOICE,  /* an enumeration as one of `names` */
    STENCIL_MEMBER_REAL,    /* double; written as null when not finite, null is read as NaN */
    STENCIL_MEMBER_RATE,    /* double above 0; 0 is written as null, and null read as 0 */
    STENCIL_MEMBER_FLAG,    /* bool */
    STENCIL_MEMBER_LIST,    /* JSON array of structures with `members`, or of texts */
    STENCIL_MEMBER_ARRAY,   /* JSON array, by the functions `write` and `read` */
    STENCIL_MEMBER_OBJECT,  /* JSON object, by `members`, or by the functions `write` and `read` */
    STENCIL_MEMBER_DERIVED  /* value that follows from other members; written, never read */
} stencil_member_type;

/* A member of a structure under its name in JSON. */
typedef struct stencil_member {
    const char *name;
    stencil_member_type type;
    size_t offset, size;
    size_t count;             /* number of elements of an array of INTEGER or REAL; 0: a single value */
    int64_t minimum, maximum; /* limits of an INTEGER; no limits where both are equal */
    bool or_null;             /* JSON null stands for "" and NULL, and is read as 0 for an INTEGER */
    bool newer;               /* the member may be missing, as in old files: read as null, arrays unchanged */
    const char *const *names; /* names of a CHOICE, ended by NULL */
    const struct stencil_member
        *members;      /* members of a LIST's elements, or of an OBJECT at `offset` (0: the same structure) */
    size_t element;    /* size of an element of a LIST, in bytes */
    size_t list_count; /* offset of the int that counts the elements of a LIST */
    bool owned;        /* a LIST is a pointer to allocated memory, not an array in the structure */
    json_t *(*write)(const struct stencil_member *member, const void *record);
    stencil_status (*read)(const struct stencil_member *member, const json_t *value, void *record);
} stencil_member;

/* Initialisers of a stencil_member after its name: {"steps", STENCIL_MEMBER(INTEGER, stencil_spec, steps)};
 * more initialisers may follow. A stencil_member without a name ends a table. */
#define STENCIL_MEMBER(kind, structure, member)                                                              \
    .type = STENCIL_MEMBER_##kind, .offset = offsetof(structure, member),                                    \
    .size = sizeof((structure *)NULL)->member

/* Returns a JSON number; null for NaN and infinity, which JSON cannot represent. */
json_t *stencil_record_number(double value);

/* Writes all members of the structure `record` to the JSON `object`, which it returns. */
json_t *stencil_record_write(json_t *object, const stencil_member *members, const void *record);

/* Reads all members of the structure `record` from JSON. Errors: BAD_DATA, naming the member that is missing,
 * of another type or out of range; NO_MEMORY. */
stencil_status stencil_record_read(const json_t *object, const stencil_member *members, void *record);
