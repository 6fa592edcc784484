/* Writes the file of a GPU's constants from its calibration. */
#include <math.h>

#include "solver/machine/machine.h"
#include "solver/machine/tuned.h"
#include "solver/machine/strategies.h"

typedef struct file {
    FILE *out;
    const stencil_machine *machine;
    const stencil_calibration *c;
    const char *date;
    stencil_tuning now; /* the constants of default.def */
} file;

/* The figure of a value that calibrations do not measure. */
static const char scaled[] = "not measured: default.def, by multiprocessors and clock";

static void put(const file *f, const char *name, double value, const char *figure) {
    fprintf(f->out, "STENCIL_TUNED(double, %s, %.4g, \"%s\", \"%s\")\n", name, value, f->date, figure);
}

/* Writes the bandwidths: bytes a second of the plain sweep of 5 or 7 points in float32. */
static void put_bandwidths(const file *f) {
    static const char *const loops[] = {"launched", "persistent"}, *const places[] = {"near", "far"};
    static const stencil_shape_id sets[] = {STENCIL_SHAPE_j2d5pt, STENCIL_SHAPE_j3d7pt};
    const double cell_bytes = 2.0 * (double)stencil_precision_bytes(STENCIL_FLOAT32);
    for (int i = 0; i < STENCIL_LOOP_COUNT * 2 * STENCIL_DISTANCES; i++) {
        const int loop = i / (2 * STENCIL_DISTANCES), rank = i / STENCIL_DISTANCES % 2,
                  far = i % STENCIL_DISTANCES;
        const double rate = f->c->rate[sets[rank]][STENCIL_FLOAT32][0][loop][far];
        char name[64], figure[96];
        snprintf(name, sizeof name, "%s_%dd_%s", loops[loop], rank + 2, places[far]);
        snprintf(figure, sizeof figure, "%s float32: %.4g Gcell/s", stencil_shapes[sets[rank]].name,
                 1e-9 * rate);
        put(f, name, rate > 0 ? cell_bytes * rate : f->c->bytes_per_s[loop][rank][far],
            rate > 0 ? figure : scaled);
        if (i == (STENCIL_LOOP_LAUNCHED * 2 + 0) * STENCIL_DISTANCES + STENCIL_FAR &&
            rate > 0) /* the 2D sweep in memory */
            put(f, "bytes_per_s", cell_bytes * rate, figure);
    }
}

/* Writes the sync_ rows that differ, each with the costs of the first strategy measured for it. */
static void put_sync(const file *f) {
    const stencil_tuned_member *written[STENCIL_STRATEGIES] = {NULL};
    for (int i = 0; i < stencil_strategy_count(); i++) {
        const stencil_strategy_info info = stencil_strategy_at(i);
        const stencil_tuned_member *row = stencil_tuned_sync(info.name, info.barrier != STENCIL_BARRIER_none);
        const stencil_sync_us *us = (const void *)((const char *)&f->now + row->offset);
        const stencil_sync_cost *cost = &f->c->sync[i];
        bool first = true;
        for (int k = 0; k < i; k++)
            first = first && written[k] != row;
        if (!first || (cost->few_s == 1e-6 * us->few && cost->all_s == 1e-6 * us->all))
            continue;
        written[i] = row;
        fprintf(
            f->out,
            "STENCIL_TUNED(%s, %s, STENCIL_LIST(%.4g, %.4g, %.4g, %.4g, %.4g), \"%s\", \"%s, %d GPU%s\")\n",
            row->type, row->name, 1e6 * cost->few_s, 1e6 * cost->all_s, 1e6 * cost->two_s, 1e6 * cost->most_s,
            1e6 * cost->check_s, f->date, info.name, f->machine->gpu_count,
            stencil_plural(f->machine->gpu_count));
    }
}

/* The ratio of measured to guessed passes of a set, or of its loop to launches; 0: not measured. */
typedef double of_set(const file *f, int shape, int precision);

static double far_rate(const file *f, int shape, int precision, stencil_loop loop) {
    return f->c->rate[shape][precision][STENCIL_SWEEP_pipeline][loop][STENCIL_FAR];
}

static double made_of_guess(const file *f, int shape, int precision) {
    const double beside[] = {0, f->now.pass_beside_3d};
    return far_rate(f, shape, precision, STENCIL_LOOP_LAUNCHED) *
           (stencil_shapes[shape].point_count + beside[stencil_shapes[shape].rank - 2]) /
           f->c->fma_per_s[precision];
}

static double looped_of_launched(const file *f, int shape, int precision) {
    const double launched = far_rate(f, shape, precision, STENCIL_LOOP_LAUNCHED);
    return launched > 0 ? far_rate(f, shape, precision, STENCIL_LOOP_PERSISTENT) / launched : 0;
}

/* Writes a row with the geometric mean over all sets of a rank in both precisions. */
static void put_mean(const file *f, const char *name, of_set *of, int rank) {
    struct {
        double sum, least, most;
        int count;
    } ranks[2] = {{0}}, *m;
    for (int i = 0; i < STENCIL_SHAPE_COUNT * STENCIL_PRECISION_COUNT; i++) {
        const int shape = i / STENCIL_PRECISION_COUNT;
        const double value = of(f, shape, i % STENCIL_PRECISION_COUNT);
        if (!(value > 0))
            continue;
        m = &ranks[stencil_shapes[shape].rank - 2];
        m->sum += log(value);
        m->least = m->count > 0 ? fmin(m->least, value) : value;
        m->most = fmax(m->most, value);
        m->count++;
    }
    m = &ranks[rank - 2];
    char figure[96];
    snprintf(figure, sizeof figure, "pipeline, %d times %.3g to %.3g, the geometric mean", m->count, m->least,
             m->most);
    if (m->count > 0)
        fprintf(f->out, "STENCIL_TUNED(double, %s, %.3g, \"%s\", \"%s\")\n", name, exp(m->sum / m->count),
                f->date, figure);
}

void stencil_tuning_write(FILE *out, const stencil_machine *machine, const char *date) {
    const stencil_gpu *gpu = &machine->gpu[0];
    const double *round_s = machine->gpu_costs.round_s;
    file f = {.out = out, .machine = machine, .c = &machine->gpu_costs, .date = date};
    stencil_tuning_find(&f.now, "");
    fprintf(out,
            "/* %s, as \"stencil calibrate\" has measured it; all else is as in default.def. */\n"
            "STENCIL_TUNED_GPU(\"%s\")\n",
            gpu->name, gpu->name);
    fprintf(
        out,
        "STENCIL_TUNED(double, sm_khz, %d * %d.0, \"%s\", \"multiprocessors and kHz, as its driver says\")\n",
        gpu->sm_count, gpu->clock_khz, date);
    if (round_s[STENCIL_LOOP_LAUNCHED] != f.now.round_launched_s)
        put(&f, "round_launched_s", round_s[STENCIL_LOOP_LAUNCHED], "j2d5pt float32, graph");
    if (round_s[STENCIL_LOOP_PERSISTENT] != f.now.round_persistent_s)
        put(&f, "round_persistent_s", round_s[STENCIL_LOOP_PERSISTENT], "j2d5pt float32, central");
    put(&f, "fma_per_s", f.c->fma_per_s[STENCIL_FLOAT32], scaled);
    put_bandwidths(&f);
    put_sync(&f);
    put_mean(&f, "pass_fma", made_of_guess, 2);
    put_mean(&f, "pass_fma_3d", made_of_guess, 3);
    put_mean(&f, "solid_loop", looped_of_launched, 3);
}
