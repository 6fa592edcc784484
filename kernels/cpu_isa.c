/* All CPU sweeps for one instruction set, written once for both precisions and specialised by inlining: the
 * points are constants at every call, so the loops over points unroll. The build compiles this file once for
 * each set: CPU_ISA names the set and the compiler's flags choose it, so that fma is one instruction wherever
 * the CPU has one. */
#include <string.h>
#include <tgmath.h>

#include "kernels/cpu.h"
#include "kernels/cpu_term.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define NOINLINE      __attribute__((noinline))

/* The size of a block of rows that is computed at once: rows (2D: of one plane; 3D: of BLOCK_PLANES planes,
 * together), and vectors of each row. There are enough sums to hide the latency of fma, and few enough to
 * leave registers for the values read. Where a weight is loaded for each use, and cells come from a cache,
 * WIDE_VECTORS are computed at once, of sets of up to WIDE_WEIGHTS points: loads are fewer, and latency is
 * hidden where few rows read a value; with more points sums would be spilled. */
enum { BLOCK_ROWS = 4, BLOCK_PLANES = 2, BLOCK_VECTORS = 2, WIDE_VECTORS = 4, WIDE_WEIGHTS = 27 };

/* The most weights that are kept, in registers or spilled; sets with more load each weight again for each
 * use. */
enum { WEIGHTS_KEPT = 12 };

/* The limits of a band (rows updated together): planes, rows of each plane (3D, 2D), and the planes and rows
 * that these read. */
enum {
    BAND_PLANES = 4,
    BAND_SOLID_ROWS = 4,
    BAND_ROWS = 8,
    BAND_READ_PLANES = BAND_PLANES + 2 * STENCIL_RADIUS_MAX,
    BAND_READ_ROWS = BAND_ROWS + 2 * STENCIL_RADIUS_MAX,
    WANTED_RUNS = BAND_PLANES * BAND_READ_ROWS
};

/* Sizes of a streaming sweep. In 2D it updates the rows of a band together, TURN_BYTES of each row at a time,
 * and prefetches PREFETCH_BYTES ahead. In 3D it prefetches rows about AHEAD_BYTES ahead for rows updated
 * singly, and processes strips of rows, of which OWN_BYTES stay in a core's own cache. Results collected in
 * the core are written in runs of RUN_BYTES, one row after another. */
enum {
    TURN_BYTES = 256,
    LINE_BYTES = 64,
    PREFETCH_BYTES = 1024,
    AHEAD_BYTES = 4096,
    OWN_BYTES = 1 << 19,
    RUN_BYTES = 2048
};

/* NARROW is 1 where a vector is narrower than a line. */
enum { NARROW = (int)VECTOR_BYTES < (int)LINE_BYTES };

/* Limits of rows that are updated singly, not in blocks: the least length where vectors are whole lines, and
 * in 3D of point sets of many weights where they are not; vectors at a time, the most weights, and the most
 * rows read along an axis. */
enum {
    LONG_ROW_BYTES = 1024,
    ROW_BYTES_LEAST = 448,
    ROW_VECTORS = NARROW ? 8 : 2,
    ROW_WEIGHTS = NARROW ? STENCIL_POINTS_MAX : 13,
    ROW_READS = 2 * STENCIL_RADIUS_MAX + 1
};

/* Copies 64-byte lines with stores that bypass the cache. */
static void copy_streaming(void *to, const void *from, int64_t count) {
    char *t = to;
    const char *f = from;
    for (int64_t i = 0; i < count; i += LINE_BYTES)
        for (int j = 0; j < LINE_BYTES; j += (int)VECTOR_BYTES)
            store_past(t + i + j, *(const unaligned_f32 *)(f + i + j));
}

/* Returns the address of the partial sum that begins with cell x of row (z, y) of the part. */
static inline double *partials_at(const stencil_domain *d, const stencil_cpu_pass *pass, int64_t z, int64_t y,
                                  int64_t x) {
    return pass->partial + z * d->partial_plane + y * d->partial_row + x / STENCIL_PARTIAL_CELLS;
}

/* A box: rows y[0] … y[1] - 1 of planes z[0] … z[1] - 1. */
typedef struct box {
    int64_t y[2], z[2];
} box;

/* Returns the first row of a strip, where `ny` rows are shared out among strips in whole units, the last one
 * of which may be smaller. */
static inline int64_t strip_start(int64_t ny, int64_t unit, int64_t strips, int64_t strip) {
    return stencil_smaller(stencil_share((ny + unit - 1) / unit, strips, strip) * unit, ny);
}

/* Sets *b to the next one of the boxes that the rows of a pass consist of, none with more than `most` rows
 * per plane, and in strips of whole units where `most` has two; a pass has all rows of its planes except in
 * the first and the last plane. Begins with b->y[1] = 0; false after the last box. */
static inline bool next_box(box *b, const stencil_cpu_pass *pass, int64_t ny, int64_t most, int64_t unit) {
    const int64_t of = most < 2 * unit ? 1 : unit, high = most / of * of, strips = (ny + high - 1) / high,
                  cut[2] = {pass->first % ny, pass->last % ny};
    do {
        if (b->y[1] >= ny)
            return false;
        b->y[0] = b->y[1];
        int64_t strip = 1;
        while (strip_start(ny, of, strips, strip) <= b->y[0])
            strip++;
        b->y[1] = strip_start(ny, of, strips, strip);
        for (int k = 0; k < 2; k++)
            if (b->y[0] < cut[k] && cut[k] < b->y[1])
                b->y[1] = cut[k];
        b->z[0] = pass->first <= b->y[0] ? 0 : (pass->first - b->y[0] + ny - 1) / ny;
        b->z[1] = pass->last < b->y[1] ? 0 : (pass->last - b->y[1]) / ny + 1;
    } while (b->z[0] >= b->z[1]);
    return true;
}

#define CPU_TEXT_(a)     #a
#define CPU_TEXT(a)      CPU_TEXT_(a)
#define CPU_PASTE_(a, b) a##_##b
#define CPU_PASTE(a, b)  CPU_PASTE_(a, b)
#define CPU_(name)       CPU_PASTE(name, CPU_PRECISION)
#define CPU_REAL         CPU_(real)

#define CPU_PRECISION f32
#define CPU_WIDER     1
#include "kernels/cpu_precision.inc"
#undef CPU_PRECISION
#undef CPU_WIDER
#define CPU_PRECISION f64
#define CPU_WIDER     0
#include "kernels/cpu_precision.inc"
#undef CPU_PRECISION

const stencil_cpu_table CPU_PASTE(stencil_cpu_table, CPU_ISA) = {
    .name = CPU_TEXT(CPU_ISA),
    .sweep = {[STENCIL_FLOAT32] = sweeps_f32, [STENCIL_FLOAT64] = sweeps_f64},
    .copy = copy_streaming,
};
