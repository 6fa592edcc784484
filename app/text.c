#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* declares fopencookie() and strcasestr() */
#endif
#include "app/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *text_number(double value, char text[TEXT_SIZE]) {
    snprintf(text, TEXT_SIZE, fabs(value) >= 9999.5 && fabs(value) < 1e15 ? "%.0f" : "%.4g", value);
    return text;
}

const char *text_short(double value, char text[TEXT_SIZE]) {
    snprintf(text, TEXT_SIZE, "%.6g", value);
    return strtod(text, NULL) == value ? text : text_number(value, text);
}

bool text_short_alike(double a, double b) {
    return strtod(TEXT_SHORT(a), NULL) == strtod(TEXT_SHORT(b), NULL);
}

const char *text_count(int64_t count, char text[TEXT_SIZE]) {
    char digits[TEXT_SIZE];
    const int length = snprintf(digits, sizeof digits, "%" PRId64, count);
    char *out = text;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0 && digits[i - 1] != '-')
            *out++ = ' ';
        *out++ = digits[i];
    }
    *out = '\0';
    return text;
}

const char *text_counted(int64_t count, const char *noun, char text[TEXT_SIZE]) {
    text_count(count, text);
    return stencil_text_add(text, TEXT_SIZE, " %s%s", noun, stencil_plural(count));
}

const char *text_extent(const int64_t *extent, int rank, const char *by, char text[96]) {
    for (int axis = rank - 1; axis >= 0; axis--)
        stencil_text_add(text, 96, "%" PRId64 "%s", extent[axis], axis > 0 ? by : "");
    return text;
}

const char *text_list(const int64_t *values, int count, char text[256]) {
    for (int i = 0; i < count; i++)
        stencil_text_add(text, 256, "%s%" PRId64, i > 0 ? ", " : "[", values[i]);
    return stencil_text_add(text, 256, "]");
}

const char *text_escape(const char *name, char *text, size_t size) {
    size_t used = 0;
    for (; *name != '\0' && used + 5 < size; name++) {
        const unsigned char c = (unsigned char)*name;
        const char *format = c == '\n' ? "\\n" : c == '\t' ? "\\t" : c < ' ' || c == 0x7f ? "\\x%02x" : "%c";
        used += (size_t)sprintf(text + used, format, c);
    }
    text[used] = '\0';
    return text;
}

/* Returns the byte count of UTF-8 characters that start with byte `first`; 0: no character does. */
static int character_bytes(char first) {
    const unsigned char c = (unsigned char)first;
    return c < 0x80 ? 1 : c < 0xC2 ? 0 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : c < 0xF5 ? 4 : 0;
}

static bool is_continuation(char c) {
    return ((unsigned char)c & 0xC0) == 0x80;
}

/* Returns the byte count of the first UTF-8 character of a text; 0: the text starts with an invalid one. */
static int utf8_length(const char *text) {
    const size_t length = strnlen(text, (size_t)character_bytes(text[0]));
    json_t *character = json_stringn(text, length); /* NULL where these bytes are not UTF-8 */
    json_decref(character);
    return character != NULL ? (int)length : 0;
}

char *text_utf8(const char *name) {
    char *text = malloc(4 * strlen(name) + 1), *out = text;
    if (text == NULL)
        return NULL;
    *out = '\0';
    while (*name != '\0') {
        const int length = utf8_length(name);
        out +=
            length > 0 ? sprintf(out, "%.*s", length, name) : sprintf(out, "\\x%02x", (unsigned char)*name);
        name += length > 0 ? length : 1;
    }
    return text;
}

/* Tells whether a shell needs no quotes around a word. */
static bool is_plain(const char *word) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=,:+@%";
    return *word != '\0' && strspn(word, plain) == strlen(word);
}

/* Tells whether all of a word can be printed as it is. */
static bool is_printable(const char *word, bool ascii) {
    while (*word != '\0') {
        const int length = utf8_length(word);
        if (length == 0 || (ascii && length > 1) || (unsigned char)*word < ' ' || *word == 0x7f)
            return false;
        word += length;
    }
    return true;
}

void text_put_quoted(FILE *out, const char *word) {
    if (is_plain(word)) {
        fputs(word, out);
        return;
    }
    fputc('\'', out);
    for (; *word != '\0'; word++)
        fputs(*word == '\'' ? "'\\''" : (const char[]){*word, '\0'}, out);
    fputc('\'', out);
}

/* Prints a word that cannot be printed as it is by the numbers of its bytes. */
static void put_numbered(FILE *out, const char *word) {
    fputs("\"$(printf '", out);
    for (; *word != '\0'; word++) {
        const unsigned char c = (unsigned char)*word;
        fprintf(out, c < ' ' || c >= 0x7f || strchr("'\\%", c) != NULL ? "\\%03o" : "%c", c);
    }
    fputs("')\"", out);
}

