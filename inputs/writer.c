#define _XOPEN_SOURCE 700 /* realpath */

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "inputs/attributes.h"
#include "inputs/format.h"
#include "inputs/h5.h"
#include "inputs/input_file.h"
#include "inputs/sink.h"
#include "inputs/spec_file.h"
#include "inputs/storage.h"

/* Room for what HDF5 needs beside the values, generously. */
#define METADATA_BYTES ((int64_t)64 << 10)
/* Of a longer history, which hardly any run has, the rest has to find its place in the end. */
#define HISTORY_MAX ((int64_t)1 << 17)

/* Of a buffer for copying. */
#define COPY_BYTES ((int64_t)32 << 20)

struct stencil_output {
    stencil_output_options options;
    stencil_sink sink;
};

static const char *source_name(stencil_source source) {
    return source == STENCIL_SOURCE_F ? "f" : "b";
}

/* /b or /f, as it is stored or, from other files, with all of its values. */
static int64_t source_bytes(hid_t file, const char *name) {
    const hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
    const int64_t stored = stencil_own_stored_bytes(file, name);
    const int64_t values =
        dataset >= 0 && stencil_storage_elsewhere(dataset) ? stencil_storage_bytes(dataset) : 0;
    if (dataset >= 0)
        H5Dclose(dataset);
    return stored + values;
}

static int64_t result_bytes(const stencil_output_options *options, const stencil_problem *problem) {
    int64_t bytes = METADATA_BYTES, cells = 1;
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        cells *= problem->extent[axis];
    bytes += cells * (int64_t)stencil_precision_bytes(problem->precision);
    const int64_t looks = problem->stop.steps / problem->stop.check_every + 1;
    bytes += (looks < HISTORY_MAX ? looks : HISTORY_MAX) * (int64_t)(sizeof(double) + sizeof(int64_t));
    if (problem->spec.source != STENCIL_SOURCE_NONE)
        bytes += source_bytes(options->input->file, source_name(problem->spec.source));
    return bytes + stencil_own_bytes(options->input->file);
}

static stencil_status write_dataset(const stencil_sink *sink, const char *name, int rank, const hsize_t *size,
                                    hid_t file_type, hid_t memory_type, hid_t memory, const void *values) {
    CHECK(stencil_h5_write(sink->file, name, rank, size, file_type, memory_type, memory, values) >= 0, IO,
          "cannot write '%s': /%s: %s", sink->path, name, stencil_h5_reason());
    return stencil_sink_state(sink);
}

static stencil_status write_field(const stencil_sink *sink, const stencil_problem *problem) {
    /* Nothing is written to the field: the window serves reading and writing. */
    stencil_field field = problem->u;
    void *base = NULL;
    const hid_t window = stencil_h5_window_space(problem, &field, &base);
    CHECK(window >= 0, INTERNAL, "HDF5 makes no memory space: %s", stencil_h5_reason());
    hsize_t size[3];
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        size[axis] = (hsize_t)problem->extent[axis];
    const stencil_status status = write_dataset(sink, "u", problem->rank, size + STENCIL_AXES - problem->rank,
                                                stencil_h5_file_type(problem->precision),
                                                stencil_h5_native_type(problem->precision), window, base);
    H5Sclose(window);
    return status;
}

static stencil_status write_history(const stencil_sink *sink, const stencil_report *report) {
    const hsize_t count = (hsize_t)report->history_count;
    TRY(write_dataset(sink, "residual", 1, &count, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, H5S_ALL,
                      report->residual));
    return write_dataset(sink, "residual_step", 1, &count, H5T_STD_I64LE, H5T_NATIVE_INT64, H5S_ALL,
                         report->residual_step);
}

static herr_t copy_blocks(hid_t from, hid_t to, hid_t type, const stencil_problem *problem) {
    const int64_t most = COPY_BYTES / (int64_t)H5Tget_size(type);
    void *values = malloc((size_t)stencil_h5_block_cells(problem->extent, most) * H5Tget_size(type));
    herr_t failed = values == NULL ? -1 : 0;
    stencil_h5_block block = {0};
    while (failed >= 0 && stencil_h5_block_next(&block, problem->extent, most)) {
        failed = stencil_h5_block_read(from, problem->rank, &block, type, values);
        if (failed >= 0)
            failed = stencil_h5_block_write(to, problem->rank, &block, type, values);
    }
    free(values);
    return failed;
}

/* A dataset whose values stand in other files, which may not be found from the result. */
static herr_t gather(hid_t from, hid_t file, const char *name, const stencil_problem *problem) {
    const int skip = STENCIL_AXES - problem->rank;
    hsize_t size[3];
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        size[axis] = (hsize_t)problem->extent[axis];
    const hid_t type = H5Dget_type(from);
    const hid_t to = type < 0 ? -1 : stencil_h5_create(file, name, problem->rank, size + skip, type);
    const herr_t failed = to < 0 ? -1 : copy_blocks(from, to, type, problem);
    if (to >= 0)
        H5Dclose(to);
    if (type >= 0)
        H5Tclose(type);
    return failed;
}

