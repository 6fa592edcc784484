/* stencil bench: the problems that the command line states, with sizes and files. */
#include <stdlib.h>
#include <string.h>

#include "app/bench.h"

enum { EDGE_LEVEL_MAX = 40 };
#define EDGE_MAX ((int64_t)1 << EDGE_LEVEL_MAX)

/* Reads a grid edge, a number of digits up to *end; false: there is none. */
static bool read_edge(const char *text, const char **end, int64_t *edge) {
    *end = text + strspn(text, "0123456789");
    *edge = *end - text < 13 ? strtoll(text, NULL, 10) : INT64_MAX;
    return *end > text;
}

stencil_status bench_read_list(const char *option, const char *text, int64_t list[STENCIL_BENCH_EDGES_MAX],
                               int *count) {
    const char *at = text, *end, *what = option + 2;
    int64_t number, to;
    bool good = true, more = true;
    for (*count = 0; good && more; at = end + 1) {
        good = read_edge(at, &end, &number);
        to = number;
        if (good && strncmp(end, "..", 2) == 0)
            good = read_edge(end + 2, &end, &to) && to >= number;
        CHECK(!good || (number > 0 && to <= EDGE_MAX), USAGE, "%s: '%s': %s are 1 … 2^%d", option, text, what,
              EDGE_LEVEL_MAX);
        for (; good && number <= to; number *= 2) {
            for (int i = 0; i < *count; i++)
                CHECK(list[i] != number, USAGE, "%s: '%s' has %lld twice", option, text, (long long)number);
            CHECK(*count < STENCIL_BENCH_EDGES_MAX, USAGE, "%s: '%s' has more than %d %s", option, text,
                  STENCIL_BENCH_EDGES_MAX, what);
            list[(*count)++] = number;
        }
        more = *end == ',';
        good = good && (more || *end == '\0');
    }
    CHECK(good, USAGE,
          "%s: '%s' is neither a range such as 256..16384, which doubles, nor a list such as 256,400", option,
          text);
    return STENCIL_OK;
}

stencil_status bench_read_file(const char *path, const stencil_input_options *how, stencil_spec *spec) {
    stencil_input input = {0};
    stencil_status status = stencil_input_open(&input, path, how, spec);
    if (status == STENCIL_OK)
        status = stencil_input_grid(&input, spec, NULL);
    stencil_input_close(&input);
    return status;
}
