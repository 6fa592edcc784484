/* The persistent loop of the resident sweep in 3D: as in 2D (kernels/sweeps/resident_loop.cuh), but tiles
 * exchange ghost cells after each step, and wait for the verdict of a checked step before the next one.
 * Passes only determine when the host counts steps and attribution records timestamps. */
#pragma once

#include "kernels/sweeps/resident3d_sums.cuh"
#include "kernels/sweeps/resident_block.cuh"
#include "kernels/sweeps/resident_loop.cuh"

namespace stencil {

template <class P, class T_, bool General, int Shape, bool Classed>
struct box_block : box_sums<P, T_, General, Shape, Classed> {
    using base = box_sums<P, T_, General, Shape, Classed>;
    using T = T_;
    using base::K, base::RY, base::RZ, base::radius, base::place, base::cells, base::cell_at, base::lane_z,
        base::lane_y, base::lane_x, base::tiles_of, base::twin, base::in_field;
    using typename base::step_weights;
    static constexpr bool each_step = true;
    int made = 0;        /* number of steps of the current pass that are made */
    uint32_t number = 0; /* number of the exchange whose cells the tile has */

    __device__ __forceinline__ bool begins() const {
        return made == 0;
    }
    __device__ __forceinline__ int count_steps(int) {
        return ++made;
    }
    __device__ __forceinline__ void begin_pass(bool begins) {
        made = begins ? 0 : made;
    }
    __device__ __forceinline__ uint32_t next_exchange() {
        return ++number;
    }
    __device__ __forceinline__ void enter(const stencil_kernel_args &s) {
        number = place().exchanges;
        base::make_lists(s.resident);
        load(s);
        if constexpr (Classed)
            find_classes(s);
    }
    /* Gives all cells in registers new values: those in shared memory, or 0 in a block without a tile. */
    __device__ __forceinline__ void fetch_again(bool works) {
        if (works) {
            this->find_lane();
            this->fetch(number);
        } else {
            this->first = this->plane = this->other = 0;
            unrolled<RZ, RY, K>([&](int z, int y, int v) { this->c[z][y][v] = T(0); });
        }
    }
    __device__ __forceinline__ void end_step() {
        if (!base::publishes)
            this->publish(number);
    }
    __device__ __forceinline__ static void send(const stencil_resident &r, uint32_t number) {
        base::send(r.words, number);
    }
    __device__ __forceinline__ static void receive(const stencil_kernel_args &s, uint32_t number,
                                                   int64_t step, bool polled) {
        base::receive(s.barrier, s.resident.words, number, step, polled);
    }
    __device__ __forceinline__ static void begin_steps(const stencil_kernel_args &) {}
    __device__ __forceinline__ static void prepare(const stencil_kernel_args &, int64_t) {}
    __device__ __forceinline__ static uint32_t make_check(const stencil_kernel_args &s,
                                                          volatile check_place &check, bool) {
        return stencil::make_check<0>(s, check, true);
    }

    __device__ __forceinline__ static void place_axis(const stencil_kernel_args &s, int axis, int tiles) {
        const bool open = !stencil_side_is_closed(&s.domain, axis, STENCIL_LOW);
        const int tile = place().at[axis];
        const int64_t n = s.domain.n[axis];
        const stencil_resident_axis a = stencil_box_axis(n, place().length[axis], open, tiles,
                                                         axis == STENCIL_X && stencil_box_aligns(n, radius));
        place().first[axis] = (int)stencil_resident_begin(&a, tile);
        for (int side = 0; side < 2; side++) {
            const bool closed = !open && tile == (side == 0 ? 0 : tiles - 1);
            place().closed[axis][side] = closed;
            place().mirrored[axis][side] = closed && s.domain.mirror[axis][side];
            place().shift[axis][side] =
                closed ? 0 : (int)stencil_resident_shift(&a, tile, side == 0 ? -1 : 1);
        }
    }
    /* Fills the tile's data, place(); called by one thread. */
    __device__ __forceinline__ static void find_place(const stencil_kernel_args &s) {
        const stencil_resident &r = s.resident;
        const stencil_box_extent length = stencil_box_extent_of(base::shape, r.warps, r.warps_z);
        const stencil_box_memory m = stencil_box_memory_of(&length, radius, base::star, sizeof(T) == 8,
                                                           General ? s.depth * (P::count + 1) : 0);
        volatile int32_t *const to = reinterpret_cast<volatile int32_t *>(&place().memory);
        for (size_t i = 0; i < sizeof m / sizeof(int32_t); i++)
            to[i] = reinterpret_cast<const int32_t *>(&m)[i];
        if (Classed)
            place().classes = stencil_box_classes_at(&m);
        place().exchanges = r.exchanges[blockIdx.x];
        for (int axis = 2, rest = blockIdx.x; axis >= 0; rest /= tiles_of(r, axis--)) {
            place().length[axis] = length.cells[axis];
            place().at[axis] = rest % tiles_of(r, axis);
            place_axis(s, axis, tiles_of(r, axis));
        }
        base::count_groups();
    }

