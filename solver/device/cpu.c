#include "solver/device/cpu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "solver/plan/memory.h"

stencil_status stencil_cpu_check_team(const stencil_cpu *cpu, int threads) {
    CHECK(threads == cpu->threads, UNAVAILABLE,
          "OpenMP gave %d thread%s where %d were asked for: give --threads %d (or unset OMP_DYNAMIC or "
          "OMP_THREAD_LIMIT)",
          threads, stencil_plural(threads), cpu->threads, threads);
    return STENCIL_OK;
}

static stencil_status create_part(stencil_cpu *cpu, const stencil_problem *problem, int part) {
    const stencil_cut *cut = &cpu->plan->cut;
    stencil_field *field = cpu->field[part - cut->own];
    TRY(stencil_field_create(&field[0], &cut->layout, stencil_buffer_text(STENCIL_BUFFER_U)));
    TRY(stencil_field_create_apart(&field[1], &field[0], stencil_buffer_text(STENCIL_BUFFER_U + 1)));
    for (int k = STENCIL_BUFFER_B; k < STENCIL_BUFFERS; k++) {
        if ((stencil_buffers_of(problem, false) >> k & 1) == 0)
            continue;
        TRY(stencil_memory_alloc(&field[k].memory, stencil_buffer_bytes(cut, k), stencil_buffer_text(k)));
        field[k].data = field[k].memory;
    }
    for (int k = 0; k < STENCIL_BUFFERS; k++)
        cpu->buffers.at[part - cut->own][k] = field[k].data;
    return STENCIL_OK;
}

static stencil_status create_barrier(stencil_cpu *cpu, const stencil_problem *problem) {
    const stencil_plan *plan = cpu->plan;
    const uint32_t participants = (uint32_t)cpu->threads;
    TRY(stencil_team_create(&cpu->state, participants, plan->wait.epoch, plan->wait.timeout_s));
    /* A thread's share is a range of rows, passed to the neighbor search as tiles one row high. */
    stencil_workers workers = {.tile = {1, 1, problem->n[STENCIL_X]}, .together = true};
    workers.first[plan->cut.owned] = participants;
    TRY(stencil_neighbors_find(&cpu->neighbors, &plan->cut, &workers));
    cpu->state.parts = (uint32_t)(plan->cut.owned < cpu->threads ? plan->cut.owned : cpu->threads);
    cpu->state.neighbor_first = cpu->neighbors.first;
    cpu->state.neighbor = cpu->neighbors.list;
    return STENCIL_OK;
}

/* Allocates the factors of the steps of a batch, and weights for each thread that differ in these. */
static stencil_status create_factors(stencil_cpu *cpu, const stencil_problem *problem) {
    const int64_t count = cpu->threads * (int64_t)(cpu->plan->depth + 1);
    void *memory = NULL;
    TRY(stencil_factors_create(&cpu->factors, problem));
    if (cpu->factors.factor == NULL)
        return STENCIL_OK;
    TRY(stencil_memory_alloc(&memory, count * (int64_t)sizeof *cpu->own_weights, "the weights"));
    cpu->own_weights = memory;
    for (int64_t k = 0; k < count; k++)
        cpu->own_weights[k] = cpu->cycle[0];
    return STENCIL_OK;
}

void stencil_cpu_begin_batch(stencil_cpu *cpu, const stencil_problem *problem, int64_t first, int64_t count) {
    stencil_factors_fill(&cpu->factors, problem, first, count);
}

/* Allocates the partial sums of the residual: of the whole problem, or of this rank's part of it. */
static stencil_status create_sums(stencil_cpu *cpu, const stencil_problem *problem) {
    const int64_t count = stencil_partial_count(problem->n);
    void *memory = NULL;
    if (!stencil_world_alone(cpu->plan->world))
        return stencil_reduction_create(&cpu->reduction, &cpu->plan->cut, cpu->plan->world);
    TRY(stencil_memory_alloc(&memory, stencil_values_bytes(count), "the residual"));
    cpu->level = memory;
    cpu->partial = cpu->level + stencil_levels_count(count);
    return STENCIL_OK;
}

