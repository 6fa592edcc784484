/* Texts for the user: the nearest word for "did you mean", appending to texts, and notes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { STENCIL_WORD_MAX = 64 };

/* Search for the candidate nearest to `word` (small edit distance, or `word` as a prefix); `name` is the
 * nearest candidate offered so far, NULL: none is near. Initialise with the word, optionally `strict`. */
typedef struct stencil_nearest {
    const char *word, *name;
    int distance; /* edit distance between `word` and `name` */
    int strict;   /* number by which the allowed wrong letters are reduced */
} stencil_nearest;
void stencil_nearest_offer(stencil_nearest *nearest, const char *candidate);

/* Returns the index of `name` in a list of names that ends with NULL, or -1. */
int stencil_name_find(const char *name, const char *const *names);

/* Appends all non-empty `names` (a list that ends with NULL) to `text`, separated by ", "; returns `text`. */
char *stencil_names_add(char *text, size_t size, const char *const *names);

/* Returns the part of a path after its last slash. */
const char *stencil_path_last(const char *path);

/* Appends formatted text to `text`, a buffer of `size` bytes, truncated to fit; returns `text`. */
char *stencil_text_add(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Writes to `text`, and returns, the decimal number with the fewest digits (of 15 to 17, without trailing
 * zeros) that reads back as `value`: "7e-05". */
enum { STENCIL_NUMBER_CHARS = 32 };
const char *stencil_number_text(double value, char text[STENCIL_NUMBER_CHARS]);

/* Messages for the user that are no errors: what was assumed, ignored or kept; app/ shows them under "Note".
 * Zero-initialise. */
enum { STENCIL_NOTES_MAX = 32, STENCIL_NOTE_CHARS = 320 };
typedef struct stencil_notes {
    int count;
    char line[STENCIL_NOTES_MAX][STENCIL_NOTE_CHARS];
    bool warns[STENCIL_NOTES_MAX]; /* the line warns that the result may not be what was asked for */
} stencil_notes;

/* Adds a note, cut to STENCIL_NOTE_CHARS - 1 bytes, unless the same note exists; when the array is full, the
 * last note says that there are more. stencil_notes_warn() is for notes that change the meaning of the
 * result, which even a quiet run shows (an unused name); stencil_notes_add() for all others (device, speed).
 */
#define stencil_notes_add(notes, ...)  stencil_notes_put(notes, false, __VA_ARGS__)
#define stencil_notes_warn(notes, ...) stencil_notes_put(notes, true, __VA_ARGS__)
void stencil_notes_put(stencil_notes *notes, bool warns, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds all notes of `others`, warnings as warnings. */
void stencil_notes_take(stencil_notes *notes, const stencil_notes *others);
