/* Ghost cells of the tiles of the resident sweep, every `depth` steps.
 *
 * Words that carry their number, as in kernels/ll.cuh: a tile sends the rows and columns that tiles beside it
 * want into words of its own, rows cell by cell as they are stored, columns one after the other. Corners come
 * with the rows, from the tiles that lie cornerwise, as a list made once says. There are words for even and
 * for odd exchanges; those of exchange e may be overwritten in e + 2 for the reason given there: who reads a
 * tile's words sends it words, too, and a tile that has received all of e + 1 knows that all of e have been
 * read.
 *
 * Tiles of another part are no different: the rows that only these read are stored into that part's memory,
 * across the link, and nowhere else, so that everybody polls memory of its own GPU. Number and place of a
 * tile's words follow from its column, since all parts have the same grid of tiles along x. */
#pragma once

#include "kernels/sweeps/resident_tile.cuh"

namespace stencil {

/* Words as in kernels/ll.cuh; stores are predicated, without jumps. */
__device__ __forceinline__ void store_word(bool wanted, uint64_t *word, float value, uint32_t flag) {
    const uint64_t flagged = (uint64_t)flag << 32 | __float_as_uint(value);
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %0, 0; @p st.relaxed.sys.global.b64 [%1], %2; }" ::"r"(
                     (uint32_t)wanted),
                 "l"(word), "l"(flagged)
                 : "memory");
}
__device__ __forceinline__ void store_word(bool wanted, uint64_t *word, double value, uint32_t flag) {
    const uint64_t bits = __double_as_longlong(value), high = (uint64_t)flag << 32;
    asm volatile(
        "{ .reg .pred p; setp.ne.u32 p, %0, 0; @p st.relaxed.sys.global.v2.b64 [%1], {%2, %3}; }" ::"r"(
            (uint32_t)wanted),
        "l"(word), "l"(high | (bits & 0xffffffffu)), "l"(high | bits >> 32)
        : "memory");
}
__device__ __forceinline__ bool load_word(const uint64_t *word, uint32_t flag, float *value) {
    uint64_t flagged;
    asm volatile("ld.relaxed.sys.global.b64 %0, [%1];" : "=l"(flagged) : "l"(word) : "memory");
    *value = __uint_as_float((uint32_t)flagged);
    return flagged >> 32 == flag;
}
__device__ __forceinline__ bool load_word(const uint64_t *word, uint32_t flag, double *value) {
    uint64_t low, high;
    asm volatile("ld.relaxed.sys.global.v2.b64 {%0, %1}, [%2];"
                 : "=l"(low), "=l"(high)
                 : "l"(word)
                 : "memory");
    *value = __longlong_as_double((long long)(high << 32 | (low & 0xffffffffu)));
    return low >> 32 == flag && high >> 32 == flag;
}

/* Shared memory, where `wanted`, else nothing. */
__device__ __forceinline__ uint32_t shared_address(const void *p) {
    return (uint32_t)__cvta_generic_to_shared(p);
}
__device__ __forceinline__ void store_if(bool wanted, uint32_t to, float value) {
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %0, 0; @p st.shared.f32 [%1], %2; }" ::"r"((uint32_t)wanted),
                 "r"(to), "f"(value)
                 : "memory");
}
__device__ __forceinline__ void store_if(bool wanted, uint32_t to, double value) {
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %0, 0; @p st.shared.f64 [%1], %2; }" ::"r"((uint32_t)wanted),
                 "r"(to), "d"(value)
                 : "memory");
}
__device__ __forceinline__ void load_if(bool wanted, float &value, uint32_t from) {
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; @p ld.shared.f32 %0, [%2]; }"
                 : "+f"(value)
                 : "r"((uint32_t)wanted), "r"(from)
                 : "memory");
}
__device__ __forceinline__ void load_if(bool wanted, double &value, uint32_t from) {
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; @p ld.shared.f64 %0, [%2]; }"
                 : "+d"(value)
                 : "r"((uint32_t)wanted), "r"(from)
                 : "memory");
}