/* Fills in what sweeps get of the k-th part of this process. */
static void describe_part(stencil_cpu *cpu, const stencil_problem *problem, int k, bool store) {
    stencil_domain *d = &cpu->domain[k];
    const int part = cpu->plan->cut.own + k;
    stencil_domain_init(d, problem, part, &cpu->buffers, store);
    d->partial = cpu->partial;
    if (cpu->partial == NULL) { /* numbered within the part */
        d->partial = cpu->reduction.level[0].value;
        d->partial_first = 0;
        d->partial_row = cpu->reduction.row;
        d->partial_plane = cpu->reduction.plane;
    }
    cpu->sums[k] = stencil_sums_of(problem, &cpu->buffers, part);
    cpu->classes[k] = stencil_classes_of(&cpu->buffers, part);
    cpu->classes[k].palette = problem->varied > 0 ? cpu->cycle + cpu->cycle_length : NULL;
    cpu->row_base[k + 1] = cpu->row_base[k] + d->n[STENCIL_Z] * d->n[STENCIL_Y];
}

/* Allocates the trials of stores and the scratch space of all threads, a page or more for each thread. */
static stencil_status create_threads(stencil_cpu *cpu, const stencil_problem *problem) {
    void *trial = NULL, *scratch = NULL, *notes = NULL;
    TRY(stencil_memory_alloc(&trial, cpu->threads * (int64_t)sizeof *cpu->trial, "the threads"));
    cpu->trial = trial;
    TRY(stencil_memory_alloc(&notes, cpu->threads * (int64_t)sizeof *cpu->notes, "the threads"));
    cpu->notes = notes;
    stencil_cpu_set_trace(cpu, &(stencil_trace){0});
    for (int thread = 0; thread < cpu->threads; thread++)
        stencil_stores_begin(&cpu->trial[thread], cpu->plan->stores);
    cpu->scratch_bytes = stencil_cpu_scratch_bytes(cpu->plan, problem);
    if (cpu->scratch_bytes > 0)
        TRY(stencil_memory_alloc(&scratch, cpu->threads * cpu->scratch_bytes, "what is kept between steps"));
    cpu->scratch = scratch;
    return STENCIL_OK;
}

/* Sets up the messages to other ranks, and from there. */
static stencil_status create_messages(stencil_cpu *cpu) {
    stencil_messages *m = &cpu->messages;
    TRY(stencil_messages_find(m, &cpu->plan->cut, &cpu->transfers, cpu->plan->world));
    TRY(stencil_memory_alloc(&cpu->message_memory, m->sent.bytes + m->received.bytes + 1,
                             "the messages between ranks"));
    return stencil_messages_open(m, cpu->message_memory);
}

stencil_status stencil_cpu_create(stencil_cpu *cpu, const stencil_plan *plan, const stencil_problem *problem,
                                  const stencil_buffers *lent) {
    const stencil_cut *cut = &plan->cut;
    const bool store = plan->halo != STENCIL_HALO_COPY && plan->halo != STENCIL_HALO_MESSAGE;
    *cpu = (stencil_cpu){
        .plan = plan,
        .threads = plan->threads,
        .sweep = stencil_cpu_best()->sweep[problem->precision][problem->shape->id],
        .fault = plan->wait.fault,
    };
    TRY(stencil_weights_make(&cpu->cycle, &cpu->cycle_length, problem));
    if (cpu->fault.absent_part > 0) /* the first thread of that part is absent */
        cpu->fault.absent =
            stencil_share_owner((uint32_t)cut->owned, (uint32_t)plan->threads, cpu->fault.absent_part - 1);
    cpu->buffers = (stencil_buffers){.cut = cut};
    TRY(create_sums(cpu, problem));
    if (lent != NULL)
        memcpy(cpu->buffers.at, lent->at, sizeof lent->at);
    for (int k = 0; k < cut->owned && lent == NULL; k++)
        TRY(create_part(cpu, problem, cut->own + k));
    for (int k = 0; k < cut->owned; k++)
        describe_part(cpu, problem, k, store);
    if (!store)
        TRY(stencil_halo_transfers_find(&cpu->transfers, cut));
    if (plan->halo == STENCIL_HALO_MESSAGE)
        TRY(create_messages(cpu));
    TRY(create_threads(cpu, problem));
    TRY(create_factors(cpu, problem));
    return cpu->plan->barrier != STENCIL_BARRIER_none ? create_barrier(cpu, problem) : STENCIL_OK;
}

