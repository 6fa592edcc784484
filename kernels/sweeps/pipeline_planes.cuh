/* A warp of the pipeline sweep in 3D: all levels of its rows of a tile, plane after plane. */
#pragma once

#include "kernels/sweeps/pipeline_tile.cuh"

namespace stencil {

template <class P, class T, bool General, bool Classed>
struct pipeline_planes : pipeline_tile<P, T, General, Classed> {
    using base = pipeline_tile<P, T, General, Classed>;
    using base::radius, base::depth, base::cells, base::rows, base::hop, base::lag, base::slots,
        base::barrier_bytes, base::edge_rows, base::edges, base::plane_rows, base::shape, base::threads,
        base::fixed_planes, base::fixed_at;
    using typename base::place, typename base::piece, typename base::vector;
    static constexpr int R = radius, side = 2 * R + 1;
    /* Tells whether a cell reads other columns in its own row only. */
    static constexpr bool star = P::rule == STENCIL_STAR;

    /* For each level: the plane that it received last, and sum k of plane R - k before that one, without the
     * points in the last plane and in later ones. A sum takes its points in ascending order of planes, as in
     * the cell update. */
    T plane[depth][rows][cells], sum[depth][2 * R][rows][cells];

    vector *edge, *ring; /* this lane's vectors in shared memory: outer rows of all warps; the warp's rows of
                            loaded planes */
    uint32_t barriers, turn; /* address of the barriers; iterations that the block has made */
    /* Planes that are stored; planes before moving[0] and from moving[1] on keep their values; last plane and
     * row to be read, rows before row 0; levels without a step. */
    int stored[2], moving[2], last_plane, last_row, below, skipped;
    int to_load, to_take; /* slots of the ring of planes to load into and to take from */
    int y, x, z;          /* first cell of the lane along y and x; plane that is loaded next */
    const char *from;    /* the lane's columns in row 0 of the plane that is loaded next, counting rows before
                            the part */
    char *to;            /* the lane's first cell in the plane that is stored next */
    uint32_t kept, some; /* bits of rows that the lane stores whole, and in part */
    uint32_t cells_kept; /* bits of cells that are stored in a row stored in part */
    /* Cells that keep their values: a bit for each row of the lane that does so as a whole, a bit for each
     * cell of the lane that does so in all rows; and whether any lane of the warp has such cells. */
    uint32_t still, still_cells;
    bool has_still, has_still_cells;
    /* Where cells have classes: the word of bits that this lane has loaded for the plane before z; first
     * words of a row of the tile, and of rows; place of plane z among the planes of words, and a bit for each
     * of these that is not 0. A row of the tile is in `words` words; lane `words` j + i loads word i of row
     * j. */
    static constexpr int words = cells + 1;
    static_assert(!Classed || (rows * words <= 32 && rows * cells <= 32 && fixed_planes <= 32), "");
    uint32_t coming, marks;
    int next_fixed, own_word;
    const uint32_t *row_of_bits;

