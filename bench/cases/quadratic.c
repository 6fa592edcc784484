/* The quadratic solver on a CPU, with two threads as streams, and the data of the CPU and GPU solvers. */
#include "bench/cases/quadratic.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/cases/loop.h"
#include "sync/host.h"
#include "sync/waits.h"

const quadratic_step quadratic_round[] = {
    {0, QUADRATIC_MINUS, PRODUCT, QUADRATIC_B, QUADRATIC_B, 0, QUADRATIC_MINUS},
    {0, QUADRATIC_PLUS, PRODUCT_TIMES, QUADRATIC_A, QUADRATIC_C, -4, QUADRATIC_PLUS},
    {1, QUADRATIC_PLUS, SUM, QUADRATIC_MINUS, QUADRATIC_PLUS, 0, QUADRATIC_MINUS},
    {1, QUADRATIC_PLUS, ROOT, QUADRATIC_MINUS, QUADRATIC_MINUS, 0, QUADRATIC_ROOT},
    {2, QUADRATIC_MINUS, DIFFERENCE, QUADRATIC_B, QUADRATIC_ROOT, 0, QUADRATIC_MINUS},
    {2, QUADRATIC_PLUS, SUM, QUADRATIC_B, QUADRATIC_ROOT, 0, QUADRATIC_PLUS},
    {2, QUADRATIC_MINUS, QUOTIENT_TIMES, QUADRATIC_MINUS, QUADRATIC_A, 0.5f, QUADRATIC_MINUS},
    {2, QUADRATIC_PLUS, QUOTIENT_TIMES, QUADRATIC_PLUS, QUADRATIC_A, 0.5f, QUADRATIC_PLUS},
};
const int quadratic_teller[] = {QUADRATIC_MINUS, QUADRATIC_PLUS, QUADRATIC_MINUS};

stencil_status quadratic_create(stencil_bench *b, quadratic_solver *s) {
    enum { BYTES = QUADRATIC_ELEMENTS * sizeof(float) };
    float *input[3]; /* coefficients a, -b, c */
    for (int k = 0; k < 3; k++)
        TRY(stencil_bench_memory(b, &input[k], BYTES));
    for (int k = 0; k < QUADRATIC_STREAMS; k++) {
        TRY(stencil_bench_memory(b, &s->solution[k], BYTES));
        TRY(stencil_bench_memory(b, &s->expected[k], BYTES));
    }
    for (int i = 0; i < QUADRATIC_ELEMENTS; i++) {
        const float a = input[0][i] = 1 + (float)(i * 7 % 1024) / 1024,
                    minus_b = input[1][i] = 1 + (float)(i * 11 % 4096) / 4096,
                    c = input[2][i] = -1 - (float)(i * 13 % 16384) / 16384,
                    root = sqrtf(minus_b * minus_b + -4 * (a * c));
        s->expected[0][i] = 0.5f * ((minus_b - root) / a);
        s->expected[1][i] = 0.5f * ((minus_b + root) / a);
    }
    for (int k = 0; k < QUADRATIC_ARRAYS; k++)
        TRY(stencil_case_memory(b, s->device, k < QUADRATIC_A ? NULL : input[k - QUADRATIC_A], BYTES,
                                &s->array[k]));
    return STENCIL_OK;
}

static stencil_status verify(stencil_bench *b, void *what) {
    const quadratic_ordered *o = what;
    const quadratic_solver *s = o->of;
    const size_t bytes = QUADRATIC_ELEMENTS * sizeof(float);
    double time_s;
    for (int k = 0; k < QUADRATIC_A; k++)
        TRY(stencil_case_memory_spoil(s->device, s->array[k], bytes));
    TRY(o->sample(b, what, 1, &time_s));
    for (int k = 0; k < QUADRATIC_STREAMS; k++) {
        TRY(stencil_case_memory_read(s->device, s->solution[k], s->array[k], bytes));
        for (int i = 0; i < QUADRATIC_ELEMENTS; i++)
            CHECK(memcmp(&s->solution[k][i], &s->expected[k][i], sizeof(float)) == 0, INTERNAL,
                  "quadratic, %s: solution %d of equation %d is %a, not %a", o->name, k, i,
                  (double)s->solution[k][i], (double)s->expected[k][i]);
    }
    return STENCIL_OK;
}

stencil_status quadratic_add(stencil_bench *b, const quadratic_ordered *o, int64_t count) {
    return STENCIL_BENCH_ADD(b, *o, "order", o->name, "s/round", .sample = o->sample, .verify = verify,
                             .axis = {{"elements", QUADRATIC_ELEMENTS}}, .count = count);
}

