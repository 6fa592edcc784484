/* Benchmark `message`: what messages between ranks cost. The LogGP figures are measured as T. Hoefler et al.
 * do (Netgauge; "Low-overhead LogGP parameter assessment for modern interconnection networks", 2007): from
 * rank 0 n messages of s bytes go to another rank, with a pause d between them, and one comes back; that
 * takes PRTT(n, d, s). Messages are persistent requests, as those of a run. G is that of a ping-pong, and one
 * more that of messages which cross, as ghost cells do. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/words.h"
#include "bench/benchmarks/ranks.h"
#include "bench/benchmarks/trial.h"
#include "solver/machine/link.h"
#include "solver/problem/domain.h"

enum { TRAIN = 16, ROUNDS = 20, SMALL = 8, LARGE = 1 << 18, LARGEST = 1 << 22, DEPTHS = 4, CHECKED = 5 };

/* The measurement of a row. */
typedef struct asked {
    stencil_order order;
    bool halved; /* there and back: half of it counts */
    char figure; /* 'L', 'o', 'g', 'G', 'B': G of both ways at once; 0: the time of the order */
} asked;

static const stencil_bench_ranks *ranks_of(const stencil_bench *b) {
    return b->options->ranks;
}

/* Sets *prtt_s to the time of a train and its answer without the pauses, the median of ROUNDS: processors may
 * be shared with others. */
static stencil_status time_train(const stencil_bench *b, const stencil_order *like, int messages,
                                 double pause_s, int64_t bytes, double *prtt_s) {
    stencil_order order = *like;
    double each[ROUNDS], scratch[ROUNDS];
    order.messages = messages;
    order.pause_s = pause_s;
    order.bytes = bytes;
    order.count = ROUNDS;
    TRY(stencil_ranks_order(ranks_of(b), &order, each, prtt_s));
    *prtt_s = stencil_statistics_of(each, ROUNDS, scratch).median;
    return STENCIL_OK;
}

/* Sets *next_s to the time from a message in a train to the next, without the pause: g, or, behind a pause
 * that is longer than that, o. */
static stencil_status time_next(const stencil_bench *b, const stencil_order *like, double pause_s,
                                double *next_s) {
    double one_s, many_s;
    TRY(time_train(b, like, 1, 0, SMALL, &one_s));
    TRY(time_train(b, like, TRAIN, pause_s, SMALL, &many_s));
    *next_s = fmax(many_s - one_s, 0) / (TRAIN - 1);
    return STENCIL_OK;
}

/* Measures o with pauses of the length of a ping-pong, in which the message has arrived; *there_s: half of a
 * ping-pong, L + 2 o, which bounds o where other programs disturb the pauses. */
static stencil_status time_overhead(const stencil_bench *b, const stencil_order *like, double *overhead_s,
                                    double *there_s) {
    double both_s;
    TRY(time_train(b, like, 1, 0, SMALL, &both_s));
    *there_s = both_s / 2;
    TRY(time_next(b, like, both_s, overhead_s));
    *overhead_s = fmin(*overhead_s, *there_s / 2);
    return STENCIL_OK;
}

static stencil_status sample_figure(stencil_bench *b, void *what, int64_t count, double *value) {
    const asked *a = what;
    stencil_order order = a->order;
    double other;
    (void)count;
    switch (a->figure) {
    case 'o':
        return time_overhead(b, &order, value, &other);
    case 'g':
        return time_next(b, &order, 0, value);
    case 'G': /* of a message by itself: those of a train overlap where they are copied more than once */
    case 'B':
        order.both = a->figure == 'B';
        TRY(time_train(b, &order, 1, 0, SMALL, &other));
        TRY(time_train(b, &order, 1, 0, LARGE, value));
        *value = fmax(*value - other, 0) / (order.both ? 1 : 2) / (LARGE - SMALL);
        return STENCIL_OK;
    default:
        TRY(time_overhead(b, &order, &other, value));
        *value = fmax(*value - 2 * other, 0);
        return STENCIL_OK;
    }
}

