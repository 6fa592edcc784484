/* What a block of the resident sweep does with its tile in 2D: load, store, steps and exchanges, which the
 * persistent loop (kernels/sweeps/resident_loop.cuh) calls. */
#pragma once

#include "kernels/sweeps/resident_rows.cuh"

namespace stencil {

template <class P, class T_, bool General, int Shape, bool Classed>
struct resident_block : resident_rows<P, T_, General, Shape, Classed> {
    using base = resident_rows<P, T_, General, Shape, Classed>;
    using T = T_;
    using base::K, base::R, base::radius, base::width, base::place, base::cells, base::lane, base::warp,
        base::stage_row, base::find_ways, base::edge_of, base::in_field, base::elements, base::weights_after;
    using typename base::ways, typename base::step_weights;
    static constexpr bool each_step = false;
    int buffer = 0; /* buffer of outer rows that the next step reads */

    __device__ __forceinline__ static int count_steps(int all) {
        return all;
    }
    __device__ __forceinline__ static uint32_t next_exchange() {
        return place().exchanges + 1;
    }
    __device__ __forceinline__ void enter(const stencil_kernel_args &s) {
        if (threadIdx.x % 32 == 0)
            base::find_rows_beside();
        base::find_sources(s.resident);
        base::find_places();
        load_weights(s, s.step_first);
        load(s);
        if constexpr (base::has_rows)
            base::put_table(s);
    }
    __device__ __forceinline__ static void end_step() {}
    __device__ __forceinline__ void send(const stencil_resident &r, uint32_t number) {
        base::send(r, number, buffer);
    }
    __device__ __forceinline__ void receive(const stencil_kernel_args &s, uint32_t number, int64_t step,
                                            bool polled) {
        base::receive(s, number, step, polled, buffer);
    }

    /* Finds where the block's tile is along an axis (0: y, 1: x), and which rows or columns adjacent tiles
     * read. */
    __device__ __forceinline__ static void place_axis(const stencil_kernel_args &s, int axis, int tile) {
        const stencil_domain &d = s.domain;
        const int of = STENCIL_Y + axis, length = axis == 0 ? place().rows + 2 * radius : width,
                  reach = place().reach;
        const bool ends[2] = {stencil_side_is_closed(&d, of, STENCIL_LOW),
                              stencil_side_is_closed(&d, of, STENCIL_HIGH)},
                   cut = axis == 0 && (s.resident.beyond[0] != nullptr || s.resident.beyond[1] != nullptr);
        stencil_resident_axis a = stencil_resident_axis_of(d.n[of], length, radius, reach, ends, cut);
        a.tiles = s.resident.tiles[axis];
        place().first[axis] = (int)stencil_resident_begin(&a, tile);
        place().round[axis] = a.round;
        for (int side = 0; side < 2; side++) {
            const bool closed = ends[side] && tile == (side == 0 ? 0 : a.tiles - 1);
            const int shift = closed ? -length : (int)stencil_resident_shift(&a, tile, side == 0 ? -1 : 1);
            place().closed[axis][side] = closed;
            place().mirrored[axis][side] = closed && d.mirror[of][side];
            place().wanted[axis][side] = closed ? -2 * length : side == 0 ? shift + length - reach : shift;
        }
    }
    /* Fills the tile's data, place(); called by one thread. */
    __device__ __forceinline__ static void find_place(const stencil_kernel_args &s) {
        const int warps = blockDim.x / 32;
        const stencil_resident_memory m = stencil_resident_memory_of(
            base::shape, radius, sizeof(T) == 8, warps, stencil_resident_reach(radius, s.depth),
            weight_sets(s) * (P::count + 1), General && s.domain.b != nullptr,
            base::has_rows && s.classes.palette != nullptr
                ? (s.class_passes.palette_count + 1) * base::of_class
                : 0);
        const int kept = Classed ? stencil_resident_kept_bytes(base::shape, warps, General) : 0;
        volatile stencil_resident_memory &to = place().memory;
        to.edge = m.edge, to.mixed = m.mixed, to.stage = m.stage;
        to.weights = m.weights, to.source = m.source, to.rows = m.rows, to.table = m.table;
        to.classes = m.classes;
        to.ghosts = m.ghosts, to.bytes = m.bytes + kept;
        place().rows = warps * R, place().reach = stencil_resident_reach(radius, s.depth);
        place().shares = max(1, (int)blockDim.x / place().rows);
        place().row_share = (1 << STENCIL_SHARE_BITS) / place().rows + 1;
        place().tile = blockIdx.x;
        place().y = blockIdx.x / s.resident.tiles[1], place().x = blockIdx.x % s.resident.tiles[1];
        place().exchanges = s.resident.exchanges[blockIdx.x];
        place_axis(s, 0, place().y);
        place_axis(s, 1, place().x);
        base::find_readers(s.resident);
        base::find_beside(s.resident);
    }

