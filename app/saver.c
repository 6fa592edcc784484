#include "app/saver.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/duration.h"
#include "app/keeper.h"
#include "app/text.h"
#include "inputs/image.h"

#define AT(field) OPTION_AT(saver_options, field)
const option saver_option_table[] = {
    {"save-every", 0, OPTION_TEXT, AT(every), "N|TIME",
     .help = "save a frame of u every N steps or TIME (10s, 1min), into OUTPUT.series.h5, which h5py, xarray "
             "and ParaView open while the run goes on",
     .contradicts = {"no-output", "save-times"}, .tag = OPTION_RESUMED},
    {"save-times", 0, OPTION_TEXT, AT(times), "A:D:B",
     .help = "heat: save frames at the physical times A, A + D … up to B, each at the first step that "
             "reaches it",
     .contradicts = {"no-output"}, .tag = OPTION_RESUMED},
    {"save", 0, OPTION_TEXT, AT(arrays), "LIST",
     .help =
         "what a frame has: u (default), or u,residual with the change that a plain step makes from it in "
         "each cell",
     .tag = OPTION_RESUMED},
    {"save-region", 0, OPTION_TEXT, AT(region), "A:B,…",
     .help =
         "save the cells from A to before B of each axis, in array order, as in 10:90,: (: all of an axis)",
     .tag = OPTION_RESUMED},
    {"save-stride", 0, OPTION_INTEGER, AT(stride), "LIST",
     .help = "save every so many cells, one number for all axes or one for each, in array order",
     .minimum = 1, .maximum = INT32_MAX, .most = STENCIL_AXES,
     .count_offset = offsetof(saver_options, stride_count), .tag = OPTION_RESUMED},
    {"compress", 0, OPTION_FLAG, AT(compress), NULL, .help = "pack saved frames (deflate)",
     .tag = OPTION_RESUMED},
    {NULL},
};

/* Reads "A:D:B", three numbers. */
static bool read_times(saver *s, const char *text) {
    double *const to[] = {&s->first, &s->step, &s->last};
    for (int i = 0; i < 3; i++) {
        char *end;
        *to[i] = strtod(text, &end);
        if (end == text || !isfinite(*to[i]) || *end != (i < 2 ? ':' : '\0'))
            return false;
        text = end + 1;
    }
    return s->step > 0 && s->last >= s->first;
}

stencil_status saver_prepare(saver *s, const saver_options *options) {
    const char *every = options->every, *arrays = options->arrays;
    *s = (saver){
        .wanted = every != NULL || options->times != NULL,
        .region = options->region,
        .options = options,
        .form = {.compress = options->compress, .residual = arrays != NULL && strcmp(arrays, "u") != 0}};
    CHECK(s->wanted ||
              (options->region == NULL && options->stride_count == 0 && !options->compress && arrays == NULL),
          USAGE, "--%s has no effect without --save-every or --save-times: give one of them",
          options->region != NULL     ? "save-region"
          : options->stride_count > 0 ? "save-stride"
          : arrays != NULL            ? "save"
                                      : "compress");
    if (every != NULL && !duration_parse(every, &s->every_s)) {
        s->every_s = 0;
        const bool digits = every[0] != '\0' && strspn(every, "0123456789") == strlen(every);
        s->every_steps = digits && strlen(every) < 16 ? strtoll(every, NULL, 10) : 0;
        CHECK(s->every_steps > 0, USAGE,
              "--save-every: '%s' is neither a number of steps nor a time such as 10s or 1min", every);
    }
    CHECK(!s->form.residual || strcmp(arrays, "u,residual") == 0 || strcmp(arrays, "residual,u") == 0, USAGE,
          "--save: '%s' is neither u nor u,residual", arrays);
    CHECK(options->times == NULL || read_times(s, options->times), USAGE,
          "--save-times: '%s' is not of the form A:D:B, as in 0:0.1:2: from 0 on every 0.1 up to 2",
          options->times);
    return STENCIL_OK;
}

/* Reads "A:B,C:D": for each axis a range, whose ends may be missing. */
static stencil_status read_region(saver *s, int rank) {
    const char *at = s->region;
    int axis = STENCIL_AXES - rank;
    for (; axis < STENCIL_AXES; axis++) {
        char *end;
        s->form.first[axis] = strtoll(at, &end, 10);
        const bool colon = *end == ':';
        at = end + colon;
        s->form.end[axis] = strtoll(at, &end, 10);
        const bool empty = end > at && s->form.end[axis] <= 0;
        if (!colon || empty || *end != (axis < STENCIL_X ? ',' : '\0'))
            break;
        at = end + 1;
    }
    CHECK(axis == STENCIL_AXES, USAGE,
          "--save-region: '%s' is no list of %d ranges, one for each axis, such as %s", s->region, rank,
          rank == 2 ? "10:90,:" : "10:90,:,0:5");
    return STENCIL_OK;
}

