#include "app/completion.h"

#include <string.h>

typedef enum shell { SHELL_BASH, SHELL_ZSH, SHELL_FISH, SHELLS } shell;
static const char *const shells[] = {"bash", "zsh", "fish", NULL};

static bool takes_file(const option *option) {
    return option->type == OPTION_TEXT;
}

/* Prints the words that an option accepts, with blanks between them. */
static void print_words(const option *option) {
    const char *blank = "";
    for (const char *const *name = option->names; name != NULL && *name != NULL; name++)
        if ((*name)[0] != '\0')
            printf("%s%s", blank, *name), blank = " ";
    if (option->automatic && !(option->names != NULL && stencil_name_find("auto", option->names) >= 0))
        printf("%sauto", blank), blank = " ";
    if (option->none)
        printf("%snone", blank);
}

/* Prints a text within single quotes of a shell, with a backslash before each character of `special`. */
static void print_quoted(const char *text, const char *special) {
    for (; *text != '\0'; text++)
        if (*text == '\'')
            fputs("'\\''", stdout);
        else
            printf(strchr(special, *text) != NULL ? "\\%c" : "%c", *text);
}

static void print_option_word(void *context, const option *option) {
    (void)context;
    printf(" --%s", option->name);
    if (option->letter != 0)
        printf(" -%c", option->letter);
}

/* Prints the case of an option's value: words, files, or neither. */
static void print_bash_value(void *context, const option *option) {
    (void)context;
    if (option->type == OPTION_FLAG || takes_file(option))
        return;
    printf("        --%s", option->name);
    if (option->letter != 0)
        printf(" | -%c", option->letter);
    fputs(") values=1 words='", stdout);
    print_words(option);
    fputs("' ;;\n", stdout);
}

static void print_bash(const command *const *commands) {
    fputs("# Completion of stencil for bash, as 'stencil completion bash' prints it.\n"
          "_stencil() {\n"
          "    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=run\n"
          "    local commands='help version completion",
          stdout);
    for (const command *const *c = commands; *c != NULL; c++)
        printf(" %s", (*c)->name);
    fputs("' options= words= values=\n"
          "    case \" $commands \" in *\" ${COMP_WORDS[1]} \"*) command=${COMP_WORDS[1]} ;; esac\n"
          "    if [ \"$current\" = = ]; then\n"
          "        current=\n"
          "    elif [ \"$before\" = = ] && [ \"$COMP_CWORD\" -gt 1 ]; then\n"
          "        before=${COMP_WORDS[COMP_CWORD - 2]}\n"
          "    fi\n"
          "    case $command in\n"
          "    help) [ \"$COMP_CWORD\" -ne 2 ] || words=$commands values=1 ;;\n"
          "    completion) [ \"$COMP_CWORD\" -ne 2 ] || words='bash zsh fish' values=1 ;;\n",
          stdout);
    for (const command *const *c = commands; *c != NULL; c++) {
        printf("    %s)\n        options='", (*c)->name);
        options_each(*c, print_option_word, NULL);
        fputs("'\n        case $before in\n", stdout);
        options_each(*c, print_bash_value, NULL);
        fputs("        esac ;;\n", stdout);
    }
    fputs("    esac\n"
          "    COMPREPLY=()\n"
          "    if [ -n \"$values\" ]; then\n"
          "        compopt +o default 2>/dev/null\n"
          "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
          "        return\n"
          "    fi\n"
          "    case $current in\n"
          "    -*) mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$current\") ;;\n"
          "    *) [ \"$COMP_CWORD\" -ne 1 ] || {\n"
          "            compopt -o filenames 2>/dev/null\n"
          "            mapfile -t COMPREPLY < <(compgen -W \"$commands\" -- \"$current\"; compgen -f -- "
          "\"$current\")\n"
          "        } ;;\n"
          "    esac\n"
          "}\n"
          "complete -o default -F _stencil stencil\n",
          stdout);
}

/* Prints the first sentence of an option's help. */
static void print_help(const option *option, const char *special) {
    char text[256];
    snprintf(text, sizeof text, "%s", option->help);
    text[strcspn(text, "\n;:")] = '\0';
    print_quoted(text, special);
}

