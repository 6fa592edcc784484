/* Rows beyond the sides of a 2D part that are mirrored along y, for a general pass of several steps. */
#pragma once

#include "kernels/classes.cuh"
#include "kernels/sweeps/pipeline_warp.cuh"
#include "kernels/table.h"

namespace stencil {

/* A pass goes down its rows, so it needs mirrored rows above the first row in every step. They are made
 * before the pass, step by step, from the rows that they mirror, and stored in ghost cells that a mirrored
 * side does not use otherwise: rows after n steps are radius * n rows farther out, in the buffer that the
 * pass reads.
 *
 *      -radius * (n + 1) … -radius * n - 1     rows -radius … -1 after n steps
 *      ny + radius * n … + radius - 1          rows ny … ny + radius - 1 after n steps
 *
 * A block makes some columns of a side at once in shared memory, with the neighbours that they read. */
template <class P, class T, bool Classed> struct pipeline_mirror {
    static constexpr int radius = P::radius, columns = 64,
                         steps_most = stencil_pipeline_depth(P::rule, P::radius, sizeof(T) == 8) - 1,
                         height = radius * (steps_most + 2), width = columns + 2 * radius * steps_most;
    static_assert(columns >= 2 * radius, "the first columns and what is mirrored in them are made together");

    /* Rows y0 … y1 - 1 and columns x0 … x1 - 1 of a field, in shared memory; cells beyond closed sides are
     * not updated. */
    struct box {
        const stencil_kernel_args *s;
        int n[2], y0, y1, x0, x1;
        bool closed[2][2];
        int mirrored[2][2];
        T(*field)
        [height][width],
            (*from)[width]; /* cells after even and odd steps; the buffer of the two that is read */

        /* Returns the index along an axis of the cell that cell i mirrors, or i if it mirrors none. */
        __device__ int image(int axis, int i) const {
            if (i < 0 && -i <= mirrored[axis][0])
                return -1 - i;
            return i >= n[axis] && i < n[axis] + mirrored[axis][1] ? 2 * n[axis] - 1 - i : i;
        }
        __device__ bool is_made(int axis, int i) const {
            return (i >= 0 || !closed[axis][0]) && (i < n[axis] || !closed[axis][1]);
        }
        /* Returns the new value of a cell. Cells that keep their values, or whose neighbours are not all in
         * the box, stay as they are. */
        __device__ T make(const stencil_weights &weights, T source_factor, int y, int x) const {
            const int iy = image(0, y), ix = image(1, x);
            const auto w = weights_of<T>(s->domain, weights);
            const T *const b = static_cast<const T *>(s->domain.b);
            const auto where = [&] { return iy * s->domain.row + ix; };
            if (!is_made(0, iy) || !is_made(1, ix) || iy - radius < y0 || iy + radius >= y1 ||
                ix - radius < x0 || ix + radius >= x1)
                return from[y - y0][x - x0];
            if constexpr (Classed) {
                const uint32_t of = __ldg(s->classes.of + where());
                if (of == STENCIL_CLASS_KEPT)
                    return from[y - y0][x - x0];
                if (stencil_class_has_row(of))
                    return value_of_class<P, T>(*s, where(), of, [&](int, int dy, int dx) {
                        return from[iy + dy - y0][ix + dx - x0];
                    });
            }
            T sum = 0;
            P::each([&](int k, int, int dy, int dx) {
                sum = term(k, w.point(k), where, from[iy + dy - y0][ix + dx - x0], sum);
            });
            const point_weight<T> factor = {source_factor, &s->domain};
            return b == nullptr ? sum : source_term(factor, where, b[where()], sum);
        }
    };

    /* Makes columns first … first + columns - 1, those before `end`, of a side's mirrored rows; called by a
     * block. */
    __device__ static void make_columns(const stencil_kernel_args &s, const stencil_pass &pass, box b,
                                        int side, int first, int end) {
        const stencil_domain &d = s.domain;
        T *const u = static_cast<T *>(d.u[pass.from]);
        const int steps = pass.steps - 1, reach = radius * steps, rows = b.mirrored[0][side], ny = b.n[0],
                  nx = b.n[1], beyond = radius * pass.steps;
        /* The box is limited to existing cells; it includes the part's last columns if it has the mirrored
         * columns after them. */
        b.y0 = side == 0 ? -radius : max(ny - rows - reach, b.closed[0][0] ? -radius : -beyond);
        b.y1 = side == 1 ? ny + radius : min(rows + reach, ny + (b.closed[0][1] ? radius : beyond));
        b.x0 = max(min(first, nx - radius) - reach, b.closed[1][0] ? -radius : -beyond);
        b.x1 = min(first + columns + reach, nx + (b.closed[1][1] ? radius : beyond));
        const int across = b.x1 - b.x0, count = (b.y1 - b.y0) * across;
        __syncthreads(); /* waits until all threads have read the columns made before */
        for (int i = threadIdx.x; i < count; i += blockDim.x)
            b.field[0][i / across][i % across] = u[(b.y0 + i / across) * d.row + b.x0 + i % across];
        for (int step = 1; step <= steps; step++) {
            const stencil_weights &weights = s.cycle[(pass.first + step - 1) % s.cycle_length];
            const T source_factor = source_factor_of<T>(s, pass.first + step - 1);
            const int needed =
                rows + reach -
                radius * step; /* rows, counted from the side, that this step makes for later ones */
            const int begin = side == 0 ? 0 : max(ny - needed - b.y0, 0) * across,
                      last = side == 0 ? min(needed - b.y0, b.y1 - b.y0) * across : count;
            b.from = b.field[(step - 1) % 2];
            __syncthreads();
            for (int i = begin + threadIdx.x; i < last; i += blockDim.x) {
                const int y = b.y0 + i / across, x = b.x0 + i % across, out = side == 0 ? -1 - y : y - ny;
                const T value = b.make(weights, source_factor, y, x);
                b.field[step % 2][i / across][i % across] = value;
                if (out >= 0 && out < rows && x >= first && x < first + columns && x < end)
                    u[(side == 0 ? y - radius * step : y + radius * step) * d.row + x] = value;
            }
        }
    }

    /* Makes mirrored rows beyond both sides; called by all blocks before the launch of the pass. field[2]:
     * shared memory. */
    __device__ static void run(const stencil_kernel_args &s, const stencil_pass &pass,
                               T (*field)[height][width]) {
        const stencil_domain &d = s.domain;
        box b;
        b.s = &s, b.field = field;
        b.n[0] = (int)d.n[STENCIL_Y], b.n[1] = (int)d.n[STENCIL_X];
        for (int axis = 0; axis < 2; axis++)
            for (int side = 0; side < 2; side++) {
                const int along = axis == 0 ? STENCIL_Y : STENCIL_X;
                b.closed[axis][side] = stencil_side_is_closed(&d, along, side);
                b.mirrored[axis][side] = d.mirror[along][side] ? d.reach[along][side] : 0;
            }
        const int reach = radius * (pass.steps - 1), begin = b.closed[1][0] ? -radius : -reach,
                  end = b.n[1] + (b.closed[1][1] ? radius : reach),
                  pieces = (end - begin + columns - 1) / columns;
        for (int i = blockIdx.x; i < 2 * pieces; i += gridDim.x)
            if (b.mirrored[0][i % 2] > 0)
                make_columns(s, pass, b, i % 2, begin + i / 2 * columns, end);
    }
};

template <class P, class T, bool Classed>
__global__ void __launch_bounds__(STENCIL_BLOCK_THREADS)
    mirror_kernel(const __grid_constant__ stencil_kernel_args s) {
    using Mirror = pipeline_mirror<P, T, Classed>;
    __shared__ T field[2][Mirror::height][Mirror::width];
    Mirror::run(s, {s.step_first, (int32_t)s.step_count, (int32_t)(s.step_first & 1)}, field);
}

} // namespace stencil
