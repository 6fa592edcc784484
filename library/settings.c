/* The attributes of a problem by their names. */
#include "library/inside.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "kernels/classes.h"

/* An attribute whose value is a word of a list, or any text. */
typedef struct text_row {
    const char *name;
    size_t at, size;
    const char *const *words; /* NULL: a text of `size` bytes */
} text_row;

/* An attribute of numbers; SIDES: one for each side of the axes, named with an ending like "_x-". */
typedef enum bound { ANY, POSITIVE, NOT_NEGATIVE } bound;
typedef struct number_row {
    const char *name;
    size_t at, count_at; /* count_at: of a list for the axes; 0: a single number */
    bound bound;
    bool whole; /* an int64_t, otherwise double */
    bool sides;
} number_row;

#define AT(member) offsetof(stencil_spec, member)
static const text_row texts[] = {
    {"problem", AT(kind), sizeof(stencil_kind), stencil_kind_names},
    {"norm", AT(norm), sizeof(stencil_norm), stencil_norm_names},
    {"stencil", AT(stencil), sizeof((stencil_spec *)NULL)->stencil, NULL},
    {"accelerate", AT(accelerate), sizeof((stencil_spec *)NULL)->accelerate, NULL},
};
static const number_row numbers[] = {
    {"spacing", AT(spacing), AT(spacing_count), POSITIVE, false, false},
    {"omega", AT(omega), 0, POSITIVE, false, false},
    {"diffusivity", AT(diffusivity), AT(diffusivity_count), POSITIVE, false, false},
    {"dt", AT(dt), 0, POSITIVE, false, false},
    {"steps", AT(steps), 0, NOT_NEGATIVE, true, false},
    {"time_end", AT(time_end), 0, ANY, false, false},
    {"rtol", AT(rtol), 0, NOT_NEGATIVE, false, false},
    {"atol", AT(atol), 0, NOT_NEGATIVE, false, false},
    {"check_every", AT(check_every), 0, POSITIVE, true, false},
    {"flux", AT(flux), 0, ANY, false, true},
    {"exchange", AT(exchange), 0, POSITIVE, false, true},
    {"ambient", AT(ambient), 0, ANY, false, true},
};
enum { TEXTS = sizeof texts / sizeof *texts, NUMBERS = sizeof numbers / sizeof *numbers };

/* Most steps of a run, as in problem files. */
static const double most_steps = 1e15;

/* Returns the number of a side, 2 * axis + (0: low, 1: high), that the ending of a name like "flux_x-" says
 * after `base`; -1: it says none. */
static int side_of(const char *name, const char *base) {
    const size_t length = strlen(base);
    if (strncmp(name, base, length) != 0 || name[length] != '_' || strlen(name) != length + 3)
        return -1;
    static const char axes[] = "zyx";
    const char *axis = strchr(axes, name[length + 1]), sign = name[length + 2];
    return axis != NULL && (sign == '-' || sign == '+') ? 2 * (int)(axis - axes) + (sign == '+') : -1;
}

static stencil_status refuse_name(const char *name, bool number) {
    stencil_nearest near = {.word = name};
    for (int i = 0; i < TEXTS && !number; i++)
        stencil_nearest_offer(&near, texts[i].name);
    if (!number)
        stencil_nearest_offer(&near, "boundary");
    for (int i = 0; i < NUMBERS && number; i++)
        stencil_nearest_offer(&near, numbers[i].name);
    FAIL(USAGE, "a problem has no %s '%s'%s%s%s", number ? "number" : "text", name,
         near.name != NULL ? ": did you mean '" : "", near.name != NULL ? near.name : "",
         near.name != NULL ? "'?" : "");
}

/* Finds a word among `words`; an empty one is 0, which stands for "not given" or the default. */
static stencil_status find_word(const char *name, const char *word, const char *const *words, int *found) {
    char list[256] = "";
    *found = word[0] == '\0' ? 0 : stencil_name_find(word, words);
    CHECK(*found >= 0, USAGE, "%s is '%s': give one of %s", name, word,
          stencil_names_add(list, sizeof list, words));
    return STENCIL_OK;
}

/* Sets boundaries from a list like "fixed,periodic". */
static stencil_status set_boundaries(stencil_spec *spec, const char *text) {
    int found[3], count = 0;
    for (const char *at = text; *at != '\0'; count++) {
        char word[STENCIL_WORD_MAX];
        const size_t length = strcspn(at, ",");
        CHECK(count < spec->rank && length < sizeof word, USAGE,
              "boundary is '%s': give one word for all of the %d axes, or one for each", text, spec->rank);
        memcpy(word, at, length);
        word[length] = '\0';
        CHECK(length > 0, USAGE, "boundary is '%s': a word is missing", text);
        TRY(find_word("boundary", word, stencil_boundary_names, &found[count]));
        at += length + (at[length] == ',');
    }
    CHECK(count <= 1 || count == spec->rank, USAGE,
          "boundary is '%s': give one word for all of the %d axes, or one for each", text, spec->rank);
    for (int i = 0; i < count; i++)
        spec->boundary[i] = (stencil_boundary)found[i];
    spec->boundary_count = count;
    return STENCIL_OK;
}

