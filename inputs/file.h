/* A problem as it stands in a file: the format's version, attributes of the root group, the group /stencil,
 * what earlier runs have left, and what is the user's own. */
#pragma once

#include "inputs/h5.h"
#include "inputs/inputs.h"

/* An open input, where HDF5 reads it: in the process that is made for that. Zero-initialised: closed. */
typedef struct stencil_h5_input {
    hid_t file;       /* 0 or negative: not open */
    const char *path; /* borrowed */
    stencil_input_facts facts;
    /* For reading cells: */
    hid_t dataset;                 /* that was last read; 0: none is open */
    stencil_source source;         /* that one; NONE: the field */
    struct stencil_chunks *chunks; /* its chunks, where they are unpacked here, see inputs/chunks.h */
} stencil_h5_input;

/* Opens any HDF5 file; reads what it says of the problem into *spec (initialised by the caller), as
 * stencil_input_open() says, `field` as there. */
stencil_status stencil_h5_input_open(stencil_h5_input *input, const char *path);
stencil_status stencil_h5_input_spec(stencil_h5_input *input, const char *field, stencil_spec *spec);

/* Reads a box of the field or of a source, in indices of the dataset, converted to a type of HDF5 (borrowed).
 * BAD_DATA, NO_MEMORY. */
stencil_status stencil_h5_input_read(stencil_h5_input *input, stencil_source source, const stencil_box *box,
                                     hid_t type, const stencil_cells *to);

/* Gives back what reading cells has taken. */
void stencil_h5_input_rest(stencil_h5_input *input);

/* Do what the calls of the same names in inputs/inputs.h say. */
stencil_status stencil_h5_input_grid(stencil_h5_input *input, stencil_spec *spec, stencil_notes *notes);
void stencil_h5_input_notes(const stencil_h5_input *input, const stencil_spec *file, const stencil_spec *spec,
                            stencil_notes *notes);
stencil_status stencil_h5_input_provenance(const stencil_h5_input *input, stencil_provenance *provenance);

/* Adds sizes, which saturate: those of a damaged file may be any. */
static inline int64_t stencil_sizes_add(int64_t a, int64_t b) {
    return b < 0 || a > INT64_MAX / 2 - b ? INT64_MAX / 2 : a + b;
}

/* Bytes of what a result takes over, of that source and of what is the user's own; and of the largest chunk
 * of it. BAD_DATA: groups too deep. */
stencil_status stencil_kept_bytes(const stencil_h5_input *input, stencil_source source, int64_t *bytes,
                                  int64_t *chunk_bytes);

/* Writes it into a result that was begun, for the problem of that spec: the source, the user's own,
 * references. Notes what cannot be kept. BAD_DATA: the source is damaged. */
stencil_status stencil_kept_copy(stencil_h5_input *input, const stencil_sink *sink, const stencil_spec *spec,
                                 stencil_notes *notes);

/* BAD_DATA where the attribute `format` names one that is newer than this version. Files without it, or with
 * one that is none of ours (*foreign), are read as they are. */
stencil_status stencil_format_read(hid_t file, const char *path, bool *foreign);

/* Decides which dataset is the field, as spec->field has it: the one that is asked for (NULL: none is), else
 * that of the attribute `field`, else /u, too where that attribute names no dataset (*passed_over). USAGE,
 * BAD_DATA. */
stencil_status stencil_field_choose(hid_t file, const char *path, const char *asked,
                                    char field[STENCIL_FIELD_MAX], bool *passed_over);

/* BAD_DATA: there is no such dataset; the message names one that may be meant. */
stencil_status stencil_field_refuse_missing(hid_t file, const char *path, const stencil_spec *spec);

/* Tells whether the file says itself that spec->field is its field. */
bool stencil_field_is_stated(hid_t file, const char *path, const stencil_spec *spec);

/* The boundary of an axis, in the order of lists, before a problem is made of the spec. */
static inline stencil_boundary stencil_spec_boundary(const stencil_spec *spec, int axis) {
    return spec->boundary_count == 0 ? STENCIL_FIXED : spec->boundary[spec->boundary_count == 1 ? 0 : axis];
}

/* Makes what earlier runs have left nothing, but for the time. */
void stencil_spec_forget(stencil_spec *spec);

/* Fills what the file gives; spec->rank and spec->field are known. BAD_DATA names the attribute or dataset
 * and what is allowed. */
stencil_status stencil_spec_read(hid_t file, const char *path, stencil_spec *spec);

/* Writes the format and the attributes that are given in `spec` into a new file; the points and weights that
 * are. IO on failure. */
