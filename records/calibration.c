#include "records/description.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define C(member)     #member, STENCIL_MEMBER(REAL, stencil_calibration, member)
#define COUNT(member) .count = sizeof((stencil_calibration *)NULL)->member / sizeof(double)
static const stencil_member members[] = {
    {C(latency_s)},
    {C(round_s), COUNT(round_s)},
    {C(set_bytes), COUNT(set_bytes)},
    {C(fma_per_s), COUNT(fma_per_s)},
    {C(bytes_per_s), COUNT(bytes_per_s)},
    {C(peer_bytes_per_s)},
    {C(copy_s)},
    {"most_parts", STENCIL_MEMBER(INTEGER, stencil_calibration, most_parts), .minimum = 2,
     .maximum = STENCIL_GPUS_MAX},
    {C(cells), COUNT(cells), .newer = true},
    {NULL},
};
static const stencil_member sync_members[] = {
    {"few_s", STENCIL_MEMBER(REAL, stencil_sync_cost, few_s)},
    {"all_s", STENCIL_MEMBER(REAL, stencil_sync_cost, all_s)},
    {"two_s", STENCIL_MEMBER(REAL, stencil_sync_cost, two_s)},
    {"most_s", STENCIL_MEMBER(REAL, stencil_sync_cost, most_s)},
    {"check_s", STENCIL_MEMBER(REAL, stencil_sync_cost, check_s)},
    {NULL},
};

/* Number of kinds of kernels, as in stencil_calibration's tables, like "j2d5pt float32 stream launched". */
enum { FAMILIES = STENCIL_SHAPE_COUNT * STENCIL_PRECISION_COUNT * STENCIL_SWEEP_COUNT * STENCIL_LOOP_COUNT };

static const char *family_text(int index, char text[STENCIL_KERNEL_CHARS]) {
    static const char *const loops[] = {"launched", "persistent"};
    const int sweep = index / STENCIL_LOOP_COUNT, precision = sweep / STENCIL_SWEEP_COUNT;
    snprintf(text, STENCIL_KERNEL_CHARS, "%s %s %s %s",
             stencil_shapes[precision / STENCIL_PRECISION_COUNT].name,
             stencil_precision_names[precision % STENCIL_PRECISION_COUNT],
             stencil_sweep_names[sweep % STENCIL_SWEEP_COUNT], loops[index % STENCIL_LOOP_COUNT]);
    return text;
}

/* Writes the numbers of a kind of kernels, if all are positive. */
static void write_numbers(json_t *families, const char *name, const double *number, size_t count) {
    json_t *row = json_array();
    bool good = true;
    for (size_t k = 0; k < count; k++) {
        json_array_append_new(row, json_real(number[k]));
        good = good && number[k] > 0;
    }
    if (good)
        json_object_set(families, name, row);
    json_decref(row);
}

json_t *stencil_calibration_write(const stencil_calibration *c) {
    json_t *root = stencil_record_write(json_object(), members, c), *sync = json_object(),
           *rates = json_object(), *steps = json_object();
    for (int i = 0; i < STENCIL_STRATEGIES; i++)
        json_object_set_new(sync, stencil_strategy_at(i).name,
                            stencil_record_write(json_object(), sync_members, &c->sync[i]));
    for (int i = 0; i < FAMILIES; i++) {
        char text[STENCIL_KERNEL_CHARS];
        write_numbers(steps, family_text(i, text), (&c->step_s[0][0][0][0])[i], STENCIL_FILLINGS);
        write_numbers(rates, text, (&c->rate[0][0][0][0])[i], STENCIL_DISTANCES);
    }
    json_object_set_new(root, "sync", sync);
    json_object_set_new(root, "cells_per_s", rates);
    json_object_set_new(root, "step_s", steps);
    return root;
}

/* Tell whether a number that was read can be a rate, which is divided by, or a cost, of any machine. */
static bool is_rate(double number) {
    return number >= 1e-30 && number <= 1e30;
}

static bool is_cost(double number) {
    return number >= 0 && number <= 1e30;
}

static bool all_good(const stencil_calibration *c) {
    const double *positive[] = {c->set_bytes, c->fma_per_s, &c->bytes_per_s[0][0][0], &c->peer_bytes_per_s};
    const size_t count[] = {STENCIL_DISTANCES, STENCIL_PRECISION_COUNT,
                            sizeof c->bytes_per_s / sizeof(double), 1};
    bool good = is_cost(c->latency_s) && is_cost(c->copy_s) && is_cost(c->round_s[0]) &&
                is_cost(c->round_s[1]) && c->set_bytes[STENCIL_NEAR] < c->set_bytes[STENCIL_FAR] &&
                is_cost(c->cells[STENCIL_FEW]);
    for (int i = 1; i < STENCIL_FILLINGS; i++)
        good = good && c->cells[i - 1] <= c->cells[i] && is_cost(c->cells[i]);
    for (size_t i = 0; i < 4; i++)
        for (size_t k = 0; k < count[i]; k++)
            good = good && is_rate(positive[i][k]);
    for (size_t i = 0; i < sizeof c->sync / (sizeof(double)); i++)
        good = good && is_cost(((const double *)c->sync)[i]);
    return good;
}

/* Reads the numbers of a kind of kernels, if there are any: positive ones, which can be divided by. */
static stencil_status read_numbers(const json_t *families, const char *name, double *number, size_t count) {
    const json_t *row = json_object_get(families, name);
    bool good = row == NULL || json_array_size(row) == count;
    for (size_t k = 0; row != NULL && k < count; k++) {
        number[k] = json_number_value(json_array_get(row, k));
        good = good && is_rate(number[k]);
    }
    CHECK(good, BAD_DATA, "\"%s\" is not %zu positive numbers", name, count);
    return STENCIL_OK;
}

stencil_status stencil_calibration_read(stencil_calibration *c, const json_t *object) {
    TRY(stencil_record_read(object, members, c));
    const json_t *sync = json_object_get(object, "sync"), *rates = json_object_get(object, "cells_per_s"),
                 *steps = json_object_get(object, "step_s");
    CHECK(json_is_object(sync) && (rates == NULL || json_is_object(rates)) &&
              (steps == NULL || json_is_object(steps)),
          BAD_DATA, "\"sync\", \"cells_per_s\" or \"step_s\" is not an object");
    for (int i = 0; i < STENCIL_STRATEGIES; i++) {
        const json_t *row = json_object_get(sync, stencil_strategy_at(i).name);
        if (row != NULL)
            TRY(stencil_record_read(row, sync_members, &c->sync[i]));
    }
    CHECK(all_good(c), BAD_DATA, "a cost or a rate is negative, 0, or beyond those of any machine");
    for (int i = 0; i < FAMILIES; i++) {
        char text[STENCIL_KERNEL_CHARS];
        TRY(read_numbers(rates, family_text(i, text), (&c->rate[0][0][0][0])[i], STENCIL_DISTANCES));
        TRY(read_numbers(steps, text, (&c->step_s[0][0][0][0])[i], STENCIL_FILLINGS));
    }
    c->measured = true;
    return STENCIL_OK;
}
