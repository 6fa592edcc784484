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

stencil_status bench_read_edges(const char *text, stencil_bench_options *bench) {
    const char *at = text, *end;
    int64_t edge, to;
    bool good = true, more = true;
    for (bench->edge_count = 0; good && more; at = end + 1) {
        good = read_edge(at, &end, &edge);
        to = edge;
        if (good && strncmp(end, "..", 2) == 0)
            good = read_edge(end + 2, &end, &to) && to >= edge;
        CHECK(!good || (edge > 0 && to <= EDGE_MAX), USAGE, "--sizes: '%s': sizes are 1 … 2^%d", text,
              EDGE_LEVEL_MAX);
        for (; good && edge <= to; edge *= 2) {
            for (int i = 0; i < bench->edge_count; i++)
                CHECK(bench->edge[i] != edge, USAGE, "--sizes: '%s' has %lld twice", text, (long long)edge);
            CHECK(bench->edge_count < STENCIL_BENCH_EDGES_MAX, USAGE, "--sizes: '%s' has more than %d sizes",
                  text, STENCIL_BENCH_EDGES_MAX);
            bench->edge[bench->edge_count++] = edge;
        }
        more = *end == ',';
        good = good && (more || *end == '\0');
    }
    CHECK(good, USAGE,
          "--sizes: '%s' is neither a range such as 256..16384, which doubles, nor a list such as 256,400",
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
