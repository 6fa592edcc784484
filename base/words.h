/* How near two words are: for "did you mean". */
#ifndef STENCIL_BASE_WORDS_H
#define STENCIL_BASE_WORDS_H

enum { STENCIL_WORD_MAX = 64 };

/* How many letters have to be inserted, left out, replaced or swapped with their neighbour ("optimal string
 * alignment") to make one short word of another, whatever their case; STENCIL_WORD_MAX for words
 * longer than that. */
int stencil_edit_distance(const char *a, const char *b);

#endif
