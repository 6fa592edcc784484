#include "app/scaling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/picture.h"
#include "app/table.h"
#include "app/text.h"

enum { ROWS_MAX = 24, SIMULATED_PASSES = 200 };

/* Predictions over numbers of devices, the first that is possible at `first`. */
typedef struct series {
    bool weak;
    int count, first; /* first == count: none is possible */
    stencil_prediction item[ROWS_MAX];
    double simulated_s[ROWS_MAX]; /* NaN: not simulated */
    char why[ROWS_MAX][160];      /* why there is no prediction; "": there is one */
} series;

static int all_devices(const stencil_cluster *cluster) {
    return cluster->nodes * cluster->devices;
}

stencil_status scaling_check(stencil_cluster *cluster, const scaling_options *options, const char *json,
                             bool force) {
    static const char *const suffixes[] = {"png", "svg", "pdf", NULL};
    if (options->nodes > 0)
        cluster->nodes = (int)options->nodes;
    CHECK(all_devices(cluster) <= SCALING_DEVICES_MAX, USAGE,
          "predictions are for up to %d devices, and %d nodes have %d", SCALING_DEVICES_MAX, cluster->nodes,
          all_devices(cluster));
    if (options->output == NULL)
        return STENCIL_OK;
    const char *dot = strrchr(stencil_path_last(options->output), '.');
    CHECK(dot != NULL && stencil_name_find(dot + 1, suffixes) >= 0, USAGE,
          "--output: '%s' ends in no suffix of a picture: .png, .svg, .pdf", TEXT_ESCAPE(options->output));
    TRY(target_check_apart("--output", options->output, json, "JSON"));
    return target_check("--output", options->output, force, NULL);
}

static bool is_simulated(const scaling_options *o) {
    return o->noise > 0 || o->late_us > 0;
}

/* Simulates a prediction: its passes with noise, and a late rank in the middle. */
static stencil_status simulate(const stencil_prediction *p, const scaling_options *o, double *step_s) {
    const stencil_late late = {.grid = p->grid,
                               .pass_s = p->pass_steps * (p->own_s + p->again_s),
                               .exchange_s = p->exchange_s,
                               .noise = o->noise / 100,
                               .late_rank = o->late_us > 0 ? p->devices / 2 : -1,
                               .late_s = 1e-6 * o->late_us,
                               .late_pass = -1,
                               .passes = SIMULATED_PASSES,
                               .reduce_every = p->devices > 1 ? p->reduce_every / p->pass_steps : 0,
                               .reduce_s = p->reduction_s,
                               .seed = (uint64_t)o->seed};
    TRY(stencil_late_simulate(&late, step_s));
    *step_s /= p->pass_steps;
    return STENCIL_OK;
}

/* Predicts for a number of devices; a failure that is due to it is kept in its row. */
static stencil_status add(series *s, const stencil_cluster *cluster, const stencil_problem *problem,
                          const stencil_run_options *run, const scaling_options *o, int devices) {
    stencil_prediction *p = &s->item[s->count];
    const stencil_status status = stencil_cluster_predict(cluster, problem, run, devices, s->weak, p);
    s->simulated_s[s->count] = NAN;
    if (status != STENCIL_OK) {
        p->devices = devices;
        p->nodes = (devices + cluster->devices - 1) / cluster->devices;
        snprintf(s->why[s->count], sizeof s->why[0], "%.150s", stencil_error_last()->message);
        s->first += s->first == s->count;
        s->count++;
        return status == STENCIL_BAD_DATA ? status : STENCIL_OK;
    }
    if (is_simulated(o))
        TRY(simulate(p, o, &s->simulated_s[s->count]));
    s->count++;
    return STENCIL_OK;
}

static stencil_status predict_all(series *s, const stencil_cluster *cluster, const stencil_problem *problem,
                                  const stencil_run_options *run, const scaling_options *o) {
    const int all = all_devices(cluster);
    for (int devices = 1; devices < all; devices *= 2)
        TRY(add(s, cluster, problem, run, o, devices));
    TRY(add(s, cluster, problem, run, o, all));
    if (s->first == s->count) /* the message of the last one says why */
        FAIL(UNAVAILABLE, "%s", s->why[s->count - 1]);
    return STENCIL_OK;
}

