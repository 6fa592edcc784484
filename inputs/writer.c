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

/* Saturates: sizes in a damaged file may be any. */
static int64_t add_sizes(int64_t a, int64_t b) {
    return b < 0 || a > INT64_MAX / 2 - b ? INT64_MAX / 2 : a + b;
}

/* Bytes of what is the user's own, while they are counted. */
typedef struct own_bytes {
    const char *path, *field; /* of the input; which is not the user's own */
    int64_t bytes;
    int depth;          /* of groups in groups */
    int64_t shared;     /* groups with several names, which count once */
    haddr_t *address;   /* [shared] */
    stencil_status bad; /* what ended the count */
} own_bytes;

/* HDF5 copies groups as it calls itself, a level of them a time. */
enum { GROUPS_MAX = 200 };

static herr_t add_bytes(hid_t group, const char *name, const H5L_info_t *info, void *data);

/* Tells whether a group was counted under another name. */
static bool is_counted(own_bytes *all, hid_t group) {
    H5O_info_t info;
    if (H5Oget_info1(group, &info) < 0 || info.rc < 2)
        return false;
    for (int64_t i = 0; i < all->shared; i++)
        if (all->address[i] == info.addr)
            return true;
    haddr_t *more = realloc(all->address, (size_t)(all->shared + 1) * sizeof *more);
    if (more == NULL)
        return true;
    more[all->shared++] = info.addr;
    all->address = more;
    return false;
}

static herr_t add_group(own_bytes *all, hid_t group, const char *name) {
    if (is_counted(all, group))
        return 0;
    if (all->depth == GROUPS_MAX) {
        all->bad =
            ERROR(BAD_DATA,
                  "'%s': a group of the user's own, '%s', is in %d others, one in the other, too deep to be "
                  "kept in the result: remove it",
                  all->path, name, GROUPS_MAX);
        return -1;
    }
    all->depth++;
    const herr_t failed = H5Literate(group, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, add_bytes, all);
    all->depth--;
    return all->bad != STENCIL_OK ? failed : 0;
}

/* Adds those of a dataset, which comes along; values in other files stay there. */
static herr_t add_bytes(hid_t group, const char *name, const H5L_info_t *info, void *data) {
    own_bytes *all = data;
    const bool own =
        info->type == H5L_TYPE_HARD &&
        (all->depth > 0 || (!stencil_object_is_known(name, NULL) && strcmp(name, all->field + 1) != 0));
    STENCIL_HANDLE object = own ? H5Oopen(group, name, H5P_DEFAULT) : -1;
    const H5I_type_t type = object < 0 ? H5I_BADID : H5Iget_type(object);
    if (type == H5I_GROUP)
        return add_group(all, object, name);
    if (type == H5I_DATASET && !stencil_dataset_elsewhere(object))
        all->bytes = add_sizes(all->bytes, (int64_t)H5Dget_storage_size(object));
    return 0;
}

/* What the result takes over from the input, values of its source in other files included. */
static stencil_status kept_bytes(const stencil_input *input, stencil_source source, int64_t *bytes) {
    STENCIL_HANDLE of =
        source != STENCIL_SOURCE_NONE ? H5Dopen2(input->file, stencil_source_names[source], H5P_DEFAULT) : -1;
    own_bytes all = {.path = input->path,
                     .field = input->field,
                     .bytes = of < 0                          ? 0
                              : stencil_dataset_elsewhere(of) ? stencil_dataset_bytes(of)
                                                              : (int64_t)H5Dget_storage_size(of)};
    H5Literate(input->file, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, add_bytes, &all);
    free(all.address);
    *bytes = all.bytes;
    return all.bad;
}

