/* The stages of passes of the pipeline sweep in 2D for classes of cells. */
#pragma once

#include "kernels/classes.cuh"
#include "kernels/sweeps/pipeline_sums.cuh"

namespace stencil {

/* A stage looks at each row that comes in once, at its bits in the third ring of the line, and keeps a code
 * for each of the last rows. As long as all rows that its levels make are plain, it makes them as other
 * passes do. Else it makes them in the loop for rows at edges, where each cell that is fixed keeps its value
 * by a select, and cells that have weights of their own (varied) are made a second time, with these weights.
 */
template <class P, class T, stencil_pipeline_kind Kind> struct pipeline_classed : pipeline_sums<P, T, Kind> {
    using base = pipeline_sums<P, T, Kind>;
    using base::general, base::varied, base::radius, base::levels, base::cells, base::rows, base::vector,
        base::width, base::row_bytes, base::bits_bytes, base::classes_ahead, base::weights, base::to_next,
        base::mirrored, base::mirror_row;
    using typename base::line, typename base::piece, typename base::turn, typename base::beside_turn,
        typename base::class_turn, typename base::stage_warp;
    using step_weights = cycle_weights<T, P::count, uint32_t>;

    /* The codes of the last rows, that of the last one lowest. Without weights of cells, a code is a bit: the
     * row has cells that are not plain. With them, it is a byte: the class of all cells, PLAIN or a class
     * whose weights are not 0, or MIXED. A level makes rows up to `seen` - 1 rows before the last one. */
    using row_codes = std::conditional_t<varied, uint64_t, uint32_t>;
    static constexpr int code_bits = varied ? 8 : 1, seen = rows + radius * levels + classes_ahead;
    static_assert(seen * code_bits < 8 * (int)sizeof(row_codes), "");
    static constexpr row_codes of_all = ((row_codes)1 << seen * code_bits) - 1;

    /* Where the columns of a strip are in rows of the third ring. */
    struct strip_place {
        int x;         /* first column of the strip */
        uint32_t look; /* word of bits that this lane looks at, in bytes; all lanes see the strip's words */
        __device__ __forceinline__ explicit strip_place(int x) : x(x) {
            const int first = x & 127, last = first + width - 1;
            look = (uint32_t)min(max((int)lane(), first / 32), last / 32) * (uint32_t)sizeof(uint32_t);
        }
        /* Returns the bits of the lane's cells; `row` is the address of a row. */
        __device__ __forceinline__ uint32_t bits(uint32_t row) const {
            const uint32_t first = (uint32_t)(x & 127) + lane() * cells,
                           at = row + first / 32 * (uint32_t)sizeof(uint32_t);
            const uint64_t two =
                load_shared_word(at) | (uint64_t)load_shared_word(at + (uint32_t)sizeof(uint32_t)) << 32;
            return (uint32_t)(two >> first % 32) & ((1u << cells) - 1);
        }
        /* Returns the address of the class of the strip's first cell, or of the lane's. */
        __device__ __forceinline__ uint32_t classes(uint32_t row) const {
            return row + bits_bytes + (uint32_t)(x & 15);
        }
        __device__ __forceinline__ uint32_t own_classes(uint32_t row) const {
            return classes(row) + lane() * cells;
        }
    };

    /* Returns the code of a row that is not plain: the class of all its cells, if that has a row of weights
     * without 0, else MIXED. (Cells beside the strip, in the same words, count as well.) */
    static __device__ __noinline__ uint32_t code_of_classes(const stencil_classes *c, uint32_t classes) {
        const uint32_t of = load_shared_byte(classes), begin = classes / 4 * 4;
        bool mixed = !stencil_class_has_row(of);
        for (uint32_t at = begin + lane() * 4; at < classes + width; at += 128)
            mixed = mixed || load_shared_word(at) != of * 0x01010101u;
        if (__any_sync(~0u, mixed))
            return STENCIL_MARK_MIXED;
        for (int k = (int)lane(); k < P::count; k += 32)
            mixed = mixed || __ldg(row_of_class<T>(*c, of) + k) == T(0);
        return __any_sync(~0u, mixed) ? (uint32_t)STENCIL_MARK_MIXED : of;
    }
    __device__ __forceinline__ static row_codes code_of(const stencil_kernel_args &s,
                                                        const strip_place &strip, uint32_t row) {
        const bool any = __any_sync(~0u, load_shared_word(row + strip.look) != 0);
        if constexpr (varied)
            return any ? code_of_classes(&s.classes, strip.classes(row)) : STENCIL_CLASS_PLAIN;
        return any;
    }

    /* How level t of a stage makes the row that sum j belongs to: with which weights, and what cells get that
     * have a class of their own. */
    struct rows_of_level {
        const stencil_kernel_args &s;
        const stage_warp &warp;
        const class_turn &last;
        const strip_place &strip;
        const T *c;
        row_codes codes;
        uint32_t source; /* the lane's cells of the source term, 0: none */
        int t;
        __device__ __forceinline__ uint32_t code(int j) const {
            return (uint32_t)(codes >> code_bits * (radius * t + j)) & 0xffu;
        }
        __device__ __forceinline__ point_weight<T> point(const step_weights &w, int j, int k) const {
            const uint32_t of = code(j);
            if (!stencil_class_has_row(of))
                return w.point(k);
            return {__ldg(row_of_class<T>(s.classes, of) + k), &s.domain};
        }
        template <class Row>
        __device__ __forceinline__ T make(uint32_t of, int j, int v, const Row &in) const {
            const T *const row = row_of_class<T>(s.classes, of);
            T sum = warp.sum[t][j == 0 ? 0 : j - 1][v];
#pragma unroll
            for (int dx = -radius; dx <= radius; dx++)
                if (P::contains(j - radius, 0, dx))
                    sum = term_of_class(
                        s.domain, row, P::number(0, j - radius, dx), [] { return 0; }, in[v + dx], sum);
            if (j == 2 * radius)
                sum =
                    end_of_class(row, source != 0,
                                 source != 0 ? load_shared<T>(source + v * (uint32_t)sizeof(T)) : T(0), sum);
            return sum;
        }
        template <class Row>
        __device__ __forceinline__ void give(int j, const Row &in, T (&sum)[cells]) const {
            const uint32_t all = code(j);
            if (all == STENCIL_CLASS_PLAIN)
                return;
            if (all != STENCIL_MARK_MIXED) {
                const T constant = __ldg(row_of_class<T>(s.classes, all) + STENCIL_SOURCE_WEIGHT);
                if (j == 2 * radius && constant != T(0))
                    unrolled<cells>([&](int v) { sum[v] += constant; });
                return;
            }
            const uint32_t at = strip.own_classes(last.before(radius * t + j));
#pragma unroll
            for (int v = 0; v < cells; v++) {
                const uint32_t of = load_shared_byte(at + v);
                const bool has_row = stencil_class_has_row(of);
                if (j >= radius)
                    sum[v] = of == STENCIL_CLASS_KEPT ? warp.kept(t, j, v, c) : sum[v];
                if (__any_sync(~0u, has_row)) {
                    const T own = make(has_row ? of : 1, j, v, in);
                    sum[v] = has_row ? own : sum[v];
                }
            }
        }
    };

    /* What a stage has for its rows of a strip. */
    struct stage_strip {
        const stencil_kernel_args &s;
        const line &l;
        strip_place strip;
        int first_level;           /* levels of the stages before */
        uint32_t mine, weights_at; /* offset of the lane's cells in a row; weights of the first step */
        bool left, right;
        pipeline_level<step_weights> own;
    };
    /* Makes level t of row `row`, of which the lane has the cells c. Plain: no row that the level makes has
     * cells that keep their values, or that have classes. */
    template <bool Plain>
    __device__ __forceinline__ static void make_level(stage_strip &a, stage_warp &warp, int t, T *c, int row,
                                                      const beside_turn &source, const class_turn &last,
                                                      row_codes codes) {
        const auto at = [&](int to, int v) { return to * a.l.row + a.strip.x + (int)lane() * cells + v; };
        cells_kept keep = {a.left, a.right, false, 0, 0};
        if constexpr (!Plain) { /* loaded again, since registers are few */
            const line &m = *opaque(&a.l);
            keep.all = __shfl_sync(~0u, a.first_level + t >= m.steps, 0);
            keep.low = __shfl_sync(~0u, m.closed[0][0] ? 0 : INT_MIN / 2, 0);
            keep.high = __shfl_sync(~0u, m.closed[0][1] ? m.ny : INT_MAX / 2, 0);
        }
        if constexpr (general) {
            if (!Plain)
                mirror_row(a.s, a.l, a.first_level + t, row, a.strip.x + lane() * cells, c);
            a.own.weights.at = a.weights_at + (a.first_level + t) * weights * (uint32_t)sizeof(T);
            a.own.source = a.s.domain.b != nullptr ? source.before(radius * t) + a.mine : 0;
            if constexpr (Plain)
                warp.template level<false>(t, c, a.own, keep, row, at, plain_rows<T>());
            else
                warp.template level<true>(t, c, a.own, keep, row, at,
                                          rows_of_level{a.s, warp, last, a.strip, c, codes, a.own.source, t});
        } else if constexpr (Plain) {
            warp.template level<false>(t, c, weights_of<T>(a.s.domain), keep, row, at);
        } else {
            constexpr uint32_t outer = (1u << radius) - 1;
            uint32_t fixed[radius + 1];
#pragma unroll
            for (int k = 0; k <= radius; k++)
                fixed[k] = keep.has(row - k)
                               ? ~0u
                               : a.strip.bits(last.before(radius * t + k)) | (a.left ? outer : 0) |
                                     (a.right ? outer << (cells - radius) : 0);
            warp.level_of_fixed(t, c, weights_of<T>(a.s.domain), fixed, row, at);
        }
        end_block(a.s.depth);
    }
    /* Makes the rows of a slot. last: the row of the third ring that came with the first of them. */
    template <bool Plain>
    __device__ __forceinline__ static void make_rows(stage_strip &a, stage_warp &warp, uint32_t slot, int y,
                                                     beside_turn &source, class_turn last, row_codes codes) {
        constexpr int at_once = Plain ? rows : 1;
#pragma unroll at_once
        for (int b = 0; b < rows; b++) {
            T c[cells];
            warp.load(c, slot + b * row_bytes + a.mine);
#pragma unroll
            for (int t = 0; t < levels; t++)
                make_level<Plain>(a, warp, t, c, y + b - radius * t, source, last, codes);
            if (general)
                source.next();
            last.next();
            warp.store(c, slot + b * row_bytes + a.mine);
        }
    }

    /* Makes a stage's steps of the line's rows; called by a warp. weights_at: weights of the first step in
     * shared memory. */
    __device__ __forceinline__ static void make_steps(const stencil_kernel_args &s, const line &l,
                                                      uint32_t ring, int stage, uint32_t weights_at) {
        stage_warp warp;
        turn u(ring, stage, 0);
        if (__shfl_sync(~0u, stage >= l.stages, 0)) {
            base::template walk<true>(l, [&](const piece &p) {
                for (int left = p.count; left > 0; left -= rows, u.next()) {
                    wait_warp(u.barrier, u.parity);
                    arrive(u.barrier + to_next);
                }
            });
            return;
        }
        beside_turn f(ring, general ? -radius * levels * stage : 0);
        class_turn k(ring, -radius * levels * stage);
        warp.clear();
        base::template walk<true>(l, [&](const piece &p) {
            stage_strip a = {s, l, strip_place(p.x), stage * levels, 0, weights_at};
            a.left = lane() == 0 && l.closed[1][0] && p.strip == 0;
            a.right = lane() == 31 && l.closed[1][1] && p.last;
            a.own = {{0, &s.domain}, 0, {0, 0}};
            if (general) {
                a.own.mirrored[0] = a.left ? mirrored(s, STENCIL_X, 0) : 0;
                a.own.mirrored[1] = a.right ? mirrored(s, STENCIL_X, 1) : 0;
            }
            a.mine = (lane() * cells + (p.x & (vector - 1))) * (uint32_t)sizeof(T);
            int y = p.from - radius * levels * stage;
            const int end = y + p.count;
            /* Rows of whole slots that contain no boundary row at any level. */
            const int inner = __shfl_sync(~0u,
                                          l.steps < (stage + 1) * levels ? INT_MAX / 2
                                          : l.closed[0][0]               ? radius * levels
                                                                         : INT_MIN / 2,
                                          0),
                      stop = __shfl_sync(~0u, l.closed[0][1] ? l.ny - rows + 1 : INT_MAX / 2, 0);
            row_codes codes = 0;
            class_turn next = k;
            /* Waits for the next slot, and returns whether all that levels make of its rows is plain. */
            const auto begin_slot = [&] {
                wait_warp(u.barrier, u.parity);
#pragma unroll
                for (int b = 0; b < rows; b++, next.next())
                    codes = codes << code_bits |
                            (!varied || y + b >= p.from ? code_of(s, a.strip, next.at) : (row_codes)0);
                return y >= inner && y < stop && (codes & of_all) == 0;
            };
            bool plain = begin_slot();
            /* Makes slots for as long as they are plain, or are not. */
            const auto make_slots = [&](auto is_plain) {
                constexpr bool Plain = decltype(is_plain)::value;
#pragma unroll 1
                while (y < end && plain == Plain) {
                    make_rows<Plain>(a, warp, u.slot, y, f, k, codes);
                    arrive(u.barrier + to_next);
                    u.next();
                    k = next, y += rows;
                    if (y < end)
                        plain = begin_slot();
                }
            };
#pragma unroll 1
            while (y < end) {
                make_slots(std::false_type());
                make_slots(std::true_type());
            }
        });
    }
};

} // namespace stencil
