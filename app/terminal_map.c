/* Maps for a terminal: a character, or in colours half of one, is a pixel. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/picture.h"
#include "app/text.h"
#include "solver/problem/rows.h"

/* Characters of values from the least to the largest, and what other pixels are. */
static const char ramp[] = " .:-=+*#%@";
enum { RAMP = sizeof ramp - 1, INSULATED = '/', KEPT = 'o', NOTHING = '?', INFINITE = '!' };

/* Colours among a terminal's 256, from the least to the largest value; around 0; of classes. */
static const int rising[] = {53, 54, 24, 30, 36, 72, 77, 113, 149, 184, 220};
static const int around[] = {25, 31, 67, 110, 152, 189, 231, 224, 216, 173, 167, 131, 124};
static const int of_class[PICTURE_CLASS_COLOURS] = {
    24,  214, 71,  167, 97,  137, 175, 110, 21,  46, 200, 196, 51,  148, 27,  198,
    48,  100, 91,  166, 186, 224, 213, 34,  126, 30, 33,  156, 22,  129, 239, 183,
    215, 124, 45,  115, 65,  94,  39,  152, 141, 25, 221, 135, 42,  220, 209, 125,
    197, 96,  169, 154, 119, 138, 50,  204, 36,  56, 144, 189, 199, 62,  28,  58};
enum {
    RISING = sizeof rising / sizeof *rising,
    AROUND = sizeof around / sizeof *around,
    GREY = 244,
    BRIGHT = 231,
    DARK = 16,
    PALE = 250,
    MAGENTA = 201,
    BAR = 22 /* characters of the bar of values */
};

/* Returns where a value lies among `count` steps from the least to the largest value. */
static int step_of(const picture *p, double value, int count) {
    const long double range = (long double)p->most - p->least, /* which may be more than a double holds */
        part = range > 0 ? ((long double)value - p->least) / range : 0.5L;
    const int step = (int)(fminl(1, fmaxl(0, part)) * count);
    return step < count ? step : count - 1;
}

static int colour_of(const picture *p, double value) {
    return p->classes   ? of_class[picture_class_colour(p, value)]
           : p->centred ? around[step_of(p, value, AROUND)]
                        : rising[step_of(p, value, RISING)];
}

/* Returns the character of a value; around 0 it shows the magnitude, and is blank for 0 alone. */
static char character_of(const picture *p, double value) {
    if (p->classes)
        return picture_class_character(value);
    if (!p->centred)
        return ramp[step_of(p, value, RAMP)];
    const int step = p->most > 0 ? (int)(fabs(value) / p->most * RAMP) : 0;
    return value == 0 ? ramp[0] : step < 1 ? ramp[1] : ramp[step < RAMP ? step : RAMP - 1];
}

static stencil_cell_kind kind_at(const picture *p, int64_t x, int64_t y) {
    return p->cells != NULL ? p->cells[y * p->columns + x] : 0;
}

/* Tells whether a cell that keeps its value lies beside one that does not. */
static bool is_outline(const picture *p, int64_t x, int64_t y) {
    static const int beside[4][2] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}};
    bool outline = false;
    for (int i = 0; i < 4; i++) {
        const int64_t ax = x + beside[i][0], ay = y + beside[i][1];
        outline = outline || (ax >= 0 && ax < p->columns && ay >= 0 && ay < p->rows &&
                              kind_at(p, ax, ay) != STENCIL_KIND_KEPT);
    }
    return outline && kind_at(p, x, y) == STENCIL_KIND_KEPT;
}

static const double *last_frame(const picture *p) {
    return p->values + (p->frame_count - 1) * p->rows * p->columns;
}

static int pixel_colour(const picture *p, int64_t x, int64_t y) {
    const double value = last_frame(p)[y * p->columns + x];
    if (kind_at(p, x, y) == STENCIL_KIND_INSULATED)
        return GREY;
    if (!isfinite(value))
        return isinf(value) ? MAGENTA : PALE;
    return is_outline(p, x, y) ? (p->centred ? DARK : BRIGHT) : colour_of(p, value);
}

static char pixel_character(const picture *p, int64_t x, int64_t y) {
    const double value = last_frame(p)[y * p->columns + x];
    if (kind_at(p, x, y) == STENCIL_KIND_INSULATED)
        return INSULATED;
    if (!isfinite(value))
        return isinf(value) ? INFINITE : NOTHING;
    return is_outline(p, x, y) ? KEPT : character_of(p, value);
}

/* Returns the row of pixels that is shown as number `k` from the top, and likewise a column from the left. */
static int64_t row_at(const picture *p, int64_t k) {
    return p->first_on_top || p->y.to < p->y.from ? k : p->rows - 1 - k;
}