/* Loads a box into a part; array u into both buffers, which are equal around the updated cells. */
stencil_status stencil_cpu_load(stencil_cpu *cpu, int part, stencil_array array, const stencil_box *box,
                                const stencil_reader *from) {
    const stencil_buffers *b = &cpu->buffers;
    const stencil_cells to = stencil_buffer_cells(b, part, stencil_buffer_of(array, 0), box->first);
    TRY(stencil_array_axis(array) >= 0 ? from->read(from->context, array, box, &to)
                                       : stencil_boxes_fill(from, &b->cut->mesh, array, box, &to));
    if (array == STENCIL_ARRAY_U) {
        const stencil_cells second = stencil_buffer_cells(b, part, stencil_buffer_of(array, 1), box->first);
        stencil_cells_copy(&second, &to, box->n);
    }
    return STENCIL_OK;
}

void stencil_cpu_mark(const stencil_cpu *cpu, int part) {
    const stencil_marks marks = stencil_marks_of(&cpu->plan->cut);
    const int64_t rows = marks.count[STENCIL_Z] * marks.count[STENCIL_Y], groups = marks.count[STENCIL_X];
    const int k = part - cpu->plan->cut.own;
    const stencil_domain *d = &cpu->domain[k];
    const stencil_classes *c = &cpu->classes[k];
    uint8_t *const mark = cpu->buffers.at[k][STENCIL_BUFFER_MARK];
    if (mark == NULL)
        return;
#pragma omp parallel for schedule(static)
    for (int64_t r = 0; r < rows; r++) {
        const int64_t z = marks.first[STENCIL_Z] + r / marks.count[STENCIL_Y],
                      y = marks.first[STENCIL_Y] + r % marks.count[STENCIL_Y];
        stencil_marks_make(mark + r * groups, c->of + z * d->plane + y * d->row,
                           marks.first[STENCIL_X] * STENCIL_GROUP_CELLS, groups, c->first, c->end);
    }
}

void stencil_cpu_report(const stencil_cpu *cpu, stencil_store_report *r) {
    *r = (stencil_store_report){.threads = cpu->threads, .cached_step_s = NAN, .streaming_step_s = NAN};
    for (int thread = 0; thread < cpu->threads; thread++) {
        const stencil_stores_trial *trial = &cpu->trial[thread];
        r->streaming_threads += stencil_stores_chosen(trial);
        r->cached_step_s = fmax(r->cached_step_s, trial->found_s[false]);
        r->streaming_step_s = fmax(r->streaming_step_s, trial->found_s[true]);
    }
}

void stencil_cpu_destroy(stencil_cpu *cpu) {
    if (cpu == NULL)
        return;
    for (int part = 0; part < STENCIL_PARTS_MAX; part++)
        for (int k = 0; k < STENCIL_BUFFERS; k++)
            stencil_field_destroy(&cpu->field[part][k]);
    stencil_neighbors_destroy(&cpu->neighbors);
    free(cpu->level);
    stencil_reduction_destroy(&cpu->reduction);
    stencil_halo_transfers_destroy(&cpu->transfers);
    stencil_messages_destroy(&cpu->messages);
    free(cpu->message_memory);
    free(cpu->state.words);
    free(cpu->trial);
    free(cpu->notes);
    free(cpu->scratch);
    free(cpu->cycle);
    free(cpu->own_weights);
    stencil_factors_destroy(&cpu->factors);
    *cpu = (stencil_cpu){0};
}

/* Rows of a part that a pass computes. */
typedef enum rows {
    ROWS_ALL,
    ROWS_EDGE, /* rows that other parts need copies of */
    ROWS_INNER /* rows that no other part needs */
} rows;

/* Tells whether other parts need copies of row r of a part: of any row where x is cut. */
static bool is_edge_row(const stencil_cpu *cpu, int part, int64_t r) {
    const stencil_cut *cut = &cpu->plan->cut;
    const int64_t *n = cpu->domain[part].n, reach = cut->layout.ghost[STENCIL_X];
    const int64_t z = r / n[STENCIL_Y], y = r % n[STENCIL_Y];
    return cut->count[STENCIL_X] > 1 ||
           (cut->count[STENCIL_Z] > 1 && (z < reach || z >= n[STENCIL_Z] - reach)) ||
           (cut->count[STENCIL_Y] > 1 && (y < reach || y >= n[STENCIL_Y] - reach));
}

