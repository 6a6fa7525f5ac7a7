/* Up to 16 items in order. A kernel says BEFORE(a, b), whether item a comes before b, and LAST, which no
 * item comes behind. */
#define REAL float
#include "vectors.h"

enum { TINY = 4 };

static inline void exchange(float *a, float *b) {
    const float first = BEFORE(*b, *a) ? *b : *a, second = BEFORE(*b, *a) ? *a : *b;
    *a = first;
    *b = second;
}

/* Up to four, and LAST in the places of the others, by five exchanges. */
static inline void order_tiny(const float *restrict xs, int64_t n, float *restrict to) {
    for (int i = 0; i < TINY; i++) to[i] = i < n ? xs[i] : LAST;
    exchange(to, to + 1);
    exchange(to + 2, to + 3);
    exchange(to, to + 2);
    exchange(to + 1, to + 3);
    exchange(to + 1, to + 2);
}

/* Up to 16, and LAST: each is put where as many are before it. Items of equal value keep their order. */
static inline void order_short(const float *restrict xs, int64_t n, float *restrict to) {
    float items[LANES];
    int32_t rank[LANES] = {0};
    store(items, load_first(xs, n, LAST));
    for (int j = 0; j < LANES; j++)
#pragma omp simd
        for (int i = 0; i < LANES; i++)
            rank[i] += j < i ? !BEFORE(items[i], items[j]) : BEFORE(items[j], items[i]);
    for (int i = 0; i < LANES; i++) to[rank[i]] = items[i];
}
