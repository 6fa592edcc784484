/* Options of reading, which all commands that read a file have. */
#include "app/options.h"

#define AT(field) OPTION_AT(reading_options, field)

const option reading_option_table[] = {
    {"read-timeout", 0, OPTION_REAL, AT(timeout_s), "S[,S]",
     .help = "give a file up whose reading makes no progress for so long: what describes it, its numbers "
             "(5,30 where not given)",
     .most = 2, .count_offset = offsetof(reading_options, timeout_count), .maximum = 1000000,
     .positive = true},
    {"read-memory", 0, OPTION_INTEGER, AT(memory_mib), "MIB",
     .help = "give a file up whose reading takes more memory, beside four of its chunks (1024 where not "
             "given)",
     .minimum = 16, .maximum = 1 << 30},
    {NULL},
};

stencil_input_options reading_options_of(const reading_options *options, const char *field) {
    const double *s = options->timeout_s;
    stencil_input_options all = {.field = field, .limits = {.memory = options->memory_mib << 20}};
    if (options->timeout_count > 0) {
        all.limits.headers_s = s[0];
        all.limits.cells_s = s[options->timeout_count - 1];
    }
    return all;
}
