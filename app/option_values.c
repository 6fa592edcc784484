#include "app/options.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"

/* A value that is being read: `length` characters at `at`, all of `text` or one entry of it. */
typedef struct reading {
    const option *option;
    const char *text, *at;
    size_t length;
    void *target;
    int *count; /* of the values, where there can be several */
} reading;

/* The characters as a string; "" where they are too many, or other than `allowed`. */
static const char *digits_of(const reading *r, const char *allowed, char digits[64]) {
    snprintf(digits, 64, "%.*s", r->length < 64 && strspn(r->at, allowed) >= r->length ? (int)r->length : 0,
             r->at);
    return digits;
}

/* Digits only, all of them, and they fit: no sign, blank, exponent or unit. */
static bool is_whole(const reading *r, int64_t minimum, int64_t maximum, int64_t *number) {
    char digits[64];
    errno = 0;
    *number = strtoll(digits_of(r, "0123456789", digits), NULL, 10);
    return errno == 0 && digits[0] != '\0' && *number >= minimum && *number <= maximum;
}

const char *option_choice(const option *option, int index) {
    return option->names != NULL    ? option->names[index]
           : option->choice != NULL ? option->choice(index)
                                    : NULL;
}

static stencil_status find_choice(const reading *r, int *index) {
    const char *const name = r->option->name;
    char word[64], all[512] = "";
    stencil_nearest nearest = {word, NULL, 0};
    snprintf(word, sizeof word, "%.*s", (int)r->length, r->at);
    const char *choice;
    for (*index = 0; (choice = option_choice(r->option, *index)) != NULL; ++*index) {
        if (choice[0] == '\0')
            continue;
        if (strcmp(choice, word) == 0)
            return STENCIL_OK;
        stencil_text_add(all, sizeof all, "%s%s", all[0] != '\0' ? ", " : "", choice);
        stencil_nearest_offer(&nearest, choice);
    }
    for (const char *const *old = r->option->renamed; old != NULL && *old != NULL; old += 2)
        CHECK(strcmp(*old, word) != 0, USAGE, "--%s: '%s' is now called '%s'", name, word, old[1]);
    CHECK(nearest.name == NULL, USAGE, "--%s: '%s' is unknown, did you mean '%s'? Possible: %s", name, word,
          nearest.name, all);
    FAIL(USAGE, "--%s: '%s' is unknown. Possible: %s", name, word, all);
}

static stencil_status read_flag(const reading *r) {
    CHECK(r->text == NULL, USAGE, "--%s takes no value: leave '=%s' out", r->option->name, r->text);
    *(bool *)r->target = true;
    return STENCIL_OK;
}

static stencil_status read_text(const reading *r) {
    CHECK(r->text[0] != '\0', USAGE, "--%s needs a value that is not empty (%s)", r->option->name,
          r->option->argument);
    *(const char **)r->target = r->text;
    return STENCIL_OK;
}

static stencil_status read_choice(const reading *r) {
    return find_choice(r, r->target);
}

static stencil_status read_name(const reading *r) {
    int index;
    TRY(find_choice(r, &index));
    *(const char **)r->target = option_choice(r->option, index);
    return STENCIL_OK;
}

static stencil_status read_word(const reading *r) {
    int index;
    TRY(find_choice(r, &index));
    snprintf(r->target, r->option->size, "%s", option_choice(r->option, index));
    return STENCIL_OK;
}

static stencil_status read_integer(const reading *r) {
    const option *option = r->option;
    int64_t number;
    CHECK(is_whole(r, option->minimum, option->maximum, &number), USAGE,
          "--%s: '%s' is not a whole number from %" PRId64 " to %" PRId64, option->name, r->text,
          option->minimum, option->maximum);
    if (option->size == sizeof number * (size_t)(option->most > 0 ? option->most : 1))
        *(int64_t *)r->target = number;
    else
        *(uint32_t *)r->target = (uint32_t)number;
    return STENCIL_OK;
}

