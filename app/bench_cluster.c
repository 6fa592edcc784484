/* The cluster that `stencil bench message` has measured, as a file. */
#include <math.h>
#include <string.h>

#include "app/bench.h"
#include "app/json.h"
#include "app/text.h"
#include "records/cluster.h"

static const stencil_bench_result *find(const stencil_bench_report *report) {
    for (int i = 0; i < report->result_count; i++)
        if (strcmp(report->result[i].benchmark, "message") == 0)
            return &report->result[i];
    return NULL;
}

static int64_t parameter(const stencil_bench_result *result, const char *name) {
    for (int i = 0; i < result->parameter_count; i++)
        if (strcmp(result->parameter[i].name, name) == 0)
            return result->parameter[i].number;
    return 0;
}

/* Returns the median of a figure of a link; NaN: it was not measured. */
static double figure(const stencil_bench_result *result, const char *name, const char *link) {
    for (int i = 0; i < result->row_count; i++) {
        const stencil_bench_row *row = &result->row[i];
        if (row->sample_count > 0 && strcmp(row->name, TEXT("%s %s", name, link)) == 0)
            return row->statistics.median;
    }
    return NAN;
}

/* Reads the figures of a link; false: it was not measured. */
static bool read_link(const stencil_bench_result *result, const char *name, stencil_link *link) {
    *link = (stencil_link){figure(result, "L", name), figure(result, "o", name), figure(result, "g", name),
                           figure(result, "G", name), figure(result, "G both ways", name)};
    return !isnan(link->latency_s) && !isnan(link->overhead_s) && !isnan(link->gap_s) &&
           !isnan(link->byte_s) && !isnan(link->both_byte_s);
}

stencil_status bench_cluster_write(const stencil_bench_report *report, const char *path, bool force) {
    const stencil_bench_result *result = find(report);
    CHECK(result != NULL && result->failed[0] == '\0' && result->skipped[0] == '\0', UNAVAILABLE,
          "--cluster: no links were measured: nothing is written");
    const int64_t hosts = parameter(result, "hosts"), ranks = parameter(result, "ranks");
    stencil_cluster cluster = {.nodes = (int)hosts,
                               .gpu = report->machine.gpu_count > 0,
                               .machine = report->machine,
                               .known_machine = true};
    cluster.devices = cluster.gpu ? report->machine.gpu_count : (int)((ranks + hosts - 1) / hosts);
    const bool inside = read_link(result, "inside", &cluster.inside);
    cluster.known_between = read_link(result, "between", &cluster.between);
    if (!inside)
        cluster.inside = cluster.between; /* each host has one rank */
    return json_write("--cluster", path, force, stencil_cluster_write(&cluster));
}