/* Times an order; to verify, all that arrives is compared. */
static stencil_status sample(stencil_bench *b, void *what, int64_t count, double *value) {
    const asked *a = what;
    stencil_order order = a->order;
    order.count = count;
    order.check = b->verifying || order.flip;
    TRY(stencil_ranks_order(ranks_of(b), &order, NULL, value));
    *value /= a->halved ? 2 : 1;
    return STENCIL_OK;
}

/* Name of a row for a link. */
static const char *link_name(const char *what, const char *link, bool device, char text[32]) {
    snprintf(text, 32, "%s %s%s", what, link, device ? ", GPU memory" : "");
    return text;
}

static stencil_status add_figures(stencil_bench *b, const char *link, int peer) {
    static const struct {
        char figure;
        const char *name, *unit;
    } figures[] = {{'L', "L", "s"},
                   {'o', "o", "s"},
                   {'g', "g", "s"},
                   {'G', "G", "s/byte"},
                   {'B', "G both ways", "s/byte"}};
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        const asked a = {.order = {.kind = STENCIL_ORDER_TRAIN, .peer = peer}, .figure = figures[i].figure};
        char name[32];
        TRY(STENCIL_BENCH_ADD(b, a, "LogGP", link_name(figures[i].name, link, false, name), figures[i].unit,
                              .count = 1, .sample = sample_figure));
    }
    return STENCIL_OK;
}

/* Reads the figures of a link, which were added first at `row`. */
static stencil_link link_at(const stencil_bench *b, int row) {
    const stencil_bench_row *r = &b->result->row[row];
    return (stencil_link){r[0].statistics.median, r[1].statistics.median, r[2].statistics.median,
                          r[3].statistics.median, r[4].statistics.median};
}

/* Adds a ping-pong for each size, with the time that the figures of the link predict. */
static stencil_status add_sizes(stencil_bench *b, const char *name, int peer, const stencil_link *link,
                                bool device, const char *skipped) {
    char text[32];
    link_name("ping-pong", name, device, text);
    for (int64_t bytes = SMALL; bytes <= LARGEST; bytes *= 8) {
        const asked a = {.order = {.kind = STENCIL_ORDER_TRAIN,
                                   .peer = peer,
                                   .messages = 1,
                                   .bytes = bytes,
                                   .device = device},
                         .halved = true};
        TRY(STENCIL_BENCH_ADD(b, a, "ping-pong", text, "s/message", .sample = sample, .verified = CHECKED,
                              .axis = {{"bytes", bytes}}, .skipped = skipped));
        if (link != NULL)
            stencil_bench_last(b)->predicted = stencil_link_message_s(link, (double)bytes);
        stencil_bench_last(b)->bytes = (double)bytes;
    }
    return STENCIL_OK;
}

/* Returns why messages from device memory are not measured; "": they are. */
static const char *no_device(const stencil_bench *b) {
#ifdef STENCIL_HAVE_CUDA
    if (b->machine->gpu_count == 0)
        return "there is no GPU";
    return ranks_of(b)->world->sends_device_memory ? "" : "this MPI takes messages from host memory only";
#else
    (void)b;
    return "this build has no CUDA";
#endif
}

static stencil_status add_link(stencil_bench *b, const char *name, int peer, int first) {
    const stencil_link link = link_at(b, first);
    TRY(add_sizes(b, name, peer, &link, false, NULL));
    return add_sizes(b, name, peer, NULL, true, no_device(b));
}

/* Sets the time that figures predict for the halo of the rank that sends most. */
static void predict_halo(stencil_bench_row *row, const stencil_cut *cut, const stencil_link *link) {
    row->predicted = row->bytes = 0;
    for (int rank = 0; rank < cut->parts; rank++) {
        int messages;
        const double bytes = (double)stencil_ranks_halo_bytes(cut, rank, &messages),
                     each = messages > 0 ? bytes / messages : 0,
                     time_s = link->latency_s + messages * stencil_link_further_s(link, each);
        row->predicted = fmax(row->predicted, messages > 0 ? time_s : 0);
        row->bytes = fmax(row->bytes, bytes);
    }
    snprintf(row->formula, sizeof row->formula, "sent by the rank that sends most");
}

