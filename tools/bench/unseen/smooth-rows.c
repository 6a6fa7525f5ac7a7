/* Each row after twenty steps in which an item becomes the mean of itself and its neighbours; the ends stand for those
 * beyond them. in: xs f64 [n], lengths [k]. out: f64 [n]. */
#include "rows.h"

enum { STEPS = 20, LANES = 8 };

/* One step from `a` to `b`, which have an item to spare at either end. */
static inline void step(double *restrict a, double *restrict b, int64_t n) {
    a[0] = a[1];
    a[n + 1] = a[n];
#pragma omp simd
    for (int64_t i = 1; i <= n; i++) b[i] = (a[i - 1] + a[i] + a[i + 1]) * (1.0 / 3);
}

static inline void row(const double *restrict xs, double *restrict to, int64_t n, double *a, double *b) {
    memcpy(a + 1, xs, (size_t)n * sizeof *xs);
    for (int s = 0; s < STEPS; s += 2) {
        step(a, b, n);
        step(b, a, n);
    }
    memcpy(to, a + 1, (size_t)n * sizeof *to);
}

/* Short rows of one length, a row in each lane: what a step wrote into a vector, the next one reads as that vector. */
static inline void rows_of_16(const double *restrict xs, double *restrict to) {
    enum { N = 16 };
    double a[N + 2][LANES], b[N + 2][LANES];
    for (int i = 0; i < N; i++)
        for (int l = 0; l < LANES; l++) a[i + 1][l] = xs[l * N + i];
    for (int s = 0; s < STEPS; s += 2) {
        for (int half = 0; half < 2; half++) {
            double(*restrict from)[LANES] = half ? b : a, (*restrict into)[LANES] = half ? a : b;
            memcpy(from[0], from[1], sizeof *from);
            memcpy(from[N + 1], from[N], sizeof *from);
            for (int i = 1; i <= N; i++)
#pragma omp simd
                for (int l = 0; l < LANES; l++)
                    into[i][l] = (from[i - 1][l] + from[i][l] + from[i + 1][l]) * (1.0 / 3);
        }
    }
    for (int l = 0; l < LANES; l++)
        for (int i = 0; i < N; i++) to[l * N + i] = a[i + 1][l];
}

/* Whether this row and those behind it up to a row fill all lanes with 16 items each. */
static inline int are_rows_of_16(const Rows *rows, int64_t r, int64_t end) {
    if (r + LANES > end) return 0;
    for (int64_t l = 0; l < LANES; l++)
        if (row_length(rows, r + l) != 16) return 0;
    return 1;
}

void peer_run(const int64_t *sizes, void *const *in, void *const *out) {
    const double *xs = in[0];
    double *to = out[0];
    const Rows rows = rows_of(in[1], sizes[1]);
    int64_t longest = 0;
#pragma omp parallel for schedule(static) reduction(max : longest)
    for (int64_t r = 0; r < rows.count; r++)
        longest = row_length(&rows, r) > longest ? row_length(&rows, r) : longest;
    /* Both copies of a row of each thread, which the cache holds. */
    const int64_t room = (longest + 2 + 7) / 8 * 8;
    double *all = scratch(1, 2 * room * 8 * omp_get_max_threads());
    EACH_ROW(rows, r, end) {
        const int64_t n = row_length(&rows, r), at = rows.start[r];
        double *mine = all + 2 * room * omp_get_thread_num();
        if (are_rows_of_16(&rows, r, end)) {
            rows_of_16(xs + at, to + at);
            r += LANES - 1;
        } else row(xs + at, to + at, n, mine, mine + room);
    }
}
