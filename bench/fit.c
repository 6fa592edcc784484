/* Models of the time of a barrier over the number of blocks, fitted to what was measured. */
#include <math.h>
#include <string.h>

#include "bench/bench.h"

void stencil_fit_line(const double *n, const double *time_s, int count, bool constant,
                      stencil_bench_fit *fit) {
    double mean_n = 0, mean_s = 0, nn = 0, ns = 0, squares = 0;
    for (int i = 0; i < count; i++) {
        mean_n += n[i] / count;
        mean_s += time_s[i] / count;
    }
    for (int i = 0; i < count; i++) {
        nn += (n[i] - mean_n) * (n[i] - mean_n);
        ns += (n[i] - mean_n) * (time_s[i] - mean_s);
    }
    const double each_s = constant ? 0 : ns / nn;
    fit->points = count;
    fit->each_s = constant ? NAN : each_s;
    fit->rest_s = mean_s - each_s * mean_n;
    for (int i = 0; i < count; i++) {
        const double left_s = time_s[i] - fit->rest_s - each_s * n[i];
        squares += left_s * left_s;
    }
    fit->residual_s = sqrt(squares / count);
    fit->relative = fit->residual_s / mean_s;
}

/* Sets *n to the number of blocks or threads that a row's barrier holds, and *per to the name of what is
 * counted. Records from before rows had `workers` have only blocks per multiprocessor. Returns false for a
 * row that is no barrier of one grid or team. */
static bool count_of(const stencil_bench_row *row, double *n, const char **per) {
    int64_t number;
    if (strcmp(row->kind, "barrier") != 0 || strcmp(row->unit, "s/pass") != 0 || row->sample_count == 0 ||
        stencil_bench_axis(row, "gpus", &number))
        return false;
    const bool blocks = stencil_bench_axis(row, "blocks_per_sm", &number);
    if (!blocks && !stencil_bench_axis(row, "threads", &number))
        return false;
    *per = !blocks ? "thread" : row->workers > 0 ? "block" : "block per multiprocessor";
    *n = blocks && row->workers > 0 ? row->workers : (double)number;
    return true;
}

enum { POINTS_MAX = 256, POINTS_LEAST = 3 };

/* The points of a barrier, and what is counted along n. */
typedef struct points {
    int count;
    bool differ; /* n has several values */
    double n[POINTS_MAX], time_s[POINTS_MAX];
    const char *per;
} points;

/* Collects the points of the barrier of row `first`. a_thread_each: only those where a block has a thread for
 * each block, which `lock-free` needs for its time not to depend on their number. */
static void collect(const stencil_bench_result *result, int first, bool a_thread_each, points *p) {
    p->count = 0;
    p->differ = false;
    for (int i = first; i < result->row_count && p->count < POINTS_MAX; i++) {
        const stencil_bench_row *row = &result->row[i];
        int64_t threads = 0;
        double n;
        if (strcmp(row->name, result->row[first].name) != 0 || !count_of(row, &n, &p->per) ||
            (a_thread_each && stencil_bench_axis(row, "threads", &threads) && n > (double)threads))
            continue;
        p->n[p->count] = n;
        p->time_s[p->count] = row->statistics.median;
        p->differ = p->differ || n != p->n[0];
        p->count++;
    }
}

/* Appends a fit of a model to points; too few of them leave no residual. */
static int add_fit(const points *p, const char *barrier, const char *model, bool constant,
                   stencil_bench_fit *fit) {
    if (p->count < POINTS_LEAST || !p->differ)
        return 0;
    *fit = (stencil_bench_fit){.barrier = barrier, .model = model, .per = p->per};
    stencil_fit_line(p->n, p->time_s, p->count, constant, fit);
    return 1;
}

int stencil_bench_fits(const stencil_bench_result *result, stencil_bench_fit fit[STENCIL_BENCH_FITS_MAX]) {
    enum { OF_ONE = 3 };
    points all, some;
    int fits = 0;
    for (int i = 0; i < result->row_count && fits + OF_ONE <= STENCIL_BENCH_FITS_MAX; i++) {
        const char *name = result->row[i].name;
        double n;
        bool seen = !count_of(&result->row[i], &n, &all.per);
        for (int k = 0; k < fits && !seen; k++)
            seen = strcmp(fit[k].barrier, name) == 0;
        if (seen)
            continue;
        collect(result, i, false, &all);
        if (strcmp(name, "lock-free") == 0) {
            collect(result, i, true, &some);
            fits += add_fit(&all, name, "t_GFS", true, &fit[fits]);
            if (strcmp(all.per, "block") == 0)
                fits += add_fit(&some, name, "t_GFS, N <= threads", true, &fit[fits]);
        }
        fits += add_fit(&all, name, strcmp(name, "lock") == 0 ? "t_GBS" : "line", false, &fit[fits]);
    }
    return fits;
}
