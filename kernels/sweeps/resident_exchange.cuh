/* The exchange of ghost cells between tiles of the resident sweep in 2D, every `depth` steps.
 *
 * Words carry the number of their exchange, as in kernels/ll.cuh: a tile stores the rows and columns that
 * adjacent tiles read in its words, rows in the order of shared memory, columns one after the other. Corners
 * are in the rows of diagonal neighbours; a list that is made once tells where. There are words for even and
 * odd exchanges. Words of exchange e may be overwritten in e + 2: the tiles that read a tile's words also
 * send it words, so whoever has received all of e + 1 knows that all of e have been read.
 *
 * Tiles of adjacent parts exchange words alike: rows that only the other part reads are stored in its memory,
 * across the link, so that every tile polls memory of its GPU. The number and position of a tile's words
 * follow from its column, since all parts have the same columns of tiles. */
#pragma once

#include "kernels/sweeps/resident_tile.cuh"
#include "kernels/sweeps/resident_word.cuh"

namespace stencil {

template <class P, class T_, bool General, int Shape, bool Classed>
struct resident_exchange : resident_tile<P, T_, General, Shape, Classed> {
    using base = resident_tile<P, T_, General, Shape, Classed>;
    using T = T_;
    using base::K, base::R, base::radius, base::width, base::place, base::cells, base::list, base::lane,
        base::warp, base::warps, base::stage_row;
    static constexpr int words = sizeof(T) / sizeof(float);

    __device__ __forceinline__ static uint64_t *word_at(uint64_t *first, uint32_t cell) {
        return reinterpret_cast<uint64_t *>(reinterpret_cast<char *>(first) + (uint64_t)cell * (words * 8));
    }
    /* Returns where a tile's words for the column of a side begin, in cells: words for rows above and below
     * come first, then columns for the left and right tile. */
    __device__ __forceinline__ static int column_words(int side) {
        return 2 * place().reach * width + side * place().rows * place().reach;
    }
    /* Finds where the tile's words begin, and where column 0 of each side would be in the words of the left
     * and right tiles. */
    __device__ __forceinline__ static void find_beside(const stencil_resident &r) {
        const int more = place().rows * place().reach;
        place().own = first_word(r, 0, 0);
        place().beside[0] = first_word(r, 0, -1) + column_words(1);
        place().beside[1] =
            first_word(r, 0, 1) + column_words(0) -
            more; /* the right side's ghost columns are numbered after those of the left side */
    }
    __device__ __forceinline__ static int wrap(int tile, int tiles) {
        return tile < 0 ? tile + tiles : tile >= tiles ? tile - tiles : tile;
    }
    __device__ __forceinline__ static uint32_t first_word_at(const stencil_resident &r, int row, int column) {
        return (uint32_t)((row * r.tiles[1] + column) * 2 * place().memory.ghosts);
    }
    /* Returns the first word, in cells, of the tile y rows and x columns away, which may be another part's.
     */
    __device__ __forceinline__ static uint32_t first_word(const stencil_resident &r, int y, int x) {
        const int row = place().y + y, rows = r.tiles[0], side = row == rows;
        const bool beyond = (row < 0 || row == rows) && r.beyond[side] != nullptr;
        return first_word_at(r, beyond ? stencil_resident_row_beyond(rows, side) : wrap(row, rows),
                             wrap(place().x + x, r.tiles[1]));
    }
    /* Finds the words that ghost rows are sent to. At a cut of the field they are in the memory of the part
     * that reads them. */
    __device__ __forceinline__ static void find_readers(const stencil_resident &r) {
        for (int side = 0; side < 2; side++) {
            const bool beyond = place().y == (side == 0 ? 0 : r.tiles[0] - 1) && r.beyond[side] != nullptr;
            const int row = beyond ? stencil_resident_row_beyond(r.tiles[0], !side) : place().y;
            place().rows_to[side] =
                word_at(beyond ? r.beyond[side] : r.words, first_word_at(r, row, place().x));
        }
    }
    /* Rows of the tile that are no ghost rows: the first one, and one past the last. Ghost rows are received
     * whole. */
    struct kept_rows {
        int first, end;
    };
    __device__ __forceinline__ static kept_rows find_kept() {
        const int reach = place().reach, rows = place().rows + 2 * radius;
        return {place().closed[0][0] ? 0 : reach, place().closed[0][1] ? rows : rows - reach};
    }

