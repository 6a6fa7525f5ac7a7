/* The sum of each column. sizes: rows, columns. in: m f32 [rows columns]. out: f32 [columns]. */
#include "peer.h"

/* Sums of this many columns stay in a core's first cache while rows go by. */
enum { BLOCK = 2048, LANES = 64 };

/* Adds `rows` rows of `width` columns to `sums`, four rows at a time. */
static void add_rows(const float *restrict m, int64_t rows, int64_t stride, int64_t width, float *restrict sums) {
    int64_t i = 0;
    for (; i + 4 <= rows; i += 4) {
        const float *restrict a = m + i * stride, *restrict b = a + stride, *restrict c = b + stride,
                             *restrict d = c + stride;
#pragma omp simd
        for (int64_t j = 0; j < width; j++) sums[j] += (a[j] + b[j]) + (c[j] + d[j]);
    }
    for (; i < rows; i++)
#pragma omp simd
        for (int64_t j = 0; j < width; j++) sums[j] += m[i * stride + j];
}

/* A narrow matrix whose width divides LANES is a vector read in steps of LANES: lane l belongs to column
 * l modulo the width. */
static void narrow(const float *restrict m, int64_t rows, int64_t columns, float *restrict sums) {
    const int64_t total = rows * columns, steps = total / LANES;
    float lanes[LANES] = {0};
#pragma omp parallel for schedule(static) reduction(+ : lanes)
    for (int64_t s = 0; s < steps; s++)
#pragma omp simd
        for (int64_t l = 0; l < LANES; l++) lanes[l] += m[s * LANES + l];
    for (int64_t j = 0; j < columns; j++) sums[j] = 0;
    for (int64_t l = 0; l < LANES; l++) sums[l % columns] += lanes[l];
    for (int64_t k = steps * LANES; k < total; k++) sums[k % columns] += m[k];
}

void peer_run(const int64_t *sizes, void *const *in, void *const *out) {
    const int64_t rows = sizes[0], columns = sizes[1];
    const float *restrict m = in[0];
    float *restrict sums = out[0];
    const int threads = omp_get_max_threads();
    if (columns <= LANES && LANES % columns == 0) {
        narrow(m, rows, columns, sums);
    } else if (columns >= (int64_t)threads * BLOCK) {
        /* Wide: each thread has columns of its own. */
#pragma omp parallel for schedule(static)
        for (int64_t j = 0; j < columns; j += BLOCK) {
            const int64_t width = columns - j < BLOCK ? columns - j : BLOCK;
            memset(sums + j, 0, (size_t)width * sizeof *sums);
            add_rows(m + j, rows, columns, width, sums + j);
        }
    } else {
        /* In between: each thread has rows of its own, and their sums are added in the end. */
        memset(sums, 0, (size_t)columns * sizeof *sums);
#pragma omp parallel
        {
            const int t = omp_get_thread_num(), all = omp_get_num_threads();
            const int64_t from = rows * t / all, to = rows * (t + 1) / all;
            float *own = calloc((size_t)columns, sizeof *own);
            if (!own) abort();
            for (int64_t j = 0; j < columns; j += BLOCK) {
                const int64_t width = columns - j < BLOCK ? columns - j : BLOCK;
                add_rows(m + from * columns + j, to - from, columns, width, own + j);
            }
#pragma omp critical
            for (int64_t j = 0; j < columns; j++) sums[j] += own[j];
            free(own);
        }
    }
}
