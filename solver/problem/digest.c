#include "solver/problem/digest.h"

#include <inttypes.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu.h"
#include "solver/problem/classes.h"
#include "solver/problem/rows.h"

/* The increment of SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014),
 * and a constant that sets the second lane apart: digits of pi. */
#define WEYL   UINT64_C(0x9e3779b97f4a7c15)
#define SECOND UINT64_C(0x243f6a8885a308d3)

/* The output function of SplitMix64, Stafford's variant 13: a bijection. */
static inline __attribute__((always_inline)) uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Adds cells that are contiguous in memory and in the array, where the first cell has the number `first`. */
static inline __attribute__((always_inline)) stencil_digest row_of(const void *values, size_t bytes,
                                                                   int64_t count, uint64_t first) {
    uint64_t sum = 0, second = 0;
    for (int64_t i = 0; i < count; i++) {
        uint64_t value = 0;
        if (bytes == sizeof(uint64_t)) {
            memcpy(&value, (const char *)values + i * 8, sizeof(uint64_t));
        } else if (bytes == sizeof(uint8_t)) {
            value = ((const uint8_t *)values)[i];
        } else {
            uint32_t narrow;
            memcpy(&narrow, (const char *)values + i * 4, sizeof narrow);
            value = narrow;
        }
        const uint64_t a = mix(value ^ (first + (uint64_t)i + 1) * WEYL);
        sum += a;
        second += mix(a ^ SECOND);
    }
    return (stencil_digest){{sum, second}};
}

static stencil_digest plain_row(const void *values, size_t bytes, int64_t count, uint64_t first) {
    return bytes == sizeof(uint64_t)  ? row_of(values, sizeof(uint64_t), count, first)
           : bytes == sizeof(uint8_t) ? row_of(values, sizeof(uint8_t), count, first)
                                      : row_of(values, sizeof(uint32_t), count, first);
}

#ifdef __x86_64__
#define VECTORS __attribute__((target("avx512f,avx512dq,avx512vl")))
#else
#define VECTORS
#endif

/* AVX-512 is the first to multiply vectors of 64 bits: before it, one number at a time is as fast. */
static VECTORS stencil_digest vector_row(const void *values, size_t bytes, int64_t count, uint64_t first) {
    return bytes == sizeof(uint64_t)  ? row_of(values, sizeof(uint64_t), count, first)
           : bytes == sizeof(uint8_t) ? row_of(values, sizeof(uint8_t), count, first)
                                      : row_of(values, sizeof(uint32_t), count, first);
}

void stencil_digest_add(stencil_digest *digest, const stencil_box *array, const stencil_box *box,
                        const stencil_cells *cells) {
    const bool vectors = strcmp(stencil_cpu_best()->name, "avx512") == 0;
    const size_t bytes = stencil_precision_bytes(cells->precision);
    const stencil_box there = stencil_box_from(box, array->first);
    const int64_t ny = box->n[STENCIL_Y], rows = box->n[STENCIL_Z] * ny, nx = box->n[STENCIL_X];
    uint64_t sum = 0, second = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum, second) if (!omp_in_parallel() && rows * nx >= 1 << 14)
    for (int64_t r = 0; r < rows; r++) {
        const int64_t z = r / ny, y = r % ny;
        const int64_t first =
            ((there.first[STENCIL_Z] + z) * array->n[STENCIL_Y] + there.first[STENCIL_Y] + y) *
                array->n[STENCIL_X] +
            there.first[STENCIL_X];
        const stencil_digest part = (vectors ? vector_row : plain_row)(
            (const char *)cells->at + (z * cells->plane + y * cells->row) * (int64_t)bytes, bytes, nx,
            (uint64_t)first);
        sum += part.lane[0];
        second += part.lane[1];
    }
    digest->lane[0] += sum;
    digest->lane[1] += second;
}

void stencil_digest_text(const stencil_digest *digest, char text[STENCIL_DIGEST_CHARS]) {
    snprintf(text, STENCIL_DIGEST_CHARS, "%016" PRIx64 "%016" PRIx64, digest->lane[0], digest->lane[1]);
}

stencil_box stencil_digest_array(const stencil_problem *problem, stencil_array array) {
    const stencil_mesh mesh = stencil_problem_mesh(problem, 1);
    return array == STENCIL_ARRAY_U ? stencil_mesh_array(&mesh)
                                    : (stencil_box){.n = {mesh.n[0], mesh.n[1], mesh.n[2]}};
}

/* A digest that is read; array: the extent by which cells are numbered; before: arrays that come before. */
typedef struct reading {
    const stencil_problem *problem;
    const stencil_reader *from;
    stencil_box array;
    int64_t before;
    stencil_digest digest;
} reading;

static stencil_status add_slab(void *context, const stencil_box *slab, const stencil_cells *cells) {
    reading *r = context;
    stencil_box place = *slab;
    place.first[STENCIL_Z] += r->before * r->array.n[STENCIL_Z];
    stencil_digest_add(&r->digest, &r->array, &place, cells);
    return STENCIL_OK;
}

/* Adds classes where bytes do not name all rows: the values of format.md, the numbers of rows from 253 on
 * being three larger, since bytes have another meaning from 253 on. */
static stencil_status add_wide_slab(void *context, const stencil_box *slab, const stencil_cells *cells) {
    reading *r = context;
    const int64_t count = stencil_box_cells(slab);
    uint16_t *of = malloc((size_t)count * sizeof *of);
    uint32_t *value = malloc((size_t)count * sizeof *value);
    stencil_status status = of != NULL && value != NULL ? stencil_classes_rows(r->problem, r->from, slab, of)
                                                        : ERROR(NO_MEMORY, "no memory for a slab of classes");
    (void)cells;
    for (int64_t i = 0; i < count && status == STENCIL_OK; i++)
        value[i] = of[i] == STENCIL_ROW_KEPT     ? (uint32_t)STENCIL_CLASS_KEPT
                   : of[i] == STENCIL_ROW_DRIVEN ? (uint32_t)STENCIL_CLASS_DRIVEN
                   : of[i] <= STENCIL_BYTE_ROWS  ? of[i]
                                                 : of[i] + 3U;
    const stencil_cells numbers = stencil_cells_dense(STENCIL_FLOAT32, value, slab); /* of four bytes each */
    if (status == STENCIL_OK)
        stencil_digest_add(&r->digest, &r->array, slab, &numbers);
    free(of);
    free(value);
    return status;
}

stencil_status stencil_digest_read(const stencil_problem *problem, stencil_array array,
                                   const stencil_reader *from, char text[STENCIL_DIGEST_CHARS]) {
    const stencil_mesh mesh =
        array == STENCIL_ARRAY_CLASS ? stencil_classes_mesh(problem) : stencil_problem_mesh(problem, 1);
    const int arrays = array == STENCIL_ARRAY_B ? stencil_problem_sum_arrays(problem) : 1;
    reading r = {problem, from, .array = stencil_digest_array(problem, array)};
    const bool wide = array == STENCIL_ARRAY_CLASS && stencil_problem_has_wide_rows(problem);
    for (; r.before < arrays; r.before++) {
        const stencil_slabs slabs = {.from = from,
                                     .mesh = &mesh,
                                     .array = array == STENCIL_ARRAY_B ? stencil_array_of_sum((int)r.before)
                                                                       : array};
        TRY(stencil_slabs_visit(&slabs, &r.array, wide ? add_wide_slab : add_slab, &r));
    }
    stencil_digest_text(&r.digest, text);
    return STENCIL_OK;
}
