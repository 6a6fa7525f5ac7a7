/* The gradient of a logistic regression: the mean of all points, each times what its prediction has too much. in: points
 * f64 [n d], labels f64 [n], weights f64 [d]. out: f64 [d]. */
#include "rows.h"
#include <math.h>

enum { D = 32, BLOCK = 64 };

/* 2^k times a series on half a factor of two to either side, so that a loop of it is one of vectors. */
static inline double exp_of(double x) {
    x = x < -700 ? -700 : x > 700 ? 700 : x;
    const double k = rint(x * 1.4426950408889634);
    const double r = fma(k, -1.90821492927058770002e-10, fma(k, -6.93147180369123816490e-01, x));
    double p = 1.0 / 479001600;
    p = p * r + 1.0 / 39916800;
    p = p * r + 1.0 / 3628800;
    p = p * r + 1.0 / 362880;
    p = p * r + 1.0 / 40320;
    p = p * r + 1.0 / 5040;
    p = p * r + 1.0 / 720;
    p = p * r + 1.0 / 120;
    p = p * r + 1.0 / 24;
    p = p * r + 1.0 / 6;
    p = p * r + 0.5;
    p = p * r * r + r + 1;
    union { int64_t bits; double value; } scale = {.bits = (int64_t)((int32_t)k + 1023) << 52};
    return p * scale.value;
}

/* Adds what a block of points gives. All of it is in the first cache when it is read the second time. */
static inline __attribute__((always_inline)) void block(const double *restrict points, const double *restrict labels,
                                                        const double *restrict weights, double *restrict sums,
                                                        int64_t n, int64_t d) {
    double errors[BLOCK];
    for (int64_t i = 0; i < n; i++) {
        double at = 0;
#pragma omp simd reduction(+ : at)
        for (int64_t j = 0; j < d; j++) at += points[i * d + j] * weights[j];
        errors[i] = at;
    }
#pragma omp simd
    for (int64_t i = 0; i < n; i++) errors[i] = 1 / (1 + exp_of(-errors[i])) - labels[i];
    for (int64_t i = 0; i < n; i++)
#pragma omp simd
        for (int64_t j = 0; j < d; j++) sums[j] += errors[i] * points[i * d + j];
}

/* The sums of so few columns stay in registers. */
static void block_of_32(const double *restrict points, const double *restrict labels, const double *restrict weights,
                        double *restrict sums, int64_t n) {
    double mine[D];
    memcpy(mine, sums, sizeof mine);
    block(points, labels, weights, mine, n, D);
    memcpy(sums, mine, sizeof mine);
}

void peer_run(const int64_t *sizes, void *const *in, void *const *out) {
    const int64_t n = sizes[0], d = sizes[1];
    const double *points = in[0], *labels = in[1], *weights = in[2];
    double *to = out[0];
    memset(to, 0, (size_t)d * sizeof *to);
#pragma omp parallel
    {
        double sums[d];
        memset(sums, 0, sizeof sums);
#pragma omp for schedule(static)
        for (int64_t i = 0; i < n; i += BLOCK) {
            const int64_t count = i + BLOCK < n ? BLOCK : n - i;
            if (d == D) block_of_32(points + i * d, labels + i, weights, sums, count);
            else block(points + i * d, labels + i, weights, sums, count, d);
        }
#pragma omp critical
        for (int64_t j = 0; j < d; j++) to[j] += sums[j];
    }
    for (int64_t j = 0; j < d; j++) to[j] /= (double)n;
}
