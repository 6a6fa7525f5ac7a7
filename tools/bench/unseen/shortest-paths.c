/* The lengths of the shortest paths between all pairs of nodes, by tiles. in: edges f64 [n n]. out: f64 [n n]. */
#include "rows.h"
#include <math.h>
#ifdef __AVX__
#include <immintrin.h>
#endif

enum { TILE = 64, ROWS = 4 };

typedef double Four __attribute__((vector_size(32)));

static inline Four least(Four a, Four b) {
#ifdef __AVX__
    return (Four)_mm256_min_pd((__m256d)a, (__m256d)b);
#else
    for (int l = 0; l < 4; l++) a[l] = a[l] < b[l] ? a[l] : b[l];
    return a;
#endif
}

/* Paths from the rows of `to` through some nodes: from there to the node, and from the node on. The nodes are those of the
 * rows or the columns of `to` itself, so that one of the other tiles, or both, is the same; what is read early or late is
 * right both ways. */
static void same(double *to, const double *before, const double *behind) {
    for (int k = 0; k < TILE; k++)
        for (int i = 0; i < TILE; i++) {
            const Four x = (Four){0} + before[i * TILE + k];
            for (int j = 0; j < TILE; j += 4) {
                Four *const at = (Four *)(to + i * TILE + j);
                *at = least(x + *(const Four *)(behind + k * TILE + j), *at);
            }
        }
}

/* Of three tiles that are not the same, four rows and eight columns at a time. */
static void other(double *restrict to, const double *restrict before, const double *restrict behind) {
    for (int j = 0; j < TILE; j += 8)
        for (int i = 0; i < TILE; i += ROWS) {
            Four now[ROWS][2];
            for (int r = 0; r < ROWS; r++)
                for (int v = 0; v < 2; v++) now[r][v] = *(const Four *)(to + (i + r) * TILE + j + 4 * v);
            for (int k = 0; k < TILE; k++) {
                const Four x = *(const Four *)(behind + k * TILE + j), y = *(const Four *)(behind + k * TILE + j + 4);
                for (int r = 0; r < ROWS; r++) {
                    now[r][0] = least(before[(i + r) * TILE + k] + x, now[r][0]);
                    now[r][1] = least(before[(i + r) * TILE + k] + y, now[r][1]);
                }
            }
            for (int r = 0; r < ROWS; r++)
                for (int v = 0; v < 2; v++) *(Four *)(to + (i + r) * TILE + j + 4 * v) = now[r][v];
        }
}

void peer_run(const int64_t *sizes, void *const *in, void *const *out) {
    const int64_t n = sizes[0], tiles = (n + TILE - 1) / TILE;
    const double *edges = in[0];
    double *to = out[0], *all = scratch(1, tiles * tiles * TILE * TILE * 8);
#define AT(i, j) (all + ((i) * tiles + (j)) * TILE * TILE)
#define ROW(i, j) (AT((i) / TILE, j) + (i) % TILE * TILE)
#define WIDTH(j) (size_t)((j) * TILE + TILE < n ? TILE : n - (j) * TILE)
#pragma omp parallel
    {
        /* Tiles lie one after the other. Where the matrix has ended, nodes have no edges. */
#pragma omp for schedule(static)
        for (int64_t i = 0; i < tiles * TILE; i++)
            for (int64_t j = 0; j < tiles; j++) {
                for (int64_t c = 0; c < TILE; c++) ROW(i, j)[c] = INFINITY;
                if (i < n) memcpy(ROW(i, j), edges + i * n + j * TILE, 8 * WIDTH(j));
            }
        for (int64_t k = 0; k < tiles; k++) {
            /* First the tile that has both ends among the nodes between, then those with one, then the others. */
#pragma omp single
            same(AT(k, k), AT(k, k), AT(k, k));
#pragma omp for schedule(dynamic, 1)
            for (int64_t t = 0; t < 2 * tiles; t++) {
                const int64_t i = t / 2;
                if (i == k) continue;
                if (t % 2) same(AT(k, i), AT(k, k), AT(k, i));
                else same(AT(i, k), AT(i, k), AT(k, k));
            }
#pragma omp for schedule(dynamic, 4)
            for (int64_t t = 0; t < tiles * tiles; t++)
                if (t / tiles != k && t % tiles != k) other(AT(t / tiles, t % tiles), AT(t / tiles, k), AT(k, t % tiles));
        }
#pragma omp for schedule(static)
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < tiles; j++) memcpy(to + i * n + j * TILE, ROW(i, j), 8 * WIDTH(j));
    }
}
