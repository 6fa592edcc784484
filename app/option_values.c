#include "app/options.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"

/* `length` characters of `text` as a string; "" where they are too many, or other than `allowed`. */
static const char *digits_of(const char *text, size_t length, const char *allowed, char digits[64]) {
    snprintf(digits, 64, "%.*s", length < 64 && strspn(text, allowed) >= length ? (int)length : 0, text);
    return digits;
}

/* Digits only, whole text, fits: no sign, blank, exponent or unit. */
static bool whole_number(const char *text, size_t length, int64_t *number) {
    char digits[64];
    errno = 0;
    *number = strtoll(digits_of(text, length, "0123456789", digits), NULL, 10);
    return errno == 0 && digits[0] != '\0';
}

static stencil_status read_flag(const option *option, const char *text, void *target) {
    CHECK(text == NULL, USAGE, "--%s takes no value: leave '=%s' out", option->name, text);
    *(bool *)target = true;
    return STENCIL_OK;
}

static stencil_status read_text(const option *option, const char *text, void *target) {
    CHECK(text[0] != '\0', USAGE, "--%s needs a value that is not empty (%s)", option->name,
          option->argument);
    *(const char **)target = text;
    return STENCIL_OK;
}

static stencil_status read_integer(const option *option, const char *text, void *target) {
    int64_t number;
    CHECK(whole_number(text, strlen(text), &number) && number >= option->minimum && number <= option->maximum,
          USAGE, "--%s: '%s' is not a whole number from %" PRId64 " to %" PRId64, option->name, text,
          option->minimum, option->maximum);
    *(int64_t *)target = number;
    return STENCIL_OK;
}

/* One decimal number, `length` characters at `at`, of an option's value `text`; not negative. */
static stencil_status read_number(const option *option, const char *text, const char *at, size_t length,
                                  double *number) {
    char digits[64], *end;
    *number = strtod(digits_of(at, length, "0123456789.eE+-", digits), &end);
    const bool zero = strcspn(digits, "123456789") >= strcspn(digits, "eE"); /* is written as 0 */
    const bool minus = digits[0] == '-';
    CHECK(digits[0] != '\0' && *end == '\0' && !(minus && (*number != 0 || !zero)) &&
              !(option->positive && *number == 0 && zero),
          USAGE, "--%s: '%s' is not a %s number such as 0.5 or 1e-6%s", option->name, text,
          option->positive ? "positive" : "non-negative", option->none ? ", nor the word none" : "");
    CHECK(isfinite(*number) && (*number != 0 || zero), USAGE,
          "--%s: '%s' is out of range: a number is 0, or from 4.9e-324 to 1.8e308", option->name, text);
    CHECK(option->type != OPTION_REAL || option->maximum == 0 || *number <= (double)option->maximum, USAGE,
          "--%s: '%s' is out of range: at most %" PRId64, option->name, text, option->maximum);
    return STENCIL_OK;
}

static stencil_status read_real(const option *option, const char *text, void *target) {
    if (!option->none || strcmp(text, "none") != 0)
        return read_number(option, text, text, strlen(text), target);
    *(double *)target = NAN;
    return STENCIL_OK;
}

const char *option_choice(const option *option, int index) {
    return option->names != NULL    ? option->names[index]
           : option->choice != NULL ? option->choice(index)
                                    : NULL;
}

/* Choices by the names that they had until version 0.2. */
static const struct {
    const char *option, *old, *now;
} renamed[] = {{"halo", "peer", "store"}, {"halo", "stamped", "ll"}};

static stencil_status read_one_choice(const option *option, const char *text, size_t length, int *index) {
    char word[64], all[512] = "";
    stencil_nearest nearest = {word, NULL, 0};
    snprintf(word, sizeof word, "%.*s", (int)length, text);
    const char *name;
    for (int i = 0; (name = option_choice(option, i)) != NULL; i++) {
        if (name[0] == '\0')
            continue;
        *index = i;
        if (strcmp(name, word) == 0)
            return STENCIL_OK;
        stencil_text_add(all, sizeof all, "%s%s", all[0] != '\0' ? ", " : "", name);
        stencil_nearest_offer(&nearest, name);
    }
    for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++)
        CHECK(strcmp(renamed[i].option, option->name) != 0 || strcmp(renamed[i].old, word) != 0, USAGE,
              "--%s: '%s' is now called '%s'", option->name, word, renamed[i].now);
    CHECK(nearest.name == NULL, USAGE, "--%s: '%s' is unknown, did you mean '%s'? Possible: %s", option->name,
          word, nearest.name, all);
    FAIL(USAGE, "--%s: '%s' is unknown. Possible: %s", option->name, word, all);
}

