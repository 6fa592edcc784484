/* stencil bench --plot: plots drawn by bench_plot.py, which is installed with this program. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "app/bench.h"
#include "app/json.h"
#include "app/script.h"
#include "app/text.h"

stencil_status bench_plot(const stencil_bench_report *report, const char *option, const char *directory) {
    const script draws = {"--plot", "bench_plot.py", {option, "--", directory}};
    json_t *root = report != NULL ? stencil_bench_report_json(report) : json_object();
    FILE *input = tmpfile();
    stencil_status status = STENCIL_OK;
    if (input == NULL || json_dumpf(root, input, 0) != 0 || fflush(input) != 0)
        status = ERROR(IO, "--plot: cannot write a temporary file: %s", strerror(errno));
    else
        rewind(input);
    if (status == STENCIL_OK)
        status = script_run(&draws, input);
    if (input != NULL)
        fclose(input);
    json_decref(root);
    return status;
}

/* Returns the number of a result among results of its benchmark: plots of the second are named "NAME-2". */
static int number_of(const stencil_bench_report *report, int result) {
    int number = 0;
    for (int i = 0; i <= result; i++)
        number += strcmp(report->result[i].benchmark, report->result[result].benchmark) == 0;
    return number;
}

/* Tells whether a report names benchmarks of several levels, which are drawn together. */
static bool may_have_levels(const stencil_bench_report *report) {
    static const char *const levels[] = {"warp", "block", "grid", "multi-grid", NULL};
    int count = 0;
    for (int i = 0; i < report->result_count; i++)
        count += stencil_name_find(report->result[i].benchmark, levels) >= 0;
    return count > 1;
}

stencil_status bench_plot_check(const stencil_bench_report *report, const char *directory, bool force) {
    static const char *const style[] = {"map", "lines", "box", "shares", "lanes", "bars"};
    enum { STYLES = sizeof style / sizeof *style };
    char path[TEXT_NAME_SIZE];
    CHECK(mkdir(directory, 0777) == 0 || errno == EEXIST, CANNOT_CREATE, "--plot: cannot make '%s': %s",
          TEXT_ESCAPE(directory), strerror(errno));
    for (int i = 0; i < report->result_count * STYLES; i++) {
        const int number = number_of(report, i / STYLES);
        const int length =
            snprintf(path, sizeof path, "%s/%s%s-%s.png", directory, report->result[i / STYLES].benchmark,
                     number > 1 ? TEXT("-%d", number) : "", style[i % STYLES]);
        CHECK(length < (int)sizeof path, USAGE, "--plot: the name of the directory is too long");
        TRY(target_check("--plot", path, force, NULL));
    }
    if (may_have_levels(report)) {
        const int length = snprintf(path, sizeof path, "%s/levels.png", directory);
        CHECK(length < (int)sizeof path, USAGE, "--plot: the name of the directory is too long");
        TRY(target_check("--plot", path, force, NULL));
    }
    return bench_plot(NULL, "--check", directory);
}
