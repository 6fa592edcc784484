/* An open input as seen by the rest of the program: its file's contents, requested from the reading process.
 */
#define _DEFAULT_SOURCE /* pread, realpath */

#include "inputs/inputs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/words.h"
#include "inputs/h5.h"
#include "inputs/reading.h"
#include "solver/problem/factors.h"

const char *const stencil_source_names[] = {[STENCIL_SOURCE_B] = "/b",
                                            [STENCIL_SOURCE_F] = "/f",
                                            [STENCIL_SOURCE_Q] = "/q",
                                            [STENCIL_DATASET_FIXED] = "/fixed",
                                            [STENCIL_DATASET_CLASS] = "/class",
                                            [STENCIL_DATASET_INSULATED] = "/insulated",
                                            [STENCIL_DATASET_K] = "/k",
                                            [STENCIL_DATASET_B2] = "/b2",
                                            "/b3",
                                            "/b4",
                                            [STENCIL_DATASET_Q2] = "/q2",
                                            "/q3",
                                            "/q4",
                                            [STENCIL_DATASET_VALUE] = "/fixed_value",
                                            "/fixed_value2",
                                            "/fixed_value3",
                                            "/fixed_value4"};

const char *stencil_source_name(const stencil_problem *problem) {
    return problem->spec.source != STENCIL_SOURCE_NONE ? stencil_source_names[problem->spec.source]
           : problem->walls_in_source                  ? "the walls' numbers"
                                                       : stencil_source_names[STENCIL_DATASET_VALUE];
}

const char *stencil_table_name(stencil_source source, int k) {
    static const char *const b[] = {"/b_factor", "/b2_factor", "/b3_factor", "/b4_factor"},
                             *const q[] = {"/q_factor", "/q2_factor", "/q3_factor", "/q4_factor"},
                             *const value[] = {"/fixed_value_factor", "/fixed_value2_factor",
                                               "/fixed_value3_factor", "/fixed_value4_factor"};
    return k >= STENCIL_SUM_ARRAYS      ? value[k - STENCIL_SUM_ARRAYS]
           : source == STENCIL_SOURCE_B ? b[k]
           : source == STENCIL_SOURCE_Q ? q[k]
                                        : NULL;
}

/* Sends a question to the reading process and waits for the answer. */
static stencil_status ask(const stencil_input *input, const stencil_ask *question, stencil_say *answer) {
    return stencil_reading_ask(input->process, question, answer, -1);
}

/* grows: the file may have been written to, but is not another one. */
static stencil_status check_state(const stencil_input *input, bool grows) {
    const stencil_file_state *was = &input->facts.state;
    stencil_file_state is;
    CHECK(stencil_file_state_read(input->fd, &is) && is.device == was->device && is.inode == was->inode &&
              (grows || memcmp(&is, was, sizeof is) == 0),
          BAD_DATA, "'%s' was changed while it was read: start again when it is complete, or with a copy",
          input->path);
    return STENCIL_OK;
}

stencil_status stencil_input_check_unchanged(const stencil_input *input) {
    return check_state(input, false);
}

/* Checks that the numbers of a contiguous dataset lie within the file. */
static stencil_status check_within(const stencil_input *input, const char *name, const stencil_place *place,
                                   const int64_t *extent, int rank) {
    int64_t bytes = (int64_t)stencil_precision_bytes(place->precision);
    bool within = true;
    for (int i = 0; i < rank && within; i++)
        within = stencil_multiply(bytes, extent[i], &bytes);
    CHECK(place->offset == 0 || (within && place->offset <= input->facts.state.bytes &&
                                 bytes <= input->facts.state.bytes - place->offset),
          BAD_DATA, "'%s' is truncated or damaged: it ends before the last cell of %s", input->path, name);
    return STENCIL_OK;
}

/* Tells whether a path, such as /proc/self/…, names another file in another process. */
static bool is_of_this_process(const char *path) {
    static const char *const begins[] = {"/proc/self/", "/proc/thread-self/", "/dev/fd/", "/dev/stdin"};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (strncmp(path, begins[i], strlen(begins[i])) == 0)
            return true;
    return false;
}

/* Starts the reading process and sends the first request, which it handles while this process initialises
 * HDF5. */
