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
    STENCIL_MEMBER_REAL,    /* double; null: NaN, and what else is not finite */
    STENCIL_MEMBER_RATE,    /* double above 0; null: 0 */
    STENCIL_MEMBER_FLAG,    /* bool */
    STENCIL_MEMBER_LIST,    /* structures with `members`, or texts; in the structure, or owned (a pointer) */
    STENCIL_MEMBER_ARRAY,   /* the last ones by functions, or `members` */
    STENCIL_MEMBER_OBJECT,
    STENCIL_MEMBER_DERIVED /* follows from other members, and is not read */
} stencil_member_type;

/* A member of a structure under its name in JSON. */
typedef struct stencil_member {
    const char *name;
    stencil_member_type type;
    size_t offset, size;
    size_t count;             /* an array of so many INTEGER or REAL; 0: a single one */
    int64_t minimum, maximum; /* of an INTEGER; equal: no limits */
    bool or_null;             /* null stands for "" and NULL; of an integer it is read as 0 */
    bool newer;               /* files written before it was there lack it: null then; an array stays
                                 as it is */
    const char *const *names; /* of a CHOICE; NULL behind the last one */
    const struct stencil_member
        *members;      /* of the elements of a LIST, or of an OBJECT at `offset` (0: the same structure) */
    size_t element;    /* size of an element of a LIST */
    size_t list_count; /* offset of the int that counts the elements of a list */
    bool owned;
    json_t *(*write)(const struct stencil_member *member, const void *record);
    stencil_status (*read)(const struct stencil_member *member, const json_t *value, void *record);
} stencil_member;

/* Members of a table's row behind the name: {"steps", STENCIL_MEMBER(INTEGER, stencil_spec, steps)}, further
 * ones follow. A row without a name ends the table. */
#define STENCIL_MEMBER(kind, structure, member)                                                              \
    .type = STENCIL_MEMBER_##kind, .offset = offsetof(structure, member),                                    \
    .size = sizeof((structure *)NULL)->member

/* A real number; null where it is NaN or infinite, which JSON cannot say. */
json_t *stencil_record_number(double value);

/* Sets all members in `object` (returned). */
json_t *stencil_record_write(json_t *object, const stencil_member *members, const void *record);

/* Reads all members. BAD_DATA, naming what is missing, of another type or out of range. */
stencil_status stencil_record_read(const json_t *object, const stencil_member *members, void *record);
