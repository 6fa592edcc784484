/* The sample that tests make of a product of cases too large for every day, drawn with a fixed seed,
 * the same everywhere. In the environment STENCIL_TEST_DRAW has another seed, or `all` for the whole product,
 * which is what
 * ./dev test --all says. tests/app/harness.py has the same for Python. */
#ifndef STENCIL_TESTS_DRAW_H
#define STENCIL_TESTS_DRAW_H

#include <stdbool.h>

enum { DRAW_NAME = 64, DRAW_NAMES = 512 };

/* Things that a case is made of. Each of them that the product has is in the sample. */
typedef struct draw_names {
    int count;
    char name[8][DRAW_NAME];
} draw_names;

/* One more of them (printf). */
void draw_add(draw_names *names, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Tells whether the next case is made: one of so many that follow each other, each with `all`, an eighth of
 * them where host code has sanitizers; and those that are the first with one of the names. */
bool draw_case(int one_of, const draw_names *names);

/* Tells whether a trial is made whose runs are then drawn: each in one precision, the other one makes those
 * beside it; with `all` in both. */
bool draw_trial(int number, bool other);

/* Prints seed and size of the sample, so that it can be drawn again. */
void draw_report(void);

#endif
