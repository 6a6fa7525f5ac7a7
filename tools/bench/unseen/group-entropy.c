/* The entropy of the symbols, from 0 to 15, of each group, in bits. in: symbols i64 [n], lengths [k]. out: f64 [k]. */
#include "rows.h"
#include <math.h>

enum { SYMBOLS = 16, LANES = 4, KNOWN = 4096 };

typedef struct { int32_t of[LANES][SYMBOLS]; } Counts;

/* log n and n log n of small numbers. */
static double logs[SYMBOLS], table[KNOWN];

static inline double n_log_n(int64_t n) {
    return n < KNOWN ? table[n] : (double)n * log2((double)n);
}

/* Equal symbols next to each other do not wait for one another: each lane has counts of its own. */
static inline void count(Counts *c, const int64_t *xs, int64_t n) {
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int l = 0; l < LANES; l++) c->of[l][xs[i + l]]++;
    for (; i < n; i++) c->of[0][xs[i]]++;
}

static inline double entropy(const int64_t *counts, int64_t n) {
    double sum = 0;
    for (int s = 0; s < SYMBOLS; s++) sum += n_log_n(counts[s]);
    return (n_log_n(n) - sum) / (double)n;
}

static inline void add(int64_t *to, const Counts *c) {
    for (int l = 0; l < LANES; l++)
        for (int s = 0; s < SYMBOLS; s++) to[s] += c->of[l][s];
}

/* Of a group that has fewer items than there are symbols: each item adds the logarithm of its symbol's count. */
static inline double small_entropy(const int64_t *xs, int64_t n) {
    int32_t counts[SYMBOLS] = {0};
    double sum = 0;
    for (int64_t i = 0; i < n; i++) counts[xs[i]]++;
    for (int64_t i = 0; i < n; i++) sum += logs[counts[xs[i]]];
    return logs[n] - sum / (double)n;
}

void peer_run(const int64_t *sizes, void *const *in, void *const *out) {
    const int64_t *symbols = in[0];
    double *to = out[0];
    if (table[2] == 0)
        for (int n = 2; n < KNOWN; n++) {
            table[n] = n * log2(n);
            if (n < SYMBOLS) logs[n] = log2(n);
        }
    const Rows rows = rows_of(in[1], sizes[1]);
    SMALL_ROWS(rows, r) {
        const int64_t *row = symbols + rows.start[r], n = row_length(&rows, r);
        if (n < SYMBOLS) {
            to[r] = n == 1 ? 0 : small_entropy(row, n);
            continue;
        }
        int64_t counts[SYMBOLS] = {0};
        Counts c = {{{0}}};
        count(&c, row, n);
        add(counts, &c);
        to[r] = entropy(counts, n);
    }
    LARGE_ROWS(rows, r) {
        const int64_t *row = symbols + rows.start[r], n = row_length(&rows, r);
        int64_t counts[SYMBOLS] = {0};
#pragma omp parallel reduction(+ : counts)
        {
            const int t = omp_get_thread_num(), threads = omp_get_num_threads();
            const int64_t from = part_of(n, t, threads), end = part_of(n, t + 1, threads);
            Counts c = {{{0}}};
            count(&c, row + from, end - from);
            add(counts, &c);
        }
        to[r] = entropy(counts, n);
    }
}
