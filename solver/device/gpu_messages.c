/* Exchanges of a rank that has a GPU with other ranks. Ghost cells: kernels pack them into messages and
 * unpack them, in pinned memory of the host, or on the device if MPI takes messages from there, or, where all
 * ranks are on one host and their GPUs can map each other's memory (CUDA IPC), the sender's kernel stores
 * them at the receiver, and a message of one byte says so. By NCCL they go from device to device in the
 * stream. Partial sums: the device combines the groups that it has whole, and the others travel between
 * hosts. */
#include "solver/device/gpu.h"

#ifdef STENCIL_HAVE_CUDA
#include <stdlib.h>
#include <string.h>

/* The place of a rank's messages in memory of another one, whose copies for even and for odd exchanges are
 * `stride` bytes apart. */
typedef struct mapped_end {
    int64_t at, stride;
} mapped_end;

/* Returns the address of a box in messages, given that of the first box of its rank. */
static char *in_message(const stencil_message_boxes *list, int i, char *first) {
    for (int k = i; k > 0 && list->item[k - 1].peer == list->item[i].peer; k--)
        first += list->item[k - 1].bytes;
    return first;
}

/* Lists the boxes of messages for a kernel. first[i]: where the message of box i begins; odd[i]: bytes from
 * there to the one of odd exchanges, or NULL. */
static stencil_status create_packing(stencil_gpu_part *gpu, const stencil_message_boxes *list, bool sent,
                                     char *const *first, const int64_t *odd, stencil_packing *packing) {
    const stencil_layout *l = &gpu->plan->cut.layout;
    const stencil_box own_cells = stencil_cut_box(&gpu->plan->cut, gpu->part);
    const int64_t cell_bytes = (int64_t)stencil_precision_bytes(l->precision);
    stencil_packed_box *box = calloc((size_t)list->count + 1, sizeof *box);
    CHECK(box != NULL, NO_MEMORY, "no memory for the messages between ranks");
    int64_t before = 0;
    for (int i = 0; i < list->count; i++) {
        const stencil_box cells = stencil_message_cells(&list->item[i], sent),
                          in_part = stencil_box_from(&cells, own_cells.first);
        box[i].cell = stencil_layout_offset(l, in_part.first);
        memcpy(box[i].n, in_part.n, sizeof box[i].n);
        box[i].before = before;
        box[i].message = in_message(list, i, first[i]);
        box[i].odd = odd != NULL ? odd[i] : 0;
        before += list->item[i].bytes / cell_bytes;
    }
    *packing = (stencil_packing){
        .count = list->count, .unpacks = !sent, .cells = before, .row = l->row, .plane = l->plane};
    const stencil_status status =
        stencil_gpu_own(gpu, &packing->box, box, (size_t)(list->count + 1) * sizeof *packing->box);
    free(box);
    return status;
}

/* Sets up messages by MPI, on the device or in pinned memory. */
static stencil_status create_by_mpi(stencil_gpu_run *run) {
    stencil_messages *m = &run->messages;
    stencil_gpu_part *gpu = &run->part[0];
    const stencil_message_boxes *list[2] = {&m->sent, &m->received};
    const size_t bytes = (size_t)(m->sent.bytes + m->received.bytes + 1);
    char *memory = NULL;
    if (run->plan->world->sends_device_memory) {
        TRY(stencil_gpu_own(gpu, &memory, NULL, bytes));
    } else {
        TRY_CUDA(cudaHostAlloc(&run->message_memory, bytes, cudaHostAllocMapped));
        memory = run->message_memory;
    }
    TRY(stencil_messages_open(m, memory));
    for (int k = 0; k < 2; k++) {
        char **first = calloc((size_t)list[k]->count + 1, sizeof *first);
        CHECK(first != NULL, NO_MEMORY, "no memory for the messages between ranks");
        for (int i = 0; i < list[k]->count; i++)
            first[i] = i > 0 && list[k]->item[i - 1].peer == list[k]->item[i].peer ? first[i - 1]
                                                                                   : list[k]->item[i].at;
        const stencil_status status =
            create_packing(gpu, list[k], k == 0, first, NULL, k == 0 ? &gpu->sent : &gpu->received);
        free(first);
        TRY(status);
    }
    return STENCIL_OK;
}

