/* The sum of xs. sizes: n. in: xs f32 [n]. out: f32 []. */
#include "peer.h"

/* Blocks are summed in LANES floats, which are enough vectors to hide the latency of an addition, and added up
 * in double precision: one float that grows would lose the small ones. */
enum { LANES = 64, BLOCK = 1 << 14 };

void peer_run(const int64_t *sizes, void *const *in, void *const *out) {
    const int64_t n = sizes[0];
    const float *restrict xs = in[0];
    double sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (int64_t b = 0; b < n; b += BLOCK) {
        const int64_t end = b + BLOCK < n ? b + BLOCK : n;
        float lanes[LANES] = {0}, here = 0;
        int64_t i = b;
        for (; i + LANES <= end; i += LANES)
#pragma omp simd
            for (int64_t l = 0; l < LANES; l++) lanes[l] += xs[i + l];
        for (; i < end; i++) here += xs[i];
        for (int64_t l = 0; l < LANES; l++) here += lanes[l];
        sum += here;
    }
    *(float *)out[0] = (float)sum;
}
