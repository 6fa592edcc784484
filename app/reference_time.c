/* The reference's values in time: written from docs/format.md, without the solver's code. */
#include "app/reference.h"

#include <math.h>

void reference_set_tables(reference *r, const stencil_spec *spec, double *const table[STENCIL_STEP_FACTORS]) {
    const bool heat = spec->kind == STENCIL_KIND_HEAT;
    for (int k = 0; k < STENCIL_STEP_FACTORS; k++) {
        r->table[k] = table[k];
        r->rows[k] = spec->table[k].count;
    }
    /* A result says when its problem began; an input, which time it is of, and that is where it begins. */
    r->start = !heat                                        ? 0
               : !isnan(spec->time_first)                   ? spec->time_first
               : spec->steps_total > 0 || isnan(spec->time) ? 0
                                                            : spec->time;
    r->dt = heat ? spec->dt : 1;
}

double reference_factor(const reference *r, int k, int64_t step) {
    const double *table = r->table[k];
    const double now = r->start + (double)(k < STENCIL_SUM_ARRAYS ? step : step + 1) * r->dt,
                 near = now + r->dt / 1048576;
    if (table == NULL)
        return 1;
    int64_t low = 0, high = r->rows[k]; /* the row looked for is below `high`, and not below `low` */
    while (high - low > 1) {
        const int64_t middle = (low + high) / 2;
        if (table[2 * middle] <= near)
            low = middle;
        else
            high = middle;
    }
    const double *from = table + 2 * low, *to = from + 2;
    if (low + 1 == r->rows[k] || now <= from[0])
        return from[1];
    return from[1] + (to[1] - from[1]) * ((now - from[0]) / (to[0] - from[0]));
}

void reference_drive(const reference *r, void *u, int64_t step) {
    const int64_t cells = reference_cells(r);
    double factor[STENCIL_SUM_ARRAYS];
    for (int k = 0; k < r->values; k++)
        factor[k] = reference_factor(r, STENCIL_SUM_ARRAYS + k, step);
    for (int64_t i = 0; i < cells && r->driven != NULL; i++) {
        double wide = 0;
        float single = 0;
        if (r->driven[i] == 0)
            continue;
        for (int k = 0; k < r->values; k++) {
            const double value = r->precision == STENCIL_FLOAT64 ? ((const double *)r->value[k])[i]
                                                                 : (double)((const float *)r->value[k])[i];
            wide = k == 0 ? factor[k] * value : fma(factor[k], value, wide);
            single = k == 0 ? (float)factor[k] * (float)value : fmaf((float)factor[k], (float)value, single);
        }
        if (r->precision == STENCIL_FLOAT64)
            ((double *)u)[i] = wide;
        else
            ((float *)u)[i] = single;
    }
}
