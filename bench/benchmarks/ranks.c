#include "bench/benchmarks/ranks.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cuda.h"
#include "solver/problem/domain.h"

/* A rank that carries out an order: rank 0 has `begin_s` and `end_s`. */
typedef struct team {
    stencil_world *world;
    const stencil_order *order;
    double begin_s, end_s, paused_s;
    double *each; /* TRAIN, rank 0: seconds of each repetition without its pauses; else NULL */
    bool wrong;   /* something else arrived than was sent */
} team;

/* A message of an order, set up: memory, and the exchange that moves it. */
typedef struct post {
    char *data,
        *shown; /* the message, and a copy of it that the CPU reads and writes; the same on the host */
    size_t bytes;
    bool device;
    stencil_exchange *exchange;
} post;

static void close_post(const team *t, post *p) {
    stencil_exchange_close(t->world, p->exchange);
    if (p->shown != p->data)
        free(p->shown);
#ifdef STENCIL_HAVE_CUDA
    if (p->device && p->data != NULL)
        cudaFree(p->data);
#endif
    if (!p->device)
        free(p->data);
    *p = (post){0};
}

/* Takes memory for a message. */
static stencil_status take_memory(post *p) {
    p->shown = calloc(1, p->bytes);
    CHECK(p->shown != NULL, NO_MEMORY, "no memory for a message");
#ifdef STENCIL_HAVE_CUDA
    if (p->device)
        TRY_CUDA(cudaMalloc((void **)&p->data, p->bytes));
#endif
    if (!p->device)
        p->data = p->shown;
    return STENCIL_OK;
}

static stencil_status open_post(const team *t, post *p, int peer, bool sent) {
    *p = (post){.bytes = (size_t)t->order->bytes, .device = t->order->device};
    TRY(take_memory(p));
    const stencil_message message = {.peer = peer, .sent = sent, .data = p->data, .bytes = p->bytes};
    return stencil_exchange_open(t->world, &message, 1, &p->exchange);
}

/* Moves a message between the memory of a GPU and its copy on the host. */
static void show(const post *p, bool to_host) {
#ifdef STENCIL_HAVE_CUDA
    if (p->device)
        cudaMemcpy(to_host ? p->shown : p->data, to_host ? p->data : p->shown, p->bytes,
                   to_host ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice);
#endif
    (void)p;
    (void)to_host;
}

/* The byte at a place of a message: others for another sender, receiver or round. */
static char byte_of(int from, int to, int64_t round, size_t at) {
    return (char)(31 * at + (at >> 8) + 7 * (size_t)round + 101 * (size_t)from + 59 * (size_t)to);
}

static void fill(char *data, size_t bytes, int from, int to, int64_t round) {
    for (size_t i = 0; i < bytes; i++)
        data[i] = byte_of(from, to, round, i);
}

static bool is_filled(const char *data, size_t bytes, int from, int to, int64_t round) {
    for (size_t i = 0; i < bytes; i++)
        if (data[i] != byte_of(from, to, round, i))
            return false;
    return true;
}

static void start(const team *t, const post *p) {
    stencil_exchange_start(t->world, p->exchange);
}

static void finish(const team *t, const post *p) {
    stencil_exchange_finish(t->world, p->exchange);
}

/* Spins for the order's pause, or longer where the system lets others run. */
static void pause_now(team *t) {
    const double begin_s = stencil_clock_s();
    double now_s;
    do
        now_s = stencil_clock_s();
    while (now_s - begin_s < t->order->pause_s);
    t->paused_s += now_s - begin_s;
}

static void send_one(team *t, const post *p, int to, int64_t round, bool pauses) {
    if (t->order->check) {
        fill(p->shown, p->bytes, t->world->rank, to, round);
        p->shown[p->bytes / 2] ^= (char)t->order->flip;
        show(p, false);
    }
    start(t, p);
    if (pauses)
        pause_now(t);
    finish(t, p);
}

static void receive_one(team *t, const post *p, int from, int64_t round) {
    finish(t, p);
    if (!t->order->check)
        return;
    show(p, true);
    t->wrong = t->wrong || !is_filled(p->shown, p->bytes, from, t->world->rank, round);
}

static void send_train(team *t, const post *to, const post *from) {
    const stencil_order *o = t->order;
    for (int64_t i = 0; i < o->count; i++) {
        const double begin_s = stencil_clock_s();
        t->paused_s = 0;
        start(t, from);
        for (int k = 0; k < o->messages; k++)
            send_one(t, to, o->peer, i * o->messages + k, o->pause_s > 0 && k < o->messages - 1);
        receive_one(t, from, o->peer, i);
        if (t->each != NULL)
            t->each[i] = stencil_clock_s() - begin_s - t->paused_s;
    }
}

