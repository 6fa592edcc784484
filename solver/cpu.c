#include "solver/cpu.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "solver/domain.h"
#include "sync/barrier.h"

static int64_t fold_bytes(const stencil_problem *problem) {
    const int64_t chunks = stencil_chunk_count(problem->n);
    return (chunks + stencil_fold_scratch_count(chunks)) * (int64_t)sizeof(double);
}

int64_t stencil_cpu_bytes(const stencil_problem *problem) {
    return stencil_layout_bytes(&problem->layout) + fold_bytes(problem);
}

bool stencil_cpu_streams(const stencil_problem *problem, int64_t cache_bytes) {
    const int64_t fields = problem->spec.source != STENCIL_SOURCE_NONE ? 3 : 2;
    return cache_bytes > 0 && fields * stencil_layout_bytes(&problem->layout) > cache_bytes;
}

static stencil_status create(stencil_cpu *cpu, stencil_problem *problem) {
    TRY(stencil_field_create(&cpu->second, &problem->layout, "the second buffer of the field"));
    void *fold = NULL;
    TRY(stencil_memory_alloc(&fold, fold_bytes(problem), "the residual"));
    cpu->fold = fold;
    /* Rims and padding of both buffers start equal; the interior of the second is written before it is read.
     */
    const int64_t bytes = stencil_layout_bytes(&problem->layout), page = 1 << 16;
    const char *from = problem->u.data;
    char *to = cpu->second.data;
#pragma omp parallel for schedule(static) num_threads(cpu->threads)
    for (int64_t at = 0; at < bytes; at += page)
        memcpy(to + at, from + at, (size_t)(bytes - at < page ? bytes - at : page));
    return STENCIL_OK;
}

/* Memory of the barrier: every word the epoch asked for. */
static stencil_status create_barrier(stencil_cpu *cpu, const stencil_problem *problem,
                                     const stencil_plan *plan) {
    const uint32_t participants = (uint32_t)cpu->threads;
    const size_t words = stencil_barrier_word_count(participants);
    void *memory = NULL;
    TRY(stencil_memory_alloc(&memory, (int64_t)(words * sizeof(uint32_t)), "the barrier"));
    cpu->state.words = memory;
    for (size_t i = 0; i < words; i++)
        cpu->state.words[i] = plan->patience.epoch;
    /* A thread's share is a run of rows: to its neighbours it is a run of tiles one row high. */
    const int64_t row[3] = {1, 1, problem->n[STENCIL_X]};
    TRY(stencil_neighbors_find(&cpu->neighbors, &cpu->domain, problem->shape, row, participants));
    cpu->state.participants = participants;
    cpu->state.neighbor_first = cpu->neighbors.first;
    cpu->state.neighbor = cpu->neighbors.list;
    cpu->state.timeout_ns = (uint64_t)(1e9 * plan->patience.timeout_s);
    cpu->state.alarm = cpu->alarm;
    return STENCIL_OK;
}

stencil_status stencil_cpu_create(stencil_cpu *cpu, stencil_problem *problem, const stencil_plan *plan) {
    *cpu = (stencil_cpu){
        .threads = plan->threads,
        .sweep = stencil_cpu_sweep_find(problem->shape->id, problem->precision),
        .streaming = plan->streaming,
        .barrier = plan->barrier,
        .disturbance = plan->patience.disturbance,
    };
    stencil_status status = create(cpu, problem);
    if (status == STENCIL_OK) {
        const int64_t chunks = stencil_chunk_count(problem->n);
        stencil_domain_init(&cpu->domain, problem, problem->u.data, cpu->second.data, problem->b.data,
                            cpu->fold + stencil_fold_scratch_count(chunks));
        stencil_schedule_init(&cpu->schedule, problem);
        if (cpu->barrier != STENCIL_BARRIER_none)
            status = create_barrier(cpu, problem, plan);
    }
    if (status != STENCIL_OK)
        stencil_cpu_destroy(cpu);
    return status;
}

void stencil_cpu_finish(stencil_cpu *cpu, stencil_problem *problem, int64_t steps) {
    if (steps % 2 == 0)
        return;
    void *result = cpu->second.data;
    cpu->second.data = problem->u.data;
    problem->u.data = result;
}

void stencil_cpu_destroy(stencil_cpu *cpu) {
    if (cpu == NULL)
        return;
    stencil_field_destroy(&cpu->second);
    stencil_neighbors_destroy(&cpu->neighbors);
    free(cpu->fold);
    free(cpu->state.words);
    cpu->fold = NULL;
    cpu->state.words = NULL;
}

/* First item of a thread's share. */
static int64_t share(int64_t items, int thread, int threads) {
    return items / threads * thread + (thread < items % threads ? thread : items % threads);
}

void stencil_cpu_step(const stencil_cpu *cpu, int64_t step, bool check, int thread, int threads) {
    const stencil_domain *d = &cpu->domain;
    const int64_t rows = d->n[STENCIL_Z] * d->n[STENCIL_Y];
    cpu->sweep(d, step % 2 != 0, share(rows, thread, threads), share(rows, thread + 1, threads),
               cpu->streaming, check ? d->chunk : NULL, cpu->schedule.norm);
}

static void sleep_ns(uint32_t ns) {
    nanosleep(&(struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000}, NULL);
}

bool stencil_cpu_sync(stencil_cpu *cpu, int64_t step, int thread, bool all) {
    const stencil_disturbance *d = &cpu->disturbance;
    if (d->delay_ns != 0 && stencil_lateness_ns(d, (uint32_t)thread, step) != 0)
        sleep_ns(stencil_lateness_ns(d, (uint32_t)thread, step));
    if (d->absent_step != 0 && d->absent_step == step && d->absent == (uint32_t)thread) {
        while (__atomic_load_n(cpu->alarm, __ATOMIC_RELAXED) == 0)
            sleep_ns(1000000);
        return false;
    }
    if (cpu->barrier == STENCIL_BARRIER_none) {
#pragma omp barrier
        return true;
    }
    return stencil_team_sync(cpu->barrier, &cpu->state, (uint32_t)thread, all);
}

bool stencil_cpu_residual(stencil_cpu *cpu, int thread, int threads, double *residual) {
    const stencil_norm norm = cpu->schedule.norm;
    const double *v = cpu->domain.chunk;
    double *folded = cpu->fold;
    int64_t count = stencil_chunk_count(cpu->domain.n);
    while (count > 1) {
        const int64_t groups = stencil_fold_count(count);
        for (int64_t g = share(groups, thread, threads); g < share(groups, thread + 1, threads); g++)
            folded[g] = stencil_fold_group(v, count, g, norm);
        if (!stencil_cpu_sync(cpu, 0, thread, true))
            return false;
        v = folded;
        folded += groups;
        count = groups;
    }
    *residual = stencil_residual_finish(v[0], cpu->schedule.updated_cells, norm);
    return stencil_cpu_sync(cpu, 0, thread,
                            true); /* nobody writes the next chunks while somebody reads these */
}