    /* Returns the word that a cell of a side's first ghost row comes from; words of further ghost rows follow
     * row by row. slot: position of the cell in its row in shared memory. */
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

    /* The time of an exchange depends on the instructions of a warp (six to eight clocks each) and on memory
     * latencies in sequence (docs/log/2026-11-25.md). Cells in registers cannot be indexed, so they go
     * through the stage in shared memory, which holds ghost cells between passes. Rows in shared memory are
     * sent and received in place. A warp handles whole ghost rows, a thread handles ghost columns of one row
     * of the tile. A position of the stage is sent from and received into by the same thread, so no barrier
     * is needed. */

    /* Three adjacent lists in shared memory, filled once. For each ghost row: offsets of its first cell (high
     * half) and of the row that is sent (low half). For each ghost column: the same two offsets within a row
     * in shared memory. For each row of the tile: where it begins. Outer rows are listed with their first
     * buffer. */
    static constexpr uint32_t in_place = 1u << 31;
    __device__ __forceinline__ static uint32_t *row_places() {
        return list() - stencil_resident_places(place().rows, place().reach);
    }
    __device__ __forceinline__ static uint32_t *column_places() {
        return row_places() + 2 * place().reach;
    }
    __device__ __forceinline__ static uint32_t *begins() {
        return row_places() + 4 * place().reach;
    }
    /* Returns the offset in cells of a row of the tile in shared memory, or if it is in registers that of row
     * `stage_row` of the stage. */
    __device__ __forceinline__ static uint32_t place_of(int row, int stage_row) {
        const int at = row / R, j = row - at * R;
        if (row < 0 || row >= place().rows || !base::is_in_memory(j))
            return (uint32_t)(place().memory.stage + stage_row * width);
        return (uint32_t)(base::memory_row(j, base::find_rows(at, 0, 0)) - cells(0));
    }
    __device__ __forceinline__ static uint32_t slot_of(int column) {
        return (uint32_t)(column % K * 32 + column / K);
    }
    /* Returns where a row's ghost columns are: in place if the row is in shared memory, or in the stage if it
     * is in registers or a ghost row. */
    __device__ __forceinline__ static uint32_t begin_of(int row) {
        const kept_rows kept = find_kept();
        if (row + radius < kept.first || row + radius >= kept.end || !base::is_in_memory(row % R))
            return (uint32_t)(columns() - cells(0) + row);
        return in_place | place_of(row, 0);
    }
    __device__ __forceinline__ static void find_places() {
        const int reach = place().reach;
#pragma unroll 1
        for (int i = threadIdx.x; i < 2 * reach; i += blockDim.x) {
            const int side = i >= reach, k = i - side * reach;
            const uint32_t from = place_of(place().wanted[0][side] + k - radius, i),
                           to = place_of(side == 0 ? k - radius : find_kept().end + k - radius, i);
            row_places()[i] = from | to << 16;
            column_places()[i] =
                slot_of(place().wanted[1][side] + k) | slot_of(side == 0 ? k : width - reach + k) << 16;
        }
#pragma unroll 1
        for (int i = threadIdx.x; i < place().rows; i += blockDim.x)
            begins()[i] = begin_of(i);
    }

