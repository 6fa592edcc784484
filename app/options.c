#include "app/options.h"

#include <ctype.h>
#include <string.h>

#include "base/words.h"
#include "app/output.h"

enum { COLUMNS = 80, HELP_COLUMN = 28 };

/* The option with this name, old or new, or with this letter, where it is not 0. */
static stencil_status find_option(const command *command, const char *word, char letter,
                                  const option_group **in, const option **found) {
    stencil_nearest nearest = {word, NULL, 0};
    for (const option_group *group = command->groups; group->title != NULL; group++)
        for (const option *option = group->options; option->name != NULL; option++) {
            const char *old = option->old_name != NULL ? option->old_name : option->name;
            *in = group;
            *found = option;
            if (letter != 0 ? option->letter == letter
                            : strcmp(option->name, word) == 0 || strcmp(old, word) == 0)
                return STENCIL_OK;
            stencil_nearest_offer(&nearest, option->name);
            stencil_nearest_offer(&nearest, old);
        }
    CHECK(letter == 0, USAGE, "unknown option '-%c': 'stencil help %s' lists the options", letter,
          command->name);
    stencil_nearest_offer(&nearest, "help");
    stencil_nearest_offer(&nearest, "version");
    CHECK(nearest.name == NULL, USAGE, "unknown option '--%s', did you mean '--%s'? See 'stencil help %s'",
          word, nearest.name, command->name);
    FAIL(USAGE, "unknown option '--%s': 'stencil help %s' lists the options", word, command->name);
}

/* Where reading stands in argv, and where the values go. */
typedef struct cursor {
    int argc, at;
    char **argv;
    void *values;
} cursor;

/* The argument behind an option that needs a value. */
static stencil_status next_value(const option *option, cursor *cursor, const char **value) {
    const char *next = cursor->at + 1 < cursor->argc ? cursor->argv[cursor->at + 1] : NULL;
    const bool is_option =
        next != NULL && next[0] == '-' && next[1] != '\0' && strspn(next + 1, "0123456789.") == 0;
    CHECK(next != NULL && !is_option, USAGE, "--%s needs a value: --%s %s", option->name, option->name,
          option->argument);
    *value = next;
    cursor->at++;
    return STENCIL_OK;
}

/* Reads the value of an option that was met, `value` (behind '=' or the letter) or else the next argument.
 * Its two names are one option: who gives both means two things. */
static stencil_status take(const option_group *group, const option *option, bool as_old, const char *value,
                           cursor *cursor, invocation *call) {
    if (option->type != OPTION_FLAG && value == NULL)
        TRY(next_value(option, cursor, &value));
    int at = 0;
    while (at < call->given_count && call->given[at] != option)
        at++;
    CHECK(at == call->given_count || call->given_as_old[at] == as_old, USAGE,
          "--%s is the old name of --%s: give one of them", option->old_name, option->name);
    if (at == call->given_count) {
        CHECK(at < OPTION_GIVEN_MAX, INTERNAL, "more than %d options", OPTION_GIVEN_MAX);
        call->given_as_old[at] = as_old;
        call->given[call->given_count++] = option;
    }
    call->given_text[at] = value;
    return option_read(option, value, (char *)cursor->values + group->base);
}

/* What every command knows. */
static bool is_question(const char *name, char letter, invocation *call) {
    call->help = letter == 'h' || strcmp(name, "help") == 0;
    call->version = letter == 'V' || strcmp(name, "version") == 0;
    return call->help || call->version;
}

static stencil_status read_long(const command *command, cursor *cursor, invocation *call) {
    const char *name = cursor->argv[cursor->at] + 2, *sign = strchr(name, '=');
    const option_group *group;
    const option *option;
    char word[STENCIL_WORD_MAX];
    if (is_question(name, 0, call))
        return STENCIL_OK;
    snprintf(word, sizeof word, "%.*s", (int)strcspn(name, "="), name);
    TRY(find_option(command, word, 0, &group, &option));
    return take(group, option, strcmp(option->name, word) != 0, sign != NULL ? sign + 1 : NULL, cursor, call);
}

/* One argument of short options: flags can stand together, a value follows directly or as the next argument.
 */
static stencil_status read_short(const command *command, cursor *cursor, invocation *call) {
    const option_group *group;
    const option *option;
    bool flag = true;
    for (const char *letter = cursor->argv[cursor->at] + 1; flag && *letter != '\0'; letter++) {
        if (is_question("", *letter, call))
            return STENCIL_OK;
        TRY(find_option(command, "", *letter, &group, &option));
        flag = option->type == OPTION_FLAG;
        TRY(take(group, option, false, flag || letter[1] == '\0' ? NULL : letter + 1, cursor, call));
    }
    return STENCIL_OK;
}

