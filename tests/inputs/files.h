/* Small HDF5 files for tests, made with the plain HDF5 interface in a directory of their own. */
#ifndef STENCIL_TESTS_INPUTS_FILES_H
#define STENCIL_TESTS_INPUTS_FILES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <hdf5.h>

#include "inputs/inputs.h"
#include "solver/run/run.h"

/* cmocka set-up and tear-down of a group: makes an empty directory, goes there, and removes it with all in
 * it. */
int files_setup(void **state);
int files_teardown(void **state);

/* Number of entries of the current directory, hidden ones included. */
int files_count(void);

/* A new empty file. Closed by H5Fclose. */
hid_t files_new(const char *name);

/* A new file with /u of these dimensions, float64, value of cell k: k (array order). Closed by H5Fclose. */
hid_t files_create(const char *name, int rank, const hsize_t *size);

/* A dataset with the values as they are in memory. */
void files_dataset(hid_t file, const char *name, int rank, const hsize_t *size, hid_t file_type,
                   hid_t memory_type, const void *values);

/* Attributes: count 0 makes a scalar. */
void files_attribute(hid_t object, const char *name, int count, hid_t file_type, hid_t memory_type,
                     const void *values);
void files_text(hid_t object, const char *name, const char *text);

/* Reads all cells of a problem into fields made for them, each array as one box; b stays without data where
 * there is no source. Neither has any on failure. */
stencil_status files_load(stencil_input *input, const stencil_problem *problem, bool allow_nonfinite,
                          stencil_field *u, stencil_field *b);

/* Asserts the status and that the message of the failure is one line that has `part` in it. */
void files_expect(stencil_status got, stencil_status wanted, const char *part);

#endif
