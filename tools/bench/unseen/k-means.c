/* One step of k-means: the mean of the points that are nearest to each centre, or the centre where there are none. in:
 * points f64 [n d], centres f64 [k d]. out: f64 [k d]. */
#include "rows.h"
#include <math.h>

enum { D = 8, POINTS = 16 };

typedef double Four __attribute__((vector_size(32)));
typedef int64_t Places __attribute__((vector_size(32)));

/* The nearest centre has the least half square less the product with the point. */
static int64_t nearest(const double *restrict point, const double *restrict centres, const double *restrict halves,
                       int64_t k, int64_t d) {
    double least = INFINITY;
    int64_t at = 0;
    for (int64_t c = 0; c < k; c++) {
        double sum = halves[c];
        for (int64_t j = 0; j < d; j++) sum -= point[j] * centres[c * d + j];
        at = sum < least ? c : at;
        least = sum < least ? sum : least;
    }
    return at;
}

/* Four points become the lanes of their items. */
static inline void turn(const double *restrict points, Four *restrict to) {
    Four x[4];
    for (int p = 0; p < 4; p++) memcpy(x + p, points + p * D, sizeof *x);
    const Four a = __builtin_shuffle(x[0], x[1], (Places){0, 4, 2, 6});
    const Four b = __builtin_shuffle(x[0], x[1], (Places){1, 5, 3, 7});
    const Four c = __builtin_shuffle(x[2], x[3], (Places){0, 4, 2, 6});
    const Four d = __builtin_shuffle(x[2], x[3], (Places){1, 5, 3, 7});
    to[0] = __builtin_shuffle(a, c, (Places){0, 1, 4, 5});
    to[1] = __builtin_shuffle(b, d, (Places){0, 1, 4, 5});
    to[2] = __builtin_shuffle(a, c, (Places){2, 3, 6, 7});
    to[3] = __builtin_shuffle(b, d, (Places){2, 3, 6, 7});
}

/* Sixteen points at a time, one in each lane of four vectors. */
static inline void nearest_of_16(const double *restrict points, const double *restrict centres,
                                 const double *restrict halves, int64_t k, int64_t *restrict to) {
    Four lanes[POINTS / 4][D], least[POINTS / 4];
    Places at[POINTS / 4] = {{0}};
    for (int p = 0; p < POINTS / 4; p++) {
        for (int j = 0; j < D; j += 4) turn(points + p * 4 * D + j, lanes[p] + j);
        least[p] = (Four){0} + INFINITY;
    }
    for (int64_t c = 0; c < k; c++) {
        Four sums[POINTS / 4];
        for (int p = 0; p < POINTS / 4; p++) sums[p] = (Four){0} + halves[c];
        for (int j = 0; j < D; j++)
            for (int p = 0; p < POINTS / 4; p++) sums[p] -= lanes[p][j] * centres[c * D + j];
        for (int p = 0; p < POINTS / 4; p++) {
            /* All bits of a lane that is nearer are set. */
            const Places nearer = sums[p] < least[p];
            at[p] = (at[p] & ~nearer) | (c & nearer);
            least[p] = (Four)(((Places)least[p] & ~nearer) | ((Places)sums[p] & nearer));
        }
    }
    memcpy(to, at, sizeof at);
}

static inline __attribute__((always_inline)) void add(const double *restrict point, double *restrict sums,
                                                      double *restrict counts, int64_t at, int64_t d) {
    counts[at]++;
#pragma omp simd
    for (int64_t j = 0; j < d; j++) sums[at * d + j] += point[j];
}

void peer_run(const int64_t *sizes, void *const *in, void *const *out) {
    const int64_t n = sizes[0], d = sizes[1], k = sizes[2];
    const double *points = in[0], *centres = in[1];
    double *to = out[0], halves[k], counts[k];
    memset(to, 0, (size_t)(k * d) * sizeof *to);
    for (int64_t c = 0; c < k; c++) {
        halves[c] = counts[c] = 0;
        for (int64_t j = 0; j < d; j++) halves[c] += centres[c * d + j] * centres[c * d + j] / 2;
    }
    const int64_t whole = d == D ? n / POINTS : 0;
#pragma omp parallel
    {
        double mine[k * d], mine_counts[k];
        memset(mine, 0, sizeof mine);
        memset(mine_counts, 0, sizeof mine_counts);
#pragma omp for schedule(static) nowait
        for (int64_t b = 0; b < whole; b++) {
            int64_t at[POINTS];
            nearest_of_16(points + b * POINTS * D, centres, halves, k, at);
            for (int p = 0; p < POINTS; p++) add(points + (b * POINTS + p) * D, mine, mine_counts, at[p], D);
        }
#pragma omp for schedule(static)
        for (int64_t i = whole * POINTS; i < n; i++)
            add(points + i * d, mine, mine_counts, nearest(points + i * d, centres, halves, k, d), d);
#pragma omp critical
        {
            for (int64_t i = 0; i < k * d; i++) to[i] += mine[i];
            for (int64_t c = 0; c < k; c++) counts[c] += mine_counts[c];
        }
    }
    for (int64_t i = 0; i < k * d; i++) to[i] = counts[i / d] > 0 ? to[i] / counts[i / d] : centres[i];
}
