/* The greatest inner product of each query with any of the keys. in: queries f32 [n d], keys f32 [m d]. out: f32 [n]. */
#include "rows.h"
#include <math.h>
#ifdef __AVX__
#include <immintrin.h>
#endif

enum { KEYS = 16, QUERIES = 6, BLOCK = 96 };

typedef float Eight __attribute__((vector_size(32)));

static inline Eight greater(Eight a, Eight b) {
#ifdef __AVX__
    return (Eight)_mm256_max_ps((__m256)a, (__m256)b);
#else
    for (int l = 0; l < 8; l++) a[l] = a[l] > b[l] ? a[l] : b[l];
    return a;
#endif
}

/* Products of some queries with sixteen keys, whose items are side by side; the greatest so far, by lanes. */
static inline __attribute__((always_inline)) void products(const float *restrict queries, int64_t d,
                                                           const float *restrict keys, Eight *restrict most,
                                                           int count) {
    Eight sums[QUERIES][2] = {{{0}}};
    for (int64_t k = 0; k < d; k++) {
        const Eight x = *(const Eight *)(keys + k * KEYS), y = *(const Eight *)(keys + k * KEYS + 8);
        for (int q = 0; q < count; q++) {
            sums[q][0] += queries[q * d + k] * x;
            sums[q][1] += queries[q * d + k] * y;
        }
    }
    for (int q = 0; q < count; q++)
        for (int v = 0; v < 2; v++) most[q] = greater(sums[q][v], most[q]);
}

static inline float greatest(Eight lanes) {
    float most = lanes[0];
    for (int l = 1; l < 8; l++) most = lanes[l] > most ? lanes[l] : most;
    return most;
}

void peer_run(const int64_t *sizes, void *const *in, void *const *out) {
    const int64_t n = sizes[0], d = sizes[1], m = sizes[2], groups = (m + KEYS - 1) / KEYS;
    const float *queries = in[0], *keys = in[1];
    float *to = out[0], *packed = scratch(1, groups * KEYS * d * 4);
    const int64_t threads = omp_get_max_threads(), even = (n + threads - 1) / threads;
    const int64_t block = even < BLOCK ? even : BLOCK;
#pragma omp parallel
    {
        /* Where keys are missing, the last one stands again. */
#pragma omp for schedule(static)
        for (int64_t g = 0; g < groups; g++)
            for (int64_t l = 0; l < KEYS; l++) {
                const float *key = keys + (g * KEYS + l < m ? g * KEYS + l : m - 1) * d;
                for (int64_t k = 0; k < d; k++) packed[(g * d + k) * KEYS + l] = key[k];
            }
#pragma omp for schedule(dynamic, 1)
        for (int64_t b = 0; b < n; b += block) {
            const int64_t end = b + block < n ? b + block : n;
            Eight most[BLOCK];
            for (int64_t i = 0; i < BLOCK; i++) most[i] = (Eight){0} - INFINITY;
            for (int64_t g = 0; g < groups; g++) {
                const float *with = packed + g * d * KEYS;
                int64_t i = b;
                for (; i + QUERIES <= end; i += QUERIES) products(queries + i * d, d, with, most + i - b, QUERIES);
                for (; i < end; i++) products(queries + i * d, d, with, most + i - b, 1);
            }
            for (int64_t i = b; i < end; i++) to[i] = greatest(most[i - b]);
        }
    }
}
