/* The items of each row that are above its mean. in: xs f64 [n], lengths [k]. out: f64 [as many as that is]. Each row
 * is kept where it begins, and copied to where it goes when all are counted. */
#include "rows.h"

static inline double sum_of(const double *restrict xs, int64_t n) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++) sum += xs[i];
    return sum;
}

/* How many are kept; without a branch, which nobody could foresee. */
static inline int64_t keep(const double *restrict xs, int64_t n, double mean, double *restrict to) {
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++) {
        to[kept] = xs[i];
        kept += xs[i] > mean;
    }
    return kept;
}

void peer_run(const int64_t *sizes, void *const *in, void *const *out) {
    const double *xs = in[0];
    double *to = out[0];
    const Rows rows = rows_of(in[1], sizes[1]);
    /* What is kept of a row may be followed by one item more. */
    double *room = scratch(1, 8 * (rows.items + rows.count + 1 + MAX_THREADS));
    int64_t *counts = scratch(2, 8 * (2 * rows.count + 1)), *place = counts + rows.count;
    SMALL_ROWS(rows, r) {
        const double *row = xs + rows.start[r];
        const int64_t n = row_length(&rows, r);
        counts[r] = keep(row, n, sum_of(row, n) / n, room + rows.start[r] + r);
    }
    LARGE_ROWS(rows, r) {
        const double *row = xs + rows.start[r];
        const int64_t n = row_length(&rows, r);
        static int64_t parts[MAX_THREADS + 1];
        double sum = 0;
        int threads = 1;
#pragma omp parallel
        {
            const int t = omp_get_thread_num();
#pragma omp single
            threads = omp_get_num_threads();
            const int64_t from = part_of(n, t, threads), end = part_of(n, t + 1, threads);
            const double mine = sum_of(row + from, end - from);
#pragma omp critical
            sum += mine;
#pragma omp barrier
            int64_t kept = 0;
            for (int64_t i = from; i < end; i++) kept += row[i] > sum / n;
            parts[t + 1] = kept;
#pragma omp barrier
#pragma omp single
            for (int i = parts[0] = 0; i < threads; i++) parts[i + 1] += parts[i];
            double *at = room + rows.start[r] + r + parts[t];
            for (int64_t i = from; i < end; i++)
                if (row[i] > sum / n) *at++ = row[i];
        }
        counts[r] = parts[threads];
    }
    sums_before(counts, rows.count, INT64_MAX, place);
    EACH_ROW(rows, r, end)
        memcpy(to + place[r], room + rows.start[r] + r, 8 * (size_t)(place[r + 1] - place[r]));
}