    __device__ __forceinline__ static int64_t element(const stencil_domain &d, const int (&at)[3]) {
        return in_field(d, 0, at[0]) * d.plane + in_field(d, 1, at[1]) * d.row + in_field(d, 2, at[2]);
    }
    /* Calls f(offset in shared memory, element of the field) for all cells of the tile and `beyond` cells
     * around it. */
    template <class F>
    __device__ __forceinline__ static void each_cell(const stencil_domain &d, int beyond, F f) {
        const int x = place().length[2] + 2 * beyond, y = place().length[1] + 2 * beyond,
                  count = (place().length[0] + 2 * beyond) * y * x;
#pragma unroll 1
        for (int i = threadIdx.x; i < count; i += blockDim.x) {
            const int at[3] = {i / (y * x) - beyond, i / x % y - beyond, i % x - beyond};
            f(cell_at(at[0], at[1], at[2]), element(d, at));
        }
    }
    /* Loads the tile's cells, with boundary cells, into all buffers in shared memory. */
    __device__ __forceinline__ void load(const stencil_kernel_args &s) {
        const T *const in = static_cast<const T *>(s.domain.u[s.step_first & 1]);
        const uint32_t exchange = place().exchanges;
        this->find_lane();
        T *const now = this->cells_of(exchange), *const next = this->cells_of(exchange + 1);
        each_cell(s.domain, radius, [&](int to, int64_t from) { now[to] = next[to] = in[from]; });
        __syncthreads();
        this->fetch(exchange);
    }
    /* Stores the tile's cells in buffer d.u[to]: a warp stores a row at a time, a lane one cell of it. */
    __device__ __forceinline__ void store(const stencil_domain &d, int to) const {
        static_assert(STENCIL_BOX_LANES * STENCIL_BOX_CELLS == 32, "");
        const int x = (int)threadIdx.x % 32, rows = place().length[1], all = place().length[0] * rows;
        const T *const in = this->cells_of(number) + cell_at(0, 0, x);
        T *const out = static_cast<T *>(d.u[to]) + in_field(d, 2, x);
#pragma unroll 1
        for (int row = (int)threadIdx.x / 32; row < all; row += (int)blockDim.x / 32) {
            const int z = row / rows, y = row - z * rows;
            out[in_field(d, 0, z) * d.plane + in_field(d, 1, y) * d.row] =
                in[z * place().memory.plane + y * base::row_cells];
        }
    }
    /* Finds the cells of the lane that keep their values or have weights of their own, for the whole launch.
     */
    __device__ __forceinline__ static void find_classes(const stencil_kernel_args &s) {
        uint32_t planes[STENCIL_BOX_MARKS] = {0};
#pragma unroll 1
        for (int z = 0; z < RZ; z++) {
            uint32_t kept = 0, own = 0, first = 1;
            bool several = false, tested = false;
#pragma unroll 1
            for (int i = 0; i < RY * K; i++) {
                const uint32_t of = __ldg(s.classes.of + element_of(s.domain, z, i));
                kept |= (uint32_t)(of == STENCIL_CLASS_KEPT) << i;
                if (stencil_class_has_row(of)) {
                    first = own == 0 ? of : first;
                    several = several || of != first;
                    tested = tested || is_tested_class<P, T>(s.classes, of);
                    own |= 1u << i;
                }
            }
            base::bits_of(z) = (uint8_t)kept;
            planes[base::kept_cells] |= (uint32_t)__any_sync(~0u, kept != 0) << z;
            if constexpr (General) {
                base::template bits_of<base::own_cells>(z) = (uint8_t)own;
                base::template bits_of<base::own_class>(z) = (uint8_t)first;
                planes[base::own_cells] |= (uint32_t)__any_sync(~0u, own != 0) << z;
                planes[base::own_class] |= (uint32_t)__any_sync(~0u, several) << z;
                planes[base::own_tested] |= (uint32_t)__any_sync(~0u, tested) << z;
            }
        }
        if (threadIdx.x % 32 == 0) {
            base::planes_of() = planes[base::kept_cells];
            base::template planes_of<base::own_cells>() = planes[base::own_cells];
            base::template planes_of<base::own_class>() = planes[base::own_class];
            base::template planes_of<base::own_tested>() = planes[base::own_tested];
        }
        __syncwarp();
    }
    /* Returns the element of cell i of plane z of the lane: row i / K, cell i % K. */
    __device__ __forceinline__ static int64_t element_of(const stencil_domain &d, int z, int i) {
        const int at[3] = {lane_z() + z, lane_y() + i / K, lane_x() * K + i % K};
        return element(d, at);
    }
    /* Returns the class of the lane's first cell of plane z that is left, and the bits of all that are left
     * and have it: bits | class << 8; bits 0: none is left. It is not inlined, as few planes have several
     * classes in a lane. */
    static __device__ __noinline__ uint32_t next_class(const stencil_kernel_args *s, uint32_t left, int z) {
        uint32_t of = 0, bits = 0;
#pragma unroll 1
        for (int i = 0; i < RY * K; i++)
            if (left >> i & 1) {
                const uint32_t one = __ldg(s->classes.of + element_of(s->domain, z, i));
                of = bits == 0 ? one : of;
                bits |= (uint32_t)(one == of) << i;
            }
        return bits | max(of, 1u) << 8;
    }
    /* Makes all cells of plane z of the lane with the weights of class `of`. Tested: points of weight 0 are
     * not read. */
    template <bool Tested>
    __device__ __forceinline__ void make_of_class(const stencil_kernel_args &s, uint32_t of, int z,
                                                  T (&sum)[RY][K]) const {
        const T *const row = row_of_class<T>(s.classes, of), *const from = this->row_at(number, z);
        T weight[P::count];
#pragma unroll
        for (int k = 0; k < P::count; k++)
            weight[k] = __ldg(row + k);
        unrolled<RY, K>([&](int y, int v) { sum[y][v] = 0; });
        P::each([&](int k, int dz, int dy, int dx) {
            const T *const plane = from + dz * this->plane;
            unrolled<RY, K>([&](int y, int v) {
                const T cell = plane[(y + dy) * base::row_cells + base::slot(v + dx)];
                sum[y][v] = term(
                    k, point_weight<T>{weight[k], &s.domain}, [] { return 0; },
                    Tested && weight[k] == T(0) ? T(0) : cell, sum[y][v]);
            });
        });
        const T *const b = static_cast<const T *>(s.domain.b);
        if (b != nullptr)
            unrolled<RY, K>([&](int y, int v) { sum[y][v] += b[element_of(s.domain, z, y * K + v)]; });
        const T constant = Tested ? __ldg(row + STENCIL_SOURCE_WEIGHT) : T(0);
        if (Tested)
            unrolled<RY, K>(
                [&](int y, int v) { sum[y][v] = constant == T(0) ? sum[y][v] : sum[y][v] + constant; });
    }
    /* Gives the lane's cells that have classes what these ask for, in a general kernel, while old cells are
     * in shared memory: a lane makes the cells of a plane once more for each class that some have. The loop
     * over planes is not unrolled, as the instruction cache has no room for that. */
    __device__ __forceinline__ void give_classes(const stencil_kernel_args &s) {
        const uint32_t kept = __shfl_sync(~0u, base::planes_of(), 0),
                       rows = __shfl_sync(~0u, base::template planes_of<base::own_cells>(), 0),
                       several = __shfl_sync(~0u, base::template planes_of<base::own_class>(), 0),
                       tested = __shfl_sync(~0u, base::template planes_of<base::own_tested>(), 0);
        for_constants<0, RZ>([&](auto plane) {
            constexpr int Z = decltype(plane)::value;
            if ((kept >> Z & 1) == 0)
                return;
            const uint32_t bits = base::bits_of(Z);
            const T *const from = this->row_at(number, Z);
            unrolled<RY, K>([&](int y, int v) {
                T &own = this->c[Z][y][v];
                own = bits >> (y * K + v) & 1 ? from[y * base::row_cells + base::slot(v)] : own;
            });
        });
#pragma unroll 1
        for (uint32_t planes = rows; planes != 0; planes &= planes - 1) {
            const int z = __ffs((int)planes) - 1;
            const bool many = (several >> z & 1) != 0;
            uint32_t left = base::template bits_of<base::own_cells>(z),
                     next = left | (uint32_t)base::template bits_of<base::own_class>(z) << 8;
#pragma unroll 1
            do {
                T value[RY][K];
                if (many)
                    next = next_class(&s, left, z);
                if ((tested >> z & 1) != 0)
                    make_of_class<true>(s, next >> 8, z, value);
                else
                    make_of_class<false>(s, next >> 8, z, value);
                left &= ~next;
                unrolled<RZ>([&](int plane) {
                    const uint32_t mine = plane == z ? next : 0;
                    unrolled<RY, K>([&](int y, int v) {
                        T &own = this->c[plane][y][v];
                        own = mine >> (y * K + v) & 1 ? value[y][v] : own;
                    });
                });
            } while (many && __any_sync(~0u, left != 0));
        }
    }
    /* Adds the source term to the lane's cells. It is loaded from L2, since shared memory is full. */
    __device__ __forceinline__ void add_source(const stencil_domain &d, const point_weight<T> &factor) {
        const T *const b = static_cast<const T *>(d.b);
        int64_t x[K];
        unrolled<K>([&](int v) { x[v] = in_field(d, 2, lane_x() * K + v); });
        unrolled<RZ>([&](int z) {
            const T *const plane = b + in_field(d, 0, lane_z() + z) * d.plane;
            unrolled<RY>([&](int y) {
                const T *const row = plane + in_field(d, 1, lane_y() + y) * d.row;
                unrolled<K>([&](int v) {
                    this->c[z][y][v] = source_term(
                        factor, [&] { return row - b + x[v]; }, row[x[v]], this->c[z][y][v]);
                });
            });
        });
    }
    /* Makes step `made` (from 0) of the pass, until its cells may be published. */
    __device__ __forceinline__ void make_steps(const stencil_kernel_args &s) {
        step_weights weights;
        if constexpr (General) {
            T *const all = cells() + place().memory.weights;
            if (made == 0) {
                step_weights::put(all, s, place().step, 0, s.depth);
                __syncthreads();
            }
            weights = {all + made * step_weights::count, &s.domain};
        } else
            weights = weights_of<T>(s.domain);
        this->step(weights, number, [&](int z, int y, int v) {
            const int at[3] = {lane_z() + z, lane_y() + y, lane_x() * K + v};
            return element(s.domain, at);
        });
        if (General && s.domain.b != nullptr)
            add_source(s.domain, weights.source());
        if constexpr (General && Classed)
            give_classes(s);
        if (!twin) /* waits until all threads have read old cells from the only buffer */
            __syncthreads();
    }
};

} // namespace stencil