/* Ways to synchronise two CPU threads: the end of a parallel region; OpenMP's barrier; a flag that one thread
 * sets and the other waits for, like a CUDA event. */
enum { FORK_AND_JOIN, OPENMP_BARRIER, EVENT, ORDERS };
static const char *const order_names[] = {"fork and join", "omp barrier", "event, threads wait"};
static const double timeout_s = 10;

enum { THREADS = QUADRATIC_STREAMS };

/* Runs a thread's operations of one stretch of an iteration, up to the next synchronisation with the other
 * thread. Each operation is a compile-time constant of its loop. */
static void make_stretch(const quadratic_ordered *o, int thread, int stretch) {
#define EACH(operation)                                                                                      \
    case operation:                                                                                          \
        for (int i = 0; i < QUADRATIC_ELEMENTS; i++)                                                         \
            to[i] = quadratic_operate(operation, x[i], y[i], s->factor);                                     \
        break
    float *const *array = o->of->array;
    for (const quadratic_step *s = quadratic_round; s < quadratic_round + QUADRATIC_OPERATIONS; s++) {
        const float *x = array[s->x], *y = array[s->y];
        float *const to = array[s->to];
        if (s->stretch != stretch || s->stream != thread)
            continue;
        switch (s->what) {
            EACH(PRODUCT);
            EACH(PRODUCT_TIMES);
            EACH(SUM);
            EACH(ROOT);
            EACH(DIFFERENCE);
            EACH(QUOTIENT_TIMES);
        }
    }
#undef EACH
}

/* Synchronises the threads after a stretch: the thread that needs the other's results waits for them. Returns
 * false when the wait timed out. */
static bool meet(const quadratic_ordered *o, int thread, int stretch) {
    const int teller = quadratic_teller[stretch];
    const stencil_barrier_state *team = o->own; /* flags count a thread's events */
    uint32_t *const flag = stencil_barrier_flag(team, (uint32_t)teller);
    uint32_t *const seen =
        &stencil_barrier_epoch(team)[teller]; /* number of events that the waiting thread has seen */
    if (o->how == OPENMP_BARRIER) {
#pragma omp barrier
        return true;
    }
    if (thread == teller) {
        team_store(flag, *flag + 1);
        return true;
    }
    return team_spin(team, (uint32_t)thread, flag, ++*seen);
}

static bool make_rounds(const quadratic_ordered *o, int thread, int64_t rounds) {
    bool came = true;
    for (int64_t i = 0; i < rounds; i++)
        for (int stretch = 0; stretch < QUADRATIC_STRETCHES && came; stretch++) {
            make_stretch(o, thread, stretch);
            came = meet(o, thread, stretch);
        }
    return came;
}

static stencil_status sample(stencil_bench *b, void *what, int64_t rounds, double *time_s) {
    const quadratic_ordered *o = what;
    const bool forks = o->how == FORK_AND_JOIN;
    const int64_t regions = forks ? QUADRATIC_STRETCHES * rounds : 1;
    int threads = 0, in_vain = 0;
    (void)b;
    const double start_s = stencil_clock_s();
    for (int64_t i = 0; i < regions; i++) {
#pragma omp parallel num_threads(THREADS) reduction(+ : in_vain)
        {
            const int thread = omp_get_thread_num(), team = omp_get_num_threads();
            if (omp_get_thread_num() == 0)
                threads = team;
            if (team == THREADS && forks)
                make_stretch(o, thread, (int)(i % QUADRATIC_STRETCHES));
            else if (team == THREADS)
                in_vain += !make_rounds(o, thread, rounds);
        }
    }
    *time_s = stencil_clock_s() - start_s;
    TRY(stencil_bench_check_team(threads, THREADS));
    CHECK(in_vain == 0, INTERNAL, "quadratic, %s: a thread waited for more than %g s in vain", o->name,
          timeout_s);
    return STENCIL_OK;
}

stencil_status stencil_measure_quadratic_cpu(stencil_bench *b) {
    quadratic_solver s = {0};
    stencil_barrier_state team;
    snprintf(b->result->device, sizeof b->result->device, "%d threads, %s", THREADS, b->machine->cpu_isa);
    TRY(quadratic_create(b, &s));
    TRY(stencil_team_create(&team, THREADS, 0, timeout_s));
    TRY(stencil_bench_keep(b, free, team.words));
    for (int how = 0; how < ORDERS; how++)
        TRY(quadratic_add(b, &(quadratic_ordered){&s, how, order_names[how], &team, sample}, 0));
    TRY(stencil_bench_take(b));
    stencil_bench_note(b, "A round is eight loops over the elements by two threads, which meet three times.");
    stencil_bench_note(b, "Verified: both solutions of all equations after another round, to the last bit.");
    return STENCIL_OK;
}