/* Work of one thread in a pass. */
typedef struct work {
    const stencil_pass *pass;
    bool check, streaming;
    int thread, threads;
    rows rows;
} work;

/* Returns the weights of step k of a pass that a thread makes. */
static const stencil_weights *weights_of(const stencil_cpu *cpu, const work *w, int k) {
    const int64_t step = w->pass->first + k;
    if (cpu->own_weights == NULL)
        return &cpu->cycle[step % cpu->cycle_length];
    stencil_weights *own = &cpu->own_weights[w->thread * (cpu->plan->depth + 1) + k];
    stencil_factor_put(own, cpu->plan->cut.mesh.precision, stencil_factors_at(&cpu->factors, step)[0]);
    return own;
}

static void sweep_rows(const stencil_cpu *cpu, const work *w, int part, int64_t first, int64_t last) {
    const stencil_domain *d = &cpu->domain[part];
    stencil_cpu_pass pass = {.sweep = cpu->plan->sweep,
                             .from = w->pass->from,
                             .steps = w->pass->steps,
                             .tile = {1, cpu->plan->tile[STENCIL_Y], cpu->plan->tile[STENCIL_X]},
                             .scratch = cpu->scratch + w->thread * cpu->scratch_bytes,
                             .streaming = w->streaming,
                             .partial = w->check ? d->partial + d->partial_first : NULL,
                             .classes = cpu->classes[part].of != NULL ? &cpu->classes[part] : NULL,
                             .norm = cpu->schedule.norm};
    for (int k = 0; k < pass.steps; k++)
        pass.weights[k] = weights_of(cpu, w, k);
    if (cpu->own_weights != NULL && pass.steps == 1) {
        pass.sums = &cpu->sums[part];
        pass.factor = stencil_factors_at(&cpu->factors, w->pass->first);
    }
    for (pass.first = first; pass.first < last; pass.first = pass.last) {
        const bool edge = is_edge_row(cpu, part, pass.first);
        pass.last = w->rows == ROWS_ALL ? last : pass.first + 1;
        while (pass.last < last && is_edge_row(cpu, part, pass.last) == edge)
            pass.last++;
        if (w->rows != (edge ? ROWS_INNER : ROWS_EDGE))
            cpu->sweep(d, &pass);
    }
}

/* Returns CPU time of the calling thread, which other processes on a shared machine do not affect. */
static double thread_clock_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Computes the thread's share of the rows of all parts. Returns the seconds taken if `timed`, else 0. */
static double make_rows(const stencil_cpu *cpu, const work *w, bool timed) {
    const int parts = cpu->plan->cut.owned;
    const double start_s = timed ? thread_clock_s() : 0;
    const int64_t begin = stencil_share(cpu->row_base[parts], w->threads, w->thread),
                  end = stencil_share(cpu->row_base[parts], w->threads, w->thread + 1);
    for (int part = 0; part < parts; part++) {
        const int64_t base = cpu->row_base[part], next = cpu->row_base[part + 1];
        if (begin < next && end > base)
            sweep_rows(cpu, w, part, begin > base ? begin - base : 0, stencil_smaller(end, next) - base);
    }
    return timed ? thread_clock_s() - start_s : 0;
}

/* Makes the thread's share of the halo copies of a pass; all threads must have computed the edge rows. */
static void copy_halos(const stencil_cpu *cpu, const stencil_pass *pass, int thread, int threads) {
    const int buffer = stencil_buffer_of(STENCIL_ARRAY_U, !pass->from);
    for (int k = thread; k < cpu->transfers.count; k += threads) {
        const stencil_halo_transfer *t = &cpu->transfers.item[k];
        const stencil_cells from = stencil_buffer_cells(&cpu->buffers, t->from, buffer, t->from_first),
                            to = stencil_buffer_cells(&cpu->buffers, t->to, buffer, t->to_first);
        stencil_cells_copy(&to, &from, t->n);
    }
}

void stencil_cpu_set_trace(stencil_cpu *cpu, const stencil_trace *trace) {
    cpu->trace = *trace;
    cpu->trace.launch = UINT32_MAX; /* the next one is 0 */
    for (int thread = 0; thread < cpu->threads; thread++)
        cpu->notes[thread] = (stencil_cpu_notes){.sample = -1};
}