/* Adds the messages of a list, whose boxes lie one behind the other from `memory` on, to run->by_nccl;
 * first[i]: where that of box i begins. */
static void add_messages(stencil_gpu_run *run, const stencil_message_boxes *list, bool sent, char *memory,
                         char **first) {
    for (int i = 0; i < list->count; memory += list->item[i++].bytes) {
        const bool begins = i == 0 || list->item[i - 1].peer != list->item[i].peer;
        first[i] = begins ? memory : first[i - 1];
        if (begins)
            run->by_nccl[run->by_nccl_count++] = (stencil_message){list->item[i].peer, sent, memory, 0};
        run->by_nccl[run->by_nccl_count - 1].bytes += (size_t)list->item[i].bytes;
    }
}

/* Allocates memory on the device for messages by NCCL, and lists them. */
static stencil_status allocate_by_nccl(stencil_gpu_run *run) {
    stencil_messages *m = &run->messages;
    stencil_gpu_part *gpu = &run->part[0];
    const stencil_message_boxes *list[2] = {&m->sent, &m->received};
    run->by_nccl = calloc((size_t)(m->sent.count + m->received.count) + 1, sizeof *run->by_nccl);
    CHECK(run->by_nccl != NULL, NO_MEMORY, "no memory for the messages between ranks");
    for (int k = 0; k < 2; k++) {
        char *memory = NULL, **first = calloc((size_t)list[k]->count + 1, sizeof *first);
        stencil_status status = first != NULL
                                    ? stencil_gpu_own(gpu, &memory, NULL, (size_t)list[k]->bytes + 1)
                                    : ERROR(NO_MEMORY, "no memory for the messages between ranks");
        if (status == STENCIL_OK) {
            add_messages(run, list[k], k == 0, memory, first);
            status = create_packing(gpu, list[k], k == 0, first, NULL, k == 0 ? &gpu->sent : &gpu->received);
        }
        free(first);
        TRY(status);
    }
    return STENCIL_OK;
}

/* Exchanges what the memory of messages has: NCCL connects ranks when they first send, for 0.2 s, which the
 * first pass need not wait for. */
static stencil_status connect_by_nccl(stencil_gpu_run *run) {
    TRY(stencil_nccl_exchange(run->nccl, run->by_nccl, run->by_nccl_count, NULL));
    TRY_CUDA(cudaStreamSynchronize(NULL));
    return STENCIL_OK;
}

static stencil_status create_by_nccl(stencil_gpu_run *run) {
    TRY(stencil_world_agree(run->plan->world, allocate_by_nccl(run)));
    TRY(stencil_nccl_open(&run->nccl, run->plan->world));
    return stencil_world_agree(run->plan->world, connect_by_nccl(run));
}

/* Numbers the ranks of a list in their order; number[i]: that of box i. Returns how many they are. */
static int number_peers(const stencil_message_boxes *list, int *number) {
    int count = 0;
    for (int i = 0; i < list->count; i++)
        number[i] = i > 0 && list->item[i - 1].peer == list->item[i].peer ? count - 1 : count++;
    return count;
}

/* Data that ranks send each other before they map memory. */
typedef struct mapping {
    int *sent, *received; /* numbers of ranks, of each box */
    int sent_count, received_count;
    mapped_end *there, *here; /* [sent_count]: at others; [received_count]: at this rank */
    char **first;             /* of each sent box, or received one */
    int64_t *odd;
} mapping;

