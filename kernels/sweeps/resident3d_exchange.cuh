/* Ghost cells of the tiles of the resident sweep in 3D, behind every step.
 *
 * Words that carry their number, as in kernels/ll.cuh, but of 128 bits, which are one access, too: 96 bits of
 * cells and the number of the exchange, since a tile has thousands of ghost cells and L2 is what bounds an
 * exchange. A tile sends slabs of its cells into words of its own, which tiles beside it poll; ghost cells at
 * edges and corners are in the slabs of tiles that lie cornerwise. Where a side is mirrored a tile takes its
 * own words. There are words for even and for odd exchanges; those of exchange e may be overwritten in e + 2
 * for the reason given there: who reads a tile's words sends it words, too. */
#pragma once

#include "kernels/sweeps/resident3d_tile.cuh"
#include "kernels/sweeps/resident_exchange.cuh"

namespace stencil {

/* A group of cells in words: see above. */
template <class T> struct box_words {
    static constexpr int count = sizeof(T) / sizeof(float);
    ulonglong2 at[count];

    __device__ __forceinline__ void pack(const float (&c)[STENCIL_BOX_GROUP], uint32_t number) {
        at[0].x = (uint64_t)__float_as_uint(c[1]) << 32 | __float_as_uint(c[0]);
        at[0].y = (uint64_t)number << 32 | __float_as_uint(c[2]);
    }
    __device__ __forceinline__ void pack(const double (&c)[STENCIL_BOX_GROUP], uint32_t number) {
        const uint64_t middle = __double_as_longlong(c[1]), high = (uint64_t)number << 32;
        at[0].x = __double_as_longlong(c[0]);
        at[0].y = high | (middle & 0xffffffffu);
        at[count - 1].x = __double_as_longlong(c[2]);
        at[count - 1].y = high | middle >> 32;
    }
    __device__ __forceinline__ void unpack(float (&c)[STENCIL_BOX_GROUP]) const {
        c[0] = __uint_as_float((uint32_t)at[0].x), c[1] = __uint_as_float((uint32_t)(at[0].x >> 32));
        c[2] = __uint_as_float((uint32_t)at[0].y);
    }
    __device__ __forceinline__ void unpack(double (&c)[STENCIL_BOX_GROUP]) const {
        c[0] = __longlong_as_double((long long)at[0].x);
        c[1] = __longlong_as_double((long long)(at[count - 1].y << 32 | (at[0].y & 0xffffffffu)));
        c[2] = __longlong_as_double((long long)at[count - 1].x);
    }
    __device__ __forceinline__ void store(ulonglong2 *to) const {
#pragma unroll
        for (int w = 0; w < count; w++)
            asm volatile("{ .reg .b128 v; mov.b128 v, {%1, %2}; st.relaxed.gpu.global.b128 [%0], v; }" ::"l"(
                             to + w * STENCIL_BOX_GROUPS),
                         "l"(at[w].x), "l"(at[w].y)
                         : "memory");
    }
    __device__ __forceinline__ void load(const ulonglong2 *from) {
#pragma unroll
        for (int w = 0; w < count; w++)
            asm volatile("{ .reg .b128 v; ld.relaxed.gpu.global.b128 v, [%2]; mov.b128 {%0, %1}, v; }"
                         : "=l"(at[w].x), "=l"(at[w].y)
                         : "l"(from + w * STENCIL_BOX_GROUPS)
                         : "memory");
    }
    /* 0: all words are those of this exchange. */
    __device__ __forceinline__ uint32_t missing(uint32_t number) const {
        uint32_t bits = 0;
#pragma unroll
        for (int w = 0; w < count; w++)
            bits |= (uint32_t)(at[w].y >> 32) ^ number;
        return bits;
    }
};

/* Cells by their addresses in shared memory, which lists have. */
__device__ __forceinline__ void load_at(uint32_t from, float &value) {
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(value) : "r"(from) : "memory");
}
__device__ __forceinline__ void load_at(uint32_t from, double &value) {
    asm volatile("ld.shared.f64 %0, [%1];" : "=d"(value) : "r"(from) : "memory");
}
__device__ __forceinline__ void store_at(uint32_t to, float value) {
    asm volatile("st.shared.f32 [%0], %1;" ::"r"(to), "f"(value) : "memory");
}
__device__ __forceinline__ void store_at(uint32_t to, double value) {
    asm volatile("st.shared.f64 [%0], %1;" ::"r"(to), "d"(value) : "memory");
}

