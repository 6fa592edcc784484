/* The tile that a block of the resident sweep keeps, and how it makes a step.
 *
 *   columns ->   0 ... reach | its columns ... | ... 32 K - 1       a lane has K adjacent cells
 *   row 0        radius rows, only read: ghost or boundary rows, in shared memory
 *   row radius   warp 0      R rows in registers
 *                warp 1      R rows ...                             rows of other warps: in shared memory
 *                ...                                   large tiles: some rows in shared memory
 *   the end      radius rows, only read
 *
 * A step goes down the rows, in place: each old row is added to the sums of all rows that read it. The lowest
 * of these sums use registers of rows that are finished, the others `radius` rows of sums. Ghost cells are
 * `reach` wide; each step makes `radius` more of them invalid, until an exchange. */
#pragma once

#include "kernels/cells.cuh"
#include "kernels/classes.cuh"
#include "kernels/sweeps/resident.h"
#include "kernels/sweeps/resident_check.cuh"

namespace stencil {

enum { STENCIL_SHARE_BITS = 18 };

/* A tile's data that only exchanges of ghost cells use. They are in shared memory, to leave the registers to
 * cells. */
struct resident_place {
    stencil_resident_memory memory;
    int32_t rows, reach;  /* rows of all warps; width of the ghost cells */
    int32_t tile, x, y;   /* the tile's number, and its column and row in the grid of tiles */
    int32_t first[2];     /* cell of the field at the tile's row 0 and column 0 */
    int32_t closed[2][2]; /* [axis y, x][side]: the field ends at the tile's side, so no ghost cells arrive */
    int32_t mirrored[2][2];
    int32_t wanted[2][2];   /* [axis y, x][side]: first row or column that the neighbouring tile reads */
    int32_t round[2];       /* axis y, x is periodic within the part */
    uint64_t *rows_to[2];   /* where ghost rows for the tiles above and below are sent in even exchanges */
    int64_t step, left;     /* steps made before this pass; steps left in the launch */
    int32_t steps, to_poll; /* steps of this pass; steps until the host is polled */
    uint32_t exchanges;
    uint32_t own,
        beside[2]; /* first word of this tile, and of the columns sent by its left and right neighbours */
    int32_t shares,
        row_share; /* threads that share a row of the tile; 1 / rows, in units of 2^-STENCIL_SHARE_BITS */
    check_place check;
};
static_assert(sizeof(resident_place) <= STENCIL_RESIDENT_PLACE - STENCIL_RESIDENT_TABLES, "");

template <class P, class T_, bool General, int Shape, bool Classed> struct resident_tile {
    using T = T_;
    static constexpr stencil_resident_shape shape =
        stencil_resident_shape_of(P::radius, sizeof(T_) == 8, Shape);
    static constexpr int K = shape.cells, R = shape.rows, radius = P::radius, width = 32 * K;
    static constexpr bool mixed = shape.mixed > 0;
    static constexpr int inner = R - 2 * radius, registers = mixed ? inner - shape.mixed : R;
    /* Tells whether cells take so many registers that the compiler may not start rows early. */
    static constexpr bool full = registers * K * sizeof(T_) / 4 > 96;
    static_assert(K >= 2 * radius && R >= radius && R <= 32 && registers > 0, "");

    T c[registers][K];

    /* Inner rows of a warp, before row r, that are in shared memory. */
    __host__ __device__ static constexpr int mixed_before(int r) {
        return mixed ? (r - radius) * shape.mixed / inner : 0;
    }
    __host__ __device__ static constexpr bool is_outer(int r) {
        return r < radius || r >= R - radius;
    }
    __host__ __device__ static constexpr bool in_memory(int r) {
        return mixed && (is_outer(r) || mixed_before(r + 1) > mixed_before(r));
    }
    /* Tells whether a step overwrites row r in shared memory; if reads_beside(r), the lanes need a
     * __syncwarp(). */
    __host__ __device__ static constexpr bool is_in_place(int r) {
        return r >= 0 && r < R && in_memory(r) && !is_outer(r);
    }
    /* Tells whether lanes read the left and right neighbours in row r from shared memory (two loads), not by
     * shuffles (four). */
    __host__ __device__ static constexpr bool reads_beside(int r) {
        return r < 0 || r >= R || (in_memory(r) && (is_outer(r) || sizeof(T) == 8));
    }
    __host__ __device__ static constexpr int register_of(int r) {
        return mixed ? r - radius - mixed_before(r) : r;
    }

    __device__ __forceinline__ static volatile resident_place &place() {
        extern __shared__ __align__(128) char shared[];
        return *reinterpret_cast<volatile resident_place *>(shared);
    }
    __device__ __forceinline__ static T *cells(int at) {
        extern __shared__ __align__(128) char shared[];
        return reinterpret_cast<T *>(shared + STENCIL_RESIDENT_PLACE) + at;
    }
    __device__ __forceinline__ static uint32_t *list() {
        extern __shared__ __align__(128) char shared[];
        return reinterpret_cast<uint32_t *>(shared + place().memory.bytes) - 2 * width;
    }
    __device__ __forceinline__ static int lane() {
        return opaque((int)(threadIdx.x & 31));
    }
    __device__ __forceinline__ static int warp() {
        return opaque((int)(threadIdx.x >> 5));
    }
    __device__ __forceinline__ static int warps() {
        return opaque((int)(blockDim.x >> 5));
    }

    using step_weights = step_weights_of<T, P::count, General>;

    /* Offsets in shared memory, in cells, of the rows that a warp reads and writes in a step. */
    struct ways {
        int own, next, over,
            under; /* the warp's outer rows: old and new; the rows above and below the warp */
        int mixed,
            fixed; /* offset of the warp's inner rows in shared memory; offset of its rows' boundary cells */
        bool kept[2], mirrored[2]; /* the lane has boundary or mirrored cells at the left, right */
        int over_row,
            under_row; /* distance from row to row above and below the warp; negative for mirrored rows */
        step_weights weights;
        int source;             /* where the source term lies; < 0: there is none */
        uint32_t marks, varied; /* a bit for each row of the warp that has cells that keep their values, or
                                   that have weights of their own */
        const stencil_classes *classes;
        int of_kept; /* where the lane's bits of such cells lie, in bytes */
    };
    /* The offsets of a warp's rows in shared memory, computed once, since computing them takes longer than
     * making a row. */
    struct row_table {
        int4 rows[2]; /* fields own, next, over, under of `ways`, for each of the two buffers of outer rows */
        int4 rest;    /* field mixed of `ways`; boundary cells at the left and right; flags */
    };
    static_assert(shape.warps * sizeof(row_table) <= STENCIL_RESIDENT_TABLES, "");
    enum { closed_sides = 1, mirrored_sides = 4, over_is_mirror = 16, under_is_mirror = 32 };
    __device__ __forceinline__ static row_table &table() {
        extern __shared__ __align__(128) char shared[];
        return reinterpret_cast<row_table *>(shared + STENCIL_RESIDENT_PLACE -
                                             STENCIL_RESIDENT_TABLES)[warp()];
    }
    __device__ __forceinline__ static int edge_of(int warp, int row) {
        return (warp * 2 * radius + row) * width + lane();
    }
    __device__ __forceinline__ static int mixed_of(int warp) {
        return place().memory.mixed + warp * shape.mixed * width + lane();
    }
    __device__ __forceinline__ static int stage_row(int side, int row) {
        return place().memory.stage + (side * place().reach + row) * width + lane();
    }
    __device__ __forceinline__ static int stage_column() {
        return stencil_resident_stage_column(place().rows);
    }
    /* Returns where a row's boundary cells at the left or right lie: in the space of that side's ghost cells.
     */
    __device__ __forceinline__ static int fixed_of(int side, int row) {
        return place().memory.stage + (2 * width + side * stage_column()) * place().reach + row * radius;
    }
    /* Returns where bits of cells that keep their values lie: those of the rows of the first warp. */
    __device__ __forceinline__ static int first_kept() {
        const int lists = 2 * width + stencil_resident_places(place().rows, place().reach);
        return place().memory.bytes - lists * (int)sizeof(uint32_t) -
               stencil_resident_kept_bytes(shape, warps(), General);
    }
    /* Returns where bits of cells that have weights of their own lie (general kernels), seen from the former.
     */
    __device__ __forceinline__ static int to_varied() {
        return warps() * (R * 32 + 4);
    }
    /* Returns the bits of a warp's rows that have cells of a kind (0, or to_varied()). */
    __device__ __forceinline__ static uint32_t &marks_of(int warp, int kind) {
        extern __shared__ __align__(128) char shared[];
        return *reinterpret_cast<uint32_t *>(shared + first_kept() + kind + warps() * R * 32 + warp * 4);
    }
    /* Returns the lane's bits of a row whose bits lie at byte `at`. */
    __device__ __forceinline__ static uint8_t &kept_at(int at) {
        extern __shared__ __align__(128) char shared[];
        return *reinterpret_cast<uint8_t *>(shared + at);
    }
    /* Returns the bits of the lane's cells of row O that keep their values. */
    template <int O> __device__ __forceinline__ static uint32_t kept_cells(const ways &w) {
        return Classed && (w.marks >> O & 1) != 0 ? kept_at(w.of_kept + O * 32) : 0u;
    }
    /* Fills the warp's table(); called by one lane. */
    __device__ __forceinline__ static void find_rows_beside() {
        const int at = warp(), last = warps() - 1, flip = buffer_cells();
        row_table &t = table();
        int flags = place().closed[1][0] * closed_sides + place().closed[1][1] * 2 * closed_sides +
                    place().mirrored[1][0] * mirrored_sides + place().mirrored[1][1] * 2 * mirrored_sides;
        if (General && at == 0 && place().mirrored[0][0])
            flags += over_is_mirror;
        if (General && at == last && place().mirrored[0][1])
            flags += under_is_mirror;
        for (int b = 0; b < 2; b++) {
            const int own = edge_of(at, 0) - lane(), buffer = b * flip;
            t.rows[b].x = own + buffer, t.rows[b].y = own + flip - buffer;
            t.rows[b].z = flags & over_is_mirror ? own + buffer + (radius - 1) * width
                          : at > 0               ? own + buffer - radius * width
                                                 : stage_row(0, 0) - lane();
            t.rows[b].w = flags & under_is_mirror ? own + buffer + (2 * radius - 1) * width
                          : at < last             ? own + buffer + 2 * radius * width
                                                  : stage_row(1, place().reach - radius) - lane();
        }
        t.rest.x = mixed_of(at) - lane(), t.rest.w = flags;
        t.rest.y = fixed_of(0, at * R), t.rest.z = fixed_of(1, at * R);
    }
    __device__ __forceinline__ static ways find_ways(bool source, int buffer) {
        const row_table &t = table();
        const int4 rows = t.rows[buffer], rest = t.rest;
        const int at = lane(), flags = rest.w;
        ways w;
        w.own = rows.x + at, w.next = rows.y + at, w.over = rows.z + at, w.under = rows.w + at;
        w.mixed = rest.x + at, w.fixed = at == 31 ? rest.z : rest.y;
        for (int side = 0; side < 2; side++) {
            const bool here = at == side * 31;
            w.mirrored[side] = General && here && (flags & mirrored_sides << side);
            w.kept[side] = here && (flags & closed_sides << side) && !w.mirrored[side];
        }
        w.over_row = flags & over_is_mirror ? -width : width;
        w.under_row = flags & under_is_mirror ? -width : width;
        w.source = source ? place().memory.source + warp() * R * width + at : -1;
        w.marks = w.varied = 0, w.of_kept = 0, w.classes = nullptr;
        if constexpr (Classed) {
            w.marks = __shfl_sync(~0u, marks_of(warp(), 0), 0);
            if (General)
                w.varied = __shfl_sync(~0u, marks_of(warp(), to_varied()), 0);
            w.of_kept = first_kept() + warp() * R * 32 + at;
        }
        return w;
    }

    /* Adds the points of `row`, which is Dy rows below row `to`, to the sum of row `to`. at(row, cell of the
     * lane) returns an element index. */
    template <int Dy, class At>
    __device__ __forceinline__ static void add(T (&sum)[K], const T (&row)[K + 2 * radius],
                                               const step_weights &weights, int to, At at) {
        for_constants<-radius, radius + 1>([&](auto dx) {
            constexpr int X = decltype(dx)::value;
            if constexpr (P::contains(Dy, 0, X)) {
                constexpr int k = P::number(0, Dy, X);
                const auto weight = weights.point(k);
#pragma unroll
                for (int v = 0; v < K; v++)
                    sum[v] = term(
                        k, weight, [&] { return at(to, v); }, row[radius + v + X], sum[v]);
            }
        });
    }
    /* The same, for a row that may have cells that keep their values: their sums, which have these values
     * since their own row, stay as they are. */
    template <int Dy, int O, class At>
    __device__ __forceinline__ static void add_kept(T (&sum)[K], const T (&row)[K + 2 * radius],
                                                    const ways &w, At at) {
        if ((w.marks >> O & 1) == 0)
            return add<Dy>(sum, row, w.weights, O, at);
        const uint32_t kept = kept_at(w.of_kept + O * 32);
#pragma unroll
        for (int v = 0; v < K; v++) {
            T next = sum[v];
            for_constants<-radius, radius + 1>([&](auto dx) {
                constexpr int X = decltype(dx)::value;
                if constexpr (P::contains(Dy, 0, X)) {
                    constexpr int k = P::number(0, Dy, X);
                    next = term(
                        k, w.weights.point(k), [&] { return at(O, v); }, row[radius + v + X], next);
                }
            });
            sum[v] = kept >> v & 1 ? sum[v] : next;
        }
    }
    /* Adds points as add() does, by the weights that cells of row O have of their own, to the sums that these
     * had before, and at last source term and constant. The loop is not unrolled: it has the code of one
     * cell.
     */
    template <int Dy, int O, class At>
    __device__ __forceinline__ static void add_varied(T (&sum)[K], const T (&before)[K],
                                                      const T (&row)[K + 2 * radius], const ways &w, At at) {
        const uint32_t bits = kept_at(w.of_kept + to_varied() + O * 32);
        const stencil_domain &d = *w.weights.domain;
#pragma unroll 1
        for (int v = 0; v < K; v++) {
            const bool mine = bits >> v & 1;
            if (!__any_sync(~0u, mine))
                continue;
            T next = 0, cell[2 * radius + 1] = {};
            unrolled<K>([&](int i) {
                next = i == v ? before[i] : next;
#pragma unroll
                for (int x = 0; x <= 2 * radius; x++)
                    cell[x] = i == v ? row[i + x] : cell[x];
            });
            if (mine) {
                const int64_t here = at(O, v);
                const T *const weights = row_of_class<T>(*w.classes, __ldg(w.classes->of + here));
                for_constants<-radius, radius + 1>([&](auto dx) {
                    constexpr int X = decltype(dx)::value;
                    if constexpr (P::contains(Dy, 0, X))
                        next = term_of_class(
                            d, weights, P::number(0, Dy, X), [&] { return here; }, cell[radius + X], next);
                });
                if (Dy == radius)
                    next = end_of_class(weights, d.b != nullptr,
                                        d.b != nullptr ? static_cast<const T *>(d.b)[here] : T(0), next);
            }
            unrolled<K>([&](int i) { sum[i] = mine && i == v ? next : sum[i]; });
        }
    }
    /* Adds the points of a row to the sums of row O, whatever cells that has. Source: and its source term. */
    template <int Dy, int O, class At>
    __device__ __forceinline__ static void add_any(T (&sum)[K], const T (&row)[K + 2 * radius], const ways &w,
                                                   At at) {
        constexpr bool keeps = Classed && Dy > 0 && !in_memory(O), varies = Classed && General,
                       last = General && Dy == radius;
        T before[K];
        if (varies && (w.varied >> O & 1) != 0)
            unrolled<K>([&](int v) { before[v] = sum[v]; });
        if constexpr (keeps)
            add_kept<Dy, O>(sum, row, w, at);
        else
            add<Dy>(sum, row, w.weights, O, at);
        if constexpr (last)
            add_source<O>(sum, w, at);
        if (varies && (w.varied >> O & 1) != 0)
            add_varied<Dy, O>(sum, before, row, w, at);
    }
    /* Returns how many columns to each side the warp's rows read in row m, counted from the warp's first row.
     */
    __host__ __device__ static constexpr int reach_of(int m) {
        int reach = 0;
        for (int dy = -radius; dy <= radius; dy++)
            if (m - dy >= 0 && m - dy < R && P::row_reach(dy < 0 ? -dy : dy, 0) > reach)
                reach = P::row_reach(dy < 0 ? -dy : dy, 0);
        return reach;
    }
    /* Pointers for one step to the rows in shared memory of the warp and of its neighbours. */
    struct rows_of_step {
        const T *over, *under, *own; /* old outer rows: above the warp, below the warp, the warp's */
        T *next, *mixed; /* the new outer rows; the inner rows in shared memory, updated in place */
        const T *fixed;  /* boundary cells of the lane's side (left or right) */
        bool kept[2],
            mirrored[2]; /* left, right: whether the lane's outer cells are boundary or mirrored cells */
    };
    __host__ __device__ static constexpr int place_in_memory(int r) {
        return (r < radius ? r : r >= R - radius ? r - R + 2 * radius : mixed_before(r)) * width;
    }
    template <int M>
    __device__ __forceinline__ void old_row(T (&row)[K + 2 * radius], const rows_of_step &rows,
                                            const ways &w) const {
        if constexpr (M < 0 || M >= R || in_memory(M)) {
            const T *const at = M < 0    ? rows.over + (M + radius) * (General ? w.over_row : width)
                                : M >= R ? rows.under + (M - R) * (General ? w.under_row : width)
                                         : (is_outer(M) ? rows.own : rows.mixed) + place_in_memory(M);
#pragma unroll
            for (int v = 0; v < K; v++)
                row[radius + v] = at[v * 32];
#pragma unroll
            for (int k = 1; k <= (reads_beside(M) ? reach_of(M) : 0); k++) {
                row[radius - k] = at[(K - k) * 32 - 1];
                row[radius + K - 1 + k] = at[(k - 1) * 32 + 1];
            }
        } else
#pragma unroll
            for (int v = 0; v < K; v++)
                row[radius + v] = c[register_of(M)][v];
#pragma unroll
        for (int k = 1; k <= (reads_beside(M) ? 0 : reach_of(M)); k++) {
            row[radius - k] = __shfl_up_sync(~0u, row[radius + K - k], 1);
            row[radius + K - 1 + k] = __shfl_down_sync(~0u, row[radius + k - 1], 1);
        }
    }
    /* Adds old row M to the sums of all rows that read it. seen: see step(). */
    template <int M, class At, class Seen>
    __device__ __forceinline__ void add_row(T (&ahead)[radius][K], T (&begun)[radius][K],
                                            const rows_of_step &rows, const ways &w, At at, Seen &seen) {
        T row[K + 2 * radius];
        old_row<M>(row, rows, w);
        for_constants<0, radius>([&](auto i) {
            constexpr int Dy = radius - decltype(i)::value, O = M - Dy;
            if constexpr (O >= 0 && O < R) {
                T(&sum)[K] = sum_of<O>(begun);
                add_any<Dy, O>(sum, row, w, at);
                if constexpr (Dy == radius && in_memory(O))
                    put_row<O>(sum, rows, w);
                else if constexpr (Dy == radius)
                    close_row<O>(sum, rows);
                if constexpr (Dy == radius)
                    seen.template made<O>(sum, kept_cells<O>(w));
            }
        });
        if constexpr (M >= 0 && M < R)
            seen.template old<M>(row + radius);
        if constexpr (M >= 0 && M < R) {
            T(&sum)[K] = sum_of<M>(begun);
            add_any<0, M>(ahead[0], row, w, at);
#pragma unroll
            for (int v = 0; v < K; v++)
                sum[v] = ahead[0][v];
            if constexpr (Classed && !in_memory(M)) {
                if ((w.marks >> M & 1) != 0) {
                    const uint32_t kept = kept_at(w.of_kept + M * 32);
                    unrolled<K>([&](int v) { sum[v] = kept >> v & 1 ? row[radius + v] : sum[v]; });
                }
            }
        }
        for_constants<1, radius + 1>([&](auto j) {
            constexpr int J = decltype(j)::value, O = M + J;
            if constexpr (J < radius)
#pragma unroll
                for (int v = 0; v < K; v++)
                    ahead[J - 1][v] = ahead[J][v];
            if constexpr (O >= 0 && O < R)
                add_any<-J, O>(ahead[J - 1], row, w, at);
        });
    }
    /* Returns the sums of row O: in the row's registers, or in `begun` if the row is in shared memory. */
    template <int O> __device__ __forceinline__ T (&sum_of(T (&begun)[radius][K]))[K] {
        if constexpr (in_memory(O))
            return begun[O % radius];
        else
            return c[register_of(O)];
    }
    template <int O>
    __device__ __forceinline__ static void put_row(T (&sum)[K], const rows_of_step &rows, const ways &w) {
        if constexpr (Classed) {
            const T *const old = (is_outer(O) ? rows.own : rows.mixed) + place_in_memory(O);
            if ((w.marks >> O & 1) != 0) {
                const uint32_t kept = kept_at(w.of_kept + O * 32);
                unrolled<K>([&](int v) { sum[v] = kept >> v & 1 ? old[v * 32] : sum[v]; });
            }
        }
        T *const to = (is_outer(O) ? rows.next : rows.mixed) + place_in_memory(O);
        mirror_row(sum, rows);
#pragma unroll
        for (int v = 0; v < K; v++)
            if (!(v < radius && rows.kept[0]) && !(v >= K - radius && rows.kept[1]))
                to[v * 32] = sum[v];
    }
    template <int O, class At>
    __device__ __forceinline__ static void add_source(T (&sum)[K], const ways &w, At at) {
        if (w.source < 0)
            return;
        const T *const b = cells(w.source) + O * width;
        const auto factor = w.weights.source();
        const uint32_t kept = kept_cells<O>(w);
#pragma unroll
        for (int v = 0; v < K; v++) {
            const T next = source_term(
                factor, [&] { return at(O, v); }, b[v * 32], sum[v]);
            sum[v] = Classed && (kept >> v & 1) != 0 ? sum[v] : next;
        }
    }

    /* Sets the outer cells of a row in registers: boundary cells to their old values, mirrored cells to the
     * cells that they mirror. */
    template <int O> __device__ __forceinline__ static void close_row(T (&row)[K], const rows_of_step &rows) {
#pragma unroll
        for (int k = 0; k < radius; k++) {
            if (rows.kept[0])
                row[k] = rows.fixed[O * radius + k];
            if (rows.kept[1])
                row[K - radius + k] = rows.fixed[O * radius + k];
        }
        mirror_row(row, rows);
    }
    __device__ __forceinline__ static void mirror_row(T (&row)[K], const rows_of_step &rows) {
#pragma unroll
        for (int k = 0; k < radius && General; k++) {
            row[k] = rows.mirrored[0] ? row[2 * radius - 1 - k] : row[k];
            row[K - radius + k] = rows.mirrored[1] ? row[K - 1 - radius - k] : row[K - radius + k];
        }
    }
    /* Copies the warp's outer rows from registers to shared memory, for the warps above and below. */
    __device__ __forceinline__ void publish(int to) const {
        T *const edge = cells(to);
#pragma unroll
        for (int j = 0; j < radius; j++)
#pragma unroll
            for (int v = 0; v < K; v++) {
                edge[j * width + v * 32] = c[j][v];
                edge[(radius + j) * width + v * 32] = c[R - radius + j][v];
            }
    }
    /* Makes a step. seen.old<M>() gets the lane's cells of each row M before the step, and seen.made<M>()
     * those after it, in ascending order: row M is made when row M + radius is seen. */
    template <class At, class Seen> __device__ __forceinline__ void step(const ways &w, At at, Seen &seen) {
        T ahead[radius][K], begun[radius][K];
        const rows_of_step rows = {
            cells(w.over),  cells(w.under), cells(w.own),           cells(w.next),
            cells(w.mixed), cells(w.fixed), {w.kept[0], w.kept[1]}, {w.mirrored[0], w.mirrored[1]}};
        for_constants<-radius, R + radius>([&](auto m) {
            add_row<decltype(m)::value>(ahead, begun, rows, w, at, seen);
            if constexpr ((is_in_place(decltype(m)::value) && reads_beside(decltype(m)::value)) ||
                          (full && decltype(m)::value % 2 != 0))
                __syncwarp(); /* waits until lanes have read their neighbours' old cells, before these are
                                 overwritten */
        });
    }
    /* The observer of a step that nothing is to be known of. */
    struct unseen {
        template <int M> __device__ __forceinline__ void old(const T *) {}
        template <int M> __device__ __forceinline__ void made(const T (&)[K], uint32_t) {}
    };

    /* Pointers to a warp's outer and inner rows in shared memory. */
    struct memory_rows {
        T *outer, *mixed;
    };
    __device__ __forceinline__ static memory_rows find_rows(int warp, int buffer, int at) {
        if constexpr (!mixed)
            return {nullptr, nullptr};
        const int first = at - lane();
        return {cells(edge_of(warp, 0) + first + (buffer ? buffer_cells() : 0)),
                cells(mixed_of(warp) + first)};
    }
    /* Returns a bit for each inner row of a warp that is in shared memory. */
    __host__ __device__ static constexpr uint32_t mixed_bits() {
        uint32_t bits = 0;
        for (int r = 0; r < R; r++)
            bits |= (uint32_t)(in_memory(r) && !is_outer(r)) << r;
        return bits;
    }
    __device__ __forceinline__ static bool is_in_memory(int row) {
        return mixed && (is_outer(row) || (mixed_bits() >> row & 1) != 0);
    }
    /* Returns a row of the warp that is in shared memory. */
    __device__ __forceinline__ static T *memory_row(int row, const memory_rows &at) {
        constexpr uint32_t bits = mixed_bits();
        return row < radius        ? at.outer + row * width
               : row >= R - radius ? at.outer + (row - R + 2 * radius) * width
                                   : at.mixed + __popc(bits & ((1u << row) - 1)) * width;
    }
    /* Returns cell v of row J, in registers or in shared memory. */
    template <int J> __device__ __forceinline__ T &cell(int v, const memory_rows &at) {
        if constexpr (!in_memory(J))
            return c[register_of(J)][v];
        else
            return (is_outer(J) ? at.outer : at.mixed)[place_in_memory(J) + v * 32];
    }
    __device__ __forceinline__ static int buffer_cells() {
        return warps() * 2 * radius * width;
    }
};

} // namespace stencil
