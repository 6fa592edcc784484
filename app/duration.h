/* Spans of time in options: "10min", "1.5h", "23:50:00", "2-12:00:00". */
#pragma once

#include "base/base.h"

/* Parses a number with a unit (s, min, h, d), or hours:minutes:seconds, also with days as D-H:M:S, as batch
 * systems write limits. False: the text is none of them, or not more than 0. */
bool duration_parse(const char *text, double *seconds);