static int64_t column_at(const picture *p, int64_t k) {
    return p->x.to < p->x.from ? p->columns - 1 - k : k;
}

/* Prints a line of `halves` (1 or 2) rows of pixels from number k from the top on. */
static void print_pixels(const picture *p, int64_t k, int halves, bool colours) {
    for (int64_t x = 0; x < p->columns; x++) {
        const int64_t column = column_at(p, x), upper = row_at(p, k);
        if (!colours)
            putchar(pixel_character(p, column, upper));
        else if (halves == 1)
            printf("\033[48;5;%dm ", pixel_colour(p, column, upper));
        else if (k + 1 < p->rows)
            printf("\033[38;5;%d;48;5;%dm▀", pixel_colour(p, column, upper),
                   pixel_colour(p, column, row_at(p, k + 1)));
        else
            printf("\033[0m\033[38;5;%dm▀", pixel_colour(p, column, upper));
    }
    fputs(colours ? "\033[0m" : "|", stdout);
}

/* Prints the coordinates of the first and the last column below the map, its label between them. */
static void print_across(const picture *p) {
    const bool turned = p->x.to < p->x.from;
    const char *first = TEXT_SHORT(turned ? p->x.last : p->x.first),
               *last = TEXT_SHORT(turned ? p->x.first : p->x.last),
               *label = TEXT("%s%s", p->x.label, PICTURE_UNIT(p->x.unit));
    const int wide = (int)p->columns, middle = text_columns(label),
              ends = (int)(strlen(first) + strlen(last)), left = (wide - middle) / 2 - (int)strlen(first),
              room = wide - ends - middle - left;
    if (left < 1 || room < 1)
        printf("%*s%s … %s %s\n", PICTURE_MARGIN, "", first, last,
               TEXT_SHORTENED(label, PICTURE_COLUMNS - PICTURE_MARGIN - ends - text_columns(" …  ")));
    else
        printf("%*s%s%*s%s%*s%s\n", PICTURE_MARGIN, "", first, left, "", label, room, "", last);
}

/* Returns one end of the values, with as many digits as tell the ends apart. */
static const char *end_text(const picture *p, double value, char text[TEXT_SIZE]) {
    enum { DIGITS = 17 };
    const bool alike = p->least != p->most && text_short_alike(p->least, p->most);
    int digits = 7;
    if (!alike)
        return text_short(value, text);
    while (digits < DIGITS && strcmp(TEXT("%.*g", digits, p->least), TEXT("%.*g", digits, p->most)) == 0)
        digits++;
    digits = digits < DIGITS ? digits + 1 : DIGITS;
    snprintf(text, TEXT_SIZE, "%.*g", digits, value);
    return text;
}

#define END_TEXT(p, value) end_text(p, value, (char[TEXT_SIZE]){""})

/* Prints colours with their classes, or what characters stand for where these are no digits, from a column
 * on. */
static void print_classes(const picture *p, bool colours, int column) {
    for (int i = 0; i < p->class_count && colours; i++) {
        const char *number = TEXT("%d", p->class_number[i]);
        const int wide = 5 + (int)strlen(number);
        const bool turns = column + wide > PICTURE_COLUMNS;
        printf("%s\033[48;5;%dm  \033[0m %s  ", turns ? "\n" : "", colour_of(p, p->class_number[i]), number);
        column = turns ? wide : column + wide;
    }
    if (!colours)
        printf("(. is 0%s%s%s)", p->most >= 10 ? ", a 10" : "", p->most >= 36 ? ", A 36" : "",
               p->most >= 62 ? ", + 62 or more" : "");
}

/* Prints the values that colours or characters stand for. */
static void print_bar(const picture *p, bool colours) {
    const char *name = TEXT("%s%s", p->label, PICTURE_UNIT(p->unit)), *least = END_TEXT(p, p->least),
               *most = END_TEXT(p, p->most);
    const char *where = p->missing + p->infinite > 0 ? "in all finite cells" : "everywhere";
    name = TEXT_SHORTENED(name, PICTURE_COLUMNS - BAR - (int)(strlen(least) + strlen(most)) -
                                    text_columns("     ±"));
    printf("%s  ", name);
    if (isnan(p->least)) {
        printf("has no finite value");
    } else if (p->classes) {
        print_classes(p, colours, text_columns(name) + 2);
    } else if (p->least == p->most && !p->centred) {
        printf("%s %s", TEXT_SHORT(p->least), where);
    } else if (p->centred && p->most == 0) {
        printf("0 %s", where);
    } else {
        printf("%s ", END_TEXT(p, p->centred && !colours ? 0 : p->least));
        for (int i = 0; i < BAR; i++) {
            const double part = (i + 0.5) / BAR, value = (1 - part) * p->least + part * p->most;
            colours ? printf("\033[48;5;%dm ", colour_of(p, value)) : printf("%c", ramp[(int)(part * RAMP)]);
        }
        printf("%s %s%s", colours ? "\033[0m" : "", p->centred && !colours ? "±" : "", END_TEXT(p, p->most));
    }
    putchar('\n');
}

