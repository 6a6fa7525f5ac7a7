/* Which of a few centres is nearest to each point. in: points f32 [n d], centres f32 [k d]. out: i64 [n]. */
#include "rows.h"
#include <math.h>

enum { D = 8, K = 16, POINTS = 16 };

static int64_t nearest(const float *restrict point, const float *restrict centres, int64_t k, int64_t d) {
    float least = INFINITY;
    int64_t at = 0;
    for (int64_t c = 0; c < k; c++) {
        float sum = 0;
        for (int64_t j = 0; j < d; j++) sum += (point[j] - centres[c * d + j]) * (point[j] - centres[c * d + j]);
        if (sum < least) {
            least = sum;
            at = c;
        }
    }
    return at;
}

/* Sixteen points at a time, one in each lane of a vector. */
static inline void nearest_of_16(const float *restrict points, const float *restrict centres, int64_t *restrict to) {
    float lanes[D][POINTS], least[POINTS];
    int32_t at[POINTS];
    for (int j = 0; j < D; j++)
        for (int p = 0; p < POINTS; p++) lanes[j][p] = points[p * D + j];
    for (int p = 0; p < POINTS; p++) least[p] = INFINITY, at[p] = 0;
    for (int c = 0; c < K; c++) {
        float sums[POINTS] = {0};
        for (int j = 0; j < D; j++)
#pragma omp simd
            for (int p = 0; p < POINTS; p++)
                sums[p] += (lanes[j][p] - centres[c * D + j]) * (lanes[j][p] - centres[c * D + j]);
#pragma omp simd
        for (int p = 0; p < POINTS; p++) {
            at[p] = sums[p] < least[p] ? c : at[p];
            least[p] = sums[p] < least[p] ? sums[p] : least[p];
        }
    }
    for (int p = 0; p < POINTS; p++) to[p] = at[p];
}

void peer_run(const int64_t *sizes, void *const *in, void *const *out) {
    const int64_t n = sizes[0], d = sizes[1], k = sizes[2];
    const float *points = in[0], *centres = in[1];
    int64_t *to = out[0];
    const int64_t whole = d == D && k == K ? n / POINTS : 0;
#pragma omp parallel for schedule(static)
    for (int64_t b = 0; b < whole; b++)
        nearest_of_16(points + b * POINTS * D, centres, to + b * POINTS);
#pragma omp parallel for schedule(static)
    for (int64_t i = whole * POINTS; i < n; i++) to[i] = nearest(points + i * d, centres, k, d);
}
