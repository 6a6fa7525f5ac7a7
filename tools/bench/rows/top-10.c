/* The ten greatest of each row, in descending order, or as many as there are. in: xs f32 [n], lengths
 * [k]. out: f32 [as many as that is]. */
#include "pieces.h"
#include <math.h>

#define BEFORE(a, b) ((a) > (b))
#define LAST (-INFINITY)
#include "order.h"

enum { K = 10 };

/* A comparison has all bits set where it holds. */
static inline Vector chosen(Lanes which, Vector a, Vector b) {
    return (Vector)((which & (Lanes)a) | (~which & (Lanes)b));
}

static inline float greater(float a, float b) { return a > b ? a : b; }

/* The best are one vector, the greatest first. Those that are less than `x` move by one place, and `x` is
 * put before them. */
static inline Vector with(Vector best, float x) {
    const Lanes left = {16, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
    const Vector before = __builtin_shuffle(best, (Vector){0} + INFINITY, left);
    const Vector here = chosen(before < x, before, (Vector){0} + x);
    return chosen(best > here, best, here);
}

/* Of the first 16. */
static inline Vector first_best(const float *xs, int64_t n) {
    float sorted[LANES];
    if (n <= TINY) {
        order_tiny(xs, n, sorted);
        return load_first(sorted, TINY, LAST);
    }
    order_short(xs, n < LANES ? n : LANES, sorted);
    return load(sorted);
}

/* Most blocks of a long row have none that is among the best so far. */
static inline Vector best_of(const float *restrict xs, int64_t n) {
    Vector best = first_best(xs, n);
    int64_t i = LANES;
    for (; i + LANES <= n; i += LANES) {
        float most = -INFINITY;
#pragma omp simd reduction(max : most)
        for (int j = 0; j < LANES; j++) most = greater(most, xs[i + j]);
        if (most <= best[K - 1]) continue;
        for (int j = 0; j < LANES; j++)
            if (xs[i + j] > best[K - 1]) best = with(best, xs[i + j]);
    }
    for (; i < n; i++)
        if (xs[i] > best[K - 1]) best = with(best, xs[i]);
    return best;
}

void peer_run(const int64_t *sizes, void *const *in, void *const *out) {
    const float *xs = in[0];
    const int64_t *lengths = in[1], count = sizes[1];
    float *to = out[0];
    const Pieces pieces = pieces_of(lengths, count);
    const int64_t *place = sums_before(lengths, count, K, scratch(1, 8 * (count + 1)));
    SMALL_ROWS_AT(pieces, r, at)
        store_first(to + place[r], place[r + 1] - place[r], best_of(xs + at, lengths[r]));
    LARGE_ROWS_AT(pieces, r, at) {
        Vector all = (Vector){0} + LAST;
#pragma omp parallel
        {
            const int t = omp_get_thread_num(), threads = omp_get_num_threads();
            const int64_t from = part_of(lengths[r], t, threads), end = part_of(lengths[r], t + 1, threads);
            const Vector mine = best_of(xs + at + from, end - from);
#pragma omp critical
            for (int j = 0; j < K; j++) all = with(all, mine[j]);
        }
        store_first(to + place[r], place[r + 1] - place[r], all);
    }
}
