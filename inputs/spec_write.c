#include <math.h>

#include "inputs/attributes.h"
#include "inputs/h5.h"
#include "inputs/spec_file.h"

static stencil_status write_table(hid_t group, const char *path, const char *name, int rank,
                                  const hsize_t *size, hid_t file_type, hid_t memory_type,
                                  const void *values) {
    CHECK(stencil_h5_write(group, name, rank, size, file_type, memory_type, values) >= 0, IO,
          "cannot write '%s': /stencil/%s: %s", path, name, stencil_h5_reason());
    return STENCIL_OK;
}

static stencil_status write_tables(hid_t group, const char *path, const stencil_spec *spec) {
    if (spec->offset_count > 0) {
        int32_t offset[STENCIL_POINTS_MAX * 3];
        for (int k = 0; k < spec->offset_count; k++)
            for (int axis = 0; axis < spec->rank; axis++)
                offset[k * spec->rank + axis] = spec->offset[k][axis];
        const hsize_t size[2] = {(hsize_t)spec->offset_count, (hsize_t)spec->rank};
        TRY(write_table(group, path, "offsets", 2, size, H5T_STD_I32LE, H5T_NATIVE_INT32, offset));
    }
    const hsize_t count = (hsize_t)spec->weight_count;
    return write_table(group, path, "weights", 1, &count, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, spec->weight);
}

static stencil_status write_points(hid_t file, const char *path, const stencil_spec *spec) {
    if (spec->weight_count == 0)
        return STENCIL_OK;
    const hid_t group = H5Gcreate2(file, "stencil", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(group >= 0, IO, "cannot write '%s': /stencil: %s", path, stencil_h5_reason());
    const stencil_status status = write_tables(group, path, spec);
    H5Gclose(group);
    return status;
}

static stencil_status write_names(hid_t file, const char *path, const stencil_spec *spec) {
    const char *name = spec->stencil;
    if (spec->stencil[0] != '\0')
        TRY(stencil_attribute_write_strings(file, path, "stencil", 1, &name));
    if (spec->kind != STENCIL_KIND_NONE)
        TRY(stencil_attribute_write_strings(file, path, "problem", 1, &stencil_kind_names[spec->kind]));
    const char *boundary[3];
    for (int i = 0; i < spec->boundary_count; i++)
        boundary[i] = stencil_boundary_names[spec->boundary[i]];
    if (spec->boundary_count > 0)
        TRY(stencil_attribute_write_strings(file, path, "boundary", spec->boundary_count, boundary));
    return stencil_attribute_write_strings(file, path, "norm", 1, &stencil_norm_names[spec->norm]);
}

stencil_status stencil_spec_write(hid_t file, const char *path, const stencil_spec *spec) {
    const struct {
        const char *name;
        double value;
    } number[] = {{"omega", spec->omega},
                  {"diffusivity", spec->diffusivity},
                  {"dt", spec->dt},
                  {"rtol", spec->rtol},
                  {"atol", spec->atol}};
    TRY(write_names(file, path, spec));
    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        if (!isnan(number[i].value))
            TRY(stencil_attribute_write_doubles(file, path, number[i].name, 1, &number[i].value));
    if (spec->spacing_count > 0)
        TRY(stencil_attribute_write_doubles(file, path, "spacing", spec->spacing_count, spec->spacing));
    if (spec->steps >= 0)
        TRY(stencil_attribute_write_integer(file, path, "steps", spec->steps));
    if (spec->check_every > 0)
        TRY(stencil_attribute_write_integer(file, path, "check_every", spec->check_every));
    return write_points(file, path, spec);
}
