#include "app/options.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/words.h"
#include "app/output.h"

enum { COLUMNS = 80, HELP_COLUMN = 28 };

/* What every command knows; the values are in the invocation. */
static const option common_table[] = {
    {"help", 'h', OPTION_FLAG, OPTION_AT(invocation, help), NULL, .help = "this help"},
    {"version", 'V', OPTION_FLAG, OPTION_AT(invocation, version), NULL, .help = "of the program"},
    {NULL},
};

/* The option with this name, old or new, or with this letter, where it is not 0; NULL: not in this table. */
static const option *find_in(const option *table, const char *word, char letter, stencil_nearest *nearest) {
    for (const option *option = table; option->name != NULL; option++) {
        const char *old = option->old_name != NULL ? option->old_name : option->name;
        if (letter != 0 ? option->letter == letter
                        : strcmp(option->name, word) == 0 || strcmp(old, word) == 0)
            return option;
        stencil_nearest_offer(nearest, option->name);
        stencil_nearest_offer(nearest, old);
    }
    return NULL;
}

static stencil_status find_option(invocation *call, const char *word, char letter, option_given *found) {
    const command *command = call->command;
    stencil_nearest nearest = {word, NULL, 0};
    *found = (option_given){.option = find_in(common_table, word, letter, &nearest), .structure = call};
    for (const option_group *group = command->groups; found->option == NULL && group->title != NULL;
         group++) {
        found->option = find_in(group->options, word, letter, &nearest);
        found->structure = (char *)call->values + group->base;
    }
    if (found->option != NULL)
        return STENCIL_OK;
    CHECK(letter == 0, USAGE, "unknown option '-%c': 'stencil help %s' lists the options", letter,
          command->name);
    CHECK(nearest.name == NULL, USAGE, "unknown option '--%s', did you mean '--%s'? See 'stencil help %s'",
          word, nearest.name, command->name);
    FAIL(USAGE, "unknown option '--%s': 'stencil help %s' lists the options", word, command->name);
}

/* Where reading stands in argv. */
typedef struct cursor {
    int argc, at;
    char **argv;
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

/* Reads the value of an option that was met: its text (behind '=' or the letter) or else the next argument.
 * Its two names are one option: who gives both means two things. */
static stencil_status take(option_given met, cursor *cursor, invocation *call) {
    const option *option = met.option;
    if (option->type != OPTION_FLAG && met.text == NULL)
        TRY(next_value(option, cursor, &met.text));
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

static stencil_status read_long(cursor *cursor, invocation *call) {
    const char *name = cursor->argv[cursor->at] + 2, *sign = strchr(name, '=');
    option_given met;
    char word[STENCIL_WORD_MAX];
    snprintf(word, sizeof word, "%.*s", (int)strcspn(name, "="), name);
    TRY(find_option(call, word, 0, &met));
    met.as_old = strcmp(met.option->name, word) != 0;
    met.text = sign != NULL ? sign + 1 : NULL;
    return take(met, cursor, call);
}

/* One argument of short options: flags can stand together, a value follows directly or as the next argument.
 */
static stencil_status read_short(cursor *cursor, invocation *call) {
    bool flag = true;
    for (const char *letter = cursor->argv[cursor->at] + 1;
         flag && *letter != '\0' && !call->help && !call->version; letter++) {
        option_given met;
        TRY(find_option(call, "", *letter, &met));
        flag = met.option->type == OPTION_FLAG;
        met.text = flag || letter[1] == '\0' ? NULL : letter + 1;
        TRY(take(met, cursor, call));
    }
    return STENCIL_OK;
}

static stencil_status read_operand(const char *text, invocation *call) {
    const command *command = call->command;
    CHECK(text[0] != '\0', USAGE, "an empty file name: usage: stencil %s", command->usage);
    CHECK(call->operand_count < command->operand_max, USAGE,
          "'%s' is one argument too many: usage: stencil %s", text, command->usage);
    call->operand[call->operand_count++] = text;
    return STENCIL_OK;
}

/* What stands in the values before the command line is read. */
static stencil_status set_presets(const command *command, void *values) {
    memset(values, 0, command->values_size);
    for (const option_group *group = command->groups; group->title != NULL; group++)
        for (const option *option = group->options; option->name != NULL; option++) {
            char *structure = (char *)values + group->base;
            if (option->preset != NULL)
                TRY(option_read(option, option->preset, structure));
            else if (option->type == OPTION_REAL && option->most == 0)
                *(double *)(void *)(structure + option->offset) = NAN;
        }
    return STENCIL_OK;
}

/* Which options go with others. */
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

stencil_status options_parse(const command *command, int argc, char **argv, void *values, invocation *call) {
    *call = (invocation){.command = command, .values = values};
    TRY(set_presets(command, values));
    bool options = true;
    for (cursor cursor = {argc, 0, argv}; cursor.at < argc && !call->help && !call->version; cursor.at++) {
        const char *text = argv[cursor.at];
        if (options && strcmp(text, "--") == 0)
            options = false;
        else if (options && strncmp(text, "--", 2) == 0)
            TRY(read_long(&cursor, call));
        else if (options && text[0] == '-' && text[1] != '\0')
            TRY(read_short(&cursor, call));
        else
            TRY(read_operand(text, call));
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

stencil_status options_apply(const invocation *call, const option *table, void *structure) {
    for (const option *option = table; option->name != NULL; option++)
        for (int i = 0; i < call->given_count; i++)
            if (call->given[i].option == option)
                TRY(option_read(option, call->given[i].text, structure));
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

/* An option's sentence, what it accepts, and what it is where it is not given. */
static void print_meaning(FILE *out, const option *option) {
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
    options_print_wrapped(out, text, HELP_COLUMN, HELP_COLUMN);
}

static void print_table(FILE *out, const option *table) {
    for (const option *option = table; option->name != NULL; option++) {
        const char *argument = option->argument != NULL ? option->argument : "";
        const char short_form[] = {'-', option->letter, ',', '\0'};
        const int column = fprintf(out, "  %3s --%s%s%s", option->letter != 0 ? short_form : "", option->name,
                                   argument[0] != '\0' ? " " : "", argument);
        fprintf(out, column > HELP_COLUMN - 2 ? "\n%*s" : "%*s",
                column > HELP_COLUMN - 2 ? HELP_COLUMN : HELP_COLUMN - column, "");
        print_meaning(out, option);
    }
}

void options_print_help(FILE *out, const command *command) {
    fprintf(out, "Usage: stencil %s\n\n", command->usage);
    fprintf(out, "%c%s.\n", toupper((unsigned char)command->summary[0]), command->summary + 1);
    for (const option_group *group = command->groups; group->title != NULL; group++)
        if (group->title[0] != '\0') {
            fprintf(out, "\n%s:\n", group->title);
            print_table(out, group->options);
        }
    fputc('\n', out);
    print_table(out, common_table);
    if (command->details != NULL) {
        fputc('\n', out);
        options_print_wrapped(out, command->details, 0, 0);
    }
}