/* Prints what pixels without a value's colour or character are. */
static void print_kinds(const picture *p, bool colours) {
    const struct {
        bool shown;
        int colour;
        char character;
        const char *text;
    } kind[] = {{p->has_insulated, GREY, INSULATED, "insulated"},
                {p->missing > 0, PALE, NOTHING, TEXT("no value: %s", TEXT_COUNTED(p->missing, "cell"))},
                {p->infinite > 0, MAGENTA, INFINITE, TEXT("infinite: %s", TEXT_COUNTED(p->infinite, "cell"))},
                {p->has_kept, p->centred ? DARK : BRIGHT, KEPT, "outline of fixed cells"}};
    int column = 0;
    for (size_t i = 0; i < sizeof kind / sizeof *kind; i++) {
        const int wide = 3 + text_columns(kind[i].text);
        if (!kind[i].shown)
            continue;
        if (column > 0)
            column = column + 3 + wide > PICTURE_COLUMNS ? putchar('\n'), 0 : column + printf("   ");
        if (colours)
            printf("\033[48;5;%dm  \033[0m %s", kind[i].colour, kind[i].text);
        else
            printf("%c %s", kind[i].character, kind[i].text);
        column += wide;
    }
    fputs(column > 0 ? "\n" : "", stdout);
}

/* Prints which sides are fixed. */
static void print_sides(const picture *p) {
    const picture_axis *const axis[] = {&p->x, &p->y};
    const bool *const fixed[] = {p->fixed_x, p->fixed_y};
    const char *before = "fixed sides:";
    for (int i = 0; i < 4; i++) {
        if (!fixed[i / 2][i % 2])
            continue;
        printf("%s %s%c", before, TEXT_SHORTENED(axis[i / 2]->label, 14), i % 2 == 0 ? '-' : '+');
        before = "";
    }
    fputs(before[0] == '\0' ? "\n" : "", stdout);
}

void picture_print_map(const picture *p, bool colours) {
    const int halves = colours && !output_is_ascii() ? 2 : 1;
    const int64_t lines = (p->rows + halves - 1) / halves;
    const bool first_on_top = row_at(p, 0) == 0;
    const double top = first_on_top ? p->y.first : p->y.last, bottom = first_on_top ? p->y.last : p->y.first;
    const char *down = TEXT("%s%s", p->y.label, PICTURE_UNIT(p->y.unit));
    printf("%*s\n", PICTURE_MARGIN - 1, TEXT_SHORTENED(down, PICTURE_COLUMNS));
    for (int64_t line = 0; line < lines; line++) {
        const bool labelled = line == 0 || line == lines - 1 || line == lines / 2;
        const double at = line == 0 ? top : line == lines - 1 ? bottom : (top + bottom) / 2;
        const bool shown = labelled && (line != lines / 2 || lines > 4);
        printf("%*s %s", PICTURE_MARGIN - 2, shown ? TEXT_SHORT(at) : "", colours ? " " : "|");
        print_pixels(p, line * halves, halves, colours);
        putchar('\n');
    }
    print_across(p);
    print_bar(p, colours);
    print_sides(p);
    print_kinds(p, colours);
}

picture_size picture_terminal_size(bool colours) {
    const bool halves = colours && !output_is_ascii();
    return (picture_size){PICTURE_WIDE, halves ? 52 : 26, PICTURE_WIDE * 2, 1, halves ? 1 : 2};
}

/* Prints a title, whose words that are longer than a line are shortened. */
static void print_title(const char *title) {
    char text[TEXT_NAME_SIZE] = "";
    while (*title != '\0') {
        const int length = (int)strcspn(title, " ");
        stencil_text_add(text, sizeof text, "%s%s",
                         TEXT_SHORTENED(TEXT_LONG("%.*s", length, title), PICTURE_COLUMNS - 5),
                         title[length] != '\0' ? " " : "");
        title += length + (title[length] != '\0');
    }
    text_print_wrapped(stdout, text, 0, 4);
}

void picture_print(const picture *p, bool colours) {
    const char *frame = p->frame_count == 1 ? p->frame[0].text : "";
    print_title(TEXT_LONG("%s%s%s", p->title, frame[0] != '\0' ? ", " : "", frame));
    if (p->curves)
        picture_print_curves(p, colours);
    else
        picture_print_map(p, colours);
    if (p->note[0] != '\0')
        text_print_wrapped(stdout, p->note, 0, 0);
}