    __device__ __forceinline__ void clear() {
        unrolled<depth, rows, cells>([&](int t, int j, int v) {
            plane[t][j][v] = 0;
            unrolled<2 * R>([&](int k) { sum[t][k][j][v] = 0; });
        });
    }
    __device__ __forceinline__ static uint32_t row_bytes(const stencil_domain &d) {
        return (uint32_t)(d.row * sizeof(T));
    }
    /* Returns an outer row of level t, counted from the warp's 2 R outer rows; rows of adjacent warps come
     * before and after them. */
    __device__ __forceinline__ vector &edge_row(uint32_t turn, int t, int row) const {
        return edge[(int)(((turn & 1) * depth + t) * edge_rows + row) * 32];
    }
    __device__ __forceinline__ vector &ring_row(int slot, int j) const {
        return ring[(slot * plane_rows + j) * 32];
    }
    /* Sets up a warp once, before its first piece of a tile. shared: the block's shared memory, with
     * initialized barriers. */
    __device__ __forceinline__ void enter(char *shared) {
        const int warp = __shfl_sync(~0u, threadIdx.x / 32, 0);
        vector *const rows_of_lane = reinterpret_cast<vector *>(shared + barrier_bytes) + lane();
        edge = rows_of_lane + (warp + 1) * 2 * R * 32;
        ring = rows_of_lane + (edges + warp * rows) * 32;
        barriers = shared_address(shared);
        turn = 1;
        /* The first iteration waits for the outer rows of an iteration before, which are not used. */
        unrolled<depth>([&](int t) { arrive(barriers + t * 8); });
    }
    /* Returns the word of bits of the lane's cells in a plane of words. */
    __device__ __forceinline__ static uint32_t &fixed_of(int place) {
        extern __shared__ __align__(128) char shared[];
        return reinterpret_cast<uint32_t *>(shared + fixed_at)[place * threads + threadIdx.x];
    }
    /* Returns the place of plane `at` among the planes of words. */
    __device__ __forceinline__ int place_of(int at) const {
        const int place = next_fixed - (z - at);
        return place < 0 ? place + fixed_planes : place;
    }
    /* Returns the bits of the lane's cells that are fixed in plane `at`; row j has bits j cells and on. */
    __device__ __forceinline__ uint32_t fixed_in(int at) const {
        const int place = place_of(at);
        return Classed && (marks >> place & 1) != 0 ? fixed_of(place) : 0u;
    }
    __device__ __forceinline__ void start_fixed(const stencil_classes &c, const piece &p, int first_plane) {
        const int j = min((int)lane() / words, rows - 1), word = (p.x >> 5) + (int)lane() % words;
        own_word = (x >> 5) - (p.x >> 5);
        row_of_bits = c.bits + first_plane * c.bits_plane + min(y + j, last_row) * c.bits_row +
                      max(word, (int)(c.first >> 5));
        coming = marks = 0, next_fixed = 0;
    }
    /* Puts away the bits of the plane before z, which have arrived, and loads those of plane z. */
    __device__ __forceinline__ void load_fixed(const stencil_classes &c) {
        const bool any = __any_sync(~0u, coming != 0);
        const int place = place_of(z - 1);
        if (any) {
            uint32_t fixed = 0;
            unrolled<rows>([&](int j) {
                const uint32_t word = __shfl_sync(~0u, coming, j * words + own_word);
                fixed |= (word >> (x & 31) & ((1u << cells) - 1)) << j * cells;
            });
            fixed_of(place) = fixed;
        }
        marks = (marks & ~(1u << place)) | (uint32_t)any << place;
        coming = lane() < rows * words ? __ldg(row_of_bits) : 0;
        if (z < last_plane)
            row_of_bits += c.bits_plane;
    }
    __device__ __forceinline__ void find_still(const place &l) {
        const int low = l.low[STENCIL_X], end = l.end[STENCIL_X];
        const bool whole = x + cells <= low || x >= end;
        still = still_cells = 0;
#pragma unroll
        for (int j = 0; j < rows; j++)
            still |= whole || y + j < l.low[STENCIL_Y] || y + j >= l.end[STENCIL_Y] ? 1u << j : 0;
#pragma unroll
        for (int v = 0; v < cells; v++)
            still_cells |= !whole && (x + v < low || x + v >= end) ? 1u << v : 0;
        has_still_cells = __any_sync(~0u, still_cells != 0);
        has_still = has_still_cells || __any_sync(~0u, still != 0);
    }
    __device__ __forceinline__ void start_piece(const stencil_domain &d, const place &l, const piece &p,
                                                int first) {
        const int own = (int)(threadIdx.x / 32) * rows;
        for (int side = 0; side < 2; side++)
            stored[side] = p.kept[STENCIL_Z][side];
        moving[0] = l.low[STENCIL_Z], moving[1] = l.end[STENCIL_Z], skipped = l.skipped;
        last_plane = l.n[STENCIL_Z] - 1 + l.beside[STENCIL_Z][1];
        last_row = l.n[STENCIL_Y] - 1 + l.beside[STENCIL_Y][1], below = l.beside[STENCIL_Y][0];
        y = p.y + own, x = p.x + (int)lane() * cells, z = first;
        find_still(l);
        const int left = (l.beside[STENCIL_X][0] + cells - 1) / cells * cells,
                  right = (l.n[STENCIL_X] + l.beside[STENCIL_X][1] - 1) / cells * cells;
        from = reinterpret_cast<const char *>(l.in + first * d.plane - l.beside[STENCIL_Y][0] * d.row +
                                              max(min(x, right), -left));
        to = reinterpret_cast<char *>(l.out + (first - lag) * d.plane + y * d.row + x);
        kept = cells_kept = 0;
#pragma unroll
        for (int j = 0; j < rows; j++)
            kept |= y + j >= p.kept[STENCIL_Y][0] && y + j < p.kept[STENCIL_Y][1] ? 1u << j : 0;
#pragma unroll
        for (int v = 0; v < cells; v++)
            cells_kept |= x + v >= p.kept[STENCIL_X][0] && x + v < p.kept[STENCIL_X][1] ? 1u << v : 0;
        const bool all = cells_kept == (1u << cells) - 1;
        some = all ? 0 : kept;
        kept = all ? kept : 0;
        to_load = to_take = 0;
        clear();
    }

