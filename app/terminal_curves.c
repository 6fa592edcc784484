/* Curves for a terminal: lines of dots, eight to a character where that can print them. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/picture.h"
#include "app/text.h"

enum { LINES = 17, DOTS_X = 2, DOTS_Y = 4 };

static const char marks[] = "*+ox#@%&";
static const int colour[] = {39, 208, 77, 175, 220, 117, 145, 203};

/* A canvas of characters: the dots of each, and the curve that has drawn there last. */
typedef struct canvas {
    bool dots; /* eight dots to a character, else one */
    uint8_t bits[LINES][PICTURE_WIDE];
    int8_t curve[LINES][PICTURE_WIDE]; /* number + 1; 0: none */
    double left, right, low, high;     /* limits of the axes, of `high` and `low` the logarithms if `log` */
    bool log;
    bool alike; /* numbers beside the axis would be the same: they are those above the lowest value */
} canvas;

static double height_of(const canvas *c, double y) {
    return c->log ? log10(y) : y;
}

static void find_limits(const picture *p, canvas *c) {
    c->left = c->low = INFINITY;
    c->right = c->high = -INFINITY;
    c->log = p->log;
    for (int i = 0; i < p->curve_count; i++)
        for (int64_t k = 0; k < p->curve[i].count; k++) {
            const double y = height_of(c, p->curve[i].y[k]);
            c->left = fmin(c->left, p->curve[i].x[k]);
            c->right = fmax(c->right, p->curve[i].x[k]);
            if (isfinite(y)) {
                c->low = fmin(c->low, y);
                c->high = fmax(c->high, y);
            }
        }
    if (c->high < c->low)
        c->low = c->high = 0;
    if (c->high == c->low) {
        c->low = fmax(c->low - (c->log || c->low == 0 ? 1 : fabs(c->low) / 2), -DBL_MAX);
        c->high = fmin(c->high + (c->log || c->high == 0 ? 1 : fabs(c->high) / 2), DBL_MAX);
    }
    const double middle = c->low / 2 + c->high / 2;
    c->alike =
        !c->log && c->low != 0 && (text_short_alike(c->low, middle) || text_short_alike(middle, c->high));
}

/* Sets the dot at (x, y), counted from the left and from below. */
static void set_dot(canvas *c, int curve, int x, int y) {
    static const uint8_t bit[DOTS_Y][DOTS_X] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    const int wide = c->dots ? DOTS_X : 1, high = c->dots ? DOTS_Y : 1, from_top = LINES * high - 1 - y;
    if (x < 0 || x >= PICTURE_WIDE * wide || y < 0 || y >= LINES * high)
        return;
    c->bits[from_top / high][x / wide] |= bit[from_top % high][x % wide];
    c->curve[from_top / high][x / wide] = (int8_t)(curve + 1);
}

/* Returns the dot of a number between two limits, of `count` dots. */
static double dot_of(double value, double from, double to, int count) {
    const long double range = (long double)to - from; /* which may be more than a double holds */
    return range != 0 ? (double)(((long double)value - from) / range * (count - 1)) : 0;
}

static void draw_curve(canvas *c, const picture_curve *curve, int number) {
    const int wide = PICTURE_WIDE * (c->dots ? DOTS_X : 1), high = LINES * (c->dots ? DOTS_Y : 1);
    double x0 = NAN, y0 = NAN;
    for (int64_t k = 0; k < curve->count; k++) {
        const double x = dot_of(curve->x[k], c->left, c->right, wide),
                     y = dot_of(height_of(c, curve->y[k]), c->low, c->high, high);
        const bool joins = isfinite(y0) && isfinite(y);
        const int steps = joins ? (int)fmax(1, fmax(fabs(x - x0), fabs(y - y0))) : 0;
        for (int i = 0; i <= steps && isfinite(y); i++) {
            const double part = steps > 0 ? (double)i / steps : 1;
            set_dot(c, number, (int)lround(joins ? x0 + part * (x - x0) : x),
                    (int)lround(joins ? y0 + part * (y - y0) : y));
        }
        x0 = x;
        y0 = y;
    }
}