static int64_t clock_ns(void) {
    return (int64_t)(1e9 * stencil_clock_s());
}

void stencil_cpu_begin_pass(const stencil_cpu *cpu, int thread) {
    stencil_cpu_notes *notes = &cpu->notes[thread];
    notes->sample = stencil_trace_sample(&cpu->trace, ++notes->passes);
}

void stencil_cpu_note(const stencil_cpu *cpu, int thread, stencil_mark mark) {
    const stencil_trace *t = &cpu->trace;
    const int64_t sample = cpu->notes[thread].sample;
    if (sample >= 0)
        t->mark[(sample * t->participants + thread) * STENCIL_NOTES + mark] = clock_ns();
}

void stencil_cpu_note_launch(const stencil_cpu *cpu, int thread, stencil_launch_mark mark) {
    const stencil_trace *t = &cpu->trace;
    if (t->launch < t->launches)
        t->launched[((int64_t)t->launch * t->participants + thread) * STENCIL_LAUNCH_MARKS + mark] =
            clock_ns();
}

/* Waits for all threads in the midst of a pass. Returns false if the barrier timed out. */
static bool meet(const stencil_cpu *cpu, int thread) {
    if (cpu->plan->barrier != STENCIL_BARRIER_none)
        return stencil_team_sync(cpu->plan->barrier, &cpu->state, (uint32_t)thread, true);
#pragma omp barrier
    return true;
}

/* Messages from which on all threads pack them: a barrier takes as long as copying so many bytes. */
enum { SPREAD_BYTES = 1 << 16 };

static bool spreads(const stencil_cpu *cpu, int threads) {
    return threads > 1 && cpu->messages.sent.bytes >= SPREAD_BYTES;
}

/* Makes the halo copies of a pass, and begins to send messages. */
static bool begin_exchange(const stencil_cpu *cpu, const stencil_pass *pass, int thread, int threads) {
    const stencil_messages *m = &cpu->messages;
    const int buffer = stencil_buffer_of(STENCIL_ARRAY_U, !pass->from);
    const bool all = spreads(cpu, threads);
    if (!meet(cpu, thread))
        return false;
    copy_halos(cpu, pass, thread, threads);
    if (m->world != NULL && (all || thread == 0))
        stencil_messages_pack(m, &cpu->buffers, buffer, all ? thread : 0, all ? threads : 1);
    if (m->world != NULL && all && !meet(cpu, thread))
        return false;
    if (m->world != NULL && thread == 0)
        stencil_messages_start(m);
    return true;
}

/* Waits for the messages of a pass, and stores the ghost cells that they bring. */
static bool end_exchange(const stencil_cpu *cpu, const stencil_pass *pass, int thread, int threads) {
    const stencil_messages *m = &cpu->messages;
    const int buffer = stencil_buffer_of(STENCIL_ARRAY_U, !pass->from);
    const bool all = spreads(cpu, threads);
    if (m->world == NULL)
        return true;
    if (thread == 0)
        stencil_messages_finish(m);
    if (all && !meet(cpu, thread))
        return false;
    if (all || thread == 0)
        stencil_messages_unpack(m, &cpu->buffers, buffer, all ? thread : 0, all ? threads : 1);
    return true;
}

bool stencil_cpu_advance(const stencil_cpu *cpu, const stencil_pass *pass, int thread, int threads) {
    const int64_t step = pass->first + pass->steps;
    stencil_cpu_note(cpu, thread, STENCIL_MARK_BEGIN);
    if (cpu->trace.without_compute)
        return true;
    const bool copies = cpu->plan->halo == STENCIL_HALO_COPY || cpu->plan->halo == STENCIL_HALO_MESSAGE,
               overlap = copies && cpu->plan->overlap;
    stencil_stores_trial *trial = &cpu->trial[thread];
    const bool check = stencil_schedule_checks(&cpu->schedule, step);
    work w = {pass, check, trial->streaming, thread, threads, overlap ? ROWS_EDGE : ROWS_ALL};
    double pass_s = make_rows(cpu, &w, trial->timed);
    stencil_cpu_note(cpu, thread, STENCIL_MARK_SWEPT);
    if (copies && !begin_exchange(cpu, pass, thread, threads))
        return false;
    w.rows = ROWS_INNER;
    if (overlap) {
        pass_s += make_rows(cpu, &w, trial->timed);
        stencil_cpu_note(cpu, thread, STENCIL_MARK_SWEPT);
    }
    if (copies && !end_exchange(cpu, pass, thread, threads))
        return false;
    if (copies)
        stencil_cpu_note(cpu, thread, STENCIL_MARK_EXCHANGED);
    stencil_stores_note(trial, pass_s / pass->steps, check || pass->steps < cpu->plan->depth);
    return true;
}