stencil_status stencil_spec_write(hid_t file, const char *path, const stencil_spec *spec);
stencil_status stencil_points_write(hid_t file, const char *path, const stencil_spec *spec);

/* The place of a name: an attribute of the root group, or of the field (none of which is ours), an object in
 * the root group, or a dataset in /stencil. */
typedef enum stencil_name_place {
    STENCIL_ATTRIBUTE,
    STENCIL_FIELD_ATTRIBUTE,
    STENCIL_OBJECT,
    STENCIL_MEMBER,
    STENCIL_PLACES
} stencil_name_place;

/* A name of the format: a user gives it, or only a run writes it. What stands in a file under other names is
 * the user's own. */
typedef struct stencil_known {
    const char *name;
    stencil_name_place place;
    bool past;
} stencil_known;

/* Returns the index-th of them, but for the field's; its name is NULL behind the last one. */
stencil_known stencil_format_name(int index);

/* The one that an object of the root group has by that name, but for the field, whose name a file may choose;
 * NULL: it has none. */
const stencil_known *stencil_object_known(const char *name);

/* Tells whether a number stands in `spec` as that attribute, or as one value of its list. */
bool stencil_spec_says(const stencil_spec *spec, const char *attribute, double number);

/* Coordinates of an axis of /u: a dimension scale that is attached to it, or a list /x, /y or /z. */
typedef struct stencil_coordinates {
    char name[STENCIL_WORD_MAX];  /* of the list, with its path; "": there is none */
    char label[STENCIL_WORD_MAX]; /* of the axis: by its scale, its label, else x, y or z */
    bool attached;                /* to /u, as a scale */
    bool time;                    /* names or units say that it is no axis of space */
    bool even;                    /* but for rounding, in the type that they are stored in */
    double first, last, step;     /* step: the mean distance of neighbours, > 0 */
    double rounding;              /* by so much stored ones differ from what they stand for */
    int64_t uneven_at;            /* the first that is not where even ones would be */
} stencil_coordinates;

/* Reads the coordinates of all axes, in array order. What cannot be read is none. */
void stencil_coordinates_read(const stencil_h5_input *input, const stencil_spec *spec,
                              stencil_coordinates axis[STENCIL_AXES]);

/* The same of any dataset of that rank, without lists that are not attached to it: labels stay "" then. */
void stencil_coordinates_of(const stencil_h5_input *input, const char *name, const stencil_spec *spec,
                            stencil_coordinates axis[STENCIL_AXES]);

/* Something in a file under a name that is none of the format's, and `what` it is for messages. */
typedef struct stencil_named {
    hid_t at; /* where it stands */
    const char *name, *what;
    stencil_name_place place;
} stencil_named;

/* Notes what to write for a name that others give to what this problem takes ("alpha": diffusivity), unless
 * the problem says the same already. False: it is no such name. */
bool stencil_alias_note(const stencil_named *named, const stencil_spec *spec, stencil_notes *notes);

/* Notes attributes of the format that neither this problem uses nor the file's own one, of kind `own`. */
void stencil_effect_notes(hid_t file, stencil_kind own, const stencil_spec *spec, stencil_notes *notes);

/* Copies the user's own from an input to another file: attributes of the root group and of the field, and
 * what stands in the root group, but for references to objects. What cannot be copied is noted. */
void stencil_own_copy(const stencil_h5_input *from, hid_t to, stencil_notes *notes);

/* Goes over attributes with references to objects, and datasets of them, of all objects that a file and its
 * copy have under the same name, the field, /b and /f included: writes them into the copy, where they lead to
 * the objects of those names. What cannot be kept is noted. */
void stencil_references_copy(const stencil_h5_input *from, hid_t to, stencil_notes *notes);

/* Makes /residual_step the dimension scale of /residual in a result whose field has scales. IO. */
stencil_status stencil_history_attach(hid_t file, const char *path, const char *field);

/* Copies an attribute, but for references. NULL, or why it cannot be copied. */
const char *stencil_attribute_copy(hid_t from, const char *name, hid_t to, bool from_elsewhere);

/* Copies the attributes of an object to another one, but for references. What cannot be copied is noted. */
void stencil_attributes_copy(hid_t from, hid_t to, const char *name, stencil_notes *notes);

/* Copies an object with all that is in it, under the same name, but for references in attributes; `depth`: 0,
 * of an object of the root group. Negative on failure, with the reason remembered. */
herr_t stencil_object_copy(hid_t from, hid_t to, const char *name, int depth, stencil_notes *notes);
