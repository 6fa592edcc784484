#include "app/run_output.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "app/json.h"
#include "app/signals.h"

/* Signals wait: none of them leaves a temporary file. */
void run_output_close(run_record *record) {
    signals_hold();
    signals_guard(NULL);
    stencil_sink_close(&record->output.sink);
    signals_release();
}

/* In place of one that was open before. */
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

/* "input.h5" -> "input.out.h5" beside it; a suffix other than .h5 or .hdf5 is kept. */
static stencil_status name_output(const char *input, char name[TEXT_NAME_SIZE]) {
    const char *dot = strrchr(input, '.');
    const bool suffix = dot != NULL && dot > input && dot[-1] != '/' &&
                        (strcmp(dot, ".h5") == 0 || strcmp(dot, ".hdf5") == 0);
    const int length = (int)(suffix ? (size_t)(dot - input) : strlen(input));
    const int written = snprintf(name, TEXT_NAME_SIZE, "%.*s.out.h5", length, input);
    CHECK(written >= 0 && written < TEXT_NAME_SIZE, USAGE,
          "the input's name is too long: give --output FILE");
    return STENCIL_OK;
}

/* Everything that can be known to fail at the end is found here, before computing. */
stencil_status run_output_prepare(run_record *record, const run_targets *options, char name[TEXT_NAME_SIZE]) {
    stencil_output *output = &record->output;
    if (!options->no_output) {
        if (options->output == NULL)
            TRY(name_output(output->input_path, name));
        output->path = options->output != NULL ? options->output : name;
        output->notes = &record->notes;
        output->force = options->force;
        output->started_s = (int64_t)time(NULL);
        TRY(open_output(record));
    }
    TRY(target_check_apart("--json", options->json, output->path, "output"));
    TRY(target_check_apart("--trace", options->trace, output->path, "output"));
    TRY(target_check_apart("--trace", options->trace, options->json, "--json"));
    TRY(target_check("--trace", options->trace, options->force, output->input_path));
    return target_check("--json", options->json, options->force, output->input_path);
}

/* What hours have computed is not given up for one directory: after a failure to write the result, tries the
 * same one under another name, the current one and the one for temporary files. */
static stencil_status rescue(run_record *record, stencil_run *run, char name[TEXT_NAME_SIZE]) {
    const stencil_error seen = *stencil_error_last();
    const char *temporary = getenv("TMPDIR");
    stencil_output *output = &record->output;
    const char *path = TEXT_LONG("%s", output->path), *last = stencil_path_last(path);
    const char *const place[] = {
        TEXT_LONG("%.*s", (int)(last - path), path), "",
        TEXT_LONG("%s/", temporary != NULL && temporary[0] != '\0' ? temporary : "/tmp")};
    output->path = name;
    output->force = false;
    for (size_t i = 0; i < sizeof place / sizeof *place; i++) {
        const int length = snprintf(name, TEXT_NAME_SIZE, "%srescued-%ld-%s", place[i], (long)getpid(), last);
        if (length > 0 && length < TEXT_NAME_SIZE && open_output(record) == STENCIL_OK &&
            write_result(record, run) == STENCIL_OK)
            return text_append(stencil_error_adopt(&seen), name, "holds the complete result");
    }
    output->path = NULL;
    return stencil_error_adopt(&seen);
}

stencil_status run_output_write(run_record *record, stencil_run *run, char name[TEXT_NAME_SIZE]) {
    if (record->output.path == NULL)
        return STENCIL_OK;
    const double start_s = stencil_clock_s();
    signals_hold();
    stencil_status status = write_result(record, run);
    if (status != STENCIL_OK)
        status = rescue(record, run, name);
    run_output_close(record);
    record->write_s = stencil_clock_s() - start_s;
    signals_release();
    return status;
}
