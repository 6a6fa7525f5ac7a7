/* Histogram equalisation: each level becomes the share of pixels that are not brighter, from 0 to 255. in: image u8
 * [h w]. out: u8 [h w]. */
#include "rows.h"
#include <math.h>
#ifdef __AVX2__
#include <immintrin.h>
#endif

enum { LEVELS = 256, LANES = 8, MAP = 32 };

/* Equal pixels next to each other do not wait for one another: each lane has counts of its own. */
static void count(const uint8_t *restrict xs, int64_t n, uint32_t (*restrict counts)[LEVELS]) {
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        uint64_t some;
        memcpy(&some, xs + i, sizeof some);
        for (int l = 0; l < LANES; l++) counts[l][(uint8_t)(some >> 8 * l)]++;
    }
    for (; i < n; i++) counts[0][xs[i]]++;
}

static inline void map(const uint8_t *restrict xs, uint8_t *restrict to, int64_t n, const uint8_t *table) {
    int64_t i = 0;
#ifdef __AVX2__
    /* Sixteen tables of sixteen bytes, chosen by the lower half of a level, and of those one by the bits of its upper half:
     * the highest bit of a byte chooses, to which each of them is moved in turn. */
    for (; i + MAP <= n; i += MAP) {
        const __m256i x = _mm256_loadu_si256((const __m256i *)(xs + i));
        const __m256i low = _mm256_and_si256(x, _mm256_set1_epi8(15));
        __m256i found[16];
        for (int t = 0; t < 16; t++) {
            const __m128i part = _mm_loadu_si128((const __m128i *)(table + 16 * t));
            found[t] = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(part), low);
        }
        for (int t = 0; t < 8; t++)
            found[t] = _mm256_blendv_epi8(found[2 * t], found[2 * t + 1], _mm256_slli_epi16(x, 3));
        for (int t = 0; t < 4; t++)
            found[t] = _mm256_blendv_epi8(found[2 * t], found[2 * t + 1], _mm256_slli_epi16(x, 2));
        for (int t = 0; t < 2; t++)
            found[t] = _mm256_blendv_epi8(found[2 * t], found[2 * t + 1], _mm256_slli_epi16(x, 1));
        _mm256_storeu_si256((__m256i *)(to + i), _mm256_blendv_epi8(found[0], found[1], x));
    }
#endif
    for (; i < n; i++) to[i] = table[xs[i]];
}

void peer_run(const int64_t *sizes, void *const *in, void *const *out) {
    const uint8_t *image = in[0];
    uint8_t *to = out[0], table[LEVELS];
    const int64_t n = sizes[0] * sizes[1];
    int64_t all[LEVELS] = {0};
#pragma omp parallel
    {
        const int t = omp_get_thread_num(), threads = omp_get_num_threads();
        const int64_t from = part_of(n, t, threads), end = part_of(n, t + 1, threads);
        uint32_t counts[LANES][LEVELS] = {{0}};
        count(image + from, end - from, counts);
#pragma omp critical
        for (int l = 0; l < LANES; l++)
            for (int i = 0; i < LEVELS; i++) all[i] += counts[l][i];
#pragma omp barrier
#pragma omp single
        for (int64_t i = 0, sum = 0; i < LEVELS; i++) {
            sum += all[i];
            table[i] = (uint8_t)rint(255 * ((double)sum / (double)n));
        }
        map(image + from, to + from, end - from, table);
    }
}
