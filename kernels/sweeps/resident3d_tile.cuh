/* The tile that a block of the resident sweep keeps of a 3D field, and how it makes a step. All cells are in
 * shared memory, with ghost and boundary cells around them; each lane also has its cells in registers, so
 * that it reads only neighbours from shared memory. In a row, even cells are contiguous, and so are odd ones,
 * so that adjacent lanes read adjacent cells. A step goes through the lane's rows, plane after plane: each
 * old row is added to the sums of all rows that read it, so that each sum takes its points in order. When all
 * warps have read, all write. */
#pragma once

#include "kernels/sweeps/resident3d.h"
#include "kernels/sweeps/resident_layout.cuh"

namespace stencil {

/* A tile's data that only exchanges of ghost cells use. They are in shared memory, to leave the registers to
 * cells. */
struct box_place {
    stencil_box_memory memory;
    int32_t length[3];                   /* cells of a tile along z, y, x */
    int32_t at[3];                       /* the tile's indices in the grid of tiles */
    int32_t first[3];                    /* cell of the field at the tile's first cell */
    int32_t shift[3][2];                 /* [axis][side]: distance to the begin of the adjacent tile */
    int8_t closed[3][2], mirrored[3][2]; /* [axis][side]: whether the field ends at the tile's side; whether
                                            it is mirrored there */
    int64_t step, left;                  /* steps made; steps left in the launch */
    int32_t steps, to_poll;              /* steps of this pass; steps until the host is polled */
    int32_t groups, corners; /* groups of cells that are exchanged; ghost cells at edges and corners */
    uint32_t exchanges;
    check_place check;
    int32_t classes; /* where bits of cells that have classes begin, in bytes */
};
static_assert(sizeof(box_place) <= STENCIL_BOX_PLACE, "");

template <class P, class T_, bool General, int Shape, bool Classed> struct box_tile {
    using T = T_;
    static constexpr stencil_box_shape shape = stencil_box_shape_of(P::radius, sizeof(T_) == 8, Shape);
    static constexpr int K = STENCIL_BOX_CELLS, RY = shape.rows, RZ = shape.planes, radius = P::radius,
                         lanes = STENCIL_BOX_LANES, groups = 32 / lanes, warps = shape.warps;
    static constexpr bool star = P::rule == STENCIL_STAR, general = General, twin = shape.twin;
    static constexpr int pad = (radius + K - 1) / K, stretch = lanes + 2 * pad,
                         row_cells = stencil_box_row(radius, sizeof(T_) == 8);

    /* Tells whether a step also stores its cells in shared memory, where neighbours read them. */
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
    /* Returns the offset of cell x within its row in shared memory. */
    __host__ __device__ static constexpr int slot(int x) {
        return (x + K * pad) % K * stretch + (x + K * pad) / K;
    }
    /* Returns the offset of cell (z, y, x) of the tile in shared memory; ghost cells have indices below 0 or
     * past the last cell. */
    __device__ __forceinline__ static int cell_at(int z, int y, int x) {
        return (z + radius) * place().memory.plane + (y + radius) * row_cells + slot(x);
    }
    using step_weights = step_weights_of<T, P::count, General>;

    /* Plane and row of the lane's first cell, and the lane's number along x. */
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

    /* Adds the points of a row that is (Dz, Dy) away from the row of `sum`. at(cell of the lane) returns an
     * element index. */
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
    /* The bytes of each plane of a thread's cells, and the bits for each plane of a warp: of cells that keep
     * their values; in general kernels cells that have weights of their own, and the class of the first one
     * or, of a warp, whether a lane has several; whether one has a weight of 0 or a constant. */
    enum kind { kept_cells, own_cells, own_class, own_tested };
    /* Returns the thread's byte of plane z; of cells, row y has bits K y and on. */
    template <kind Kind = kept_cells> __device__ __forceinline__ static uint8_t &bits_of(int z) {
        return *reinterpret_cast<uint8_t *>(bytes(place().classes) + (Kind * RZ + z) * blockDim.x +
                                            threadIdx.x);
    }
    /* Returns the bits of the warp's planes. */
    template <kind Kind = kept_cells> __device__ __forceinline__ static uint32_t &planes_of() {
        return reinterpret_cast<uint32_t *>(bytes(place().classes) + (General ? 3 : 1) * RZ * blockDim.x +
                                            threadIdx.x / 32 * (STENCIL_BOX_MARKS * 4))[Kind];
    }
    int first, plane; /* offset of the lane's first cell in shared memory; distance from plane to plane */
    int other;        /* distance to the second buffer of cells, if there is one */

    /* Computes the lane's offsets in shared memory, once: loads and divisions in each step would take a tenth
     * of its time. */
    __device__ __forceinline__ void find_lane() {
        plane = place().memory.plane, other = place().memory.twin;
        first = (lane_z() + radius) * plane + (lane_y() + radius) * row_cells + lane_x();
    }
    /* Returns how many columns to each side a lane's rows read in plane m, row n, counted from the lane's
     * first row; -1: none reads that row. */
    __host__ __device__ static constexpr int reach_of(int m, int n) {
        int reach = -1;
        for (int dz = -radius; dz <= radius; dz++)
            for (int dy = -radius; dy <= radius; dy++)
                if (m - dz >= 0 && m - dz < RZ && n - dy >= 0 && n - dy < RY && P::row_reach(dz, dy) > reach)
                    reach = P::row_reach(dz, dy);
        return reach;
    }
    /* Loads old row (M, N), counted from the lane's first row, with its neighbours along x; `from`: address
     * of row (M, 0). */
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

    /* Returns the buffer of cells of an exchange: even and odd ones have separate buffers if there are two.
     */
    __device__ __forceinline__ T *cells_of(uint32_t exchange) const {
        return cells() + (twin && exchange % 2 != 0 ? other : 0);
    }
    /* Returns the address of row 0 of the lane in plane `z` of the lane. */
    __device__ __forceinline__ T *row_at(uint32_t exchange, int z) const {
        return cells_of(exchange) + first + z * plane;
    }
    /* Old rows of a plane that the lane reads, with their neighbours along x. */
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
    /* Adds a plane of old cells to the sums. at(plane, row, cell of the lane) returns an element index. */
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
                            add<M - Z, N - Y>(sum[Z][Y], r.at[N + radius], weights,
                                              [&](int v) { return at(Z, Y, v); });
                    });
                });
        });
    }

    /* Makes a step from the old cells of an exchange, in shared memory and in c, to the new cells in c, and
     * in the second buffer if there is one. Stars load the next plane before the last finished one is stored,
     * so that the load need not wait. */
    template <class At>
    __device__ __forceinline__ void step(const step_weights &weights, uint32_t exchange, At at) {
        const T *from = row_at(exchange, -radius);
        T *to = row_at(exchange + 1, 0);
        T sum[RZ][RY][K];
        rows now, next;
        uint32_t planes = 0; /* planes of the warp with cells that keep their values */
        if constexpr (Classed && !General)
            planes = __shfl_sync(~0u, planes_of(), 0);
        old_plane<-radius>(now, from);
        for_constants<-radius, RZ + radius>([&](auto m) {
            constexpr int M = decltype(m)::value;
            from += plane;
            if constexpr (star && M + 1 < RZ + radius)
                old_plane<M + 1>(next, from);
            add_plane<M>(sum, now, weights, at);
            if constexpr (!star && M + 1 < RZ + radius) {
                __syncwarp(); /* keeps the compiler from moving loads up until registers run out */
                old_plane<M + 1>(next, from);
            }
            if constexpr (M >= radius) {
                if (Classed && !General && (planes >> (M - radius) & 1) != 0) {
                    const uint32_t kept = bits_of(M - radius);
                    unrolled<RY, K>([&](int y, int v) {
                        T &made = sum[M - radius][y][v];
                        made = kept >> (y * K + v) & 1 ? c[M - radius][y][v] : made;
                    });
                }
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
    /* Calls f(cell of the lane, the same cell in shared memory) for all cells of the lane. */
    template <class F> __device__ __forceinline__ void each_own(uint32_t exchange, F f) {
        T *at = row_at(exchange, 0);
#pragma unroll
        for (int z = 0; z < RZ; z++, at += plane)
            unrolled<RY, K>([&](int y, int v) { f(c[z][y][v], at[y * row_cells + slot(v)]); });
    }
    /* Copies the lane's cells to shared memory (publish), and from there (fetch). */
    __device__ __forceinline__ void publish(uint32_t exchange) {
        each_own(exchange, [](const T &own, T &shared) { shared = own; });
    }
    __device__ __forceinline__ void fetch(uint32_t exchange) {
        each_own(exchange, [](T &own, const T &shared) { own = shared; });
    }
};

} // namespace stencil
