#define _GNU_SOURCE /* fopencookie, strcasestr */
#include "app/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COLUMNS = 80 };

static int failed = 0; /* errno of the first failure */
static bool ascii = false;

/* A stream in place of standard output or standard error, on its way there. */
typedef struct plain {
    FILE *to;
    char character[4]; /* the UTF-8 character whose bytes are coming in, [have] of [want] */
    int have, want;
} plain;

static plain out, err;

/* The characters of our texts that are not ASCII, those that may come, and what stands for them. */
static const char *const forms[][2] = {
    {"µ", "u"},  {"×", "x"},      {"·", "*"},      {"²", "2"},      {"³", "3"},
    {"–", "-"},  {"−", "-"},      {"…", "..."},    {"→", "->"},     {"≤", "<="},
    {"≥", ">="}, {"±", "+-"},     {"’", "'"},      {"“", "\""},     {"”", "\""},
    {"‖", "||"}, {"λ", "lambda"}, {"\u00a0", " "}, {"\u2009", " "}, {"\u202f", " "},
};

/* What stands for a character of `length` bytes: a form, or its bytes as \x.. (returned). */
static const char *plain_form(const char *character, int length, char text[17]) {
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (strncmp(forms[i][0], character, (size_t)length) == 0 && forms[i][0][length] == '\0')
            return forms[i][1];
    for (int i = 0; i < length; i++)
        snprintf(text + 4 * i, 5, "\\x%02x", (unsigned char)character[i]);
    return text;
}

/* Bytes of the character that starts with `first`; 1 where none does. */
static int character_bytes(char first) {
    const unsigned char c = (unsigned char)first;
    return c >= 0xf0 && c < 0xf8 ? 4 : c >= 0xe0 && c < 0xf0 ? 3 : c >= 0xc0 && c < 0xe0 ? 2 : 1;
}

static bool is_continuation(char c) {
    return ((unsigned char)c & 0xc0) == 0x80;
}

int output_columns(const char *text, int length) {
    int columns = 0;
    for (int i = 0, bytes; i < length; i += bytes) {
        char form[17];
        bytes = 1;
        while (bytes < character_bytes(text[i]) && i + bytes < length && is_continuation(text[i + bytes]))
            bytes++;
        columns +=
            ascii && (unsigned char)text[i] >= 0x80 ? (int)strlen(plain_form(text + i, bytes, form)) : 1;
    }
    return columns;
}

void output_wrapped(FILE *out, const char *text, int column, int indent) {
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

static void end_character(plain *p) {
    char text[17];
    if (p->have > 0)
        fputs(plain_form(p->character, p->have, text), p->to);
    p->have = 0;
}

static ssize_t write_plain(void *cookie, const char *text, size_t size) {
    plain *p = cookie;
    clearerr(p->to);
    for (size_t i = 0; i < size; i++) {
        if (p->have > 0 && !is_continuation(text[i]))
            end_character(p);
        if ((unsigned char)text[i] < 0x80) {
            fputc(text[i], p->to);
            continue;
        }
        if (p->have == 0)
            p->want = character_bytes(text[i]);
        p->character[p->have++] = text[i];
        if (p->have == p->want)
            end_character(p);
    }
    return fflush(p->to) != 0 || ferror(p->to) != 0 ? 0 : (ssize_t)size;
}

/* Puts another stream in the place of *stream, where there is memory for it. */
static void make_plain(plain *p, FILE **stream, int mode) {
    p->to = *stream;
    FILE *made = fopencookie(p, "w", (cookie_io_functions_t){.write = write_plain});
    if (made == NULL)
        return;
    setvbuf(p->to, NULL, _IOFBF, BUFSIZ);
    setvbuf(made, NULL, mode, BUFSIZ);
    *stream = made;
}

/* POSIX, 8.2: the first of these that is set and not empty counts. Asked here and not by setlocale(), which
 * knows only locales that are installed. */
static bool locale_is_utf8(void) {
    static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *value = getenv(variables[i]);
        if (value == NULL || value[0] == '\0')
            continue;
        return strcasestr(value, "UTF-8") != NULL || strcasestr(value, "UTF8") != NULL;
    }
    return false;
}

static void open_descriptors(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) != -1 || errno != EBADF)
            continue;
        /* open() takes the lowest free number, which is fd. */
        const int opened = open("/dev/null", fd == STDERR_FILENO ? O_RDWR : O_RDONLY);
        if (opened < 0)
            return;
    }
}

void output_start(void) {
    open_descriptors();
    ascii = !locale_is_utf8();
    if (!ascii)
        return;
    make_plain(&out, &stdout, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF);
    make_plain(&err, &stderr, _IONBF);
}

bool output_is_ascii(void) {
    return ascii;
}

void output_flush(void) {
    errno = 0;
    if ((fflush(stdout) != 0 || ferror(stdout) != 0) && failed == 0)
        failed = errno != 0 ? errno : EIO;
}

stencil_status output_check(void) {
    output_flush();
    CHECK(failed == 0 || failed == EPIPE, IO, "the report cannot be written to standard output: %s",
          strerror(failed));
    return STENCIL_OK;
}