/* A decimal number, not negative. */
static stencil_status read_real(const reading *r) {
    const option *option = r->option;
    char digits[64], *end;
    double *number = r->target;
    if (option->none && strcmp(r->text, "none") == 0) {
        *number = NAN;
        return STENCIL_OK;
    }
    *number = strtod(digits_of(r, "0123456789.eE+-", digits), &end);
    const bool zero = strcspn(digits, "123456789") >= strcspn(digits, "eE"); /* is written as 0 */
    const bool minus = digits[0] == '-';
    CHECK(digits[0] != '\0' && *end == '\0' && !(minus && (*number != 0 || !zero)) &&
              !(option->positive && *number == 0 && zero),
          USAGE, "--%s: '%s' is not a %s number such as 0.5 or 1e-6%s", option->name, r->text,
          option->positive ? "positive" : "non-negative", option->none ? ", nor the word none" : "");
    CHECK(isfinite(*number) && (*number != 0 || zero), USAGE,
          "--%s: '%s' is out of range: a number is 0, or from 4.9e-324 to 1.8e308", option->name, r->text);
    CHECK(option->maximum == 0 || *number <= (double)option->maximum, USAGE,
          "--%s: '%s' is out of range: at most %" PRId64, option->name, r->text, option->maximum);
    return STENCIL_OK;
}

static stencil_status read_size(const reading *r) {
    int64_t along[3] = {0}, *extent = r->target; /* x, y, z as written */
    reading axis = *r;
    int count = 0;
    for (bool more = true; more; count++) {
        axis.length = strcspn(axis.at, "x");
        more = axis.at[axis.length] == 'x';
        CHECK(count < 3 && is_whole(&axis, 1, INT64_MAX, &along[count]) && (more || count > 0), USAGE,
              "--%s: '%s' is not a size such as 129x65 (nx x ny) or 64x48x32 (nx x ny x nz)", r->option->name,
              r->text);
        axis.at += axis.length + 1;
    }
    *r->count = count;
    for (int i = 0; i < count; i++)
        extent[i] = along[count - 1 - i];
    return STENCIL_OK;
}

static stencil_status read_devices(const reading *r) {
    const int most = (int)(r->option->size / sizeof(int));
    const bool list = strchr(r->text, ',') != NULL;
    int64_t number;
    reading device = *r;
    *r->count = 0;
    do {
        device.length = strcspn(device.at, ",");
        CHECK(is_whole(&device, !list, list ? 1023 : most, &number), USAGE,
              "--%s: '%s' is neither a count from 1 to %d nor a list of device numbers such as 0,2 or 2,",
              r->option->name, r->text, most);
        CHECK(*r->count < most, USAGE, "--%s: '%s' has more than %d devices", r->option->name, r->text, most);
        ((int *)r->target)[(*r->count)++] = (int)number;
        device.at += device.length + (device.at[device.length] == ',');
    } while (*device.at != '\0');
    for (*r->count = list ? *r->count : 0; !list && *r->count < number; ++*r->count)
        ((int *)r->target)[*r->count] = *r->count;
    return STENCIL_OK;
}

static stencil_status (*const readers[OPTION_TYPE_COUNT])(const reading *) = {
    [OPTION_FLAG] = read_flag,     [OPTION_TEXT] = read_text,       [OPTION_NAME] = read_name,
    [OPTION_WORD] = read_word,     [OPTION_INTEGER] = read_integer, [OPTION_REAL] = read_real,
    [OPTION_CHOICE] = read_choice, [OPTION_SIZE] = read_size,       [OPTION_DEVICES] = read_devices,
};

stencil_status option_read(const option *option, const char *text, void *structure) {
    reading r = {option,
                 text,
                 text,
                 text != NULL ? strlen(text) : 0,
                 (char *)structure + option->offset,
                 (int *)(void *)((char *)structure + option->count_offset)};
    if (option->most == 0)
        return readers[option->type](&r);
    for (*r.count = 0;; r.at += r.length + 1) {
        CHECK(*r.count < option->most, USAGE, "--%s: '%s' has more than %d entries", option->name, text,
              option->most);
        r.length = strcspn(r.at, ",");
        TRY(readers[option->type](&r));
        ++*r.count;
        if (r.at[r.length] == '\0')
            return STENCIL_OK;
        r.target = (char *)r.target + option->size / (size_t)option->most;
    }
}