static stencil_status read_operand(const command *command, const char *text, invocation *call) {
    CHECK(text[0] != '\0', USAGE, "an empty file name: usage: stencil %s", command->usage);
    CHECK(call->operand_count < command->operand_max, USAGE,
          "'%s' is one argument too many: usage: stencil %s", text, command->usage);
    call->operand[call->operand_count++] = text;
    return STENCIL_OK;
}

stencil_status options_parse(const command *command, int argc, char **argv, void *values, invocation *call) {
    *call = (invocation){.command = command, .values = values};
    for (const option_group *group = command->groups; group->title != NULL; group++)
        for (const option *option = group->options; option->name != NULL; option++) {
            option_clear(option, (char *)values + group->base);
            if (option->preset != NULL)
                TRY(option_read(option, option->preset, (char *)values + group->base));
        }
    bool options = true;
    for (cursor cursor = {argc, 0, argv, values}; cursor.at < argc && !call->help && !call->version;
         cursor.at++) {
        const char *text = argv[cursor.at];
        if (options && strcmp(text, "--") == 0)
            options = false;
        else if (options && strncmp(text, "--", 2) == 0)
            TRY(read_long(command, &cursor, call));
        else if (options && text[0] == '-' && text[1] != '\0')
            TRY(read_short(command, &cursor, call));
        else
            TRY(read_operand(command, text, call));
    }
    if (call->help || call->version)
        return STENCIL_OK;
    CHECK(call->operand_count >= command->operand_min, USAGE, "a file name is missing: usage: stencil %s",
          command->usage);
    for (int i = 0; i < call->given_count; i++)
        CHECK(call->given[i]->needs == NULL || options_given(call, call->given[i]->needs), USAGE,
              "--%s has no effect without --%s: give both", call->given[i]->name, call->given[i]->needs);
    return STENCIL_OK;
}

bool options_given(const invocation *call, const char *name) {
    for (int i = 0; i < call->given_count; i++)
        if (strcmp(call->given[i]->name, name) == 0)
            return true;
    return false;
}

stencil_status options_apply(const invocation *call, const option *table, void *structure) {
    for (const option *option = table; option->name != NULL; option++)
        for (int i = 0; i < call->given_count; i++)
            if (call->given[i] == option)
                TRY(option_read(option, call->given_text[i], structure));
    return STENCIL_OK;
}

void options_print_wrapped(FILE *out, const char *text, int column, int indent) {
    bool first = true; /* on its line */
    while (*text != '\0') {
        const int length = (int)strcspn(text, " \n"), columns = output_columns(text, length);
        if (!first && column + 1 + columns > COLUMNS - 1) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
            first = true;
        }
        fprintf(out, "%s%.*s", first ? "" : " ", length, text);
        column += !first + columns;
        first = false;
        text += length;
        if (*text == '\n') {
            fprintf(out, "\n%*s", text[1] == '\n' ? 0 : indent, "");
            column = indent;
            first = true;
        }
        text += *text != '\0';
    }
    fputc('\n', out);
}

static void print_option(FILE *out, const option *option) {
    char text[1024];
    snprintf(text, sizeof text, "%s", option->help);
    const char *divider = ": ", *name;
    for (int i = 0; (name = option_choice(option, i)) != NULL; i++)
        if (name[0] != '\0') {
            stencil_text_add(text, sizeof text, "%s%s", divider, name);
            divider = ", ";
        }
    if (option->preset != NULL)
        stencil_text_add(text, sizeof text, " [%s]", option->preset);
    const char short_form[] = {'-', option->letter, ',', '\0'};
    int column =
        fprintf(out, "  %3s --%s%s%s", option->letter != 0 ? short_form : "", option->name,
                option->argument != NULL ? " " : "", option->argument != NULL ? option->argument : "");
    if (column > HELP_COLUMN - 2) {
        fputc('\n', out);
        column = 0;
    }
    fprintf(out, "%*s", HELP_COLUMN - column, "");
    options_print_wrapped(out, text, HELP_COLUMN, HELP_COLUMN);
}

void options_print_help(FILE *out, const command *command) {
    fprintf(out, "Usage: stencil %s\n\n", command->usage);
    fprintf(out, "%c%s.\n", toupper((unsigned char)command->summary[0]), command->summary + 1);
    for (const option_group *group = command->groups; group->title != NULL; group++) {
        if (group->title[0] == '\0')
            continue;
        fprintf(out, "\n%s:\n", group->title);
        for (const option *option = group->options; option->name != NULL; option++)
            print_option(out, option);
    }
    fprintf(out, "\n  -h, --help                this help\n  -V, --version             of the program\n");
    if (command->details != NULL) {
        fputc('\n', out);
        options_print_wrapped(out, command->details, 0, 0);
    }
}
