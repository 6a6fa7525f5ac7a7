/* The mean of each item of a row and two to either side, of which the ends stand for those beyond them. in: xs f32 [n],
 * lengths [k]. out: f32 [n]. */
#include "rows.h"

/* One item, wherever it is. */
static inline float at(const float *xs, int64_t i, int64_t n) {
    float sum = 0;
    for (int64_t j = i - 2; j <= i + 2; j++) sum += xs[j < 0 ? 0 : j >= n ? n - 1 : j];
    return sum * 0.2f;
}

static inline float inside(const float *xs, int64_t i) {
    return (xs[i - 2] + xs[i - 1] + xs[i] + xs[i + 1] + xs[i + 2]) * 0.2f;
}

static inline void ends(const float *restrict xs, float *restrict to, int64_t n) {
    for (int64_t i = 0; i < 2; i++) to[i] = at(xs, i, n);
    for (int64_t i = n - 2; i < n; i++) to[i] = at(xs, i, n);
}

static inline void row(const float *restrict xs, float *restrict to, int64_t n) {
    if (n < 4) {
        for (int64_t i = 0; i < n; i++) to[i] = at(xs, i, n);
        return;
    }
    ends(xs, to, n);
#pragma omp simd
    for (int64_t i = 2; i < n - 2; i++) to[i] = inside(xs, i);
}

static void row_by_all(const float *restrict xs, float *restrict to, int64_t n) {
    ends(xs, to, n);
#pragma omp parallel for simd schedule(static)
    for (int64_t i = 2; i < n - 2; i++) to[i] = inside(xs, i);
}

void peer_run(const int64_t *sizes, void *const *in, void *const *out) {
    const float *xs = in[0];
    float *to = out[0];
    const Rows rows = rows_of(in[1], sizes[1]);
    SMALL_ROWS(rows, r) row(xs + rows.start[r], to + rows.start[r], row_length(&rows, r));
    LARGE_ROWS(rows, r) row_by_all(xs + rows.start[r], to + rows.start[r], row_length(&rows, r));
}
