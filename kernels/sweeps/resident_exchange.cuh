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
#include "kernels/sweeps/resident_word.cuh"

namespace stencil {

template <class P, class T_, bool General, int Shape>
struct resident_exchange : resident_tile<P, T_, General, Shape> {
    using base = resident_tile<P, T_, General, Shape>;
    using T = T_;
    using base::K, base::R, base::radius, base::width, base::place, base::cells, base::list, base::lane,
        base::warp, base::warps, base::stage_row;
    static constexpr int words = sizeof(T) / sizeof(float);

    __device__ __forceinline__ static uint64_t *word_at(uint64_t *first, uint32_t cell) {
        return reinterpret_cast<uint64_t *>(reinterpret_cast<char *>(first) + (uint64_t)cell * (words * 8));
    }
    /* Words of a tile, in cells: rows for the tiles above and below, columns for those left and right. */
    __device__ __forceinline__ static int column_words(int side) {
        return 2 * place().reach * width + side * place().rows * place().reach;
    }
    /* Finds the tile's words, and where staged column 0 would come from, at the left and right. */
    __device__ __forceinline__ static void find_beside(const stencil_resident &r) {
        const int more = place().rows * place().reach;
        place().own = first_word(r, 0, 0);
        place().beside[0] = first_word(r, 0, -1) + column_words(1);
        place().beside[1] = first_word(r, 0, 1) + column_words(0) - more; /* as if behind those at the left */
    }
    __device__ __forceinline__ static int wrap(int tile, int tiles) {
        return tile < 0 ? tile + tiles : tile >= tiles ? tile - tiles : tile;
    }
    __device__ __forceinline__ static uint32_t first_word_at(const stencil_resident &r, int row, int column) {
        return (uint32_t)((row * r.tiles[1] + column) * 2 * place().memory.ghosts);
    }
    /* Returns the first word, in cells, of the tile y rows and x columns away, maybe another part's. */
    __device__ __forceinline__ static uint32_t first_word(const stencil_resident &r, int y, int x) {
        const int row = place().y + y, rows = r.tiles[0], side = row == rows;
        const bool beyond = (row < 0 || row == rows) && r.beyond[side] != nullptr;
        return first_word_at(r, beyond ? stencil_resident_row_beyond(rows, side) : wrap(row, rows),
                             wrap(place().x + x, r.tiles[1]));
    }
    /* Finds the words that rows are sent to: beyond a cut in the memory of the part that reads them, as what
     * lies on its other side. */
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

    /* An exchange costs by the instructions that a warp makes, six to eight clocks each, and by the trips
     * that are made one after the other (docs/log/2026-11-25.md). Cells in registers have to be named one by
     * one, so they go through shared memory: the stage, where ghost cells are between passes, has room for
     * them. Rows in shared memory are sent and fetched where they are. A warp has whole ghost rows, a thread
     * has a row of the tile, of which it sends and fetches columns: where they are follows from little.
     * What is sent and what comes into the same place of the stage are of one thread, for whom they are in
     * order. */

    /* Found once, in shared memory behind each other: of each ghost row the cell that it begins with, and of
     * the row that is sent (high and low half); of each ghost column the same two within a row of shared
     * memory; where each row of the tile begins. Cells of outer rows are those of their first buffer. */
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
    /* Returns where a row of the tile is in shared memory, or its row of the stage; in cells. */
    __device__ __forceinline__ static uint32_t place_of(int row, int stage_row) {
        const int at = row / R, j = row - at * R;
        if (row < 0 || row >= place().rows || !base::is_in_memory(j))
            return (uint32_t)(place().memory.stage + stage_row * width);
        return (uint32_t)(base::memory_row(j, base::find_rows(at, 0, 0)) - cells(0));
    }
    __device__ __forceinline__ static uint32_t slot_of(int column) {
        return (uint32_t)(column % K * 32 + column / K);
    }
    /* Rows in registers have their columns in the stage, ghost rows too, which come whole. */
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

    /* Cells of shared memory, outer rows in the buffer that they are in. */
    __device__ __forceinline__ static T *cells_at(uint32_t at, int flip) {
        return cells((int)at + (base::mixed && (int)at < flip ? flip : 0));
    }
    /* Which of the ghost rows and columns of an axis come from, or go to other tiles: from `first` on. */
    struct open_ghosts {
        int first, end;
    };
    __device__ __forceinline__ static open_ghosts find_open(int axis) {
        const int reach = place().reach;
        return {place().closed[axis][0] ? reach : 0, place().closed[axis][1] ? reach : 2 * reach};
    }
    /* Tells whether some[b] does not repeat the one before, as it does where there are no more. */
    template <int Count> __device__ __forceinline__ static bool is_own(const int (&some)[Count], int b) {
        return b == 0 || some[b] != some[b - 1];
    }
    /* f(part, rows) for the ghost rows of a warp, some at once, and for their cells part by part where cells
     * leave few registers: L1 is small beside tiles so large, and what is spilled is fetched from L2. */
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
    /* f(columns, row of the tile) for the ghost columns of a thread, some at once. */
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
    /* Returns the distance of the cell of a ghost column from the begin of its row, in cells; half: 0 of
     * those that are sent, 16 of ghost cells. */
    __device__ __forceinline__ static int from_begin(uint32_t begin, const uint32_t *places, int column,
                                                     int half) {
        return base::mixed && (begin & in_place) ? (int)(places[column] >> half & 0xffff)
                                                 : column * base::stage_column();
    }
    /* Sends what other tiles want. Behind a barrier of the block: others no longer read ghost cells. */
    __device__ __forceinline__ void send(const stencil_resident &r, uint32_t number, int buffer) {
        stage_columns();
        stage_rows();
        __syncthreads();
        const uint32_t set = (number & 1) * (uint32_t)place().memory.ghosts;
        send_rows(set, number, buffer ? base::buffer_cells() : 0);
        send_columns(r, set, number, buffer ? base::buffer_cells() : 0);
    }
    /* Tells whether cell v of the lane is sent with its row. Ghost columns are not: tiles that lie cornerwise
     * send corners, and other threads may be writing those of rows that are sent in place already. */
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
    /* Fetches words at once, so that their trips overlap; not those that are `again` before them a second
     * time. polled: waits until they carry the number; else a barrier has. */
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

    /* f(inside, address, cell) for the lane's cells in registers: where they are among staged columns, of
     * which column `first` is its first cell. */
    template <class F> __device__ __forceinline__ void each_staged(int side, int first, F f) {
        const int reach = place().reach, length = base::stage_column();
        const uint32_t from =
            shared_address(columns() + (side * reach + first) * length + warp() * R); /* column by column */
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
                        [](bool wanted, uint32_t to, T &cell) { store_shared_if(wanted, to, cell); });
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
            for_constants<0, R>([&](auto row) {
                constexpr int J = decltype(row)::value;
                if constexpr (!base::in_memory(J))
                    if (J >= from && J < end) {
#pragma unroll
                        for (int v = 0; v < K; v++)
                            store_shared_if(true, to + J * row_bytes + v * 32 * (int)sizeof(T),
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
                    for (int v = 0; v < K; v++)
                        load_shared_if<1>(true,
                                          (high ? above : below) + J * row_bytes + v * 32 * (int)sizeof(T),
                                          &this->c[base::register_of(J)][v]);
                }
        });
    }
};

} // namespace stencil
