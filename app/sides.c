#include "app/sides.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"

/* An entry of the list: KEY=NAME:NUMBER:NUMBER, or a NAME. */
enum { ENTRY_CHARS = 128, NUMBERS_MAX = 2 };
typedef struct entry {
    char text[ENTRY_CHARS]; /* as it was written */
    char key[ENTRY_CHARS];  /* "x", "x-", …; "": none */
    char name[ENTRY_CHARS]; /* of the wall */
    const char *numbers;    /* what follows the name's colon; NULL: nothing does */
} entry;

/* Takes the first entry of a list apart; returns what follows its comma, NULL: it is the last one. */
static const char *take_entry(const char *list, entry *e) {
    const size_t length = strcspn(list, ",");
    *e = (entry){.numbers = NULL};
    snprintf(e->text, sizeof e->text, "%.*s", (int)(length < ENTRY_CHARS ? length : ENTRY_CHARS - 1), list);
    const char *sign = strchr(e->text, '='), *wall = sign != NULL ? sign + 1 : e->text;
    if (sign != NULL)
        snprintf(e->key, sizeof e->key, "%.*s", (int)(sign - e->text), e->text);
    snprintf(e->name, sizeof e->name, "%.*s", (int)strcspn(wall, ":"), wall);
    if (strchr(wall, ':') != NULL)
        e->numbers = strchr(wall, ':') + 1;
    return list[length] == ',' ? list + length + 1 : NULL;
}

/* Finds a name among those possible, or refuses it with the one that may be meant. */
static stencil_status find(const entry *e, const char *const *names, int *found) {
    stencil_nearest nearest = {.word = e->name};
    char meant[ENTRY_CHARS] = "";
    *found = e->name[0] != '\0' ? stencil_name_find(e->name, names) : -1;
    if (*found >= 0)
        return STENCIL_OK;
    for (const char *const *name = names; *name != NULL; name++)
        if (**name != '\0')
            stencil_nearest_offer(&nearest, *name);
    if (nearest.name != NULL)
        snprintf(meant, sizeof meant, ", did you mean '%s'?", nearest.name);
    CHECK(e->key[0] != '\0' || e->name[0] == '\0' || stencil_name_find(e->name, stencil_wall_names) < 0,
          USAGE, "--boundary: '%s' is the wall of a side: write SIDE=%s, such as x-=%s", e->text, e->text,
          e->text);
    FAIL(USAGE, "--boundary: '%s' is unknown%s%s Possible: %s", e->name, meant, meant[0] != '\0' ? "" : ".",
         stencil_names_add((char[256]){""}, 256, names));
}

/* Reads the numbers of a wall, as many as it has. */
static stencil_status read_numbers(const entry *e, stencil_wall_kind wall, double number[NUMBERS_MAX]) {
    const int count = stencil_wall_has_flux(wall) ? 1 : stencil_wall_exchanges(wall) ? 2 : 0;
    const char *at = e->numbers;
    bool right = (at != NULL) == (count > 0);
    for (int i = 0; i < count && right; i++) {
        char *end;
        number[i] = strtod(at, &end);
        right = end > at && isfinite(number[i]) && strspn(at, "0123456789.eE+-") == (size_t)(end - at) &&
                *end == (i + 1 < count ? ':' : '\0');
        at = end + 1;
    }
    if (right && (count < 2 || number[0] > 0))
        return STENCIL_OK;
    CHECK(count > 0, USAGE, "--boundary: '%s': %s has no numbers", e->text, e->name);
    FAIL(USAGE, "--boundary: '%s' is not %s", e->text,
         count == 1 ? "a wall with its number, such as x-=flux:2.5 (the slope of u along the outward normal)"
                    : "a wall with its two numbers, such as x+=exchange:8:-5 (the slope along the outward "
                      "normal is 8 times (-5 - u); the first number is positive)");
}

static void forget_side(stencil_spec *spec, int axis, int side) {
    spec->wall[axis][side] = STENCIL_WALL_NONE;
    spec->flux[axis][side] = spec->exchange[axis][side] = spec->ambient[axis][side] = NAN;
    memset(spec->along[axis][side], 0, sizeof spec->along[axis][side]);
}

/* Sets the wall of a side, or of both sides of an axis. */
static stencil_status set_sides(const entry *e, stencil_spec *spec) {
    static const char axes[] = "zyx";
    const char *axis = e->key[0] != '\0' ? strchr(axes, e->key[0]) : NULL;
    const char side = axis != NULL ? e->key[1] : '\0';
    double number[NUMBERS_MAX] = {NAN, NAN};
    int wall;
    CHECK(axis != NULL && (side == '\0' || ((side == '-' || side == '+') && e->key[2] == '\0')), USAGE,
          "--boundary: '%s' is no side of the field: write x-, x+ or x (both), and so on, before the =",
          e->key);
    TRY(find(e, stencil_wall_names, &wall));
    TRY(read_numbers(e, (stencil_wall_kind)wall, number));
    for (int s = side == '+'; s <= (side != '-'); s++) {
        const int a = (int)(axis - axes);
        forget_side(spec, a, s);
        spec->wall[a][s] = (stencil_wall_kind)wall;
        if (stencil_wall_has_flux(spec->wall[a][s]))
            spec->flux[a][s] = number[0];
        if (stencil_wall_exchanges(spec->wall[a][s])) {
            spec->exchange[a][s] = number[0];
            spec->ambient[a][s] = number[1];
        }
    }
    return STENCIL_OK;
}

stencil_status sides_read(const char *text, stencil_spec *spec) {
    stencil_boundary boundary[STENCIL_AXES];
    int count = 0, found;
    entry e;
    for (const char *at = text; at != NULL;) {
        at = take_entry(at, &e);
        if (e.key[0] != '\0' || strchr(e.text, '=') != NULL)
            continue;
        CHECK(count < STENCIL_AXES, USAGE, "--boundary: '%s' has more than %d entries for axes", text,
              STENCIL_AXES);
        TRY(find(&e, stencil_boundary_names, &found));
        CHECK(e.numbers == NULL, USAGE, "--boundary: '%s': %s has no numbers", e.text, e.name);
        boundary[count++] = (stencil_boundary)found;
    }
    for (int i = 0; i < 2 * STENCIL_AXES && count > 0; i++)
        forget_side(spec, i / 2, i % 2);
    if (count > 0) {
        spec->boundary_count = count;
        memcpy(spec->boundary, boundary, sizeof boundary);
    }
    for (const char *at = text; at != NULL;) {
        at = take_entry(at, &e);
        if (strchr(e.text, '=') != NULL)
            TRY(set_sides(&e, spec));
    }
    return STENCIL_OK;
}

stencil_status sides_check(const stencil_spec *spec, bool may_have) {
    bool any = false;
    for (int i = 0; i < 2 * STENCIL_AXES; i++) {
        const bool own = spec->wall[i / 2][i % 2] != STENCIL_WALL_NONE;
        CHECK(!own || spec->rank != 2 || i / 2 != STENCIL_Z, USAGE,
              "--boundary names sides of axis z, but the field has 2 axes, y and x");
        any = any || own;
    }
    CHECK(may_have || !any, USAGE, "walls of single sides are for 'stencil run' and 'stencil new'");
    return STENCIL_OK;
}
