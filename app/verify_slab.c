#include "app/verify_slab.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

stencil_status slab_read(const slab *s, stencil_input *from, const stencil_problem *problem,
                         stencil_array array, void *values) {
    const int axis = s->reference.axis;
    const stencil_mesh mesh = stencil_problem_mesh(problem, 1);
    stencil_box box = stencil_mesh_array(&mesh);
    box.first[axis] += s->reference.begin;
    box.n[axis] = s->reference.held;
    const stencil_cells cells =
        stencil_cells_dense(stencil_array_precision(array, problem->precision), values, &box);
    const stencil_reader reader = stencil_input_reader(from, problem, true);
    return stencil_boxes_fill(&reader, &mesh, array, &box, &cells);
}

/* Returns the problem as the reference's arrays are read: they have the values of the file, which the
 * reference makes up for cells that keep theirs, walls and coefficients. */
static stencil_problem scaled(const slab *s, const slab_source *from) {
    stencil_problem problem = *from->problem;
    problem.source_scale = s->reference.source_scale;
    problem.kept = problem.varied = problem.driven = 0; /* the reference leaves kept cells out by itself */
    problem.walls_in_source = false;                    /* and adds what walls add */
    problem.coefficients = STENCIL_COEFFICIENTS_NONE;
    return problem;
}

static stencil_status make(const slab *s, void **array, size_t bytes, const char *what) {
    return stencil_memory_alloc(array, reference_cells(&s->reference) * (int64_t)bytes, what);
}

static stencil_status make_bytes(const slab *s, uint8_t **array, const char *what) {
    void *memory = NULL;
    TRY(make(s, &memory, 1, what));
    *array = memory;
    return STENCIL_OK;
}

/* Reads which cells keep their values, and the rows of weights of the others. */
static stencil_status read_kinds(slab *s, const slab_source *from) {
    const stencil_spec *spec = &from->problem->spec;
    const stencil_problem problem = scaled(s, from);
    void *memory = NULL;
    if (!spec->fixed && !spec->classed && !spec->insulated && spec->driven_count == 0)
        return STENCIL_OK;
    TRY(make_bytes(s, &s->driven, "the reference's driven cells"));
    TRY(make_bytes(s, &s->fixed, "the reference's fixed cells"));
    TRY(make_bytes(s, &s->row, "the reference's rows of weights"));
    TRY(make_bytes(s, &s->insulated, "the reference's insulated cells"));
    TRY(make(s, &memory, sizeof(stencil_cell_kind), "the reference's kinds of cells"));
    const stencil_cell_kind *kind = memory;
    const stencil_status status = slab_read(s, from->input, &problem, STENCIL_ARRAY_KIND, memory);
    for (int64_t i = 0; i < reference_cells(&s->reference) && status == STENCIL_OK; i++) {
        s->driven[i] = kind[i] == STENCIL_KIND_DRIVEN;
        s->fixed[i] = kind[i] == STENCIL_KIND_KEPT || s->driven[i];
        s->insulated[i] = kind[i] == STENCIL_KIND_INSULATED;
        s->row[i] = kind[i] < STENCIL_ROWS_MAX ? (uint8_t)kind[i] : 0;
    }
    free(memory);
    TRY(status);
    s->reference.fixed = s->fixed;
    s->reference.row = s->row;
    s->reference.driven = s->driven;
    return spec->class_count > 0 ? reference_set_rows(&s->reference, from->spec, from->input->tables.weights)
                                 : STENCIL_OK;
}

/* Reads /k. */
static stencil_status read_coefficients(slab *s, const slab_source *from, slab_facts *facts) {
    void *memory = NULL;
    stencil_problem doubles = scaled(s, from);
    doubles.precision = STENCIL_FLOAT64;
    if (!doubles.spec.has_k)
        return STENCIL_OK;
    TRY(make(s, &memory, sizeof(double), "the reference's coefficients"));
    s->k = memory;
    TRY(slab_read(s, from->input, &doubles, STENCIL_ARRAY_K, s->k));
    reference_range(&s->reference, s->k, s->insulated, facts->range);
    return STENCIL_OK;
}

stencil_status slab_begin(slab *s, const slab_source *from, const reference *base, const int64_t lines[2],
                          int64_t steps, slab_facts *facts) {
    const size_t bytes = stencil_precision_bytes(base->precision);
    *s = (slab){.reference = *base};
    reference_window(&s->reference, lines[0], lines[1], steps);
    const stencil_problem problem = scaled(s, from);
    TRY(make(s, &s->field[0], bytes, "the reference's field"));
    TRY(make(s, &s->field[1], bytes, "the reference's second field"));
    TRY(slab_read(s, from->input, &problem, STENCIL_ARRAY_U, s->field[from->first % 2]));
    TRY(read_kinds(s, from));
    return read_coefficients(s, from, facts);
}

