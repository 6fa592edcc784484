/* Ghost cells of the tiles of the resident sweep, every `depth` steps.
 *
 * Words that carry their number, as in kernels/ll.cuh: a tile sends the rows and columns that tiles beside it
 * want into words of its own, those of a row beside each other, and a list made once says where each ghost
 * cell lies. Corners come with the rows, from the tiles that lie cornerwise. There are words for even and for
 * odd exchanges; those of exchange e may be overwritten in e + 2 for the reason given there: who reads a
 * tile's words sends it words, too, and a tile that has received all of e + 1 knows that all of e have been
 * read.
 *
 * Tiles of another part are no different: the rows that only these read are stored into that part's memory,
 * across the link, and nowhere else, so that everybody polls memory of its own GPU. Number and place of a
 * tile's words follow from its column, since all parts have the same grid of tiles along x. */
#pragma once

#include "kernels/sweeps/resident_tile.cuh"

namespace stencil {

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
    static constexpr uint32_t none = ~0u;

    /* Words of a tile, in cells: rows for the tiles above and below, columns for those left and right. */
    __device__ __forceinline__ static int column_words(int side) {
        return 2 * place().reach * width + side * place().rows * place().reach;
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
            place().rows_to[side] = (beyond ? r.beyond[side] : r.words) +
                                    (int64_t)words * (first_word_at(r, row, place().x) +
                                                      (uint32_t)(side * place().reach * width));
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

    /* Where ghost cell i of the stage comes from. */
    __device__ __forceinline__ static uint32_t source_of(const stencil_resident &r, int i) {
        const int reach = place().reach, in_rows = 2 * reach * width;
        if (i < in_rows) {
            const int side = i / (reach * width), k = i / width % reach, slot = i % width,
                      column = slot % 32 * K + slot / 32;
            const int x = column < reach && !place().closed[1][0]            ? -1
                          : column >= width - reach && !place().closed[1][1] ? 1
                                                                             : 0;
            if (place().closed[0][side])
                return none;
            const int there = x == 0  ? column
                              : x < 0 ? column + width - reach - place().wanted[1][0]
                                      : column - place().wanted[1][1];
            return first_word(r, side == 0 ? -1 : 1, x) + (uint32_t)((side == 0 ? reach : 0) + k) * width +
                   there % K * 32 + there / K;
        }
        const int j = i - in_rows, side = j / (place().rows * reach), row = j / reach % place().rows;
        const kept_rows kept = find_kept();
        if (place().closed[1][side] || row + radius < kept.first || row + radius >= kept.end)
            return none;
        return first_word(r, 0, side == 0 ? -1 : 1) +
               (uint32_t)(column_words(!side) + row * reach + j % reach);
    }
    __device__ __forceinline__ static void find_sources(const stencil_resident &r) {
        uint32_t *const from = list();
        const int ghosts = place().memory.ghosts;
#pragma unroll 1
        for (int i = threadIdx.x; i < ghosts; i += blockDim.x)
            from[i] = source_of(r, i);
    }

    /* What is run once an exchange has to be fetched each time, which takes longer than the cells do
     * (docs/performance.md): rows are sent by one piece of code, to which the row is brought. */

    /* Row j, which is not known before: one of many copies. */
    template <int From, int To>
    __device__ __forceinline__ void pick_row(T (&row)[K], int j, const memory_rows &at) {
        constexpr int middle = (From + To) / 2;
        if constexpr (To - From == 1) {
#pragma unroll
            for (int v = 0; v < K; v++)
                row[v] = this->template cell<From>(v, at);
        } else if (j < middle)
            pick_row<From, middle>(row, j, at);
        else
            pick_row<middle, To>(row, j, at);
    }

    /* Sends what other tiles want: rows by the lanes that have them, columns by way of shared memory. */
    __device__ __forceinline__ void send(const stencil_resident &r, uint32_t number, int buffer) {
        const int reach = place().reach, row0 = warp() * R + radius;
        const int64_t set = (int64_t)words * ((number & 1) * (uint32_t)place().memory.ghosts);
        uint64_t *const own = r.words + (int64_t)words * first_word(r, 0, 0) + set;
        const memory_rows at = base::find_rows(buffer);
        stage_columns(at);
#pragma unroll 1
        for (int side = 0; side < 2; side++)
            if (!place().closed[1][side])
                send_columns(own + (int64_t)words * (column_words(side) + warp() * R * reach), side, number);
#pragma unroll 1
        for (int side = 0; side < 2; side++) {
            const int from = place().wanted[0][side] - row0, end = min(from + reach, R);
            uint64_t *to = place().rows_to[side] + set + (int64_t)words * (lane() - from * width);
#pragma unroll 1
            for (int j = max(from, 0); j < end; j++) {
                T row[K];
                pick_row<0, R>(row, j, at);
#pragma unroll
                for (int v = 0; v < K; v++)
                    store_flagged(to + words * (j * width + v * 32), row[v], number);
            }
        }
    }
    /* Cells of the warp's rows that the tiles at the left and right want, row by row. */
    __device__ __forceinline__ static T *staged(int side) {
        return cells(place().memory.stage + 2 * place().reach * width +
                     (side * place().rows + warp() * R) * place().reach);
    }
    __device__ __forceinline__ void stage_columns(const memory_rows &at) {
        const int reach = place().reach;
#pragma unroll 1
        for (int side = 0; side < 2; side++) {
            if (place().closed[1][side])
                continue;
            const int first = lane() * K - place().wanted[1][side]; /* of this lane among the wanted ones */
            uint32_t to = shared_address(staged(side)) + first * (int)sizeof(T);
            bool wanted[K];
#pragma unroll
            for (int v = 0; v < K; v++)
                wanted[v] = (unsigned)(first + v) < (unsigned)reach;
            for_each<0, R>([&](auto row) {
#pragma unroll
                for (int v = 0; v < K; v++)
                    store_if(wanted[v], to + v * (int)sizeof(T),
                             this->template cell<decltype(row)::value>(v, at));
                to += reach * (int)sizeof(T);
            });
        }
        __syncwarp();
    }
    __device__ __forceinline__ static void send_columns(uint64_t *to, int side, uint32_t number) {
        const T *const from = staged(side);
        const int end = R * place().reach;
#pragma unroll 1
        for (int i = lane(); i < end; i += 32)
            store_flagged(to + words * i, from[i], number);
    }

    /* Fetches the ghost cells into the stage, which nobody reads any more. polled: waits for the words; else
     * a barrier has. */
    __device__ __forceinline__ static void receive(const stencil_kernel_args &s, uint32_t number,
                                                   int64_t step, bool polled) {
        /* Cells at once, so that their trips overlap: as many as registers are left for. */
        constexpr int left = 240 - base::registers * K * words, batch = left > 140      ? 14
                                                                        : left / 10 > 8 ? left / 10
                                                                                        : 8;
        const uint32_t *const from = list();
        const int ghosts = place().memory.ghosts;
        const uint64_t *const all = s.resident.words + (int64_t)words * ((number & 1) * (uint32_t)ghosts);
        T *const stage = cells(place().memory.stage);
#pragma unroll 1
        for (int i = threadIdx.x; i < ghosts; i += batch * blockDim.x) {
            uint32_t at[batch];
            T value[batch];
#pragma unroll
            for (int k = 0; k < batch; k++)
                at[k] = i + k * (int)blockDim.x < ghosts ? from[i + k * blockDim.x] : none;
            spin(s.barrier, step, [&] {
                bool there = true;
#pragma unroll
                for (int k = 0; k < batch; k++)
                    if (at[k] != none)
                        there = load_flagged(all + (int64_t)words * at[k], number, &value[k]) && there;
                return there || !polled;
            });
#pragma unroll
            for (int k = 0; k < batch; k++)
                if (at[k] != none)
                    stage[i + k * blockDim.x] = value[k];
        }
    }
    /* From there to where the rows are: whole rows at the ends of the tile, and cells at the ends of rows. */
    __device__ __forceinline__ void take(int buffer) {
        const int first = warp() * R + radius;
        const memory_rows rows = base::find_rows(buffer);
        const kept_rows kept = find_kept();
#pragma unroll 1
        for (int side = 0; side < 2; side++)
            if (!place().closed[1][side])
                take_columns(side, rows);
        if (first < kept.first || first + R > kept.end)
            take_rows(first, kept, rows);
    }
    __device__ __forceinline__ void take_columns(int side, const memory_rows &rows) {
        const int reach = place().reach, first = lane() * K - (side == 0 ? 0 : width - reach);
        uint32_t from = shared_address(staged(side)) + first * (int)sizeof(T);
        bool ghost[K];
#pragma unroll
        for (int v = 0; v < K; v++)
            ghost[v] = (unsigned)(first + v) < (unsigned)reach;
        for_each<0, R>([&](auto row) {
#pragma unroll
            for (int v = 0; v < K; v++)
                put_if<decltype(row)::value>(ghost[v], v, from + v * (int)sizeof(T), rows);
            from += reach * (int)sizeof(T);
        });
    }
    __device__ __forceinline__ void take_rows(int first, kept_rows kept, const memory_rows &rows) {
        constexpr int row_bytes = width * (int)sizeof(T);
        const uint32_t above = shared_address(cells(stage_row(0, 0))) + first * row_bytes,
                       below = above + (place().reach - kept.end) * row_bytes;
        for_each<0, R>([&](auto row) {
            constexpr int J = decltype(row)::value;
            const bool high = first + J < kept.first, ghost = high || first + J >= kept.end;
#pragma unroll
            for (int v = 0; v < K; v++)
                put_if<J>(ghost, v, (high ? above : below) + J * row_bytes + v * 32 * (int)sizeof(T), rows);
        });
    }
    /* Cell v of row J from shared memory, or as it was: without a jump, whose target would have to be
     * fetched. */
    template <int J>
    __device__ __forceinline__ void put_if(bool wanted, int v, uint32_t from, const memory_rows &rows) {
        T &to = this->template cell<J>(v, rows);
        if constexpr (base::in_memory(J)) {
            T value = 0;
            load_if(wanted, value, from);
            store_if(wanted, shared_address(&to), value);
        } else
            load_if(wanted, to, from);
    }
};

} // namespace stencil
