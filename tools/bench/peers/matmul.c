/* Matrix product after Goto and van de Geijn, "Anatomy of high-performance matrix multiplication" (2008): tiles of
 * the result in registers, a slice of b packed for the second cache, rows of a for the first.
 * sizes: m, n, k. in: a f32 [m n], b f32 [n k]. out: f32 [m k]. */
#include "peer.h"

/* A tile is ROWS × VECTORS vectors of WIDTH floats; DEPTH of the shared dimension are done at a time. */
enum { ROWS = 12, VECTORS = 2, WIDTH = 16, COLUMNS = VECTORS * WIDTH, DEPTH = 256 };
typedef float vector __attribute__((vector_size(4 * WIDTH), aligned(64)));

/* sums += a b, for a packed as [depth ROWS] and b as [depth COLUMNS]. */
static inline void tile(const float *restrict a, const float *restrict b, int64_t depth, float *restrict sums) {
    vector *to = (vector *)sums;
    vector s[ROWS][VECTORS];
#pragma GCC unroll 12
    for (int r = 0; r < ROWS; r++)
#pragma GCC unroll 2
        for (int v = 0; v < VECTORS; v++) s[r][v] = to[r * VECTORS + v];
    for (int64_t l = 0; l < depth; l++) {
        const vector *row = (const vector *)(b + l * COLUMNS);
        const vector b0 = row[0], b1 = row[1];
#pragma GCC unroll 12
        for (int r = 0; r < ROWS; r++) {
            s[r][0] += a[l * ROWS + r] * b0;
            s[r][1] += a[l * ROWS + r] * b1;
        }
    }
#pragma GCC unroll 12
    for (int r = 0; r < ROWS; r++)
#pragma GCC unroll 2
        for (int v = 0; v < VECTORS; v++) to[r * VECTORS + v] = s[r][v];
}

/* The slice of b, kept from call to call. */
static float *slice;
static size_t slice_bytes;

void peer_run(const int64_t *sizes, void *const *in, void *const *out) {
    const int64_t m = sizes[0], n = sizes[1], k = sizes[2];
    const float *restrict a = in[0], *restrict b = in[1];
    float *restrict c = out[0];
    const int64_t panels = (k + COLUMNS - 1) / COLUMNS;
    const size_t bytes = sizeof(float) * (size_t)(panels + 1) * DEPTH * COLUMNS;
    if (bytes > slice_bytes) {
        free(slice);
        slice = peer_alloc((int64_t)bytes);
        if (!slice) abort();
        slice_bytes = bytes;
    }
#pragma omp parallel
    for (int64_t l0 = 0; l0 < n || l0 == 0; l0 += DEPTH) {
        const int64_t depth = n - l0 < DEPTH ? n - l0 : DEPTH;
#pragma omp for schedule(static)
        for (int64_t p = 0; p < panels; p++) {
            const int64_t j = p * COLUMNS, width = k - j < COLUMNS ? k - j : COLUMNS;
            float *restrict panel = slice + p * DEPTH * COLUMNS;
            for (int64_t l = 0; l < depth; l++)
                for (int64_t w = 0; w < COLUMNS; w++)
                    panel[l * COLUMNS + w] = w < width ? b[(l0 + l) * k + j + w] : 0;
        }
#pragma omp for schedule(dynamic)
        for (int64_t i = 0; i < m; i += ROWS) {
            const int rows = m - i < ROWS ? (int)(m - i) : ROWS;
            _Alignas(64) float packed[DEPTH * ROWS];
            for (int r = 0; r < ROWS; r++)
                for (int64_t l = 0; l < depth; l++) packed[l * ROWS + r] = r < rows ? a[(i + r) * n + l0 + l] : 0;
            for (int64_t p = 0; p < panels; p++) {
                const int64_t j = p * COLUMNS, width = k - j < COLUMNS ? k - j : COLUMNS;
                _Alignas(64) float sums[ROWS * COLUMNS];
                if (l0 == 0 || width < COLUMNS || rows < ROWS) memset(sums, 0, sizeof sums);
                for (int r = 0; l0 > 0 && r < rows; r++)
                    memcpy(sums + r * COLUMNS, c + (i + r) * k + j, (size_t)width * sizeof *c);
                tile(packed, slice + p * DEPTH * COLUMNS, depth, sums);
                for (int r = 0; r < rows; r++)
                    memcpy(c + (i + r) * k + j, sums + r * COLUMNS, (size_t)width * sizeof *c);
            }
        }
    }
}