/* Answers trains; those of both ways at once have one message. */
static void answer_train(team *t, const post *to, const post *from) {
    const stencil_order *o = t->order;
    for (int64_t i = 0; i < o->count; i++) {
        for (int k = 0; k < o->messages; k++) {
            start(t, from);
            if (o->both)
                send_one(t, to, 0, i, false);
            receive_one(t, from, 0, i * o->messages + k);
        }
        if (!o->both)
            send_one(t, to, 0, i, false);
    }
}

static stencil_status begin(team *t, stencil_status status) {
    TRY(stencil_world_agree(t->world, status));
    stencil_world_meet(t->world);
    t->begin_s = stencil_clock_s();
    return STENCIL_OK;
}

static stencil_status train(team *t) {
    const stencil_order *o = t->order;
    const int rank = t->world->rank, peer = rank == 0 ? o->peer : 0;
    const bool takes_part = rank == 0 || rank == o->peer;
    post to = {0}, from = {0};
    stencil_status status = takes_part ? open_post(t, &to, peer, true) : STENCIL_OK;
    if (takes_part && status == STENCIL_OK)
        status = open_post(t, &from, peer, false);
    status = begin(t, status);
    if (status == STENCIL_OK && takes_part)
        (rank == 0 ? send_train : answer_train)(t, &to, &from);
    t->end_s = stencil_clock_s();
    close_post(t, &to);
    close_post(t, &from);
    return status;
}

/* The messages between a rank and its neighbours, one to each and one from there. */
typedef struct halo {
    int count;
    stencil_message *message; /* [count], owned, with their data */
} halo;

static void close_halo(halo *h) {
    for (int i = 0; i < h->count; i++)
        free(h->message[i].data);
    free(h->message);
}

/* Adds cells of a transfer to the message to or from a rank, which comes last where it is the first time. */
static void add_cells(halo *h, int peer, bool sent, size_t bytes) {
    int i = 0;
    while (i < h->count && (h->message[i].peer != peer || h->message[i].sent != sent))
        i++;
    if (i == h->count)
        h->message[h->count++] = (stencil_message){.peer = peer, .sent = sent};
    h->message[i].bytes += bytes;
}

/* Lists the messages of a part without their data. */
static stencil_status list_halo(halo *h, const stencil_cut *cut) {
    stencil_halo_transfers transfers = {0};
    TRY(stencil_halo_transfers_find(&transfers, cut));
    h->message = calloc(2 * (size_t)transfers.count + 1, sizeof *h->message);
    for (int i = 0; i < transfers.count && h->message != NULL; i++) {
        const stencil_halo_transfer *move = &transfers.item[i];
        const size_t bytes =
            stencil_precision_bytes(cut->mesh.precision) * (size_t)(move->n[0] * move->n[1] * move->n[2]);
        if (move->from != move->to)
            add_cells(h, move->from == cut->own ? move->to : move->from, move->from == cut->own, bytes);
    }
    stencil_halo_transfers_destroy(&transfers);
    CHECK(h->message != NULL, NO_MEMORY, "no memory for messages");
    return STENCIL_OK;
}

static stencil_status open_halo(const team *t, halo *h, stencil_exchange **exchange) {
    stencil_cut cut = t->order->cut;
    cut.mesh.shape = stencil_shape_find(t->order->shape);
    cut.own = t->world->rank;
    cut.owned = 1;
    TRY(list_halo(h, &cut));
    for (int i = 0; i < h->count; i++)
        if ((h->message[i].data = calloc(1, h->message[i].bytes)) == NULL)
            FAIL(NO_MEMORY, "no memory for messages");
    return stencil_exchange_open(t->world, h->message, h->count, exchange);
}

int64_t stencil_ranks_halo_bytes(const stencil_cut *cut, int rank, int *messages) {
    stencil_cut own = *cut;
    halo h = {0};
    int64_t bytes = 0;
    *messages = 0;
    own.own = rank;
    own.owned = 1;
    if (list_halo(&h, &own) != STENCIL_OK)
        return 0;
    for (int i = 0; i < h.count; i++) {
        bytes += h.message[i].sent ? (int64_t)h.message[i].bytes : 0;
        *messages += h.message[i].sent;
    }
    close_halo(&h);
    return bytes;
}

