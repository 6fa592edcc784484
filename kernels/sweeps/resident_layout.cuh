/* The tile that a block of the resident sweep keeps: where its rows lie, in registers and in shared memory.
 *
 *   columns ->   0 ... reach | its columns ... | ... 32 K - 1       a lane has K adjacent cells
 *   row 0        radius rows, only read: ghost or boundary rows, in shared memory
 *   row radius   warp 0      R rows in registers
 *                warp 1      R rows ...                             rows of other warps: in shared memory
 *                ...                                   large tiles: some rows in shared memory
 *   the end      radius rows, only read
 *
 * Ghost cells are `reach` wide; each step makes `radius` more of them invalid, until an exchange. */
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
        row_share;     /* threads that share a row of the tile; 1 / rows, in units of 2^-STENCIL_SHARE_BITS */
    int32_t tests;     /* a class has a weight of 0 or a constant */
    int32_t class_row; /* bytes of a class in the table of the weights of classes */
    check_place check;
};
static_assert(sizeof(resident_place) <= STENCIL_RESIDENT_PLACE - STENCIL_RESIDENT_TABLES, "");

/* The weights of a step in a cycle, loaded into registers, for tiles that leave some: from shared memory an
 * fma would load them again behind each store. */
template <class T, int Points> struct held_weights {
    static constexpr int count = Points + 1;
    T weight[count];
    const stencil_domain *domain;
    __device__ __forceinline__ held_weights() {}
    template <class Address>
    __device__ __forceinline__ held_weights(const cycle_weights<T, Points, Address> &step)
        : domain(step.domain) {
#pragma unroll
        for (int k = 0; k < count; k++)
            weight[k] = step.point(k).value;
    }
    __device__ __forceinline__ point_weight<T> point(int k) const {
        return {weight[k], domain};
    }
    __device__ __forceinline__ point_weight<T> source() const {
        return point(Points);
    }
};

template <class P, class T_, bool General, int Shape, bool Classed> struct resident_layout {
    using T = T_;
    static constexpr stencil_resident_shape shape =
        stencil_resident_shape_of(P::radius, sizeof(T_) == 8, Shape);
    static constexpr int K = shape.cells, R = shape.rows, radius = P::radius, width = 32 * K;
    static constexpr bool mixed = shape.mixed > 0;
    static constexpr int inner = R - 2 * radius, registers = mixed ? inner - shape.mixed : R;
    /* Tells whether cells take so many registers that the compiler may not start rows early. */
    static constexpr bool full = registers * K * sizeof(T_) / 4 > 96;
    static_assert(K >= 2 * radius && R >= radius && R <= 32 && registers > 0, "");

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

    /* Returns the row or column of the part at row or column `at` of the tile, wrapped around on a periodic
     * axis that is not cut. */
    __device__ __forceinline__ static int64_t in_field(const stencil_domain &d, int axis, int at) {
        const int n = (int)d.n[STENCIL_Y + axis], i = place().first[axis] + at;
        if (!place().round[axis])
            return i;
        const int rest = i % n;
        return rest < 0 ? rest + n : rest;
    }

    using step_weights = step_weights_of<T, P::count, General>;
    using ways_weights = std::conditional_t<General && !mixed, held_weights<T, P::count>, step_weights>;

    /* Offsets in shared memory, in cells, of the rows that a warp reads and writes in a step. */
    struct ways {
        int own, next, over,
            under; /* the warp's outer rows: old and new; the rows above and below the warp */
        int mixed,
            fixed; /* offset of the warp's inner rows in shared memory; offset of its rows' boundary cells */
        bool kept[2], mirrored[2]; /* the lane has boundary or mirrored cells at the left, right */
        int over_row,
            under_row; /* distance from row to row above and below the warp; negative for mirrored rows */
        ways_weights weights;
        int source;             /* where the source term lies; < 0: there is none */
        uint32_t marks, varied; /* a bit for each row of the warp that has cells that keep their values, or
                                   that have weights of their own */
        int of_kept;            /* where the lane's bits of the former lie, in bytes */
    };
    /* The offsets of a warp's rows in shared memory, computed once, since computing them takes longer than
     * making a row. */
    struct row_table {
        int4 rows[2]; /* fields own, next, over, under of `ways`, for each of the two buffers of outer rows */
        int4 rest;    /* field mixed of `ways`; boundary cells at the left and right; flags */
    };
    static_assert(shape.warps * sizeof(row_table) <= STENCIL_RESIDENT_TABLES, "");
    enum {
        closed_sides = 1,
        mirrored_sides = 4,
        over_is_mirror = 16,
        under_is_mirror = 32,
        first_class = 256
    };
    __device__ __forceinline__ static row_table &table() {
        extern __shared__ __align__(128) char shared[];
        return reinterpret_cast<row_table *>(shared + STENCIL_RESIDENT_PLACE -
                                             STENCIL_RESIDENT_TABLES)[warp()];
    }
    /* Returns the class whose weights all cells of the warp have that do not keep their values; 0: there is
     * none, or it has a weight of 0 or a constant. */
    __device__ __forceinline__ static int only_class() {
        return General && Classed && !mixed ? __shfl_sync(~0u, table().rest.w, 0) / first_class : 0;
    }
    __device__ __forceinline__ static int buffer_cells() {
        return warps() * 2 * radius * width;
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
    /* Returns the bits of a warp's rows that have cells that keep their values, or (in general kernels) that
     * have weights of their own. */
    enum { of_kept, of_varied };
    __device__ __forceinline__ static uint32_t &marks_of(int warp, int kind) {
        extern __shared__ __align__(128) char shared[];
        return reinterpret_cast<uint32_t *>(shared + first_kept() + warps() * R * 32)[kind * warps() + warp];
    }
    /* Returns the lane's bits of a row whose bits lie at byte `at`. */
    __device__ __forceinline__ static uint8_t &kept_at(int at) {
        extern __shared__ __align__(128) char shared[];
        return *reinterpret_cast<uint8_t *>(shared + at);
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
        w.marks = w.varied = 0, w.of_kept = 0;
        if constexpr (Classed) {
            w.marks = __shfl_sync(~0u, marks_of(warp(), of_kept), 0);
            if (General)
                w.varied = __shfl_sync(~0u, marks_of(warp(), of_varied), 0);
            w.of_kept = first_kept() + warp() * R * 32 + at;
        }
        return w;
    }
};

} // namespace stencil
