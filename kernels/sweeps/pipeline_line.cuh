/* A line of the pipeline sweep in 2D: its rows and strips, and its ring of slots in shared memory. */
#pragma once

#include <climits>
#include <type_traits>

#include "kernels/persistent.cuh"
#include "kernels/sweeps/pipeline_lanes.cuh"
#include "kernels/sweeps/pipeline_warp.cuh"

namespace stencil {

/* The rows of all strips of columns form one sequence, which is divided among lines; a block has one or two
 * lines. A line goes down its strips: the loader copies rows of the field into a ring of slots in shared
 * memory, each stage makes its steps of a row, in place, as soon as the stage before has, and the storer
 * copies the result to the other buffer. Only neighbouring stages wait for each other: each slot has a
 * barrier for every warp that processes it.
 *
 *      loader -> slot -> stage 0 -> slot -> stage 1 -> … -> slot -> storer -> slot is free
 *
 * A line also makes the cells around its rows that the steps of a pass need. Strips are placed so that the
 * part's first and last column fall on the first and last lane: boundary cells there keep their values by a
 * select, and the columns between cost nothing.
 *
 * A general pass has weights of each step. With each row it loads a row of the source term, into a ring that
 * is longer by the rows between the first and the last step. At a side mirrored along x the outer lane
 * mirrors its cells. Rows beyond a side mirrored along y are made before the pass (pipeline_mirror.cuh),
 * since a pass needs the rows above a row first. A pass for classes of cells (pipeline_classed.cuh) loads
 * their rows into a ring that all stages read.
 *
 * In a short pass, stages after the last step pass rows on unchanged.
 *
 * In a checked pass more warps of a line sum the residual of one step, between the stage that makes this step
 * and the next one; that stage leaves the old rows in a second ring, and makes no step after the checked
 * one: where it has more levels than steps to make, its first levels pass rows on. Strips begin where partial
 * sums do. */
template <class P, class T, stencil_pipeline_kind Kind> struct pipeline_line {
    using cell = T;
    static constexpr bool varied = Kind == STENCIL_PIPELINE_CLASSED,
                          classed = Kind == STENCIL_PIPELINE_FIXED || varied,
                          general = Kind == STENCIL_PIPELINE_GENERAL || varied,
                          checked = Kind == STENCIL_PIPELINE_CHECKED;
    static constexpr stencil_pipeline_shape shape =
        stencil_pipeline_shape_of(P::rule, P::radius, sizeof(T) == 8, Kind);
    static constexpr int radius = P::radius, levels = shape.levels, cells = shape.cells, rows = shape.rows,
                         stages = shape.stages, depth = stages * levels, vector = vector_cells<T>,
                         width = 32 * cells;
    /* Hands: warps that process a slot in sequence between loader and storer. The warps of a line that sum
     * are one hand, and take slots in turn; so are those that find out what rows are, the first hand. */
    static constexpr int hands = stages + checked + varied, lines = STENCIL_PIPELINE_WARPS / stages,
                         sum_warps = 2, row_bytes = (width + vector) * (int)sizeof(T),
                         slot_bytes = rows * row_bytes, slot_barriers = (hands + 2) * 8;
    using stage_warp = pipeline_warp<P, T, levels, cells>;
    /* Rows of the second ring: in a general pass, rows of the source term in addition to those of all slots;
     * in a checked pass, old rows of `old_slots` slots before the checked step. Weights of a step, and their
     * bytes for all steps. */
    static constexpr int old_slots = sum_warps + 2,
                         rows_behind = general   ? radius * (depth - 1)
                                       : checked ? old_slots * rows + radius
                                                 : 0,
                         weights = general ? P::count + 1 : 0,
                         weights_bytes = (depth * weights * (int)sizeof(T) + 15) / 16 * 16;
    /* The table of the weights of classes, class 0 included, in shared memory if the problem has no more
     * classes than fit: for each its weights, source factor and constant. Their number is odd, so that lanes
     * with different classes read different banks. */
    static constexpr int class_weights = (P::count + 2) | 1,
                         table_bytes = varied ? STENCIL_PIPELINE_TABLE_BYTES : 0,
                         table_classes = table_bytes / (class_weights * (int)sizeof(T));
    using table = pipeline_table<P, T, class_weights, table_classes>;
    using lane_classes = pipeline_lane<cells>;
    /* The third ring, in passes for classes of cells: a row of bits of the cells that are not plain, and
     * where cells have weights of their own a header (pipeline_row) and a row of classes. Their number beside
     * those of all slots, since all levels of the last stage read them; rows that they are ahead of the rows
     * of the slots, since a row of the first level is added to sums of rows that are behind it. */
    static constexpr int bits_bytes = 32 * (int)sizeof(uint32_t),
                         header_bytes = varied ? (int)pipeline_row::bytes : 0,
                         classes_bytes = varied ? (width + 16 + 15) / 16 * 16 : 0,
                         class_row_bytes = classed ? bits_bytes + header_bytes + classes_bytes : 0,
                         classes_ahead = classed ? radius : 0,
                         classes_behind = classed ? radius * depth + classes_ahead : 0;
    static_assert(width + 127 + 32 <= 8 * bits_bytes, "the lane's cells are in two of the words");
    /* Slots of a line's ring; the lines of a block have equal shares of its shared memory. */
    static constexpr int slots = ((STENCIL_PIPELINE_SHARED_BYTES - weights_bytes - table_bytes) / lines - 16 -
                                  rows_behind * row_bytes - classes_behind * class_row_bytes) /
                                 (slot_bytes * (general ? 2 : 1) + slot_barriers + rows * class_row_bytes),
                         beside_rows = general ? slots * rows + rows_behind : rows_behind,
                         class_rows = slots * rows + classes_behind,
                         own_bytes = (slots * (slot_bytes + slot_barriers) + 15) / 16 * 16,
                         classes_at = own_bytes + beside_rows * row_bytes,
                         ring_bytes = classes_at + class_rows * class_row_bytes,
                         bytes = lines * ring_bytes + weights_bytes + table_bytes;
    static_assert(slots >= hands + 3, "every warp has a slot, and some are on their way");
    /* Strips begin at a multiple of this many columns. */
    static constexpr int column_unit = checked ? (int)STENCIL_PARTIAL_CELLS : vector;

    /* A line's data, the same for all threads. They are in shared memory, since registers are scarce. */
    struct line {
        const T *in; /* address of the part's first updated cell */
        T *out;
        int64_t row;           /* elements from row to row */
        int ny, steps, reach;  /* rows of the part; steps of the pass; cells that they reach */
        int stages, lag;       /* stages that make steps; rows between the loaded and the stored row */
        int check_stage, idle; /* in a checked pass: the stage that makes the checked step, and how many of
                                  its first levels make no step */
        bool closed[2][2];     /* [axis y, x][side]: the part has no ghost cells there */
        stencil_pipeline_strips strips;
        int64_t own[2]; /* the line's share of the rows of all strips */
        int strip;      /* the first strip of which it has rows */
        /* Makes this the line of the next pass, which has as many steps. */
        __device__ void turn() {
            T *const next = const_cast<T *>(in);
            in = out, out = next;
        }
    };
    struct piece {
        int strip, k0, k1, x; /* strip number; columns that are stored; first column that is read */
        int y0, y1, from, count,
            bottom; /* rows that are stored; first row loaded; count of rows loaded; last row to be read */
        bool last;
    };
    __device__ static void start(const stencil_kernel_args &s, const stencil_pass &pass, line &l,
                                 int number) {
        const stencil_domain &d = s.domain;
        l.in = static_cast<const T *>(d.u[pass.from]);
        l.out = static_cast<T *>(d.u[!pass.from]);
        l.row = d.row;
        l.ny = (int)d.n[STENCIL_Y];
        l.steps = pass.steps, l.reach = radius * pass.steps;
        l.stages = (pass.steps + levels - 1) / levels;
        l.check_stage = l.idle = 0;
        if constexpr (checked) {
            const int check = (int)stencil_pass_check(&s.schedule, &pass);
            l.check_stage = (check - 1) / levels, l.idle = (l.check_stage + 1) * levels - check;
            l.stages = l.check_stage + 1 + (pass.steps - check + levels - 1) / levels;
        }
        l.lag = radius * levels * l.stages;
        for (int side = 0; side < 2; side++) {
            l.closed[0][side] = stencil_side_is_closed(&d, STENCIL_Y, side);
            l.closed[1][side] = stencil_side_is_closed(&d, STENCIL_X, side);
        }
        const int beside[2] = {l.closed[1][0] ? radius : l.reach, l.closed[1][1] ? radius : l.reach};
        l.strips = stencil_pipeline_strips_of((int)d.n[STENCIL_X], l.ny, beside, l.reach, width, column_unit);
        const int64_t all = (int64_t)gridDim.x * lines, line = (int64_t)blockIdx.x * lines + number;
        if (classed && s.class_passes.share != nullptr && s.class_passes.lines == all) {
            const int64_t *const share = s.class_passes.share + (pass.steps - 1) * (all + 1) + line;
            l.own[0] = share[0], l.own[1] = share[1];
        } else {
            stencil_pipeline_share_rows(&l.strips, all, line, l.own);
        }
        for (l.strip = 0; (int64_t)(l.strip + 1) * (l.ny + l.reach) <= l.own[0];)
            l.strip++;
    }
    /* Calls each(piece) for the line's piece of each strip; everything is computed again for each strip.
     * Warp: all lanes call, and shuffles tell the compiler that they take the same branches, or it would keep
     * weights in registers of each lane. */
    template <bool Warp, class Each> __device__ __forceinline__ static void walk(const line &l, Each each) {
        auto same = [](int n) { return Warp ? __shfl_sync(~0u, n, 0) : n; };
        for (int strip = same(l.strip);; strip++) {
            const line &m = *opaque(&l);
            const stencil_pipeline_strips &s = m.strips;
            piece p;
            int y[2];
            if (!same(stencil_pipeline_strip_rows(&s, m.own, strip, m.closed[0][0] ? radius : m.reach, y,
                                                  &p.from)))
                break;
            if (same(y[1] <= y[0]))
                continue;
            p.y0 = y[0], p.y1 = y[1];
            p.strip = strip;
            p.last = same(strip == s.count - 1);
            p.k0 = strip == 0 ? 0 : s.first + (strip - 1) * s.step;
            p.k1 = p.last ? s.nx : s.first + strip * s.step;
            p.x = strip == 0 ? -s.beside[0] : p.last ? s.nx + s.beside[1] - width : p.k0 - m.reach;
            p.count = (p.y1 + m.lag - p.from + rows - 1) / rows * rows;
            p.bottom = m.ny - 1 + (m.closed[0][1] ? radius : m.reach);
            p.x = same(p.x), p.from = same(p.from), p.count = same(p.count);
            each(p);
        }
    }

    /* Returns the number of cells beyond a side that are mirrored. */
    __device__ __forceinline__ static int mirrored(const stencil_kernel_args &s, int axis, int side) {
        return s.domain.mirror[axis][side] ? s.domain.reach[axis][side] : 0;
    }
    /* Loads row y beyond a mirrored side, as it is after the steps before `level`, if these have changed it.
     */
    __device__ __forceinline__ static void mirror_row(const stencil_kernel_args &s, const line &l, int level,
                                                      int y, int x, T *c) {
        if (level == 0 || level >= l.steps || y < -mirrored(s, STENCIL_Y, 0) || (y >= 0 && y < l.ny) ||
            y >= l.ny + mirrored(s, STENCIL_Y, 1))
            return;
        const T *const from = l.in + (y < 0 ? y - radius * level : y + radius * level) * l.row + x;
#pragma unroll
        for (int v = 0; v < cells; v++)
            c[v] = from[v];
    }

    /* Steps through the slots of a ring, with their barriers for one hand (loader, stage, summing warp or
     * storer). */
    struct turn {
        uint32_t slot, barrier, left, parity;
        __device__ __forceinline__ turn(uint32_t ring, int hand, uint32_t parity)
            : slot(ring), barrier(ring + (uint32_t)(slots * (slot_bytes + hand * 8))), left(slots),
              parity(parity) {}
        __device__ __forceinline__ void next() {
            slot += slot_bytes, barrier += 8;
            if (--left == 0) {
                slot -= slots * slot_bytes, barrier -= slots * 8;
                left = slots, parity ^= 1;
            }
        }
    };
    static constexpr uint32_t to_next = slots * 8, back_to_first = (hands + 1) * slots * 8;

    /* Steps through the rows of the second ring, which comes after the slots and their barriers. */
    struct beside_turn {
        uint32_t first, at;
        __device__ __forceinline__ beside_turn(uint32_t ring, int row)
            : first(ring + own_bytes), at(first + (row < 0 ? row + beside_rows : row) * row_bytes) {}
        __device__ __forceinline__ uint32_t before(int rows_before) const {
            const uint32_t there = at - rows_before * row_bytes;
            return there < first ? there + beside_rows * row_bytes : there;
        }
        __device__ __forceinline__ void next() {
            at += row_bytes;
            if (at == first + beside_rows * row_bytes)
                at = first;
        }
    };
    /* Steps through the rows of the third ring. */
    struct class_turn {
        uint32_t first, at;
        __device__ __forceinline__ class_turn(uint32_t ring, int row)
            : first(ring + classes_at), at(first + (row < 0 ? row + class_rows : row) * class_row_bytes) {}
        __device__ __forceinline__ uint32_t before(int rows_before) const {
            const uint32_t there = at - rows_before * class_row_bytes;
            return there < first ? there + class_rows * class_row_bytes : there;
        }
        __device__ __forceinline__ void next() {
            at += class_row_bytes;
            if (at == first + class_rows * class_row_bytes)
                at = first;
        }
    };
};

} // namespace stencil