static stencil_status open_file(stencil_input *input, const char *path, const stencil_input_options *options,
                                stencil_spec *spec) {
    stencil_ask question = {.request = STENCIL_REQUEST_OPEN,
                            .looks = spec == NULL,
                            .named = options != NULL && options->field != NULL};
    stencil_say found;
    *input = (stencil_input){.path = path, .fd = -1};
    CHECK(strlen(path) < sizeof question.path, NO_INPUT, "cannot open '%s': the name is too long", path);
    if (!is_of_this_process(path) || realpath(path, question.path) == NULL)
        snprintf(question.path, sizeof question.path, "%s", path);
    if (question.named)
        snprintf(question.name, sizeof question.name, "%s", options->field);
    TRY(stencil_reading_start(&input->process, path, options != NULL ? &options->limits : NULL));
    TRY(stencil_reading_send(input->process, &question, -1));
    stencil_h5_quiet(); /* initialises HDF5, for writing a result */
    TRY(stencil_reading_receive(input->process, &found));
    input->facts = found.facts;
    if (spec != NULL)
        *spec = found.spec;
    input->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    TRY(check_state(input, spec == NULL));
    stencil_reading_allow(input->process, 4 * input->facts.chunk_bytes);
    return STENCIL_OK;
}

/* Reads all rows of /stencil/weights. */
static stencil_status read_palette(stencil_input *input, const stencil_spec *spec) {
    const int64_t count = (int64_t)spec->class_count * spec->weight_count;
    stencil_numbers numbers;
    void *memory = NULL;
    TRY(stencil_input_numbers(input, "/stencil/weights", NULL, &numbers));
    CHECK(numbers.count == count, BAD_DATA, "'%s' was changed while it was read: /stencil/weights is another",
          input->path);
    TRY(stencil_memory_alloc(&memory, count * (int64_t)sizeof(double), "the weights"));
    input->tables.weights = memory;
    for (int64_t first = 0, block = 0; first < count; first += block)
        TRY(stencil_input_block(input, &numbers, first, count - first, false, input->tables.weights + first,
                                &block));
    return STENCIL_OK;
}

/* Checks the shape of an array along a side: that of the field without the side's axis. */
static stencil_status check_along(const stencil_input *input, const stencil_spec *spec, int axis,
                                  const char *name, const stencil_numbers *numbers) {
    const int skip = stencil_list_index(spec->rank, axis);
    char wanted[64] = "";
    bool same = skip >= 0 && numbers->rank == spec->rank - 1;
    for (int i = 0, k = 0; i < spec->rank; i++)
        if (i != skip) {
            same = same && numbers->extent[k++] == spec->extent[i];
            stencil_text_add(wanted, sizeof wanted, "[%" PRId64 "]", spec->extent[i]);
        }
    CHECK(same, BAD_DATA,
          "'%s': %s has another shape than its side: give a number for each cell along it, %s", input->path,
          name, wanted);
    return STENCIL_OK;
}

/* Reads a number of a wall that is an array along its side, and the least and largest value of it. */
static stencil_status read_along(stencil_input *input, stencil_spec *spec, int axis, int side, int which) {
    stencil_numbers numbers;
    void *memory = NULL;
    char name[24];
    double *range = spec->range[axis][side][which];
    snprintf(name, sizeof name, "/%s_%c%c", stencil_wall_number_names[which], "zyx"[axis], "-+"[side]);
    TRY(stencil_input_numbers(input, name, "numbers", &numbers));
    TRY(check_along(input, spec, axis, name, &numbers));
    TRY(stencil_memory_alloc(&memory, numbers.count * (int64_t)sizeof(double), name));
    double *values = input->tables.along[axis][side][which] = memory;
    for (int64_t first = 0, block = 0; first < numbers.count; first += block)
        TRY(stencil_input_block(input, &numbers, first, numbers.count - first, false, values + first,
                                &block));
    range[0] = range[1] = values[0];
    for (int64_t i = 0; i < numbers.count; i++) {
        const bool least = which != STENCIL_NUMBER_EXCHANGE || values[i] > 0;
        CHECK(isfinite(values[i]) && least, BAD_DATA, "'%s': number %" PRId64 " of %s is %g: give %s numbers",
              input->path, i, name, values[i], least ? "finite" : "positive");
        range[0] = fmin(range[0], values[i]);
        range[1] = fmax(range[1], values[i]);
    }
    spec->along_hash[axis][side][which] = stencil_palette_hash(values, numbers.count);
    return STENCIL_OK;
}

