#include "files.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char directory[] = "/tmp/stencil-test-XXXXXX";

int files_setup(void **state) {
    (void)state;
    strcpy(directory + sizeof directory - 7, "XXXXXX");
    return mkdtemp(directory) == NULL || chdir(directory) != 0;
}

static void for_entries(void (*act)(const char *name, int *count), int *count) {
    DIR *entries = opendir(".");
    assert_non_null(entries);
    for (const struct dirent *e = readdir(entries); e != NULL; e = readdir(entries))
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            act(e->d_name, count);
    closedir(entries);
}

static void count_one(const char *name, int *count) {
    (void)name;
    ++*count;
}

static void remove_one(const char *name, int *count) {
    *count += remove(name) == 0;
}

int files_count(void) {
    int count = 0;
    for_entries(count_one, &count);
    return count;
}

int files_teardown(void **state) {
    (void)state;
    int removed = 0;
    for_entries(remove_one, &removed);
    return chdir("/") != 0 || rmdir(directory) != 0;
}

hid_t files_new(const char *name) {
    const hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(file >= 0);
    return file;
}

hid_t files_create(const char *name, int rank, const hsize_t *size) {
    const hid_t file = files_new(name);
    size_t cells = 1;
    for (int i = 0; i < rank; i++)
        cells *= size[i];
    double *values = malloc(cells * sizeof *values);
    assert_non_null(values);
    for (size_t k = 0; k < cells; k++)
        values[k] = (double)k;
    files_dataset(file, "u", rank, size, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, values);
    free(values);
    return file;
}

void files_dataset(hid_t file, const char *name, int rank, const hsize_t *size, hid_t file_type,
                   hid_t memory_type, const void *values) {
    const hid_t space = H5Screate_simple(rank, size, NULL);
    const hid_t dataset = H5Dcreate2(file, name, file_type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(dataset >= 0);
    if (values != NULL)
        assert_true(H5Dwrite(dataset, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    assert_true(H5Dclose(dataset) >= 0);
    H5Sclose(space);
}

void files_attribute(hid_t object, const char *name, int count, hid_t file_type, hid_t memory_type,
                     const void *values) {
    const hsize_t size = (hsize_t)count;
    const hid_t space = count == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &size, NULL);
    const hid_t attribute = H5Acreate2(object, name, file_type, space, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(attribute >= 0);
    assert_true(H5Awrite(attribute, memory_type, values) >= 0);
    H5Aclose(attribute);
    H5Sclose(space);
}

void files_text(hid_t object, const char *name, const char *text) {
    const hid_t type = H5Tcopy(H5T_C_S1);
    assert_true(H5Tset_size(type, H5T_VARIABLE) >= 0);
    files_attribute(object, name, 0, type, type, &text);
    H5Tclose(type);
}

void files_expect(stencil_status got, stencil_status wanted, const char *part) {
    if (got != wanted)
        fail_msg("status %d (%s), wanted %d", (int)got, stencil_error_last()->message, (int)wanted);
    if (wanted == STENCIL_OK)
        return;
    const char *message = stencil_error_last()->message;
    if (strstr(message, part) == NULL)
        fail_msg("'%s' does not mention '%s'", message, part);
    assert_null(strchr(message, '\n'));
}

static stencil_status load(const stencil_reader *from, const stencil_problem *problem, stencil_field *u,
                           stencil_field *b) {
    const stencil_mesh mesh = stencil_problem_mesh(problem, 1);
    const stencil_box array = stencil_mesh_array(&mesh), updated = {.n = {mesh.n[0], mesh.n[1], mesh.n[2]}};
    TRY(stencil_field_create(u, &problem->layout, "u"));
    const stencil_cells all = stencil_cells_in(&u->layout, u->data, updated.first),
                        to = stencil_cells_from(&all, array.first);
    TRY(from->read(from->context, STENCIL_ARRAY_U, &array, &to));
    if (problem->spec.source == STENCIL_SOURCE_NONE)
        return STENCIL_OK;
    TRY(stencil_field_create(b, &problem->layout, "b"));
    const stencil_cells to_b = stencil_cells_in(&b->layout, b->data, updated.first);
    return from->read(from->context, STENCIL_ARRAY_B, &updated, &to_b);
}

stencil_status files_load(stencil_input *input, const stencil_problem *problem, bool allow_nonfinite,
                          stencil_field *u, stencil_field *b) {
    const stencil_reader from = stencil_input_reader(input, problem, allow_nonfinite);
    *u = *b = (stencil_field){0};
    const stencil_status status = load(&from, problem, u, b);
    if (status != STENCIL_OK) {
        stencil_field_destroy(u);
        stencil_field_destroy(b);
    }
    return status;
}
