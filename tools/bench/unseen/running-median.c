/* The median of each five items, without a branch. in: xs f64 [n]. out: f64 [n - 4]. */
#include "rows.h"
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
void peer_run(const int64_t *sizes, void *const *in, void *const *out) {
    const int64_t n = sizes[0];
    const double *restrict x = in[0];
    double *restrict to = out[0];
#pragma omp parallel for simd schedule(static)
    for (int64_t i = 0; i < n - 4; i++) {
        const double a = x[i], b = x[i + 1], c = x[i + 2], d = x[i + 3], e = x[i + 4];
        const double f = MAX(MIN(a, b), MIN(c, d)), g = MIN(MAX(a, b), MAX(c, d));
        /* the median of e, f and g */
        to[i] = MAX(MIN(f, g), MIN(MAX(f, g), e));
    }
}
