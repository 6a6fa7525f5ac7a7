/* The sum of the values at the places where queries are found among sorted keys: searches without branches, eight side by
 * side. in: keys i64 [n], xs f64 [n], queries i64 [m]. out: f64 []. */
#include "rows.h"
enum { L = 8 };
void peer_run(const int64_t *sizes, void *const *in, void *const *out) {
    const int64_t n = sizes[0], m = sizes[2], *keys = in[0], *qs = in[2];
    const double *xs = in[1];
    double sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (int64_t i = 0; i < m / L; i++) {
        const int64_t *at[L];
        for (int l = 0; l < L; l++) at[l] = keys;
        int64_t len = n;
        while (len > 1) {
            const int64_t half = len / 2;
            for (int l = 0; l < L; l++) at[l] += (at[l][half - 1] < qs[i * L + l]) * half;
            len -= half;
        }
        for (int l = 0; l < L; l++) sum += xs[at[l] - keys + (*at[l] < qs[i * L + l])];
    }
    for (int64_t i = m / L * L; i < m; i++) {
        int64_t low = 0, high = n;
        while (low < high) {
            const int64_t mid = (low + high) / 2;
            if (keys[mid] < qs[i]) low = mid + 1;
            else high = mid;
        }
        sum += xs[low];
    }
    *(double *)out[0] = sum;
}
