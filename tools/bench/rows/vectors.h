/* Vectors of REAL, which a kernel says: LANES of them, as wide as a cache line. A row that is shorter,
 * and the end of one that is longer, is part of a vector, so that no loop is needed whose end nobody
 * could foresee. */
#include <stdint.h>
#include <string.h>
#ifdef __AVX512F__
#include <immintrin.h>
#endif

enum { LANES = 64 / sizeof(REAL), SINGLE = sizeof(REAL) == sizeof(float) };

typedef REAL Vector __attribute__((vector_size(64)));

/* Numbers of lanes. */
typedef __typeof__(__builtin_choose_expr(sizeof(REAL) == 4, (int32_t)0, (int64_t)0)) Lane;
typedef Lane Lanes __attribute__((vector_size(64)));

static inline Vector load(const REAL *xs) {
    Vector v;
    memcpy(&v, xs, sizeof v);
    return v;
}

static inline void store(REAL *to, Vector v) { memcpy(to, &v, sizeof v); }

#ifdef __AVX512F__

/* Of vector `part` of up to four in a row, the lanes before place n. */
static inline __mmask16 before(int64_t n, int part) {
    return (__mmask16)(_bzhi_u64(~0ull, (uint32_t)n) >> (LANES * part));
}

/* Vector `part` of up to four in a row, whose lanes from place n on are `other`. */
static inline Vector load_part(const REAL *xs, int64_t n, int part, REAL other) {
    xs += LANES * part;
    if (SINGLE) return (Vector)_mm512_mask_loadu_ps(_mm512_set1_ps((float)other), before(n, part), xs);
    return (Vector)_mm512_mask_loadu_pd(_mm512_set1_pd(other), (__mmask8)before(n, part), xs);
}

/* Stores the first n lanes. */
static inline void store_first(REAL *to, int64_t n, Vector v) {
    if (SINGLE) _mm512_mask_storeu_ps(to, before(n, 0), (__m512)v);
    else _mm512_mask_storeu_pd(to, (__mmask8)before(n, 0), (__m512d)v);
}

/* A vector in place of one that `load_part` gives: lanes from place n on are 0 again. */
static inline Vector only_part(Vector v, int64_t n, int part) {
    if (SINGLE) return (Vector)_mm512_maskz_mov_ps(before(n, part), (__m512)v);
    return (Vector)_mm512_maskz_mov_pd((__mmask8)before(n, part), (__m512d)v);
}

static inline REAL total(Vector v) {
    return SINGLE ? (REAL)_mm512_reduce_add_ps((__m512)v) : (REAL)_mm512_reduce_add_pd((__m512d)v);
}

/* All lanes but the first `words` of four bytes are those that many to the left; these are 0. */
#define MOVED(v, words) ((Vector)_mm512_alignr_epi32((__m512i)(v), _mm512_setzero_si512(), 16 - (words)))

/* The sums of the first lanes. */
static inline Vector running(Vector v) {
    if (SINGLE) v += MOVED(v, 1);
    v += MOVED(v, 2);
    v += MOVED(v, 4);
    return v + MOVED(v, 8);
}

#else

static inline Vector load_part(const REAL *xs, int64_t n, int part, REAL other) {
    Vector v;
    for (int l = 0; l < LANES; l++) v[l] = LANES * part + l < n ? xs[LANES * part + l] : other;
    return v;
}

static inline void store_first(REAL *to, int64_t n, Vector v) {
    for (int l = 0; l < LANES && l < n; l++) to[l] = v[l];
}

static inline Vector only_part(Vector v, int64_t n, int part) {
    for (int l = 0; l < LANES; l++) v[l] = LANES * part + l < n ? v[l] : 0;
    return v;
}

static inline REAL total(Vector v) {
    REAL sum = 0;
    for (int l = 0; l < LANES; l++) sum += v[l];
    return sum;
}

static inline Vector running(Vector v) {
    for (int l = 1; l < LANES; l++) v[l] += v[l - 1];
    return v;
}

#endif

/* The first n lanes are those of memory, the others `other`. */
static inline Vector load_first(const REAL *xs, int64_t n, REAL other) { return load_part(xs, n, 0, other); }

/* The sums of pairs of neighbours, those of `a` first. */
static inline Vector paired(Vector a, Vector b) {
    Lanes even = {0};
    for (int l = 0; l < LANES; l++) even[l] = 2 * l;
    return __builtin_shuffle(a, b, even) + __builtin_shuffle(a, b, even + 1);
}

/* The total of each of LANES vectors, which are used up. */
static inline Vector totals(Vector *v) {
    for (int n = LANES; n > 1; n /= 2)
        for (int i = 0; i < n / 2; i++) v[i] = paired(v[2 * i], v[2 * i + 1]);
    return v[0];
}

/* The sum of a row. Four vectors of sums do not wait for one another, and the end has no loop. */
static inline REAL sum_of(const REAL *xs, int64_t n) {
    Vector sums[4] = {0};
    for (; n >= 4 * LANES; xs += 4 * LANES, n -= 4 * LANES)
        for (int p = 0; p < 4; p++) sums[p] += load(xs + LANES * p);
    for (int p = 0; p < 4; p++) sums[p] += load_part(xs, n, p, 0);
    return total((sums[0] + sums[1]) + (sums[2] + sums[3]));
}