/* Adds the exchange of ghost cells for passes of 1, 2, 4, 8 steps, as far as the parts are thick enough. */
static stencil_status add_halos(stencil_bench *b, const stencil_problem *problem, const stencil_link *link) {
    char name[32];
    snprintf(name, sizeof name, "halo of %s", problem->shape->name);
    for (int i = 0; i < DEPTHS; i++) {
        const stencil_mesh mesh = stencil_problem_mesh(problem, 1 << i);
        asked a = {.order = {.kind = STENCIL_ORDER_HALO}};
        const stencil_status status =
            stencil_cut_make(&a.order.cut, &mesh, ranks_of(b)->world->ranks, (int[3]){0});
        if (status != STENCIL_OK && i > 0)
            break;
        TRY(status);
        snprintf(a.order.shape, sizeof a.order.shape, "%s", problem->shape->name);
        if (i == 0)
            stencil_bench_add_text(
                b->result, "cut",
                stencil_text_add((char[64]){""}, 64, "%d x %d x %d", a.order.cut.count[STENCIL_X],
                                 a.order.cut.count[STENCIL_Y], a.order.cut.count[STENCIL_Z]));
        TRY(STENCIL_BENCH_ADD(b, a, "halo", name, "s/halo", .sample = sample, .verified = CHECKED,
                              .axis = {{"depth", 1 << i}}));
        predict_halo(stencil_bench_last(b), &a.order.cut, link);
    }
    return STENCIL_OK;
}

/* Samples the passes of a simulation: *value is the mean time of a pass. */
static stencil_status sample_passes(stencil_bench *b, void *what, int64_t count, double *value) {
    const asked *a = what;
    stencil_order order = a->order;
    order.count = count;
    TRY(stencil_ranks_order(ranks_of(b), &order, NULL, value));
    *value /= (double)(count * order.late.passes);
    return STENCIL_OK;
}

/* Adds ranks that sleep for their passes, so that they need no processor of their own, and wait for the
 * messages of their neighbours, with the time that is simulated for the same passes. */
static stencil_status add_late(stencil_bench *b, const stencil_problem *problem, const stencil_link *link) {
    enum { PASSES = 16 };
    static const double pass_s = 4e-3;
    static const struct {
        const char *name;
        double noise, late_s;
        int64_t late_pass;
        double reduce_every;
    } ways[] = {{"passes", 0, 0, -1, 0},
                {"passes, noise 20%", 0.2, 0, -1, 0},
                {"noise 20%, reductions", 0.2, 0, -1, 1},
                {"passes, one 2 ms late", 0, 2e-3, -1, 0},
                {"a pass 20 ms late", 0, 20e-3, 3, 0}};
    const stencil_mesh mesh = stencil_problem_mesh(problem, 1);
    const int ranks = ranks_of(b)->world->ranks;
    stencil_cut cut;
    TRY(stencil_cut_make(&cut, &mesh, ranks, (int[3]){0}));
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        asked a = {.order = {.kind = STENCIL_ORDER_PASSES}};
        stencil_late *late = &a.order.late;
        double predicted_s;
        *late = (stencil_late){.grid = {.n = {1, 1, 1}, .ghosts = {1, 1, 1}, .bytes = sizeof(double)},
                               .pass_s = pass_s,
                               .exchange_s = stencil_link_message_s(link, sizeof(double)),
                               .noise = ways[i].noise,
                               .late_rank = ways[i].late_s > 0 ? ranks / 2 : -1,
                               .late_s = ways[i].late_s,
                               .late_pass = ways[i].late_pass,
                               .passes = PASSES,
                               .reduce_every = ways[i].reduce_every,
                               .reduce_s = stencil_link_message_s(link, sizeof(double)) * log2(ranks),
                               .seed = 1};
        memcpy(late->grid.count, cut.count, sizeof cut.count);
        for (int axis = 0; axis < STENCIL_AXES; axis++)
            late->grid.periodic[axis] = mesh.wraps[axis] > 0 && mesh.boundary[axis] == STENCIL_PERIODIC;
        TRY(stencil_late_simulate(late, &predicted_s));
        TRY(STENCIL_BENCH_ADD(b, a, "late ranks", ways[i].name, "s/pass", .count = 1,
                              .sample = sample_passes));
        stencil_bench_last(b)->predicted = predicted_s;
    }
    return STENCIL_OK;
}