static void print_zsh_option(void *context, const option *option) {
    (void)context;
    for (int letter = 0; letter <= (option->letter != 0); letter++) {
        if (letter > 0)
            printf("            '-%c[", option->letter);
        else
            printf("            '--%s%s[", option->name, option->type == OPTION_FLAG ? "" : "=");
        print_help(option, "[]:\\");
        fputc(']', stdout);
        if (option->type != OPTION_FLAG) {
            fputc(':', stdout);
            print_quoted(option->argument, "[]:\\");
            fputs(takes_file(option) ? ":_files" : ":(", stdout);
            if (!takes_file(option))
                print_words(option), fputc(')', stdout);
        }
        fputs("' \\\n", stdout);
    }
}

static void print_zsh(const command *const *commands) {
    fputs("#compdef stencil\n"
          "# Completion of stencil for zsh, as 'stencil completion zsh' prints it.\n"
          "_stencil() {\n"
          "    local command=run\n"
          "    local -a commands=(help version completion",
          stdout);
    for (const command *const *c = commands; *c != NULL; c++)
        printf(" %s", (*c)->name);
    fputs(")\n"
          "    if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n"
          "        compadd -a commands\n"
          "        _files\n"
          "        return\n"
          "    fi\n"
          "    if (( ${commands[(Ie)$words[2]]} )); then\n"
          "        command=$words[2]\n"
          "        shift words\n"
          "        (( CURRENT-- ))\n"
          "    fi\n"
          "    case $command in\n"
          "    help) compadd -a commands ;;\n"
          "    completion) compadd bash zsh fish ;;\n",
          stdout);
    for (const command *const *c = commands; *c != NULL; c++) {
        printf("    %s)\n        _arguments -s \\\n", (*c)->name);
        options_each(*c, print_zsh_option, NULL);
        fputs("            '*:file:_files' ;;\n", stdout);
    }
    fputs("    esac\n"
          "}\n"
          "if [ \"$funcstack[1]\" = _stencil ]; then _stencil \"$@\"; else compdef _stencil stencil; fi\n",
          stdout);
}

static void print_fish_option(void *context, const option *option) {
    const command *command = context;
    const bool run = strcmp(command->name, "run") == 0;
    printf("complete -c stencil -n '%s__fish_seen_subcommand_from %s' -l %s", run ? "not " : "",
           run ? "$__stencil_others" : command->name, option->name);
    if (option->letter != 0)
        printf(" -s %c", option->letter);
    if (option->type != OPTION_FLAG)
        fputs(takes_file(option) ? " -r" : " -x -a '", stdout);
    if (option->type != OPTION_FLAG && !takes_file(option))
        print_words(option), fputc('\'', stdout);
    fputs(" -d '", stdout);
    print_help(option, "\\");
    fputs("'\n", stdout);
}

static void print_fish(const command *const *commands) {
    fputs("# Completion of stencil for fish, as 'stencil completion fish' prints it.\n"
          "set -g __stencil_others help version completion",
          stdout);
    for (const command *const *c = commands; *c != NULL; c++)
        if (strcmp((*c)->name, "run") != 0)
            printf(" %s", (*c)->name);
    fputs("\ncomplete -c stencil -n __fish_use_subcommand -a help -d 'the options of a command'\n"
          "complete -c stencil -n '__fish_seen_subcommand_from completion' -x -a 'bash zsh fish'\n",
          stdout);
    for (const command *const *c = commands; *c != NULL; c++) {
        printf("complete -c stencil -n __fish_use_subcommand -a %s -d '", (*c)->name);
        print_quoted((*c)->summary, "\\");
        fputs("'\n", stdout);
        options_each(*c, print_fish_option, (void *)(uintptr_t)*c);
    }
}

stencil_status completion_print(const char *shell, const command *const *commands) {
    void (*const print[SHELLS])(const command *const *) = {print_bash, print_zsh, print_fish};
    const int of = shell != NULL ? stencil_name_find(shell, shells) : -1;
    CHECK(of >= 0, USAGE, "completion for which shell? usage: stencil completion bash|zsh|fish");
    print[of](commands);
    return STENCIL_OK;
}
