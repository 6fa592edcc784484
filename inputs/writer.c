#define _XOPEN_SOURCE 700 /* realpath */

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "inputs/axes.h"
#include "inputs/file.h"
#include "inputs/image.h"
#include "inputs/reading.h"
#include "inputs/sink.h"
#include "solver/problem/cycle.h"
#include "solver/problem/digest.h"

/* Most residuals for which space is reserved; longer histories are rare and allocate more at the end. */
#define HISTORY_MAX ((int64_t)1 << 17)
/* Residuals in a chunk of the history dataset. */
#define LIST_CHUNK INT64_C(128)

/* Returns the most residuals that a run records. */
static int64_t looks_of(const stencil_problem *problem) {
    return problem->stop.steps / problem->stop.check_every + 1;
}

static stencil_status count_bytes(stencil_output *output, const stencil_problem *problem) {
    stencil_reading *process = output->input->process;
    const stencil_ask ask = {.request = STENCIL_REQUEST_KEPT, .dataset = problem->spec.source};
    stencil_say kept;
    if (output->known_bytes > 0) /* the output is opened again; the input may have changed */
        return STENCIL_OK;
    TRY(stencil_reading_ask(process, &ask, &kept, -1));
    stencil_reading_allow(process, 4 * kept.chunk_bytes);
    output->known_bytes =
        stencil_sizes_add(kept.bytes, stencil_axes_bytes(problem) + stencil_sink_array_bytes(problem) +
                                          stencil_smaller(looks_of(problem), HISTORY_MAX) *
                                              (int64_t)(sizeof(double) + sizeof(int64_t)));
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

static stencil_status write_provenance(const stencil_output *output, const stencil_report *report,
                                       const char *numbers) {
    const stencil_sink *sink = &output->sink;
    char absolute[PATH_MAX], started[32] = "";
    const char *input = output->first_input != NULL             ? output->first_input
                        : stencil_output_replaces_input(output) ? NULL
                                                                : output->input_path;
    const time_t began = (time_t)output->started_s;
    const int64_t steps_done = output->first_steps + stencil_report_steps_done(report);
    const bool saved = output->series != NULL && output->series[0] != '\0';
    struct tm utc;
    if (input != NULL && input[0] != '\0' && realpath(input, absolute) != NULL)
        input = absolute;
    if (began != 0 && gmtime_r(&began, &utc) != NULL)
        strftime(started, sizeof started, "%Y-%m-%dT%H:%M:%SZ", &utc);
    const struct {
        const char *name;
        stencil_attribute_type type;
        const void *value; /* NULL or "": unknown, not written */
    } entry[] = {{"version", STENCIL_ATTRIBUTE_TEXT, STENCIL_VERSION},
                 {"command_line", STENCIL_ATTRIBUTE_TEXT, output->command_line},
                 {"input", STENCIL_ATTRIBUTE_TEXT, input},
                 {"started", STENCIL_ATTRIBUTE_TEXT, started},
                 {"backend", STENCIL_ATTRIBUTE_TEXT, report->backend},
                 {"device", STENCIL_ATTRIBUTE_TEXT, report->device},
                 {"strategy", STENCIL_ATTRIBUTE_TEXT, report->strategy},
                 {"reason", STENCIL_ATTRIBUTE_TEXT, stencil_reason_names[report->reason]},
                 {"output", STENCIL_ATTRIBUTE_TEXT, output->result},
                 {"options", STENCIL_ATTRIBUTE_TEXT, output->options},
                 {"series", STENCIL_ATTRIBUTE_TEXT, saved ? stencil_path_last(output->series_path) : NULL},
                 {"series_places", STENCIL_ATTRIBUTE_TEXT, output->series},
                 {"digest_numbers", STENCIL_ATTRIBUTE_TEXT, numbers},
                 {"series_gaps", STENCIL_ATTRIBUTE_TEXT, output->series_gaps},
                 {"steps_done", STENCIL_ATTRIBUTE_WHOLE, &steps_done},
                 {"prepare_s", STENCIL_ATTRIBUTE_REAL, &report->prepare_s},
                 {"compute_s", STENCIL_ATTRIBUTE_REAL, &report->compute_s},
                 {"finish_s", STENCIL_ATTRIBUTE_REAL, &report->finish_s}};
    STENCIL_HANDLE group = H5Gopen2(sink->file, "provenance", H5P_DEFAULT);
    TRY(stencil_h5_check_written(group >= 0, sink->path, "/provenance"));
    for (size_t i = 0; i < sizeof entry / sizeof *entry; i++) {
        const stencil_attribute is = {.name = entry[i].name, .type = entry[i].type};
        const char *value = entry[i].value;
        if (value != NULL && (is.type != STENCIL_ATTRIBUTE_TEXT || value[0] != '\0'))
            TRY(stencil_attribute_write(group, sink->path, &is, 1, value));
    }
    return STENCIL_OK;
}

/* A reader that computes a digest of the field while it is written. */
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

stencil_status stencil_output_digest_kept(stencil_output *output, const stencil_problem *problem,
                                          const stencil_reader *from) {
    if (stencil_problem_sum_arrays(problem) > 0 && output->digest_b[0] == '\0')
        TRY(stencil_digest_read(problem, STENCIL_ARRAY_B, from, output->digest_b));
    if (stencil_problem_has_classes(problem) && output->digest_class[0] == '\0')
        TRY(stencil_digest_read(problem, STENCIL_ARRAY_CLASS, from, output->digest_class));
    return STENCIL_OK;
}

/* Writes the problem and its progress, for a run that continues from this result; `numbers` gets their
 * digest.
 */
static stencil_status write_spec(const stencil_output *output, const stencil_problem *problem,
                                 const stencil_report *report, const char digest_u[STENCIL_DIGEST_CHARS],
                                 char numbers[STENCIL_DIGEST_CHARS]) {
    const stencil_sink *sink = &output->sink;
    stencil_spec spec = problem->spec;
    memcpy(spec.digest_u, digest_u, sizeof spec.digest_u);
    memcpy(spec.digest_b, output->digest_b, sizeof spec.digest_b);
    memcpy(spec.digest_class, output->digest_class, sizeof spec.digest_class);
    spec.residual_first = report->residual_first;
    spec.time = stencil_problem_time(problem, report->steps);
    spec.time_first = problem->origin.time_first != 0 ? problem->origin.time_first : NAN;
    spec.steps_total = report->steps;
    spec.plain_from = report->plain_from;
    if (!stencil_cycle_accelerates(&problem->cycle) || !problem->estimate.known)
        spec.eigenvalue[0] = spec.eigenvalue[1] = NAN;
    memcpy(spec.fingerprint, problem->fingerprint, sizeof spec.fingerprint);
    TRY(stencil_spec_digest(&spec, &report->history, numbers));
    return stencil_spec_write(sink->file, sink->path, &spec);
}

stencil_status stencil_output_open(stencil_output *output, const stencil_problem *problem) {
    output->begun = false;
    TRY(count_bytes(output, problem));
    return stencil_sink_open(&output->sink, output->path, output->force, output->input_path,
                             output->known_bytes);
}

/* Creates an empty extensible list: its final length is unknown before the run, and the user's references
 * need an existing dataset. */
static stencil_status create_list(const stencil_sink *sink, const char *name, hid_t type, int64_t most) {
    const int64_t none = 0;
    STENCIL_HANDLE made =
        stencil_h5_create(sink->file, name, 1, &none, type, stencil_smaller(most, LIST_CHUNK));
    return stencil_h5_check_written(made >= 0, sink->path, name);
}

static stencil_status fill_list(const stencil_sink *sink, const char *name, hid_t type, int64_t count,
                                const void *values) {
    const hsize_t size = (hsize_t)count;
    STENCIL_HANDLE list = H5Dopen2(sink->file, name, H5P_DEFAULT);
    return stencil_h5_check_written(
        list >= 0 && H5Dset_extent(list, &size) >= 0 &&
            (count == 0 || H5Dwrite(list, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0),
        sink->path, name);
}

/* Creates the result's datasets before the run, so that references of the user's objects can point to them:
 * with the tables of the input, if it has any. */
static stencil_status create_objects(const stencil_sink *sink, const stencil_problem *problem,
                                     const stencil_tables *tables) {
    const stencil_sink_dataset u = field_of(problem);
    TRY(stencil_sink_create(sink, &u, problem));
    TRY(create_list(sink, "/residual", H5T_IEEE_F64LE, looks_of(problem)));
    TRY(create_list(sink, "/residual_step", H5T_STD_I64LE, looks_of(problem)));
    TRY(stencil_points_write(sink->file, sink->path, &problem->spec, tables->weights));
    TRY(stencil_along_write(sink->file, sink->path, &problem->spec, tables));
    TRY(stencil_tables_write(sink->file, sink->path, &problem->spec, tables->factor));
    TRY(stencil_h5_check_written(stencil_image_write(sink->file, problem, stencil_spec_field(&problem->spec),
                                                     (const int64_t[]){0, 0, 0}, problem->extent,
                                                     (const int64_t[]){1, 1, 1}) >= 0,
                                 sink->path, "/VTKHDF"));
    STENCIL_HANDLE group = H5Gcreate2(sink->file, "provenance", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    return stencil_h5_check_written(group >= 0, sink->path, "/provenance");
}

/* Has the reading process copy the input's objects into the result. */
static stencil_status take_over(stencil_output *output, const stencil_problem *problem) {
    stencil_sink *sink = &output->sink;
    stencil_ask ask = {.request = STENCIL_REQUEST_KEEP, .spec = problem->spec};
    stencil_say kept;
    TRY(stencil_sink_pause(sink));
    ask.eoa = sink->eoa;
    snprintf(ask.path, sizeof ask.path, "%s", sink->path);
    TRY(stencil_reading_ask(output->input->process, &ask, &kept, sink->fd));
    if (output->notes != NULL)
        stencil_notes_take(output->notes, &kept.notes);
    return stencil_sink_go_on(sink, kept.eoa);
}

stencil_status stencil_output_begin(stencil_output *output, const stencil_problem *problem) {
    TRY(create_objects(&output->sink, problem, &output->input->tables));
    TRY(take_over(output, problem));
    output->begun = true;
    return stencil_sink_state(&output->sink);
}

/* Copies the input's objects after the run, where the result's file had to be opened again; leaves the
 * objects out, with a note, where the input was changed or cannot be read. */
static stencil_status begin_late(stencil_output *output, const stencil_problem *problem) {
    const bool unchanged = stencil_input_check_unchanged(output->input) == STENCIL_OK;
    const stencil_status status = unchanged ? stencil_output_begin(output, problem) : STENCIL_BAD_DATA;
    TRY(stencil_sink_state(&output->sink));
    if (status == STENCIL_OK)
        return STENCIL_OK;
    if (output->notes != NULL)
        stencil_notes_warn(
            output->notes, "'%s' %s: its source, and what is the user's own in it, are not in the result",
            output->input->path, unchanged ? "cannot be read any more" : "was changed during the run");
    TRY(stencil_sink_empty(&output->sink));
    return create_objects(&output->sink, problem, &output->input->tables);
}

/* Has the ranks of the run write u; *written: false where rank 0 has to. */
static stencil_status share_field(stencil_output *output, const stencil_sink_dataset *u, bool *written,
                                  stencil_digest *digest) {
    stencil_sink *sink = &output->sink;
    stencil_shared_file to = {0};
    TRY(stencil_sink_share(sink, u, &to.offset));
    snprintf(to.temporary, sizeof to.temporary, "%s", sink->temporary);
    snprintf(to.path, sizeof to.path, "%s", sink->path);
    if (to.offset == 0)
        return STENCIL_OK;
    TRY(stencil_run_write(output->run, &to, written, digest));
    if (!*written && output->notes != NULL)
        stencil_notes_add(output->notes,
                          "not all ranks can open '%s' to write their cells: rank 0 collects them",
                          sink->path);
    return STENCIL_OK;
}

/* Writes u, and makes its digest on the way. */
static stencil_status write_field(stencil_output *output, const stencil_problem *problem,
                                  const stencil_reader *from, char digest_u[STENCIL_DIGEST_CHARS]) {
    const stencil_sink_dataset u = field_of(problem);
    digesting d = {.from = from, .array = stencil_digest_array(problem, STENCIL_ARRAY_U)};
    bool written = false;
    if (output->run != NULL)
        TRY(share_field(output, &u, &written, &d.digest));
    if (!written)
        TRY(stencil_sink_fill(&output->sink, &u, problem, &(stencil_reader){read_digesting, &d}));
    stencil_digest_text(&d.digest, digest_u);
    return STENCIL_OK;
}

static stencil_status write_all(stencil_output *output, const stencil_problem *problem,
                                const stencil_reader *from, const stencil_report *report) {
    const stencil_sink *sink = &output->sink;
    const stencil_history *history = &report->history;
    char digest_u[STENCIL_DIGEST_CHARS], numbers[STENCIL_DIGEST_CHARS];
    if (!output->begun)
        TRY(begin_late(output, problem));
    TRY(write_field(output, problem, from, digest_u));
    TRY(fill_list(sink, "/residual", H5T_NATIVE_DOUBLE, history->count, history->residual));
    TRY(fill_list(sink, "/residual_step", H5T_NATIVE_INT64, history->count, history->step));
    TRY(stencil_axes_write_time(sink->file, sink->path, stencil_image_time(problem, report->steps)));
    TRY(stencil_output_digest_kept(output, problem, from));
    TRY(write_spec(output, problem, report, digest_u, numbers));
    return write_provenance(output, report, numbers);
}

stencil_status stencil_output_fill(stencil_output *output, const stencil_problem *problem,
                                   const stencil_reader *from, const stencil_report *report) {
    const stencil_status status = write_all(output, problem, from, report);
    TRY(stencil_sink_state(&output->sink)); /* the system's error tells more than HDF5's */
    TRY(status);
    return stencil_sink_finish(&output->sink);
}

stencil_status stencil_output_write(stencil_output *output, const stencil_problem *problem,
                                    const stencil_reader *from, const stencil_report *report) {
    TRY(stencil_output_fill(output, problem, from, report));
    return stencil_sink_commit(&output->sink);
}
