/* The persistent loop of the resident sweep in 3D: as in 2D (kernels/sweeps/resident_loop.cuh), but that
 * tiles exchange ghost cells behind each step. Passes are what the host counts and the marks of attribution.
 */
#pragma once

#include "kernels/ghosts.cuh"
#include "kernels/sweeps/resident3d_exchange.cuh"
#include "kernels/sweeps/resident_loop.cuh"

namespace stencil {

template <class P, class T_, bool General, int Shape> struct box_block : box_exchange<P, T_, General, Shape> {
    using base = box_exchange<P, T_, General, Shape>;
    using T = T_;
    using base::K, base::RY, base::RZ, base::radius, base::place, base::cells, base::cell_at, base::lane_z,
        base::lane_y, base::lane_x, base::tiles_of, base::twin;
    using typename base::step_weights;

    __device__ __forceinline__ static void place_axis(const stencil_kernel_args &s, int axis, int tiles) {
        const int64_t n = s.domain.n[axis], length = place().length[axis];
        const bool open = !stencil_side_is_closed(&s.domain, axis, STENCIL_LOW);
        const int tile = place().at[axis];
        place().first[axis] = (int)stencil_box_begin(n, length, open, tiles, tile);
        for (int side = 0; side < 2; side++) {
            const bool closed = !open && tile == (side == 0 ? 0 : tiles - 1);
            place().closed[axis][side] = closed;
            place().mirrored[axis][side] = closed && s.domain.mirror[axis][side];
            place().shift[axis][side] =
                closed ? 0 : (int)stencil_box_shift(n, length, open, tiles, tile, side == 0 ? -1 : 1);
        }
    }
    /* By one thread. Blocks without a tile only take the barriers. */
    __device__ __forceinline__ static void find_place(const stencil_kernel_args &s, bool works) {
        const stencil_resident &r = s.resident;
        place().step = s.step_first, place().left = s.step_count;
        place().steps = (int)min(s.step_count, (int64_t)s.depth);
        place().passes = 0, place().to_poll = s.poll_every;
        if (!works)
            return;
        const stencil_box_extent length = stencil_box_extent_of(base::shape, r.warps, r.warps_z);
        const stencil_box_memory m = stencil_box_memory_of(&length, radius, base::star, sizeof(T) == 8,
                                                           General ? s.depth * (P::count + 1) : 0);
        volatile int32_t *const to = reinterpret_cast<volatile int32_t *>(&place().memory);
        for (size_t i = 0; i < sizeof m / sizeof(int32_t); i++)
            to[i] = reinterpret_cast<const int32_t *>(&m)[i];
        place().exchanges = r.exchanges[blockIdx.x];
        for (int axis = 2, rest = blockIdx.x; axis >= 0; rest /= tiles_of(r, axis--)) {
            place().length[axis] = length.cells[axis];
            place().at[axis] = rest % tiles_of(r, axis);
            place_axis(s, axis, tiles_of(r, axis));
        }
        base::count_groups();
    }

    /* The cell of the field at `at` of the tile: periodic axes go round. */
    __device__ __forceinline__ static int64_t in_field(const stencil_domain &d, int axis, int at) {
        const int n = (int)d.n[axis], i = place().first[axis] + at;
        if (stencil_side_is_closed(&d, axis, STENCIL_LOW))
            return i;
        const int rest = i % n;
        return rest < 0 ? rest + n : rest;
    }
    __device__ __forceinline__ static int64_t element(const stencil_domain &d, const int (&at)[3]) {
        return in_field(d, 0, at[0]) * d.plane + in_field(d, 1, at[1]) * d.row + in_field(d, 2, at[2]);
    }
    /* f(place in shared memory, element of the field) of all cells of the tile, `beyond` of them around it.
     */
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
    /* Ghost cells that never change are in all buffers. */
    __device__ __forceinline__ void load(const stencil_kernel_args &s) {
        const T *const in = static_cast<const T *>(s.domain.u[s.step_first & 1]);
        const uint32_t exchange = place().exchanges;
        this->find_lane();
        T *const now = this->cells_of(exchange), *const next = this->cells_of(exchange + 1);
        each_cell(s.domain, radius, [&](int to, int64_t from) { now[to] = next[to] = in[from]; });
        __syncthreads();
        this->fetch(exchange);
    }
    __device__ __forceinline__ void store(const stencil_kernel_args &s, uint32_t number) const {
        T *const out = static_cast<T *>(s.domain.u[(s.step_first + place().passes) & 1]);
        const T *const in = this->cells_of(number);
        each_cell(s.domain, 0, [&](int from, int64_t to) { out[to] = in[from]; });
    }

    /* Of a lane's cells, from L2: shared memory has no room for it. */
    __device__ __forceinline__ void add_source(const stencil_domain &d, const point_weight<T> &factor) {
        const T *const b = static_cast<const T *>(d.b);
        int64_t x[K];
#pragma unroll
        for (int v = 0; v < K; v++)
            x[v] = in_field(d, 2, lane_x() * K + v);
#pragma unroll
        for (int z = 0; z < RZ; z++) {
            const T *const plane = b + in_field(d, 0, lane_z() + z) * d.plane;
#pragma unroll
            for (int y = 0; y < RY; y++) {
                const T *const row = plane + in_field(d, 1, lane_y() + y) * d.row;
#pragma unroll
                for (int v = 0; v < K; v++)
                    this->c[z][y][v] = source_term(
                        factor, [&] { return row - b + x[v]; }, row[x[v]], this->c[z][y][v]);
            }
        }
    }
    /* Step number `made` of the pass, from 0 on, up to where its cells may be published: from those of
     * exchange `number`. */
    __device__ __forceinline__ void make_step(const stencil_kernel_args &s, int made, uint32_t number) {
        step_weights weights;
        if constexpr (General) {
            T *const all = cells() + place().memory.weights;
            if (made == 0) {
                step_weights::put(all, s, place().step, 0, s.depth);
                __syncthreads();
            }
            weights = {all + made * step_weights::count};
        } else
            weights = weights_of<T>(s.domain.weights);
        this->step(weights, number, [&](int z, int y, int v) {
            const int at[3] = {lane_z() + z, lane_y() + y, lane_x() * K + v};
            return element(s.domain, at);
        });
        if (General && s.domain.b != nullptr)
            add_source(s.domain, weights.source());
        if (!twin) /* or others still read */
            __syncthreads();
    }
};

/* Copies of all cells at the sides of a 3D part, in buffer `to`; by all blocks. */
template <class T> __device__ void copy_sides(const stencil_domain &d, int to) {
    constexpr int V = vector_cells<T>;
    const int64_t across = (d.n[STENCIL_X] + V - 1) / V, count = d.n[STENCIL_Z] * d.n[STENCIL_Y] * across;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count;
         i += (int64_t)gridDim.x * blockDim.x) {
        const int x = (int)(i % across) * V, y = (int)(i / across % d.n[STENCIL_Y]),
                  z = (int)(i / across / d.n[STENCIL_Y]);
        copy_rows<T>(d, to, z, y, x, 1, 1);
    }
}

