/* The sum of each row. sizes: rows, columns. in: m f32 [rows columns]. out: f32 [rows]. */
#include "peer.h"


static float row_sum(const float *restrict row, int64_t columns) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < columns; j++) sum += row[j];
    return sum;
}

/* Rows of 4 columns lie one after another, so that one vector holds several of them. */
static void rows_of_4(const float *restrict m, float *restrict sums, int64_t rows) {
#pragma omp parallel for simd schedule(static)
    for (int64_t i = 0; i < rows; i++)
        sums[i] = (m[4 * i] + m[4 * i + 1]) + (m[4 * i + 2] + m[4 * i + 3]);
}

void peer_run(const int64_t *sizes, void *const *in, void *const *out) {
    const int64_t rows = sizes[0], columns = sizes[1];
    const float *restrict m = in[0];
    float *restrict sums = out[0];
    const int threads = omp_get_max_threads();
    if (columns == 4) {
        rows_of_4(m, sums, rows);
    } else if (rows >= 4 * threads) {
#pragma omp parallel for schedule(static)
        for (int64_t i = 0; i < rows; i++) sums[i] = row_sum(m + i * columns, columns);
    } else {
        /* Few rows: all threads on one row after another. */
        for (int64_t i = 0; i < rows; i++) {
            const float *restrict row = m + i * columns;
            float sum = 0;
#pragma omp parallel for simd schedule(static) reduction(+ : sum)
            for (int64_t j = 0; j < columns; j++) sum += row[j];
            sums[i] = sum;
        }
    }
}
