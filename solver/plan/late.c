#include "solver/plan/late.h"

#include <math.h>
#include <stdlib.h>

static const double pi = 3.14159265358979323846;

/* A number in (0, 1) that follows from three (the finaliser of splitmix64). */
static double uniform(uint64_t seed, uint64_t a, uint64_t b) {
    uint64_t x = seed + a * UINT64_C(0x9e3779b97f4a7c15) + b * UINT64_C(0xd1b54a32d192ed03);
    for (int i = 0; i < 2; i++) {
        x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
        x ^= x >> 31;
    }
    return ((double)(x >> 11) + 0.5) / (double)(UINT64_C(1) << 53);
}

/* A normally distributed number (Box, Muller). */
static double normal(uint64_t seed, uint64_t rank, uint64_t pass) {
    return sqrt(-2 * log(uniform(seed, 2 * rank, pass))) * cos(2 * pi * uniform(seed, 2 * rank + 1, pass));
}

double stencil_late_pass_s(const stencil_late *l, int rank, int64_t pass) {
    const bool late = rank == l->late_rank && (l->late_pass < 0 || l->late_pass == pass);
    const double noise = l->noise > 0 ? l->noise * normal(l->seed, (uint64_t)rank, (uint64_t)pass) : 0;
    return l->pass_s * fmax(1 + noise, 0) + (late ? l->late_s : 0);
}

bool stencil_late_reduces(const stencil_late *l, int64_t pass) {
    return l->reduce_every > 0 &&
           floor((double)(pass + 1) / l->reduce_every) > floor((double)pass / l->reduce_every);
}

/* The time at which a rank can begin its next pass: it and its neighbours have done the last one. */
static double ready_s(const stencil_late *l, int rank, const double *done_s) {
    stencil_rank_peers peers;
    double latest_s = done_s[rank];
    stencil_rank_peers_find(&l->grid, rank, &peers);
    for (int i = 0; i < peers.count; i++)
        latest_s = fmax(latest_s, done_s[peers.peer[i]]);
    return latest_s + (peers.count > 0 ? l->exchange_s : 0);
}

static double latest(const double *time_s, int ranks) {
    double latest_s = 0;
    for (int rank = 0; rank < ranks; rank++)
        latest_s = fmax(latest_s, time_s[rank]);
    return latest_s;
}

stencil_status stencil_late_simulate(const stencil_late *l, double *pass_s) {
    const int ranks = l->grid.count[0] * l->grid.count[1] * l->grid.count[2];
    double *begin_s = calloc(2 * (size_t)ranks, sizeof *begin_s), *done_s = begin_s + ranks;
    CHECK(begin_s != NULL, NO_MEMORY, "no memory for a simulation of %d ranks", ranks);
    for (int64_t pass = 0; pass < l->passes; pass++) {
        for (int rank = 0; rank < ranks; rank++)
            done_s[rank] = begin_s[rank] + stencil_late_pass_s(l, rank, pass);
        for (int rank = 0; rank < ranks; rank++)
            begin_s[rank] = ready_s(l, rank, done_s);
        if (!stencil_late_reduces(l, pass))
            continue;
        const double all_s = latest(begin_s, ranks) + l->reduce_s;
        for (int rank = 0; rank < ranks; rank++)
            begin_s[rank] = all_s;
    }
    *pass_s = latest(begin_s, ranks) / (double)l->passes;
    free(begin_s);
    return STENCIL_OK;
}