/* Behind a step, the pass of which is now `made` steps long: tiles exchange ghost cells; whoever has to wait
 * for all blocks does, as in 2D, but under another barrier than that of neighbours behind each step. Whether
 * there is another step. */
template <class Block>
__device__ __forceinline__ bool end_step_of(const stencil_kernel_args &s, Block &block, bool works, int &made,
                                            uint32_t &number) {
    volatile box_place &place = Block::place();
    made++, number++;
    const stencil_pass pass = {place.step, place.steps, 0};
    const int64_t step = pass.first + made;
    const bool ends = made == pass.steps, last = ends && place.left == made,
               poll = ends && place.to_poll <= made;
    if (poll && is_leader())
        relay_interrupt(s, step);
    if (ends)
        note_pass(s, pass, STENCIL_MARK_SWEPT);
    const bool meets = last || poll || s.sync != STENCIL_BARRIER_neighbor;
    if (!meets && (s.fault.delay_ns != 0 || s.fault.absent_step != 0))
        inject_fault(s, step, 1);
    if (works && !Block::publishes)
        block.publish(number);
    __syncthreads();
    if (works && !last)
        Block::send(s.resident.words, number);
    if (meets && !s.trace.without_barrier)
        meet_all(s, {step - 1, 1, 0}, true);
    if (ends)
        __syncthreads();
    const bool leaves =
        last || (poll && (alarmed(s) || poll_host(s, step, STENCIL_REASON_NONE) != STENCIL_REASON_NONE));
    if (ends && threadIdx.x == 0) { /* while what others send is on its way */
        const int64_t left = place.left - made;
        place.exchanges = number - last;
        place.passes = place.passes + 1;
        place.to_poll = poll ? s.poll_every : place.to_poll - made;
        place.step = step, place.left = left;
        place.steps = (int)min(left, (int64_t)s.depth);
    }
    if (works && !leaves)
        Block::receive(s.barrier, s.resident.words, number, step,
                       s.sync == STENCIL_BARRIER_neighbor && !s.trace.without_barrier && !s.fault.unordered);
    if (ends) {
        note_pass(s, pass, STENCIL_MARK_LEFT);
        note_pass(s, pass, STENCIL_MARK_END);
        made = 0;
    }
    return !leaves;
}

/* Up to so many steps behind step_first; the host is told as in 2D how far the loop has come. */
template <class Block>
__global__ void __launch_bounds__(32 * Block::warps, 1)
    box_loop(const __grid_constant__ stencil_kernel_args s) {
    Block block;
    const bool works = blockIdx.x < stencil_resident_tiles(&s.resident);
    if (threadIdx.x == 0)
        Block::find_place(s, works);
    __syncthreads();
    uint32_t number = 0; /* of the exchange whose cells the tile has */
    if (works) {
        number = Block::place().exchanges;
        Block::make_lists(s.resident);
        block.load(s);
    }
    int made = 0; /* steps of the pass */
    do {
        __syncthreads();
        if (made == 0)
            note_pass(s, {Block::place().step, Block::place().steps, 0}, STENCIL_MARK_BEGIN);
        if (works && !s.trace.without_compute)
            block.make_step(s, made, number);
    } while (end_step_of(s, block, works, made, number));
    if (alarmed(s))
        return;
    if (works)
        block.store(s, number);
    if (works && threadIdx.x == 0)
        s.resident.exchanges[blockIdx.x] = Block::place().exchanges;
    if (is_leader())
        s.mailbox->step = Block::place().step;
    if (stencil_has_copies(&s.domain)) {
        meet_all(s, {Block::place().step, 0, 0}, false);
        copy_sides<typename Block::T>(s.domain, (int)((s.step_first + Block::place().passes) & 1));
    }
}

} // namespace stencil
