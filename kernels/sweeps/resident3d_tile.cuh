/* The tile that a block of the resident sweep keeps of a 3D field, and how it makes a step.
 *
 * All cells lie in shared memory, with ghost and boundary cells around them, and a lane's own in registers,
 * too: what it reads there are neighbours. In a row every second cell lies in one stretch, the others in
 * another one, so that lanes beside each other read cells beside each other. A step goes through the lane's
 * rows, plane after plane: each old row adds its share to the sums of all rows that read it, which is the
 * order of the points for each of them. When all warps have read, all write. */
#pragma once

#include "kernels/sweeps/resident3d.h"
#include "kernels/sweeps/resident_tile.cuh"

namespace stencil {

/* Data of a tile that only exchanges need: in shared memory, or it would take the registers of cells. */
struct box_place {
    stencil_box_memory memory;
    int32_t length[3];                   /* of a tile */
    int32_t at[3];                       /* its place among the tiles */
    int32_t first[3];                    /* cell of the field that its first cell is */
    int32_t shift[3][2];                 /* to where the tiles beside it begin */
    int8_t closed[3][2], mirrored[3][2]; /* nothing comes from beyond; or what is mirrored there */
    int64_t step, left;                  /* steps made; that the launch still has to make */
    int32_t steps, passes, to_poll;      /* of this pass; that have been made; steps to a poll */
    int32_t groups, corners;             /* that are exchanged; ghost cells at edges */
    uint32_t exchanges;
};
static_assert(sizeof(box_place) <= STENCIL_BOX_PLACE, "");

template <class P, class T_, bool General, int Shape> struct box_tile {
    using T = T_;
    static constexpr stencil_box_shape shape = stencil_box_shape_of(P::radius, sizeof(T_) == 8, Shape);
    static constexpr int K = STENCIL_BOX_CELLS, RY = shape.rows, RZ = shape.planes, radius = P::radius,
                         lanes = STENCIL_BOX_LANES, groups = 32 / lanes, warps = shape.warps;
    static constexpr bool star = P::rule == STENCIL_STAR, general = General, twin = shape.twin;
    static constexpr int pad = (radius + K - 1) / K, stretch = lanes + 2 * pad,
                         row_cells = stencil_box_row(radius, sizeof(T_) == 8);

    /* A step leaves its cells where neighbours read them. */
    static constexpr bool publishes = twin && !General;

    T c[RZ][RY][K];

    __device__ __forceinline__ static volatile box_place &place() {
        extern __shared__ __align__(128) char shared[];
        return *reinterpret_cast<volatile box_place *>(shared);
    }
    __device__ __forceinline__ static char *bytes(int at) {
        extern __shared__ __align__(128) char shared[];
        return shared + at;
    }
    __device__ __forceinline__ static T *cells() {
        return reinterpret_cast<T *>(bytes(STENCIL_BOX_PLACE));
    }
    /* Returns the place of cell x of a row within the row, in shared memory. */
    __host__ __device__ static constexpr int slot(int x) {
        return (x + K * pad) % K * stretch + (x + K * pad) / K;
    }
    /* Cell (z, y, x) of the tile; ghost cells are at -radius ... -1 and behind its end. */
    __device__ __forceinline__ static int cell_at(int z, int y, int x) {
        return (z + radius) * place().memory.plane + (y + radius) * row_cells + slot(x);
    }
    using step_weights = step_weights_of<T, P::count, General>;

    /* Row and plane of the lane's first cell. */
    __device__ __forceinline__ static int lane_z() {
        return (int)(threadIdx.x / 32) / warps_y() * RZ;
    }
    __device__ __forceinline__ static int lane_y() {
        return ((int)(threadIdx.x / 32) % warps_y() * groups + (int)(threadIdx.x % 32) / lanes) * RY;
    }
    __device__ __forceinline__ static int lane_x() {
        return (int)(threadIdx.x % lanes);
    }
    __device__ __forceinline__ static int warps_y() {
        return place().length[1] / (groups * RY);
    }

    /* The points of a row that lies (Dz, Dy) beside that of the sum; at(cell of the lane): its element. */
    template <int Dz, int Dy, class At>
    __device__ __forceinline__ static void add(T (&sum)[K], const T (&row)[K + 2 * radius],
                                               const step_weights &weights, At at) {
        for_constants<-radius, radius + 1>([&](auto dx) {
            constexpr int X = decltype(dx)::value;
            if constexpr (P::has(Dz, Dy, X)) {
                constexpr int k = P::number(Dz, Dy, X);
                const auto weight = weights.point(k);
                unrolled<K>([&](int v) {
                    sum[v] = term(
                        k, weight, [&] { return at(v); }, row[radius + v + X], sum[v]);
                });
            }
        });
    }
    int first, plane; /* the lane's first cell in shared memory, and from plane to plane */
    int other;        /* to the second buffer, where there is one */

    /* Finds the lane's places once: to ask shared memory, and to divide, would take a tenth of a step. */
    __device__ __forceinline__ void find_lane() {
        plane = place().memory.plane, other = place().memory.twin;
        first = (lane_z() + radius) * plane + (lane_y() + radius) * row_cells + lane_x();
    }
    /* Returns how far along x a lane's rows read the row (m, n) of the lane; -1: not at all. */
    __host__ __device__ static constexpr int reach_of(int m, int n) {
        int reach = -1;
        for (int dz = -radius; dz <= radius; dz++)
            for (int dy = -radius; dy <= radius; dy++)
                if (m - dz >= 0 && m - dz < RZ && n - dy >= 0 && n - dy < RY && P::row_reach(dz, dy) > reach)
                    reach = P::row_reach(dz, dy);
        return reach;
    }
    /* Row (M, N) of the lane, or one around its own, and its neighbours; `from`: where row (M, 0) lies. */
    template <int M, int N>
    __device__ __forceinline__ void old_row(T (&row)[K + 2 * radius], const T *from) const {
        constexpr bool own = M >= 0 && M < RZ && N >= 0 && N < RY;
        constexpr int reach = reach_of(M, N);
#pragma unroll
        for (int x = -reach; x < K + reach; x++)
            if constexpr (own)
                row[radius + x] = x >= 0 && x < K ? c[M][N][x] : from[N * row_cells + slot(x)];
            else
                row[radius + x] = from[N * row_cells + slot(x)];
    }

    /* The cells of even and of odd exchanges, in buffers of their own where there are two. */
    __device__ __forceinline__ T *cells_of(uint32_t exchange) const {
        return cells() + (twin && exchange % 2 != 0 ? other : 0);
    }
    /* Row 0 of the lane in its plane `z`. */
    __device__ __forceinline__ T *row_at(uint32_t exchange, int z) const {
        return cells_of(exchange) + first + z * plane;
    }
    /* Rows around those of the lane, in a plane. */
    struct rows {
        T at[RY + 2 * radius][K + 2 * radius];
    };
    template <int M> __device__ __forceinline__ void old_plane(rows &r, const T *from) const {
        for_constants<-radius, RY + radius>([&](auto n) {
            constexpr int N = decltype(n)::value;
            if constexpr (reach_of(M, N) >= 0)
                old_row<M, N>(r.at[N + radius], from);
        });
    }
    /* Adds a plane of old cells to the sums. at(plane, row, cell of the lane): its element. */
    template <int M, class At>
    __device__ __forceinline__ static void add_plane(T (&sum)[RZ][RY][K], const rows &r,
                                                     const step_weights &weights, At at) {
        for_constants<-radius, RY + radius>([&](auto n) {
            constexpr int N = decltype(n)::value;
            if constexpr (reach_of(M, N) >= 0)
                for_constants<-radius, radius + 1>([&](auto dz) {
                    for_constants<-radius, radius + 1>([&](auto dy) {
                        constexpr int Z = M - decltype(dz)::value, Y = N - decltype(dy)::value;
                        if constexpr (Z >= 0 && Z < RZ && Y >= 0 && Y < RY)
                            add<decltype(dz)::value, decltype(dy)::value>(
                                sum[Z][Y], r.at[N + radius], weights, [&](int v) { return at(Z, Y, v); });
                    });
                });
        });
    }

    /* Makes a step: from the old cells, those of an exchange, in shared memory and in c, to the new ones in
     * c, and in the other buffer where there are two. Of stars the next plane is read before the last one
     * that is done is stored, or it would have to wait for that. */
    template <class At>
    __device__ __forceinline__ void step(const step_weights &weights, uint32_t exchange, At at) {
        const T *from = row_at(exchange, -radius);
        T *to = row_at(exchange + 1, 0);
        T sum[RZ][RY][K];
        rows now, next;
        old_plane<-radius>(now, from);
        for_constants<-radius, RZ + radius>([&](auto m) {
            constexpr int M = decltype(m)::value;
            from += plane;
            if constexpr (star && M + 1 < RZ + radius)
                old_plane<M + 1>(next, from);
            add_plane<M>(sum, now, weights, at);
            if constexpr (!star && M + 1 < RZ + radius) {
                __syncwarp(); /* or loads are moved up until registers run out */
                old_plane<M + 1>(next, from);
            }
            if constexpr (M >= radius) {
#pragma unroll
                for (int y = 0; y < RY; y++)
#pragma unroll
                    for (int v = 0; v < K; v++) {
                        c[M - radius][y][v] = sum[M - radius][y][v];
                        if (publishes)
                            to[y * row_cells + slot(v)] = sum[M - radius][y][v];
                    }
                to += plane;
            }
            now = next;
        });
    }
    /* f(cell of the lane, its place in shared memory) of all. */
    template <class F> __device__ __forceinline__ void each_own(uint32_t exchange, F f) {
        T *at = row_at(exchange, 0);
#pragma unroll
        for (int z = 0; z < RZ; z++, at += plane)
            unrolled<RY, K>([&](int y, int v) { f(c[z][y][v], at[y * row_cells + slot(v)]); });
    }
    /* To where neighbours read them, and from there. */
    __device__ __forceinline__ void publish(uint32_t exchange) {
        each_own(exchange, [](const T &own, T &shared) { shared = own; });
    }
    __device__ __forceinline__ void fetch(uint32_t exchange) {
        each_own(exchange, [](T &own, const T &shared) { own = shared; });
    }
};

} // namespace stencil