/* Fills what a rank sends, or compares what it has received. */
static void mark_halo(team *t, const halo *h, int64_t round, bool sent) {
    const int own = t->world->rank;
    for (int i = 0; i < h->count; i++) {
        const stencil_message *m = &h->message[i];
        if (m->sent && sent)
            fill(m->data, m->bytes, own, m->peer, round);
        if (!m->sent && !sent)
            t->wrong = t->wrong || !is_filled(m->data, m->bytes, m->peer, own, round);
    }
}

static stencil_status exchange_halo(team *t) {
    halo h = {0};
    stencil_exchange *exchange = NULL;
    stencil_status status = begin(t, open_halo(t, &h, &exchange));
    for (int64_t i = 0; i < t->order->count && status == STENCIL_OK; i++) {
        if (t->order->check)
            mark_halo(t, &h, i, true);
        stencil_exchange_start(t->world, exchange);
        stencil_exchange_finish(t->world, exchange);
        if (t->order->check)
            mark_halo(t, &h, i, false);
    }
    t->end_s = stencil_clock_s();
    stencil_exchange_close(t->world, exchange);
    close_halo(&h);
    return status;
}

static stencil_status reduce(team *t) {
    TRY(begin(t, STENCIL_OK));
    for (int64_t i = 0; i < t->order->count; i++) {
        const double most = stencil_world_largest(t->world, (double)(i + t->world->rank));
        t->wrong = t->wrong || most != (double)(i + t->world->ranks - 1);
    }
    t->end_s = stencil_clock_s();
    return STENCIL_OK;
}

/* Tells whether a barrier holds the others while one rank comes late. Where the system holds up a rank that
 * should wait, it sees a shorter wait: so some of several rounds have to show it. */
static bool holds(const team *t, int late) {
    enum { ROUNDS = 5 };
    const struct timespec pause = {.tv_nsec = 30000000};
    bool seen = t->world->rank == late;
    for (int round = 0; round < ROUNDS; round++) {
        stencil_world_meet(t->world);
        if (t->world->rank == late)
            nanosleep(&pause, NULL);
        const double begin_s = stencil_clock_s();
        stencil_world_meet(t->world);
        seen = seen || stencil_clock_s() - begin_s > 0.5e-9 * (double)pause.tv_nsec;
        if (stencil_world_any(t->world, !seen) == 0)
            return true;
    }
    return false;
}

static stencil_status meet(team *t) {
    TRY(begin(t, STENCIL_OK));
    for (int64_t i = 0; i < t->order->count && !t->order->check; i++)
        stencil_world_meet(t->world);
    t->end_s = stencil_clock_s();
    for (int late = 0; late < 2 && t->order->check; late++)
        t->wrong = !holds(t, late == 0 ? 0 : t->world->ranks - 1) || t->wrong;
    return STENCIL_OK;
}

/* Sleeps from a moment on, which is not the present where the rank was held up. */
static void sleep_until(double moment_s) {
    const double left_s = moment_s - stencil_clock_s();
    const struct timespec pause = {.tv_sec = (time_t)left_s,
                                   .tv_nsec = (long)(1e9 * (left_s - (double)(time_t)left_s))};
    if (left_s > 0)
        nanosleep(&pause, NULL);
}

/* Messages of 8 bytes, the number of the pass, to the neighbours in a grid and from there. */
typedef struct neighbours {
    int count;
    double sent, received[STENCIL_RANK_PEERS_MAX];
    stencil_exchange *exchange;
} neighbours;

static stencil_status open_neighbours(const team *t, neighbours *n) {
    stencil_rank_peers peers;
    stencil_message message[2 * STENCIL_RANK_PEERS_MAX];
    stencil_rank_peers_find(&t->order->late.grid, t->world->rank, &peers);
    n->count = peers.count;
    for (int i = 0; i < peers.count; i++) {
        message[2 * i] = (stencil_message){peers.peer[i], true, &n->sent, sizeof n->sent};
        message[2 * i + 1] = (stencil_message){peers.peer[i], false, &n->received[i], sizeof *n->received};
    }
    return stencil_exchange_open(t->world, message, 2 * peers.count, &n->exchange);
}

static void make_pass(team *t, neighbours *n, int64_t pass) {
    const stencil_late *late = &t->order->late;
    sleep_until(stencil_clock_s() + stencil_late_pass_s(late, t->world->rank, pass));
    n->sent = (double)pass;
    stencil_exchange_start(t->world, n->exchange);
    stencil_exchange_finish(t->world, n->exchange);
    for (int i = 0; i < n->count; i++)
        t->wrong = t->wrong || n->received[i] != (double)pass;
    if (stencil_late_reduces(late, pass))
        stencil_world_largest(t->world, n->sent);
}