    /* Returns the offset in bytes of row j of the warp, or of the last row to be read, from the first row to
     * be read. */
    __device__ __forceinline__ uint64_t row_offset(const stencil_domain &d, int j) const {
        return (uint64_t)(uint32_t)(min(y + j, last_row) + below) * row_bytes(d);
    }
    /* Loads the lane's cells of the next plane; beyond the last row or plane, loads that row or plane again.
     */
    __device__ __forceinline__ void load(const stencil_domain &d, const stencil_classes &c) {
        if constexpr (Classed) {
            load_fixed(c);
            next_fixed = next_fixed + 1 == fixed_planes ? 0 : next_fixed + 1;
        }
        const uint32_t at = shared_address(&ring_row(to_load, 0));
        unrolled<rows>([&](int j) {
            copy_async<sizeof(vector)>(at + j * 32 * (int)sizeof(vector), from + row_offset(d, j));
        });
        end_copies();
        if (z < last_plane)
            from += d.plane * (int64_t)sizeof(T);
        z++;
        to_load = to_load + 1 == slots ? 0 : to_load + 1;
    }
    /* Stores the warp's outer rows of a stage's plane for adjacent warps. Every lane arrives at the barrier,
     * since compute-sanitizer's racecheck demands this. */
    __device__ __forceinline__ void give(int t) {
        unrolled<R, cells>([&](int k, int v) {
            edge_row(turn, t, k).cell[v] = plane[t][k][v];
            edge_row(turn, t, R + k).cell[v] = plane[t][rows - R + k][v];
        });
        arrive(barriers + t * 8);
    }

