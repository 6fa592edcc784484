/* The codes of the rows of a pass of the pipeline sweep in 2D, for classes of cells. */
#pragma once

#include "kernels/sweeps/pipeline_sums.cuh"

namespace stencil {

/* Each row has a code, by its bits in the third ring of the line. Where cells have weights of their own, two
 * warps before the first stage find it, in turn, and leave it for all stages, as no stage has time for that.
 */
template <class P, class T, stencil_pipeline_kind Kind> struct pipeline_found : pipeline_sums<P, T, Kind> {
    using base = pipeline_sums<P, T, Kind>;
    using base::varied, base::radius, base::levels, base::cells, base::rows, base::width, base::bits_bytes,
        base::classes_ahead, base::to_next, base::header_bytes;
    using typename base::line, typename base::piece, typename base::turn, typename base::class_turn,
        typename base::table, typename base::lane_classes;
    using step_weights = cycle_weights<T, P::count, uint32_t>;

    /* The code of a row: PLAIN, the class of all its cells (if they have weights without 0 that are in the
     * table), SOME: some cells keep their values and all others are plain, MIXED, or KEPT: all of them. */
    enum row_code : uint32_t {
        row_plain = STENCIL_CLASS_PLAIN,
        row_some = STENCIL_ROW_SOME,
        row_mixed = STENCIL_MARK_MIXED,
        row_kept = STENCIL_CLASS_KEPT
    };
    static constexpr uint32_t all_cells = (1u << cells) - 1;

    /* The place of a strip's columns in rows of the third ring. */
    struct strip_place {
        int x;         /* first column of the strip */
        uint32_t look; /* word of bits that this lane looks at, in bytes; all lanes see the strip's words */
        uint32_t mask; /* its bits of the strip's columns that are not beyond a closed side */
        __device__ __forceinline__ strip_place(int x, bool left, bool right) : x(x) {
            const int first = x & 127, last = first + width - 1,
                      word = min(max((int)lane(), first / 32), last / 32),
                      begin = max(first + (left ? radius : 0) - 32 * word, 0),
                      end = min(last + 1 - (right ? radius : 0) - 32 * word, 32);
            look = (uint32_t)word * (uint32_t)sizeof(uint32_t);
            mask = begin < end ? ~0u >> (32 - (end - begin)) << begin : 0;
        }
        /* Returns the bits of the lane's cells; `row` is the address of a row. */
        __device__ __forceinline__ uint32_t bits(uint32_t row) const {
            const uint32_t first = (uint32_t)(x & 127) + lane() * cells,
                           at = row + first / 32 * (uint32_t)sizeof(uint32_t);
            const uint64_t two =
                load_shared_word(at) | (uint64_t)load_shared_word(at + (uint32_t)sizeof(uint32_t)) << 32;
            return (uint32_t)(two >> first % 32) & all_cells;
        }
        /* Returns where the header (pipeline_row) and the class of the lane's first cell of a row are. */
        __device__ __forceinline__ static uint32_t header(uint32_t row) {
            return row + bits_bytes;
        }
        __device__ __forceinline__ uint32_t classes(uint32_t row) const {
            return row + bits_bytes + header_bytes + (uint32_t)(x & 15) + lane() * cells;
        }
        /* Makes some of the lane's cells plain, whose classes are at an address. */
        __device__ __forceinline__ static void make_plain(uint32_t classes, uint32_t cells) {
#pragma unroll 1
            for (; cells != 0; cells &= cells - 1)
                store_shared_byte(classes + __ffs((int)cells) - 1, STENCIL_CLASS_PLAIN);
        }
    };

    /* The state of a stage within a strip, the same for all rows. */
    struct stage_strip {
        const stencil_kernel_args &s;
        const line &l;
        strip_place strip;
        int first_level;           /* levels of the stages before */
        uint32_t mine, weights_at; /* offset of the lane's cells in a row; weights of the first step */
        bool left, right;
        int begin, count; /* rows whose bits the third ring has when they belong to a slot, and which are no
                             boundary rows */
        int low, high;    /* rows before `low`, and from `high` on, are beyond a closed side of the part */
        pipeline_level<step_weights> own;
        uint32_t class_row; /* bytes of a class in the table: in a register, where instructions find it */

        /* Returns the bits of the lane's cells beyond a closed side, which keep their values. */
        __device__ __forceinline__ uint32_t sides() const {
            constexpr uint32_t outer = (1u << radius) - 1;
            return (left ? outer : 0) | (right ? outer << (cells - radius) : 0);
        }
        /* Tells whether the third ring has, for a row of the slots, the bits of an inner row. */
        __device__ __forceinline__ bool has_bits(int y) const {
            return (uint32_t)(y - begin) < (uint32_t)count;
        }
        /* Tells whether row y is beyond a closed side of the part. Where no cell has weights of its own the
         * numbers are computed each time, with shuffles as in walk(): registers are scarcer there. */
        __device__ __forceinline__ bool is_outside(int y) const {
            if constexpr (varied)
                return y < low || y >= high;
            const line &m = *opaque(&l);
            return y < __shfl_sync(~0u, m.closed[0][0] ? 0 : INT_MIN / 2, 0) ||
                   y >= __shfl_sync(~0u, m.closed[0][1] ? m.ny : INT_MAX / 2, 0);
        }
    };
    /* Finds out what there is to know of a row that is not plain and whose address in the third ring is
     * `entry`; before: the code of a row before. Bits of the lane's cells that keep their values, and those
     * beyond a closed side, take the place of the row's bits, and its classes lose those of kept cells. Most
     * rows are of one class, and need few instructions. */
    static __device__ __forceinline__ pipeline_row find_varied(const stage_strip &a, uint32_t entry,
                                                               uint32_t before) {
        const uint32_t classes = a.strip.classes(entry), sides = a.sides();
        lane_classes of;
        of.load(classes);
        const uint32_t some = __shfl_sync(~0u, of.of_cell(radius), 1);
        if ((some == row_kept || (some == before && stencil_class_has_row(some))) &&
            __all_sync(~0u, of.all_are(some)))
            return {some};
        const uint32_t kept = of.cells_of(STENCIL_CLASS_KEPT), keep = kept | sides,
                       own = all_cells & ~keep & ~of.cells_of(STENCIL_CLASS_PLAIN);
        if (__all_sync(~0u, keep == all_cells))
            return {row_kept};
        if (stencil_class_has_row(some) && __all_sync(~0u, (of.cells_of(some) | sides) == all_cells) &&
            table::is_uniform(a.s, some))
            return {some};
        store_shared_word(entry + lane() * (uint32_t)sizeof(uint32_t), keep);
        if (!__any_sync(~0u, own != 0))
            return {row_some};
        bool special = false;
        if (!table::here().simple)
#pragma unroll 1
            for (uint32_t left = own; left != 0;
                 left &= ~of.cells_of(load_shared_byte(classes + __ffs((int)left) - 1)))
                special = special || is_tested_class<P, T>(a.s.classes,
                                                           load_shared_byte(classes + __ffs((int)left) - 1));
        __syncwarp();
        a.strip.make_plain(classes, kept);
        return {row_mixed | (__any_sync(~0u, special) ? pipeline_row::has_special : 0)};
    }
    /* Finds out what a row is, and leaves it in its header; returns its code. */
    static __device__ __forceinline__ uint32_t find_row(const stage_strip &a, uint32_t entry,
                                                        uint32_t before) {
        const uint32_t bits = a.strip.bits(entry), keep = bits | a.sides();
        pipeline_row row = {row_plain};
        __syncwarp();
        if (__any_sync(~0u, bits != 0)) {
            if (a.s.class_passes.palette_count > 0) {
                row = find_varied(a, entry, before);
            } else {
                row.word = __all_sync(~0u, keep == all_cells) ? row_kept : row_some;
                store_shared_word(entry + lane() * (uint32_t)sizeof(uint32_t), keep);
            }
        }
        row.store(a.strip.header(entry));
        return row.code();
    }
    /* Returns the code of the row that is ahead of row y of the slots; entry: its address in the third ring.
     */
    __device__ __forceinline__ static uint32_t code_of(const stage_strip &a, int y, uint32_t entry) {
        if (!a.has_bits(y))
            return a.is_outside(y + classes_ahead) ? row_some : row_plain;
        if constexpr (varied)
            return pipeline_row::load(a.strip.header(entry)).code();
        const uint32_t bits = a.strip.bits(entry);
        return !__any_sync(~0u, bits != 0)                        ? row_plain
               : __all_sync(~0u, (bits | a.sides()) == all_cells) ? row_kept
                                                                  : row_some;
    }
    /* Returns what a warp knows of a strip, of whose rows in the third ring some are ahead. */
    __device__ __forceinline__ static stage_strip
    start_strip(const stencil_kernel_args &s, const line &l, const piece &p, int stage, uint32_t weights_at) {
        const bool ends[2] = {l.closed[1][0] && p.strip == 0, l.closed[1][1] && p.last};
        stage_strip a = {s, l, strip_place(p.x, ends[0], ends[1]), stage * levels, 0, weights_at};
        a.left = lane() == 0 && ends[0], a.right = lane() == 31 && ends[1];
        a.begin = p.from;
        a.count = __shfl_sync(~0u, l.closed[0][1] ? l.ny - classes_ahead - p.from : INT_MAX / 2, 0);
        a.low = __shfl_sync(~0u, l.closed[0][0] ? 0 : INT_MIN / 2, 0);
        a.high = __shfl_sync(~0u, l.closed[0][1] ? l.ny : INT_MAX / 2, 0);
        if constexpr (varied)
            a.class_row = (uint32_t)table::here().row_bytes;
        return a;
    }
    /* Finds out what the line's rows are as they come in: those of every other slot, from number `share` on;
     * called by a warp. */
    __device__ __forceinline__ static void find_rows(const stencil_kernel_args &s, const line &l,
                                                     uint32_t ring, int share) {
        turn u(ring, 0, 0);
        class_turn next(ring, 0);
        bool mine = share == 0;
        base::template walk<true>(l, [&](const piece &p) {
            const stage_strip a = start_strip(s, l, p, 0, 0);
            uint32_t before = row_plain;
            int y = p.from;
#pragma unroll 1
            for (int left = p.count; left > 0; left -= rows, u.next()) {
                if (mine)
                    wait_warp(u.barrier, u.parity);
#pragma unroll 1
                for (int b = 0; b < rows; b++, y++, next.next())
                    if (mine && a.has_bits(y))
                        before = find_row(a, next.at, before);
                if (mine)
                    arrive(u.barrier + to_next);
                mine = !mine;
            }
        });
    }
};

} // namespace stencil