/* Fraction of the work per device and time that the fewest devices do. */
static double efficiency(const series *s, int i) {
    const stencil_prediction *p = &s->item[i], *one = &s->item[s->first];
    return one->step_s / p->step_s * (s->weak ? 1 : (double)one->devices / p->devices);
}

/* A number of microseconds with four digits, or fewer where it is short. */
static const char *us_text(double seconds, char text[TEXT_SIZE]) {
    const double us = 1e6 * seconds;
    if (us < 1000)
        snprintf(text, TEXT_SIZE, "%.*f", us < 10 ? 3 : us < 100 ? 2 : 1, us);
    else
        snprintf(text, TEXT_SIZE, "%.0f", us);
    return text;
}
#define TEXT_US(seconds) us_text(seconds, (char[TEXT_SIZE]){""})

static const char *cut_text(const stencil_prediction *p, char text[TEXT_SIZE]) {
    const int *count = p->grid.count;
    if (count[STENCIL_Z] > 1)
        snprintf(text, TEXT_SIZE, "%dx%dx%d", count[STENCIL_X], count[STENCIL_Y], count[STENCIL_Z]);
    else
        snprintf(text, TEXT_SIZE, "%dx%d", count[STENCIL_X], count[STENCIL_Y]);
    return text;
}

static void print(const series *s, const stencil_cluster *cluster, const stencil_problem *problem,
                  const scaling_options *o) {
    table t = {0};
    const char *unit = cluster->gpu ? "GPU" : "rank";
    text_print_wrapped(stdout,
                       TEXT_LONG("%s scaling, predicted: %s cells of %s, %s%s%s", s->weak ? "Weak" : "Strong",
                                 TEXT_EXTENT(problem->spec.extent, problem->rank, " x "),
                                 problem->shape->name, stencil_precision_name(problem->precision),
                                 s->weak ? " for each " : "", s->weak ? unit : ""),
                       0, 2);
    table_add_columns(&t, TEXT(">%ss\t>??nodes\t<cut\t>depth\t>µs/step_predicted", unit));
    table_add_columns(&t, is_simulated(o) ? ">simulated\t>effi-_ciency" : ">effi-_ciency");
    table_add_columns(&t, ">own_cells\t>cells_twice\t>mes-_sages\t>reduc-_tions\t>???bytes_sent");
    for (int i = 0; i < s->count; i++) {
        const stencil_prediction *p = &s->item[i];
        table_add_line(&t, "%d\t%d", p->devices, p->nodes);
        if (s->why[i][0] != '\0') {
            table_add_cell(&t, TABLE_SPAN "%s", s->why[i]);
            continue;
        }
        table_add_cell(&t, "%s\t%d\t%s", cut_text(p, (char[TEXT_SIZE]){""}), p->depth, TEXT_US(p->step_s));
        if (is_simulated(o))
            table_add_cell(&t, "%s", TEXT_US(s->simulated_s[i]));
        table_add_cell(&t, "%.1f%%\t%s\t%s\t%s\t%s\t%.0f", 100 * efficiency(s, i), TEXT_US(p->own_s),
                       TEXT_US(p->again_s), TEXT_US(p->message_s), TEXT_US(p->reduce_s), p->message_bytes);
    }
    table_print(stdout, &t);
    fputc('\n', stdout);
}

static json_t *series_json(const series *s) {
    json_t *list = json_array();
    for (int i = 0; i < s->count; i++) {
        const stencil_prediction *p = &s->item[i];
        const int *count = p->grid.count;
        if (s->why[i][0] != '\0') {
            json_array_append_new(list, json_pack("{s:i, s:i, s:o}", "devices", p->devices, "nodes", p->nodes,
                                                  "why", json_text(s->why[i])));
            continue;
        }
        json_t *item = json_pack("{s:i, s:i, s:[i, i, i], s:i, s:o, s:o}", "devices", p->devices, "nodes",
                                 p->nodes, "cut", count[STENCIL_X], count[STENCIL_Y], count[STENCIL_Z],
                                 "depth", p->depth, "sync", json_text(p->sync), "sweep", json_text(p->sweep));
        json_object_update_new(item, json_pack("{s:f, s:f, s:f, s:f, s:f, s:o, s:f, s:i, s:f, s:f}",
                                               "step_us", 1e6 * p->step_s, "own_us", 1e6 * p->own_s,
                                               "again_us", 1e6 * p->again_s, "message_us", 1e6 * p->message_s,
                                               "reduce_us", 1e6 * p->reduce_s, "simulated_us",
                                               json_number(1e6 * s->simulated_s[i]), "efficiency",
                                               efficiency(s, i), "messages", p->messages, "message_bytes",
                                               p->message_bytes, "exchange_us", 1e6 * p->exchange_s));
        json_array_append_new(list, item);
    }
    return list;
}

