/* Each row in ascending order. in: xs f32 [n], lengths [k]. out: f32 [n].
 *
 * Up to 4 items are exchanged in pairs, up to 16 put where their ranks say. Rows of some hundreds are
 * merged from such pieces, longer ones sorted by digits of their bits, the last digit first; of a large
 * row, all threads count digits and move items. */
#include "pieces.h"
#include <math.h>

#define BEFORE(a, b) ((a) < (b))
#define LAST INFINITY
#include "order.h"

enum { MERGED = 256, LONG = 4096, DIGITS = 2048 };

/* A row of up to 16, or part of one. */
static inline void short_row(const float *restrict xs, float *restrict to, int64_t n) {
    float sorted[LANES];
    if (n <= TINY) {
        order_tiny(xs, n, sorted);
        for (int64_t i = 0; i < n; i++) to[i] = sorted[i];
        return;
    }
    order_short(xs, n, sorted);
    store_first(to, n, load(sorted));
}

/* Merges a[0..m) and b[0..n). No branch depends on which item is less. */
static inline void merge(const float *a, int64_t m, const float *b, int64_t n, float *restrict to) {
    const float *const a_end = a + m, *const b_end = b + n;
    while (a < a_end && b < b_end) {
        const float x = *a, y = *b;
        const int64_t second = y < x;
        *to++ = second ? y : x;
        a += 1 - second;
        b += second;
    }
    for (; a < a_end; a++) *to++ = *a;
    for (; b < b_end; b++) *to++ = *b;
}

/* Two runs of one length, from both ends at once, so that two items are on their way at a time. */
static inline void merge_equal(const float *a, int64_t m, float *restrict to) {
    const float *b = a + m, *a_last = b - 1, *b_last = b + m - 1;
    for (int64_t i = 0, j = 2 * m - 1; i < m; i++, j--) {
        const float x = *a, y = *b, u = *a_last, v = *b_last;
        const int64_t second = y < x, first = v < u;
        to[i] = second ? y : x;
        to[j] = first ? u : v;
        a += 1 - second;
        b += second;
        a_last -= first;
        b_last -= 1 - first;
    }
}

/* Pieces of 16 are made in that of two arrays from which the last merge ends in `to`. */
static inline void by_merging(const float *restrict xs, float *restrict to, int64_t n, float *restrict room) {
    int levels = 0;
    for (int64_t run = LANES; run < n; run *= 2) levels++;
    float *from = levels % 2 ? room : to, *into = levels % 2 ? to : room;
    for (int64_t i = 0; i < n; i += LANES) short_row(xs + i, from + i, i + LANES < n ? LANES : n - i);
    for (int64_t run = LANES; run < n; run *= 2) {
        for (int64_t i = 0; i < n; i += 2 * run) {
            const int64_t left = n - i;
            if (left >= 2 * run) merge_equal(from + i, run, into + i);
            else if (left > run) merge(from + i, run, from + i + run, left - run, into + i);
            else memcpy(into + i, from + i, (size_t)left * sizeof *to);
        }
        float *const other = from;
        from = into;
        into = other;
    }
}

/* Bits whose order as numbers is that of the floats, and back. */
static inline uint32_t key_of(float x) {
    union { float value; uint32_t bits; } u = {.value = x};
    return u.bits ^ ((uint32_t)((int32_t)u.bits >> 31) | 0x80000000u);
}

static inline float float_of(uint32_t key) {
    union { uint32_t bits; float value; } u = {.bits = key ^ ((uint32_t)((int32_t)~key >> 31) | 0x80000000u)};
    return u.value;
}