static stencil_status read_stride(saver *s, int rank) {
    const int count = s->options->stride_count;
    CHECK(count <= 1 || count == rank, USAGE, "--save-stride: the field has %d axes: give 1 number or %d",
          rank, rank);
    for (int i = 0; i < rank && count > 0; i++)
        s->form.stride[STENCIL_AXES - rank + i] = s->options->stride[count == 1 ? 0 : i];
    return STENCIL_OK;
}

/* Returns the number of frames that the rule asks for; 0: unknown. */
static int64_t most_frames(const saver *s) {
    const int64_t steps = s->problem->stop.steps;
    if (s->every_steps > 0)
        return steps / s->every_steps + 2;
    return s->step > 0 ? (int64_t)fmin((s->last - s->first) / s->step + 2, 1e15) : 0;
}

/* Adds a gap, or the beginning of one, to those that are noted; where there is no room for it, to the first.
 */
static void add_gap(saver *s, int64_t first, int64_t end) {
    const char *text = s->gaps;
    int64_t gap[2];
    const char *to = end < 0 ? "" : TEXT("%" PRId64, end);
    if (strlen(s->gaps) + 2 * TEXT_SIZE < sizeof s->gaps)
        stencil_text_add(s->gaps, sizeof s->gaps, "%s%" PRId64 ":%s", s->gaps[0] != '\0' ? " " : "", first,
                         to);
    else if (stencil_series_gap(&text, gap))
        snprintf(s->gaps, sizeof s->gaps, "%" PRId64 ":%s", gap[0], to);
}

void saver_lose(saver *s, int64_t step) {
    s->failed = true;
    s->lost_step = step;
    add_gap(s, step, -1);
}

bool saver_take_gaps(saver *s, const char *gaps, int64_t step) {
    int64_t gap[2];
    bool open = false;
    s->gaps[0] = '\0';
    s->lost_step = -1;
    while (stencil_series_gap(&gaps, gap)) {
        if (gap[1] < 0)
            s->lost_step = gap[0];
        open = gap[1] < 0 && gap[0] < step;
        if (open || gap[1] >= 0)
            add_gap(s, gap[0], gap[1] < 0 ? step : gap[1]);
    }
    return open;
}

stencil_status saver_open(saver *s, const stencil_problem *problem, const char *output, bool replace,
                          const char *places) {
    s->problem = problem;
    CHECK(s->step == 0 || problem->spec.kind == STENCIL_KIND_HEAT, USAGE,
          "--save-times: only problem heat has a physical time: give --save-every");
    if (s->region != NULL)
        TRY(read_region(s, problem->rank));
    TRY(read_stride(s, problem->rank));
    TRY(stencil_series_name(output, s->path));
    s->opened = true;
    s->taken_step = s->lost_step = -1;
    if (places[0] != '\0') {
        TRY(stencil_series_resume(&s->series, s->path, places, problem, &s->form));
        s->taken_step = s->series.last_step;
        return STENCIL_OK;
    }
    return stencil_series_create(&s->series, s->path, replace, problem, &s->form, most_frames(s));
}

stencil_status saver_begin_anew(saver *s, const char *output, int64_t step) {
    stencil_series_close(&s->series);
    TRY(saver_open(s, s->problem, output, true, ""));
    s->gaps[0] = '\0';
    if (step > 0)
        add_gap(s, 0, step);
    return STENCIL_OK;
}

/* Returns the step at which frame k by physical time is saved: the first that reaches its time. */
static int64_t step_of(const saver *s, int64_t k) {
    const double time = s->first + (double)k * s->step - s->problem->origin.time_first;
    return (int64_t)fmax(ceil(time / s->problem->spec.dt - 1e-9), 0);
}

int64_t saver_next(const saver *s, int64_t step) {
    if (!s->opened || s->ended)
        return INT64_MAX;
    if (s->every_steps > 0)
        return step < 0 ? 0 : step - step % s->every_steps + s->every_steps;
    if (s->step == 0)
        return INT64_MAX;
    const double now = stencil_problem_time(s->problem, step);
    int64_t k = (int64_t)fmax(floor((now - s->first) / s->step) - 1, 0);
    while (step_of(s, k) <= step)
        k++;
    return s->first + (double)k * s->step <= s->last + 1e-9 * s->step ? step_of(s, k) : INT64_MAX;
}

bool saver_is_due(const saver *s, int64_t step) {
    return s->opened && !s->ended && step >= s->next_step && step > s->taken_step;
}

bool saver_is_late(const saver *s) {
    return s->opened && !s->ended && s->every_s > 0 && stencil_clock_s() >= s->due_s;
}

void saver_took(saver *s, int64_t step) {
    s->taken_step = step;
    s->next_step = saver_next(s, step);
    s->due_s = stencil_clock_s() + s->every_s;
}

double saver_time(const saver *s, int64_t step) {
    return stencil_image_time(s->problem, step);
}