/* Reads all numbers of walls that are arrays along their sides. */
static stencil_status read_all_along(stencil_input *input, stencil_spec *spec) {
    for (int i = 0; i < 2 * STENCIL_AXES; i++)
        for (int which = 0; which < STENCIL_NUMBER_COUNT; which++)
            if (spec->along[i / 2][i % 2][which])
                TRY(read_along(input, spec, i / 2, i % 2, which));
    return STENCIL_OK;
}

/* Reads a table of factors over time, and checks it. */
static stencil_status read_table(stencil_input *input, stencil_spec *spec, int k) {
    const char *name = stencil_table_name(spec->source, k);
    const int64_t count = 2 * spec->table[k].count;
    stencil_numbers numbers;
    void *memory = NULL;
    TRY(stencil_input_numbers(input, name, NULL, &numbers));
    CHECK(numbers.exists && numbers.count == count, BAD_DATA,
          "'%s' was changed while it was read: %s is another", input->path, name);
    TRY(stencil_memory_alloc(&memory, count * (int64_t)sizeof(double), name));
    input->tables.factor[k] = memory;
    for (int64_t first = 0, block = 0; first < count; first += block)
        TRY(stencil_input_block(input, &numbers, first, count - first, false, input->tables.factor[k] + first,
                                &block));
    TRY(stencil_table_check(input->path, name, input->tables.factor[k], spec->table[k].count));
    spec->table[k].hash = stencil_table_hash(input->tables.factor[k], spec->table[k].count);
    return STENCIL_OK;
}

stencil_status stencil_input_open(stencil_input *input, const char *path,
                                  const stencil_input_options *options, stencil_spec *spec) {
    stencil_spec_init(spec);
    TRY(open_file(input, path, options, spec));
    for (int array = STENCIL_ARRAY_U; array <= STENCIL_ARRAY_B; array++)
        TRY(check_within(input,
                         array == STENCIL_ARRAY_U ? input->facts.field : stencil_source_names[spec->source],
                         &input->facts.place[array], spec->extent, spec->rank));
    TRY(read_all_along(input, spec));
    for (int k = 0; k < STENCIL_STEP_FACTORS; k++)
        if (spec->table[k].count > 0)
            TRY(read_table(input, spec, k));
    if (spec->has_k)
        TRY(check_within(input, "/k", &input->facts.k_place, spec->extent, spec->rank));
    return spec->class_count > 0 ? read_palette(input, spec) : STENCIL_OK;
}

stencil_status stencil_input_look(stencil_input *input, const char *path,
                                  const stencil_input_options *options) {
    return open_file(input, path, options, NULL);
}

void stencil_input_close(stencil_input *input) {
    if (input->path != NULL && input->fd >= 0)
        close(input->fd);
    stencil_reading_end(input->process);
    free(input->tables.weights);
    for (int i = 0; i < 2 * STENCIL_AXES; i++)
        for (int which = 0; which < STENCIL_NUMBER_COUNT; which++)
            free(input->tables.along[i / 2][i % 2][which]);
    for (int k = 0; k < STENCIL_STEP_FACTORS; k++)
        free(input->tables.factor[k]);
    *input = (stencil_input){0};
}

void stencil_input_rest(stencil_input *input) {
    stencil_say say;
    if (input->process != NULL) /* a process that has ended holds no memory */
        ask(input, &(stencil_ask){.request = STENCIL_REQUEST_REST}, &say);
}

stencil_status stencil_input_grid(stencil_input *input, stencil_spec *spec, stencil_notes *notes) {
    stencil_say found;
    TRY(ask(input, &(stencil_ask){.request = STENCIL_REQUEST_GRID, .spec = *spec}, &found));
    spec->spacing_count = found.spec.spacing_count;
    memcpy(spec->spacing, found.spec.spacing, sizeof spec->spacing);
    if (notes != NULL)
        stencil_notes_take(notes, &found.notes);
    return STENCIL_OK;
}

stencil_status stencil_input_notes(stencil_input *input, const stencil_spec *file, const stencil_spec *spec,
                                   stencil_notes *notes) {
    stencil_say found;
    TRY(ask(input, &(stencil_ask){.request = STENCIL_REQUEST_NOTES, .file = *file, .spec = *spec}, &found));
    stencil_notes_take(notes, &found.notes);
    return STENCIL_OK;
}

