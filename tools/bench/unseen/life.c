/* The game of life on a torus, 50 generations: boards with a border of one cell, renewed each time. in: board u8 [h w].
 * out: u8 [h w]. */
#include "rows.h"
void peer_run(const int64_t *sizes, void *const *in, void *const *out) {
    const int64_t h = sizes[0], w = sizes[1], W = w + 2;
    const uint8_t *board = in[0];
    uint8_t *to = out[0];
    uint8_t *mem[2] = {scratch(1, (h + 2) * W), scratch(2, (h + 2) * W)};
#pragma omp parallel
    {
        uint8_t sums[W];
#pragma omp for schedule(static)
        for (int64_t i = 0; i < h; i++) {
            uint8_t *r = mem[0] + (i + 1) * W;
            memcpy(r + 1, board + i * w, w);
            r[0] = r[w]; r[w + 1] = r[1];
        }
        for (int g = 0; g < 50; g++) {
            uint8_t *a = mem[g & 1], *b = mem[(g + 1) & 1];
#pragma omp for schedule(static)
            for (int64_t i = 1; i <= h; i++) {
                const uint8_t *restrict up = a + (i == 1 ? h : i - 1) * W, *restrict me = a + i * W,
                              *restrict dn = a + (i == h ? 1 : i + 1) * W;
                uint8_t *restrict r = b + i * W;
#pragma omp simd
                for (int64_t j = 0; j < W; j++) sums[j] = up[j] + me[j] + dn[j];
#pragma omp simd
                for (int64_t j = 1; j <= w; j++) {
                    const uint8_t n = sums[j - 1] + sums[j] + sums[j + 1];
                    r[j] = (n == 3) | ((n == 4) & me[j]);
                }
                r[0] = r[w]; r[w + 1] = r[1];
            }
        }
#pragma omp for schedule(static)
        for (int64_t i = 0; i < h; i++) memcpy(to + i * w, mem[0] + (i + 1) * W + 1, w);
    }
}