template <class P, class T_, bool General, int Shape>
struct resident_exchange : resident_tile<P, T_, General, Shape> {
    using base = resident_tile<P, T_, General, Shape>;
    using T = T_;
    using base::K, base::R, base::radius, base::width, base::place, base::cells, base::list, base::lane,
        base::warp, base::warps, base::stage_row;
    using typename base::memory_rows;
    static constexpr int words = sizeof(T) / sizeof(float);

    __device__ __forceinline__ static uint64_t *word_at(uint64_t *first, uint32_t cell) {
        return first + (uint64_t)cell * words;
    }
    /* Words of a tile, in cells: rows for the tiles above and below, columns for those left and right. */
    __device__ __forceinline__ static int column_words(int side) {
        return 2 * place().reach * width + side * place().rows * place().reach;
    }
    /* Where staged column 0 would come from, of those at the left and right. */
    __device__ __forceinline__ static void find_beside(const stencil_resident &r) {
        const int more = place().rows * place().reach;
        place().own = first_word(r, 0, 0);
        place().beside[0] = first_word(r, 0, -1) + column_words(1);
        place().beside[1] = first_word(r, 0, 1) + column_words(0) - more;
    }
    __device__ __forceinline__ static int wrap(int tile, int tiles) {
        return tile < 0 ? tile + tiles : tile >= tiles ? tile - tiles : tile;
    }
    __device__ __forceinline__ static uint32_t first_word_at(const stencil_resident &r, int row, int column) {
        return (uint32_t)((row * r.tiles[1] + column) * 2 * place().memory.ghosts);
    }
    /* Of the tile that lies so many rows and columns from this one, which may be another part's. */
    __device__ __forceinline__ static uint32_t first_word(const stencil_resident &r, int y, int x) {
        const int row = place().y + y, rows = r.tiles[0], side = row == rows;
        const bool beyond = (row < 0 || row == rows) && r.beyond[side] != nullptr;
        return first_word_at(r, beyond ? stencil_resident_row_beyond(rows, side) : wrap(row, rows),
                             wrap(place().x + x, r.tiles[1]));
    }
    /* Where rows go: beyond a cut into the memory of the part that reads them, as what lies on its other
     * side. */
    __device__ __forceinline__ static void find_readers(const stencil_resident &r) {
        for (int side = 0; side < 2; side++) {
            const bool beyond = place().y == (side == 0 ? 0 : r.tiles[0] - 1) && r.beyond[side] != nullptr;
            const int row = beyond ? stencil_resident_row_beyond(r.tiles[0], !side) : place().y;
            place().rows_to[side] =
                word_at(beyond ? r.beyond[side] : r.words, first_word_at(r, row, place().x));
        }
    }
    /* Rows of the tile from the first to the last that are not ghost rows, which come whole. */
    struct kept_rows {
        int first, end;
    };
    __device__ __forceinline__ static kept_rows find_kept() {
        const int reach = place().reach, rows = place().rows + 2 * radius;
        return {place().closed[0][0] ? 0 : reach, place().closed[0][1] ? rows : rows - reach};
    }

    /* The word that a cell of the first ghost row of a side comes from; those of further rows follow row by
     * row. slot: of the cell in its row. */
    __device__ __forceinline__ static uint32_t source_of(const stencil_resident &r, int side, int slot) {
        const int reach = place().reach, column = slot % 32 * K + slot / 32;
        const int x = column < reach && !place().closed[1][0]            ? -1
                      : column >= width - reach && !place().closed[1][1] ? 1
                                                                         : 0;
        const int there = x == 0  ? column
                          : x < 0 ? column + width - reach - place().wanted[1][0]
                                  : column - place().wanted[1][1];
        return first_word(r, side == 0 ? -1 : 1, x) + (uint32_t)(side == 0 ? reach * width : 0) +
               there % K * 32 + there / K;
    }
    __device__ __forceinline__ static void find_sources(const stencil_resident &r) {
        uint32_t *const from = list();
#pragma unroll 1
        for (int i = threadIdx.x; i < 2 * width; i += blockDim.x)
            from[i] = source_of(r, i / width, i % width);
    }

