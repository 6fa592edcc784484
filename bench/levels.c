/* Barriers of all levels side by side, from the results of several benchmarks (Zhang et al., A Study of
 * Synchronization Methods in Modern GPUs, Fig. 12 and 13). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/bench.h"

static int64_t axis_of(const stencil_bench_row *row, const char *name, int64_t missing) {
    int64_t number;
    return stencil_bench_axis(row, name, &number) ? number : missing;
}

static bool is(const stencil_bench_row *row, const char *kind, const char *name) {
    return row->sample_count > 0 && strcmp(row->kind, kind) == 0 && strcmp(row->name, name) == 0;
}

/* Returns the entry of a barrier with a number of threads and GPUs, which is added where there is none; NULL:
 * there is no room. */
static stencil_bench_level *entry(stencil_bench_level *level, int *count, const stencil_bench_level *wanted) {
    for (int i = 0; i < *count; i++)
        if (strcmp(level[i].level, wanted->level) == 0 && strcmp(level[i].name, wanted->name) == 0 &&
            level[i].threads == wanted->threads && level[i].gpus == wanted->gpus)
            return &level[i];
    if (*count == STENCIL_BENCH_LEVELS_MAX)
        return NULL;
    level[*count] = *wanted;
    level[*count].one_s = level[*count].full_s = NAN;
    return &level[(*count)++];
}

/* Adds barriers of a warp: the cycles of one warp, and those between two barriers of a warp where a
 * multiprocessor is full of warps and makes as many as it can. */
static void add_warps(const stencil_bench_result *result, stencil_bench_level *level, int *count) {
    static const char *const barriers[] = {"__syncwarp", "tile", "coalesced"};
    static const char *const ways[] = {"", ", lanes apart"};
    for (int way = 0; way < 2; way++)
        for (int k = 0; k < 3; k++)
            for (int i = 0; i < result->row_count; i++) {
                const stencil_bench_row *row = &result->row[i];
                const int64_t size = axis_of(row, "size", 0);
                char kind[2][48];
                snprintf(kind[0], sizeof kind[0], "latency%s", ways[way]);
                snprintf(kind[1], sizeof kind[1], "throughput%s", ways[way]);
                const bool one = is(row, kind[0], barriers[k]), full = is(row, kind[1], barriers[k]);
                if ((!one && !full) || (size != 16 && size != 32))
                    continue;
                stencil_bench_level wanted = {.level = "warp", .threads = 32, .gpus = 1};
                snprintf(wanted.name, sizeof wanted.name, "%s, %lld lanes%s", barriers[k], (long long)size,
                         way > 0 ? " apart" : "");
                stencil_bench_level *to = entry(level, count, &wanted);
                if (to != NULL && one)
                    to->one_s = row->statistics.median / result->clock_hz[0];
                else if (to != NULL)
                    to->full_s = STENCIL_BENCH_FULL_WARPS / row->statistics.median / result->clock_hz[0];
            }
}

/* Adds __syncthreads(): of one block, and of as many blocks as were measured on a multiprocessor. */
static void add_blocks(const stencil_bench_result *result, stencil_bench_level *level, int *count) {
    for (int i = 0; i < result->row_count; i++) {
        const stencil_bench_row *row = &result->row[i];
        const int64_t threads = axis_of(row, "threads", 0), blocks = axis_of(row, "blocks_per_sm", 0);
        const bool one = is(row, "latency", "__syncthreads"), full = is(row, "throughput", "__syncthreads");
        if ((!one && !full) || (threads & (threads - 1)) != 0)
            continue;
        stencil_bench_level *to = entry(
            level, count,
            &(stencil_bench_level){.level = "block", .name = "__syncthreads", .threads = threads, .gpus = 1});
        if (to != NULL && one)
            to->one_s = row->statistics.median / result->clock_hz[0];
        if (to != NULL && full && blocks > to->full_blocks) {
            to->full_blocks = blocks;
            to->full_s = (double)(blocks * threads) / 32 / row->statistics.median / result->clock_hz[0];
        }
    }
}

/* Adds barriers of a grid or of several: with one block on each multiprocessor, and with the most. */
static void add_grids(const stencil_bench_result *result, const char *barrier, const char *of,
                      stencil_bench_level *level, int *count) {
    for (int i = 0; i < result->row_count; i++) {
        const stencil_bench_row *row = &result->row[i];
        const int64_t blocks = axis_of(row, "blocks_per_sm", 0);
        if (!is(row, "barrier", barrier) || blocks == 0)
            continue;
        stencil_bench_level wanted = {
            .level = of, .threads = axis_of(row, "threads", 0), .gpus = (int)axis_of(row, "gpus", 1)};
        snprintf(wanted.name, sizeof wanted.name, "%s", barrier);
        stencil_bench_level *to = entry(level, count, &wanted);
        if (to != NULL && blocks == 1)
            to->one_s = row->statistics.median;
        if (to != NULL && blocks > 1 && blocks > to->full_blocks) {
            to->full_blocks = blocks;
            to->full_s = row->statistics.median;
        }
    }
}

int stencil_bench_levels(const stencil_bench_report *report,
                         stencil_bench_level level[STENCIL_BENCH_LEVELS_MAX]) {
    static const char *const benchmarks[] = {"warp", "block", "grid", "multi-grid"};
    int count = 0, levels = 0;
    for (int k = 0; k < 4; k++) {
        const int before = count;
        for (int i = 0; i < report->result_count; i++) {
            const stencil_bench_result *result = &report->result[i];
            if (strcmp(result->benchmark, benchmarks[k]) != 0)
                continue;
            if (k == 0)
                add_warps(result, level, &count);
            else if (k == 1)
                add_blocks(result, level, &count);
            else
                add_grids(result, k == 2 ? "grid.sync" : "multi-grid", benchmarks[k], level, &count);
            if (k == 2)
                add_grids(result, "central", benchmarks[k], level, &count);
        }
        levels += count > before;
    }
    return levels > 1 ? count : 0;
}
