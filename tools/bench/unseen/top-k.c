/* The three greatest of each row, in descending order, or as many as there are. in: xs f32 [n], lengths [k]. out: f32
 * [as many as that is]. */
#include "rows.h"
#include <math.h>

enum { K = 3, BLOCK = 16, LONG = 128 };

typedef struct { float best[K]; } Best;

static const Best NONE = {{-INFINITY, -INFINITY, -INFINITY}};

static inline float greater(float a, float b) { return a > b ? a : b; }
static inline float lesser(float a, float b) { return a < b ? a : b; }

/* Without branches, which nobody could foresee. */
static inline void take(Best *b, float x) {
    const float second = lesser(b->best[0], x), third = lesser(b->best[1], second);
    b->best[0] = greater(b->best[0], x);
    b->best[1] = greater(b->best[1], second);
    b->best[2] = greater(b->best[2], third);
}

/* Of a short row, two halves that do not wait for each other. Most blocks of a long row have none that is among the
 * best so far. */
static inline Best best_of(const float *restrict xs, int64_t n) {
    Best b = NONE, other = NONE;
    int64_t i = 0;
    if (n < LONG) {
        for (; i + 2 <= n; i += 2) {
            take(&b, xs[i]);
            take(&other, xs[i + 1]);
        }
        if (n > 1)
            for (int j = 0; j < K; j++) take(&b, other.best[j]);
    }
    for (; i + BLOCK <= n; i += BLOCK) {
        float most = -INFINITY;
#pragma omp simd reduction(max : most)
        for (int j = 0; j < BLOCK; j++) most = greater(most, xs[i + j]);
        if (most > b.best[2])
            for (int j = 0; j < BLOCK; j++) take(&b, xs[i + j]);
    }
    for (; i < n; i++) take(&b, xs[i]);
    return b;
}

void peer_run(const int64_t *sizes, void *const *in, void *const *out) {
    const float *xs = in[0];
    float *to = out[0];
    const Rows rows = rows_of(in[1], sizes[1]);
    const int64_t *place = sums_before(in[1], rows.count, K, scratch(1, 8 * (rows.count + 1)));
    SMALL_ROWS(rows, r) {
        const Best b = best_of(xs + rows.start[r], row_length(&rows, r));
        for (int64_t j = place[r]; j < place[r + 1]; j++) to[j] = b.best[j - place[r]];
    }
    LARGE_ROWS(rows, r) {
        const float *row = xs + rows.start[r];
        const int64_t n = row_length(&rows, r);
        Best all = NONE;
#pragma omp parallel
        {
            const int t = omp_get_thread_num(), threads = omp_get_num_threads();
            const int64_t from = part_of(n, t, threads), end = part_of(n, t + 1, threads);
            const Best mine = best_of(row + from, end - from);
#pragma omp critical
            for (int j = 0; j < K; j++) take(&all, mine.best[j]);
        }
        for (int64_t j = place[r]; j < place[r + 1]; j++) to[j] = all.best[j - place[r]];
    }
}
