/* The transpose. sizes: rows, columns. in: m f32 [rows columns]. out: f32 [columns rows]. */
#include "peer.h"

enum { TILE = 16, BLOCK = 128 };

static void edge(const float *restrict m, float *restrict t, int64_t rows, int64_t columns, int64_t i0, int64_t i1,
                 int64_t j0, int64_t j1) {
    for (int64_t j = j0; j < j1; j++)
        for (int64_t i = i0; i < i1; i++) t[j * rows + i] = m[i * columns + j];
}

#ifdef __AVX512F__
/* Sixteen by sixteen in registers: pairs of floats, of pairs, of quadruples, of halves change places. */
static inline void tile(const float *restrict m, int64_t from, float *restrict t, int64_t to, int past_caches) {
    __m512 r[TILE], s[TILE];
    for (int i = 0; i < TILE; i++) r[i] = _mm512_loadu_ps(m + i * from);
    for (int i = 0; i < TILE; i += 2) {
        s[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
        s[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
    }
    for (int i = 0; i < TILE; i += 4) {
        r[i] = _mm512_shuffle_ps(s[i], s[i + 2], 0x44);
        r[i + 1] = _mm512_shuffle_ps(s[i], s[i + 2], 0xee);
        r[i + 2] = _mm512_shuffle_ps(s[i + 1], s[i + 3], 0x44);
        r[i + 3] = _mm512_shuffle_ps(s[i + 1], s[i + 3], 0xee);
    }
    for (int i = 0; i < TILE; i += 8)
        for (int k = 0; k < 4; k++) {
            s[i + k] = _mm512_shuffle_f32x4(r[i + k], r[i + k + 4], 0x88);
            s[i + k + 4] = _mm512_shuffle_f32x4(r[i + k], r[i + k + 4], 0xdd);
        }
    for (int k = 0; k < 8; k++) {
        r[k] = _mm512_shuffle_f32x4(s[k], s[k + 8], 0x88);
        r[k + 8] = _mm512_shuffle_f32x4(s[k], s[k + 8], 0xdd);
    }
    for (int i = 0; i < TILE; i++)
        if (past_caches)
            _mm512_stream_ps(t + i * to, r[i]);
        else
            _mm512_storeu_ps(t + i * to, r[i]);
}
#else
static inline void tile(const float *restrict m, int64_t from, float *restrict t, int64_t to, int past_caches) {
    (void)past_caches;
    for (int j = 0; j < TILE; j++)
        for (int i = 0; i < TILE; i++) t[j * to + i] = m[i * from + j];
}
#endif

void peer_run(const int64_t *sizes, void *const *in, void *const *out) {
    const int64_t rows = sizes[0], columns = sizes[1];
    const float *restrict m = in[0];
    float *restrict t = out[0];
    const int past_caches = rows % TILE == 0 && ((uintptr_t)t & 63) == 0;
    /* Strips of the result, so that each thread writes its own part of memory. */
#pragma omp parallel for schedule(dynamic)
    for (int64_t j0 = 0; j0 < columns; j0 += TILE)
        for (int64_t i0 = 0; i0 < rows; i0 += BLOCK) {
            const int64_t j1 = j0 + TILE < columns ? j0 + TILE : columns;
            const int64_t i1 = i0 + BLOCK < rows ? i0 + BLOCK : rows;
            int64_t i = i0;
            if (j1 - j0 == TILE)
                for (; i + TILE <= i1; i += TILE)
                    tile(m + i * columns + j0, columns, t + j0 * rows + i, rows, past_caches);
            edge(m, t, rows, columns, i, i1, j0, j1);
        }
}
