/* A problem as it stands in a file: the format's version, attributes of the root group, the group /stencil,
 * what earlier runs have left, and what is the user's own. */
#pragma once

#include "inputs/h5.h"
#include "inputs/inputs.h"

/* Reads boxes as stencil_input_reader() does, of the values as they stand in the file, converted to a type of
 * HDF5 (borrowed). */
stencil_reader stencil_input_as(stencil_input *input, const stencil_problem *problem, hid_t type);

/* BAD_DATA where the attribute `format` names one that is newer than this version. Files without it, or with
 * one that is none of ours (*foreign), are read as they are. */
stencil_status stencil_format_read(hid_t file, const char *path, bool *foreign);

/* Decides which dataset is the field, into spec->field: the one that is asked for (NULL: none is), else that
 * of the attribute `field`, else /u, too where that attribute names no dataset (*passed_over). USAGE,
 * BAD_DATA. */
stencil_status stencil_field_choose(hid_t file, const char *path, const char *asked, stencil_spec *spec,
                                    bool *passed_over);

/* BAD_DATA: there is no such dataset; the message names one that may be meant. */
stencil_status stencil_field_refuse_missing(hid_t file, const char *path, const stencil_spec *spec);

/* Tells whether the file says itself that spec->field is its field. */
bool stencil_field_is_stated(hid_t file, const char *path, const stencil_spec *spec);

/* Makes what earlier runs have left nothing, but for the time. */
void stencil_spec_forget(stencil_spec *spec);

/* Fills what the file gives; spec->rank and spec->field are known. BAD_DATA names the attribute or dataset
 * and what is allowed. */
stencil_status stencil_spec_read(hid_t file, const char *path, stencil_spec *spec);

/* Writes the format and what is given in `spec`, into a new file. IO on failure. */
stencil_status stencil_spec_write(hid_t file, const char *path, const stencil_spec *spec);

/* Name of the index-th attribute, NULL behind the last one; *past: a run writes it, no user gives it. */
const char *stencil_spec_attribute(int index, bool *past);

/* Tells whether an object of the root group with that name belongs to the format, but for the field, whose
 * name a file may choose; *past (may be NULL): a run writes it anew. */
bool stencil_object_is_known(const char *name, bool *past);

/* Tells whether a number stands in `spec` as that attribute, or as one value of its list. */
bool stencil_spec_says(const stencil_spec *spec, const char *attribute, double number);

/* Something in a file under a name that is none of the format's, and `what` it is for messages. */
typedef struct stencil_named {
    hid_t at; /* where it stands */
    const char *name, *what;
    bool is_object, is_root; /* no attribute; an attribute of the root group */
} stencil_named;

/* Notes what to write for a name that others give to what this problem takes ("alpha": diffusivity), unless
 * the problem says the same already. False: it is no such name. */
bool stencil_alias_note(const stencil_named *named, const stencil_spec *spec, stencil_notes *notes);

/* Notes attributes of the format that neither this problem uses nor the file's own one, of kind `own`. */
void stencil_effect_notes(hid_t file, stencil_kind own, const stencil_spec *spec, stencil_notes *notes);

/* Copies the user's own from an input to another file: attributes of the root group and of the field, and
 * what stands in the root group, but for references to objects. What cannot be copied is noted (`notes` may
 * be NULL). */
void stencil_own_copy(const stencil_input *from, hid_t to, stencil_notes *notes);

/* Tells whether values of a type of HDF5 are references to objects, or have some within. */
bool stencil_type_refers(hid_t type);

/* Tells whether an object of that name stands in this very file, and not in one that a link leads to. */
bool stencil_file_holds(hid_t file, const char *name);

/* Goes over attributes with references to objects, and datasets of them, of all objects that a file and its
 * copy have under the same name, the field, /b and /f included: writes them into the copy, where they lead to
 * the objects of those names. What cannot be kept is noted (`notes` may be NULL). */
void stencil_references_copy(const stencil_input *from, hid_t to, stencil_notes *notes);

/* Makes /residual_step the dimension scale of /residual in a result whose field has scales. IO. */
stencil_status stencil_history_attach(hid_t file, const char *path, const char *field);

/* Copies the attributes of an object to another one, but for references. What cannot be copied is noted. */
void stencil_attributes_copy(hid_t from, hid_t to, const char *name, stencil_notes *notes);

/* Copies an object of the root group with all that is in it, under the same name, but for references in
 * attributes. Negative on failure, with the reason remembered. */
herr_t stencil_object_copy(hid_t from, hid_t to, const char *name, stencil_notes *notes);