/* Reads /provenance of a result or of a file of differences. */
static stencil_status read_provenance(stencil_input *input, bool differs, stencil_provenance *provenance) {
    stencil_say found;
    TRY(ask(input, &(stencil_ask){.request = STENCIL_REQUEST_PROVENANCE}, &found));
    CHECK((found.provenance.less[0] != '\0') == differs, BAD_DATA, "'%s' is %s", input->path,
          differs ? "no file of differences" : "a file of differences: give a result of 'stencil run'");
    *provenance = found.provenance;
    return STENCIL_OK;
}

stencil_status stencil_input_provenance(stencil_input *input, stencil_provenance *provenance) {
    return read_provenance(input, false, provenance);
}

stencil_status stencil_input_differing(stencil_input *input, stencil_provenance *provenance) {
    return read_provenance(input, true, provenance);
}

stencil_status stencil_input_field(stencil_input *input, const char *other, char field[STENCIL_FIELD_MAX],
                                   bool *holds) {
    stencil_ask question = {.request = STENCIL_REQUEST_FIELD};
    stencil_say found;
    snprintf(question.name, sizeof question.name, "%s", other != NULL ? other : "");
    TRY(ask(input, &question, &found));
    memcpy(field, found.field, sizeof found.field);
    *holds = found.holds;
    return STENCIL_OK;
}

stencil_status stencil_input_numbers(stencil_input *input, const char *name, const char *advice,
                                     stencil_numbers *numbers) {
    stencil_ask question = {.request = STENCIL_REQUEST_NUMBERS};
    stencil_say found;
    CHECK(strlen(name) < sizeof question.name, BAD_DATA, "'%s' has no dataset %s", input->path, name);
    snprintf(question.name, sizeof question.name, "%s", name);
    snprintf(question.advice, sizeof question.advice, "%s", advice != NULL ? advice : "");
    TRY(ask(input, &question, &found));
    *numbers = found.numbers;
    stencil_reading_allow(input->process, 4 * numbers->chunk_bytes);
    return check_within(input, name, &numbers->place, numbers->extent, numbers->rank);
}

stencil_status stencil_input_truths(stencil_input *input, const char *name, stencil_numbers *numbers) {
    stencil_ask question = {.request = STENCIL_REQUEST_NUMBERS, .truths = true};
    stencil_say found;
    snprintf(question.name, sizeof question.name, "%s", name);
    TRY(ask(input, &question, &found));
    *numbers = found.numbers;
    stencil_reading_allow(input->process, 4 * numbers->chunk_bytes);
    return STENCIL_OK;
}

stencil_status stencil_input_describe(stencil_input *input, stencil_description *description) {
    stencil_say found;
    TRY(ask(input, &(stencil_ask){.request = STENCIL_REQUEST_DESCRIBE}, &found));
    *description = found.description;
    return STENCIL_OK;
}

/* Reads contiguous elements directly as double; float values are converted in place, from the last to the
 * first. */
static stencil_status read_here(const stencil_input *input, const stencil_place *place, int64_t first,
                                double *values, int64_t count) {
    const int64_t one = (int64_t)stencil_precision_bytes(place->precision),
                  got = stencil_h5_bytes(input->fd, place->offset + first * one, values, NULL, count * one);
    CHECK(got == count * one, BAD_DATA, "'%s': it cannot be read on: %s", input->path,
          got < 0 ? strerror(errno) : "it was made shorter");
    for (int64_t i = count - 1; i >= 0 && place->precision == STENCIL_FLOAT32; i--) {
        float single;
        memcpy(&single, (const char *)values + (size_t)i * sizeof single, sizeof single);
        values[i] = single;
    }
    return STENCIL_OK;
}

stencil_status stencil_input_block(stencil_input *input, const stencil_numbers *numbers, int64_t first,
                                   int64_t most, bool whole, void *values, int64_t *count) {
    const int64_t room = STENCIL_WINDOW_BYTES / (int64_t)sizeof(double),
                  left = stencil_smaller(most, numbers->count - first);
    if (numbers->place.offset > 0 && !whole) {
        *count = left;
        return read_here(input, &numbers->place, first, values, left);
    }
    stencil_say found;
    const stencil_ask question = {.request = STENCIL_REQUEST_BLOCK,
                                  .first = first,
                                  .most = stencil_smaller(left, room),
                                  .whole = whole};
    TRY(ask(input, &question, &found));
    CHECK(found.count > 0 && found.count <= question.most, BAD_DATA, "'%s' is damaged: it cannot be read on",
          input->path);
    memcpy(values, stencil_reading_window(input->process), (size_t)found.count * sizeof(double));
    *count = found.count;
    return STENCIL_OK;
}