    /* Rows of a level's plane next to the warp's, and cells next to the lane's, of as many rows as a cell
     * reads. */
    struct around {
        vector above[R], below[R];
        T before[side][R], behind[side][R];
    };
    __device__ __forceinline__ T cell_of(const around &a, int t, int j, int v) const {
        return j < 0       ? a.above[j < 0 ? j + R : 0].cell[v]
               : j >= rows ? a.below[j >= rows ? j - rows : 0].cell[v]
                           : plane[t][j < 0 || j >= rows ? 0 : j][v];
    }
    __device__ __forceinline__ void get_beside(around &a, int t, int j) const {
        unrolled<R>([&](int k) {
            a.before[(j + side) % side][k] = __shfl_up_sync(~0u, cell_of(a, t, j, cells - R + k), 1);
            a.behind[(j + side) % side][k] = __shfl_down_sync(~0u, cell_of(a, t, j, k), 1);
        });
    }
    /* Returns the element index of cell v of row j of the lane, in a plane. */
    __device__ __forceinline__ int64_t element(const stencil_domain &d, int plane, int j, int v) const {
        return plane * d.plane + (y + j) * d.row + x + v;
    }
    /* Adds the points in plane `at` to row j of the sums; s[2 R] is then complete. */
    __device__ __forceinline__ void add_row(const stencil_domain &d, const around &a, int t, int at, int j,
                                            T s[side][cells]) const {
        const auto weights = weights_of<T>(d);
#pragma unroll
        for (int k = 1; k < side; k++)
            unrolled<cells>([&](int v) { s[k][v] = sum[t][k - 1][j][v]; });
        for_constants<0, side>([&](auto dy) {
            for_constants<0, side>([&](auto dx) {
                for_constants<0, side>([&](auto back) {
                    constexpr int Y = decltype(dy)::value - R, X = decltype(dx)::value - R,
                                  Z = R - decltype(back)::value;
                    if constexpr (P::has(Z, Y, X)) {
                        constexpr int k = P::number(Z, Y, X);
                        const auto weight = weights.point(k);
#pragma unroll
                        for (int v = 0; v < base::cells; v++) {
                            const int from = v + X, r = (j + Y + side) % side;
                            const T u =
                                from < 0 ? a.before[r][from < 0 ? from + R : 0]
                                : from >= base::cells
                                    ? a.behind[r][from >= base::cells ? from - base::cells : 0]
                                    : cell_of(a, t, j + Y, from < 0 || from >= base::cells ? 0 : from);
                            s[Z + R][v] = term(
                                k, weight, [&] { return element(d, at - Z, j, v); }, u, s[Z + R][v]);
                        }
                    }
                });
            });
        });
    }
    /* Bits of rows that are stored in this iteration: whole rows, and single first cells of rows that are
     * stored in part. */
    struct rows_now {
        uint32_t whole, cell[cells - 1];
    };
    __device__ __forceinline__ rows_now find_rows(int made) const {
        rows_now now;
        const bool is_stored = made >= stored[0] && made < stored[1];
        now.whole = is_stored ? kept : 0;
#pragma unroll
        for (int v = 0; v < cells - 1; v++)
            now.cell[v] = is_stored && (cells_kept >> v & 1) ? some : 0;
        return now;
    }
    __device__ __forceinline__ void store(const stencil_domain &d, int j, const rows_now &now,
                                          const T *c) const {
        T *const row = reinterpret_cast<T *>(to + (uint64_t)(uint32_t)j * row_bytes(d));
        store_if<cells>(now.whole & 1u << j, row, c);
        unrolled<cells - 1>([&](int i) { store_if<1>(now.cell[i] & 1u << j, row + i, c + i); });
    }
    /* Stores row j but for its fixed cells, whose values are in both buffers; fixed: bits of the lane's
     * cells.
     */
    __device__ __forceinline__ void store_others(const stencil_domain &d, int j, const rows_now &now,
                                                 uint32_t fixed, const T *c) const {
        T *const row = reinterpret_cast<T *>(to + (uint64_t)(uint32_t)j * row_bytes(d));
        unrolled<cells>([&](int v) {
            const uint32_t stored = now.whole | (v < cells - 1 ? now.cell[v < cells - 1 ? v : 0] : 0);
            store_if<1>((stored >> j & 1) & ~(fixed >> (j * cells + v)), row + v, c + v);
        });
    }
    /* Returns the slot of the plane that was taken `turns` iterations before the next one. */
    __device__ __forceinline__ int slot_of(int turns) const {
        const int slot = to_take - turns;
        return slot < 0 ? slot + slots : slot;
    }
    /* Restores fixed cells in level t from slot `slot` of the ring, as below. fixed: bits of the lane's
     * cells. */
    __device__ __forceinline__ void keep_fixed(int t, int slot, uint32_t fixed) {
        if (!__any_sync(~0u, fixed != 0))
            return;
        unrolled<rows, cells>([&](int j, int v) {
            load_shared_if<1>(fixed & 1u << (j * cells + v), shared_address(&ring_row(slot, j).cell[v]),
                              &plane[t][j][v]);
        });
    }
    /* Restores cells that keep their values in level t from slot `slot` of the ring, which has the values
     * before the pass. all: restores the whole plane. */
    __device__ __forceinline__ void keep_cells(int t, int slot, bool all) {
        const uint32_t old = shared_address(&ring_row(slot, 0)), mask = all ? ~0u : still;
        unrolled<rows>([&](int j) {
            load_shared_if<cells>(mask & 1u << j, old + j * 32 * (int)sizeof(vector), plane[t][j]);
        });
        if (!has_still_cells)
            return;
#pragma unroll
        for (int v = 0; v < cells; v++)
#pragma unroll
            for (int j = 0; j < rows; j++)
                if (still_cells >> v & 1)
                    plane[t][j][v] = ring_row(slot, j).cell[v];
    }