template <class P, class T_, bool General, int Shape> struct box_exchange : box_tile<P, T_, General, Shape> {
    using base = box_tile<P, T_, General, Shape>;
    using T = T_;
    using base::place, base::bytes, base::cells, base::radius, base::cell_at, base::lanes, base::K;
    using words = box_words<T>;
    static constexpr int group = STENCIL_BOX_GROUP, slabs = STENCIL_BOX_SLABS;

    /* Cell i of a slab: how deep it lies in it, and where along the other axes. */
    struct slab_cell {
        int at[3];
    };
    /* Cells along `of` of a slab beyond a side of `axis`. */
    __device__ __forceinline__ static int extent(int axis, int of) {
        const int length = place().length[of];
        return axis == of ? +radius : length;
    }
    __device__ __forceinline__ static slab_cell find_cell(int axis, int i) {
        const int y = extent(axis, 1), x = extent(axis, 2);
        return {{i / (y * x), i / x % y, axis == 2 ? i % x : i % x % lanes * K + i % x / lanes}};
    }
    /* Its number: cells of a row in the order in which they lie in shared memory. */
    __device__ __forceinline__ static int number_of(int axis, const slab_cell &c) {
        const int x = axis == 2 ? c.at[2] : c.at[2] % K * lanes + c.at[2] / K;
        return (c.at[0] * extent(axis, 1) + c.at[1]) * extent(axis, 2) + x;
    }
    __device__ __forceinline__ static int cells_of(int axis) {
        return extent(axis, 0) * extent(axis, 1) * extent(axis, 2);
    }
    /* Where along its axis the cell of the tile lies, that the k-th one beyond a side shows. */
    __device__ __forceinline__ static int wanted(int axis, int side, int k) {
        const int length = place().length[axis];
        if (place().mirrored[axis][side])
            return side == 0 ? radius - 1 - k : length - 1 - k;
        return place().shift[axis][side] + (side == 0 ? length + k : k - radius);
    }
    __device__ __forceinline__ static bool is_fixed(int axis, int side) {
        return place().closed[axis][side] && !place().mirrored[axis][side];
    }
    __device__ __forceinline__ static int tiles_of(const stencil_resident &r, int axis) {
        return axis == 0 ? r.tiles_z : r.tiles[axis - 1];
    }
    /* Where the words of group g begin, of the tile so far beside this one; in bytes. */
    __device__ __forceinline__ static uint32_t word_at(const stencil_resident &r, const int (&beside)[3],
                                                       int g) {
        int tile = 0;
        for (int a = 0; a < 3; a++)
            tile = tile * tiles_of(r, a) + (place().at[a] + beside[a] + tiles_of(r, a)) % tiles_of(r, a);
        return (uint32_t)(tile * stencil_box_word_bytes(sizeof(T) == 8) + g * STENCIL_BOX_WORD_BYTES);
    }
    /* Groups of slabs: where their cells are in shared memory, and their words. */
    __device__ __forceinline__ static uint4 *sent() {
        return reinterpret_cast<uint4 *>(bytes(place().memory.sent));
    }
    __device__ __forceinline__ static uint4 *taken() {
        return reinterpret_cast<uint4 *>(bytes(place().memory.taken));
    }
    /* Ghost cells that come in words of tiles lying cornerwise: the words and, in the lowest bits, which cell
     * of the group it is; where it is in shared memory. */
    __device__ __forceinline__ static uint2 *corners() {
        return reinterpret_cast<uint2 *>(bytes(place().memory.corners));
    }
    __device__ __forceinline__ static uint32_t address_of(const int (&at)[3]) {
        return shared_address(cells() + cell_at(at[0], at[1], at[2]));
    }

    /* What is sent and taken is listed once. Cells of a group lie a third of the slab apart, so that threads
     * beside each other have cells beside each other. */
    __device__ __forceinline__ static void list_group(const stencil_resident &r, int g) {
        int s = 0, fixed = 0;
        for (; g >= place().memory.slab[s + 1]; s++)
            fixed += is_fixed(s / 2, s % 2) ? place().memory.slab[s + 1] - place().memory.slab[s] : 0;
        const int axis = s / 2, side = s % 2, first = place().memory.slab[s], place_of = g - fixed;
        const int thirds = place().memory.slab[s + 1] - first, count = cells_of(axis);
        if (is_fixed(axis, side))
            return;
        uint32_t out[group], in[group];
        for (int k = 0; k < group; k++) {
            slab_cell here = find_cell(axis, min(g - first + k * thirds, count - 1)), ghost = here;
            here.at[axis] = wanted(axis, side, here.at[axis]);
            ghost.at[axis] += side == 0 ? -radius : place().length[axis];
            out[k] = address_of(here.at);
            in[k] = address_of(ghost.at);
        }
        int beside[3] = {0, 0, 0}, other = s;
        if (!place().mirrored[axis][side]) {
            beside[axis] = side == 0 ? -1 : 1;
            other = s ^ 1;
        }
        sent()[place_of] = make_uint4(out[0], out[1], out[2], word_at(r, {0, 0, 0}, g));
        taken()[place_of] =
            make_uint4(in[0], in[1], in[2], word_at(r, beside, g - first + place().memory.slab[other]));
    }
    __device__ __forceinline__ static void count_groups() {
        int count = 0;
        for (int s = 0; s < slabs; s++)
            count += is_fixed(s / 2, s % 2) ? 0 : place().memory.slab[s + 1] - place().memory.slab[s];
        place().groups = count, place().corners = 0;
    }
    /* The ghost cell (z, y, x), which lies beyond sides of several axes; false: it never changes. */
    __device__ __forceinline__ static bool find_corner(const stencil_resident &r, const int (&at)[3],
                                                       uint2 &found) {
        int beside[3] = {0, 0, 0}, first = -1, slab = 0;
        slab_cell there;
        for (int a = 0; a < 3; a++) {
            const int length = place().length[a], side = at[a] >= length;
            there.at[a] = at[a];
            if (at[a] >= 0 && at[a] < length)
                continue;
            if (is_fixed(a, side))
                return false;
            const int k = side == 0 ? at[a] + radius : at[a] - length;
            const bool mirrored = place().mirrored[a][side];
            if (!mirrored)
                beside[a] = side == 0 ? -1 : 1;
            if (first < 0) {
                first = a;
                slab = 2 * a + (mirrored ? side : !side);
                there.at[a] = k;
            } else
                there.at[a] = mirrored ? wanted(a, side, k) : at[a] - place().shift[a][side];
        }
        const int i = number_of(first, there),
                  thirds = place().memory.slab[slab + 1] - place().memory.slab[slab];
        found.x = word_at(r, beside, place().memory.slab[slab] + i % thirds) + i / thirds;
        found.y = address_of(at);
        return true;
    }
    __device__ __forceinline__ static void make_lists(const stencil_resident &r) {
#pragma unroll 1
        for (int g = threadIdx.x; g < place().memory.slab[slabs]; g += blockDim.x)
            list_group(r, g);
        if (base::star)
            return;
        const int y = place().length[1] + 2 * radius, x = place().length[2] + 2 * radius,
                  all = (place().length[0] + 2 * radius) * y * x;
#pragma unroll 1
        for (int i = threadIdx.x; i < all; i += blockDim.x) {
            const int at[3] = {i / (y * x) - radius, i / x % y - radius, i % x - radius};
            int beyond = 0;
            for (int a = 0; a < 3; a++)
                beyond += at[a] < 0 || at[a] >= place().length[a];
            uint2 found;
            if (beyond > 1 && find_corner(r, at, found))
                corners()[atomicAdd(const_cast<int32_t *>(&place().corners), 1)] = found;
        }
    }

    /* Groups at once, so that their trips overlap: as many as registers are left for. */
    static constexpr int batch = base::warps > 8 ? 3 : 6;

    __device__ __forceinline__ static char *set_of(uint64_t *all, uint32_t number) {
        return reinterpret_cast<char *>(all) +
               (number & 1) * (uint32_t)(stencil_box_word_bytes(sizeof(T) == 8) / 2);
    }
    __device__ __forceinline__ static ulonglong2 *word_in(char *set, uint32_t at) {
        return reinterpret_cast<ulonglong2 *>(set + at);
    }
    /* The k-th group of a thread, from g on. Behind the last one come the last one again: that takes fewer
     * instructions than to ask. */
    __device__ __forceinline__ static uint4 entry_of(const uint4 *list, int g, int k, int last) {
        return list[min(g + k * (int)blockDim.x, last)];
    }
    __device__ __forceinline__ static void send(uint64_t *all, uint32_t number) {
        constexpr int at_once = (batch + 1) / 2;
        const uint4 *const list = sent();
        const int last = place().groups - 1;
        char *const set = set_of(all, number);
#pragma unroll 1
        for (int g = threadIdx.x; g <= last; g += at_once * blockDim.x) {
            words w[at_once];
            uint4 e[at_once];
            T value[at_once][group];
#pragma unroll
            for (int k = 0; k < at_once; k++)
                e[k] = entry_of(list, g, k, last);
#pragma unroll
            for (int k = 0; k < at_once; k++)
                load_at(e[k].x, value[k][0]), load_at(e[k].y, value[k][1]), load_at(e[k].z, value[k][2]);
#pragma unroll
            for (int k = 0; k < at_once; k++) {
                w[k].pack(value[k], number);
                w[k].store(word_in(set, e[k].w));
            }
        }
    }
    /* Waits for the words of others and takes them; polled: else a barrier has waited. */
    __device__ __forceinline__ static void receive(const stencil_barrier_state &barrier, uint64_t *all,
                                                   uint32_t number, int64_t step, bool polled) {
        const uint4 *const list = taken();
        const int last = place().groups - 1;
        char *const set = set_of(all, number);
#pragma unroll 1
        for (int g = threadIdx.x; g <= last; g += batch * blockDim.x) {
            words w[batch];
            uint4 e[batch];
#pragma unroll
            for (int k = 0; k < batch; k++)
                e[k] = entry_of(list, g, k, last);
            uint32_t missing[batch];
#pragma unroll
            for (int k = 0; k < batch; k++)
                missing[k] = 1;
            spin(barrier, step, [&] { /* those that are not there are asked for again */
                                      uint32_t any = 0;
#pragma unroll
                                      for (int k = 0; k < batch; k++)
                                          if (missing[k] != 0)
                                              w[k].load(word_in(set, e[k].w));
#pragma unroll
                                      for (int k = 0; k < batch; k++)
                                          missing[k] = w[k].missing(number), any |= missing[k];
                                      return any == 0 || !polled;
            });
#pragma unroll
            for (int k = 0; k < batch; k++) {
                T value[group];
                w[k].unpack(value);
                store_at(e[k].x, value[0]), store_at(e[k].y, value[1]), store_at(e[k].z, value[2]);
            }
        }
#pragma unroll 1
        for (int i = threadIdx.x; !base::star && i < place().corners; i += blockDim.x) {
            const uint2 e = corners()[i];
            const uint32_t member = e.x % STENCIL_BOX_WORD_BYTES;
            words w;
            spin(barrier, step, [&] {
                w.load(word_in(set, e.x - member));
                return w.missing(number) == 0 || !polled;
            });
            T value[group];
            w.unpack(value);
            store_at(e.y, member == 0 ? value[0] : member == 1 ? value[1] : value[2]);
        }
    }
};

} // namespace stencil
