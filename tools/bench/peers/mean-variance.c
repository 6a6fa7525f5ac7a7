/* Mean and variance in one pass over the data. sizes: n. in: xs f32 [n]. out: f32 [2]. */
#include "peer.h"

/* As in sum.c. */
enum { LANES = 64, BLOCK = 1 << 14 };

void peer_run(const int64_t *sizes, void *const *in, void *const *out) {
    const int64_t n = sizes[0];
    const float *restrict xs = in[0];
    double sum = 0, squares = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum, squares)
    for (int64_t b = 0; b < n; b += BLOCK) {
        const int64_t end = b + BLOCK < n ? b + BLOCK : n;
        float lanes[LANES] = {0}, square_lanes[LANES] = {0}, here = 0, squares_here = 0;
        int64_t i = b;
        for (; i + LANES <= end; i += LANES)
#pragma omp simd
            for (int64_t l = 0; l < LANES; l++) {
                const float x = xs[i + l];
                lanes[l] += x;
                square_lanes[l] += x * x;
            }
        for (; i < end; i++) {
            here += xs[i];
            squares_here += xs[i] * xs[i];
        }
        for (int64_t l = 0; l < LANES; l++) {
            here += lanes[l];
            squares_here += square_lanes[l];
        }
        sum += here;
        squares += squares_here;
    }
    const double mean = sum / (double)n;
    ((float *)out[0])[0] = (float)mean;
    ((float *)out[0])[1] = (float)(squares / (double)n - mean * mean);
}
