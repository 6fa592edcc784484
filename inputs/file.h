/* A problem's representation in a file: the format's version, attributes of the root group, the group
 * /stencil, records of earlier runs, and the user's own objects. */
#pragma once

#include "inputs/h5.h"
#include "inputs/inputs.h"

/* An open input inside the reading process, where HDF5 is called. Zero-initialised: closed. */
typedef struct stencil_h5_input {
    hid_t file;       /* 0 or negative: not open */
    const char *path; /* borrowed */
    stencil_input_facts facts;
    /* The members below are for reading cells: */
    stencil_dataset cells; /* the dataset whose cells were read last; only its id and chunks are set */
    int dataset; /* which dataset `cells` is (STENCIL_DATASET_…); STENCIL_SOURCE_NONE: the field */
} stencil_h5_input;

/* stencil_h5_input_open() opens any HDF5 file. stencil_h5_input_spec() reads its problem description into
 * *spec (initialised by the caller); `field` and errors as for stencil_input_open(). */
stencil_status stencil_h5_input_open(stencil_h5_input *input, const char *path);
stencil_status stencil_h5_input_spec(stencil_h5_input *input, const char *field, stencil_spec *spec);

/* Reads a box of a dataset with a number for each cell, in indices of the dataset, converted to an HDF5 type
 * (borrowed). Errors: BAD_DATA, NO_MEMORY. */
stencil_status stencil_h5_input_read(stencil_h5_input *input, int dataset, const stencil_box *box, hid_t type,
                                     const stencil_cells *to);

/* Implement stencil_input_grid(), stencil_input_notes() and stencil_input_provenance() in the reading
 * process. */
stencil_status stencil_h5_input_grid(stencil_h5_input *input, stencil_spec *spec, stencil_notes *notes);
void stencil_h5_input_notes(const stencil_h5_input *input, const stencil_spec *file, const stencil_spec *spec,
                            stencil_notes *notes);
stencil_status stencil_h5_input_provenance(const stencil_h5_input *input, stencil_provenance *provenance);

/* Adds two sizes in bytes with saturation, since sizes in a damaged file may be anything. */
static inline int64_t stencil_sizes_add(int64_t a, int64_t b) {
    return b < 0 || a > INT64_MAX / 2 - b ? INT64_MAX / 2 : a + b;
}

/* Counts the bytes that a result copies from its input (the source, /fixed and the user's own objects), and
 * those of the largest chunk among them. Errors: BAD_DATA: groups are nested too deep. */
stencil_status stencil_kept_bytes(const stencil_h5_input *input, int source, int64_t *bytes,
                                  int64_t *chunk_bytes);

/* Copies the source, /fixed, the user's own objects and references from an input into a new result, for the
 * problem `spec`. Notes what cannot be copied. Errors: BAD_DATA: the source is damaged. */
stencil_status stencil_kept_copy(stencil_h5_input *input, const stencil_sink *sink, const stencil_spec *spec,
                                 stencil_notes *notes);

/* Reads the attribute `format`. Errors: BAD_DATA: it names a format version newer than this program's. Files
 * without that attribute, or with another program's (*foreign), are accepted. */
stencil_status stencil_format_read(hid_t file, const char *path, bool *foreign);

/* Chooses the dataset that is the field: `asked` (NULL: none), else the one that the attribute `field` names,
 * else /u, also where that attribute names no dataset (*passed_over). Errors: USAGE, BAD_DATA. */
stencil_status stencil_field_choose(hid_t file, const char *path, const char *asked,
                                    char field[STENCIL_FIELD_MAX], bool *passed_over);

/* Fails since the dataset spec->field does not exist. Errors: BAD_DATA; the message names a dataset that may
 * be meant. */
stencil_status stencil_field_refuse_missing(hid_t file, const char *path, const stencil_spec *spec);

/* Returns the boundary type of an axis (in the order of the spec's lists) before a problem is made of the
 * spec. */
static inline stencil_boundary stencil_spec_boundary(const stencil_spec *spec, int axis) {
    return spec->boundary_count == 0 ? STENCIL_FIXED : spec->boundary[spec->boundary_count == 1 ? 0 : axis];
}

/* Clears all that earlier runs recorded in a spec, except the time. */
void stencil_spec_forget(stencil_spec *spec);

/* Reads all attributes and tables of the problem into `spec`, whose rank and field are already set. Errors:
 * BAD_DATA: names the attribute or dataset and what is allowed. */
stencil_status stencil_spec_read(hid_t file, const char *path, stencil_spec *spec);

/* stencil_spec_write() writes the format and the attributes set in `spec` into a new file,
 * stencil_points_write() its points and weights, or the palette [class_count][weight_count] in place of
 * these. Errors: IO. */
stencil_status stencil_spec_write(hid_t file, const char *path, const stencil_spec *spec);

/* Computes the digest of the numbers of a spec that are given, and of the history: those that a run goes on
 * from. Errors: NO_MEMORY. */
stencil_status stencil_spec_digest(const stencil_spec *spec, const stencil_history *history,
                                   char text[STENCIL_DIGEST_CHARS]);
stencil_status stencil_points_write(hid_t file, const char *path, const stencil_spec *spec,
                                    const double *palette);

/* Writes the numbers of walls that are arrays along their sides, as float64. Errors: IO. */
stencil_status stencil_along_write(hid_t file, const char *path, const stencil_spec *spec,
                                   const stencil_tables *tables);

