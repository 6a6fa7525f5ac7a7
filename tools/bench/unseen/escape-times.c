/* Escape times of the points of a part of the plane, sixteen side by side. in: re f64 [w], im f64 [h]. out: i64 [h w]. */
#include "rows.h"
enum { LANES = 16, LIMIT = 200 };
void peer_run(const int64_t *sizes, void *const *in, void *const *out) {
    const int64_t w = sizes[0], h = sizes[1];
    const double *re = in[0], *im = in[1];
    int64_t *to = out[0];
#pragma omp parallel for schedule(dynamic, 4)
    for (int64_t i = 0; i < h; i++) {
        for (int64_t j = 0; j < w; j += LANES) {
            const int64_t m = w - j < LANES ? w - j : LANES;
            double cx[LANES], x[LANES] = {0}, y[LANES] = {0};
            int64_t n[LANES] = {0};
            const double cy = im[i];
            for (int64_t k = 0; k < LANES; k++) cx[k] = k < m ? re[j + k] : 4;
            for (int s = 0; s < LIMIT; s++) {
                int64_t in_any = 0;
#pragma omp simd reduction(| : in_any)
                for (int k = 0; k < LANES; k++) {
                    const double xx = x[k] * x[k], yy = y[k] * y[k];
                    const int64_t inside = xx + yy <= 4 ? 1 : 0;
                    n[k] += inside;
                    in_any |= inside;
                    const double xy = x[k] * y[k];
                    /* A point that has left goes on, to infinity at worst, and is never inside again. */
                    x[k] = cx[k] + (xx - yy);
                    y[k] = cy + 2 * xy;
                }
                if (!in_any) break;
            }
            memcpy(to + i * w + j, n, 8 * m);
        }
    }
}