static stencil_status make_passes(team *t) {
    neighbours n = {0};
    const stencil_status status = begin(t, open_neighbours(t, &n));
    for (int64_t i = 0; i < t->order->count && status == STENCIL_OK; i++) {
        for (int64_t pass = 0; pass < t->order->late.passes; pass++)
            make_pass(t, &n, pass);
        stencil_world_meet(t->world);
    }
    t->end_s = stencil_clock_s();
    stencil_exchange_close(t->world, n.exchange);
    return status;
}

static stencil_status carry_out(team *t) {
    switch (t->order->kind) {
    case STENCIL_ORDER_TRAIN:
        return train(t);
    case STENCIL_ORDER_HALO:
        return exchange_halo(t);
    case STENCIL_ORDER_REDUCTION:
        return reduce(t);
    case STENCIL_ORDER_BARRIER:
        return meet(t);
    case STENCIL_ORDER_PASSES:
        return make_passes(t);
    case STENCIL_ORDER_HOSTS:
    case STENCIL_ORDER_END:
        break;
    }
    return STENCIL_OK;
}

/* Carries out an order in this rank, and hears how it went in the others. */
static stencil_status take_part(const stencil_bench_ranks *ranks, const stencil_order *order, double *each,
                                double *seconds) {
    team t = {.world = ranks->world, .order = order, .each = each};
    TRY(carry_out(&t));
    const bool wrong = stencil_world_any(t.world, t.wrong) != 0;
    const uint64_t said = stencil_world_any(t.world, ranks->say != NULL ? ranks->say(ranks->context) : 0);
    if (ranks->hear != NULL)
        ranks->hear(ranks->context, said);
    *seconds = t.end_s - t.begin_s;
    CHECK(!wrong, INTERNAL, "message: something else arrived than was sent");
    return STENCIL_OK;
}

stencil_status stencil_ranks_order(const stencil_bench_ranks *ranks, const stencil_order *order, double *each,
                                   double *seconds) {
    stencil_order told = *order;
    told.cut.mesh.shape = NULL; /* it is elsewhere in other processes */
    stencil_world_tell(ranks->world, 0, &told, sizeof told);
    return take_part(ranks, order, each, seconds);
}

enum { HOST_CHARS = 64 };

static void name_host(char name[HOST_CHARS]) {
    memset(name, 0, HOST_CHARS);
    gethostname(name, HOST_CHARS - 1);
}

stencil_status stencil_ranks_hosts(const stencil_bench_ranks *ranks, stencil_hosts *hosts) {
    stencil_order order = {.kind = STENCIL_ORDER_HOSTS};
    const int count = ranks->world->ranks;
    char(*name)[HOST_CHARS] = malloc((size_t)count * sizeof *name);
    CHECK(name != NULL, NO_MEMORY, "no memory for the names of hosts");
    *hosts = (stencil_hosts){0};
    stencil_world_tell(ranks->world, 0, &order, sizeof order);
    name_host(name[0]);
    for (int i = 0; i < count; i++) {
        int earlier = 0;
        if (i > 0)
            stencil_world_receive(ranks->world, i, name[i], HOST_CHARS);
        while (strcmp(name[earlier], name[i]) != 0)
            earlier++;
        hosts->count += earlier == i;
        if (i > 0 && earlier == 0 && hosts->inside == 0)
            hosts->inside = i;
        if (i > 0 && earlier > 0 && hosts->between == 0)
            hosts->between = i;
    }
    free(name);
    return STENCIL_OK;
}

void stencil_bench_serve(const stencil_bench_ranks *ranks) {
    for (;;) {
        stencil_order order;
        double seconds;
        stencil_world_tell(ranks->world, 0, &order, sizeof order);
        if (order.kind == STENCIL_ORDER_END)
            return;
        if (order.kind == STENCIL_ORDER_HOSTS) {
            char name[HOST_CHARS];
            name_host(name);
            stencil_world_send(ranks->world, 0, name, sizeof name);
        } else {
            (void)take_part(ranks, &order, NULL, &seconds); /* rank 0 has the same error */
        }
    }
}

void stencil_bench_dismiss(const stencil_bench_ranks *ranks) {
    stencil_order order = {.kind = STENCIL_ORDER_END};
    stencil_world_tell(ranks->world, 0, &order, sizeof order);
}
