/* Each row less its mean, times a factor that its variance decides. A kernel says what REAL is, and
 * FACTOR(variance). in: xs REAL [n], lengths [k]. out: REAL [n]. */
#include "pieces.h"
#include "vectors.h"
#include <math.h>

enum { BLOCK = 4096 };

/* How many there are, their mean, and the squares of what they differ from it by. */
typedef struct { double count, mean, squares; } Moments;

/* Chan, Golub and LeVeque's rule: no sum of large squares is taken from another. */
static inline Moments joined(Moments a, Moments b) {
    if (a.count == 0) return b;
    const double count = a.count + b.count, apart = b.mean - a.mean;
    return (Moments){count, a.mean + apart * b.count / count,
                     a.squares + b.squares + apart * apart * a.count * b.count / count};
}

#pragma omp declare reduction(join : Moments : omp_out = joined(omp_out, omp_in))                      \
    initializer(omp_priv = (Moments){0})

static inline REAL squares_of(const REAL *xs, int64_t n, REAL mean) {
    Vector sums[4] = {0};
    for (; n >= 4 * LANES; xs += 4 * LANES, n -= 4 * LANES)
        for (int p = 0; p < 4; p++) {
            const Vector x = load(xs + LANES * p) - mean;
            sums[p] += x * x;
        }
    for (int p = 0; p < 4; p++) {
        const Vector x = only_part(load_part(xs, n, p, 0) - mean, n, p);
        sums[p] += x * x;
    }
    return total((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

static inline void write(const REAL *restrict xs, REAL *restrict to, int64_t n, REAL mean, REAL factor) {
    for (; n >= 4 * LANES; xs += 4 * LANES, to += 4 * LANES, n -= 4 * LANES)
        for (int p = 0; p < 4; p++) store(to + LANES * p, (load(xs + LANES * p) - mean) * factor);
    for (; n >= LANES; xs += LANES, to += LANES, n -= LANES) store(to, (load(xs) - mean) * factor);
    store_first(to, n, (load_first(xs, n, 0) - mean) * factor);
}

static inline void row(const REAL *restrict xs, REAL *restrict to, int64_t n) {
    if (n <= LANES) {
        const Vector x = load_first(xs, n, 0), centred = only_part(x - total(x) / (REAL)n, n, 0);
        store_first(to, n, centred * FACTOR(total(centred * centred) / (REAL)n));
        return;
    }
    const REAL mean = sum_of(xs, n) / (REAL)n;
    write(xs, to, n, mean, FACTOR(squares_of(xs, n, mean) / (REAL)n));
}

/* The first pass has the moments of blocks that stay in the first cache, so that memory is read twice, not
 * thrice. */
static void row_by_all(const REAL *restrict xs, REAL *restrict to, int64_t n) {
    Moments all = {0};
#pragma omp parallel for schedule(static) reduction(join : all)
    for (int64_t b = 0; b < n; b += BLOCK) {
        const int64_t count = b + BLOCK < n ? BLOCK : n - b;
        const REAL mean = sum_of(xs + b, count) / (REAL)count;
        all = joined(all, (Moments){(double)count, mean, squares_of(xs + b, count, mean)});
    }
    const REAL mean = (REAL)all.mean, factor = FACTOR((REAL)(all.squares / all.count));
#pragma omp parallel for schedule(static)
    for (int64_t b = 0; b < n; b += BLOCK)
        write(xs + b, to + b, b + BLOCK < n ? BLOCK : n - b, mean, factor);
}

void peer_run(const int64_t *sizes, void *const *in, void *const *out) {
    const REAL *xs = in[0];
    const int64_t *lengths = in[1];
    REAL *to = out[0];
    const Pieces pieces = pieces_of(lengths, sizes[1]);
    SMALL_ROWS_AT(pieces, r, at) row(xs + at, to + at, lengths[r]);
    LARGE_ROWS_AT(pieces, r, at) row_by_all(xs + at, to + at, lengths[r]);
}
