#include "inputs/difference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "inputs/axes.h"
#include "inputs/file.h"
#include "inputs/image.h"

/* Cells that are read at a time, as the shared memory of the reading process holds them. */
enum { BLOCK = 1 << 20 };

static const char field_name[] = "/difference";

/* State of writing: the problem whose field is the difference, which has no boundary cells. */
typedef struct subtraction {
    const stencil_difference *asked;
    stencil_problem problem;
    stencil_sink sink;
    double *block; /* owned, [BLOCK] */
} subtraction;

/* Makes a problem of the shape of the two datasets. Its points only make it one: the file does not state
 * them. */
static stencil_status shape(subtraction *s) {
    const stencil_numbers *is = s->asked->a.is;
    const stencil_spec *like = s->asked->like;
    stencil_spec spec;
    CHECK(is->rank > 0, BAD_DATA,
          "--diff: %s of '%s' is a single number: the differences of a field, which has 2 or 3 axes, can be "
          "written",
          s->asked->a.name, s->asked->a.input->path);
    CHECK(is->rank == 2 || is->rank == 3, BAD_DATA,
          "--diff: %s of '%s' has %d axes: the differences of a field, which has 2 or 3, can be written",
          s->asked->a.name, s->asked->a.input->path, is->rank);
    stencil_spec_init(&spec);
    spec.rank = is->rank;
    spec.precision = STENCIL_FLOAT64;
    memcpy(spec.field, field_name, sizeof field_name);
    snprintf(spec.stencil, sizeof spec.stencil, "%s", is->rank == 2 ? "j2d5pt" : "j3d7pt");
    spec.boundary_count = spec.rank;
    const bool alike = like != NULL && like->rank == is->rank &&
                       memcmp(like->extent, is->extent, (size_t)is->rank * sizeof *is->extent) == 0;
    for (int i = 0; i < is->rank; i++) {
        spec.extent[i] = is->extent[i];
        spec.boundary[i] =
            alike && stencil_spec_boundary(like, i) == STENCIL_MIRROR ? STENCIL_MIRROR : STENCIL_PERIODIC;
    }
    if (alike) {
        spec.spacing_count = like->spacing_count;
        memcpy(spec.spacing, like->spacing, sizeof spec.spacing);
    }
    return stencil_problem_resolve(&s->problem, &spec);
}

/* Reads `count` elements from number `first` on, or fewer, which *count then says. */
static stencil_status read_some(const stencil_differing *d, int64_t first, double *values, int64_t *count) {
    return stencil_input_block(d->input, d->is, first, *count, false, values, count);
}

/* Subtracts a run of cells, which follow each other in both files. */
static stencil_status subtract(const subtraction *s, int64_t first, int64_t count, double *to) {
    for (int64_t done = 0; done < count;) {
        int64_t some = stencil_smaller(count - done, BLOCK);
        TRY(read_some(&s->asked->a, first + done, to + done, &some));
        int64_t other = some;
        TRY(read_some(&s->asked->b, first + done, s->block, &other));
        some = stencil_smaller(some, other);
        for (int64_t i = 0; i < some; i++) {
            const double a = to[done + i], b = s->block[i];
            to[done + i] = a == b || (isnan(a) && isnan(b)) ? 0 : a - b;
        }
        done += some;
    }
    return STENCIL_OK;
}

/* Reads a box of differences; rows of boxes that are written are whole and follow each other. */
static stencil_status read_box(void *context, stencil_array array, const stencil_box *box,
                               const stencil_cells *to) {
    const subtraction *s = context;
    const int64_t *extent = s->problem.extent, nx = extent[STENCIL_X];
    CHECK(array == STENCIL_ARRAY_U && box->n[STENCIL_X] == nx && to->row == nx, INTERNAL,
          "differences are written by whole rows");
    for (int64_t z = 0; z < box->n[STENCIL_Z]; z++) {
        const int64_t row = (box->first[STENCIL_Z] + z) * extent[STENCIL_Y] + box->first[STENCIL_Y];
        TRY(subtract(s, row * nx, box->n[STENCIL_Y] * nx, (double *)to->at + z * to->plane));
    }
    return STENCIL_OK;
}

static stencil_status write_provenance(const subtraction *s) {
    const stencil_difference *asked = s->asked;
    const char *const entry[][2] = {{"version", STENCIL_VERSION},
                                    {"command_line", asked->command_line},
                                    {"a", asked->a.input->path},
                                    {"b", asked->b.input->path}};
    STENCIL_HANDLE group = H5Gcreate2(s->sink.file, "provenance", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    TRY(stencil_h5_check_written(group >= 0, asked->path, "/provenance"));
    for (size_t i = 0; i < sizeof entry / sizeof *entry; i++) {
        const stencil_attribute is = {.name = entry[i][0], .type = STENCIL_ATTRIBUTE_TEXT};
        TRY(stencil_attribute_write(group, asked->path, &is, 1, entry[i][1]));
    }
    return STENCIL_OK;
}

static stencil_status write_file(subtraction *s) {
    const char *path = s->asked->path;
    const stencil_problem *problem = &s->problem;
    const stencil_sink_dataset dataset = {field_name, STENCIL_ARRAY_U, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE};
    stencil_spec spec = problem->spec;
    spec.stencil[0] = '\0';
    spec.boundary_count = 0;
    TRY(stencil_sink_open(&s->sink, path, s->asked->force, s->asked->a.input->path,
                          stencil_sink_array_bytes(problem) + stencil_axes_bytes(problem)));
    const hid_t file = s->sink.file;
    TRY(stencil_sink_create(&s->sink, &dataset, problem));
    TRY(stencil_h5_check_written(stencil_image_write(file, problem, stencil_spec_field(&problem->spec),
                                                     (const int64_t[]){0, 0, 0}, problem->extent,
                                                     (const int64_t[]){1, 1, 1}) >= 0,
                                 path, "/VTKHDF"));
    TRY(stencil_axes_create(file, path, problem));
    TRY(stencil_h5_check_written(H5Ldelete(file, "time", H5P_DEFAULT) >= 0, path, "time")); /* it has none */
    TRY(stencil_axes_attach(file, path, problem, true));
    TRY(stencil_sink_fill(&s->sink, &dataset, problem, &(stencil_reader){read_box, s}));
    TRY(stencil_spec_write(file, path, &spec));
    TRY(write_provenance(s));
    TRY(stencil_sink_state(&s->sink));
    return stencil_sink_commit(&s->sink);
}

stencil_status stencil_difference_write(const stencil_difference *difference) {
    subtraction s = {.asked = difference};
    void *block = NULL;
    stencil_status status = stencil_memory_alloc(&block, BLOCK * (int64_t)sizeof(double), "differences");
    s.block = block;
    if (status == STENCIL_OK)
        status = shape(&s);
    if (status == STENCIL_OK)
        status = write_file(&s);
    const stencil_error seen = *stencil_error_last();
    stencil_sink_close(&s.sink);
    stencil_problem_destroy(&s.problem);
    free(s.block);
    return status != STENCIL_OK ? stencil_error_adopt(&seen) : STENCIL_OK;
}
