/* The description of a machine as JSON. */
#include "records/description.h"

#include <stdio.h>
#include <string.h>

#define GPU(kind, member)       #member, STENCIL_MEMBER(kind, stencil_gpu, member)
#define CPU(kind, member, name) name, STENCIL_MEMBER(kind, stencil_machine, member)
#define KERNEL(member, name)    name, STENCIL_MEMBER(INTEGER, stencil_kernel_attributes, member)
#define FROM(least, most)       .minimum = least, .maximum = most

static const stencil_member gpu_members[] = {
    {GPU(TEXT, name)},
    {GPU(TEXT, bus_id)},
    {GPU(INTEGER, sm_count), FROM(1, 4096)},
    {GPU(INTEGER, clock_khz), FROM(0, INT32_MAX)},
    {GPU(INTEGER, registers_per_sm), FROM(0, INT32_MAX)},
    {GPU(INTEGER, threads_per_sm), FROM(0, INT32_MAX)},
    {GPU(INTEGER, blocks_per_sm), FROM(0, INT32_MAX)},
    {GPU(INTEGER, memory_bytes), FROM(0, INT64_MAX)},
    {GPU(INTEGER, free_bytes), FROM(0, INT64_MAX)},
    {GPU(INTEGER, l2_bytes), FROM(0, INT64_MAX)},
    {GPU(INTEGER, shared_per_sm_bytes), FROM(0, INT64_MAX)},
    {GPU(INTEGER, shared_per_block_bytes), FROM(0, INT64_MAX)},
    {GPU(FLAG, cooperative)},
    {GPU(FLAG, clusters)},
    {GPU(INTEGER, clusters_at_once), FROM(0, 65536), .or_null = true, .newer = true},
    {NULL},
};
static const stencil_member cpu_members[] = {
    {CPU(INTEGER, cpu_threads, "threads"), FROM(1, 4096)},
    {CPU(INTEGER, cpu_processors, "processors"), FROM(0, 65536), .or_null = true, .newer = true},
    {CPU(TEXT, cpu_isa, "isa")},
    {CPU(INTEGER, cpu_cache_bytes, "cache_bytes"), FROM(0, INT64_MAX)},
    {CPU(INTEGER, cpu_core_bytes, "core_cache_bytes"), FROM(0, INT64_MAX), .or_null = true, .newer = true},
    {CPU(INTEGER, host_available_bytes, "memory_available_bytes"), FROM(0, INT64_MAX)},
    {NULL},
};
static const stencil_member cuda_members[] = {
    {CPU(INTEGER, driver_version, "driver_version"), FROM(0, INT32_MAX)},
    {CPU(INTEGER, runtime_version, "runtime_version"), FROM(0, INT32_MAX)},
    {NULL},
};
static const stencil_member machine_members[] = {{CPU(TEXT, no_gpu_reason, "no_gpu_reason")}, {NULL}};
static const stencil_member kernel_members[] = {
    {KERNEL(gpu, "gpu"), FROM(0, STENCIL_GPUS_MAX - 1)},
    {KERNEL(kernel.cells, "cells"), FROM(1, 64)},
    {KERNEL(kernel.block_x, "block_x"), FROM(32, STENCIL_BLOCK_THREADS)},
    {KERNEL(kernel.blocks, "blocks"), FROM(1, 64)},
    {"image", STENCIL_MEMBER(FLAG, stencil_kernel_attributes, image)},
    {KERNEL(registers, "registers"), FROM(0, 255)},
    {KERNEL(shared_bytes, "shared_bytes"), FROM(0, INT32_MAX)},
    {KERNEL(blocks_per_sm, "blocks_per_sm"), FROM(0, 64)},
    {KERNEL(clusters, "clusters"), FROM(0, 65536)},
    {NULL},
};

static json_t *gpu_json(const stencil_gpu *gpu, int id) {
    char processors[256];
    int node;
    stencil_topology_near(gpu->bus_id, processors, sizeof processors, &node);
    json_t *code = gpu->code > 0 ? json_real(gpu->code / 10.0) : json_null();
    return stencil_record_write(json_pack("{s:i, s:f, s:o, s:s, s:i}", "id", id, "capability",
                                          gpu->capability / 10.0, "code_capability", code, "near_cpus",
                                          processors, "numa_node", node),
                                gpu_members, gpu);
}

