#include "app/duration.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the seconds of a unit of time; 0: the text is none. */
static double unit_s(const char *text) {
    static const struct {
        const char *name;
        double seconds;
    } unit[] = {{"s", 1}, {"sec", 1}, {"min", 60}, {"m", 60}, {"h", 3600}, {"d", 86400}};
    for (size_t i = 0; i < sizeof unit / sizeof *unit; i++)
        if (strcmp(text, unit[i].name) == 0)
            return unit[i].seconds;
    return 0;
}

bool duration_parse(const char *text, double *seconds) {
    unsigned days = 0, hours = 0, minutes = 0, whole = 0;
    int end = 0;
    char *unit;
    if (strspn(text, "0123456789:-") == strlen(text) && text[0] != '-') {
        const bool with_days = strchr(text, '-') != NULL;
        const int read = with_days ? sscanf(text, "%5u-%2u:%2u:%2u%n", &days, &hours, &minutes, &whole, &end)
                                   : sscanf(text, "%6u:%2u:%2u%n", &hours, &minutes, &whole, &end);
        *seconds = 86400.0 * days + 3600.0 * hours + 60.0 * minutes + whole;
        return read == (with_days ? 4 : 3) && text[end] == '\0' && minutes < 60 && whole < 60 && *seconds > 0;
    }
    if (text[0] == '\0' || strspn(text, "0123456789.") == 0)
        return false;
    const double number = strtod(text, &unit);
    *seconds = number * unit_s(unit);
    return isfinite(*seconds) && *seconds > 0;
}
