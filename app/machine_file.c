#include "app/machine_file.h"

#include <string.h>

#include "app/json.h"
#include "app/text.h"
#include "solver/machine/topology.h"

/* A member of a structure under its name in JSON. */
typedef struct field {
    const char *name;
    enum { TEXT, INT, INT64, FLAG } type;
    size_t offset, size;
    int64_t minimum, maximum; /* of a number */
} field;

#define FIELD(type, struct, member, name, ...)                                                               \
    { name, type, offsetof(struct, member), sizeof((struct *)NULL)->member, __VA_ARGS__ }
#define GPU(type, member, ...)       FIELD(type, stencil_gpu, member, #member, __VA_ARGS__)
#define CPU(type, member, name, ...) FIELD(type, stencil_machine, member, name, __VA_ARGS__)
#define KERNEL(member, name, ...)    FIELD(INT, stencil_kernel_attributes, member, name, __VA_ARGS__)

static const field gpu_fields[] = {GPU(TEXT, name, 0, 0),
                                   GPU(TEXT, bus_id, 0, 0),
                                   GPU(INT, sm_count, 1, 4096),
                                   GPU(INT, clock_khz, 0, INT32_MAX),
                                   GPU(INT, registers_per_sm, 0, INT32_MAX),
                                   GPU(INT, threads_per_sm, 0, INT32_MAX),
                                   GPU(INT, blocks_per_sm, 0, INT32_MAX),
                                   GPU(INT64, memory_bytes, 0, INT64_MAX),
                                   GPU(INT64, free_bytes, 0, INT64_MAX),
                                   GPU(INT64, l2_bytes, 0, INT64_MAX),
                                   GPU(INT64, shared_per_sm_bytes, 0, INT64_MAX),
                                   GPU(INT64, shared_per_block_bytes, 0, INT64_MAX),
                                   GPU(FLAG, cooperative, 0, 0),
                                   GPU(FLAG, clusters, 0, 0),
                                   {.name = NULL}};
static const field cpu_fields[] = {CPU(INT, cpu_threads, "threads", 1, 4096),
                                   CPU(TEXT, cpu_isa, "isa", 0, 0),
                                   CPU(INT64, cpu_cache_bytes, "cache_bytes", 0, INT64_MAX),
                                   CPU(INT64, host_available_bytes, "memory_available_bytes", 0, INT64_MAX),
                                   {.name = NULL}};
static const field cuda_fields[] = {CPU(INT, driver_version, "driver_version", 0, INT32_MAX),
                                    CPU(INT, runtime_version, "runtime_version", 0, INT32_MAX),
                                    {.name = NULL}};
static const field machine_fields[] = {CPU(TEXT, no_gpu_reason, "no_gpu_reason", 0, 0), {.name = NULL}};
static const field kernel_fields[] = {KERNEL(gpu, "gpu", 0, STENCIL_GPUS_MAX - 1),
                                      KERNEL(kernel.cells, "cells", 1, 64),
                                      KERNEL(kernel.block_x, "block_x", 32, STENCIL_BLOCK_THREADS),
                                      KERNEL(kernel.blocks, "blocks", 1, 64),
                                      FIELD(FLAG, stencil_kernel_attributes, image, "image", 0, 0),
                                      KERNEL(registers, "registers", 0, 255),
                                      KERNEL(shared_bytes, "shared_bytes", 0, INT32_MAX),
                                      KERNEL(blocks_per_sm, "blocks_per_sm", 0, 64),
                                      KERNEL(clusters, "clusters", 0, 65536),
                                      {.name = NULL}};

static json_t *write_fields(json_t *object, const field *fields, const void *from) {
    for (const field *f = fields; f->name != NULL; f++) {
        const char *at = (const char *)from + f->offset;
        int64_t number = 0;
        if (f->type == INT || f->type == INT64)
            number = f->type == INT ? *(const int *)at : *(const int64_t *)at;
        json_object_set_new(object, f->name,
                            f->type == TEXT   ? json_string(at)
                            : f->type == FLAG ? json_boolean(*(const bool *)at)
                                              : json_integer(number));
    }
    return object;
}

/* What a terminal prints as it is. */
static bool is_plain(const char *text) {
    while ((unsigned char)*text >= ' ' && *text != 127)
        text++;
    return *text == '\0';
}

static stencil_status read_fields(const json_t *object, const field *fields, void *to) {
    for (const field *f = fields; f->name != NULL; f++) {
        const json_t *value = json_object_get(object, f->name);
        char *at = (char *)to + f->offset;
        if (f->type == TEXT) {
            CHECK(json_is_string(value) && json_string_length(value) < f->size &&
                      is_plain(json_string_value(value)),
                  BAD_DATA, "\"%s\" is missing, or not a plain text of up to %zu bytes", f->name,
                  f->size - 1);
            memcpy(at, json_string_value(value), json_string_length(value) + 1);
        } else if (f->type == FLAG) {
            CHECK(json_is_boolean(value), BAD_DATA, "\"%s\" is missing, or not true or false", f->name);
            *(bool *)at = json_is_true(value);
        } else {
            const int64_t number = json_integer_value(value);
            CHECK(json_is_integer(value) && number >= f->minimum && number <= f->maximum, BAD_DATA,
                  "\"%s\" is missing, or not a whole number of %lld to %lld", f->name, (long long)f->minimum,
                  (long long)f->maximum);
            if (f->type == INT)
                *(int *)at = (int)number;
            else
                *(int64_t *)at = number;
        }
    }
    return STENCIL_OK;
}