stencil_status slab_shape(slab *s, const slab_source *from, slab_facts *facts) {
    const stencil_spec *spec = &from->problem->spec;
    reference *r = &s->reference;
    for (int i = 0; i < 2 * STENCIL_AXES; i++)
        for (int which = 0; which < STENCIL_NUMBER_COUNT; which++)
            if (spec->along[i / 2][i % 2][which])
                r->along[i / 2][i % 2][which] = from->input->tables.along[i / 2][i % 2][which];
    if (s->k != NULL)
        TRY(reference_coefficients(r, spec, s->k, s->insulated, facts->range,
                                   from->problem->coefficients == STENCIL_COEFFICIENTS_FIELDS));
    TRY(reference_walls(r, spec, s->insulated));
    reference_add_rows(r, &facts->rows);
    facts->adds_constants = facts->adds_constants || r->adds_constants;
    free(s->k);
    free(s->insulated);
    s->k = NULL;
    s->insulated = NULL;
    return STENCIL_OK;
}

/* Reads further arrays of the source, and those of the values of driven cells. */
static stencil_status read_sums(slab *s, const slab_source *from, const stencil_problem *problem) {
    const size_t bytes = stencil_precision_bytes(s->reference.precision);
    reference *r = &s->reference;
    r->sources = stencil_problem_sources(problem);
    r->values = problem->spec.driven_count;
    for (int k = 1; k < r->sources; k++) {
        TRY(make(s, &s->more[k], bytes, "the reference's source term"));
        TRY(slab_read(s, from->input, problem, stencil_array_of_sum(k), s->more[k]));
        r->more[k] = s->more[k];
    }
    for (int k = 0; k < r->values; k++) {
        TRY(make(s, &s->value[k], bytes, "the reference's driven cells"));
        TRY(slab_read(s, from->input, from->problem, stencil_array_of_sum(k), s->value[k]));
        r->value[k] = s->value[k];
    }
    reference_drive(r, s->field[from->first % 2], from->first - 1);
    return STENCIL_OK;
}

/* Reads /f or /q and makes the source term of it that cells with coefficients have. */
static stencil_status read_source(slab *s, const slab_source *from, const stencil_problem *problem) {
    void *memory = NULL;
    stencil_problem doubles = *problem;
    doubles.precision = STENCIL_FLOAT64;
    doubles.source_scale = 1.0;
    TRY(make(s, &memory, sizeof(double), "the reference's source"));
    const stencil_status status = slab_read(s, from->input, &doubles, STENCIL_ARRAY_B, memory);
    if (status == STENCIL_OK)
        reference_source(&s->reference, memory, s->b);
    free(memory);
    return status;
}

stencil_status slab_fill(slab *s, const slab_source *from, slab_facts *facts) {
    const stencil_spec *spec = &from->problem->spec;
    const size_t bytes = stencil_precision_bytes(s->reference.precision);
    stencil_problem problem = scaled(s, from);
    reference *r = &s->reference;
    r->adds_constants = facts->adds_constants;
    r->row_count = (spec->class_count > 0 ? spec->class_count - 1 : 0) + facts->rows.count;
    const bool moves = reference_walls_in_source(r);
    TRY(read_sums(s, from, &problem));
    if (spec->source != STENCIL_SOURCE_NONE || moves) {
        TRY(make(s, &s->b, bytes, "the reference's source term"));
        memset(s->b, 0, (size_t)reference_cells(r) * bytes);
    }
    if (spec->source != STENCIL_SOURCE_NONE)
        TRY(spec->has_k && spec->source != STENCIL_SOURCE_B
                ? read_source(s, from, &problem)
                : slab_read(s, from->input, &problem, STENCIL_ARRAY_B, s->b));
    if (moves)
        reference_move_constants(r, s->b);
    facts->largest = fmax(facts->largest, reference_largest(r, s->field[from->first % 2], s->b));
    return STENCIL_OK;
}

void slab_scale(slab *s, const slab_source *from, const slab_facts *facts) {
    if (from->problem->stop.norm == STENCIL_NORM_L2)
        reference_scale(&s->reference, facts->largest, s->field[from->first % 2], s->b);
}

