/* The stages of passes of the pipeline sweep in 2D for classes of cells. */
#pragma once

#include "kernels/sweeps/pipeline_found.cuh"

namespace stencil {

/* A stage looks once at the code of each row that comes in (pipeline_found.cuh), and keeps the codes of the
 * last rows. These say how it makes the rows of a slot:
 *
 *      alike     all rows that the levels make are plain, or are all of one class: as in other passes, with
 *                the weights of that class
 *      kept      all cells of all of these rows keep their values: rows move on, and nothing is computed
 *      mixed     all others, and rows at edges: cells that keep their values do so by a select, from a bit
 *                for each cell of the lane; where cells have weights of their own, each reads its weights
 *                from a table
 *
 * Each of these loops has to fit into the instruction cache, so there is one way to make a mixed row. */
template <class P, class T, stencil_pipeline_kind Kind> struct pipeline_classed : pipeline_found<P, T, Kind> {
    using base = pipeline_found<P, T, Kind>;
    using base::general, base::varied, base::radius, base::levels, base::cells, base::rows, base::vector,
        base::row_bytes, base::classes_ahead, base::weights, base::to_next, base::mirrored, base::mirror_row,
        base::class_weights, base::all_cells, base::code_of, base::row_plain, base::row_some, base::row_mixed,
        base::row_kept;
    using typename base::line, typename base::piece, typename base::turn, typename base::beside_turn,
        typename base::class_turn, typename base::stage_warp, typename base::table,
        typename base::lane_classes, typename base::stage_strip, typename base::step_weights;

    /* Rows that levels read or make while the rows of a slot come in: `classes_ahead` of them are ahead. */
    static constexpr int seen = rows + radius * levels + classes_ahead;
    enum row_way { alike, kept, mixed };
    /* The weights of cells in mixed rows: all those of the step; those of classes, by the table in shared
     * memory; the same where some are 0, or there are constants or a source; by device memory, as the table
     * is too small. */
    enum row_weights { of_step, of_classes, of_special, of_many };

    /* The rows that have come in, as a stage remembers them: the code of the last one, and the first one of
     * all those before it that are alike. */
    struct rows_seen {
        uint32_t last;
        int since;
        class_turn next; /* the row of the third ring that comes in next */

        __device__ __forceinline__ explicit rows_seen(const class_turn &next) : next(next) {}
        /* Begins a strip, before whose first row in the third ring there are `classes_ahead` rows. */
        __device__ __forceinline__ void begin(const stage_strip &a) {
            const bool outside = __shfl_sync(~0u, a.is_outside(a.begin), 0);
            last = outside ? row_some : row_plain;
            since = outside ? a.begin + classes_ahead - 1 : INT_MIN / 2;
        }
        /* Looks at the rows that come in with a slot, the first of which is row y, and returns how they are
         * made. */
        __device__ __forceinline__ row_way look(const stage_strip &a, int y) {
            if constexpr (varied)
                add(code_of(a, y, next.at), y), next.next();
            else
                look_at_bits(a, y);
            if (since > y - radius * levels)
                return mixed;
            return last == row_kept ? kept : alike;
        }
        /* The same by the bits of the rows. */
        __device__ __forceinline__ void look_at_bits(const stage_strip &a, int y) {
            uint32_t word[rows], bits = 0;
#pragma unroll
            for (int b = 0; b < rows; b++, next.next()) {
                word[b] = load_shared_word(next.at + a.strip.look) & a.strip.mask;
                bits |= word[b];
            }
            const bool inner = a.has_bits(y) && a.has_bits(y + rows - 1);
            if (inner && last == row_plain && !__any_sync(~0u, bits != 0))
                return;
            if (inner)
#pragma unroll
                for (int b = 0; b < rows; b++)
                    add(code_of_bits(a, word[b]), y + b);
            else
#pragma unroll 1
                for (int b = 0; b < rows; b++)
                    add(code_of(a, y + b, next.before(rows - b)), y + b);
        }
        /* Returns the code of an inner row by the bits that each lane looks at, where cells either keep their
         * values or are plain. */
        __device__ __forceinline__ static uint32_t code_of_bits(const stage_strip &a, uint32_t word) {
            const bool some = __any_sync(~0u, word != 0), all = __all_sync(~0u, word == a.strip.mask);
            return !some ? row_plain : all ? row_kept : row_some;
        }
        __device__ __forceinline__ void add(uint32_t code, int y) {
            if (!varied)
                code = __shfl_sync(~0u, code, 0);
            if (code != last || code == row_some || code == row_mixed)
                since = y + classes_ahead;
            last = code;
        }
    };
    /* The kept cells and the codes of the rows that levels read in a mixed slot. */
    struct mixed_rows {
        /* Bits of the lane's cells that keep their values, of the row of the first level and of rows before.
         */
        uint32_t kept[radius * levels + 1];
        /* The codes of these rows and of those ahead, where cells have weights of their own: a byte for each
         * row, that of the last one lowest. */
        uint64_t codes;
        static_assert(!varied || (seen <= 8 && rows == 1), "");

        __device__ __forceinline__ uint32_t code(int before) const {
            return (uint32_t)(codes >> 8 * before) & 0xffu;
        }
        /* Returns the bits of the lane's cells in row y that keep their values; entry: the row's address in
         * the third ring. */
        __device__ __forceinline__ static uint32_t kept_of(const stage_strip &a, uint32_t code, int y,
                                                           uint32_t entry) {
            const uint32_t sides = a.sides();
            if (!a.has_bits(y - classes_ahead))
                return a.is_outside(y) ? all_cells : sides;
            if constexpr (varied)
                return code == row_kept ? all_cells
                       : code == row_some || code == row_mixed
                           ? load_shared_word(entry + lane() * (uint32_t)sizeof(uint32_t))
                           : sides;
            return sides | a.strip.bits(entry);
        }
        __device__ __forceinline__ void add_code(uint32_t code) {
            if constexpr (varied)
                codes = codes << 8 | code;
        }
        __device__ __forceinline__ void add_kept(uint32_t bits) {
#pragma unroll
            for (int k = radius * levels; k > 0; k--)
                kept[k] = kept[k - 1];
            kept[0] = bits;
        }
        /* Adds row y of a slot, the rest of whose rows, from it on, are `left`. */
        __device__ __forceinline__ void add(const stage_strip &a, const rows_seen &seen, int y, int left) {
            add_code(seen.last);
            add_kept(kept_of(a, varied ? code(classes_ahead) : 0, y, seen.next.before(left + classes_ahead)));
        }
        /* Loads what is known of the rows before row y, the first one of a slot. */
        __device__ __forceinline__ void load(const stage_strip &a, const rows_seen &seen, int y) {
            codes = 0;
            if constexpr (varied)
#pragma unroll 1
                for (int k = seen_before; k > 0; k--)
                    add_code(code_of(a, y - k, seen.next.before(rows + k)));
#pragma unroll
            for (int k = 0; k < radius * levels; k++)
                kept[k] = kept_of(a, varied ? code(classes_ahead + k) : 0, y - 1 - k,
                                  seen.next.before(rows + classes_ahead + 1 + k));
        }
        static constexpr int seen_before = seen - rows;
    };

    /* The weights with which levels make rows whose cells are all of one class: they are in shared memory
     * and, where a class has one, the constant is behind them. */
    struct rows_alike {
        uint32_t weights, step; /* address of the weights of the stage's first level, bytes to the next one */
        T constant;
        /* code: of a row; where it is no class, the weights are those of plain cells. */
        __device__ __forceinline__ rows_alike(const stage_strip &a, uint32_t code) {
            if (!varied || !stencil_class_has_row(code)) {
                step = base::weights * (uint32_t)sizeof(T), constant = T(0);
                weights = a.weights_at + a.first_level * step;
            } else {
                weights = a.weights_at + base::weights_bytes + code * class_weights * (uint32_t)sizeof(T);
                step = 0, constant = load_shared<T>(weights + (P::count + 1) * (uint32_t)sizeof(T));
            }
        }
        __device__ __forceinline__ point_weight<T> point(const step_weights &w, int, int k) const {
            return w.point(k);
        }
        template <class Row, int Count>
        __device__ __forceinline__ void give(int j, const Row &, T (&sum)[Count]) const {
            if (j == 2 * radius && constant != T(0))
                unrolled<Count>([&](int v) { sum[v] += constant; });
        }
    };

    /* The weights of a class, as a lane reads them: from the table in shared memory, in device memory, or, if
     * all cells have those of the step, from there. */
    template <row_weights Own> struct lane_weights {
        const T *row;
        __device__ __forceinline__ lane_weights(const stage_strip &a, uint32_t of) {
            extern __shared__ __align__(128) char shared[];
            if (Own == of_many)
                row = table::here().row_of(of);
            else if (Own != of_step)
                row = reinterpret_cast<const T *>(shared + (base::bytes - base::table_bytes) +
                                                  of * a.class_row);
            else
                row = reinterpret_cast<const T *>(shared + (a.own.weights.at - shared_address(shared)));
        }
        __device__ __forceinline__ T number(int k) const {
            return row[k];
        }
        __device__ __forceinline__ T constant() const {
            return Own == of_many ? row[table::here().constant] : number(P::count + 1);
        }
    };
    /* Returns the complete sum of cell v, of class `of`, with what it has besides points. */
    template <row_weights Own>
    __device__ __forceinline__ static T finish(const stage_strip &a, uint32_t of, int v, T sum) {
        if (a.own.source != 0) {
            const T factor =
                Own != of_step && of != STENCIL_CLASS_PLAIN ? T(1) : a.own.weights.source().value;
            sum = source_term(
                point_weight<T>{factor, &a.s.domain}, [] { return 0; },
                load_shared<T>(a.own.source + v * (uint32_t)sizeof(T)), sum);
        }
        if (Own >= of_special) {
            const T constant = of == STENCIL_CLASS_PLAIN ? T(0) : lane_weights<Own>(a, of).constant();
            sum = constant == T(0) ? sum : sum + constant;
        }
        return sum;
    }
    /* Makes level t of a mixed row: c is row y of the step before on entry. */
    template <row_weights Own>
    __device__ __forceinline__ static void make_mixed(const stage_strip &a, stage_warp &warp, int t, T *c,
                                                      const mixed_rows &rows, const rows_seen &seen,
                                                      const uint32_t *fixed) {
        const typename stage_warp::row in(c);
        lane_classes classes[2 * radius + 1];
#pragma unroll
        for (int j = 2 * radius; j >= 0; j--) {
            const uint32_t entry = seen.next.before(1 + radius * t + j), code = rows.code(radius * t + j);
            if (Own == of_step) {
                classes[j].set(STENCIL_CLASS_PLAIN);
            } else if (code == row_mixed) {
                classes[j].load(a.strip.classes(entry));
            } else {
                classes[j].set(stencil_class_has_row(code) ? code : (uint32_t)STENCIL_CLASS_PLAIN);
            }
        }
        T out[cells];
#pragma unroll
        for (int v = 0; v < cells; v++)
#pragma unroll
            for (int j = 2 * radius; j >= 0; j--) {
                const uint32_t of = classes[j].of_cell(v);
                const lane_weights<Own> row(a, of);
                T sum = warp.sum[t][j == 0 ? 0 : j - 1][v];
#pragma unroll
                for (int dx = -radius; dx <= radius; dx++)
                    if (P::contains(j - radius, 0, dx)) {
                        const int k = P::number(0, j - radius, dx);
                        const T weight = row.number(k);
                        sum = term(
                            k, point_weight<T>{weight, &a.s.domain}, [] { return 0; },
                            Own >= of_special && of != STENCIL_CLASS_PLAIN && weight == T(0) ? T(0)
                                                                                             : in[v + dx],
                            sum);
                    }
                if (Own != of_classes && j == 2 * radius)
                    sum = finish<Own>(a, of, v, sum);
                if (j >= radius)
                    sum = fixed[j - radius] & 1u << v ? warp.kept(t, j, v, c) : sum;
                if (j == 2 * radius)
                    out[v] = sum;
                else
                    warp.sum[t][j][v] = sum;
            }
        stage_warp::mirror_ends(a.own.mirrored, out);
        unrolled<cells>([&](int v) { c[v] = out[v]; });
    }

    /* Makes level t of row `row`, of which the lane has the cells c, in rows that are alike. */
    __device__ __forceinline__ static void make_alike_level(stage_strip &a, stage_warp &warp, int t, T *c,
                                                            int row, const beside_turn &source,
                                                            const rows_alike &alike) {
        const auto at = [&](int to, int v) { return to * a.l.row + a.strip.x + (int)lane() * cells + v; };
        const cells_kept keep = {a.left, a.right, false, 0, 0};
        if constexpr (general) {
            a.own.weights.at = alike.weights + t * alike.step;
            a.own.source = a.s.domain.b != nullptr ? source.before(radius * t) + a.mine : 0;
            warp.template level<false>(t, c, a.own, keep, row, at, alike);
        } else {
            warp.template level<false>(t, c, weights_of<T>(a.s.domain), keep, row, at);
        }
    }
    /* The same in rows that are mixed. made: levels of the stage that make a step in this pass. */
    template <row_weights Own>
    __device__ __forceinline__ static void make_mixed_level(stage_strip &a, stage_warp &warp, int t, T *c,
                                                            int row, const beside_turn &source, int made,
                                                            const mixed_rows &rows, const rows_seen &seen) {
        uint32_t fixed[radius + 1];
#pragma unroll
        for (int k = 0; k <= radius; k++)
            fixed[k] = t < made ? rows.kept[radius * t + k] : all_cells;
        if constexpr (general) {
            if (a.is_outside(row))
                mirror_row(a.s, a.l, a.first_level + t, row, a.strip.x + lane() * cells, c);
            a.own.weights.at = a.weights_at + (a.first_level + t) * weights * (uint32_t)sizeof(T);
            a.own.source = a.s.domain.b != nullptr ? source.before(radius * t) + a.mine : 0;
            make_mixed<Own>(a, warp, t, c, rows, seen, fixed);
        } else {
            const auto at = [&](int to, int v) { return to * a.l.row + a.strip.x + (int)lane() * cells + v; };
            warp.level_of_fixed(t, c, weights_of<T>(a.s.domain), fixed, row, at);
        }
    }

    /* Makes the rows of a slot. */
    template <row_way Way, row_weights Own>
    __device__ __forceinline__ static void make_rows(stage_strip &a, stage_warp &warp, uint32_t slot, int y,
                                                     int made, beside_turn &source, const rows_seen &seen,
                                                     mixed_rows &of_rows, const rows_alike &all) {
        /* All loops together have to fit into the instruction cache. */
        constexpr int unrolled = Way == mixed ? 1 : rows;
#pragma unroll unrolled
        for (int b = 0; b < rows; b++) {
            T c[cells];
            warp.load(c, slot + b * row_bytes + a.mine);
            if (Way == mixed)
                of_rows.add(a, seen, y + b, rows - b);
#pragma unroll
            for (int t = 0; t < levels; t++) {
                if constexpr (Way == alike)
                    make_alike_level(a, warp, t, c, y + b - radius * t, source, all);
                else if constexpr (Way == mixed)
                    make_mixed_level<Own>(a, warp, t, c, y + b - radius * t, source, made, of_rows, seen);
                else
                    warp.move(t, c);
                /* A test of another number is one more barrier for the compiler: sums stay in registers. */
                end_block(Way == mixed && t == levels - 1 ? a.s.depth + 1 + b : a.s.depth);
            }
            if (general)
                source.next();
            warp.store(c, slot + b * row_bytes + a.mine);
        }
    }

    /* Makes a stage's steps of the line's rows; called by a warp. weights_at: weights of the first step in
     * shared memory. */
    __device__ __forceinline__ static void make_steps(const stencil_kernel_args &s, const line &l,
                                                      uint32_t ring, int stage, uint32_t weights_at) {
        stage_warp warp;
        turn u(ring, varied + stage, 0);
        if (__shfl_sync(~0u, stage >= l.stages, 0)) {
            base::template walk<true>(l, [&](const piece &p) {
                for (int left = p.count; left > 0; left -= rows, u.next()) {
                    wait_warp(u.barrier, u.parity);
                    arrive(u.barrier + to_next);
                }
            });
            return;
        }
        beside_turn f(ring, general ? -radius * levels * stage : 0);
        rows_seen seen(class_turn(ring, -radius * levels * stage));
        row_weights own = of_step;
        if constexpr (varied)
            if (__shfl_sync(~0u, s.class_passes.palette_count > 0, 0))
                own = !__shfl_sync(~0u, table::fits(s), 0)                                 ? of_many
                      : __shfl_sync(~0u, table::here().simple && s.domain.b == nullptr, 0) ? of_classes
                                                                                           : of_special;
        warp.clear();
        base::template walk<true>(l, [&](const piece &p) {
            stage_strip a = base::start_strip(s, l, p, stage, weights_at);
            a.own = {{0, &s.domain}, 0, {0, 0}};
            if (general) {
                a.own.mirrored[0] = a.left ? mirrored(s, STENCIL_X, 0) : 0;
                a.own.mirrored[1] = a.right ? mirrored(s, STENCIL_X, 1) : 0;
            }
            a.mine = (lane() * cells + (p.x & (vector - 1))) * (uint32_t)sizeof(T);
            int y = p.from - radius * levels * stage;
            const int end = y + p.count, made = __shfl_sync(~0u, l.steps - stage * levels, 0);
            seen.begin(a);
            /* Waits for the next slot, and returns how its rows are made. */
            const auto begin_slot = [&] {
                wait_warp(u.barrier, u.parity);
                const row_way way = seen.look(a, y);
                return way == alike && made < levels ? mixed : way;
            };
            row_way way = begin_slot();
            /* Makes slots for as long as their rows are made in this way. */
            const auto make_slots = [&](auto this_way, auto these_weights) {
                constexpr row_way Way = decltype(this_way)::value;
                constexpr row_weights Own = decltype(these_weights)::value;
                mixed_rows of_rows;
                const rows_alike all(a, seen.last);
                if (Way == mixed && way == mixed && y < end)
                    of_rows.load(a, seen, y);
#pragma unroll 1
                while (y < end && way == Way) {
                    make_rows<Way, Own>(a, warp, u.slot, y, made, f, seen, of_rows, all);
                    arrive(u.barrier + to_next);
                    u.next();
                    y += rows;
                    if (y < end)
                        way = begin_slot();
                }
            };
#pragma unroll 1
            while (y < end) {
                constexpr std::integral_constant<row_weights, of_step> step;
                constexpr std::integral_constant<row_way, mixed> mixes;
                if constexpr (varied) {
                    if (own == of_classes)
                        make_slots(mixes, std::integral_constant<row_weights, of_classes>());
                    else if (own == of_special)
                        make_slots(mixes, std::integral_constant<row_weights, of_special>());
                    else if (own == of_many)
                        make_slots(mixes, std::integral_constant<row_weights, of_many>());
                    else
                        make_slots(mixes, step);
                } else {
                    make_slots(mixes, step);
                }
                make_slots(std::integral_constant<row_way, kept>(), step);
                make_slots(std::integral_constant<row_way, alike>(), step);
            }
        });
    }
};

} // namespace stencil
