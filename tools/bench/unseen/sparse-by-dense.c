/* The product of a sparse matrix and a matrix of few columns. in: lengths [n], columns i64 [k], weights f32 [k], m f32
 * [rows c]. out: f32 [n c]. */
#include "rows.h"

static inline void row(const int64_t *restrict columns, const float *restrict weights, int64_t from, int64_t end,
                       const float *restrict m, float *restrict to, int64_t c) {
    for (int64_t j = 0; j < c; j++) to[j] = 0;
    for (int64_t i = from; i < end; i++) {
        const float w = weights[i], *restrict with = m + columns[i] * c;
#pragma omp simd
        for (int64_t j = 0; j < c; j++) to[j] += w * with[j];
    }
}

/* Sums of eight columns stay in a register. */
static inline void row_of_8(const int64_t *restrict columns, const float *restrict weights, int64_t from, int64_t end,
                            const float *restrict m, float *restrict to) {
    float sums[8];
    row(columns, weights, from, end, m, sums, 8);
    memcpy(to, sums, sizeof sums);
}

void peer_run(const int64_t *sizes, void *const *in, void *const *out) {
    const int64_t *columns = in[1], c = sizes[4];
    const float *weights = in[2], *m = in[3];
    float *to = out[0];
    const Rows rows = rows_of(in[0], sizes[0]);
    SMALL_ROWS(rows, r) {
        if (c == 8) row_of_8(columns, weights, rows.start[r], rows.start[r + 1], m, to + 8 * r);
        else row(columns, weights, rows.start[r], rows.start[r + 1], m, to + c * r, c);
    }
    LARGE_ROWS(rows, r) {
        float *restrict sums = to + c * r;
        memset(sums, 0, (size_t)c * sizeof *sums);
#pragma omp parallel
        {
            const int t = omp_get_thread_num(), threads = omp_get_num_threads();
            const int64_t n = row_length(&rows, r), at = rows.start[r];
            const int64_t from = at + part_of(n, t, threads), end = at + part_of(n, t + 1, threads);
            float mine[c];
            if (c == 8) row_of_8(columns, weights, from, end, m, mine);
            else row(columns, weights, from, end, m, mine, c);
#pragma omp critical
            for (int64_t j = 0; j < c; j++) sums[j] += mine[j];
        }
    }
}
