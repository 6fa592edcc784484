/* The kernels that copy cells between a part and arrays of other programs. */
#include "kernels/address.cuh"
#include "kernels/arrays.h"
#include "kernels/residual.cuh"
#include "kernels/table.h"

/* The cell that an index refers to: itself, or the one that it is a copy of. */
static __device__ int64_t image_of(const stencil_array_move &m, int axis, int64_t i) {
    const int64_t n = m.size[axis];
    if ((i >= 0 && i < n) || (!m.periodic[axis] && !m.mirror[axis]))
        return i;
    const int64_t period = m.mirror[axis] ? 2 * n : n, phase = (i % period + period) % period;
    return phase < n ? phase : 2 * n - 1 - phase;
}

static __device__ double number_at(const char *at, bool wide) {
    return wide ? *reinterpret_cast<const double *>(at) : (double)*reinterpret_cast<const float *>(at);
}

static __device__ void store(char *at, bool wide, double value) {
    if (wide)
        *reinterpret_cast<double *>(at) = value;
    else
        *reinterpret_cast<float *>(at) = (float)value;
}

/* Copies a cell as it is; the bits of a NaN stay. */
static __device__ void copy(char *to, const char *from, bool wide) {
    if (wide)
        *reinterpret_cast<uint64_t *>(to) = *reinterpret_cast<const uint64_t *>(from);
    else
        *reinterpret_cast<uint32_t *>(to) = *reinterpret_cast<const uint32_t *>(from);
}

/* Moves a cell between `own` and `other`; returns what the part, or the array that is written, has then. */
static __device__ double move_cell(const stencil_array_move &m, char *own, char *other) {
    char *const to = m.writes ? other : own;
    const char *const from = m.writes ? own : other;
    const bool wide = m.writes ? m.other.wide : m.wide; /* of the numbers that are written */
    if (m.same) {
        copy(to, from, m.wide);
    } else {
        store(to, wide, m.scale * number_at(from, m.writes ? m.wide : m.other.wide));
        if (m.again != 1)
            store(to, wide, m.again * number_at(to, wide));
    }
    return number_at(to, wide);
}

static __global__ void __launch_bounds__(STENCIL_BLOCK_THREADS)
    move(const __grid_constant__ stencil_array_move m) {
    const int64_t bytes = m.wide ? (int64_t)sizeof(double) : (int64_t)sizeof(float);
    double largest = 0;
    for (int64_t r = blockIdx.x; r < m.n[0] * m.n[1]; r += gridDim.x) {
        const int64_t z = r / m.n[1], y = r % m.n[1];
        const int64_t to_row = image_of(m, 0, m.first[0] + z) * m.other.stride[0] +
                               image_of(m, 1, m.first[1] + y) * m.other.stride[1];
        char *const own = m.own + (z * m.plane + y * m.row) * bytes, *const other = m.other.at + to_row;
        for (int64_t x = threadIdx.x; x < m.n[2]; x += blockDim.x) {
            const double value =
                move_cell(m, own + x * bytes, other + image_of(m, 2, m.first[2] + x) * m.other.stride[2]);
            if (!(fabs(value) < INFINITY) && m.taken != nullptr)
                atomicMin(&m.taken->odd, (unsigned long long)(r * m.n[2] + x));
            largest = fmax(largest, fabs(value));
        }
    }
    /* Bits of numbers that are not negative are in the order of the numbers. */
    if (m.taken != nullptr && largest > 0)
        atomicMax(&m.taken->largest, (unsigned long long)__double_as_longlong(largest));
}

/* Returns the partial sum of the cells from x on, as stencil_partial_sum() does: sum[k] waits for another
 * tree of 2^k terms. */
static __device__ double partial_at(const stencil_array_move &m, const char *row, int64_t x, int64_t bytes) {
    double sum[7];
    for (int i = 0; i < STENCIL_PARTIAL_CELLS; i++) {
        const double value = x + i < m.n[2] ? number_at(row + (x + i) * bytes, m.wide) : 0.0;
        double tree = stencil::residual_term(value, 0.0, m.norm);
        int k = 0;
        for (; i >> k & 1; k++)
            tree = stencil::combine(sum[k], tree, m.norm);
        sum[k] = tree;
    }
    return sum[6];
}

static __global__ void __launch_bounds__(STENCIL_BLOCK_THREADS)
    sum(const __grid_constant__ stencil_array_move m) {
    const int64_t bytes = m.wide ? (int64_t)sizeof(double) : (int64_t)sizeof(float),
                  sums = (m.n[2] + STENCIL_PARTIAL_CELLS - 1) / STENCIL_PARTIAL_CELLS,
                  of_row = (m.size[2] + STENCIL_PARTIAL_CELLS - 1) / STENCIL_PARTIAL_CELLS;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < m.n[0] * m.n[1] * sums;
         i += (int64_t)gridDim.x * blockDim.x) {
        const int64_t r = i / sums, z = r / m.n[1], y = r % m.n[1], x = i % sums * STENCIL_PARTIAL_CELLS;
        m.partial[((m.first[0] + z) * m.size[1] + m.first[1] + y) * of_row +
                  (m.first[2] + x) / STENCIL_PARTIAL_CELLS] =
            partial_at(m, m.own + (z * m.plane + y * m.row) * bytes, x, bytes);
    }
}

extern "C" const void *stencil_move_kernel(void) {
    return stencil::kernel_address(&move);
}

extern "C" const void *stencil_sum_kernel(void) {
    return stencil::kernel_address(&sum);
}
