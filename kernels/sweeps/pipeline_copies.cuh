/* The warps of the pipeline sweep that load a line's rows and store them. */
#pragma once

#include "kernels/sweeps/pipeline_line.cuh"

namespace stencil {

template <class P, class T, stencil_pipeline_kind Kind> struct pipeline_copies : pipeline_line<P, T, Kind> {
    using base = pipeline_line<P, T, Kind>;
    using base::vector, base::rows, base::radius, base::general, base::hands, base::row_bytes,
        base::slot_bytes, base::to_next, base::back_to_first, base::classed, base::varied, base::bits_bytes,
        base::header_bytes, base::classes_bytes, base::classes_ahead;
    using typename base::line, typename base::piece, typename base::turn, typename base::beside_turn,
        typename base::class_turn;

    /* Loads a row of bits and, where cells have weights of their own, of classes, for the columns from x on.
     */
    __device__ __forceinline__ static void load_classes(const stencil_kernel_args &s, const line &l, int y,
                                                        int x, uint32_t to, uint32_t loaded) {
        const int bits = x & -128, bytes = x & -16;
        bulk_copy_in(to, s.classes.bits + y * s.classes.bits_row + bits / STENCIL_WORD_CELLS, bits_bytes,
                     loaded);
        if (varied)
            bulk_copy_in(to + bits_bytes + header_bytes, s.classes.of + y * l.row + bytes, classes_bytes,
                         loaded);
    }

    /* Loads the line's rows into slots; called by one lane. Beyond the last row to be read it loads that row
     * again. */
    __device__ __forceinline__ static void load_rows(const stencil_kernel_args &s, const line &l,
                                                     uint32_t ring) {
        turn t(ring, hands + 1, 1);
        beside_turn f(ring, 0);
        class_turn k(ring, 0);
        base::template walk<false>(l, [&](const piece &p) {
            const T *const column = l.in + (p.x - (p.x & (vector - 1))), *const source =
                                                                             general ? static_cast<const T *>(
                                                                                           s.domain.b)
                                                                                     : nullptr;
            const int64_t row = l.row;
            const T *from = column + p.from * row;
            int y = p.from;
#pragma unroll 1
            for (int left = p.count; left > 0; left -= rows, t.next()) {
                const uint32_t loaded = t.barrier - back_to_first;
                wait_thread(t.barrier, t.parity);
                expect_bytes(loaded, (source != nullptr ? 2 * slot_bytes : slot_bytes) +
                                         (classed ? rows * (bits_bytes + classes_bytes) : 0));
#pragma unroll
                for (int b = 0; b < rows; b++, y++) {
                    bulk_copy_in(t.slot + b * row_bytes, from, row_bytes, loaded);
                    if (source != nullptr) {
                        const int at = min(max(y - radius, p.from), p.bottom);
                        bulk_copy_in(f.at, source + (column - l.in) + at * row, row_bytes, loaded);
                        f.next();
                    }
                    if constexpr (classed) {
                        load_classes(s, l, min(y + classes_ahead, p.bottom), p.x, k.at, loaded);
                        k.next();
                    }
                    from += y < p.bottom ? row : 0;
                }
            }
        });
    }
    /* Stores the line's rows from its slots; called by one lane. It frees a slot when copies from the next
     * slot have begun: most copies from the former have then been read. */
    __device__ __forceinline__ static void store_rows(const line &l, uint32_t ring) {
        turn t(ring, hands, 0);
        uint32_t before = 0;
        base::template walk<false>(l, [&](const piece &p) {
            const int count = p.k1 - p.k0, tail = count & (vector - 1);
            const uint32_t bytes = (count - tail) * (uint32_t)sizeof(T),
                           column = (p.k0 - (p.x - (p.x & (vector - 1)))) * (uint32_t)sizeof(T);
            const int64_t row = l.row;
            T *to = l.out + p.k0 + (p.from - l.lag) * row;
            uint32_t y =
                p.from - l.lag - p.y0; /* row that is stored next, counted from the first stored row */
            const uint32_t kept = p.y1 - p.y0, copied = bytes != 0 ? kept : 0, tails = tail != 0 ? kept : 0;
#pragma unroll 1
            for (int left = p.count; left > 0; left -= rows, t.next()) {
                wait_thread(t.barrier, t.parity);
                publish_to_bulk_copies();
#pragma unroll
                for (int b = 0; b < rows; b++, y++, to += row) {
                    const uint32_t from = t.slot + b * row_bytes + column;
                    if (y < copied)
                        bulk_copy_out(to, from, bytes);
                    if (y < tails)
#pragma unroll 1
                        for (int i = count - tail; i < count; i++)
                            to[i] = load_shared<T>(from + i * (uint32_t)sizeof(T));
                }
                await_bulk_copies_before_read();
                if (before != 0)
                    arrive(before);
                before = t.barrier + to_next;
            }
        });
        await_bulk_copies();
    }
};

} // namespace stencil
