#include "solver/cpu.h"

#include <stdlib.h>
#include <string.h>

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
    /* Rims and padding of both buffers start equal; the interior of the second is written before it is read. */
    const int64_t bytes = stencil_layout_bytes(&problem->layout), page = 1 << 16;
    const char *from = problem->u.data;
    char *to = cpu->second.data;
#pragma omp parallel for schedule(static) num_threads(cpu->threads)
    for (int64_t at = 0; at < bytes; at += page)
        memcpy(to + at, from + at, (size_t)(bytes - at < page ? bytes - at : page));
    return STENCIL_OK;
}

stencil_status stencil_cpu_create(stencil_cpu *cpu, stencil_problem *problem, int threads, bool streaming) {
    *cpu = (stencil_cpu){
        .threads = threads,
        .sweep = stencil_cpu_sweep_find(problem->shape->id, problem->precision),
        .streaming = streaming,
    };
    const stencil_status status = create(cpu, problem);
    if (status != STENCIL_OK) {
        stencil_cpu_destroy(cpu);
        return status;
    }
    const int64_t chunks = stencil_chunk_count(problem->n);
    stencil_domain_init(&cpu->domain, problem, problem->u.data, cpu->second.data, problem->b.data,
                        cpu->fold + stencil_fold_scratch_count(chunks));
    stencil_schedule_init(&cpu->schedule, problem);
    return STENCIL_OK;
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
    free(cpu->fold);
    cpu->fold = NULL;
}

/* First item of a thread's share. */
static int64_t share(int64_t items, int thread, int threads) {
    return items / threads * thread + (thread < items % threads ? thread : items % threads);
}

void stencil_cpu_step(const stencil_cpu *cpu, int64_t step, bool check, int thread, int threads) {
    const stencil_domain *d = &cpu->domain;
    const int64_t rows = d->n[STENCIL_Z] * d->n[STENCIL_Y];
    cpu->sweep(d, step % 2 != 0, share(rows, thread, threads), share(rows, thread + 1, threads), cpu->streaming,
               check ? d->chunk : NULL, cpu->schedule.norm);
}

double stencil_cpu_residual(const stencil_cpu *cpu, int thread, int threads) {
    const stencil_norm norm = cpu->schedule.norm;
    const double *v = cpu->domain.chunk;
    double *folded = cpu->fold;
    int64_t count = stencil_chunk_count(cpu->domain.n);
    while (count > 1) {
        const int64_t groups = stencil_fold_count(count);
        for (int64_t g = share(groups, thread, threads); g < share(groups, thread + 1, threads); g++)
            folded[g] = stencil_fold_group(v, count, g, norm);
        stencil_team_sync();
        v = folded;
        folded += groups;
        count = groups;
    }
    const double residual = stencil_residual_finish(v[0], cpu->schedule.updated_cells, norm);
    stencil_team_sync(); /* nobody writes the next step's chunks while somebody still reads these */
    return residual;
}
