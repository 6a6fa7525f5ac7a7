/* How far each sum of a row's first items is below the greatest of those before it. in: xs f64 [n], lengths [k]. out:
 * f64 [n]. */
#include "rows.h"
#include <math.h>

static inline void row(const double *restrict xs, double *restrict to, int64_t n, double sum, double most) {
    for (int64_t i = 0; i < n; i++) {
        sum += xs[i];
        most = sum > most ? sum : most;
        to[i] = most - sum;
    }
}

/* Each thread's part is run through twice: for its sum and its greatest sum, and with what comes before it. */
static void row_by_all(const double *restrict xs, double *restrict to, int64_t n) {
    static double sums[MAX_THREADS], peaks[MAX_THREADS];
#pragma omp parallel
    {
        const int t = omp_get_thread_num(), threads = omp_get_num_threads();
        const int64_t from = part_of(n, t, threads), end = part_of(n, t + 1, threads);
        double sum = 0, most = -INFINITY;
        for (int64_t i = from; i < end; i++) {
            sum += xs[i];
            most = sum > most ? sum : most;
        }
        sums[t] = sum;
        peaks[t] = most;
#pragma omp barrier
        sum = 0;
        most = -INFINITY;
        for (int i = 0; i < t; i++) {
            most = sum + peaks[i] > most ? sum + peaks[i] : most;
            sum += sums[i];
        }
        row(xs + from, to + from, end - from, sum, most);
    }
}

void peer_run(const int64_t *sizes, void *const *in, void *const *out) {
    const double *xs = in[0];
    double *to = out[0];
    const Rows rows = rows_of(in[1], sizes[1]);
    SMALL_ROWS(rows, r) row(xs + rows.start[r], to + rows.start[r], row_length(&rows, r), 0, -INFINITY);
    LARGE_ROWS(rows, r) row_by_all(xs + rows.start[r], to + rows.start[r], row_length(&rows, r));
}
