/* Results in a file that `stencil bench --json` wrote. */
#include <stdlib.h>
#include <string.h>

#include "app/bench.h"
#include "app/json.h"
#include "app/text.h"

static stencil_status read_file(bench_file *from) {
    TRY(json_read(from->path, &from->root));
    const json_t *version = json_object_get(from->root, "schema_version");
    const json_t *results = json_object_get(from->root, "results");
    CHECK(json_is_integer(version) && json_is_array(results), BAD_DATA,
          "not written by 'stencil bench --json'");
    CHECK(json_integer_value(version) == STENCIL_BENCH_SCHEMA_VERSION, BAD_DATA,
          "has schema version %lld, %d is read", (long long)json_integer_value(version),
          STENCIL_BENCH_SCHEMA_VERSION);
    const size_t count = json_array_size(results);
    from->result = calloc(count + 1, sizeof *from->result);
    CHECK(from->result != NULL, NO_MEMORY, "no memory for its results");
    for (size_t i = 0; i < count; i++) {
        from->result_count++;
        TRY(stencil_bench_result_read(json_array_get(results, i), &from->result[i]));
    }
    return STENCIL_OK;
}

stencil_status bench_file_open(bench_file *from, const char *option, const char *path) {
    *from = (bench_file){.path = path};
    const stencil_status status = text_name_file(read_file(from), path);
    if (status != STENCIL_OK)
        bench_file_close(from);
    return text_prefix(status, option);
}

void bench_file_close(bench_file *from) {
    for (int i = 0; i < from->result_count; i++)
        stencil_bench_result_destroy(&from->result[i]);
    free(from->result);
    json_decref(from->root);
    *from = (bench_file){.path = NULL};
}