static stencil_status read_choice(const option *option, const char *text, void *target) {
    return read_one_choice(option, text, strlen(text), target);
}

static stencil_status read_word(const option *option, const char *text, void *target) {
    int index;
    TRY(read_one_choice(option, text, strlen(text), &index));
    snprintf(target, (size_t)option->maximum, "%s", option_choice(option, index));
    return STENCIL_OK;
}

static int *count_of(const option *option, void *target) {
    return (int *)((char *)target - option->offset + option->count_offset);
}

/* Choices or real numbers. */
static stencil_status read_list(const option *option, const char *text, void *target) {
    int *count = count_of(option, target);
    const char *at = text;
    size_t length;
    for (*count = 0;; at += length + 1) {
        CHECK(*count < option->maximum, USAGE, "--%s: '%s' has more than %" PRId64 " entries", option->name,
              text, option->maximum);
        length = strcspn(at, ",");
        TRY(option->type == OPTION_REALS ? read_number(option, text, at, length, (double *)target + *count)
                                         : read_one_choice(option, at, length, (int *)target + *count));
        ++*count;
        if (at[length] != ',')
            return STENCIL_OK;
    }
}

static stencil_status read_size(const option *option, const char *text, void *target) {
    option_list *list = target;
    const char *at = text;
    bool good = true;
    for (list->count = 0; good && (list->count == 0 || at[-1] == 'x'); list->count++) {
        const size_t length = strcspn(at, "x");
        good = list->count < 3 && whole_number(at, length, &list->value[list->count]) &&
               list->value[list->count] >= 1;
        at += length + 1;
    }
    CHECK(good && list->count >= 2, USAGE,
          "--%s: '%s' is not a size such as 129x65 (nx x ny) or 64x48x32 (nx x ny x nz)", option->name, text);
    return STENCIL_OK;
}

static stencil_status read_devices(const option *option, const char *text, void *target) {
    option_list *list = target;
    int64_t count = 0;
    list->count = 0;
    if (strchr(text, ',') == NULL) {
        CHECK(whole_number(text, strlen(text), &count) && count >= 1 && count <= option->maximum, USAGE,
              "--%s: '%s' is neither a count from 1 to %" PRId64
              " nor a list of device numbers such as 0,2 or 2,",
              option->name, text, option->maximum);
        for (; list->count < count; list->count++)
            list->value[list->count] = list->count;
        return STENCIL_OK;
    }
    for (const char *at = text; *at != '\0'; list->count++) {
        const size_t length = strcspn(at, ",");
        CHECK(whole_number(at, length, &count) && count < 1024, USAGE,
              "--%s: '%s' is neither a count such as 2 nor a list of device numbers such as 0,2 or 2,",
              option->name, text);
        CHECK(list->count < option->maximum, USAGE, "--%s: '%s' has more than %" PRId64 " devices",
              option->name, text, option->maximum);
        list->value[list->count] = count;
        at += length + (at[length] == ',');
    }
    return STENCIL_OK;
}

/* How a type is read, and what stands there when it was not given. */
static const struct {
    stencil_status (*read)(const option *, const char *, void *);
    size_t size;
    const void *unset;
} types[OPTION_TYPE_COUNT] = {
    [OPTION_FLAG] = {read_flag, sizeof(bool), &(const bool){false}},
    [OPTION_TEXT] = {read_text, sizeof(char *), &(const char *const){NULL}},
    [OPTION_INTEGER] = {read_integer, sizeof(int64_t), &(const int64_t){-1}},
    [OPTION_REAL] = {read_real, sizeof(double), &(const double){NAN}},
    [OPTION_CHOICE] = {read_choice, sizeof(int), &(const int){-1}},
    [OPTION_WORD] = {read_word, 1, ""},
    [OPTION_CHOICES] = {read_list, sizeof(int), &(const int){0}},
    [OPTION_REALS] = {read_list, sizeof(double), &(const double){0}},
    [OPTION_SIZE] = {read_size, sizeof(option_list), &(const option_list){0}},
    [OPTION_DEVICES] = {read_devices, sizeof(option_list), &(const option_list){0}},
};

stencil_status option_read(const option *option, const char *text, void *structure) {
    return types[option->type].read(option, text, (char *)structure + option->offset);
}

void option_clear(const option *option, void *structure) {
    void *target = (char *)structure + option->offset;
    memcpy(target, types[option->type].unset, types[option->type].size);
    if (types[option->type].read == read_list)
        *count_of(option, target) = 0;
}
