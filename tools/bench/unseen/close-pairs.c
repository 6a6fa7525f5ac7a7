/* How many pairs of items of each row are nearer than 0.01. in: xs f64 [n], lengths [k]. out: i64 [k]. */
#include "rows.h"
#include <math.h>

/* How many items of a row are near item i and stand behind it. */
static inline int64_t behind(const double *restrict xs, int64_t i, int64_t n) {
    const double x = xs[i];
    int64_t count = 0;
#pragma omp simd reduction(+ : count)
    for (int64_t j = i + 1; j < n; j++) count += fabs(x - xs[j]) < 0.01;
    return count;
}

void peer_run(const int64_t *sizes, void *const *in, void *const *out) {
    const double *xs = in[0];
    int64_t *to = out[0];
    const Rows rows = rows_of(in[1], sizes[1]);
    SMALL_ROWS(rows, r) {
        const int64_t n = row_length(&rows, r);
        int64_t count = 0;
        for (int64_t i = 0; i < n; i++) count += behind(xs + rows.start[r], i, n);
        to[r] = count;
    }
    LARGE_ROWS(rows, r) {
        const int64_t n = row_length(&rows, r);
        int64_t count = 0;
#pragma omp parallel for schedule(dynamic, 16) reduction(+ : count)
        for (int64_t i = 0; i < n; i++) count += behind(xs + rows.start[r], i, n);
        to[r] = count;
    }
}
