#include "draw.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trial.h"

/* One case of so many is made: of all cases, and of a sample. */
#ifdef __SANITIZE_ADDRESS__
enum { ONE_OF_ALL = 8, ONE_OF_SAMPLE = 72 };
#else
enum { ONE_OF_ALL = 1, ONE_OF_SAMPLE = 4 };
#endif

static uint64_t asked, made;
static char known[DRAW_NAMES][DRAW_NAME];
static int known_count;

void draw_add(draw_names *names, const char *format, ...) {
    va_list arguments;
    if (names->count == (int)(sizeof names->name / sizeof *names->name))
        abort();
    va_start(arguments, format);
    vsnprintf(names->name[names->count++], DRAW_NAME, format, arguments);
    va_end(arguments);
}

static bool is_all(void) {
    const char *draw = getenv("STENCIL_TEST_DRAW");
    return draw != NULL && strcmp(draw, "all") == 0;
}

static uint64_t seed(void) {
    const char *draw = getenv("STENCIL_TEST_DRAW");
    return draw != NULL && draw[0] != '\0' && !is_all() ? strtoull(draw, NULL, 10) : 16;
}

/* Tells whether a name is new to the sample, and notes it where the case is made. */
static bool is_new(const char *name, bool note) {
    for (int i = 0; i < known_count; i++)
        if (strcmp(known[i], name) == 0)
            return false;
    if (known_count == DRAW_NAMES)
        abort();
    if (note)
        memcpy(known[known_count++], name, DRAW_NAME);
    return true;
}

bool draw_case(int one_of, const draw_names *names) {
    const uint64_t of = is_all() ? ONE_OF_ALL : ONE_OF_SAMPLE * (uint64_t)one_of, number = asked++;
    bool drawn = (uint64_t)(trial_random(seed(), number / of) * (double)of) == number % of;
    for (int i = 0; i < names->count && !drawn; i++)
        drawn = is_new(names->name[i], false);
    for (int i = 0; i < names->count && drawn; i++)
        is_new(names->name[i], true);
    made += drawn;
    return drawn;
}

bool draw_trial(int number, bool other) {
    /* The two lowest bits decide, since the lowest one alone decides on other things of a trial. */
    return is_all() || ((number ^ number / 2) % 2 != 0) == other;
}

void draw_report(void) {
    printf("draw %llu%s: %llu of %llu cases (STENCIL_TEST_DRAW: another number, or all)\n",
           (unsigned long long)seed(), is_all() ? ", all" : "", (unsigned long long)made,
           (unsigned long long)asked);
}