    /* Makes an iteration of level t: completes the plane R before the one that it received last, for the next
     * level, or stores it. */
    template <int t> __device__ __forceinline__ void make_level(const stencil_domain &d) {
        around a;
        wait_warp(barriers + t * 8, ~turn & 1);
        unrolled<R>([&](int k) {
            a.above[k] = edge_row(turn + 1, t, k - R);
            a.below[k] = edge_row(turn + 1, t, 2 * R + k);
        });
        /* The plane that level t completes: z is loaded next, and level 0 has plane z - ahead - 1. */
        const int made = z - shape.ahead - 1 - R - hop * t;
        rows_now now;
        if constexpr (t == depth - 1)
            now = find_rows(made);
        const uint32_t fixed = Classed ? fixed_in(made) : 0;
        constexpr int beside = star ? 0 : R, first = star ? R : beside;
#pragma unroll
        for (int j = -beside; j < rows + R; j++) {
            if (j < rows + beside)
                get_beside(a, t, j);
            if (j < first)
                continue;
            T s[side][cells];
            add_row(d, a, t, made + R, j - R, s);
#pragma unroll
            for (int v = 0; v < cells; v++) {
                unrolled<2 * R>([&](int k) { sum[t][k][j - R][v] = s[k][v]; });
                if constexpr (t < depth - 1)
                    plane[t + 1][j - R][v] = s[2 * R][v];
            }
            if (t == depth - 1 && Classed && __any_sync(~0u, fixed != 0))
                store_others(d, j - R, now, fixed, s[2 * R]);
            else if constexpr (t == depth - 1)
                store(d, j - R, now, s[2 * R]);
        }
        if constexpr (t < depth - 1) {
            const bool all = t < skipped || made < moving[0] || made >= moving[1];
            if constexpr (Classed)
                keep_fixed(t + 1, slot_of(hop * (t + 1)), fixed);
            if (all || has_still)
                keep_cells(t + 1, slot_of(hop * (t + 1)), all);
            give(t + 1);
        }
    }
    /* Gives level 0 the plane that was loaded first. */
    __device__ __forceinline__ void take() {
        await_copies<shape.ahead - 1>();
        unrolled<rows, cells>([&](int j, int v) { plane[0][j][v] = ring_row(to_take, j).cell[v]; });
        give(0);
    }
    __device__ __forceinline__ void make_piece(const stencil_domain &d, const stencil_classes &c,
                                               const place &l, const piece &p) {
        const int low = p.kept[STENCIL_Z][0] - l.reach, closed = -l.beside[STENCIL_Z][0],
                  first = max(low, closed), turns = p.kept[STENCIL_Z][1] + lag - first;
        start_piece(d, l, p, first);
        if constexpr (Classed)
            start_fixed(c, p, first);
#pragma unroll 1
        for (int i = 0; i < shape.ahead; i++)
            load(d, c);
#pragma unroll 1
        for (int i = 0; i < turns; i++, turn++, to += d.plane * (int64_t)sizeof(T)) {
            for_constants<0, depth>([&](auto back) { make_level<depth - 1 - decltype(back)::value>(d); });
            take();
            to_take = to_take + 1 == slots ? 0 : to_take + 1;
            load(d, c);
        }
        await_copies<0>();
    }
};

} // namespace stencil
