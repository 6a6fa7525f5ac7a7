/* The softmax of each row. in: xs f32 [n], lengths [k]. out: f32 [n]. */
#include "rows.h"
#include <math.h>

/* The exponential of a number that is at most 0: 2^k times a polynomial on half a factor of two to either side, so
 * that a loop of it is one of vectors. */
static inline float exp_of(float x) {
    x = x < -87.0f ? -87.0f : x;
    const float k = rintf(x * 1.44269504f);
    /* Not to be reassociated: the first constant has so few bits that its product is exact. */
    const float r = fmaf(k, 2.12194440e-4f, fmaf(k, -0.693359375f, x));
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    union { int32_t bits; float value; } scale = {.bits = ((int32_t)k + 127) << 23};
    return p * scale.value;
}

/* Writes the exponentials of what is left of `most`; their sum. */
static inline float exponentials(const float *restrict xs, float *restrict to, int64_t n, float most) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++) {
        const float e = exp_of(xs[i] - most);
        to[i] = e;
        sum += e;
    }
    return sum;
}

/* A row of at most four is one vector. */
static inline void tiny_row(const float *restrict xs, float *restrict to, int64_t n) {
    float e[4], most = -INFINITY, sum = 0;
    for (int i = 0; i < 4; i++) e[i] = i < n ? xs[i] : -INFINITY;
    for (int i = 0; i < 4; i++) most = e[i] > most ? e[i] : most;
    for (int i = 0; i < 4; i++) e[i] = exp_of(e[i] - most);
    for (int i = 0; i < n; i++) sum += e[i];
    for (int i = 0; i < n; i++) to[i] = e[i] / sum;
}

static inline void row(const float *restrict xs, float *restrict to, int64_t n) {
    if (n <= 4) {
        tiny_row(xs, to, n);
        return;
    }
    float most = -INFINITY;
#pragma omp simd reduction(max : most)
    for (int64_t i = 0; i < n; i++) most = xs[i] > most ? xs[i] : most;
    const float scale = 1 / exponentials(xs, to, n, most);
#pragma omp simd
    for (int64_t i = 0; i < n; i++) to[i] *= scale;
}

/* A sum of so many floats would lose bits: blocks are added up in double precision. */
static void row_by_all(const float *restrict xs, float *restrict to, int64_t n) {
    enum { BLOCK = 4096 };
    float most = -INFINITY;
    double sum = 0;
#pragma omp parallel for simd schedule(static) reduction(max : most)
    for (int64_t i = 0; i < n; i++) most = xs[i] > most ? xs[i] : most;
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (int64_t b = 0; b < n; b += BLOCK)
        sum += exponentials(xs + b, to + b, b + BLOCK < n ? BLOCK : n - b, most);
    const float scale = (float)(1 / sum);
#pragma omp parallel for simd schedule(static)
    for (int64_t i = 0; i < n; i++) to[i] *= scale;
}

void peer_run(const int64_t *sizes, void *const *in, void *const *out) {
    const float *xs = in[0];
    float *to = out[0];
    const Rows rows = rows_of(in[1], sizes[1]);
    SMALL_ROWS(rows, r) row(xs + rows.start[r], to + rows.start[r], row_length(&rows, r));
    LARGE_ROWS(rows, r) row_by_all(xs + rows.start[r], to + rows.start[r], row_length(&rows, r));
}
