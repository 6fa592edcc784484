/* stencil bench: the problems that the command line states, with sizes and files. */
#include <stdlib.h>
#include <string.h>

#include "app/bench.h"
#include "inputs/inputs.h"

/* A number up to `end`; false: there is none. */
static bool read_edge(const char *text, const char **end, int64_t *edge) {
    *end = text + strspn(text, "0123456789");
    *edge = *end - text < 11 ? strtoll(text, NULL, 10) : 0;
    return *edge > 0;
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
        for (; good && edge <= to; edge *= 2) {
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

stencil_status bench_read_file(const char *path, stencil_spec *spec) {
    stencil_input input = {0};
    const stencil_status status = stencil_input_open(&input, path, spec);
    stencil_input_close(&input);
    return status;
}