/* Returns a number with as many digits as there is room for beside the canvas. */
static const char *beside_text(double value, char text[TEXT_SIZE]) {
    text_short(value, text);
    for (int digits = 4; digits > 0 && strlen(text) > PICTURE_MARGIN - 2; digits--)
        snprintf(text, TEXT_SIZE, "%.*g", digits, value);
    return text;
}

/* Prints a character of the canvas. */
static void print_character(const picture *p, const canvas *c, int line, int column, bool colours) {
    const int curve = c->curve[line][column] - 1, bits = c->bits[line][column];
    const char *before = colours && curve >= 0 ? TEXT("\033[38;5;%dm", colour[curve % 8]) : "",
               *after = colours && curve >= 0 ? "\033[0m" : "";
    if (curve < 0)
        putchar(' ');
    else if (p->curve[curve].is_limit)
        printf("%s-%s", before, after);
    else if (!c->dots)
        printf("%s%c%s", before, marks[curve % 8], after);
    else
        printf("%s\xe2%c%c%s", before, 0xa0 + (bits >> 6), 0x80 + (bits & 0x3f), after);
}

static void print_legend(const picture *p, const canvas *c, bool colours) {
    for (int i = 0; i < p->curve_count; i++) {
        const char *mark = p->curve[i].is_limit ? "-" : c->dots ? "─" : TEXT("%c", marks[i % 8]);
        printf("%*s", PICTURE_MARGIN, "");
        if (colours)
            printf("\033[38;5;%dm%s\033[0m", colour[i % 8], mark);
        else
            fputs(mark, stdout);
        printf(" %s\n", TEXT_SHORTENED(p->curve[i].name, PICTURE_COLUMNS - PICTURE_MARGIN - 4));
    }
}

void picture_print_curves(const picture *p, bool colours) {
    canvas *c = calloc(1, sizeof *c);
    int own = 0;
    if (c == NULL)
        return;
    for (int i = 0; i < p->curve_count; i++)
        own += !p->curve[i].is_limit;
    c->dots = !output_is_ascii() && (colours || own == 1);
    find_limits(p, c);
    for (int i = p->curve_count - 1; i >= 0; i--)
        draw_curve(c, &p->curve[i], i);
    const char *name = TEXT("%s%s", p->label, PICTURE_UNIT(p->unit)),
               *log = p->log     ? ", logarithmic"
                      : c->alike ? TEXT(", less %.17g", c->low)
                                 : "";
    printf("%s%s\n", TEXT_SHORTENED(name, PICTURE_COLUMNS - (int)strlen(log)), log);
    for (int line = 0; line < LINES; line++) {
        const bool labelled = line == 0 || line == LINES - 1 || line == LINES / 2;
        const double part = (double)line / (LINES - 1), at = (1 - part) * c->high + part * c->low,
                     value = c->log     ? pow(10, at)
                             : c->alike ? (1 - part) * (c->high - c->low)
                                        : at;
        printf("%*s |", PICTURE_MARGIN - 2, labelled ? beside_text(value, (char[TEXT_SIZE]){""}) : "");
        for (int column = 0; column < PICTURE_WIDE; column++)
            print_character(p, c, line, column, colours);
        putchar('\n');
    }
    const char *first = TEXT_SHORT(c->left), *last = TEXT_SHORT(c->right),
               *label = TEXT_SHORTENED(TEXT("%s%s", p->x.label, PICTURE_UNIT(p->x.unit)),
                                       PICTURE_WIDE - 2 - (int)(strlen(first) + strlen(last)));
    const int left = (PICTURE_WIDE - text_columns(label)) / 2 - (int)strlen(first),
              right = PICTURE_WIDE - left - text_columns(label) - (int)(strlen(first) + strlen(last));
    printf("%*s%s%*s%s%*s%s\n", PICTURE_MARGIN, "", first, left, "", label, right, "", last);
    print_legend(p, c, colours);
    free(c);
}