/* All digits are counted in one pass, and each takes one more. */
static inline void by_digits(const float *restrict xs, float *restrict to, int64_t n, uint32_t *restrict a,
                             uint32_t *restrict b, const int bits, const int passes) {
    uint32_t counts[4][DIGITS];
    const uint32_t mask = (1u << bits) - 1;
    for (int p = 0; p < passes; p++) memset(counts[p], 0, sizeof(uint32_t) << bits);
    for (int64_t i = 0; i < n; i++) {
        const uint32_t key = a[i] = key_of(xs[i]);
        for (int p = 0; p < passes; p++) counts[p][key >> (p * bits) & mask]++;
    }
    for (int p = 0; p < passes; p++) {
        uint32_t sum = 0;
        for (uint32_t d = 0; d <= mask; d++) {
            const uint32_t count = counts[p][d];
            counts[p][d] = sum;
            sum += count;
        }
    }
    for (int p = 0; p < passes; p++) {
        const uint32_t *restrict from = p % 2 ? b : a;
        if (p == passes - 1) {
            for (int64_t i = 0; i < n; i++) to[counts[p][from[i] >> (p * bits) & mask]++] = float_of(from[i]);
        } else {
            uint32_t *restrict into = p % 2 ? a : b;
            for (int64_t i = 0; i < n; i++) into[counts[p][from[i] >> (p * bits) & mask]++] = from[i];
        }
    }
}

static void row(const float *restrict xs, float *restrict to, int64_t n, uint32_t *restrict a,
                uint32_t *restrict b) {
    if (n <= LANES) short_row(xs, to, n);
    else if (n <= MERGED) {
        float room[MERGED];
        by_merging(xs, to, n, room);
    } else if (n <= LONG) by_digits(xs, to, n, a, b, 8, 4);
    else by_digits(xs, to, n, a, b, 11, 3);
}

/* One pass over a digit: places are those of lesser digits, and among equal ones those of threads before. */
static void pass_by_all(const uint32_t *restrict from, uint32_t *restrict into, int64_t n, int shift) {
    static uint32_t counts[MAX_THREADS][DIGITS];
#pragma omp parallel
    {
        const int t = omp_get_thread_num(), threads = omp_get_num_threads();
        const int64_t start = part_of(n, t, threads), end = part_of(n, t + 1, threads);
        uint32_t mine[DIGITS] = {0};
        for (int64_t i = start; i < end; i++) mine[from[i] >> shift & (DIGITS - 1)]++;
        memcpy(counts[t], mine, sizeof mine);
#pragma omp barrier
#pragma omp single
        {
            uint32_t sum = 0;
            for (int d = 0; d < DIGITS; d++)
                for (int i = 0; i < threads; i++) {
                    const uint32_t count = counts[i][d];
                    counts[i][d] = sum;
                    sum += count;
                }
        }
        memcpy(mine, counts[t], sizeof mine);
        for (int64_t i = start; i < end; i++) into[mine[from[i] >> shift & (DIGITS - 1)]++] = from[i];
    }
}

static void row_by_all(const float *restrict xs, float *restrict to, int64_t n) {
    uint32_t *a = scratch(1, 4 * n), *b = scratch(2, 4 * n);
#pragma omp parallel for simd schedule(static)
    for (int64_t i = 0; i < n; i++) a[i] = key_of(xs[i]);
    pass_by_all(a, b, n, 0);
    pass_by_all(b, a, n, 11);
    pass_by_all(a, b, n, 22);
#pragma omp parallel for simd schedule(static)
    for (int64_t i = 0; i < n; i++) to[i] = float_of(b[i]);
}

void peer_run(const int64_t *sizes, void *const *in, void *const *out) {
    const float *xs = in[0];
    const int64_t *lengths = in[1];
    float *to = out[0];
    const Pieces pieces = pieces_of(lengths, sizes[1]);
    /* Keys of a row of each thread, twice. */
    const int64_t bytes = 4 * pieces.limit * omp_get_max_threads();
    uint32_t *all_a = scratch(1, bytes), *all_b = scratch(2, bytes);
    SMALL_ROWS_AT(pieces, r, at) {
        const int64_t mine = omp_get_thread_num() * pieces.limit;
        row(xs + at, to + at, lengths[r], all_a + mine, all_b + mine);
    }
    LARGE_ROWS_AT(pieces, r, at) row_by_all(xs + at, to + at, lengths[r]);
}
