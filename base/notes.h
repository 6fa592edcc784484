/* Lines for the user that are no errors: what was assumed, ignored or kept. Collected where they come up,
 * shown by app/ under "Note". */
#ifndef STENCIL_BASE_NOTES_H
#define STENCIL_BASE_NOTES_H

enum { STENCIL_NOTES_MAX = 16, STENCIL_NOTE_CHARS = 320 };

/* Zero-initialise. */
typedef struct stencil_notes {
    int count;
    char line[STENCIL_NOTES_MAX][STENCIL_NOTE_CHARS];
} stencil_notes;

/* Adds a line, cut to STENCIL_NOTE_CHARS - 1 bytes; one that is there already is not added again, and the
 * last place says that there are more. */
void stencil_notes_add(stencil_notes *notes, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
