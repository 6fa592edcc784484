/* Long streams of the stream sweep: partial sums.
 *
 * A loaded row (2D) or plane's lines (3D) are added to the sums of all 2R + 1 rows or planes that read them,
 * and the oldest sum is then complete: its terms come in ascending order of rows, as in the cell update, so
 * results are bitwise those of every other sweep. Each warp has a ring in shared memory, into which rows are
 * copied asynchronously, `Ahead` rows or planes before they are added: memory stays busy while fma are
 * executed, and registers hold only sums. In 3D a thread makes `Rows` rows of y, which read Rows + 2R lines
 * of a plane.
 *
 *      lines of a plane      rows of the thread (Rows = 2, R = 1)
 *         0  --------.
 *         1  --------+- row 0 --.
 *         2  --------'  row 1 --+   a line is added to both rows' sums of 2R + 1 planes
 *         3  -------------------'
 */
#pragma once

#include "kernels/sweeps/stream_cells.cuh"
#include "kernels/table.h"

namespace stencil {

/* Policies: tells L2 to keep cells that are read, some of them repeatedly, rather than cells that are stored,
 * which only the next step reads. Loop: as in weights_of_step(). */
template <class P, class T, int Rows, int Ahead, bool Policies, bool Loop> struct stream_sums {
    using cells = stream_cells<P, T>;
    static constexpr int R = P::radius, V = vector_cells<T>, C = P::cross, lines = Rows + 2 * C, warp = 32;
    /* Tells whether the last sector of a row is stored whole, which costs registers: it pays for short rows
     * (3D), but with radius 2 no registers are left. */
    static constexpr bool keeps = P::rank == 3 && R == 1;
    /* Vectors at each side of a warp's; cells of a line; cells of a ring slot, of a warp's ring and of
     * vectors that it keeps; bytes of a block's rings. */
    static constexpr int sides = (R + V - 1) / V, width = (warp + 2 * sides) * V, slots = Ahead + 1,
                         slot = lines * width, ring = slots * slot, kept = keeps ? 2 * (R + 1) * Rows * V : 0,
                         bytes = (ring + kept) * (int)sizeof(T) * STENCIL_BLOCK_THREADS / warp;
    static_assert(Ahead > 0, "what is copied is not what is read");

    /* Sum m of each row of the thread, for the row or plane that reads the last one added at offset m - R. */
    T sum[2 * R + 1][Rows][V];

    /* The addresses at which a thread reads and writes, as element indices. */
    struct course {
        int64_t stream,
            cross;      /* elements from row to row (2D) or plane to plane (3D), and from line to line */
        int64_t at, to; /* the thread's element in the row or plane that is loaded next, and in the one that
                           is complete next */
        int beside; /* distance from the thread's vector to the one outside the warp that this lane also loads
                     */
        int last;   /* last of the thread's rows that is inside the part */
        bool copies; /* whether any thread reads this one's vector */
    };

    __device__ __forceinline__ static int lane() {
        return (int)threadIdx.x % warp;
    }
    /* Returns this thread's vector in the first line of its warp's ring, counted from the leftmost side
     * vector. */
    __device__ __forceinline__ static T *own_ring() {
        extern __shared__ __align__(128) char shared[];
        const int number = (int)(threadIdx.y * blockDim.x + threadIdx.x) / warp;
        return reinterpret_cast<T *>(shared) + number * (ring + kept) + lane() * V;
    }

    /* Returns where old vectors of a row's last sector are kept. To store a sector in part, memory has to
     * read it first, so it is stored whole, with the cells after the row, which are the same in both buffers.
     * A sum is complete R planes after its cells were read: both threads that share a sector keep R + 1
     * vectors. */
    __device__ __forceinline__ static T *own_kept(T *own_ring, int left) {
        return own_ring - lane() * V + ring + (lane() % 2 * (R + 1) + left % (R + 1)) * Rows * V;
    }
    __device__ __forceinline__ static void keep(T *to, const T *in) {
#pragma unroll
        for (int r = 0; r < Rows; r++) {
            T vector[V];
            load_vector(in + (C + r) * width + sides * V, vector);
            store_vector(to + r * V, vector);
        }
    }

    /* Finds where a thread reads and writes. A thread beyond the last vector that is read copies nothing, so
     * that its sums are of whatever its ring holds, and stores nothing. */
    __device__ __forceinline__ static course start(const stencil_domain &d, const place &p) {
        course c;
        const int nx = (int)d.n[STENCIL_X], sector = cells::sector,
                  end = (nx - 1) / sector * sector + sector - V, read = (nx + R - 1) / V * V,
                  last = keeps ? max(read, end) : read, x = min(p.x, last), warp_x = p.x - lane() * V;
        c.stream = P::rank == 3 ? d.plane : d.row;
        c.cross = P::rank == 3 ? d.row : 0;
        c.to = p.z * d.plane + p.y * d.row + x;
        c.at = c.to - R * c.stream;
        c.beside = min(warp_x + (lane() < sides ? lane() - sides : warp + lane() - sides) * V, last) - x;
        c.last = P::rank == 3 ? (int)d.n[STENCIL_Y] - 1 - p.y : 0;
        c.copies = p.x <= last;
        return c;
    }

    /* Tells whether the cell update reads left and right neighbours in a line. */
    __host__ __device__ static constexpr bool has_sides(int line) {
        for (int r = 0; r < Rows; r++)
            if (-C <= line - C - r && line - C - r <= C && P::ahead(line - C - r, 1) >= 0)
                return true;
        return false;
    }

    __device__ __forceinline__ static void copy_in(T *to, const T *from, bool past_l2) {
        if (Policies)
            copy_vector(to, from, l2_policy(l2_line::keep, past_l2));
        else
            copy_vector(to, from);
    }
    /* Begins to copy the next row or plane into a slot. For lines beyond the last one that is read, loads
     * that one again: their sums are not stored. */
    __device__ __forceinline__ static void load(const T *u, const course &c, bool past_l2, T *to) {
#pragma unroll
        for (int l = 0; l < lines; l++) {
            const T *line = u + (l <= 2 * C ? l - C : min(l - C, c.last + C)) * c.cross + c.at;
            if (c.copies)
                copy_in(to + l * width + sides * V, line, past_l2);
            if (has_sides(l) && lane() < 2 * sides)
                copy_in(to + l * width + (lane() < sides ? 0 : warp * V), line + c.beside, past_l2);
        }
    }

    /* Loads a line's cells, from R before to R after the thread's. */
    __device__ __forceinline__ static void widen(const T *line, bool beside, T *cell) {
#pragma unroll
        for (int s = 0; s <= 2 * sides; s++) {
            T vector[V];
            if (!beside && s != sides)
                continue;
            load_vector(line + s * V, vector);
#pragma unroll
            for (int v = 0; v < V; v++) {
                const int at = R + (s - sides) * V + v;
                if (at >= 0 && at < V + 2 * R)
                    cell[at] = vector[v];
            }
        }
    }

    /* Adds a line to the sums of row `row` of the thread, which reads it at cross offset o. from: element of
     * the row's vector in the row or plane that was loaded. */
    template <class Weights>
    __device__ __forceinline__ void add_line(const Weights &weights, const T *cell, int row, int o,
                                             int64_t from, int64_t stream) {
#pragma unroll
        for (int m = R; m >= -R; m--)
#pragma unroll
            for (int dx = -R; dx <= R; dx++)
                if (P::contains(m, o, dx)) {
                    const int k = P::number(P::rank == 3 ? m : 0, P::rank == 3 ? o : m, dx);
                    const auto weight = weights.point(k);
#pragma unroll
                    for (int v = 0; v < V; v++) {
                        T &s = sum[m + R][row][v];
                        s = term(
                            k, weight, [&] { return from - m * stream + v; }, cell[R + v + dx], s);
                    }
                }
    }

    /* Adds the row or plane in a slot, of element `at`, to the sums, after each sum has moved on by one row
     * or plane. */
    template <class Weights>
    __device__ __forceinline__ void add(const Weights &weights, const T *in, int64_t at, int64_t stream,
                                        int64_t cross) {
#pragma unroll
        for (int m = 2 * R; m > 0; m--)
            unrolled<Rows, V>([&](int r, int v) { sum[m][r][v] = sum[m - 1][r][v]; });
#pragma unroll
        for (int l = 0; l < lines; l++) {
            T cell[V + 2 * R];
            widen(in + l * width, has_sides(l), cell);
#pragma unroll
            for (int r = 0; r < Rows; r++)
                if (-C <= l - C - r && l - C - r <= C)
                    add_line(weights, cell, r, l - C - r, at + r * cross, stream);
        }
    }

    /* Stores complete sums and, in a checked step, sums residuals, for which it loads old values again. */
    template <bool Check>
    __device__ __forceinline__ void finish(const stencil_kernel_args &s, int from, const place &p,
                                           const course &c, const T *old_ends, double *partial) {
        const stencil_domain &d = s.domain;
        const T *u = static_cast<const T *>(d.u[from]);
        T *next = static_cast<T *>(d.u[!from]);
        const stencil_norm norm = s.schedule.norm;
#pragma unroll
        for (int r = 0; r < Rows; r++) {
            if (r > 0 && r > c.last)
                break;
            const vector_place at = {p.x, (int)d.n[STENCIL_X] - p.x, c.to + r * c.cross};
            cells::template store<Policies>(weights_of_step<T, Loop>(s, from).source(),
                                            static_cast<const T *>(d.b), next, at, sum[2 * R][r],
                                            keeps && cells::ends_sector(d, p) ? old_ends + r * V : nullptr,
                                            l2_policy(l2_line::give_away, s.past_l2));
            if (Check) {
                T old[V];
                load_vector(u + at.at, old);
                double term[V];
#pragma unroll
                for (int v = 0; v < V; v++)
                    term[v] = v < at.left_x ? residual_term(sum[2 * R][r][v], old[v], norm) : 0.0;
                cells::sum_residual(norm, at, term, partial + r * d.partial_row);
            }
        }
    }

    /* Adds the row or plane in a slot; `left` are still to add, with this one. */
    __device__ __forceinline__ void add_next(const stencil_kernel_args &s, int from, const place &p,
                                             const course &c, const T *in, int left) {
        add(weights_of_step<T, Loop>(s, from), in, c.to + min(p.count + R - left, R) * c.stream, c.stream,
            c.cross);
    }

    /* Makes the tile of a warp. self: this, with the types of a derived sweep. */
    template <bool Check, class Self>
    __device__ __forceinline__ void tile(Self &self, const stencil_kernel_args &s, int from, const place &p,
                                         double *partial) {
        const stencil_domain &d = s.domain;
        const T *u = static_cast<const T *>(d.u[from]);
        if (p.count <= 0) /* all threads of a warp return here, or none */
            return;
        if (Check)
            partial += p.z * d.partial_plane + p.y * d.partial_row + p.x / STENCIL_PARTIAL_CELLS;
        course c = start(d, p);
        T *const first = own_ring(), *const end = first + ring, *put = first, *get = first;
        /* Sums start at zero; the first ones belong to rows before the thread's and are never stored. */
        unrolled<2 * R + 1, Rows, V>([&](int m, int r, int v) { sum[m][r][v] = 0; });
        int left = p.count + 2 * R, to_load = left; /* rows or planes that are still to add, and to load */
        auto load_next = [&] {
            if (to_load > 0) {
                load(u, c, s.past_l2, put);
                c.at = opaque(c.at + c.stream);
                to_load--;
            }
            end_copies();
            put = put + slot == end ? first : put + slot;
        };
        __syncwarp(); /* waits until all lanes have read the ring slots of the tile before */
#pragma unroll
        for (int k = 0; k < Ahead; k++)
            load_next();
#pragma unroll 1
        for (; left > 0; left--) {
            await_copies<Ahead - 1>();
            __syncwarp(); /* waits until all lanes have copied into this ring slot, and have read the slot
                             before */
            load_next();
            self.add_next(s, from, p, c, get, left);
            if (keeps && cells::ends_sector(d, p))
                keep(own_kept(first, left), get);
            get = get + slot == end ? first : get + slot;
            if (left <= p.count) {
                self.template finish<Check>(s, from, p, c, own_kept(first, left + R), partial);
                c.to = opaque(c.to + c.stream);
                if (Check)
                    partial += P::rank == 3 ? d.partial_plane : d.partial_row;
            }
        }
        if (cells::near_edge(d, p, Rows, p.x - lane() * V, warp * V))
            copy_tile<T>(d, !from, p.z, p.y, p.x, P::rank == 3 ? p.count : 1, P::rank == 3 ? Rows : p.count);
    }
};

} // namespace stencil