const char *text_quote(const char *file, char *text, size_t size) {
    FILE *out = fmemopen(text, size, "w");
    text[0] = '\0';
    if (out == NULL)
        return file;
    fputs(file[0] == '-' ? "./" : "", out);
    if (is_printable(file, output_is_ascii()))
        text_put_quoted(out, file);
    else
        put_numbered(out, file);
    fclose(out);
    text[size - 1] = '\0';
    return text;
}

stencil_status text_around(stencil_status status, const char *before, const char *after) {
    if (status == STENCIL_OK)
        return status;
    const stencil_error seen = *stencil_error_last();
    return stencil_error_set(status, seen.file, seen.line, seen.expression, "%s%s%s", before, seen.message,
                             after);
}

stencil_status text_name_out_of_memory(stencil_status status, const char *path) {
    return status == STENCIL_NO_MEMORY ? text_name_file(status, path) : status;
}

enum { COLUMNS = 80, LABEL_COLUMNS = 12 };

static int failed = 0; /* errno of the first failed output */
static bool ascii = false;

/* Stream that replaces standard output or standard error, and converts text to ASCII. */
typedef struct plain {
    FILE *to;
    char character[4]; /* the first `have` bytes of an incomplete UTF-8 character */
    int have;
} plain;

static plain out, err;

/* Characters of printed texts that are not ASCII, and their ASCII forms. */
static const char *const forms[][2] = {
    {"µ", "u"},     {"×", "x"},  {"·", "*"},      {"²", "^2"},     {"³", "^3"},     {"–", "-"},   {"−", "-"},
    {"…", "..."},   {"→", "->"}, {"≤", "<="},     {"≥", ">="},     {"±", "+-"},     {"’", "'"},   {"“", "\""},
    {"”", "\""},    {"‖", "||"}, {"λ", "lambda"}, {"α", "alpha"},  {"ω", "omega"},  {"Σ", "sum"}, {"∂", "d"},
    {"∇", "nabla"}, {"′", "'"},  {"\u00a0", " "}, {"\u2009", " "}, {"\u202f", " "},
};

/* Returns the ASCII form of a character of `length` bytes, or its bytes as \x.. where it has none. */
static const char *plain_form(const char *character, int length, char text[17]) {
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (strncmp(forms[i][0], character, (size_t)length) == 0 && forms[i][0][length] == '\0')
            return forms[i][1];
    for (int i = 0; i < length; i++)
        snprintf(text + 4 * i, 5, "\\x%02x", (unsigned char)character[i]);
    return text;
}

static int columns_of(const char *text, int length) {
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

int text_columns(const char *text) {
    return columns_of(text, (int)strlen(text));
}

const char *text_shortened(const char *text, int most, char shortened[160]) {
    const int all = (int)strlen(text), columns = columns_of(text, all), kept = most - text_columns("…");
    int head = 0, tail = all;
    if (columns <= most && all < 160)
        return memcpy(shortened, text, (size_t)all + 1);
    for (int next = 1; next <= all && next < 72 && columns_of(text, next) <= (kept + 1) / 2; next++)
        if (next == all || !is_continuation(text[next]))
            head = next;
    for (int next = all - 1;
         next > head && all - next < 72 && columns_of(text + next, all - next) <= kept / 2; next--)
        if (!is_continuation(text[next]))
            tail = next;
    snprintf(shortened, 160, "%.*s…%s", head, text, text + tail);
    return shortened;
}

void text_print_wrapped(FILE *out, const char *text, int column, int indent) {
    bool first = true; /* the next word is the first on its line */
    while (*text != '\0') {
        const int length = (int)strcspn(text, " \n"), columns = columns_of(text, length);
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

void text_print_entry(FILE *out, const char *label, const char *text) {
    text_print_wrapped(out, text, fprintf(out, "%-*s", LABEL_COLUMNS, label), LABEL_COLUMNS);
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
        p->character[p->have++] = text[i];
        if (p->have >= character_bytes(p->character[0]))
            end_character(p);
    }
    return fflush(p->to) != 0 || ferror(p->to) != 0 ? 0 : (ssize_t)size;
}

/* Replaces *stream by a stream that converts to ASCII; keeps *stream without memory. */
static void make_plain(plain *p, FILE **stream, int mode) {
    p->to = *stream;
    FILE *made = fopencookie(p, "w", (cookie_io_functions_t){.write = write_plain});
    if (made == NULL)
        return;
    setvbuf(p->to, NULL, _IOFBF, BUFSIZ);
    setvbuf(made, NULL, mode, BUFSIZ);
    *stream = made;
}

/* Tells whether the locale is UTF-8: the first of LC_ALL, LC_CTYPE and LANG that is not empty counts
 * (POSIX, 8.2). setlocale() would know installed locales only. */
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

void output_start(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) == -1 && errno == EBADF &&
            open("/dev/null", fd == STDERR_FILENO ? O_RDWR : O_RDONLY) != fd)
            break; /* open() returns the lowest free descriptor, which is fd */
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
