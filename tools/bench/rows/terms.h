/* Sums of terms that are computed, as many of each row as its length says. A kernel says what REAL is,
 * and TERM(x, j): the term at place j of a row that has x. Both are REAL. */
#include "pieces.h"
#include "vectors.h"
#include <math.h>

enum { SHORT = 4 };

/* Those terms whose place is below a length, and 0. A condition in the loop that computes them would be a
 * branch. */
static inline Vector below(const REAL *terms, Lanes places, Lanes lengths) {
    Lanes bits;
    memcpy(&bits, terms, sizeof bits);
    return (Vector)(bits & (places < lengths));
}

/* The terms of a row from a place on up to another. Places are counted in whole numbers: of a counter that is
 * a float gcc 12.2 makes wrong code under -fassociative-math. */
static inline REAL sum_from(REAL x, int64_t from, int64_t end) {
    REAL sums[LANES] = {0}, terms[LANES];
    Lanes places = {0};
    int64_t j = from;
    for (; j + LANES <= end; j += LANES)
        for (int l = 0; l < LANES; l++) sums[l] += TERM(x, (REAL)(j + l));
    if (j == end) return total(load(sums));
    for (int l = 0; l < LANES; l++) terms[l] = TERM(x, (REAL)(j + l));
    for (int l = 0; l < LANES; l++) places[l] = l;
    return total(load(sums) + below(terms, places, (Lanes){0} + (Lane)(end - j)));
}

/* As many rows as there are lanes, none of which is longer than `most`. */
static inline void short_rows(const REAL *xs, const int64_t *lengths, int64_t most, REAL *to) {
    Vector sums = {0};
    Lanes counts = {0};
    for (int l = 0; l < LANES; l++) counts[l] = (Lane)lengths[l];
    for (int64_t j = 0; j < most; j++) {
        REAL terms[LANES];
        for (int l = 0; l < LANES; l++) terms[l] = TERM(xs[l], (REAL)j);
        sums += below(terms, (Lanes){0} + (Lane)j, counts);
    }
    store(to, sums);
}

/* The greatest length of as many rows as there are lanes; 0 if they are not all before `end` and short. */
static inline int64_t most_of_short(const int64_t *lengths, int64_t r, int64_t end) {
    int64_t most = lengths[r];
    if (most > SHORT || r + LANES > end) return 0;
    for (int l = 1; l < LANES; l++) most = lengths[r + l] > most ? lengths[r + l] : most;
    return most <= SHORT ? most : 0;
}

static REAL sum_by_all(REAL x, int64_t n) {
    REAL sum = 0;
#pragma omp parallel reduction(+ : sum)
    {
        const int t = omp_get_thread_num(), threads = omp_get_num_threads();
        sum += sum_from(x, part_of(n, t, threads), part_of(n, t + 1, threads));
    }
    return sum;
}
