/* Words for the user: how near two of them are, for "did you mean", texts that grow, and notes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { STENCIL_WORD_MAX = 64 };

/* The candidate nearest to `word` (small edit distance, or `word` starts it) of those offered so far; NULL:
 * none is near. Initialise with the word alone. */
typedef struct stencil_nearest {
    const char *word, *name;
    int distance; /* of the name */
    int strict;   /* so many letters less may be wrong, since the word may well be another one */
} stencil_nearest;
void stencil_nearest_offer(stencil_nearest *nearest, const char *candidate);

/* Index of `name` in a list of names that NULL ends, or -1. */
int stencil_name_find(const char *name, const char *const *names);

/* Appends all of them but "" to `text`, ", " between them (returned). */
char *stencil_names_add(char *text, size_t size, const char *const *names);

/* Returns what stands behind the last slash of a path. */
const char *stencil_path_last(const char *path);

/* Appends to `text`, as far as there is room (returned). */
char *stencil_text_add(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The decimal number with the fewest digits, 15 at least where so many are needed, that reads back as `value`
 * (returned): "7e-05". */
enum { STENCIL_NUMBER_CHARS = 32 };
const char *stencil_number_text(double value, char text[STENCIL_NUMBER_CHARS]);

/* Lines for the user that are no errors: what was assumed, ignored or kept. Collected where they come up,
 * shown by app/ under "Note". Zero-initialise. */
enum { STENCIL_NOTES_MAX = 32, STENCIL_NOTE_CHARS = 320 };
typedef struct stencil_notes {
    int count;
    char line[STENCIL_NOTES_MAX][STENCIL_NOTE_CHARS];
    bool warns[STENCIL_NOTES_MAX]; /* the line says that the result may mean something else than was asked for
                                    */
} stencil_notes;

/* Adds a line, cut to STENCIL_NOTE_CHARS - 1 bytes; one that is there already is not added again, and the
 * last place says that there are more. stencil_notes_warn() is for what changes the meaning of the result,
 * which a quiet run tells, too: a name that nothing uses, steps that count anew. stencil_notes_add() is for
 * the rest: on which device, how fast, from which step on. */
void stencil_notes_add(stencil_notes *notes, const char *format, ...) __attribute__((format(printf, 2, 3)));
void stencil_notes_warn(stencil_notes *notes, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds all lines of others, with their weight. */
void stencil_notes_take(stencil_notes *notes, const stencil_notes *others);