static stencil_status set_text(stencil_spec *spec, const char *name, const char *text) {
    int found = 0;
    if (strcmp(name, "boundary") == 0)
        return set_boundaries(spec, text);
    const int side = side_of(name, "boundary");
    if (side >= 0) {
        TRY(find_word(name, text, stencil_wall_names, &found));
        spec->wall[side / 2][side % 2] = (stencil_wall_kind)found;
        return STENCIL_OK;
    }
    for (const text_row *r = texts; r < texts + TEXTS; r++) {
        char *at = (char *)spec + r->at;
        if (strcmp(r->name, name) != 0)
            continue;
        if (r->words != NULL) {
            TRY(find_word(name, text, r->words, &found));
            memcpy(at, &found, sizeof found);
            return STENCIL_OK;
        }
        CHECK(strlen(text) < r->size, USAGE, "%s is '%.40s…': that is too long", name, text);
        strcpy(at, text);
        return STENCIL_OK;
    }
    return refuse_name(name, false);
}

stencil_code_t stencil_problem_set_text(stencil_problem_t *problem, const char *name, const char *text) {
    if (problem == NULL || name == NULL || text == NULL)
        return stencil_code_fail(STENCIL_BAD_ARGUMENT, "a problem, a name and a text are needed");
    return stencil_code_of(set_text(&problem->spec, name, text));
}

static stencil_status check_number(const number_row *r, const char *name, double number) {
    const double least = r->bound == ANY ? -INFINITY : 0;
    CHECK(isfinite(number) && (r->bound == POSITIVE ? number > least : number >= least), USAGE,
          "%s is %g: give a %snumber%s", name, number, r->bound == POSITIVE ? "positive " : "finite ",
          r->bound == NOT_NEGATIVE ? " of 0 or more" : "");
    CHECK(!r->whole || (number == floor(number) && number <= most_steps), USAGE,
          "%s is %.17g: give a whole number of at most 1e15", name, number);
    return STENCIL_OK;
}

/* Sets a row's numbers at `at`; count 0 takes them back. */
static stencil_status set_row(stencil_spec *spec, const number_row *r, const char *name, int count, int side,
                              const double *number) {
    stencil_spec none;
    const bool list = r->count_at != 0;
    char *const at = (char *)spec + r->at + (side > 0 ? (size_t)side * sizeof(double) : 0);
    CHECK(count >= 0 && (count <= 1 || (list && count == spec->rank)), USAGE, "%s: %d numbers, give %s", name,
          count, list ? "one for all axes, or one for each" : "one");
    for (int i = 0; i < count; i++)
        TRY(check_number(r, name, number[i]));
    if (list)
        memcpy((char *)spec + r->count_at, &count, sizeof count);
    stencil_spec_init(&none);
    if (count == 0)
        memcpy(at, (const char *)&none + (at - (char *)spec),
               sizeof(double)); /* also the size of an int64_t */
    for (int i = 0; i < count; i++) {
        const int64_t whole = r->whole ? (int64_t)number[i] : 0;
        memcpy(at + (size_t)i * sizeof(double), r->whole ? (const void *)&whole : &number[i], sizeof(double));
    }
    return STENCIL_OK;
}

/* Sets a number of a wall: one for the side, or one for each cell along it. */
static stencil_status set_wall(stencil_problem_t *problem, const number_row *r, const char *name, int count,
                               const double *number) {
    const int side = side_of(name, r->name);
    const stencil_along along = {side / 2, side % 2,
                                 (stencil_wall_number)stencil_name_find(r->name, stencil_wall_number_names)};
    TRY(stencil_tables_along(problem, name, &along, count > 1 ? count : 0, number));
    return set_row(&problem->spec, r, name, count > 1 ? 0 : count, side, number);
}

static stencil_status set_number(stencil_problem_t *problem, const char *name, int count,
                                 const double *number) {
    stencil_spec *spec = &problem->spec;
    for (const number_row *r = numbers; r < numbers + NUMBERS; r++) {
        const int side = r->sides ? side_of(name, r->name) : -1;
        if (side >= 0)
            return set_wall(problem, r, name, count, number);
        if (!r->sides && strcmp(r->name, name) == 0)
            return set_row(spec, r, name, count, side, number);
    }
    return refuse_name(name, true);
}

stencil_code_t stencil_problem_set_number(stencil_problem_t *problem, const char *name, int32_t count,
                                          const double *number) {
    if (problem == NULL || name == NULL || (number == NULL && count != 0))
        return stencil_code_fail(STENCIL_BAD_ARGUMENT, "a problem, a name and numbers are needed");
    return stencil_code_of(set_number(problem, name, count, number));
}

stencil_status stencil_settings_check(const stencil_spec *spec) {
    stencil_spec none;
    stencil_spec_init(&none);
    const char *accelerate = stencil_attribute_effect("accelerate", spec->kind), *name = NULL,
               *problems = NULL;
    if (accelerate != NULL && spec->accelerate[0] != '\0' && strcmp(spec->accelerate, "none") != 0)
        name = "accelerate", problems = accelerate;
    for (const number_row *r = numbers; r < numbers + NUMBERS && name == NULL; r++) {
        const char *at = (const char *)spec + r->at, *other = (const char *)&none + r->at;
        problems = stencil_attribute_effect(r->name, spec->kind);
        name = problems != NULL && memcmp(at, other, sizeof(double)) != 0 ? r->name : NULL;
    }
    CHECK(name == NULL, USAGE, "%s is for problem %s: it has no effect on %s", name, problems,
          spec->kind != STENCIL_KIND_NONE ? stencil_kind_names[spec->kind] : "given weights");
    return STENCIL_OK;
}