void slab_free(slab *s) {
    free(s->field[0]);
    free(s->field[1]);
    free(s->b);
    for (int k = 0; k < STENCIL_SUM_ARRAYS; k++) {
        free(s->more[k]);
        free(s->value[k]);
    }
    free(s->driven);
    free(s->fixed);
    free(s->row);
    free(s->insulated);
    free(s->k);
    reference_destroy(&s->reference);
    *s = (slab){0};
}

void slab_facts_begin(slab_facts *facts) {
    facts->range[0] = INFINITY;
    facts->range[1] = facts->largest = 0;
    facts->rows.count = 0;
    facts->adds_constants = false;
}

void slab_facts_join(slab_facts *facts, stencil_world *world) {
    if (stencil_world_alone(world))
        return;
    const reference_rows own = facts->rows;
    facts->range[0] = -stencil_world_largest(world, -facts->range[0]);
    facts->range[1] = stencil_world_largest(world, facts->range[1]);
    facts->largest = stencil_world_largest(world, facts->largest);
    facts->adds_constants = stencil_world_any(world, facts->adds_constants) != 0;
    for (int root = 0; root < world->ranks; root++) {
        reference_rows more = {.count = own.count};
        stencil_world_tell(world, root, &more.count, sizeof more.count);
        if (root == world->rank)
            more = own;
        if (more.count > 0)
            stencil_world_tell(world, root, more.row, (size_t)more.count * sizeof *more.row);
        reference_join_rows(&facts->rows, &more);
    }
}

int64_t slab_first_line(const reference *base, int ranks, int rank) {
    return base->extent[base->axis] * rank / ranks;
}

/* Returns the rank whose own line it is. */
static int rank_of_line(const reference *base, int ranks, int64_t line) {
    int low = 0, high = ranks; /* the rank looked for is below `high`, and not below `low` */
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (slab_first_line(base, ranks, middle) <= line)
            low = middle;
        else
            high = middle;
    }
    return low;
}

int64_t slab_line_bytes(const slab *s) {
    return reference_cells(&s->reference) / s->reference.held *
           (int64_t)stencil_precision_bytes(s->reference.precision);
}

/* The messages of a rank, of both fields. */
typedef struct messages {
    int count, room;
    stencil_message *of[2];
} messages;

/* Adds a message of lines [at, at + lines) that the arrays hold. */
static stencil_status add_message(messages *m, const slab *s, int peer, bool sent, int64_t at,
                                  int64_t lines) {
    const int64_t line_bytes = slab_line_bytes(s);
    if (m->count == m->room) {
        m->room = 2 * m->room + 8;
        for (int f = 0; f < 2; f++) {
            void *more = realloc(m->of[f], (size_t)m->room * sizeof *m->of[f]);
            CHECK(more != NULL, NO_MEMORY, "no memory for messages");
            m->of[f] = more;
        }
    }
    for (int f = 0; f < 2; f++)
        m->of[f][m->count] = (stencil_message){.peer = peer,
                                               .sent = sent,
                                               .data = (char *)s->field[f] + at * line_bytes,
                                               .bytes = (size_t)(lines * line_bytes)};
    m->count++;
    return STENCIL_OK;
}

/* Adds the messages to one rank, of which this one sends or receives some: runs of lines of one owner. */
static stencil_status add_messages(messages *m, const slab *s, const stencil_world *world, int to) {
    const int64_t n = s->reference.extent[s->reference.axis];
    reference there = s->reference;
    reference_window(&there, slab_first_line(&there, world->ranks, to),
                     slab_first_line(&there, world->ranks, to + 1), 1);
    for (int64_t at = 0, end; at < there.held; at = end) {
        const int64_t line = (there.begin + at + n) % n;
        const int owner = rank_of_line(&there, world->ranks, line);
        for (end = at + 1; end < there.held && line + end - at < n; end++)
            if (rank_of_line(&there, world->ranks, line + end - at) != owner)
                break;
        const int64_t here = (line - s->reference.begin + n) % n;
        if (owner != to && world->rank == to)
            TRY(add_message(m, s, owner, false, at, end - at));
        if (owner != to && world->rank == owner)
            TRY(add_message(m, s, to, true, here, end - at));
    }
    return STENCIL_OK;
}

stencil_status slab_connect(slab *s, stencil_world *world, stencil_exchange *exchange[2]) {
    messages m = {0};
    stencil_status status = STENCIL_OK;
    for (int to = 0; to < world->ranks && status == STENCIL_OK; to++)
        status = add_messages(&m, s, world, to);
    for (int f = 0; f < 2 && status == STENCIL_OK; f++)
        status = stencil_exchange_open(world, m.of[f], m.count, &exchange[f]);
    free(m.of[0]);
    free(m.of[1]);
    return status;
}