static void sleep_ns(uint32_t ns) {
    nanosleep(&(struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000}, NULL);
}

bool stencil_cpu_sync(stencil_cpu *cpu, const stencil_pass *pass, int thread, bool all) {
    const stencil_fault *d = &cpu->fault;
    const int64_t step = pass != NULL ? pass->first + pass->steps : 0;
    if (d->delay_ns != 0 && stencil_lateness_ns(d, (uint32_t)thread, step) != 0) {
        sleep_ns(stencil_lateness_ns(d, (uint32_t)thread, step));
        /* The delay is recorded as computing time, or as copying time with halo copies. */
        if (pass != NULL)
            stencil_cpu_note(cpu, thread,
                             cpu->plan->halo == STENCIL_HALO_COPY ? STENCIL_MARK_EXCHANGED
                                                                  : STENCIL_MARK_SWEPT);
    }
    if (pass != NULL && pass->first < d->absent_step && d->absent_step <= step &&
        d->absent == (uint32_t)thread) {
        while (__atomic_load_n(cpu->state.alarm, __ATOMIC_RELAXED) == 0)
            sleep_ns(1000000);
        return false;
    }
    bool passed = true;
    all = all || cpu->messages.world != NULL; /* the first thread has stored the ghost cells of all */
    if (cpu->plan->barrier != STENCIL_BARRIER_none && !cpu->trace.without_barrier)
        passed = stencil_team_sync(cpu->plan->barrier, &cpu->state, (uint32_t)thread, all);
    if (cpu->plan->barrier == STENCIL_BARRIER_none && !cpu->trace.without_barrier) {
#pragma omp barrier
    }
    if (pass != NULL)
        stencil_cpu_note(cpu, thread, STENCIL_MARK_LEFT);
    return passed;
}

/* Computes the residual of parts in several ranks. */
static bool residual_over_ranks(stencil_cpu *cpu, int thread, int threads, double *residual) {
    stencil_reduction *r = &cpu->reduction;
    for (int level = 0; level < r->levels; level++) {
        const int64_t groups = r->level[level].groups;
        if (thread == 0)
            stencil_reduction_gather(r, level);
        if (!stencil_cpu_sync(cpu, NULL, thread, true))
            return false;
        stencil_reduction_combine(r, level, stencil_share(groups, threads, thread),
                                  stencil_share(groups, threads, thread + 1), cpu->schedule.norm);
        if (!stencil_cpu_sync(cpu, NULL, thread, true))
            return false;
    }
    if (thread == 0)
        cpu->combined = stencil_reduction_finish(r);
    if (!stencil_cpu_sync(cpu, NULL, thread, true))
        return false;
    *residual = stencil_residual_finish(cpu->combined, cpu->schedule.updated_cells, cpu->schedule.norm);
    return true;
}

bool stencil_cpu_residual(stencil_cpu *cpu, int thread, int threads, double *residual) {
    const stencil_norm norm = cpu->schedule.norm;
    if (cpu->partial == NULL)
        return residual_over_ranks(cpu, thread, threads, residual);
    stencil_level level = stencil_level_first(cpu->partial, cpu->domain[0].partial_count, cpu->level);
    for (; level.count > 1; level = stencil_level_next(&level)) {
        const int64_t end = stencil_share(level.results, threads, thread + 1);
        for (int64_t g = stencil_share(level.results, threads, thread); g < end; g++)
            level.to[g] = stencil_combine(level.from, level.count, g, norm);
        if (!stencil_cpu_sync(cpu, NULL, thread, true))
            return false;
    }
    *residual = stencil_residual_finish(level.from[0], cpu->schedule.updated_cells, norm);
    /* The barrier keeps threads from writing new partial sums while others read the old ones. */
    return stencil_cpu_sync(cpu, NULL, thread, true);
}
