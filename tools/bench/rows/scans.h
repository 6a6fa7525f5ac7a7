/* The sums of the first items of each row. A kernel says what REAL is. in: xs REAL [n], lengths [k]. out:
 * REAL [n]. */
#include "pieces.h"
#include "vectors.h"

enum { PART = (1 << 19) / sizeof(REAL) };

/* From `sum` on; the last of the sums. Only its addition waits for the vector before. */
static inline REAL scan(const REAL *restrict xs, REAL *restrict to, int64_t n, REAL sum) {
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        const Vector sums = running(load(xs + i));
        store(to + i, sums + sum);
        sum += sums[LANES - 1];
    }
    const Vector sums = running(load_first(xs + i, n - i, 0));
    store_first(to + i, n - i, sums + sum);
    return sum + sums[LANES - 1];
}

/* Each thread has a part of a chunk that its second cache holds: it adds it up, and then has the sum of all
 * that is before it. So memory is read once. Sums of the next chunk have another place, as somebody may still
 * read those of this one. */
static void row_by_all(const REAL *restrict xs, REAL *restrict to, int64_t n) {
    static REAL sums[2][MAX_THREADS];
#pragma omp parallel
    {
        const int t = omp_get_thread_num(), threads = omp_get_num_threads();
        const int64_t chunk = (int64_t)PART * threads;
        REAL before = 0;
        int here = 0;
        for (int64_t c = 0; c < n; c += chunk, here ^= 1) {
            const int64_t count = c + chunk < n ? chunk : n - c;
            const int64_t from = c + part_of(count, t, threads), end = c + part_of(count, t + 1, threads);
            sums[here][t] = sum_of(xs + from, end - from);
#pragma omp barrier
            REAL mine = before;
            for (int i = 0; i < threads; i++) {
                mine += i < t ? sums[here][i] : 0;
                before += sums[here][i];
            }
            scan(xs + from, to + from, end - from, mine);
        }
    }
}

void peer_run(const int64_t *sizes, void *const *in, void *const *out) {
    const REAL *xs = in[0];
    const int64_t *lengths = in[1];
    REAL *to = out[0];
    const Pieces pieces = pieces_of(lengths, sizes[1]);
    SMALL_ROWS_AT(pieces, r, at) scan(xs + at, to + at, lengths[r], 0);
    LARGE_ROWS_AT(pieces, r, at) row_by_all(xs + at, to + at, lengths[r]);
}