    /* Returns the cells at an offset in shared memory; flip: for outer rows, the distance to the current
     * buffer. */
    __device__ __forceinline__ static T *cells_at(uint32_t at, int flip) {
        return cells((int)at + (base::mixed && (int)at < flip ? flip : 0));
    }
    /* The ghost rows or columns of an axis that are exchanged: the first one, and one past the last. */
    struct open_ghosts {
        int first, end;
    };
    __device__ __forceinline__ static open_ghosts find_open(int axis) {
        const int reach = place().reach;
        return {place().closed[axis][0] ? reach : 0, place().closed[axis][1] ? reach : 2 * reach};
    }
    /* Tells whether some[b] is not a repetition of the entry before, which fills up the array. */
    template <int Count> __device__ __forceinline__ static bool is_own(const int (&some)[Count], int b) {
        return b == 0 || some[b] != some[b - 1];
    }
    /* Calls f(part, rows) for the warp's ghost rows, `rows_at_once` at a time, and in parts of their cells if
     * registers are few: spilled values would be fetched from L2, since large tiles leave little L1. */
    static constexpr bool large = base::full && words == 2;
    static constexpr int cells_at_once = large && base::shape.mixed > 8 ? (K + 1) / 2 : K;
    static constexpr int rows_at_once = K <= 2 ? 4 : K <= 4 ? 2 : 1;
    template <class F> __device__ __forceinline__ static void each_rows(F f) {
        const open_ghosts open = find_open(0);
        const int step = warps();
#pragma unroll 1
        for (int first = open.first + warp(); first < open.end; first += rows_at_once * step) {
            int rows[rows_at_once];
#pragma unroll
            for (int b = 0; b < rows_at_once; b++)
                rows[b] = b == 0 || first + b * step < open.end ? first + b * step : rows[b - 1];
            for_constants<0, (K + cells_at_once - 1) / cells_at_once>([&](auto part) { f(part, rows); });
        }
    }
    /* Calls f(columns, row of the tile) for the thread's ghost columns, `columns_at_once` at a time. */
    static constexpr int columns_at_once = R < 8 || large ? 4 : 8;
    template <class F> __device__ __forceinline__ static void each_columns(F f) {
        const open_ghosts open = find_open(1);
        const int thread = opaque((int)threadIdx.x), share = thread * place().row_share >> STENCIL_SHARE_BITS,
                  row = thread - share * place().rows, shares = place().shares;
        if (share >= shares)
            return;
#pragma unroll 1
        for (int first = open.first + share; first < open.end; first += columns_at_once * shares) {
            int columns[columns_at_once];
#pragma unroll
            for (int b = 0; b < columns_at_once; b++)
                columns[b] = b == 0 || first + b * shares < open.end ? first + b * shares : columns[b - 1];
            f(columns, row);
        }
    }
    /* Returns the distance in cells of a ghost column's cell from the begin of its row. half: 0 for the cell
     * that is sent, 16 for the ghost cell. */
    __device__ __forceinline__ static int from_begin(uint32_t begin, const uint32_t *places, int column,
                                                     int half) {
        return base::mixed && (begin & in_place) ? (int)(places[column] >> half & 0xffff)
                                                 : column * base::stage_column();
    }
    /* Sends the cells that other tiles read. Call after a barrier of the block, when no thread reads ghost
     * cells any more. */
    __device__ __forceinline__ void send(const stencil_resident &r, uint32_t number, int buffer) {
        stage_columns();
        stage_rows();
        __syncthreads();
        const uint32_t set = (number & 1) * (uint32_t)place().memory.ghosts;
        send_rows(set, number, buffer ? base::buffer_cells() : 0);
        send_columns(r, set, number, buffer ? base::buffer_cells() : 0);
    }
    /* Tells whether cell v of the lane is sent with its row. Ghost columns are not: diagonal neighbours send
     * the corners, and other threads may already be receiving ghost columns in place. */
    __device__ __forceinline__ static bool is_sent(int v) {
        if constexpr (!base::mixed)
            return true;
        const int reach = place().reach, first = place().closed[1][0] ? 0 : reach,
                  end = place().closed[1][1] ? width : width - reach, column = lane() * K + v;
        return column >= first && column < end;
    }
    __device__ __forceinline__ static void send_rows(uint32_t set, uint32_t number, int flip) {
        const int reach = place().reach;
        const uint32_t *const places = row_places();
        each_rows([&](auto part, const int(&rows)[rows_at_once]) {
            constexpr int V = decltype(part)::value * cells_at_once,
                          End = V + cells_at_once < K ? V + cells_at_once : K;
            T value[rows_at_once][End - V];
            bool sent[End - V];
#pragma unroll
            for (int v = V; v < End; v++)
                sent[v - V] = is_sent(v);
#pragma unroll
            for (int b = 0; b < rows_at_once; b++) {
                const T *const from = cells_at(places[rows[b]] & 0xffff, flip) + lane();
#pragma unroll
                for (int v = V; v < End; v++)
                    value[b][v - V] = sent[v - V] ? from[v * 32] : T(0);
            }
#pragma unroll
            for (int b = 0; b < rows_at_once; b++) {
                uint64_t *const to =
                    word_at(place().rows_to[rows[b] >= reach], set + (uint32_t)(rows[b] * width + lane()));
#pragma unroll
                for (int v = V; v < End; v++)
                    resident_word<T>::store(sent[v - V] && is_own(rows, b), to + v * 32 * words,
                                            value[b][v - V], number);
            }
        });
    }
    __device__ __forceinline__ static void send_columns(const stencil_resident &r, uint32_t set,
                                                        uint32_t number, int flip) {
        const int height = place().rows;
        const uint32_t *const places = column_places();
        uint64_t *const all = opaque(word_at(r.words, place().own + set + (uint32_t)column_words(0)));
        each_columns([&](const int(&column)[columns_at_once], int row) {
            const uint32_t begin = begins()[row];
            const T *const from = cells_at(begin & ~in_place, flip);
            T value[columns_at_once];
#pragma unroll
            for (int b = 0; b < columns_at_once; b++)
                value[b] = from[from_begin(begin, places, column[b], 0)];
#pragma unroll
            for (int b = 0; b < columns_at_once; b++)
                resident_word<T>::store(is_own(column, b), word_at(all, (uint32_t)(column[b] * height + row)),
                                        value[b], number);
        });
    }
    /* Loads several words at once, so that latencies overlap. A word whose address repeats that of `Again`
     * entries before is not loaded. polled: waits until the words carry the exchange's number; otherwise a
     * barrier has made sure of this. */
    template <int Again, int Count>
    __device__ __forceinline__ static void
    fetch(const stencil_kernel_args &s, uint32_t number, int64_t step, bool polled, const uint64_t *all,
          const uint32_t (&at)[Count], resident_word<T> (&word)[Count]) {
#pragma unroll
        for (int k = Again; k < Count; k++)
            word[k].set_number(number);
        spin(s.barrier, step, [&] {
            bool there = true;
#pragma unroll
            for (int k = 0; k < Count; k++)
                word[k].load(k < Again || at[k] != at[k - (k < Again ? 0 : Again)],
                             word_at(const_cast<uint64_t *>(all), at[k]));
#pragma unroll
            for (int k = 0; k < Count; k++)
                there = word[k].number() == number && there;
            return there || !polled;
        });
    }
    __device__ __forceinline__ static void receive(const stencil_kernel_args &s, uint32_t number,
                                                   int64_t step, bool polled, int buffer) {
        const int flip = buffer ? base::buffer_cells() : 0;
        const uint64_t *const all =
            opaque(word_at(s.resident.words, (number & 1) * (uint32_t)place().memory.ghosts));
        receive_rows(s, number, step, polled, flip, all);
        receive_columns(s, number, step, polled, flip, all);
    }
    __device__ __forceinline__ static void receive_rows(const stencil_kernel_args &s, uint32_t number,
                                                        int64_t step, bool polled, int flip,
                                                        const uint64_t *all) {
        const int reach = place().reach;
        const uint32_t *const places = row_places(), *const sources = list() + lane();
        each_rows([&](auto part, const int(&rows)[rows_at_once]) {
            constexpr int V = decltype(part)::value * cells_at_once,
                          End = V + cells_at_once < K ? V + cells_at_once : K, Cells = End - V;
            uint32_t at[rows_at_once * Cells];
            resident_word<T> word[rows_at_once * Cells];
#pragma unroll
            for (int b = 0; b < rows_at_once; b++) {
                const int side = rows[b] >= reach, k = rows[b] - side * reach;
#pragma unroll
                for (int v = V; v < End; v++)
                    at[b * Cells + v - V] = sources[side * width + v * 32] + (uint32_t)(k * width);
            }
            fetch<Cells>(s, number, step, polled, all, at, word);
#pragma unroll
            for (int b = 0; b < rows_at_once; b++) {
                T *const to = cells_at(places[rows[b]] >> 16, flip) + lane();
#pragma unroll
                for (int v = V; v < End; v++)
                    if (is_own(rows, b))
                        to[v * 32] = word[b * Cells + v - V].value();
            }
        });
    }
    __device__ __forceinline__ static void receive_columns(const stencil_kernel_args &s, uint32_t number,
                                                           int64_t step, bool polled, int flip,
                                                           const uint64_t *all) {
        const int reach = place().reach, height = place().rows;
        const uint32_t *const places = column_places();
        const uint32_t left = place().beside[0], right = place().beside[1];
        each_columns([&](const int(&column)[columns_at_once], int row) {
            uint32_t at[columns_at_once];
            resident_word<T> word[columns_at_once];
#pragma unroll
            for (int b = 0; b < columns_at_once; b++)
                at[b] = (column[b] < reach ? left : right) + (uint32_t)(column[b] * height + row);
            fetch<1>(s, number, step, polled, all, at, word);
            const uint32_t begin = begins()[row];
            T *const to = cells_at(begin & ~in_place, flip);
#pragma unroll
            for (int b = 0; b < columns_at_once; b++)
                if (is_own(column, b))
                    to[from_begin(begin, places, column[b], 16)] = word[b].value();
        });
    }

