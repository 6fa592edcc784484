#define _XOPEN_SOURCE 700 /* realpath */

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "inputs/file.h"
#include "inputs/sink.h"
#include "solver/digest.h"

/* Of a longer history, which hardly any run has, the rest has to find its place in the end. */
#define HISTORY_MAX ((int64_t)1 << 17)

/* Bytes of what is the user's own. */
typedef struct own_bytes {
    const char *field; /* which is not */
    int64_t bytes;
} own_bytes;

/* Adds those of a dataset, which comes along; values in other files stay there. */
static herr_t add_bytes(hid_t group, const char *name, const H5L_info_t *info, void *data) {
    static const char *const ours[] = {"b", "f", "q", "residual", "residual_step", NULL};
    own_bytes *all = data;
    const bool own =
        info->type == H5L_TYPE_HARD && stencil_name_find(name, ours) < 0 && strcmp(name, all->field + 1) != 0;
    STENCIL_HANDLE dataset = own ? H5Dopen2(group, name, H5P_DEFAULT) : -1;
    if (dataset >= 0 && !stencil_dataset_elsewhere(dataset))
        all->bytes += (int64_t)H5Dget_storage_size(dataset);
    return 0;
}

/* What the result takes over from the input, values of its source in other files included. */
static int64_t kept_bytes(const stencil_input *input, stencil_source source) {
    STENCIL_HANDLE of =
        source != STENCIL_SOURCE_NONE ? H5Dopen2(input->file, stencil_source_names[source], H5P_DEFAULT) : -1;
    own_bytes all = {input->field, of < 0                          ? 0
                                   : stencil_dataset_elsewhere(of) ? stencil_dataset_bytes(of)
                                                                   : (int64_t)H5Dget_storage_size(of)};
    H5Lvisit(input->file, H5_INDEX_NAME, H5_ITER_NATIVE, add_bytes, &all);
    return all.bytes;
}

static int64_t result_bytes(const stencil_output *output, const stencil_problem *problem) {
    const int64_t looks = problem->stop.steps / problem->stop.check_every + 1;
    return stencil_sink_array_bytes(problem) +
           (looks < HISTORY_MAX ? looks : HISTORY_MAX) * (int64_t)(sizeof(double) + sizeof(int64_t)) +
           kept_bytes(output->input, problem->spec.source);
}

/* The source as it stands there, whatever its type and storage; values in other files, which may not be found
 * from the result, come with it. */
static stencil_status copy_source(const stencil_output *output, const stencil_problem *problem) {
    const stencil_sink *sink = &output->sink;
    stencil_input *input = output->input;
    const char *name = stencil_source_names[problem->spec.source];
    if (problem->spec.source == STENCIL_SOURCE_NONE)
        return STENCIL_OK;
    STENCIL_HANDLE from = H5Dopen2(input->file, name, H5P_DEFAULT);
    STENCIL_HANDLE type = from >= 0 ? H5Dget_type(from) : -1;
    const stencil_reader reader = stencil_input_as(input, problem, type);
    if (type >= 0 && stencil_dataset_elsewhere(from)) {
        TRY(stencil_sink_write(sink, &(stencil_sink_dataset){name, STENCIL_ARRAY_B, type, type}, problem,
                               &reader));
        STENCIL_HANDLE to = H5Dopen2(sink->file, name, H5P_DEFAULT);
        stencil_attributes_copy(from, to, name, output->notes);
        return stencil_sink_state(sink);
    }
    CHECK(type >= 0 && H5Ocopy(input->file, name, sink->file, name, H5P_DEFAULT, H5P_DEFAULT) >= 0, IO,
          "cannot write '%s': cannot copy %s of '%s' (%s)", sink->path, name, input->path,
          stencil_h5_reason());
    return stencil_sink_state(sink);
}

bool stencil_output_replaces_input(const stencil_output *output) {
    const char *last = stencil_path_last(output->path);
    char directory[PATH_MAX] = "./", place[PATH_MAX], name[2 * PATH_MAX], input[PATH_MAX];
    if (output->input_path == NULL || realpath(output->input_path, input) == NULL)
        return false;
    if (last > output->path)
        snprintf(directory, sizeof directory, "%.*s", (int)(last - output->path), output->path);
    if (realpath(directory, place) == NULL)
        return false;
    snprintf(name, sizeof name, "%s/%s", strcmp(place, "/") == 0 ? "" : place, last);
    return strcmp(name, input) == 0;
}

