/* Checks of answers: a damaged file may have corrupted the reading process. */
#include "inputs/requests.h"

#include <string.h>

#include "kernels/classes.h"

/* Tells whether a bool has the byte 0 or 1; C leaves other bytes undefined. */
static bool is_truth(const bool *value) {
    unsigned char byte;
    memcpy(&byte, value, sizeof byte);
    return byte <= 1;
}

#define IS_TEXT(array)                (memchr(array, '\0', sizeof(array)) != NULL)
#define IS_ONE_OF(enumeration, count) ((int)(enumeration) >= 0 && (int)(enumeration) < (int)(count))

static bool is_chunk(int64_t bytes) {
    return bytes >= 0 && bytes <= INT64_C(1) << 32;
}

static bool check_place(const stencil_place *place) {
    return place->offset >= 0 && IS_ONE_OF(place->precision, STENCIL_PRECISION_COUNT);
}

static bool check_values(const stencil_values *values) {
    return is_truth(&values->packed) && is_truth(&values->by_default) && is_truth(&values->has_nan) &&
           IS_ONE_OF(values->precision, STENCIL_PRECISION_COUNT) && values->filled >= 0 &&
           values->filled <= values->marker_count && values->marker_count <= STENCIL_MARKERS_MAX;
}

static bool check_facts(const stencil_input_facts *facts) {
    bool sound = IS_TEXT(facts->field) && is_truth(&facts->foreign) && is_truth(&facts->field_passed_over) &&
                 facts->other_steps >= 0 && is_chunk(facts->chunk_bytes);
    for (int array = 0; array < STENCIL_ARRAY_COUNT; array++)
        sound = sound && check_values(&facts->values[array]) && facts->unwritten[array] >= 0 &&
                check_place(&facts->place[array]);
    return sound;
}

/* Checks enumerations, counts and texts of a spec; its numbers are checked later, like those of any file. */
static bool check_spec(const stencil_spec *spec) {
    bool sound = IS_TEXT(spec->field) && IS_TEXT(spec->stencil) && IS_TEXT(spec->accelerate) &&
                 IS_TEXT(spec->fingerprint) && IS_TEXT(spec->digest_u) && IS_TEXT(spec->digest_b) &&
                 IS_TEXT(spec->digest_class) && is_truth(&spec->fixed) && is_truth(&spec->classed) &&
                 is_truth(&spec->insulated) && IS_ONE_OF(spec->precision, STENCIL_PRECISION_COUNT) &&
                 IS_ONE_OF(spec->kind, STENCIL_KIND_COUNT) && IS_ONE_OF(spec->norm, STENCIL_NORM_COUNT) &&
                 IS_ONE_OF(spec->source, STENCIL_SOURCE_COUNT) && IS_ONE_OF(spec->rank, STENCIL_AXES + 1) &&
                 IS_ONE_OF(spec->offset_count, STENCIL_POINTS_MAX + 1) &&
                 IS_ONE_OF(spec->weight_count, STENCIL_POINTS_MAX + 1) &&
                 IS_ONE_OF(spec->source_count, STENCIL_SUM_ARRAYS + 1) &&
                 IS_ONE_OF(spec->driven_count, STENCIL_SUM_ARRAYS + 1) &&
                 IS_ONE_OF(spec->class_count, STENCIL_ROWS_MAX + 1) &&
                 (spec->class_count == 0 || spec->weight_count > 0) &&
                 IS_ONE_OF(spec->boundary_count, STENCIL_AXES + 1) &&
                 IS_ONE_OF(spec->spacing_count, STENCIL_AXES + 1);
    for (int i = 0; i < 2 * STENCIL_AXES; i++)
        for (int which = 0; which < STENCIL_NUMBER_COUNT; which++)
            sound = sound && is_truth(&spec->along[i / 2][i % 2][which]);
    for (int k = 0; k < STENCIL_STEP_FACTORS; k++)
        sound = sound && spec->table[k].count >= 0 && spec->table[k].count <= INT32_MAX &&
                (spec->table[k].count == 0 || k >= STENCIL_SUM_ARRAYS || spec->source == STENCIL_SOURCE_B ||
                 spec->source == STENCIL_SOURCE_Q);
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        sound = sound && IS_ONE_OF(spec->boundary[axis], STENCIL_BOUNDARY_COUNT) && spec->extent[axis] >= 0 &&
                IS_ONE_OF(spec->wall[axis][0], STENCIL_WALL_COUNT) &&
                IS_ONE_OF(spec->wall[axis][1], STENCIL_WALL_COUNT);
    for (int k = 0; k < spec->offset_count && sound; k++)
        for (int axis = 0; axis < STENCIL_AXES; axis++)
            sound = sound && spec->offset[k][axis] >= -STENCIL_RADIUS_MAX &&
                    spec->offset[k][axis] <= STENCIL_RADIUS_MAX;
    return sound;
}

static bool check_notes(const stencil_notes *notes) {
    bool sound = IS_ONE_OF(notes->count, STENCIL_NOTES_MAX + 1);
    for (int i = 0; i < notes->count && sound; i++)
        sound = IS_TEXT(notes->line[i]) && is_truth(&notes->warns[i]);
    return sound;
}

static bool check_numbers(const stencil_numbers *numbers) {
    int64_t count = 1;
    bool sound = is_truth(&numbers->exists) && IS_ONE_OF(numbers->rank, STENCIL_RANK_MAX + 1) &&
                 IS_TEXT(numbers->type) && check_place(&numbers->place) && is_chunk(numbers->chunk_bytes);
    for (int i = 0; i < numbers->rank && sound; i++)
        sound = numbers->extent[i] >= 0 && stencil_multiply(count, numbers->extent[i], &count);
    return sound && (!numbers->exists || (count == numbers->count && count <= INT64_MAX / 16));
}

static bool check_description(const stencil_description *description) {
    bool sound =
        check_values(&description->values) && IS_TEXT(description->units) && IS_TEXT(description->long_name);
    for (int axis = 0; axis < STENCIL_SCALES_MAX; axis++)
        sound = sound && IS_TEXT(description->scale[axis]);
    return sound;
}

bool stencil_answer_check(const stencil_say *say) {
    if (say->status != STENCIL_OK)
        return IS_ONE_OF(say->status, STENCIL_IO + 1) && IS_TEXT(say->message);
    return check_facts(&say->facts) && check_spec(&say->spec) && check_notes(&say->notes) &&
           check_numbers(&say->numbers) && check_description(&say->description) &&
           IS_TEXT(say->provenance.input) && IS_TEXT(say->provenance.output) &&
           IS_TEXT(say->provenance.options) && IS_TEXT(say->provenance.series) &&
           IS_TEXT(say->provenance.series_file) && IS_TEXT(say->provenance.less) &&
           IS_TEXT(say->provenance.gaps) && IS_TEXT(say->provenance.digest_numbers) &&
           say->provenance.steps_done >= 0 && IS_TEXT(say->field) && is_truth(&say->holds) &&
           say->bytes >= 0 && is_chunk(say->chunk_bytes);
}
