/* Weighted sums of the 5 by 5 pixels around each, the border repeated beyond it. in: image f32 [h w], weights f32 [5 5].
 * out: f32 [h w]. */
#include "rows.h"
void peer_run(const int64_t *sizes, void *const *in, void *const *out) {
    const int64_t h = sizes[0], w = sizes[1], W = w + 4;
    const float *image = in[0], *kernel = in[1];
    float *to = out[0];
    float k[5][5];
    memcpy(k, kernel, sizeof k);
#pragma omp parallel
    {
        /* Five rows with their borders; row i is in place i % 5. */
        float *ring = malloc(5 * W * sizeof *ring);
        const int t = omp_get_thread_num(), m = omp_get_num_threads();
        const int64_t from = h * t / m, end = h * (t + 1) / m;
        int64_t next = from - 2;
        for (int64_t i = from; i < end; i++) {
            for (; next <= i + 2; next++) {
                const float *r = image + (next < 0 ? 0 : next >= h ? h - 1 : next) * w;
                float *b = ring + (next + 5) % 5 * W;
                memcpy(b + 2, r, w * sizeof *r);
                b[0] = b[1] = r[0];
                b[w + 2] = b[w + 3] = r[w - 1];
            }
            const float *rows[5];
            for (int y = 0; y < 5; y++) rows[y] = ring + (i - 2 + y + 5) % 5 * W;
            const float *restrict r0 = rows[0], *restrict r1 = rows[1], *restrict r2 = rows[2], *restrict r3 = rows[3],
                        *restrict r4 = rows[4];
            float *restrict o = to + i * w;
#pragma omp simd
            for (int64_t j = 0; j < w; j++) {
                float s = 0;
                for (int x = 0; x < 5; x++)
                    s += k[0][x] * r0[j + x] + k[1][x] * r1[j + x] + k[2][x] * r2[j + x] + k[3][x] * r3[j + x] +
                         k[4][x] * r4[j + x];
                o[j] = s;
            }
        }
        free(ring);
    }
}
