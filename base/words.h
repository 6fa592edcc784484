/* How near two words are, for "did you mean", and texts that grow. */
#ifndef STENCIL_BASE_WORDS_H
#define STENCIL_BASE_WORDS_H

#include <stddef.h>

enum { STENCIL_WORD_MAX = 64 };

/* How many letters have to be inserted, left out, replaced or swapped with their neighbour ("optimal string
 * alignment") to make one short word of another, whatever their case; STENCIL_WORD_MAX for words
 * longer than that. */
int stencil_edit_distance(const char *a, const char *b);

/* The candidate nearest to `word` (small edit distance, or `word` starts it) of those offered so far; NULL:
 * none is near. Initialise with the word alone. */
typedef struct stencil_nearest {
    const char *word, *name;
    int distance; /* of the name */
} stencil_nearest;
void stencil_nearest_offer(stencil_nearest *nearest, const char *candidate);

/* Appends to `text`, as far as there is room (returned). */
char *stencil_text_add(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