static json_t *gpu_json(const stencil_gpu *gpu, int id) {
    char processors[256];
    int node;
    stencil_topology_near(gpu->bus_id, processors, sizeof processors, &node);
    return write_fields(json_pack("{s:i, s:f, s:s, s:i}", "id", id, "capability", gpu->capability / 10.0,
                                  "near_cpus", processors, "numa_node", node),
                        gpu_fields, gpu);
}

void machine_write(const stencil_machine *machine, json_t *root) {
    json_t *gpus = json_array(), *peers = json_array(), *kernels = json_array();
    for (int i = 0; i < machine->gpu_count; i++) {
        json_t *row = json_array();
        for (int j = 0; j < machine->gpu_count; j++)
            json_array_append_new(row, json_boolean(machine->peer[i][j]));
        json_array_append_new(peers, row);
        json_array_append_new(gpus, gpu_json(&machine->gpu[i], i));
    }
    for (int i = 0; i < machine->kernel_count; i++) {
        char text[STENCIL_KERNEL_CHARS];
        json_t *row = json_pack("{s:s}", "kernel", stencil_kernel_text(&machine->kernel[i].kernel, text));
        json_array_append_new(kernels, write_fields(row, kernel_fields, &machine->kernel[i]));
    }
    json_object_set_new(root, "cpu", write_fields(json_object(), cpu_fields, machine));
    json_object_set_new(root, "cuda", write_fields(json_object(), cuda_fields, machine));
    json_object_set_new(root, "gpus", gpus);
    write_fields(root, machine_fields, machine);
    json_object_set_new(root, "peers", peers);
    json_object_set_new(root, "kernels", kernels);
}

static stencil_status read_gpus(const json_t *root, stencil_machine *machine) {
    const json_t *gpus = json_object_get(root, "gpus"), *peers = json_object_get(root, "peers");
    const size_t count = json_array_size(gpus);
    CHECK(json_is_array(gpus) && count <= STENCIL_GPUS_MAX, BAD_DATA,
          "\"gpus\" is missing, or not a list of up to %d", STENCIL_GPUS_MAX);
    machine->gpu_count = (int)count;
    for (size_t i = 0; i < count; i++) {
        const json_t *gpu = json_array_get(gpus, i), *capability = json_object_get(gpu, "capability");
        TRY(read_fields(gpu, gpu_fields, &machine->gpu[i]));
        const double tenths = 10 * json_number_value(capability) + 0.5;
        CHECK(tenths >= 10 && tenths < 10000, BAD_DATA, "\"capability\" is missing, or not one such as 9.0");
        machine->gpu[i].capability = (int)tenths;
        for (size_t j = 0; j < count; j++) {
            const json_t *peer = json_array_get(json_array_get(peers, i), j);
            CHECK(json_is_boolean(peer), BAD_DATA, "\"peers\" is no table of true and false for %zu GPUs",
                  count);
            machine->peer[i][j] = json_is_true(peer);
        }
    }
    return STENCIL_OK;
}

static stencil_status read_kernels(const json_t *root, stencil_machine *machine) {
    const json_t *kernels = json_object_get(root, "kernels");
    CHECK(json_is_array(kernels) && json_array_size(kernels) <= STENCIL_MACHINE_KERNELS_MAX, BAD_DATA,
          "\"kernels\" is missing, or not a list of up to %d", STENCIL_MACHINE_KERNELS_MAX);
    for (size_t i = 0; i < json_array_size(kernels); i++) {
        stencil_kernel_attributes *row = &machine->kernel[machine->kernel_count++];
        const json_t *object = json_array_get(kernels, i);
        const char *text = json_string_value(json_object_get(object, "kernel"));
        CHECK(text != NULL && stencil_kernel_read(&row->kernel, text), BAD_DATA,
              "no kernel of this build: %s", text != NULL ? text : "without a name");
        TRY(read_fields(object, kernel_fields, row));
        CHECK(row->gpu < machine->gpu_count && STENCIL_BLOCK_THREADS % row->kernel.block_x == 0, BAD_DATA,
              "kernel %s: no such GPU or threads along x", text);
    }
    return STENCIL_OK;
}

static stencil_status read_machine(const json_t *root, stencil_machine *machine) {
    TRY(read_fields(json_object_get(root, "cpu"), cpu_fields, machine));
    TRY(read_fields(json_object_get(root, "cuda"), cuda_fields, machine));
    TRY(read_fields(root, machine_fields, machine));
    TRY(read_gpus(root, machine));
    return read_kernels(root, machine);
}

stencil_status machine_read(stencil_machine *machine, const char *path) {
    json_t *root = NULL;
    *machine = (stencil_machine){0};
    stencil_status status = json_read(path, &root);
    if (status == STENCIL_OK)
        status = read_machine(root, machine);
    json_decref(root);
    return text_name_file(status, path);
}