void stencil_machine_write(const stencil_machine *machine, json_t *root) {
    json_t *gpus = json_array(), *peers = json_array(), *kernels = json_array();
    for (int i = 0; i < machine->gpu_count; i++) {
        json_t *row = json_array();
        for (int j = 0; j < machine->gpu_count; j++)
            json_array_append_new(row, json_boolean(machine->peer[i][j]));
        json_array_append_new(peers, row);
        json_array_append_new(gpus, gpu_json(&machine->gpu[i], i));
    }
    for (int i = 0; i < machine->kernel_count; i++) {
        if (machine->kernel[i].kernel.classed || machine->kernel[i].kernel.fielded)
            continue;
        char text[STENCIL_KERNEL_CHARS];
        json_t *row = json_pack("{s:s}", "kernel", stencil_kernel_text(&machine->kernel[i].kernel, text));
        json_array_append_new(kernels, stencil_record_write(row, kernel_members, &machine->kernel[i]));
    }
    json_object_set_new(root, "cpu", stencil_record_write(json_object(), cpu_members, machine));
    json_object_set_new(root, "cuda", stencil_record_write(json_object(), cuda_members, machine));
    json_object_set_new(root, "gpus", gpus);
    stencil_record_write(root, machine_members, machine);
    json_object_set_new(root, "peers", peers);
    json_object_set_new(root, "kernels", kernels);
    if (machine->cpu_costs.measured)
        json_object_set_new(root, "cpu_costs", stencil_calibration_write(&machine->cpu_costs));
    if (machine->gpu_costs.measured)
        json_object_set_new(root, "gpu_costs", stencil_calibration_write(&machine->gpu_costs));
}

/* Reads a compute capability such as 9.0, in tenths: 90. */
static stencil_status read_capability(const json_t *gpu, const char *name, int *capability) {
    const double tenths = 10 * json_number_value(json_object_get(gpu, name)) + 0.5;
    CHECK(tenths >= 10 && tenths < 10000, BAD_DATA, "\"%s\" is missing, or not one such as 9.0", name);
    *capability = (int)tenths;
    return STENCIL_OK;
}

static stencil_status read_gpus(const json_t *root, stencil_machine *machine) {
    const json_t *gpus = json_object_get(root, "gpus"), *peers = json_object_get(root, "peers");
    const size_t count = json_array_size(gpus);
    CHECK(json_is_array(gpus) && count <= STENCIL_GPUS_MAX, BAD_DATA,
          "\"gpus\" is missing, or not a list of up to %d", STENCIL_GPUS_MAX);
    machine->gpu_count = (int)count;
    for (size_t i = 0; i < count; i++) {
        const json_t *gpu = json_array_get(gpus, i), *code = json_object_get(gpu, "code_capability");
        TRY(stencil_record_read(gpu, gpu_members, &machine->gpu[i]));
        TRY(read_capability(gpu, "capability", &machine->gpu[i].capability));
        if (code != NULL && !json_is_null(code)) /* older files have no code_capability */
            TRY(read_capability(gpu, "code_capability", &machine->gpu[i].code));
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
        TRY(stencil_record_read(object, kernel_members, row));
        CHECK(row->gpu < machine->gpu_count && STENCIL_BLOCK_THREADS % row->kernel.block_x == 0, BAD_DATA,
              "kernel %s: no such GPU or threads along x", text);
    }
    return STENCIL_OK;
}

stencil_status stencil_machine_read(stencil_machine *machine, const json_t *root) {
    *machine = (stencil_machine){0};
    TRY(stencil_record_read(json_object_get(root, "cpu"), cpu_members, machine));
    TRY(stencil_record_read(json_object_get(root, "cuda"), cuda_members, machine));
    TRY(stencil_record_read(root, machine_members, machine));
    TRY(read_gpus(root, machine));
    TRY(read_kernels(root, machine));
    const json_t *cpu = json_object_get(root, "cpu_costs"), *gpu = json_object_get(root, "gpu_costs");
    stencil_calibration_defaults(machine);
    TRY(cpu != NULL ? stencil_calibration_read(&machine->cpu_costs, cpu) : STENCIL_OK);
    return gpu != NULL ? stencil_calibration_read(&machine->gpu_costs, gpu) : STENCIL_OK;
}
