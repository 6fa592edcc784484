#include "app/option_values.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Digits only, whole text, fits: no sign, blank, exponent or unit. */
static bool whole_number(const char *text, size_t length, int64_t *number) {
    char digits[24];
    if (length == 0 || length >= sizeof digits || strspn(text, "0123456789") < length)
        return false;
    memcpy(digits, text, length);
    digits[length] = '\0';
    errno = 0;
    *number = strtoll(digits, NULL, 10);
    return errno == 0;
}

/* Length of the element that starts at `text`, up to the separator or the end. */
static size_t element_length(const char *text, const char *separators) {
    return strcspn(text, separators);
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

/* A decimal number of `length` characters, not negative; what no double can hold becomes infinity. */
static bool real_number(const char *text, size_t length, bool positive, double *number) {
    char digits[64];
    if (length == 0 || length >= sizeof digits || strspn(text, "0123456789.eE+-") < length)
        return false;
    memcpy(digits, text, length);
    digits[length] = '\0';
    char *end;
    *number = strtod(digits, &end);
    /* 0 without being written as 0 */
    if (*number == 0 && strcspn(digits, "123456789") < strcspn(digits, "eE"))
        *number = digits[0] == '-' ? -INFINITY : INFINITY;
    return *end == '\0' && (positive ? *number > 0 : *number >= 0);
}

static stencil_status real_refused(const option *option, const char *text) {
    FAIL(USAGE, "--%s: '%s' is not a %s number such as 0.5 or 1e-6%s", option->name, text,
         option->positive ? "positive" : "non-negative", option->none ? ", nor the word none" : "");
}

/* One number of an option's value `text`. */
static stencil_status read_number(const option *option, const char *text, const char *at, size_t length,
                                  double *number) {
    if (!real_number(at, length, option->positive, number))
        return real_refused(option, text);
    CHECK(isfinite(*number), USAGE, "--%s: '%s' is out of range: a number is 0, or from 4.9e-324 to 1.8e308",
          option->name, text);
    CHECK(option->type != OPTION_REAL || option->maximum == 0 || *number <= (double)option->maximum, USAGE,
          "--%s: '%s' is out of range: at most %" PRId64, option->name, text, option->maximum);
    return STENCIL_OK;
}

static stencil_status read_real(const option *option, const char *text, void *target) {
    if (option->none && strcmp(text, "none") == 0) {
        *(double *)target = INFINITY;
        return STENCIL_OK;
    }
    return read_number(option, text, text, strlen(text), target);
}

static stencil_status read_reals(const option *option, const char *text, void *target) {
    option_reals *list = target;
    list->count = 0;
    for (const char *at = text;; at++) {
        CHECK(list->count < option->maximum, USAGE, "--%s: '%s' has more than %" PRId64 " entries",
              option->name, text, option->maximum);
        const size_t length = element_length(at, ",");
        TRY(read_number(option, text, at, length, &list->value[list->count++]));
        at += length;
        if (*at == '\0')
            return STENCIL_OK;
    }
}

static const char *choice_of(const void *context, int index) {
    return ((const option *)context)->choice(index);
}

static stencil_status read_one_choice(const option *option, const char *text, size_t length, int64_t *index) {
    char word[64] = "", all[512] = "";
    snprintf(word, sizeof word, "%.*s", (int)length, text);
    size_t used = 0;
    for (int i = 0; option->choice(i) != NULL; i++) {
        *index = i;
        if (strcmp(option->choice(i), word) == 0)
            return STENCIL_OK;
        if (used < sizeof all)
            used +=
                (size_t)snprintf(all + used, sizeof all - used, "%s%s", i > 0 ? ", " : "", option->choice(i));
    }
    const char *nearest = options_nearest(word, choice_of, option);
    CHECK(nearest == NULL, USAGE, "--%s: '%s' is unknown, did you mean '%s'? Possible: %s", option->name,
          word, nearest, all);
    FAIL(USAGE, "--%s: '%s' is unknown. Possible: %s", option->name, word, all);
}

static stencil_status read_choice(const option *option, const char *text, void *target) {
    int64_t index;
    TRY(read_one_choice(option, text, strlen(text), &index));
    *(int *)target = (int)index;
    return STENCIL_OK;
}

static stencil_status read_choices(const option *option, const char *text, void *target) {
    option_list *list = target;
    list->count = 0;
    for (const char *at = text;; at++) {
        CHECK(list->count < option->maximum, USAGE, "--%s: '%s' has more than %" PRId64 " entries",
              option->name, text, option->maximum);
        const size_t length = element_length(at, ",");
        TRY(read_one_choice(option, at, length, &list->value[list->count++]));
        at += length;
        if (*at == '\0')
            return STENCIL_OK;
    }
}

static stencil_status read_size(const option *option, const char *text, void *target) {
    option_list *list = target;
    list->count = 0;
    const char *at = text;
    for (;; at++) {
        const size_t length = element_length(at, "x");
        int64_t cells = 0;
        if (list->count == 3 || !whole_number(at, length, &cells) || cells < 1)
            break;
        list->value[list->count++] = cells;
        at += length;
        if (*at == '\0' && list->count >= 2)
            return STENCIL_OK;
        if (*at == '\0')
            break;
    }
    FAIL(USAGE, "--%s: '%s' is not a size such as 129x65 (nx x ny) or 64x48x32 (nx x ny x nz)", option->name,
         text);
}

static stencil_status read_device_list(const option *option, const char *text, option_devices *devices) {
    devices->listed = true;
    devices->count = 0;
    for (const char *at = text; *at != '\0';) {
        const size_t length = element_length(at, ",");
        int64_t id = -1;
        CHECK(whole_number(at, length, &id) && id < 1024, USAGE,
              "--%s: '%s' is neither a count such as 2 nor a list of device numbers such as 0,2 or 2,",
              option->name, text);
        CHECK(devices->count < option->maximum, USAGE, "--%s: '%s' has more than %" PRId64 " devices",
              option->name, text, option->maximum);
        devices->id[devices->count++] = (int)id;
        at += length;
        at += *at == ',';
    }
    return STENCIL_OK;
}

static stencil_status read_devices(const option *option, const char *text, void *target) {
    option_devices *devices = target;
    if (strchr(text, ',') != NULL)
        return read_device_list(option, text, devices);
    int64_t count = 0;
    CHECK(whole_number(text, strlen(text), &count) && count >= 1 && count <= option->maximum, USAGE,
          "--%s: '%s' is neither a count from 1 to %" PRId64
          " nor a list of device numbers such as 0,2 or 2,",
          option->name, text, option->maximum);
    *devices = (option_devices){.count = (int)count};
    for (int i = 0; i < devices->count; i++)
        devices->id[i] = i;
    return STENCIL_OK;
}

stencil_status option_read(const option *option, const char *text, void *target) {
    static stencil_status (*const readers[OPTION_TYPE_COUNT])(const struct option *, const char *, void *) = {
        [OPTION_FLAG] = read_flag,   [OPTION_TEXT] = read_text,     [OPTION_INTEGER] = read_integer,
        [OPTION_REAL] = read_real,   [OPTION_CHOICE] = read_choice, [OPTION_CHOICES] = read_choices,
        [OPTION_REALS] = read_reals, [OPTION_SIZE] = read_size,     [OPTION_DEVICES] = read_devices,
    };
    return readers[option->type](option, text, target);
}

void option_clear(const option *option, void *target) {
    switch (option->type) {
    case OPTION_FLAG:
        *(bool *)target = false;
        break;
    case OPTION_TEXT:
        *(const char **)target = NULL;
        break;
    case OPTION_INTEGER:
        *(int64_t *)target = -1;
        break;
    case OPTION_REAL:
        *(double *)target = NAN;
        break;
    case OPTION_CHOICE:
        *(int *)target = -1;
        break;
    case OPTION_CHOICES:
    case OPTION_SIZE:
        *(option_list *)target = (option_list){0};
        break;
    case OPTION_REALS:
        *(option_reals *)target = (option_reals){0};
        break;
    case OPTION_DEVICES:
        *(option_devices *)target = (option_devices){0};
        break;
    case OPTION_TYPE_COUNT:
        break;
    }
}