static stencil_status write_provenance(const stencil_output *output, const stencil_report *report) {
    const stencil_sink *sink = &output->sink;
    char absolute[PATH_MAX], started[32] = "";
    const char *input = stencil_output_replaces_input(output) ? NULL : output->input_path;
    const time_t began = (time_t)output->started_s;
    const int64_t steps_done = stencil_report_steps_done(report);
    struct tm utc;
    if (input != NULL && realpath(input, absolute) != NULL)
        input = absolute;
    if (began != 0 && gmtime_r(&began, &utc) != NULL)
        strftime(started, sizeof started, "%Y-%m-%dT%H:%M:%SZ", &utc);
    const struct {
        const char *name;
        stencil_attribute_type type;
        const void *value; /* NULL or "": not known */
    } entry[] = {{"version", STENCIL_ATTRIBUTE_TEXT, STENCIL_VERSION},
                 {"command_line", STENCIL_ATTRIBUTE_TEXT, output->command_line},
                 {"input", STENCIL_ATTRIBUTE_TEXT, input},
                 {"started", STENCIL_ATTRIBUTE_TEXT, started},
                 {"backend", STENCIL_ATTRIBUTE_TEXT, report->backend},
                 {"device", STENCIL_ATTRIBUTE_TEXT, report->device},
                 {"strategy", STENCIL_ATTRIBUTE_TEXT, report->strategy},
                 {"reason", STENCIL_ATTRIBUTE_TEXT, stencil_reason_names[report->reason]},
                 {"steps_done", STENCIL_ATTRIBUTE_WHOLE, &steps_done},
                 {"prepare_s", STENCIL_ATTRIBUTE_REAL, &report->prepare_s},
                 {"compute_s", STENCIL_ATTRIBUTE_REAL, &report->compute_s},
                 {"finish_s", STENCIL_ATTRIBUTE_REAL, &report->finish_s}};
    STENCIL_HANDLE group = H5Gcreate2(sink->file, "provenance", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(group >= 0, IO, "cannot write '%s': /provenance: %s", sink->path, stencil_h5_reason());
    for (size_t i = 0; i < sizeof entry / sizeof *entry; i++) {
        const stencil_attribute is = {.name = entry[i].name, .type = entry[i].type};
        const char *value = entry[i].value;
        if (value != NULL && (is.type != STENCIL_ATTRIBUTE_TEXT || value[0] != '\0'))
            TRY(stencil_attribute_write(group, sink->path, &is, 1, value));
    }
    return STENCIL_OK;
}

/* The values of the field while they are written. */
typedef struct digesting {
    const stencil_reader *from;
    stencil_box array;
    stencil_digest digest;
} digesting;

static stencil_status read_digesting(void *context, stencil_array array, const stencil_box *box,
                                     const stencil_cells *to) {
    digesting *d = context;
    TRY(d->from->read(d->from->context, array, box, to));
    stencil_digest_add(&d->digest, &d->array, box, to);
    return STENCIL_OK;
}

static stencil_status write_field(const stencil_sink *sink, const stencil_problem *problem,
                                  const stencil_reader *from, char digest[STENCIL_DIGEST_CHARS]) {
    const stencil_sink_dataset u = {stencil_spec_field(&problem->spec), STENCIL_ARRAY_U,
                                    stencil_h5_type(problem->precision, true),
                                    stencil_h5_type(problem->precision, false)};
    digesting d = {.from = from, .array = stencil_digest_array(problem, STENCIL_ARRAY_U)};
    TRY(stencil_sink_write(sink, &u, problem, &(stencil_reader){read_digesting, &d}));
    stencil_digest_text(&d.digest, digest);
    return STENCIL_OK;
}

/* The problem, and how far it has come, for a run that goes on from here. */
static stencil_status write_spec(const stencil_sink *sink, const stencil_problem *problem,
                                 const stencil_reader *from, const stencil_report *report,
                                 const char digest_u[STENCIL_DIGEST_CHARS]) {
    stencil_spec spec = problem->spec;
    memcpy(spec.digest_u, digest_u, sizeof spec.digest_u);
    spec.digest_b[0] = '\0';
    if (spec.source != STENCIL_SOURCE_NONE)
        TRY(stencil_digest_read(problem, STENCIL_ARRAY_B, from, spec.digest_b));
    spec.residual_first = report->residual_first;
    spec.time = stencil_problem_time(problem, report->steps);
    spec.time_first = problem->origin.time_first != 0 ? problem->origin.time_first : NAN;
    spec.steps_total = report->steps;
    spec.plain_from = report->plain_from;
    memcpy(spec.fingerprint, problem->fingerprint, sizeof spec.fingerprint);
    return stencil_spec_write(sink->file, sink->path, &spec);
}

stencil_status stencil_output_open(stencil_output *output, const stencil_problem *problem) {
    return stencil_sink_open(&output->sink, output->path, output->force, output->input_path,
                             result_bytes(output, problem));
}

stencil_status stencil_output_write(stencil_output *output, const stencil_problem *problem,
                                    const stencil_reader *from, const stencil_report *report) {
    stencil_sink *sink = &output->sink;
    char digest_u[STENCIL_DIGEST_CHARS];
    TRY(write_field(sink, problem, from, digest_u));
    TRY(stencil_h5_write(sink->file, sink->path, "/residual", 1, &report->history.count, H5T_IEEE_F64LE,
                         report->history.residual));
    TRY(stencil_h5_write(sink->file, sink->path, "/residual_step", 1, &report->history.count, H5T_STD_I64LE,
                         report->history.step));
    TRY(copy_source(output, problem));
    TRY(write_spec(sink, problem, from, report, digest_u));
    stencil_own_copy(output->input, sink->file, output->notes);
    const char *name = output->input->field;
    STENCIL_HANDLE field = H5Dopen2(sink->file, name, H5P_DEFAULT);
    TRY(stencil_values_write(&output->input->values[STENCIL_ARRAY_U], field, problem->precision, sink->path,
                             name));
    TRY(stencil_history_attach(sink->file, sink->path, name));
    TRY(stencil_sink_state(sink));
    TRY(write_provenance(output, report));
    return stencil_sink_commit(sink);
}