static stencil_status draw_series(picture *p, const series *s) {
    double x[ROWS_MAX], y[ROWS_MAX], ideal[ROWS_MAX];
    int count = 0;
    for (int i = s->first; i < s->count; i++)
        if (s->why[i][0] == '\0') {
            x[count] = s->item[i].devices;
            y[count] = 1e6 * s->item[i].step_s;
            ideal[count] = 1e6 * s->item[i].step_s * efficiency(s, i);
            count++;
        }
    TRY(picture_add_curve(p, s->weak ? "weak scaling" : "strong scaling", false, x, y, count));
    return picture_add_curve(p, s->weak ? "ideal, weak" : "ideal, strong", true, x, ideal, count);
}

static stencil_status draw(const series *strong, const series *weak, const stencil_cluster *cluster,
                           const stencil_problem *problem, const char *path, bool force) {
    picture p = {.curves = true, .log = true, .log_x = true};
    snprintf(p.title, sizeof p.title, "Predicted: %s cells of %s, %s",
             TEXT_EXTENT(problem->spec.extent, problem->rank, " x "), problem->shape->name,
             stencil_precision_name(problem->precision));
    snprintf(p.x.label, sizeof p.x.label, cluster->gpu ? "GPUs" : "ranks");
    snprintf(p.label, sizeof p.label, "time of a step");
    snprintf(p.unit, sizeof p.unit, "µs");
    stencil_status status = draw_series(&p, strong);
    if (status == STENCIL_OK)
        status = draw_series(&p, weak);
    if (status == STENCIL_OK)
        status = picture_draw(&p, path, force);
    picture_destroy(&p);
    return status;
}

static void print_all(const series list[2], const stencil_cluster *cluster, const stencil_problem *problem,
                      const scaling_options *o) {
    print(&list[0], cluster, problem, o);
    print(&list[1], cluster, problem, o);
    PRINT("Predicted", "nothing was run: times of a device are those %s, of messages by LogGP",
          cluster->cells_per_s > 0 ? "of the rate that the file has" : "of its quickest plan");
    if (is_simulated(o))
        PRINT("Simulated", "%d passes: noise %s %%, a rank late by %s µs in each, seed %lld",
              SIMULATED_PASSES, TEXT_NUMBER(o->noise), TEXT_NUMBER(o->late_us), (long long)o->seed);
}

stencil_status scaling_show(const stencil_cluster *cluster, const stencil_problem *problem,
                            const stencil_run_options *run, const scaling_options *options, const char *json,
                            bool force) {
    series *list = calloc(2, sizeof *list);
    CHECK(list != NULL, NO_MEMORY, "no memory for predictions");
    list[1].weak = true;
    stencil_status status = predict_all(&list[0], cluster, problem, run, options);
    if (status == STENCIL_OK)
        status = predict_all(&list[1], cluster, problem, run, options);
    if (status == STENCIL_OK && !target_is_stdout(json))
        print_all(list, cluster, problem, options);
    if (status == STENCIL_OK)
        status = json_write("--json", json, force,
                            json == NULL ? NULL
                                         : json_pack("{s:i, s:s, s:b, s:i, s:i, s:o, s:o}", "schema_version",
                                                     1, "version", STENCIL_VERSION, "predicted", 1, "nodes",
                                                     cluster->nodes, "devices", cluster->devices, "strong",
                                                     series_json(&list[0]), "weak", series_json(&list[1])));
    if (status == STENCIL_OK && options->output != NULL)
        status = draw(&list[0], &list[1], cluster, problem, options->output, force);
    free(list);
    return status;
}
