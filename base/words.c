#include "base/words.h"

#include <ctype.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/base.h"

/* Returns whether two letters are the same, ignoring case. */
static bool same_letter(char a, char b) {
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Returns the edit distance of two words ("optimal string alignment": insertions, deletions, replacements and
 * swaps of adjacent letters), ignoring case; INT_MAX when a word exceeds STENCIL_WORD_MAX letters. */
static int edit_distance(const char *a, const char *b) {
    int distance[STENCIL_WORD_MAX + 1][STENCIL_WORD_MAX + 1];
    const int m = (int)strlen(a), n = (int)strlen(b);
    if (m > STENCIL_WORD_MAX || n > STENCIL_WORD_MAX)
        return INT_MAX;
    for (int i = 0; i <= m; i++)
        distance[i][0] = i;
    for (int j = 0; j <= n; j++)
        distance[0][j] = j;
    for (int i = 1; i <= m; i++)
        for (int j = 1; j <= n; j++) {
            int64_t least = stencil_smaller(distance[i - 1][j], distance[i][j - 1]) + 1;
            least = stencil_smaller(least, distance[i - 1][j - 1] + !same_letter(a[i - 1], b[j - 1]));
            if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) && same_letter(a[i - 2], b[j - 1]))
                least = stencil_smaller(least, distance[i - 2][j - 2] + 1);
            distance[i][j] = (int)least;
        }
    return distance[m][n];
}

void stencil_nearest_offer(stencil_nearest *nearest, const char *candidate) {
    const int length = (int)strlen(nearest->word);
    /* About a third of the letters of a word may be wrong; beyond that it counts as another word. */
    const int wrong = (length < 4 ? 2 : length / 3 + 2) - nearest->strict, limit = wrong > 1 ? wrong : 1;
    const bool starts =
        length >= 2 + nearest->strict && strncasecmp(candidate, nearest->word, (size_t)length) == 0;
    const int distance = starts ? 0 : edit_distance(nearest->word, candidate);
    if (distance >= (nearest->name != NULL ? nearest->distance : limit))
        return;
    nearest->name = candidate;
    nearest->distance = distance;
}

int stencil_name_find(const char *name, const char *const *names) {
    for (int i = 0; names[i] != NULL; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

const char *stencil_path_last(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

char *stencil_text_add(char *text, size_t size, const char *format, ...) {
    const size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
    return text;
}

char *stencil_names_add(char *text, size_t size, const char *const *names) {
    const char *divider = "";
    for (; *names != NULL; names++)
        if (**names != '\0') {
            stencil_text_add(text, size, "%s%s", divider, *names);
            divider = ", ";
        }
    return text;
}

const char *stencil_number_text(double value, char text[STENCIL_NUMBER_CHARS]) {
    char found[STENCIL_NUMBER_CHARS] = "";
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(found, sizeof found, "%.*g", digits, value);
        if (strtod(found, NULL) == value)
            break;
    }
    memcpy(text, found, sizeof found);
    return text;
}

static void add_line(stencil_notes *notes, bool warns, const char *line) {
    int at = 0;
    while (at < notes->count && strcmp(notes->line[at], line) != 0)
        at++;
    if (at == STENCIL_NOTES_MAX)
        snprintf(notes->line[--at], STENCIL_NOTE_CHARS, "and more of the kind");
    else if (at == notes->count)
        snprintf(notes->line[notes->count++], STENCIL_NOTE_CHARS, "%s", line);
    notes->warns[at] = notes->warns[at] || warns;
}

void stencil_notes_put(stencil_notes *notes, bool warns, const char *format, ...) {
    char line[STENCIL_NOTE_CHARS];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    add_line(notes, warns, line);
}

void stencil_notes_take(stencil_notes *notes, const stencil_notes *others) {
    for (int i = 0; i < others->count; i++)
        add_line(notes, others->warns[i], others->line[i]);
}
