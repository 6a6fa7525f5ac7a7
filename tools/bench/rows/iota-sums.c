/* The sum of the numbers below each length. in: lengths [k]. out: i64 [k]. The numbers are made and added
 * up, one vector after the other. */
#include "pieces.h"

enum { LANES = 8, SHORT = 4 };

/* gcc knows the sum of a loop over numbers, n (n - 1) / 2; it does not look into vectors for it. */
typedef int64_t Lanes __attribute__((vector_size(8 * LANES)));

static const Lanes FIRST = {0, 1, 2, 3, 4, 5, 6, 7};

static inline int64_t sum_from(int64_t from, int64_t end) {
    Lanes sums = {0}, at = FIRST + from;
    for (int64_t i = from; i + LANES <= end; i += LANES) {
        sums += at;
        at += LANES;
    }
    /* Behind the last whole vector some lanes are below the end; of those a comparison has all bits set. */
    sums += at & (at < end);
    int64_t sum = 0;
    for (int l = 0; l < LANES; l++) sum += sums[l];
    return sum;
}

/* As many rows as there are lanes, none of which is longer than four. */
static inline void short_rows(const int64_t *lengths, int64_t *to) {
    Lanes n, sums = {0};
    memcpy(&n, lengths, sizeof n);
    for (int64_t i = 1; i < SHORT; i++) sums += (i < n) & i;
    memcpy(to, &sums, sizeof sums);
}

/* Whether as many rows as there are lanes are before `end` and none is longer than four. */
static inline int are_short(const int64_t *lengths, int64_t r, int64_t end) {
    int64_t most = lengths[r];
    if (most > SHORT || r + LANES > end) return 0;
    for (int l = 1; l < LANES; l++) most = lengths[r + l] > most ? lengths[r + l] : most;
    return most <= SHORT;
}

void peer_run(const int64_t *sizes, void *const *in, void *const *out) {
    const int64_t *lengths = in[0];
    int64_t *to = out[0];
    const Pieces pieces = pieces_of(lengths, sizes[0]);
    EACH_ROW_OF(pieces, r, end) {
        if (are_short(lengths, r, end)) {
            short_rows(lengths + r, to + r);
            r += LANES - 1;
        } else if (lengths[r] <= pieces.limit) to[r] = sum_from(0, lengths[r]);
    }
    LARGE_ROWS_OF(pieces, r) {
        int64_t sum = 0;
#pragma omp parallel reduction(+ : sum)
        {
            const int t = omp_get_thread_num(), threads = omp_get_num_threads();
            sum += sum_from(part_of(lengths[r], t, threads), part_of(lengths[r], t + 1, threads));
        }
        to[r] = sum;
    }
}