static bool allocate_mapping(mapping *g, const stencil_messages *m) {
    const size_t most = (size_t)(m->sent.count > m->received.count ? m->sent.count : m->received.count) + 1;
    *g = (mapping){.sent = calloc(most, sizeof *g->sent),
                   .received = calloc(most, sizeof *g->received),
                   .there = calloc(most, sizeof *g->there),
                   .here = calloc(most, sizeof *g->here),
                   .first = calloc(most, sizeof *g->first),
                   .odd = calloc(most, sizeof *g->odd)};
    return g->sent != NULL && g->received != NULL && g->there != NULL && g->here != NULL &&
           g->first != NULL && g->odd != NULL;
}
static void free_mapping(mapping *g) {
    free(g->sent), free(g->received), free(g->there), free(g->here), free(g->first), free(g->odd);
}

/* Opens the exchange in which the senders get to know where their messages go in memory of `stride` bytes
 * twice. */
static stencil_status open_places(const stencil_messages *m, mapping *g, int64_t stride,
                                  stencil_exchange **exchange) {
    stencil_message *message = calloc((size_t)(g->sent_count + g->received_count) + 1, sizeof *message);
    CHECK(message != NULL, NO_MEMORY, "no memory for the messages between ranks");
    int count = 0;
    int64_t at = 0;
    for (int i = 0; i < m->received.count; at += m->received.item[i++].bytes)
        if (i == 0 || g->received[i] != g->received[i - 1]) {
            mapped_end *end = &g->here[g->received[i]];
            *end = (mapped_end){at, stride};
            message[count++] = (stencil_message){m->received.item[i].peer, true, end, sizeof *end};
        }
    for (int i = 0; i < m->sent.count; i++)
        if (i == 0 || g->sent[i] != g->sent[i - 1])
            message[count++] =
                (stencil_message){m->sent.item[i].peer, false, &g->there[g->sent[i]], sizeof g->there[0]};
    const stencil_status status = stencil_exchange_open(m->world, message, count, exchange);
    free(message);
    return status;
}

/* Makes that exchange, once all ranks have opened it. */
static stencil_status tell_places(const stencil_messages *m, mapping *g, int64_t stride) {
    stencil_exchange *exchange = NULL;
    const stencil_status status = stencil_world_agree(m->world, open_places(m, g, stride, &exchange));
    if (status == STENCIL_OK) {
        stencil_exchange_start(m->world, exchange);
        stencil_exchange_finish(m->world, exchange);
    }
    stencil_exchange_close(m->world, exchange);
    return status;
}

/* Lists the boxes of messages that are stored at their receivers: `memory` at this rank. */
static stencil_status list_mapped(stencil_gpu_run *run, mapping *g, char *memory, int64_t stride) {
    const stencil_messages *m = &run->messages;
    stencil_gpu_part *gpu = &run->part[0];
    for (int i = 0; i < m->sent.count; i++) {
        const mapped_end *end = &g->there[g->sent[i]];
        g->first[i] = (char *)run->mapped.at[m->sent.item[i].peer] + end->at, g->odd[i] = end->stride;
    }
    TRY(create_packing(gpu, &m->sent, true, g->first, g->odd, &gpu->sent));
    for (int i = 0; i < m->received.count; i++)
        g->first[i] = memory + g->here[g->received[i]].at, g->odd[i] = stride;
    return create_packing(gpu, &m->received, false, g->first, g->odd, &gpu->received);
}

/* Sets up messages that are stored at their receivers. *maps: all ranks can; else nothing is set up. A rank
 * that fails tells the others before they wait for it. */
static stencil_status create_mapped(stencil_gpu_run *run, mapping *g, bool *maps) {
    stencil_messages *m = &run->messages;
    stencil_gpu_part *gpu = &run->part[0];
    const int64_t stride = (m->received.bytes + 255) / 256 * 256 + 256;
    char *memory = NULL;
    g->sent_count = number_peers(&m->sent, g->sent);
    g->received_count = number_peers(&m->received, g->received);
    TRY(stencil_world_agree(
        m->world, stencil_gpu_own(gpu, &memory, NULL, stencil_mapping_bytes((size_t)(2 * stride)))));
    TRY(stencil_mapping_open(&run->mapped, m->world, (void *[]){memory}, 1, maps));
    if (!*maps)
        return STENCIL_OK;
    TRY(tell_places(m, g, stride));
    TRY_CUDA(cudaHostAlloc(&run->message_memory, (size_t)(m->sent.count + m->received.count + 1),
                           cudaHostAllocDefault));
    TRY(stencil_messages_open_tokens(m, run->message_memory));
    return list_mapped(run, g, memory, stride);
}