static stencil_status result_bytes(const stencil_output *output, const stencil_problem *problem,
                                   int64_t *bytes) {
    const int64_t looks = problem->stop.steps / problem->stop.check_every + 1;
    TRY(kept_bytes(output->input, problem->spec.source, bytes));
    *bytes = add_sizes(*bytes,
                       stencil_sink_array_bytes(problem) + (looks < HISTORY_MAX ? looks : HISTORY_MAX) *
                                                               (int64_t)(sizeof(double) + sizeof(int64_t)));
    return STENCIL_OK;
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
    const bool copied = type >= 0 && stencil_object_copy(input->file, sink->file, name, output->notes) >= 0;
    TRY(stencil_sink_state(sink));
    CHECK(copied, BAD_DATA, "'%s': cannot copy %s (%s): it is damaged", input->path, name,
          stencil_h5_reason());
    return STENCIL_OK;
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

static stencil_sink_dataset field_of(const stencil_problem *problem) {
    return (stencil_sink_dataset){stencil_spec_field(&problem->spec), STENCIL_ARRAY_U,
                                  stencil_h5_type(problem->precision, true),
                                  stencil_h5_type(problem->precision, false)};
}

static stencil_status write_field(const stencil_sink *sink, const stencil_problem *problem,
                                  const stencil_reader *from, char digest[STENCIL_DIGEST_CHARS]) {
    const stencil_sink_dataset u = field_of(problem);
    digesting d = {.from = from, .array = stencil_digest_array(problem, STENCIL_ARRAY_U)};
    TRY(stencil_sink_fill(sink, &u, problem, &(stencil_reader){read_digesting, &d}));
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
    int64_t bytes = 0;
    output->begun = false;
    TRY(result_bytes(output, problem, &bytes));
    return stencil_sink_open(&output->sink, output->path, output->force, output->input_path, bytes);
}

stencil_status stencil_output_begin(stencil_output *output, const stencil_problem *problem) {
    const stencil_sink_dataset u = field_of(problem);
    TRY(stencil_sink_create(&output->sink, &u, problem));
    TRY(copy_source(output, problem));
    stencil_own_copy(output->input, output->sink.file, output->notes);
    output->begun = true;
    return stencil_sink_state(&output->sink);
}

/* The same in the end, for a sink that was opened again; where the input was changed since, without what it
 * would take over. */
static stencil_status begin_late(stencil_output *output, const stencil_problem *problem) {
    const stencil_sink_dataset u = field_of(problem);
    if (stencil_input_check_unchanged(output->input) == STENCIL_OK)
        return stencil_output_begin(output, problem);
    if (output->notes != NULL)
        stencil_notes_warn(
            output->notes,
            "'%s' was changed during the run: its source, and what is the user's own in it, are not "
            "in the result",
            output->input->path);
    return stencil_sink_create(&output->sink, &u, problem);
}

stencil_status stencil_output_write(stencil_output *output, const stencil_problem *problem,
                                    const stencil_reader *from, const stencil_report *report) {
    stencil_sink *sink = &output->sink;
    char digest_u[STENCIL_DIGEST_CHARS];
    if (!output->begun)
        TRY(begin_late(output, problem));
    TRY(write_field(sink, problem, from, digest_u));
    TRY(stencil_h5_write(sink->file, sink->path, "/residual", 1, &report->history.count, H5T_IEEE_F64LE,
                         report->history.residual));
    TRY(stencil_h5_write(sink->file, sink->path, "/residual_step", 1, &report->history.count, H5T_STD_I64LE,
                         report->history.step));
    TRY(write_spec(sink, problem, from, report, digest_u));
    /* Also those to objects that were not there before, such as /residual. */
    if (output->begun && stencil_input_check_unchanged(output->input) == STENCIL_OK)
        stencil_references_copy(output->input, sink->file, output->notes);
    const char *name = output->input->field;
    STENCIL_HANDLE field = H5Dopen2(sink->file, name, H5P_DEFAULT);
    TRY(stencil_values_write(&output->input->values[STENCIL_ARRAY_U], field, problem->precision, sink->path,
                             name));
    TRY(stencil_history_attach(sink->file, sink->path, name));
    TRY(stencil_sink_state(sink));
    TRY(write_provenance(output, report));
    return stencil_sink_commit(sink);
}
