/* The place of the least item of each row, the first of those. in: xs f32 [n], lengths [k]. out: i64 [k]. */
#define REAL float
#include "pieces.h"
#include "vectors.h"
#include <math.h>

enum { BLOCK = 4 * LANES };

typedef struct { float least; int64_t at; } Least;

static inline float lesser(float a, float b) { return a < b ? a : b; }

/* What no item is greater than. */
#define NONE ((Vector){0} + INFINITY)

#ifdef __AVX512F__

static inline float least_lane(const Vector *v) {
    const __m512 a = _mm512_min_ps((__m512)v[0], (__m512)v[1]), b = _mm512_min_ps((__m512)v[2], (__m512)v[3]);
    return _mm512_reduce_min_ps(_mm512_min_ps(a, b));
}

/* The first place of a number, which is there. */
static inline int64_t place_of(float x, const Vector *v) {
    uint64_t places = 0;
    for (int p = 0; p < 4; p++)
        places |= (uint64_t)_mm512_cmpeq_ps_mask((__m512)v[p], _mm512_set1_ps(x)) << (LANES * p);
    return (int64_t)_tzcnt_u64(places);
}

#else

static inline float least_lane(const Vector *v) {
    float least = INFINITY;
    for (int p = 0; p < 4; p++)
        for (int l = 0; l < LANES; l++) least = lesser(least, v[p][l]);
    return least;
}

static inline int64_t place_of(float x, const Vector *v) {
    int64_t at = 0;
    while (v[at / LANES][at % LANES] != x) at++;
    return at;
}

#endif

/* A row that is a vector or less. */
static inline Least least_of_vector(const float *xs, int64_t n) {
    const Vector v[4] = {load_first(xs, n, INFINITY), NONE, NONE, NONE};
    const float least = least_lane(v);
    return (Least){least, place_of(least, v)};
}

/* A row, or part of it, that is four vectors or less. */
static inline Least least_of_block(const float *xs, int64_t n) {
    Vector v[4];
    for (int p = 0; p < 4; p++) v[p] = load_part(xs, n, p, INFINITY);
    const float least = least_lane(v);
    return (Least){least, place_of(least, v)};
}

/* The place is looked for once, in the block that has the least item. */
static inline Least least_item(const float *xs, int64_t n) {
    if (n <= LANES) return least_of_vector(xs, n);
    if (n <= BLOCK) return least_of_block(xs, n);
    Least last = least_of_block(xs + n - BLOCK, BLOCK);
    float least = INFINITY;
    int64_t block = 0;
    for (int64_t b = 0; b + BLOCK <= n; b += BLOCK) {
        Vector v[4];
        for (int p = 0; p < 4; p++) v[p] = load(xs + b + LANES * p);
        const float here = least_lane(v);
        block = here < least ? b : block;
        least = lesser(here, least);
    }
    last.at += n - BLOCK;
    return last.least < least ? last : (Least){least, block + least_of_block(xs + block, BLOCK).at};
}

void peer_run(const int64_t *sizes, void *const *in, void *const *out) {
    const float *xs = in[0];
    const int64_t *lengths = in[1];
    int64_t *to = out[0];
    const Pieces pieces = pieces_of(lengths, sizes[1]);
    SMALL_ROWS_AT(pieces, r, at) to[r] = least_item(xs + at, lengths[r]).at;
    LARGE_ROWS_AT(pieces, r, at) {
        const int64_t n = lengths[r];
        Least all = {INFINITY, n};
#pragma omp parallel
        {
            const int t = omp_get_thread_num(), threads = omp_get_num_threads();
            const int64_t from = part_of(n, t, threads), end = part_of(n, t + 1, threads);
            Least mine = {INFINITY, n};
            if (from < end) mine = least_item(xs + at + from, end - from);
            mine.at += from;
#pragma omp critical
            if (mine.least < all.least || (mine.least == all.least && mine.at < all.at)) all = mine;
        }
        to[r] = all.at;
    }
}
