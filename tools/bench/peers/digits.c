/* The share of unknown images whose nearest known image has their label.
 * sizes: n (known), m (unknown), d. in: known f32 [n d], labels i64 [n], unknown f32 [m d], truth i64 [m].
 * out: f64 []. */
#include "peer.h"
#include <math.h>

/* So many known images are compared with an unknown one side by side, their distances in registers. */
enum { WIDTH = 16, VECTORS = 4, LANES = WIDTH * VECTORS };
typedef float vector __attribute__((vector_size(4 * WIDTH), aligned(64)));

void peer_run(const int64_t *sizes, void *const *in, void *const *out) {
    const int64_t n = sizes[0], m = sizes[1], d = sizes[2];
    const float *restrict known = in[0], *restrict unknown = in[2];
    const int64_t *restrict labels = in[1], *restrict truth = in[3];
    const int64_t groups = (n + LANES - 1) / LANES;
    /* The known images in groups of LANES, each with its pixels first: [groups d LANES]. Where a group has no
     * image left, there is one that is infinitely far away. */
    float *restrict grouped = aligned_alloc(64, sizeof(float) * (size_t)(groups * d * LANES + LANES));
    if (!grouped) abort();
    int64_t right = 0;
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (int64_t g = 0; g < groups; g++)
            for (int64_t l = 0; l < d; l++)
                for (int64_t k = 0; k < LANES; k++) {
                    const int64_t j = g * LANES + k;
                    grouped[(g * d + l) * LANES + k] = j < n ? known[j * d + l] : INFINITY;
                }
#pragma omp for schedule(static) reduction(+ : right)
        for (int64_t i = 0; i < m; i++) {
            const float *restrict image = unknown + i * d;
            float least = INFINITY;
            int64_t nearest = 0;
            for (int64_t g = 0; g < groups; g++) {
                vector sums[VECTORS] = {0};
                for (int64_t l = 0; l < d; l++) {
                    const vector *pixels = (const vector *)(grouped + (g * d + l) * LANES);
#pragma GCC unroll 4
                    for (int v = 0; v < VECTORS; v++) {
                        const vector e = pixels[v] - image[l];
                        sums[v] += e * e;
                    }
                }
                const float *distances = (const float *)sums;
                float best = INFINITY;
#pragma omp simd reduction(min : best)
                for (int64_t k = 0; k < LANES; k++) best = distances[k] < best ? distances[k] : best;
                /* The first of those that are as near: groups and images go in order. */
                if (best < least) {
                    least = best;
                    int64_t k = 0;
                    while (distances[k] != best) k++;
                    nearest = g * LANES + k;
                }
            }
            right += labels[nearest] == truth[i];
        }
    }
    free(grouped);
    *(double *)out[0] = (double)right / (double)m;
}
