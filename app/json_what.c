/* The kinds of JSON that commands write, told apart by their members. */
#include <string.h>

#include "app/json.h"

/* Kinds of JSON files: a file of a kind has all members member[]; the first has the text `value`, unless
 * NULL. */
static const struct {
    const char *member[3], *value, *what;
} kinds[] = {
    {{"kind"}, "wisdom", "wisdom: 'stencil wisdom FILE' shows it, --wisdom FILE of 'stencil run' uses it"},
    {{"kind"},
     "calibration",
     "a calibration, which runs on that device find by themselves: 'stencil calibrate "
     "--json' writes one that --machine reads"},
    {{"command"}, "verify", "what 'stencil verify --json' wrote for other programs: no command reads it"},
    {{"command"}, "compare", "what 'stencil compare --json' wrote for other programs: no command reads it"},
    {{"results", "options"}, NULL, "a report of 'stencil bench': 'stencil bench --from FILE' reads it"},
    {{"cpu", "gpus", "kernels"},
     NULL,
     "the description of a machine: --machine FILE of 'stencil plan' and 'stencil run' reads it"},
    {{"plans"}, NULL, "what 'stencil plan --json' wrote for other programs: no command reads it"},
    {{"problem", "stop", "plan"},
     NULL,
     "the report of a run, which 'stencil run --json' wrote for other programs: no command reads it"},
    {{"traceEvents"}, NULL, "what --trace of 'stencil run' wrote: https://ui.perfetto.dev shows it"},
};

const char *json_what(const json_t *root) {
    const json_t *object = json_is_array(root) ? json_array_get(root, 0) : root;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const char *text = json_string_value(json_object_get(object, kinds[i].member[0]));
        bool all = kinds[i].value == NULL || (text != NULL && strcmp(text, kinds[i].value) == 0);
        for (int k = 0; k < 3 && kinds[i].member[k] != NULL; k++)
            all = all && json_object_get(object, kinds[i].member[k]) != NULL;
        if (all)
            return kinds[i].what;
    }
    return NULL;
}
