#include "base/notes.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void stencil_notes_add(stencil_notes *notes, const char *format, ...) {
    char line[STENCIL_NOTE_CHARS];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    for (int i = 0; i < notes->count; i++)
        if (strcmp(notes->line[i], line) == 0)
            return;
    if (notes->count == STENCIL_NOTES_MAX)
        snprintf(notes->line[STENCIL_NOTES_MAX - 1], STENCIL_NOTE_CHARS, "and more of the kind");
    else
        snprintf(notes->line[notes->count++], STENCIL_NOTE_CHARS, "%s", line);
}
