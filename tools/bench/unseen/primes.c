/* How many primes there are below a number, by a sieve of odd numbers, piece by piece. in: limit i64 []. out: i64 []. */
#include "rows.h"
#include <math.h>

enum { PIECE = 1 << 15, FIRST = 5, PATTERN = 3 * 5 * 7 * 11 * 13 };

/* Byte i of a piece stands for the odd number 2 (from + i) + 1. Multiples of the first primes are copied from a pattern. */
static int64_t piece(int64_t from, int64_t end, const int32_t *primes, int64_t count, const uint8_t *pattern) {
    uint8_t flags[PIECE];
    const int64_t n = end - from;
    memcpy(flags, pattern + from % PATTERN, (size_t)n);
    for (int64_t i = FIRST; i < count; i++) {
        const int64_t p = primes[i], square = p * p / 2;
        if (square >= end) break;
        /* The first odd multiple that is at least the square. */
        int64_t at = square >= from ? square - from : (p - (from - square) % p) % p;
        for (; at < n; at += p) flags[at] = 0;
    }
    int64_t sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++) sum += flags[i];
    return sum;
}

void peer_run(const int64_t *sizes, void *const *in, void *const *out) {
    (void)sizes;
    static uint8_t pattern[PATTERN + PIECE];
    static const int first[FIRST] = {3, 5, 7, 11, 13};
    const int64_t limit = *(const int64_t *)in[0], odd = limit / 2;
    /* Odd primes up to the root, and one more. */
    const int64_t root = (int64_t)sqrt((double)limit) + 2;
    int32_t *primes = scratch(1, 4 * (root + 8));
    int64_t count = 0;
    for (int64_t p = 3; p <= root || count < FIRST; p += 2) {
        int prime = 1;
        for (int64_t i = 0; i < count && primes[i] * primes[i] <= p && prime; i++) prime = p % primes[i] != 0;
        if (prime) primes[count++] = (int32_t)p;
    }
    memset(pattern, 1, sizeof pattern);
    for (int f = 0; f < FIRST; f++)
        for (int64_t i = first[f] / 2; i < (int64_t)sizeof pattern; i += first[f]) pattern[i] = 0;
    /* 2 is prime, and so are those of the pattern; 1 is not. */
    int64_t sum = limit > 2;
    for (int f = 0; f < FIRST; f++) sum += first[f] < limit;
    if (odd > 0) sum--;
#pragma omp parallel for schedule(dynamic, 1) reduction(+ : sum)
    for (int64_t from = 0; from < odd; from += PIECE)
        sum += piece(from, from + PIECE < odd ? from + PIECE : odd, primes, count, pattern);
    *(int64_t *)out[0] = sum;
}