    /* Finds the columns of the part in which the lane's cells lie. */
    __device__ __forceinline__ static void find_columns(const stencil_domain &d, int (&column)[K]) {
        const int first = lane() * K;
#pragma unroll
        for (int v = 0; v < K; v++)
            column[v] = (int)in_field(d, 1, first + v);
    }
    /* Loads the lane's cells of row `at` of the tile from an array of the field. */
    __device__ __forceinline__ static void load_row(const stencil_domain &d, const void *array, int at,
                                                    const int (&column)[K], T *to) {
        const T *const row = static_cast<const T *>(array) + in_field(d, 0, at) * d.row;
#pragma unroll
        for (int v = 0; v < K; v++)
            to[v] = row[column[v]];
    }
    /* Finds the cells of the warp's rows that keep their values, and those that have weights of their own,
     * for the whole launch. */
    __device__ __forceinline__ static void find_fixed(const stencil_kernel_args &s, const int (&column)[K]) {
        const stencil_classes &c = s.classes;
        uint32_t marks = 0, varied = 0, first = 0; /* the class of the first cell with weights of its own */
        bool same = true;                          /* all of the lane's cells have it, or keep their values */
        const bool left = lane() == 0 && place().closed[1][0], right = lane() == 31 && place().closed[1][1];
#pragma unroll 1
        for (int j = 0; j < R; j++) {
            const uint8_t *const row = c.of + in_field(s.domain, 0, radius + warp() * R + j) * s.domain.row;
            uint32_t kept = 0, words[stencil_resident_words(K)] = {};
            bool own = false;
#pragma unroll
            for (int v = 0; v < K; v++) {
                const uint32_t of = __ldg(row + column[v]);
                const bool keeps =
                               of == STENCIL_CLASS_KEPT || (v < radius && left) || (v >= K - radius && right),
                           has_row = stencil_class_has_row(of) && !keeps;
                kept |= (uint32_t)(of == STENCIL_CLASS_KEPT) << v;
                words[v / 4] |= has_row ? of << v % 4 * 8 : 0;
                own = own || has_row;
                first = first == 0 && has_row ? of : first;
                same = same && (keeps || (has_row && of == first));
            }
            if (base::has_rows && c.palette != nullptr)
#pragma unroll
                for (int i = 0; i < stencil_resident_words(K); i++)
                    base::class_words(j)[i * 32] = words[i];
            base::kept_at(base::first_kept() + (warp() * R + j) * 32 + lane()) = (uint8_t)kept;
            marks |= __any_sync(~0u, kept != 0) ? 1u << j : 0;
            varied |= __any_sync(~0u, own) ? 1u << j : 0;
        }
        if constexpr (base::has_rows) {
            const uint32_t only = __reduce_max_sync(~0u, first);
            if (only > 0 && __all_sync(~0u, same && (first == 0 || first == only)) &&
                !is_tested_class<P, T>(s.classes, only)) {
                varied = 0;
                if (lane() == 0)
                    base::table().rest.w += (int)only * base::first_class;
            }
        }
        if (lane() == 0) {
            base::marks_of(warp(), base::of_kept) = marks;
            if (General)
                base::marks_of(warp(), base::of_varied) = varied;
        }
        __syncwarp();
    }
    __device__ __forceinline__ static void put_row(T *to, const T *from) {
#pragma unroll
        for (int v = 0; v < K; v++)
            to[v * 32] = from[v];
    }
    __device__ __forceinline__ void load(const stencil_kernel_args &s) {
        const stencil_domain &d = s.domain;
        const void *const in = d.u[s.step_first & 1];
        const int first = warp() * R, at = lane(), rows = place().rows;
        const auto now = base::find_rows(warp(), 0, lane()), next = base::find_rows(warp(), 1, lane());
        int column[K];
        find_columns(d, column);
        if constexpr (Classed)
            find_fixed(s, column);
        T row[K];
        for_constants<0, R>([&](auto j) {
            constexpr int J = decltype(j)::value;
            load_row(d, in, radius + first + J, column, row);
#pragma unroll
            for (int v = 0; v < K; v++)
                for (int buffer = 0; buffer < (base::mixed && base::is_outer(J) ? 2 : 1); buffer++)
                    this->template cell<J>(v, buffer == 0 ? now : next) = row[v];
#pragma unroll
            for (int k = 0; k < radius; k++) {
                if (at == 0 && place().closed[1][0])
                    cells(base::fixed_of(0, first + J))[k] = row[k];
                if (at == 31 && place().closed[1][1])
                    cells(base::fixed_of(1, first + J))[k] = row[K - radius + k];
            }
        });
#pragma unroll 1
        for (int j = 0; j < radius; j++) {
            if (first == 0)
                load_row(d, in, j, column, row), put_row(cells(stage_row(0, j)), row);
            if (first + R == rows)
                load_row(d, in, radius + rows + j, column, row),
                    put_row(cells(stage_row(1, place().reach - radius + j)), row);
        }
#pragma unroll 1
        for (int j = 0; General && d.b != nullptr && j < R; j++)
            load_row(d, d.b, radius + first + j, column, row),
                put_row(cells(place().memory.source + (first + j) * width + at), row);
        publish(0);
    }
    /* Returns where the warp turns a row around, so that lanes store adjacent cells: in free ghost rows of
     * the stage; 0: they have no space for this warp. */
    static constexpr int turned = 32 + (32 + K - 1) / K; /* distance from the lanes' cells v to cells v + 1 */
    __device__ __forceinline__ static int find_turn() {
        int first;
        const int free = stencil_resident_free_rows(radius, place().reach, &first) * width;
        return __shfl_sync(
            ~0u, (warp() + 1) * K * turned > free ? 0 : stage_row(0, first) + warp() * K * turned, 0);
    }
    /* Stores the tile's cells that are valid, all but ghost and boundary cells, in buffer d.u[to]. Rows are
     * few instructions, since what is executed rarely has to be fetched. */
    __device__ __forceinline__ void store(const stencil_domain &d, int to) {
        const int turn = find_turn(), first = warp() * R + radius, reach = place().reach,
                  high = place().rows + 2 * radius, top = place().closed[0][0] ? radius : reach,
                  bottom = high - (place().closed[0][1] ? radius : reach),
                  left = place().closed[1][0] ? radius : reach,
                  right = width - (place().closed[1][1] ? radius : reach);
        const auto rows = base::find_rows(warp(), buffer, lane());
        T *out = static_cast<T *>(d.u[to]) + in_field(d, 0, first) * d.row;
        /* Rows of a periodic field that is not cut go on at its begin, in a small one several times. */
        int before_end = place().round[0] ? (int)(d.n[STENCIL_Y] - in_field(d, 0, first)) : R + 1;
        int column[K], from[K];
#pragma unroll
        for (int v = 0; v < K; v++) {
            const int at = turn != 0 ? v * 32 + lane() : lane() * K + v;
            column[v] = at >= left && at < right ? (int)in_field(d, 1, at) : -1;
            from[v] = turn + at % K * turned + at / K;
        }
        for_constants<0, R>([&](auto j) {
            constexpr int J = decltype(j)::value;
            const bool valid = first + J >= top && first + J < bottom;
            T cell[K];
#pragma unroll
            for (int v = 0; v < K; v++)
                cell[v] = this->template cell<J>(v, rows);
            if (turn != 0) {
#pragma unroll
                for (int v = 0; v < K; v++)
                    cells(turn)[v * turned + (int)(threadIdx.x & 31)] = cell[v];
                __syncwarp();
#pragma unroll
                for (int v = 0; v < K; v++)
                    cell[v] = *cells(from[v]);
                __syncwarp();
            }
#pragma unroll
            for (int v = 0; v < K; v++)
                store_if<1>(valid && column[v] >= 0, out + column[v], cell + v);
            before_end--;
            out += before_end == 0 ? d.row * (1 - d.n[STENCIL_Y]) : d.row;
            before_end = before_end == 0 ? (int)d.n[STENCIL_Y] : before_end;
        });
    }