/* Finds the groups of partial sums that the device combines. */
static stencil_status create_groups(stencil_gpu_run *run) {
    const stencil_reduction *r = &run->reduction;
    const int64_t count = r->level[0].groups;
    const size_t bytes = (size_t)(count + 1) * sizeof(int64_t);
    int64_t *numbers = malloc(2 * bytes);
    CHECK(numbers != NULL, NO_MEMORY, "no memory for the residual over ranks");
    for (int64_t g = 0; g < count; g++) {
        numbers[g] = stencil_reduction_place(r, g);
        numbers[count + 1 + g] = r->level[0].group[g].count;
    }
    stencil_group_sums *s = &run->groups;
    *s = (stencil_group_sums){.groups = count};
    stencil_status status = stencil_gpu_own(&run->part[0], &s->first, numbers, bytes);
    if (status == STENCIL_OK)
        status = stencil_gpu_own(&run->part[0], &s->count, numbers + count + 1, bytes);
    free(numbers);
    TRY(status);
    TRY_CUDA(cudaHostAlloc((void **)&s->to, (size_t)(count + 1) * sizeof *s->to, cudaHostAllocMapped));
    return STENCIL_OK;
}

/* Finds what the rank exchanges, and allocates what that needs wherever messages lie. */
static stencil_status find_exchanges(stencil_gpu_run *run, mapping *g) {
    const stencil_plan *plan = run->plan;
    TRY(stencil_reduction_create(&run->reduction, &plan->cut, plan->world));
    TRY(stencil_halo_transfers_find(&run->transfers, &plan->cut));
    TRY(stencil_messages_find(&run->messages, &plan->cut, &run->transfers, plan->world));
    TRY_CUDA(cudaSetDevice(run->part[0].device));
    TRY(create_groups(run));
    CHECK(allocate_mapping(g, &run->messages), NO_MEMORY, "no memory for the messages between ranks");
    return STENCIL_OK;
}

stencil_status stencil_gpu_messages_create(stencil_gpu_run *run) {
    mapping g = {0};
    bool maps = run->plan->maps;
    stencil_status status = stencil_world_agree(run->plan->world, find_exchanges(run, &g));
    if (status == STENCIL_OK && maps)
        status = create_mapped(run, &g, &maps);
    free_mapping(&g);
    TRY(status);
    if (run->plan->nccl)
        return create_by_nccl(run);
    return maps ? STENCIL_OK : create_by_mpi(run);
}

void stencil_gpu_messages_destroy(stencil_gpu_run *run) {
    stencil_mapping_close(&run->mapped);
    stencil_nccl_close(run->nccl);
    free(run->by_nccl);
    stencil_messages_destroy(&run->messages);
    cudaFreeHost(run->message_memory);
    cudaFreeHost(run->groups.to);
    stencil_reduction_destroy(&run->reduction);
}

/* Queues the kernel that packs messages after a pass, or unpacks them. */
static stencil_status pack(const stencil_gpu_part *gpu, const stencil_pass *pass,
                           const stencil_packing *packing, cudaStream_t stream) {
    enum { BLOCKS_MOST = 1024 };
    const int64_t blocks = (packing->cells + STENCIL_BLOCK_THREADS - 1) / STENCIL_BLOCK_THREADS;
    stencil_packing p = *packing;
    void *arguments[] = {&p};
    p.part = gpu->u[!pass->from];
    p.odd = (int32_t)(gpu->run->exchanges % 2);
    if (blocks > 0)
        TRY_CUDA(cudaLaunchKernel(stencil_pack_kernel(gpu->plan->cut.mesh.precision),
                                  (dim3){(unsigned)stencil_smaller(blocks, BLOCKS_MOST), 1, 1},
                                  (dim3){STENCIL_BLOCK_THREADS, 1, 1}, arguments, 0, stream));
    return STENCIL_OK;
}

