#include "app/options.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/text.h"

enum { HELP_COLUMN = 28 };

/* An option value that is being read: `length` characters at `at`, all of `text` or one entry of its list. */
typedef struct reading {
    const option *option;
    const char *text, *at;
    size_t length;
    void *target;
    int *count; /* number of values, where a list is allowed */
} reading;

/* Returns a value's characters as a string; "" where there are over 63, or others than `allowed`. */
static const char *digits_of(const reading *r, const char *allowed, char digits[64]) {
    snprintf(digits, 64, "%.*s", r->length < 64 && strspn(r->at, allowed) >= r->length ? (int)r->length : 0,
             r->at);
    return digits;
}

/* Tells whether a value is digits only (no sign, blank, exponent or unit) and within minimum … maximum. */
static bool is_whole(const reading *r, int64_t minimum, int64_t maximum, int64_t *number) {
    char digits[64];
    errno = 0;
    *number = strtoll(digits_of(r, "0123456789", digits), NULL, 10);
    return errno == 0 && digits[0] != '\0' && *number >= minimum && *number <= maximum;
}

static stencil_status read_choice(const reading *r) {
    const char *const name = r->option->name;
    char word[64];
    stencil_nearest nearest = {.word = word};
    snprintf(word, sizeof word, "%.*s", (int)r->length, r->at);
    if (r->option->numbered && r->length < r->option->size)
        word[strcspn(word, ":")] = '\0';
    const int index = word[0] != '\0' ? stencil_name_find(word, r->option->names) : -1;
    if (index >= 0) {
        const bool none = r->option->automatic && strcmp(word, "auto") == 0;
        if (r->option->numbered) /* the value is a word, ":" and a number */
            snprintf(r->target, r->option->size, "%.*s", (int)r->length, r->at);
        else if (r->option->type == OPTION_NAME)
            *(const char **)r->target = none ? NULL : r->option->names[index];
        else if (r->option->type == OPTION_WORD)
            snprintf(r->target, r->option->size, "%s", word);
        else
            *(int *)r->target = index;
        return STENCIL_OK;
    }
    for (const char *const *choice = r->option->names; *choice != NULL; choice++)
        if (**choice != '\0')
            stencil_nearest_offer(&nearest, *choice);
    for (const char *const *old = r->option->renamed; old != NULL && *old != NULL; old += 2)
        CHECK(strcmp(*old, word) != 0, USAGE, "--%s: '%s' is now called '%s'", name, word, old[1]);
    const char *all = stencil_names_add((char[512]){""}, 512, r->option->names);
    CHECK(nearest.name == NULL, USAGE, "--%s: '%s' is unknown, did you mean '%s'? Possible: %s", name, word,
          nearest.name, all);
    FAIL(USAGE, "--%s: '%s' is unknown. Possible: %s", name, word, all);
}

static stencil_status read_flag(const reading *r) {
    CHECK(r->text == NULL, USAGE, "--%s takes no value: leave '=%s' out", r->option->name, r->text);
    if (r->option->size == sizeof(int))
        ++*(int *)r->target;
    else
        *(bool *)r->target = true;
    return STENCIL_OK;
}

static stencil_status read_text(const reading *r) {
    CHECK(r->text[0] != '\0', USAGE, "--%s needs a value that is not empty (%s)", r->option->name,
          r->option->argument);
    *(const char **)r->target = r->text;
    return STENCIL_OK;
}

static stencil_status read_integer(const reading *r) {
    const option *option = r->option;
    int64_t number = 0;
    CHECK((option->automatic && strcmp(r->text, "auto") == 0) ||
              is_whole(r, option->minimum, option->maximum, &number),
          USAGE, "--%s: '%s' is not a whole number from %" PRId64 " to %" PRId64 "%s", option->name, r->text,
          option->minimum, option->maximum, option->automatic ? ", nor the word auto" : "");
    if (option->size == sizeof number * (size_t)(option->most > 0 ? option->most : 1))
        *(int64_t *)r->target = number;
    else
        *(uint32_t *)r->target = (uint32_t)number;
    return STENCIL_OK;
}

/* Reads a decimal number that is not negative. */
static stencil_status read_real(const reading *r) {
    const option *option = r->option;
    char digits[64], *end;
    double *number = r->target;
    if (option->none && strcmp(r->text, "none") == 0) {
        *number = NAN;
        return STENCIL_OK;
    }
    *number = strtod(digits_of(r, "0123456789.eE+-", digits), &end);
    const bool zero = strcspn(digits, "123456789") >=
                      strcspn(digits, "eE"); /* the value is written as 0, not rounded to 0 */
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
    int64_t along[3] = {0}, *extent = r->target; /* extents in the order written: x, y, z */
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
    [OPTION_FLAG] = read_flag,     [OPTION_TEXT] = read_text,       [OPTION_NAME] = read_choice,
    [OPTION_WORD] = read_choice,   [OPTION_INTEGER] = read_integer, [OPTION_REAL] = read_real,
    [OPTION_CHOICE] = read_choice, [OPTION_SIZE] = read_size,       [OPTION_DEVICES] = read_devices,
};

