/* Output files of the command `run`: checked before the first step; the result is written at the end. */
#include "app/report.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "app/json.h"
#include "app/signals.h"
#include "inputs/result_names.h"

/* Opening and closing delay signals, so that no signal leaves a temporary file. */
void run_output_close(run_record *record) {
    signals_hold();
    signals_guard(NULL);
    stencil_sink_close(&record->output.sink);
    signals_release();
}

/* Opens the result file; closes one that was opened before. */
static stencil_status open_output(run_record *record) {
    signals_hold();
    stencil_sink_close(&record->output.sink);
    const stencil_status status = stencil_output_open(&record->output, &record->problem);
    signals_guard(record->output.sink.temporary);
    signals_release();
    return status;
}

static stencil_status write_result(run_record *record, stencil_run *run) {
    const stencil_reader from = {stencil_run_read, run};
    return stencil_output_write(&record->output, &record->problem, &from, &record->report);
}

/* Returns the bytes of a file name before ".out" or ".out2", ".out3" …, which name results, and the number of
 * the next one (1: it is no result). */
static int stem_of_result(const char *input, int length, int *next) {
    enum { DIGITS_MAX = 8 };
    static const char mark[] = ".out";
    const int mark_length = (int)sizeof mark - 1;
    int end = length, number = 0;
    while (end > 0 && length - end < DIGITS_MAX && input[end - 1] >= '0' && input[end - 1] <= '9')
        end--;
    if (end < length && (input[end] == '0' || sscanf(input + end, "%d", &number) != 1))
        return length;
    const int stem = end - mark_length;
    if (stem <= 0 || input[stem - 1] == '/' || memcmp(input + stem, mark, (size_t)mark_length) != 0)
        return length;
    *next = end < length ? number + 1 : 2;
    return stem;
}

/* Makes the result's name, in the input's directory: "input.h5" -> "input.out.h5" -> "input.out2.h5" and so
 * on; a suffix other than .h5 or .hdf5 is kept. */
static stencil_status name_output(const char *input, char name[TEXT_NAME_SIZE]) {
    int next = 1;
    const int length = stem_of_result(input, (int)stencil_stem_length(input), &next);
    const int written =
        snprintf(name, TEXT_NAME_SIZE, "%.*s.out%s.h5", length, input, next > 1 ? TEXT("%d", next) : "");
    CHECK(written >= 0 && written < TEXT_NAME_SIZE, USAGE,
          "the input's name is too long: give --output FILE");
    return STENCIL_OK;
}

/* Opens the result file. An existing file is an error, but for a dry run, which writes none, only a note. */
static stencil_status try_output(run_record *record, bool dry_run) {
    stencil_output *output = &record->output;
    const stencil_status status = open_output(record);
    if (status != STENCIL_CANNOT_CREATE || !dry_run || output->force)
        return status;
    const stencil_error seen = *stencil_error_last();
    output->force = true;
    TRY(open_output(record));
    stencil_notes_add(&record->notes, "the run itself would be refused: %s", seen.message);
    return STENCIL_OK;
}

stencil_status run_output_claim(run_record *record, const run_targets *options, bool claims) {
    stencil_output *output = &record->output;
    if (options->no_output)
        return STENCIL_OK;
    if (options->output == NULL)
        TRY(name_output(output->input_path, record->output_name));
    output->path = options->output != NULL ? options->output : record->output_name;
    return claims ? stencil_claim_take(&record->claim, output->path) : STENCIL_OK;
}

stencil_status run_output_prepare(run_record *record, const run_targets *options, bool dry_run) {
    stencil_output *output = &record->output;
    if (output->path != NULL) {
        output->notes = &record->notes;
        output->force = options->force || options->in_place;
        output->started_s = (int64_t)time(NULL);
        TRY(try_output(record, dry_run));
    }
    TRY(target_check_apart("--json", options->json, output->path, "output"));
    TRY(target_check_apart("--trace", options->trace, output->path, "output"));
    TRY(target_check_apart("--trace", options->trace, options->json, "--json"));
    TRY(target_check("--trace", options->trace, options->force, output->input_path));
    return target_check("--json", options->json, options->force, output->input_path);
}

/* Saves a result that could not be written: tries another name in its directory, then the current directory
 * and that for temporary files. */
static stencil_status rescue(run_record *record, stencil_run *run) {
    const stencil_error seen = *stencil_error_last();
    const char *temporary = getenv("TMPDIR");
    stencil_output *output = &record->output;
    output->run = NULL;     /* where a rank cannot write, rank 0 may */
    output->options = NULL; /* a result of another name is no result to go on with */
    const char *path = TEXT_LONG("%s", output->path), *last = stencil_path_last(path);
    const char *const place[] = {
        TEXT_LONG("%.*s", (int)(last - path), path), "",
        TEXT_LONG("%s/", temporary != NULL && temporary[0] != '\0' ? temporary : "/tmp")};
    char *name = record->output_name;
    output->path = name;
    output->force = false;
    for (size_t i = 0; i < sizeof place / sizeof *place; i++) {
        const int length = snprintf(name, TEXT_NAME_SIZE, "%srescued-%ld-%s", place[i], (long)getpid(), last);
        if (length > 0 && length < TEXT_NAME_SIZE && open_output(record) == STENCIL_OK &&
            write_result(record, run) == STENCIL_OK)
            return text_around(stencil_error_adopt(&seen), "", COMPLETE(name));
    }
    output->path = NULL;
    return stencil_error_adopt(&seen);
}

stencil_status run_output_write(run_record *record, stencil_run *run) {
    if (record->output.path == NULL)
        return STENCIL_OK;
    if (record->report.reason == STENCIL_REASON_DIVERGED && stencil_output_replaces_input(&record->output)) {
        stencil_notes_add(&record->notes,
                          "the run diverged: no result is written, and '%s' stays as it was; --output FILE "
                          "writes one",
                          record->output.path);
        record->output.path = NULL;
        run_output_close(record);
        return STENCIL_OK;
    }
    const double start_s = stencil_clock_s();
    signals_hold();
    stencil_status status = write_result(record, run);
    if (status != STENCIL_OK)
        status = rescue(record, run);
    run_output_close(record);
    record->write_s = stencil_clock_s() - start_s;
    signals_release();
    return status;
}
