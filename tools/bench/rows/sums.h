/* The sum of each row. A kernel says what REAL is. in: xs REAL [n], lengths [k]. out: REAL [k]. */
#include "pieces.h"
#include "vectors.h"

enum { AHEAD = 4096 / sizeof(REAL) };

/* The sums of as many rows as there are lanes. A vector of each, all of it if the row is short, costs as
 * much for any lengths; only the rest of a longer row has a loop. Large rows are left out. */
static inline int64_t sums_of_rows(const REAL *restrict xs, const int64_t *restrict lengths, int64_t limit,
                                   REAL *restrict to) {
    Vector heads[LANES];
    int64_t at = 0, most = 0, start[LANES], longer[LANES], count = 0;
    for (int l = 0; l < LANES; at += lengths[l++]) {
        __builtin_prefetch(xs + at + AHEAD);
        heads[l] = load_first(xs + at, lengths[l] < LANES ? lengths[l] : LANES, 0);
        most = lengths[l] > most ? lengths[l] : most;
    }
    store(to, totals(heads));
    if (most <= LANES) return at;
    at = 0;
    for (int l = 0; l < LANES; at += lengths[l++]) {
        start[l] = at;
        longer[count] = l;
        count += lengths[l] > LANES && lengths[l] <= limit;
    }
    for (int64_t i = 0; i < count; i++) {
        const int64_t l = longer[i];
        to[l] += sum_of(xs + start[l] + LANES, lengths[l] - LANES);
    }
    return at;
}

void peer_run(const int64_t *sizes, void *const *in, void *const *out) {
    const REAL *xs = in[0];
    const int64_t *lengths = in[1];
    REAL *to = out[0];
    const Pieces pieces = pieces_of(lengths, sizes[1]);
    EACH_ROW_AT(pieces, r, end, at) {
        if (r + LANES <= end) {
            at += sums_of_rows(xs + at, lengths + r, pieces.limit, to + r) - lengths[r + LANES - 1];
            r += LANES - 1;
        } else if (lengths[r] <= pieces.limit) to[r] = sum_of(xs + at, lengths[r]);
    }
    LARGE_ROWS_AT(pieces, r, at) {
        REAL sum = 0;
#pragma omp parallel reduction(+ : sum)
        {
            const int t = omp_get_thread_num(), threads = omp_get_num_threads();
            const int64_t from = part_of(lengths[r], t, threads), end = part_of(lengths[r], t + 1, threads);
            sum += sum_of(xs + at + from, end - from);
        }
        to[r] = sum;
    }
}
