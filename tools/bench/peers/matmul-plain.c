/* Matrix product, the plain loops in their best order. sizes: m, n, k.
 * in: a f32 [m n], b f32 [n k]. out: f32 [m k]. */
#include "peer.h"

void peer_run(const int64_t *sizes, void *const *in, void *const *out) {
    const int64_t m = sizes[0], n = sizes[1], k = sizes[2];
    const float *restrict a = in[0], *restrict b = in[1];
    float *restrict c = out[0];
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < m; i++) {
        memset(c + i * k, 0, (size_t)k * sizeof *c);
        for (int64_t l = 0; l < n; l++)
            for (int64_t j = 0; j < k; j++) c[i * k + j] += a[i * n + l] * b[l * k + j];
    }
}