stencil_status stencil_gpu_send(const stencil_gpu_part *gpu, const stencil_pass *pass, cudaStream_t stream) {
    TRY(pack(gpu, pass, &gpu->sent, stream));
    return gpu->run->nccl == NULL
               ? STENCIL_OK
               : stencil_nccl_exchange(gpu->run->nccl, gpu->run->by_nccl, gpu->run->by_nccl_count, stream);
}

/* A rank that packs messages into the memory that those of two exchanges ago were in has those of the last
 * exchange, which its receiver has sent after it unpacked the former: two copies suffice at a receiver. */
stencil_status stencil_gpu_exchange(const stencil_gpu_part *gpu, const stencil_pass *pass,
                                    cudaEvent_t packed) {
    stencil_gpu_run *run = gpu->run;
    if (run->nccl != NULL)
        return pack(gpu, pass, &gpu->received, gpu->stream);
    /* The stream has also unpacked the messages of the last exchange by then, whose memory on the host the
     * next ones come to. */
    TRY_CUDA(cudaEventSynchronize(packed));
    stencil_messages_start(&run->messages);
    stencil_messages_finish(&run->messages);
    TRY(pack(gpu, pass, &gpu->received, gpu->stream));
    run->exchanges++;
    return STENCIL_OK;
}

/* Queues copies of partial sums to the host: those that travel, or all where these are many. */
static stencil_status fetch_travelling(const stencil_gpu_part *gpu) {
    const stencil_reduction_level *l = &gpu->run->reduction.level[0];
    const stencil_reduction_pieces *list[2] = {&l->sent, &l->moved};
    enum { PIECES_MOST = 16 };
    if (l->sent.count + l->moved.count > PIECES_MOST) {
        TRY_CUDA(cudaMemcpyAsync(gpu->run->values, gpu->args.domain.partial,
                                 (size_t)l->count * sizeof *gpu->run->values, cudaMemcpyDeviceToHost,
                                 gpu->stream));
        return STENCIL_OK;
    }
    for (int k = 0; k < 2; k++)
        for (int64_t i = 0; i < list[k]->count; i++) {
            const stencil_reduction_piece *piece = &list[k]->item[i];
            TRY_CUDA(cudaMemcpyAsync(gpu->run->values + piece->from, gpu->args.domain.partial + piece->from,
                                     (size_t)piece->count * sizeof *gpu->run->values, cudaMemcpyDeviceToHost,
                                     gpu->stream));
        }
    return STENCIL_OK;
}

stencil_status stencil_gpu_start_reduction(stencil_gpu_part *gpu) {
    stencil_group_sums *s = &gpu->run->groups;
    void *arguments[] = {s};
    s->value = gpu->args.domain.partial;
    s->norm = gpu->args.schedule.norm;
    if (s->groups > 0)
        TRY_CUDA(cudaLaunchKernel(stencil_groups_kernel(),
                                  (dim3){(unsigned)stencil_smaller(s->groups, 65535), 1, 1},
                                  (dim3){STENCIL_BLOCK_THREADS, 1, 1}, arguments, 0, gpu->stream));
    return fetch_travelling(gpu);
}

double stencil_gpu_reduce(stencil_gpu_run *run) {
    const stencil_norm norm = run->schedule.norm;
    stencil_reduction_level *l = &run->reduction.level[0];
    const stencil_reduction_pieces *list[2] = {&l->sent, &l->moved};
    for (int k = 0; k < 2; k++)
        for (int64_t i = 0; i < list[k]->count; i++) {
            const stencil_reduction_piece *piece = &list[k]->item[i];
            memcpy(l->value + piece->from, run->values + piece->from,
                   (size_t)piece->count * sizeof *l->value);
        }
    return stencil_residual_finish(stencil_reduction_all(&run->reduction, norm, run->groups.to),
                                   run->schedule.updated_cells, norm);
}
#endif