/* Reads `text` into the option's structure. Errors: USAGE with the option, the text and what is accepted. */
static stencil_status option_read(const option *option, const char *text, void *structure) {
    reading r = {option,
                 text,
                 text,
                 text != NULL ? strlen(text) : 0,
                 (char *)structure + option->offset,
                 (int *)(void *)((char *)structure + option->count_offset)};
    if (option->read != NULL)
        return option->read(text, structure);
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

/* Options of every command; their values are stored in the invocation. */
static const option common_table[] = {
    {"help", 'h', OPTION_FLAG, OPTION_AT(invocation, help), NULL, .help = "this help"},
    {"version", 'V', OPTION_FLAG, OPTION_AT(invocation, version), NULL, .help = "of the program"},
    {NULL},
};

static bool is_end(const option *option) {
    return option->name == NULL && option->heading == NULL && option->table == NULL;
}

/* Finds the option with name or old name `word`, or with `letter` (0: none); false: not in this table. */
static bool find_in(const option *table, void *structure, const char *word, char letter,
                    stencil_nearest *nearest, option_given *found) {
    for (const option *option = table; !is_end(option); option++) {
        if (option->table != NULL &&
            find_in(option->table, (char *)structure + option->offset, word, letter, nearest, found))
            return true;
        if (option->name == NULL)
            continue;
        const char *old = option->old_name != NULL ? option->old_name : option->name;
        if (letter != 0 ? option->letter == letter
                        : strcmp(option->name, word) == 0 || strcmp(old, word) == 0) {
            *found = (option_given){.option = option, .structure = structure};
            return true;
        }
        stencil_nearest_offer(nearest, option->name);
        stencil_nearest_offer(nearest, old);
    }
    return false;
}

static stencil_status find_option(invocation *call, const char *word, char letter, option_given *found) {
    const command *command = call->command;
    stencil_nearest nearest = {.word = word};
    if (find_in(common_table, call, word, letter, &nearest, found) ||
        find_in(command->options, call->values, word, letter, &nearest, found))
        return STENCIL_OK;
    CHECK(letter == 0, USAGE, "unknown option '-%c': 'stencil help %s' lists the options", letter,
          command->name);
    CHECK(nearest.name == NULL, USAGE, "unknown option '--%s', did you mean '--%s'? See 'stencil help %s'",
          word, nearest.name, command->name);
    FAIL(USAGE, "unknown option '--%s': 'stencil help %s' lists the options", word, command->name);
}

/* Reads the value of an option that was met: met.text (after '=' or the letter), else the next argument.
 * USAGE where an option is given by both its name and its old name. */
static stencil_status take(option_given met, invocation *call) {
    const option *option = met.option;
    if (option->type != OPTION_FLAG && met.text == NULL) {
        met.text = call->argv[++call->at];
        const bool is_option = met.text != NULL && met.text[0] == '-' && met.text[1] != '\0' &&
                               strspn(met.text + 1, "0123456789.") == 0;
        CHECK(met.text != NULL && !is_option, USAGE, "--%s needs a value: --%s %s", option->name,
              option->name, option->argument);
    }
    int at = 0;
    while (at < call->given_count && call->given[at].option != option)
        at++;
    CHECK(at == call->given_count || call->given[at].as_old == met.as_old, USAGE,
          "--%s is the old name of --%s: give one of them", option->old_name, option->name);
    CHECK(at < OPTION_GIVEN_MAX, INTERNAL, "more than %d options", OPTION_GIVEN_MAX);
    call->given_count += at == call->given_count;
    call->given[at] = met;
    return option_read(option, met.text, met.structure);
}

static stencil_status read_long(invocation *call) {
    const char *name = call->argv[call->at] + 2, *sign = strchr(name, '=');
    option_given met;
    char word[STENCIL_WORD_MAX];
    snprintf(word, sizeof word, "%.*s", (int)strcspn(name, "="), name);
    TRY(find_option(call, word, 0, &met));
    met.as_old = strcmp(met.option->name, word) != 0;
    met.text = sign != NULL ? sign + 1 : NULL;
    return take(met, call);
}

/* Reads an argument of short options: flags can be joined, a value follows directly or as next argument. */
static stencil_status read_short(invocation *call) {
    bool flag = true;
    for (const char *letter = call->argv[call->at] + 1;
         flag && *letter != '\0' && !call->help && !call->version; letter++) {
        option_given met;
        TRY(find_option(call, "", *letter, &met));
        flag = met.option->type == OPTION_FLAG;
        met.text = flag || letter[1] == '\0' ? NULL : letter + 1;
        TRY(take(met, call));
    }
    return STENCIL_OK;
}

/* Sets the values that a structure of options has before the command line is read. */
static stencil_status set_presets(const option *table, char *structure) {
    for (const option *option = table; !is_end(option); option++)
        if (option->table != NULL)
            TRY(set_presets(option->table, structure + option->offset));
        else if (option->preset != NULL)
            TRY(option_read(option, option->preset, structure));
        else if (option->type == OPTION_REAL && option->most == 0)
            *(double *)(void *)(structure + option->offset) = NAN;
    return STENCIL_OK;
}

/* Checks that each option has the option that it needs, and no option that it contradicts. */
static stencil_status check_together(const invocation *call) {
    for (const option_given *given = call->given; given < call->given + call->given_count; given++) {
        const option *option = given->option;
        CHECK(option->needs == NULL || options_given(call, option->needs), USAGE,
              "--%s has no effect without --%s: give both", option->name, option->needs);
        for (int i = 0; i < 2 && option->contradicts[i] != NULL; i++)
            CHECK(!options_given(call, option->contradicts[i]), USAGE,
                  "--%s and --%s contradict each other: %s", option->contradicts[i], option->name,
                  option->because != NULL ? option->because : "give one of them");
    }
    return STENCIL_OK;
}

stencil_status options_parse(const command *command, char **argv, void *values, invocation *call) {
    *call = (invocation){.command = command, .values = values, .argv = argv};
    memset(values, 0, command->values_size);
    TRY(set_presets(command->options, values));
    bool options = true;
    for (; argv[call->at] != NULL && !call->help && !call->version; call->at++) {
        const char *text = argv[call->at];
        if (options && strcmp(text, "--") == 0)
            options = false;
        else if (options && strncmp(text, "--", 2) == 0)
            TRY(read_long(call));
        else if (options && text[0] == '-' && text[1] != '\0')
            TRY(read_short(call));
        else {
            CHECK(text[0] != '\0', USAGE, "an empty file name: usage: stencil %s", command->usage);
            CHECK(call->operand_count < command->operand_max, USAGE,
                  "'%s' is one argument too many: usage: stencil %s", text, command->usage);
            call->operand[call->operand_count++] = text;
        }
    }
    if (call->help || call->version)
        return STENCIL_OK;
    CHECK(call->operand_count >= command->operand_min, USAGE, "a file name is missing: usage: stencil %s",
          command->usage);
    return check_together(call);
}

bool options_given(const invocation *call, const char *what) {
    const size_t length = strcspn(what, " ");
    for (const option_given *given = call->given; given < call->given + call->given_count; given++)
        if (strlen(given->option->name) == length && strncmp(given->option->name, what, length) == 0 &&
            (what[length] == '\0' || strcmp(given->text, what + length + 1) == 0))
            return true;
    return false;
}

bool options_has(const option *table, const option *wanted) {
    bool has = false;
    for (const option *option = table; !is_end(option) && !has; option++)
        has = option == wanted || (option->table != NULL && options_has(option->table, wanted));
    return has;
}

stencil_status options_apply(const invocation *call, const option *table, void *structure) {
    for (const option *option = table; option->name != NULL; option++)
        for (int i = 0; i < call->given_count; i++)
            if (call->given[i].option == option)
                TRY(option_read(option, call->given[i].text, structure));
    return STENCIL_OK;
}

/* Prints the rows of a table of options: how an option is written, its help, what it accepts, its default. */
static void print_table(FILE *out, const option *table) {
    for (const option *option = table; !is_end(option); option++) {
        if (option->heading != NULL && option->heading[0] == '\0')
            return;
        if (option->heading != NULL)
            fprintf(out, "\n%s:\n", option->heading);
        if (option->table != NULL)
            print_table(out, option->table);
        if (option->name == NULL)
            continue;
        const char *argument = option->argument != NULL ? option->argument : "";
        const char short_form[] = {'-', option->letter, ',', '\0'};
        const int column = fprintf(out, "  %3s --%s%s%s", option->letter != 0 ? short_form : "", option->name,
                                   argument[0] != '\0' ? " " : "", argument);
        fprintf(out, column > HELP_COLUMN - 2 ? "\n%*s" : "%*s",
                column > HELP_COLUMN - 2 ? HELP_COLUMN : HELP_COLUMN - column, "");
        char text[1024];
        snprintf(text, sizeof text, "%s%s", option->help, option->names != NULL ? ": " : "");
        if (option->names != NULL)
            stencil_names_add(text, sizeof text, option->names);
        if (option->preset != NULL)
            stencil_text_add(text, sizeof text, " [%s]", option->preset);
        text_print_wrapped(out, text, HELP_COLUMN, HELP_COLUMN);
    }
}

static void each_in(const option *table, void (*visit)(void *, const option *), void *context) {
    for (const option *option = table; !is_end(option); option++) {
        if (option->heading != NULL && option->heading[0] == '\0')
            return;
        if (option->table != NULL)
            each_in(option->table, visit, context);
        if (option->name != NULL)
            visit(context, option);
    }
}

void options_each(const command *command, void (*visit)(void *, const option *), void *context) {
    each_in(command->options, visit, context);
    each_in(common_table, visit, context);
}

void options_print_help(FILE *out, const command *command) {
    fprintf(out, "Usage: stencil %s\n\n", command->usage);
    fprintf(out, "%c%s.\n", toupper((unsigned char)command->summary[0]), command->summary + 1);
    print_table(out, command->options);
    fputc('\n', out);
    print_table(out, common_table);
    if (command->details != NULL) {
        fputc('\n', out);
        text_print_wrapped(out, command->details, 0, 0);
    }
}