    __device__ __forceinline__ static int weight_sets(const stencil_kernel_args &s) {
        return General ? s.depth : 1;
    }
    /* Loads the weights of each step of the pass after `step` steps. Weights that all steps share are kernel
     * parameters, which an fma reads directly. */
    __device__ __forceinline__ static void load_weights(const stencil_kernel_args &s, int64_t step) {
        if constexpr (General)
            step_weights::put(cells(place().memory.weights), s, step, 0, s.depth);
    }
    /* Prepares the pass after `step` steps, while words of other tiles arrive. */
    __device__ __forceinline__ static void prepare(const stencil_kernel_args &s, int64_t step) {
        if (General && weights_change(s))
            load_weights(s, step);
    }
    /* Makes the next steps of a pass: all of them, or those up to a checked step, or those after it. If
     * registers are few, row offsets are loaded again for each step. The number of steps comes from a
     * shuffle, and whether another pass follows from a vote: when ptxas sees that a warp does not diverge it
     * keeps weights in uniform registers, and an fma reads two registers instead of three. Whether there is a
     * source term is asked once, not in each row, as ptxas moves no load across a branch. */
    __device__ __forceinline__ void make_steps(const stencil_kernel_args &s) {
        if constexpr (!General)
            loop_steps(s, std::false_type());
        else if constexpr (Classed) /* rows have branches as it is */
            loop_steps(s, s.domain.b != nullptr);
        else if (s.domain.b != nullptr)
            loop_steps(s, std::true_type());
        else
            loop_steps(s, std::false_type());
    }
    template <class Source>
    __device__ __forceinline__ void loop_steps(const stencil_kernel_args &s, Source has_source) {
        constexpr bool known = !std::is_same_v<Source, bool>;
        bool source;
        if constexpr (known)
            source = Source::value;
        else
            source = has_source;
        const int steps = __shfl_sync(~0u, place().check.count, 0);
        const auto element = elements(s.domain);
        step_weights weights = weights_after(s, place().check.made);
        const int to_next = base::only_class() > 0 ? 0 : P::count + 1;
        const ways even = find_ways(source, 0), odd = find_ways(source, 1);
        typename base::unseen unseen;
        const bool in_rows = base::in_rows();
        if constexpr (base::has_rows)
            if (in_rows)
                this->put_rows();
#pragma unroll 1
        for (int l = 0; l < steps; l++) {
            if (l > 0)
                __syncthreads();
            ways w = buffer ? odd : even;
            if (base::full)
                w = find_ways(source, buffer);
            if (known && source && w.source < 0)
                __builtin_unreachable();
            w.weights = weights;
            bool made = false;
            if constexpr (base::has_rows)
                if (in_rows)
                    base::template step_of_rows<false>(w, element, {}), made = true;
            if (!made) {
                this->step(w, element, unseen);
                if constexpr (!base::mixed)
                    base::publish(w.next);
            }
            buffer ^= 1;
            if constexpr (General)
                weights.at += to_next;
        }
        if constexpr (base::has_rows)
            if (in_rows)
                this->get_rows();
    }
    __device__ __forceinline__ void make_checked_rows(const stencil_kernel_args &s) {
        typename base::summing sums;
        base::begin_sums(s, place().check.at, sums);
        ways w = find_ways(s.domain.b != nullptr, buffer);
        w.weights = weights_after(s, place().check.made);
        this->put_rows();
        base::template step_of_rows<true>(w, elements(s.domain), sums);
        this->get_rows();
    }
    /* Makes the checked step of a pass, sums its residual and keeps its cells. */
    __device__ __forceinline__ void make_checked_step(const stencil_kernel_args &s) {
        bool made = false;
        if constexpr (base::has_rows)
            if (base::in_rows())
                make_checked_rows(s), made = true;
        if (!made)
            this->step_and_sum(s, buffer);
        buffer ^= 1;
        publish(buffer);
    }
    /* Gives the tile the cells of the last checked step. */
    __device__ __forceinline__ void restore_checked(const stencil_kernel_args &s) {
        this->template restore<true>(s, buffer);
    }
    /* Prepares the steps of a pass, after the exchange that ended the pass before. */
    __device__ __forceinline__ void begin_steps(const stencil_kernel_args &s) {
        this->take();
        publish(buffer);
    }
    /* Loads of a lane that a check has under way at once: registers left beside the tile's cells. */
    static constexpr int sums_at_once = base::full ? 2 : 4;
    __device__ __forceinline__ static uint32_t make_check(const stencil_kernel_args &s,
                                                          volatile check_place &check, bool all) {
        return stencil::make_check<sums_at_once>(s, check, all);
    }
    /* Copies the warp's outer rows to shared memory, where other warps read them. */
    __device__ __forceinline__ void publish(int buffer) {
        if constexpr (!base::mixed)
            base::publish(edge_of(warp(), 0) + (buffer ? base::buffer_cells() : 0));
    }
};

} // namespace stencil
