/* Runs of equal grey levels decoded, each to the power of 1 / 2.2. in: levels f32 [k], counts i64 [k]. out: f32 [n]. */
#include "rows.h"
#include <math.h>

enum { BLOCK = 256, SHORT = 16 };

/* x to the power of 1 / 2.2, for x from 0 to 1: logarithm and exponential to the base of 2, both by series. */
static inline float corrected(float x) {
    union { float value; int32_t bits; } u = {.value = x};
    /* x is 2^k m, with m from √½ to √2. */
    const int32_t k = (u.bits - 0x3f3504f3) >> 23;
    u.bits -= k << 23;
    const float s = (u.value - 1) / (u.value + 1), q = s * s;
    const float log = 2.885390082f * s * (1 + q * (0.333333333f + q * (0.2f + q * (0.142857143f + q * 0.111111111f))));
    /* The whole part stays apart, so that the sum does not lose bits. */
    const float y = ((float)k + log) * (1 / 2.2f);
    const float whole = rintf(y);
    const float f = y - whole;
    float p = 1.535336188e-4f;
    p = p * f + 1.339887440e-3f;
    p = p * f + 9.618437357e-3f;
    p = p * f + 5.550332548e-2f;
    p = p * f + 2.402264791e-1f;
    p = p * f + 6.931472028e-1f;
    p = p * f + 1;
    union { int32_t bits; float value; } scale = {.bits = ((int32_t)whole + 127) << 23};
    return x < 1.17549435e-38f ? 0 : p * scale.value;
}

void peer_run(const int64_t *sizes, void *const *in, void *const *out) {
    const float *levels = in[0];
    const int64_t *counts = in[1], k = sizes[0];
    float *to = out[0];
    const int64_t *start = sums_before(counts, k, INT64_MAX, scratch(0, 8 * (k + 1)));
    const int64_t total = start[k];
#pragma omp parallel for schedule(static)
    for (int64_t b = 0; b < k; b += BLOCK) {
        const int64_t end = b + BLOCK < k ? b + BLOCK : k, limit = start[end];
        float values[BLOCK];
#pragma omp simd
        for (int64_t i = b; i < end; i++) values[i - b] = corrected(levels[i]);
        for (int64_t i = b; i < end; i++) {
            const float value = values[i - b];
            const int64_t at = start[i];
            /* Two vectors, of which what is behind the run is written over by the next ones, if they are this block's. */
            if (at + SHORT <= limit && at + SHORT <= total) {
                for (int j = 0; j < SHORT; j++) to[at + j] = value;
                for (int64_t j = at + SHORT; j < start[i + 1]; j++) to[j] = value;
            } else
                for (int64_t j = at; j < start[i + 1]; j++) to[j] = value;
        }
    }
}
