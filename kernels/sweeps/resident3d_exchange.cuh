/* The exchange of ghost cells between tiles of the resident sweep in 3D, after every step.
 *
 * Words carry the number of their exchange, as in kernels/ll.cuh, but have 128 bits, also one access: 112
 * bits of cells and 16 of the number (96 and 32 in float32), since a tile has thousands of ghost cells and L2
 * bandwidth bounds an exchange. A tile stores slabs of its cells in its words, which adjacent tiles poll;
 * ghost cells at edges and corners are in slabs of diagonal neighbours. At a mirrored side a tile reads its
 * own words. There are words for even and odd exchanges. Words of exchange e may be overwritten in e + 2: the
 * tiles that read a tile's words also send it words, so whoever has received all of e + 1 knows that all of e
 * have been read. A word read in e is thus of e or e - 2, which a few bits distinguish. */
#pragma once

#include "kernels/sweeps/resident3d_tile.cuh"
#include "kernels/sweeps/resident_exchange.cuh"

namespace stencil {

/* The words that a group of cells is packed into; a cell is in `of_cell` of them. */
template <class T> struct box_words;
template <> struct box_words<float> {
    static constexpr int count = stencil_box_words(false), of_cell = 1, flag = 32;

    __device__ __forceinline__ static int word_of(int cell, int) {
        return cell / 3;
    }
    __device__ __forceinline__ static float cell(int cell, ulonglong2 first, ulonglong2) {
        const uint64_t pair = cell % 3 == 2 ? first.y : first.x;
        return __uint_as_float((uint32_t)(cell % 3 == 1 ? pair >> 32 : pair));
    }
    __device__ __forceinline__ static void pack(ulonglong2 (&at)[count], const float (&c)[STENCIL_BOX_GROUP],
                                                uint32_t number) {
#pragma unroll
        for (int w = 0; w < count; w++) {
            const float last = 3 * w + 2 < STENCIL_BOX_GROUP ? c[(3 * w + 2) % STENCIL_BOX_GROUP] : 0;
            at[w].x = (uint64_t)__float_as_uint(c[3 * w + 1]) << 32 | __float_as_uint(c[3 * w]);
            at[w].y = (uint64_t)number << 32 | __float_as_uint(last);
        }
    }
};
/* Four words each have a float64 cell and the low 48 bits of another one; the fifth word has the high 16 bits
 * of the latter four. */
template <> struct box_words<double> {
    static constexpr int count = stencil_box_words(true), of_cell = 2, flag = 16;

    __device__ __forceinline__ static int word_of(int cell, int part) {
        return part == 0 ? cell % 4 : 4;
    }
    __device__ __forceinline__ static double cell(int cell, ulonglong2 first, ulonglong2 rest) {
        const uint64_t high = rest.x >> cell % 4 * 16 << 48, low = first.y & ~UINT64_C(0) >> 16;
        return __longlong_as_double((long long)(cell < 4 ? first.x : high | low));
    }
    __device__ __forceinline__ static void pack(ulonglong2 (&at)[count], const double (&c)[STENCIL_BOX_GROUP],
                                                uint32_t number) {
        const uint64_t mark = (uint64_t)number << 48;
        at[4].x = 0, at[4].y = mark;
        unrolled<4>([&](int w) {
            const uint64_t low = __double_as_longlong(c[w + 4]);
            at[w].x = __double_as_longlong(c[w]);
            at[w].y = (low & ~UINT64_C(0) >> 16) | mark;
            at[4].x |= low >> 48 << 16 * w;
        });
    }
};

template <class P, class T_, bool General, int Shape, bool Classed>
struct box_exchange : box_tile<P, T_, General, Shape, Classed> {
    using base = box_tile<P, T_, General, Shape, Classed>;
    using T = T_;
    using base::place, base::bytes, base::cells, base::radius, base::cell_at, base::lanes, base::K;
    using words = box_words<T>;
    static constexpr int group = STENCIL_BOX_GROUP, slabs = STENCIL_BOX_SLABS;

