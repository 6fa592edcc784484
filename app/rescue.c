#include "app/rescue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/text.h"

static stencil_status write_to(const char *name, const stencil_output_options *options,
                               const stencil_problem *problem, const stencil_reader *from,
                               const stencil_report *report) {
    stencil_output_options elsewhere = *options;
    elsewhere.path = name;
    elsewhere.force = false;
    stencil_output *output = NULL;
    TRY(stencil_output_open(&output, &elsewhere, problem));
    const stencil_status status = stencil_output_write(output, problem, from, report);
    stencil_output_close(output);
    return status;
}

stencil_status rescue_result(stencil_status status, const stencil_output_options *options,
                             const stencil_problem *problem, const stencil_reader *from,
                             const stencil_report *report, char *name, size_t size) {
    const stencil_error seen = *stencil_error_last();
    const char *slash = strrchr(options->path, '/'), *base = slash != NULL ? slash + 1 : options->path;
    const char *temporary = getenv("TMPDIR");
    if (temporary == NULL || temporary[0] == '\0')
        temporary = "/tmp";
    const struct {
        const char *directory, *separator;
        int length;
    } place[] = {{options->path, "", (int)(base - options->path)},
                 {"", "", 0},
                 {temporary, "/", (int)strlen(temporary)}};
    for (size_t i = 0; i < sizeof place / sizeof *place; i++) {
        const int length = snprintf(name, size, "%.*s%srescued-%ld-%s", place[i].length, place[i].directory,
                                    place[i].separator, (long)getpid(), base);
        if (length > 0 && (size_t)length < size &&
            write_to(name, options, problem, from, report) == STENCIL_OK) {
            stencil_error_adopt(&seen);
            return text_append(status, name, "holds the complete result");
        }
    }
    name[0] = '\0';
    return stencil_error_adopt(&seen);
}
