/* Tiles of the pipeline sweep in 3D: where they are, and a block's layout of shared memory for a tile. */
#pragma once

#include <climits>
#include <type_traits>

#include "kernels/persistent.cuh"
#include "kernels/sweeps/pipeline_warp.cuh"

namespace stencil {

/* Adjacent cells of a row, which a lane loads and stores at once. */
template <class T, int Cells> struct alignas(Cells * sizeof(T)) pipeline_cells { T cell[Cells]; };

template <class P, class T, bool General, bool Classed> struct pipeline_tile {
    using cell = T;
    static constexpr stencil_pipeline_tile_shape shape =
        stencil_pipeline_tile_of(P::rule, P::radius, sizeof(T) == 8, General);
    static constexpr int radius = P::radius, depth = shape.depth, cells = shape.cells, rows = shape.rows,
                         warps = shape.warps, threads = 32 * warps;
    using vector = pipeline_cells<T, cells>;

    /* A level receives a plane, and in the next iteration, when all warps have theirs, the rows of adjacent
     * warps; then it completes the plane `radius` before, for the next level. Old values of cells that keep
     * them stay in the ring until the last level but one has made the plane, in some general passes for one
     * more iteration (pipeline_general.cuh). */
    static constexpr int hop = radius + 1, lag = hop * depth,
                         slots = shape.ahead + hop * (depth - 1) + (General && radius == 1);
    /* The layout of shared memory: a barrier for each level; outer rows of all warps at all levels for two
     * iterations, with space before the first and after the last warp; planes, two more in general passes of
     * radius 2; weights of all levels; where cells have classes, words with a bit for each fixed cell of a
     * lane in a plane, of more planes, since the last level does not store such cells. Rows consist of
     * vectors. */
    static constexpr int fixed_planes = Classed ? shape.ahead + hop * depth + 2 : 0;
    static constexpr int barrier_bytes = 128, edge_rows = 2 * radius * (warps + 2),
                         edges = 2 * depth * edge_rows, plane_rows = warps * rows,
                         planes = slots + (General && radius > 1 ? 2 : 0),
                         level_weights = General ? P::count + 1 : 0,
                         weights_at =
                             barrier_bytes + (edges + planes * plane_rows) * 32 * (int)sizeof(vector),
                         fixed_at = (weights_at + depth * level_weights * (int)sizeof(T) + 15) / 16 * 16,
                         bytes = Classed ? fixed_at + fixed_planes * threads * (int)sizeof(uint32_t)
                                         : weights_at + depth * level_weights * (int)sizeof(T);
    static_assert(depth * 8 <= barrier_bytes && bytes <= STENCIL_PIPELINE_SHARED_BYTES, "");

    /* Data of a part's tiles, computed by each thread. */
    struct place {
        const T *in; /* address of the part's first updated cell */
        T *out;
        int n[3], reach,
            skipped; /* cells of the part along z, y, x; cells that a pass reaches; levels without a step */
        int beside[3][2], low[3],
            end[3]; /* cells read beyond each side; cells before `low` and from `end` on keep their values */
        int mirrored[3][2]; /* mirrored cells beyond each side */
        /* Tiles along y and x: begin of the first one, distance to the next, count, and cells at each end
         * that a tile does not store. */
        int first[3], step[3], tiles[3], margin[3];
    };
    /* The planes of a tile that a block makes as one piece. */
    struct piece {
        int y, x, kept[3][2]; /* first cell that is read; cells that are stored along z, y, x: the first, and
                                 one past the last */
    };
    __device__ static void place_axis(place &l, int axis, int extent, int vector, int sector) {
        const stencil_pipeline_tiles tiles =
            stencil_pipeline_tiles_of(l.n[axis], l.beside[axis], l.reach, extent, vector, sector);
        l.first[axis] = (int)tiles.first, l.step[axis] = (int)tiles.step, l.tiles[axis] = (int)tiles.count;
        l.margin[axis] = (int)tiles.margin;
    }
    __device__ static void start(const stencil_kernel_args &s, const stencil_pass &pass, place &l) {
        const stencil_domain &d = s.domain;
        l.in = static_cast<const T *>(d.u[pass.from]);
        l.out = static_cast<T *>(d.u[!pass.from]);
        /* The reduction tells the compiler that all lanes have the same value, so that derived values need no
         * registers of each lane. */
        const int steps = __reduce_max_sync(~0u, pass.steps);
        l.reach = radius * steps, l.skipped = depth - steps;
        for (int axis = 0; axis < 3; axis++) {
            bool closed[2];
            l.n[axis] = (int)d.n[axis];
            for (int side = 0; side < 2; side++) {
                closed[side] = stencil_side_is_closed(&d, axis, side);
                l.beside[axis][side] = closed[side] ? radius : l.reach;
                l.mirrored[axis][side] = General && d.mirror[axis][side] ? d.reach[axis][side] : 0;
            }
            l.low[axis] = closed[0] ? -l.mirrored[axis][0] : INT_MIN / 2;
            l.end[axis] = closed[1] ? l.n[axis] + l.mirrored[axis][1] : INT_MAX / 2;
        }
        place_axis(l, STENCIL_Y, plane_rows, 1, 1);
        place_axis(l, STENCIL_X, 32 * cells, STENCIL_PIPELINE_VECTOR_BYTES / (int)sizeof(T),
                   STENCIL_PIPELINE_SECTOR_BYTES / (int)sizeof(T));
    }
    __device__ __forceinline__ static void keep(const place &l, int axis, int tile, int from, int kept[2]) {
        kept[0] = tile == 0 ? 0 : from + l.margin[axis];
        kept[1] = tile == l.tiles[axis] - 1 ? l.n[axis] : from + l.step[axis] + l.margin[axis];
    }
    /* Calls each(piece) for the pieces of tiles that this block makes. */
    template <class Each> __device__ __forceinline__ static void walk(const place &l, Each each) {
        const stencil_pipeline_shares shares = stencil_pipeline_share(
            l.tiles[STENCIL_Y] * l.tiles[STENCIL_X], l.n[STENCIL_Z], l.reach + lag, (int)gridDim.x);
        stencil_pipeline_piece part;
#pragma unroll 1
        for (int k = 0; stencil_pipeline_piece_of(&shares, (int)blockIdx.x, k, &part); k++) {
            const int ix = part.tile % l.tiles[STENCIL_X], iy = part.tile / l.tiles[STENCIL_X];
            piece p;
            p.kept[STENCIL_Z][0] = (int)part.planes[0], p.kept[STENCIL_Z][1] = (int)part.planes[1];
            p.y = l.first[STENCIL_Y] + iy * l.step[STENCIL_Y];
            p.x = l.first[STENCIL_X] + ix * l.step[STENCIL_X];
            keep(l, STENCIL_Y, iy, p.y, p.kept[STENCIL_Y]);
            keep(l, STENCIL_X, ix, p.x, p.kept[STENCIL_X]);
            if (p.kept[STENCIL_Z][0] < p.kept[STENCIL_Z][1])
                each(p);
        }
    }
};

} // namespace stencil