    /* An exchange costs by the instructions that a warp makes, six to eight clocks each
     * (docs/performance.md). Cells in registers have to be named one by one, so they go through shared
     * memory: the stage, where ghost cells are between passes, has room for them. Ghost cell i of the tile
     * and cell i that others want, which is its word i, are of the same thread: rows of the stage by warps,
     * columns by all threads. */

    /* Where cell i is sent from, and where ghost cell i goes: in the low and high half, in cells; of outer
     * rows in their first buffer. Rows in registers have them in the stage, cell by cell. */
    __device__ __forceinline__ static uint32_t *table(const stencil_resident &r) {
        const int ghosts = place().memory.ghosts;
        const bool cut = r.beyond[0] != nullptr || r.beyond[1] != nullptr;
        const int tiles = stencil_resident_rows_of_words(r.tiles[0], cut) * r.tiles[1];
        return reinterpret_cast<uint32_t *>(word_at(r.words, (uint32_t)(2 * ghosts * tiles))) +
               (int64_t)ghosts * place().tile;
    }
    /* The cell in a row (of all warps) and column of the tile; where it is in registers, stage cell i. */
    __device__ __forceinline__ static uint32_t place_of(int row, int column, int i) {
        const int at = row / R, j = row - at * R, slot = column % K * 32 + column / K - lane();
        if (!base::is_in_memory(j))
            return place().memory.stage + i;
        return (uint32_t)(base::memory_row(j, base::find_rows(at, 0, lane())) - cells(0) + slot);
    }
    __device__ __forceinline__ static uint32_t entry_of(int i) {
        const int reach = place().reach, rows = place().rows;
        const kept_rows kept = find_kept();
        if (i < 2 * reach * width) {
            const int side = i / (reach * width), k = i / width % reach, slot = i % width,
                      column = slot % 32 * K + slot / 32, from = place().wanted[0][side] + k - radius,
                      to = side == 0 ? k - radius : kept.end + k - radius;
            if (place().closed[0][side])
                return 0; /* is not asked for */
            return place_of(from, column, i) |
                   (to < 0 || to >= rows ? place().memory.stage + i : place_of(to, column, i)) << 16;
        }
        const int j = i - 2 * reach * width, side = j / (rows * reach), k = j / rows % reach, row = j % rows;
        if (place().closed[1][side])
            return 0;
        const bool ghost = row + radius < kept.first || row + radius >= kept.end;
        return place_of(row, place().wanted[1][side] + k, i) |
               (ghost ? place().memory.stage + i : place_of(row, side == 0 ? k : width - reach + k, i)) << 16;
    }
    __device__ __forceinline__ static void find_places(const stencil_resident &r) {
#pragma unroll 1
        for (int i = threadIdx.x; base::mixed && i < place().memory.ghosts; i += blockDim.x)
            table(r)[i] = entry_of(i);
    }

    /* f(whether of rows, how many at once, first, from one to the next, end) for all cells of a thread; those
     * of rows are all there. */
    template <class F> __device__ __forceinline__ static void each_batch(F f) {
        constexpr int batch = R < 8 ? 2 : 4, once = base::full && words == 2 ? (K + 1) / 2 : K;
        const int reach = place().reach, in_rows = 2 * reach * width, in_columns = reach * place().rows,
                  begin = in_rows + (place().closed[1][0] ? in_columns : 0),
                  end = in_rows + (place().closed[1][1] ? in_columns : 2 * in_columns), step = blockDim.x;
#pragma unroll 1
        for (int row = warp(); row < 2 * reach; row += warps())
            if (!place().closed[0][row >= reach]) {
                const int first = row * width + lane();
                f(std::true_type(), std::integral_constant<int, once>(), first, 32, in_rows);
                if constexpr (once < K)
                    f(std::true_type(), std::integral_constant<int, K - once>(), first + once * 32, 32,
                      in_rows);
            }
#pragma unroll 1
        for (int i = begin + (int)threadIdx.x; i < end; i += batch * step)
            f(std::false_type(), std::integral_constant<int, batch>(), i, step, end);
    }
    /* Of an entry's half. */
    __device__ __forceinline__ static T *cell_at(uint32_t at, int flip) {
        return cells((int)at + ((int)at < flip ? flip : 0));
    }