static stencil_status add_problem(stencil_bench *b, const stencil_link *link) {
    static const char *const size[] = {"nz", "ny", "nx"};
    stencil_spec spec = b->options->spec;
    stencil_problem problem;
    if (!stencil_trial_default(&spec))
        for (int axis = 0; axis < spec.rank; axis++)
            spec.extent[axis] = spec.rank == 2 ? 8192 : 512;
    TRY(stencil_problem_resolve(&problem, &spec));
    stencil_bench_add_text(b->result, "precision", stencil_precision_name(problem.precision));
    for (int axis = STENCIL_AXES - problem.rank; axis < STENCIL_AXES; axis++)
        stencil_bench_add_number(b->result, size[axis], problem.extent[axis]);
    stencil_status status = add_halos(b, &problem, link);
    if (status == STENCIL_OK)
        status = add_late(b, &problem, link);
    stencil_problem_destroy(&problem);
    return status;
}

static stencil_status add_collectives(stencil_bench *b) {
    const asked reduction = {.order = {.kind = STENCIL_ORDER_REDUCTION}},
                barrier = {.order = {.kind = STENCIL_ORDER_BARRIER}};
    TRY(STENCIL_BENCH_ADD(b, reduction, "reduction", "reduction", "s/call", .sample = sample,
                          .verified = CHECKED));
    return STENCIL_BENCH_ADD(b, barrier, "barrier", "barrier", "s/call", .sample = sample,
                             .verified = CHECKED);
}

/* Adds a row whose sender flips a bit of what it sends. */
static stencil_status take_planted(stencil_bench *b, int peer) {
    const asked a = {
        .order = {.kind = STENCIL_ORDER_TRAIN, .peer = peer, .messages = 1, .bytes = SMALL, .flip = true}};
    TRY(STENCIL_BENCH_ADD(b, a, "ping-pong", "planted fault", "s/message", .sample = sample));
    return stencil_bench_take_planted(b);
}

stencil_status stencil_measure_message(stencil_bench *b) {
    const stencil_bench_ranks *ranks = ranks_of(b);
    stencil_hosts hosts;
    if (ranks == NULL)
        return stencil_bench_skip(b->result,
                                  "it takes two or more ranks: mpirun -np 2 stencil bench message");
    TRY(stencil_ranks_hosts(ranks, &hosts));
    stencil_bench_add_number(b->result, "ranks", ranks->world->ranks);
    stencil_bench_add_number(b->result, "hosts", hosts.count);
    if (b->options->inject_fault)
        return take_planted(b, 1);
    const struct {
        const char *name;
        int peer;
    } link[] = {{"inside", hosts.inside}, {"between", hosts.between}};
    int first[2] = {0};
    for (int i = 0; i < 2; i++) {
        first[i] = b->result->row_count;
        if (link[i].peer > 0)
            TRY(add_figures(b, link[i].name, link[i].peer));
    }
    TRY(stencil_bench_take(b));
    for (int i = 0; i < 2; i++)
        if (link[i].peer > 0)
            TRY(add_link(b, link[i].name, link[i].peer, first[i]));
    const stencil_link slowest = link_at(b, hosts.between > 0 ? first[1] : first[0]);
    TRY(add_problem(b, &slowest));
    TRY(add_collectives(b));
    return stencil_bench_take(b);
}