    /* The two axes that a slab extends along. A group has one cell in each eighth of the slow axis (so its
     * length is a multiple of eight): adjacent threads have adjacent cells, and a group's cells are equally
     * far apart. */
    struct slab_axes {
        int slow, fast;
    };
    __device__ __forceinline__ static slab_axes axes_of(int axis) {
        if (axis != 0 && place().length[0] % group == 0)
            return {0, 3 - axis};
        return {axis == 1 ? 2 : 1, axis == 0 ? 2 : 0};
    }
    /* Finds cell k of group g of a slab: its depth in the slab, and its indices along the other axes. Cells
     * of a row are numbered in their order in shared memory. */
    struct slab_cell {
        int at[3];
    };
    __device__ __forceinline__ static slab_cell find_cell(int axis, int g, int k) {
        const slab_axes a = axes_of(axis);
        const int fast = place().length[a.fast], f = g % fast;
        slab_cell c;
        c.at[axis] = g / fast % radius;
        c.at[a.slow] = g / (fast * radius) + k * (place().length[a.slow] / group);
        c.at[a.fast] = a.fast == 2 ? f % lanes * K + f / lanes : f;
        return c;
    }
    /* A cell's group in a slab, and its number in the group. */
    struct cell_number {
        int g, k;
    };
    __device__ __forceinline__ static cell_number number_of(int axis, const slab_cell &c) {
        const slab_axes a = axes_of(axis);
        const int x = c.at[a.fast], f = a.fast == 2 ? x % K * lanes + x / K : x,
                  slow = place().length[a.slow] / group, s = c.at[a.slow];
        return {(s % slow * radius + c.at[axis]) * place().length[a.fast] + f, s / slow};
    }
    /* Returns the index, along an axis, of the cell that the adjacent tile reads as its ghost cell k, or that
     * is mirrored there. */
    __device__ __forceinline__ static int wanted(int axis, int side, int k) {
        const int length = place().length[axis];
        if (place().mirrored[axis][side])
            return side == 0 ? radius - 1 - k : length - 1 - k;
        return place().shift[axis][side] + (side == 0 ? length + k : k - radius);
    }
    __device__ __forceinline__ static bool is_fixed(int axis, int side) {
        return place().closed[axis][side] && !place().mirrored[axis][side];
    }
    __device__ __forceinline__ static int groups_of(int s) {
        return place().memory.slab[s + 1] - place().memory.slab[s];
    }
    __device__ __forceinline__ static int tiles_of(const stencil_resident &r, int axis) {
        return axis == 0 ? r.tiles_z : r.tiles[axis - 1];
    }
    /* Returns where the words of group g of a tile begin, in bytes. beside: the tile's distance from this one
     * along z, y, x. */
    __device__ __forceinline__ static uint32_t word_at(const stencil_resident &r, const int (&beside)[3],
                                                       int g) {
        int tile = 0;
        for (int a = 0; a < 3; a++)
            tile = tile * tiles_of(r, a) + (place().at[a] + beside[a] + tiles_of(r, a)) % tiles_of(r, a);
        return (uint32_t)(tile * stencil_box_word_bytes(sizeof(T) == 8) + g * STENCIL_BOX_WORD_BYTES);
    }
    /* Lists of groups that are sent and received: address of the first cell in shared memory, distance to the
     * next cell, and where the words begin. */
    __device__ __forceinline__ static uint4 *sent() {
        return reinterpret_cast<uint4 *>(bytes(place().memory.sent));
    }
    __device__ __forceinline__ static uint4 *taken() {
        return reinterpret_cast<uint4 *>(bytes(place().memory.taken));
    }
    /* Returns the distance in bytes from the first buffer of cells to that of exchange `number`. */
    __device__ __forceinline__ static uint32_t buffer_of(uint32_t number) {
        return base::twin && number % 2 != 0 ? place().memory.twin * (uint32_t)sizeof(T) : 0;
    }
    /* List of ghost cells that diagonal neighbours send: their words with, in the lowest bits, the cell's
     * number in the group; and the cell's address in shared memory, in the buffer of even exchanges. */
    __device__ __forceinline__ static uint2 *corners() {
        return reinterpret_cast<uint2 *>(bytes(place().memory.corners));
    }
    __device__ __forceinline__ static uint32_t address_of(const int (&at)[3]) {
        return shared_address(cells() + cell_at(at[0], at[1], at[2]));
    }