/* /b or /f as it stands in the input: whatever its type and storage. */
static stencil_status copy_source(const stencil_sink *sink, const stencil_input *input,
                                  const stencil_problem *problem) {
    if (problem->spec.source == STENCIL_SOURCE_NONE)
        return STENCIL_OK;
    const char *name = source_name(problem->spec.source);
    const hid_t from = H5Dopen2(input->file, name, H5P_DEFAULT);
    herr_t failed = -1;
    if (from >= 0)
        failed = stencil_storage_elsewhere(from)
                     ? gather(from, sink->file, name, problem)
                     : H5Ocopy(input->file, name, sink->file, name, H5P_DEFAULT, H5P_DEFAULT);
    if (failed < 0)
        stencil_h5_reason();
    if (from >= 0)
        H5Dclose(from);
    CHECK(failed >= 0, IO, "cannot write '%s': cannot copy /%s of '%s' (%s)", sink->path, name, input->path,
          stencil_h5_reason());
    return stencil_sink_state(sink);
}

static stencil_status write_names(hid_t group, const stencil_sink *sink,
                                  const stencil_output_options *options, const stencil_report *report) {
    char *absolute = options->input_path != NULL ? realpath(options->input_path, NULL) : NULL;
    char started[32] = "";
    const time_t began = (time_t)options->started_s;
    struct tm utc;
    if (began != 0 && gmtime_r(&began, &utc) != NULL)
        strftime(started, sizeof started, "%Y-%m-%dT%H:%M:%SZ", &utc);
    const struct {
        const char *name, *text;
    } entry[] = {{"version", STENCIL_VERSION},
                 {"command_line", options->command_line},
                 {"input", absolute != NULL ? absolute : options->input_path},
                 {"started", started},
                 {"backend", report->backend},
                 {"device", report->device},
                 {"strategy", report->strategy},
                 {"reason", stencil_reason_names[report->reason]}};
    stencil_status status = STENCIL_OK;
    for (size_t i = 0; i < sizeof entry / sizeof *entry && status == STENCIL_OK; i++)
        if (entry[i].text != NULL && entry[i].text[0] != '\0')
            status = stencil_attribute_write(group, sink->path, entry[i].name, STENCIL_ATTRIBUTE_TEXT, 1,
                                             &entry[i].text);
    free(absolute);
    return status;
}

static stencil_status write_provenance(const stencil_sink *sink, const stencil_output_options *options,
                                       const stencil_report *report) {
    const hid_t group = H5Gcreate2(sink->file, "provenance", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(group >= 0, IO, "cannot write '%s': /provenance: %s", sink->path, stencil_h5_reason());
    stencil_status status = write_names(group, sink, options, report);
    const int64_t steps_done = stencil_report_steps_done(report);
    if (status == STENCIL_OK)
        status =
            stencil_attribute_write(group, sink->path, "steps_done", STENCIL_ATTRIBUTE_WHOLE, 1, &steps_done);
    const struct {
        const char *name;
        double value;
    } time[] = {
        {"prepare_s", report->prepare_s}, {"compute_s", report->compute_s}, {"finish_s", report->finish_s}};
    for (size_t i = 0; i < sizeof time / sizeof *time && status == STENCIL_OK; i++)
        status = stencil_attribute_write(group, sink->path, time[i].name, STENCIL_ATTRIBUTE_REAL, 1,
                                         &time[i].value);
    H5Gclose(group);
    return status;
}

/* The problem, and how far it has come, for a run that goes on from here. */
static stencil_status write_spec(const stencil_sink *sink, const stencil_problem *problem,
                                 const stencil_report *report) {
    stencil_spec spec = problem->spec;
    spec.residual_first = report->residual_first;
    spec.time = stencil_problem_time(problem, report->steps);
    spec.time_first = problem->origin.time_first != 0 ? problem->origin.time_first : NAN;
    spec.steps_total = report->steps;
    memcpy(spec.fingerprint, problem->fingerprint, sizeof spec.fingerprint);
    TRY(stencil_spec_write_attributes(sink->file, sink->path, &spec));
    return stencil_spec_write_points(sink->file, sink->path, &spec);
}

static stencil_status write_all(const stencil_sink *sink, const stencil_output_options *options,
                                const stencil_problem *problem, const stencil_report *report) {
    TRY(write_field(sink, problem));
    TRY(write_history(sink, report));
    TRY(copy_source(sink, options->input, problem));
    TRY(stencil_format_write(sink->file, sink->path));
    TRY(write_spec(sink, problem, report));
    stencil_own_copy(options->input->file, sink->file, options->notes);
    TRY(stencil_sink_state(sink));
    return write_provenance(sink, options, report);
}

stencil_status stencil_output_open(stencil_output **output, const stencil_output_options *options,
                                   const stencil_problem *problem) {
    *output = NULL;
    TRY(stencil_sink_check(options->path, options->force, options->input_path));
    stencil_output *made = calloc(1, sizeof *made);
    CHECK(made != NULL, NO_MEMORY, "no memory for '%s'", options->path);
    made->options = *options;
    const stencil_status status =
        stencil_sink_open(&made->sink, options->path, options->force, result_bytes(options, problem));
    if (status == STENCIL_OK)
        *output = made;
    else
        free(made);
    return status;
}

const char *stencil_output_temporary(const stencil_output *output) {
    return output->sink.temporary;
}

stencil_status stencil_output_write(stencil_output *output, const stencil_problem *problem,
                                    const stencil_report *report) {
    stencil_sink *sink = &output->sink;
    const stencil_status status = write_all(sink, &output->options, problem, report);
    if (status == STENCIL_OK)
        return stencil_sink_commit(sink);
    stencil_sink_abort(sink);
    return status;
}

void stencil_output_close(stencil_output *output) {
    if (output == NULL)
        return;
    stencil_sink_abort(&output->sink);
    free(output);
}
