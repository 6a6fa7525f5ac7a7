/* The places of the five nearest points of each query: the squares of all its distances in blocks, a block being looked
 * through only if its least one is near enough. in: queries f64 [m 3], points f64 [n 3]. out: i64 [m 5]. */
#include "rows.h"
#include <math.h>
enum { K = 5, B = 64 };
void peer_run(const int64_t *sizes, void *const *in, void *const *out) {
    const int64_t m = sizes[0], n = sizes[2];
    const double *q = in[0], *p = in[1];
    int64_t *places = out[0];
    const int64_t N = (n + B - 1) / B * B;
    double *xs = scratch(1, 24 * N);
    double *restrict X = xs, *restrict Y = xs + N, *restrict Z = xs + 2 * N;
    for (int64_t i = 0; i < N; i++) {
        X[i] = i < n ? p[3 * i] : INFINITY, Y[i] = i < n ? p[3 * i + 1] : 0, Z[i] = i < n ? p[3 * i + 2] : 0;
    }
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < m; i++) {
        const double x = q[3 * i], y = q[3 * i + 1], z = q[3 * i + 2];
        double best[K];
        int64_t at[K];
        for (int k = 0; k < K; k++) best[k] = INFINITY, at[k] = 0;
        for (int64_t b = 0; b < N; b += B) {
            double d[B], least = INFINITY;
#pragma omp simd reduction(min : least)
            for (int j = 0; j < B; j++) {
                const double dx = X[b + j] - x, dy = Y[b + j] - y, dz = Z[b + j] - z;
                d[j] = dx * dx + dy * dy + dz * dz;
                least = d[j] < least ? d[j] : least;
            }
            if (least >= best[K - 1]) continue;
            for (int j = 0; j < B; j++) {
                if (d[j] >= best[K - 1]) continue;
                int k = K - 1;
                for (; k > 0 && best[k - 1] > d[j]; k--) best[k] = best[k - 1], at[k] = at[k - 1];
                best[k] = d[j];
                at[k] = b + j;
            }
        }
        for (int k = 0; k < K; k++) places[K * i + k] = at[k];
    }
}