    /* Lists where group i of all slabs is sent from and received into; called once for each group. */
    __device__ __forceinline__ static void list_group(const stencil_resident &r, int i) {
        int s = 0, fixed = 0;
        for (; i >= place().memory.slab[s + 1]; s++)
            fixed += is_fixed(s / 2, s % 2) ? groups_of(s) : 0;
        const int axis = s / 2, side = s % 2, g = i - place().memory.slab[s];
        if (is_fixed(axis, side))
            return;
        uint32_t out[2], in[2]; /* addresses of the group's first two cells */
        for (int k = 0; k < 2; k++) {
            slab_cell here = find_cell(axis, g, k), ghost = here;
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
        sent()[i - fixed] = make_uint4(out[0], out[1] - out[0], word_at(r, {0, 0, 0}, i), 0);
        taken()[i - fixed] =
            make_uint4(in[0], in[1] - in[0], word_at(r, beside, g + place().memory.slab[other]), 0);
    }
    __device__ __forceinline__ static void count_groups() {
        int count = 0;
        for (int s = 0; s < slabs; s++)
            count += is_fixed(s / 2, s % 2) ? 0 : groups_of(s);
        place().groups = count, place().corners = 0;
    }
    /* Finds where the ghost cell at (z, y, x), beyond sides of several axes, comes from. Returns false if it
     * never changes. */
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
        const cell_number i = number_of(first, there);
        found.x = word_at(r, beside, place().memory.slab[slab] + i.g) + i.k;
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

    __device__ __forceinline__ static char *set_of(uint64_t *all, uint32_t number) {
        return reinterpret_cast<char *>(all) +
               (number & 1) * (uint32_t)(stencil_box_word_bytes(sizeof(T) == 8) / 2);
    }
    __device__ __forceinline__ static ulonglong2 *word_in(char *set, uint32_t at) {
        return reinterpret_cast<ulonglong2 *>(set + at);
    }
    /* Returns 0 if the word is of exchange `number`. */
    __device__ __forceinline__ static uint32_t missing(const ulonglong2 &word, uint32_t number) {
        return ((uint32_t)(word.y >> 32) ^ number << (32 - words::flag)) >> (32 - words::flag);
    }
    __device__ __forceinline__ static void send(uint64_t *all, uint32_t number) {
        const uint4 *const list = sent();
        const int count = place().groups;
        const uint32_t buffer = buffer_of(number);
        char *const set = set_of(all, number);
#pragma unroll 1
        for (int g = threadIdx.x; g < count; g += blockDim.x) {
            const uint4 e = list[g];
            ulonglong2 w[words::count];
            T value[group];
            unrolled<group>([&](int k) { value[k] = load_shared<T>(e.x + buffer + k * e.y); });
            words::pack(w, value, number);
#pragma unroll
            for (int k = 0; k < words::count; k++)
                store_wide(word_in(set, e.z) + k * STENCIL_BOX_GROUPS, w[k]);
        }
    }
    /* Receives the words of other tiles. polled: waits for each word; otherwise a barrier has made sure that
     * they are there. */
    __device__ __forceinline__ static void receive(const stencil_barrier_state &barrier, uint64_t *all,
                                                   uint32_t number, int64_t step, bool polled) {
        const uint4 *const list = taken();
        const int count = place().groups;
        const uint32_t buffer = buffer_of(number);
        char *const set = set_of(all, number);
#pragma unroll 1
        for (int g = threadIdx.x; g < count; g += blockDim.x) {
            const uint4 e = list[g];
            ulonglong2 w[words::count];
            take<words::count>(barrier, step, polled, w, number,
                               [&](int k) { return word_in(set, e.z) + k * STENCIL_BOX_GROUPS; });
            unrolled<group>([&](int k) {
                store_shared(e.x + buffer + k * e.y,
                             words::cell(k, w[words::word_of(k, 0)], w[words::count - 1]));
            });
        }
#pragma unroll 1
        for (int i = threadIdx.x; !base::star && i < place().corners; i += blockDim.x) {
            const uint2 e = corners()[i];
            const uint32_t member = e.x % STENCIL_BOX_WORD_BYTES;
            ulonglong2 w[words::of_cell];
            take<words::of_cell>(barrier, step, polled, w, number, [&](int k) {
                return word_in(set, e.x - member) + words::word_of((int)member, k) * STENCIL_BOX_GROUPS;
            });
            store_shared(e.y + buffer, words::cell((int)member, w[0], w[words::of_cell - 1]));
        }
    }
    /* Loads words at(0), at(1) ..., repeatedly those that are of an earlier exchange. */
    template <int Count, class F>
    __device__ __forceinline__ static void take(const stencil_barrier_state &barrier, int64_t step,
                                                bool polled, ulonglong2 (&w)[Count], uint32_t number, F at) {
        uint32_t absent[Count];
        unrolled<Count>([&](int k) { absent[k] = 1; });
        spin(barrier, step, [&] {
            uint32_t any = 0;
#pragma unroll
            for (int k = 0; k < Count; k++)
                if (absent[k] != 0)
                    load_wide(at(k), w[k]);
            unrolled<Count>([&](int k) { absent[k] = missing(w[k], number), any |= absent[k]; });
            return any == 0 || !polled;
        });
    }
};

} // namespace stencil