/* Reads a list of 8-byte numbers, at most `most`, one per step; *count is 0 where the list does not exist. */
static stencil_status read_list(stencil_input *input, const char *name, int64_t most, bool whole,
                                int64_t *count, void **values) {
    stencil_numbers list;
    TRY(stencil_input_numbers(input, name, NULL, &list));
    CHECK(!list.exists || list.rank == 1, BAD_DATA, "'%s': %s is no list of numbers", input->path, name);
    CHECK(list.count <= most, BAD_DATA,
          "'%s': %s has %" PRId64 " entries, more than the %" PRId64 " steps of steps_total", input->path,
          name, list.count, most);
    *count = list.count;
    if (list.count == 0)
        return STENCIL_OK;
    TRY(stencil_memory_alloc(values, list.count * (int64_t)sizeof(double), name));
    for (int64_t first = 0, block = 0; first < list.count; first += block)
        TRY(stencil_input_block(input, &list, first, list.count - first, whole, (double *)*values + first,
                                &block));
    return STENCIL_OK;
}

stencil_status stencil_input_load_history(stencil_input *input, stencil_problem *problem) {
    const char *path = input->path;
    stencil_origin *origin = &problem->origin;
    stencil_history *history = &origin->history;
    void *values = NULL, *steps = NULL;
    int64_t count = 0, step_count = 0;
    if (origin->steps == 0)
        return STENCIL_OK;
    stencil_status status = read_list(input, "/residual", origin->steps, false, &count, &values);
    if (status == STENCIL_OK)
        status = read_list(input, "/residual_step", origin->steps, true, &step_count, &steps);
    history->residual = values; /* freed with the problem, also after a failure */
    history->step = steps;
    TRY(status);
    CHECK(count == step_count, BAD_DATA, "'%s': /residual has %" PRId64 " entries, /residual_step %" PRId64,
          path, count, step_count);
    for (int64_t i = 0; i < count; i++)
        CHECK(history->step[i] > (i > 0 ? history->step[i - 1] : 0) && history->step[i] <= origin->steps,
              BAD_DATA, "'%s': /residual_step[%" PRId64 "] is out of order, or behind the last step", path,
              i);
    history->count = count;
    /* check_every is the file's interval of residual checks; the command line may now set another one. */
    origin->last_is_extra = count > 0 && history->step[count - 1] % origin->check_every != 0;
    return STENCIL_OK;
}

/* Describes the arrays of a series and counts the frames that all of them have: a run that saves frames adds
 * them to one array after the other. Times are looked at last, so that no more than one can be missing; of a
 * file that has fewer, they are not used. */
static stencil_status count_frames(stencil_input *input, stencil_frames *f) {
    char *field = input->facts.field;
    stencil_numbers time;
    bool holds;
    TRY(stencil_input_field(input, NULL, field, &holds));
    if (field[0] == '\0')
        memcpy(field, "/u", sizeof "/u");
    TRY(stencil_input_numbers(input, field, NULL, &f->u));
    TRY(stencil_input_numbers(input, "/residual", NULL, &f->residual));
    TRY(stencil_input_numbers(input, "/step", NULL, &f->step));
    CHECK(f->u.exists && f->u.rank >= 3 && f->u.rank <= 4 && f->step.exists && f->step.rank == 1, BAD_DATA,
          "'%s' is no series", input->path);
    f->count = stencil_smaller(f->u.extent[0], f->step.count);
    if (f->residual.exists && f->residual.rank == f->u.rank)
        f->count = stencil_smaller(f->count, f->residual.extent[0]);
    TRY(stencil_input_numbers(input, "/time", NULL, &time));
    f->count -= time.exists && time.rank == 1 && time.count == f->count - 1;
    CHECK(f->count > 0, BAD_DATA, "'%s' is a series without a frame", input->path);
    return stencil_input_numbers(input, "/step", NULL, &f->step);
}

stencil_status stencil_input_series(stencil_input *input, const char *path,
                                    const stencil_input_options *options, stencil_frames *frames) {
    TRY(stencil_input_look(input, path, options));
    TRY(count_frames(input, frames));
    const int64_t whole = frames->count;
    stencil_input_close(input); /* HDF5 reads no frame that was added after it had opened the file */
    TRY(stencil_input_look(input, path, options));
    TRY(count_frames(input, frames));
    frames->count = stencil_smaller(frames->count, whole);
    return STENCIL_OK;
}