    /* Sends what other tiles want. Behind a barrier of the block: others no longer read ghost cells. */
    __device__ __forceinline__ void send(const stencil_resident &r, uint32_t number, int buffer) {
        stage_columns();
        stage_rows();
        __syncthreads();
        const uint32_t set = (number & 1) * (uint32_t)place().memory.ghosts, own = place().own + set;
        const uint32_t *const entries = table(r);
        const int flip = buffer ? base::buffer_cells() : 0;
        const T *const stage = cells(place().memory.stage);
        each_batch([&](auto of_rows, auto count, int first, int step, int end) {
            constexpr int Count = decltype(count)::value;
            constexpr bool rows = decltype(of_rows)::value;
            uint64_t *const to = (rows ? word_at(place().rows_to[first >= place().reach * width], set)
                                       : word_at(r.words, own)) +
                                 (int64_t)first * words;
            T value[Count];
#pragma unroll
            for (int k = 0; k < Count; k++) {
                const int i = rows ? first + k * step : min(first + k * step, end - 1);
                value[k] = base::mixed ? *cell_at(entries[i] & 0xffff, flip) : stage[i];
            }
#pragma unroll
            for (int k = 0; k < Count; k++)
                store_word(rows || first + k * step < end, to + (int64_t)k * step * words, value[k], number);
        });
    }
    /* Fetches ghost cells, those of a batch at once, so that their trips overlap. polled: waits for the
     * words; else a barrier has. */
    __device__ __forceinline__ static void receive(const stencil_kernel_args &s, uint32_t number,
                                                   int64_t step_, bool polled, int buffer) {
        const int reach = place().reach, in_rows = 2 * reach * width, half = in_rows + place().rows * reach;
        uint64_t *const all = word_at(s.resident.words, (number & 1) * (uint32_t)place().memory.ghosts);
        const uint32_t *const entries = table(s.resident);
        const int flip = buffer ? base::buffer_cells() : 0;
        const uint32_t left = place().beside[0] - in_rows, right = place().beside[1] - in_rows;
        T *const stage = cells(place().memory.stage);
        each_batch([&](auto of_rows, auto count, int first, int step, int end) {
            constexpr int Count = decltype(count)::value;
            constexpr bool rows = decltype(of_rows)::value;
            uint32_t at[Count];
            T value[Count];
            const int row = first / width, side = row >= reach;
            const uint32_t *const from = list() + first - (row - side) * width;
            const uint32_t more = (uint32_t)((row - side * reach) * width);
#pragma unroll
            for (int k = 0; k < Count; k++) {
                const int i = min(first + k * step, end - 1);
                at[k] = rows ? from[k * 32] + more : (i < half ? left : right) + (uint32_t)i;
            }
            spin(s.barrier, step_, [&] {
                bool there = true;
#pragma unroll
                for (int k = 0; k < Count; k++)
                    there = load_word(word_at(all, at[k]), number, &value[k]) && there;
                return there || !polled;
            });
#pragma unroll
            for (int k = 0; k < Count; k++) {
                const int i = first + k * step; /* looked up here: registers are scarce while waiting */
                if (rows || i < end)
                    *(base::mixed ? cell_at(entries[i] >> 16, flip) : stage + i) = value[k];
            }
        });
    }

