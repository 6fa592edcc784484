#define _XOPEN_SOURCE 700 /* realpath */

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "inputs/attributes.h"
#include "inputs/h5.h"
#include "inputs/inputs.h"
#include "inputs/sink.h"
#include "inputs/spec_file.h"

stencil_status stencil_output_prepare(const stencil_output_options *options) {
    return stencil_sink_check(options->path, options->force, options->input_path);
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

/* /b or /f as it stands in the input: whatever its type and storage. */
static stencil_status copy_source(const stencil_sink *sink, const char *input_path, stencil_source source) {
    if (source == STENCIL_SOURCE_NONE)
        return STENCIL_OK;
    const char *name = source == STENCIL_SOURCE_B ? "b" : "f";
    hid_t input = -1;
    if (stencil_h5_open(input_path, &input) != STENCIL_OK) {
        const stencil_error seen = *stencil_error_last();
        FAIL(IO, "cannot write '%s': the input is needed once more: %s", sink->path, seen.message);
    }
    const herr_t failed = H5Ocopy(input, name, sink->file, name, H5P_DEFAULT, H5P_DEFAULT);
    if (failed < 0)
        stencil_h5_reason();
    H5Fclose(input);
    CHECK(failed >= 0, IO, "cannot write '%s': cannot copy /%s of '%s' (%s)", sink->path, name, input_path,
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
            status = stencil_attribute_write_strings(group, sink->path, entry[i].name, 1, &entry[i].text);
    free(absolute);
    return status;
}

static stencil_status write_provenance(const stencil_sink *sink, const stencil_output_options *options,
                                       const stencil_report *report) {
    const hid_t group = H5Gcreate2(sink->file, "provenance", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(group >= 0, IO, "cannot write '%s': /provenance: %s", sink->path, stencil_h5_reason());
    stencil_status status = write_names(group, sink, options, report);
    if (status == STENCIL_OK)
        status = stencil_attribute_write_integer(group, sink->path, "steps_done",
                                                 stencil_report_steps_done(report));
    const struct {
        const char *name;
        double value;
    } time[] = {
        {"prepare_s", report->prepare_s}, {"compute_s", report->compute_s}, {"finish_s", report->finish_s}};
    for (size_t i = 0; i < sizeof time / sizeof *time && status == STENCIL_OK; i++)
        status = stencil_attribute_write_doubles(group, sink->path, time[i].name, 1, &time[i].value);
    H5Gclose(group);
    return status;
}

/* How far the problem has come, for a run that goes on from here. */
static stencil_status write_past(const stencil_sink *sink, const stencil_problem *problem,
                                 const stencil_report *report) {
    const char *fingerprint = problem->fingerprint;
    const struct {
        const char *name;
        double value;
    } number[] = {{"residual_first", report->residual_first},
                  {"time", stencil_problem_time(problem, report->steps)},
                  {"time_first", problem->origin.time_first != 0 ? problem->origin.time_first : NAN}};
    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        if (!isnan(number[i].value))
            TRY(stencil_attribute_write_doubles(sink->file, sink->path, number[i].name, 1, &number[i].value));
    TRY(stencil_attribute_write_strings(sink->file, sink->path, "fingerprint", 1, &fingerprint));
    return stencil_attribute_write_integer(sink->file, sink->path, "steps_total", report->steps);
}

static stencil_status write_all(const stencil_sink *sink, const stencil_output_options *options,
                                const stencil_problem *problem, const stencil_report *report) {
    TRY(write_field(sink, problem));
    TRY(write_history(sink, report));
    TRY(copy_source(sink, options->input_path, problem->spec.source));
    TRY(stencil_spec_write(sink->file, sink->path, &problem->spec));
    TRY(write_past(sink, problem, report));
    return write_provenance(sink, options, report);
}

stencil_status stencil_output_write(const stencil_output_options *options, const stencil_problem *problem,
                                    const stencil_report *report) {
    stencil_sink sink;
    TRY(stencil_sink_check(options->path, options->force, options->input_path));
    TRY(stencil_sink_open(&sink, options->path, options->force));
    const stencil_status status = write_all(&sink, options, problem, report);
    if (status == STENCIL_OK)
        return stencil_sink_commit(&sink);
    stencil_sink_abort(&sink);
    return status;
}
