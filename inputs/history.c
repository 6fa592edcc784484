#include "inputs/spec_file.h"

#include <inttypes.h>
#include <stdlib.h>

#include "inputs/h5.h"

/* A list of numbers; *count is 0 where there is none. */
static stencil_status read_list(hid_t file, const char *path, const char *name, hid_t type, int64_t *count,
                                void **values) {
    *count = 0;
    if (H5Lexists(file, name, H5P_DEFAULT) <= 0)
        return STENCIL_OK;
    STENCIL_HANDLE dataset = H5Dopen2(file, name, H5P_DEFAULT);
    CHECK(dataset >= 0, BAD_DATA, "'%s': /%s cannot be read (%s)", path, name, stencil_h5_reason());
    STENCIL_HANDLE space = H5Dget_space(dataset);
    const int rank = space < 0 ? -1 : H5Sget_simple_extent_ndims(space);
    const int64_t points = rank == 1 ? (int64_t)H5Sget_simple_extent_npoints(space) : -1;
    if (points > 0)
        TRY(stencil_memory_alloc(values, points * (int64_t)sizeof(double), name));
    CHECK(points == 0 || (points > 0 && H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, *values) >= 0),
          BAD_DATA, "'%s': /%s is no list of numbers that can be read (%s)", path, name, stencil_h5_reason());
    *count = points;
    return STENCIL_OK;
}

stencil_status stencil_history_read(hid_t file, const char *path, stencil_problem *problem) {
    stencil_origin *origin = &problem->origin;
    void *values = NULL, *steps = NULL;
    int64_t count = 0, step_count = 0;
    if (origin->steps == 0)
        return STENCIL_OK;
    stencil_status status = read_list(file, path, "residual", H5T_NATIVE_DOUBLE, &count, &values);
    if (status == STENCIL_OK)
        status = read_list(file, path, "residual_step", H5T_NATIVE_INT64, &step_count, &steps);
    origin->residual = values; /* freed with the problem, whatever comes */
    origin->residual_step = steps;
    TRY(status);
    CHECK(count == step_count, BAD_DATA, "'%s': /residual has %" PRId64 " entries, /residual_step %" PRId64,
          path, count, step_count);
    for (int64_t i = 0; i < count; i++)
        CHECK(origin->residual_step[i] > (i > 0 ? origin->residual_step[i - 1] : 0) &&
                  origin->residual_step[i] <= origin->steps,
              BAD_DATA, "'%s': /residual_step[%" PRId64 "] is out of order, or behind the last step", path,
              i);
    origin->history_count = count;
    /* By the distance of checks that the file states: the command line may ask for another one now. */
    const int64_t every = problem->origin.check_every;
    origin->last_is_extra = count > 0 && origin->residual_step[count - 1] % every != 0;
    return STENCIL_OK;
}
