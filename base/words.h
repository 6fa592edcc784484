/* How near two words are: for "did you mean". */
#ifndef STENCIL_BASE_WORDS_H
#define STENCIL_BASE_WORDS_H

/* How many letters have to be inserted, left out, replaced or swapped with their neighbour ("optimal string
 * alignment") to make one short word of another, whatever their case; 64 for words longer than that. */
int stencil_edit_distance(const char *a, const char *b);

#endif