/* Writes the tables of factors over time that a spec has. Errors: IO. */
stencil_status stencil_tables_write(hid_t file, const char *path, const stencil_spec *spec,
                                    double *const table[STENCIL_STEP_FACTORS]);

/* Position of a name in a file: an attribute of the root group, an attribute of the field (the format defines
 * none), an object in the root group, or a dataset in /stencil. */
typedef enum stencil_name_place {
    STENCIL_ATTRIBUTE,
    STENCIL_FIELD_ATTRIBUTE,
    STENCIL_OBJECT,
    STENCIL_MEMBER,
    STENCIL_PLACES
} stencil_name_place;

/* A name that the format defines; `past`: only runs write it. Everything in a file under other names is the
 * user's own. */
typedef struct stencil_known {
    const char *name;
    stencil_name_place place;
    bool past;
} stencil_known;

/* Returns the index-th name that the format defines, without the field's; its `name` is NULL after the last.
 */
stencil_known stencil_format_name(int index);

/* Returns the format's entry for a name of an object in the root group, except for the field, whose name a
 * file may choose; NULL: the format has no such name. */
const stencil_known *stencil_object_known(const char *name);

/* Tells whether `number` is the value of an attribute in `spec`, or one value of its list. */
bool stencil_spec_says(const stencil_spec *spec, const char *attribute, double number);

/* Coordinates of an axis of /u, from an attached dimension scale or a list /x, /y or /z. */
typedef struct stencil_coordinates {
    char name[STENCIL_WORD_MAX];  /* path of the list in the file; "": the axis has no coordinates */
    char label[STENCIL_WORD_MAX]; /* name of the axis: from its scale, from its label, else x, y or z */
    bool attached;                /* whether it is attached to /u as a dimension scale */
    bool time;                    /* whether names or units make it an axis of time */
    bool even;                /* whether coordinates are equidistant up to rounding of their stored type */
    double first, last, step; /* first and last coordinate; step: mean distance of neighbours, > 0 */
    double rounding;          /* most that stored coordinates differ from the exact ones */
    int64_t uneven_at;        /* index of the first coordinate that is not equidistant */
} stencil_coordinates;

/* Reads the coordinates of all axes of /u, in array order. Coordinates that cannot be read count as absent.
 */
void stencil_coordinates_read(const stencil_h5_input *input, const stencil_spec *spec,
                              stencil_coordinates axis[STENCIL_AXES]);

/* Reads the attached dimension scales of a dataset of the field's rank, without unattached lists /x, /y, /z
 * and axis labels. */
void stencil_coordinates_of(const stencil_h5_input *input, const char *name, const stencil_spec *spec,
                            stencil_coordinates axis[STENCIL_AXES]);

/* Names the dimension scale that is attached to each axis of an open dataset of any shape, in array order:
 * the first one that has coordinates; "": none. */
void stencil_scales_name(const stencil_h5_input *input, const stencil_dataset *dataset,
                         char name[STENCIL_SCALES_MAX][STENCIL_WORD_MAX]);

/* An object or attribute whose name the format does not define; `what` describes it in messages. */
typedef struct stencil_named {
    hid_t at; /* the group or object that has it */
    const char *name, *what;
    stencil_name_place place;
} stencil_named;

/* Notes what to write instead of a name that seems to be one of a side (boundary_left, flux_x_min), or a
 * table of factors of an array that has none (f_factor). False: it seems to be neither. */
bool stencil_side_note(const stencil_named *named, stencil_notes *notes);
bool stencil_factor_note(const stencil_named *named, stencil_notes *notes);

/* Notes which attribute to write instead of a common alias ("alpha": diffusivity), unless the problem has the
 * same value already. False: the name is no alias. */
bool stencil_alias_note(const stencil_named *named, const stencil_spec *spec, stencil_notes *notes);

/* Notes attributes of the format that are used neither by the problem `spec` nor by the file's problem, which
 * is of kind `own`. */
void stencil_effect_notes(hid_t file, stencil_kind own, const stencil_spec *spec, stencil_notes *notes);

/* Copies the user's own attributes (of the root group and of the field) and objects in the root group from an
 * input to another file, except object references. Notes what cannot be copied. */
void stencil_own_copy(const stencil_h5_input *from, hid_t to, stencil_notes *notes);

/* Copies object references, in attributes and in datasets, of all objects that an input and its copy have
 * under the same name (field, /b and /f included), so that they point to the copies. Notes what cannot be
 * kept. */
void stencil_references_copy(const stencil_h5_input *from, hid_t to, stencil_notes *notes);

/* Makes /residual_step the dimension scale of /residual in a result whose field has scales. Errors: IO. */
stencil_status stencil_history_attach(hid_t file, const char *path, const char *field);

/* Copies an attribute, except object references. Returns NULL, or why the attribute cannot be copied. */
const char *stencil_attribute_copy(hid_t from, const char *name, hid_t to, bool from_elsewhere);

/* Copies the attributes of an object to another one, except object references. Notes what cannot be copied.
 */
void stencil_attributes_copy(hid_t from, hid_t to, const char *name, stencil_notes *notes);

/* Copies an object with all that it contains, under the same name, except references in attributes. `depth`:
 * nesting of groups, 0 for an object of the root group. Negative on failure, with stencil_h5_reason() set. */
herr_t stencil_object_copy(hid_t from, hid_t to, const char *name, int depth, stencil_notes *notes);
