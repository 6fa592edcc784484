/* What belongs to the format and what is the user's own. */
#ifndef STENCIL_INPUTS_FORMAT_H
#define STENCIL_INPUTS_FORMAT_H

#include <hdf5.h>

#include "base/base.h"
#include "base/words.h"

/* Where a name stands: attribute of the root group, dataset or group in it, dataset in /stencil. */
typedef enum stencil_name_place {
    STENCIL_NAME_ATTRIBUTE,
    STENCIL_NAME_OBJECT,
    STENCIL_NAME_MEMBER
} stencil_name_place;

/* Whether the format knows the name there. */
bool stencil_format_knows(stencil_name_place place, const char *name);

/* BAD_DATA where the attribute `format` names one that is newer than this version. Files without it, or with
 * one that is none of ours, are read as they are. */
stencil_status stencil_format_check(hid_t file, const char *path);

/* Writes that attribute into a new file. IO on failure. */
stencil_status stencil_format_write(hid_t file, const char *path);

/* A line for all that looks as if it were meant to be ours and is not: names that are nearly one of the
 * format's or stand in the wrong place, datasets of the shape of /u, a `format` of others. */
void stencil_format_notes(hid_t file, stencil_notes *notes);

/* Copies the user's own from one file to another: attributes of the root group and of /u, and what stands in
 * the root group. What cannot be copied is noted (`notes` may be NULL). */
void stencil_own_copy(hid_t from, hid_t to, stencil_notes *notes);

/* Bytes that the copies take, about; and those of one dataset as it is stored. */
int64_t stencil_own_bytes(hid_t file);
int64_t stencil_own_stored_bytes(hid_t group, const char *name);

#endif