    /* Calls f(inside, address, cell) for the lane's cells in registers. inside: whether the cell is in a
     * staged column of a side; address: where in the stage. first: staged column of the lane's first cell. */
    template <class F> __device__ __forceinline__ void each_staged(int side, int first, F f) {
        const int reach = place().reach, length = base::stage_column();
        const uint32_t from =
            shared_address(columns() + (side * reach + first) * length +
                           warp() * R); /* the stage holds ghost columns one after the other */
        uint32_t at[K];
        bool inside[K];
#pragma unroll
        for (int v = 0; v < K; v++) {
            inside[v] = (unsigned)(first + v) < (unsigned)reach;
            at[v] = from + v * length * (int)sizeof(T);
        }
        for_constants<0, R>([&](auto row) {
            constexpr int J = decltype(row)::value;
            if constexpr (!base::in_memory(J))
#pragma unroll
                for (int v = 0; v < base::K; v++)
                    f(inside[v], at[v] + J * (int)sizeof(T), this->c[base::register_of(J)][v]);
        });
    }
    __device__ __forceinline__ static T *columns() {
        return cells(place().memory.stage + 2 * place().reach * width);
    }
    /* Stores columns for the left and right tiles in the stage. A lane has cells for one side, or for both in
     * narrow fields. */
    __device__ __forceinline__ void stage_columns() {
        const int reach = place().reach, left = lane() * K - place().wanted[1][0],
                  right = lane() * K - place().wanted[1][1];
        const bool at_left = left > -K && left<reach, at_right = right> - K && right < reach;
        int side = at_left ? 0 : 1;
#pragma unroll 1
        for (;;) {
            each_staged(side, side == 0 ? left : right,
                        [](bool wanted, uint32_t to, T &cell) { store_shared_if(wanted, to, cell); });
            if (!__any_sync(~0u, at_right && side == 0))
                break;
            side = 1;
        }
    }
    /* Stores the rows in registers that the tiles above and below read in the stage. */
    __device__ __forceinline__ void stage_rows() {
        constexpr int row_bytes = width * (int)sizeof(T);
        const int reach = place().reach, first = warp() * R + radius;
#pragma unroll 1
        for (int side = 0; side < 2; side++) {
            const int from = place().wanted[0][side] - first, end = from + reach;
            if (from >= R || end <= 0)
                continue;
            const uint32_t to = shared_address(cells(stage_row(side, 0))) - from * row_bytes;
            for_constants<0, R>([&](auto row) {
                constexpr int J = decltype(row)::value;
                if constexpr (!base::in_memory(J))
                    if (J >= from && J < end) {
#pragma unroll
                        for (int v = 0; v < base::K; v++)
                            store_shared_if(true, to + J * row_bytes + v * 32 * (int)sizeof(T),
                                            this->c[base::register_of(J)][v]);
                    }
            });
        }
    }
    /* Loads ghost cells of rows in registers from the stage: left and right columns, then whole ghost rows.
     */
    __device__ __forceinline__ void take() {
        const int first = warp() * R + radius, side = lane() >= 16;
        const kept_rows kept = find_kept();
        each_staged(side, place().closed[1][side] ? width : lane() * K - side * (width - place().reach),
                    [](bool ghost, uint32_t from, T &cell) { load_shared_if<1>(ghost, from, &cell); });
        if (first < kept.first || first + R > kept.end)
            take_rows(first, kept);
    }
    __device__ __forceinline__ void take_rows(int first, kept_rows kept) {
        constexpr int row_bytes = width * (int)sizeof(T);
        const uint32_t above = shared_address(cells(stage_row(0, 0))) + first * row_bytes,
                       below = above + (place().reach - kept.end) * row_bytes;
        for_constants<0, R>([&](auto row) {
            constexpr int J = decltype(row)::value;
            const bool high = first + J < kept.first, ghost = high || first + J >= kept.end;
            if constexpr (!base::in_memory(J))
                if (ghost) {
#pragma unroll
                    for (int v = 0; v < base::K; v++)
                        load_shared_if<1>(true,
                                          (high ? above : below) + J * row_bytes + v * 32 * (int)sizeof(T),
                                          &this->c[base::register_of(J)][v]);
                }
        });
    }
};

} // namespace stencil