    /* f(inside, address, cell) for the lane's cells in registers: where they are among staged columns, of
     * which column `first` is its first cell. */
    template <class F> __device__ __forceinline__ void each_staged(int side, int first, F f) {
        const int reach = place().reach, rows = place().rows;
        const uint32_t from =
            shared_address(columns() + (side * reach + first) * rows + warp() * R); /* column by column */
        uint32_t at[K];
        bool inside[K];
#pragma unroll
        for (int v = 0; v < K; v++) {
            inside[v] = (unsigned)(first + v) < (unsigned)reach;
            at[v] = from + v * rows * (int)sizeof(T);
        }
        for_each<0, R>([&](auto row) {
            constexpr int J = decltype(row)::value;
            if constexpr (!base::in_memory(J))
#pragma unroll
                for (int v = 0; v < K; v++)
                    f(inside[v], at[v] + J * (int)sizeof(T), this->c[base::register_of(J)][v]);
        });
    }
    __device__ __forceinline__ static T *columns() {
        return cells(place().memory.stage + 2 * place().reach * width);
    }
    /* A lane has cells for one side, or in narrow fields for both. */
    __device__ __forceinline__ void stage_columns() {
        const int reach = place().reach, left = lane() * K - place().wanted[1][0],
                  right = lane() * K - place().wanted[1][1];
        const bool at_left = left > -K && left<reach, at_right = right> - K && right < reach;
        int side = at_left ? 0 : 1;
#pragma unroll 1
        for (;;) {
            each_staged(side, side == 0 ? left : right,
                        [](bool wanted, uint32_t to, T &cell) { store_if(wanted, to, cell); });
            if (!__any_sync(~0u, at_right && side == 0))
                break;
            side = 1;
        }
    }
    /* Rows of the warp that the tiles above and below want, of those in registers. */
    __device__ __forceinline__ void stage_rows() {
        constexpr int row_bytes = width * (int)sizeof(T);
        const int reach = place().reach, first = warp() * R + radius;
#pragma unroll 1
        for (int side = 0; side < 2; side++) {
            const int from = place().wanted[0][side] - first, end = from + reach;
            if (from >= R || end <= 0)
                continue;
            const uint32_t to = shared_address(cells(stage_row(side, 0))) - from * row_bytes;
            for_each<0, R>([&](auto row) {
                constexpr int J = decltype(row)::value;
                if constexpr (!base::in_memory(J))
                    if (J >= from && J < end) {
#pragma unroll
                        for (int v = 0; v < K; v++)
                            store_if(true, to + J * row_bytes + v * 32 * (int)sizeof(T),
                                     this->c[base::register_of(J)][v]);
                    }
            });
        }
    }
    /* Ghost cells of rows in registers: at their ends, then whole rows at the ends of the tile. */
    __device__ __forceinline__ void take() {
        const int first = warp() * R + radius, side = lane() >= 16;
        const kept_rows kept = find_kept();
        each_staged(side, place().closed[1][side] ? width : lane() * K - side * (width - place().reach),
                    [](bool ghost, uint32_t from, T &cell) { load_if(ghost, cell, from); });
        if (first < kept.first || first + R > kept.end)
            take_rows(first, kept);
    }
    __device__ __forceinline__ void take_rows(int first, kept_rows kept) {
        constexpr int row_bytes = width * (int)sizeof(T);
        const uint32_t above = shared_address(cells(stage_row(0, 0))) + first * row_bytes,
                       below = above + (place().reach - kept.end) * row_bytes;
        for_each<0, R>([&](auto row) {
            constexpr int J = decltype(row)::value;
            const bool high = first + J < kept.first, ghost = high || first + J >= kept.end;
            if constexpr (!base::in_memory(J))
                if (ghost) {
#pragma unroll
                    for (int v = 0; v < K; v++)
                        load_if(true, this->c[base::register_of(J)][v],
                                (high ? above : below) + J * row_bytes + v * 32 * (int)sizeof(T));
                }
        });
    }
};

} // namespace stencil
