/* The product of a sparse matrix in compressed rows and a vector. in: starts i64 [rows + 1], columns i64
 * [k], weights f32 [k], x f32 [m]. out: f32 [rows]. */
#include "../unseen/rows.h"

static inline float dot(const int64_t *columns, const float *weights, const float *x, int64_t n) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++) sum += weights[i] * x[columns[i]];
    return sum;
}

void peer_run(const int64_t *sizes, void *const *in, void *const *out) {
    const int64_t *columns = in[1];
    const float *weights = in[2], *x = in[3];
    float *to = out[0];
    const Rows rows = rows_at(in[0], sizes[0] - 1);
    SMALL_ROWS(rows, r) {
        const int64_t at = rows.start[r];
        to[r] = dot(columns + at, weights + at, x, row_length(&rows, r));
    }
    LARGE_ROWS(rows, r) {
        const int64_t n = row_length(&rows, r), at = rows.start[r];
        float sum = 0;
#pragma omp parallel reduction(+ : sum)
        {
            const int t = omp_get_thread_num(), threads = omp_get_num_threads();
            const int64_t from = at + part_of(n, t, threads), end = at + part_of(n, t + 1, threads);
            sum += dot(columns + from, weights + from, x, end - from);
        }
        to[r] = sum;
    }
}
