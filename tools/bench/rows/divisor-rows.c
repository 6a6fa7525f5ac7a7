/* How many divisors each number has. in: numbers i64 [k]. out: i64 [k]. All candidates are tried. */
#define REAL float
/* Of numbers below 2^24 a quotient in single precision is whole only where the true one is, as it is too
 * near to that for another. Candidate j is 1 + j. */
#define TERM(n, j) divides(n, 1 + (j))
#include <math.h>

static inline float divides(float n, float d) {
    const float q = n / d;
    return (float)(q == truncf(q));
}

#include "terms.h"

enum { EXACT = 1 << 24 };

static int64_t divisors_of(int64_t n) {
    if (n < EXACT) return (int64_t)sum_from((float)n, 0, n);
    int64_t count = 0;
    for (int64_t d = 1; d <= n; d++) count += n % d == 0;
    return count;
}

static int64_t divisors_by_all(int64_t n) {
    if (n < EXACT) return (int64_t)sum_by_all((float)n, n);
    int64_t count = 0;
#pragma omp parallel for schedule(static) reduction(+ : count)
    for (int64_t d = 1; d <= n; d++) count += n % d == 0;
    return count;
}

void peer_run(const int64_t *sizes, void *const *in, void *const *out) {
    const int64_t *numbers = in[0];
    int64_t *to = out[0];
    const Pieces pieces = pieces_of(numbers, sizes[0]);
    EACH_ROW_OF(pieces, r, end) {
        const int64_t most = most_of_short(numbers, r, end);
        if (most) {
            float xs[LANES], counts[LANES];
            for (int l = 0; l < LANES; l++) xs[l] = (float)numbers[r + l];
            short_rows(xs, numbers + r, most, counts);
            for (int l = 0; l < LANES; l++) to[r + l] = (int64_t)counts[l];
            r += LANES - 1;
        } else if (numbers[r] <= pieces.limit) to[r] = divisors_of(numbers[r]);
    }
    LARGE_ROWS_OF(pieces, r) to[r] = divisors_by_all(numbers[r]);
}
