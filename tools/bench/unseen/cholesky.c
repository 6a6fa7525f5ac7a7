/* Cholesky's decomposition, by blocks of columns. in: a f64 [n n]. out: the lower triangle, f64 [n n]. */
#include "rows.h"
#include <math.h>

enum { BLOCK = 32, ROWS = 4, COLUMNS = 8 };

typedef double Four __attribute__((vector_size(32), aligned(8)));

/* Columns k up to end of the rows from k to end. */
static void corner(double *l, int64_t n, int64_t k, int64_t end) {
    for (int64_t j = k; j < end; j++) {
        l[j * n + j] = sqrt(l[j * n + j]);
        const double inverse = 1 / l[j * n + j];
        for (int64_t i = j + 1; i < end; i++) l[i * n + j] *= inverse;
        for (int64_t i = j + 1; i < end; i++)
            for (int64_t c = j + 1; c <= i; c++) l[i * n + c] -= l[i * n + j] * l[c * n + j];
    }
}

/* These columns of a row below; `across` has their rows as columns, `inverses` what is to be divided by. */
static inline void row_below(double *restrict row, const double (*restrict across)[BLOCK],
                             const double *restrict inverses, int64_t count) {
    for (int64_t j = 0; j < count; j++) {
        const double x = row[j] *= inverses[j];
        for (int64_t c = j + 1; c < count; c++) row[c] -= x * across[j][c];
    }
}

/* Takes the products of four rows with some others out of a part of the matrix; `across` has those others as columns. */
static inline void products(double *to, const double *rows, int64_t n, const double *across, int64_t room,
                            int64_t count) {
    Four sums[ROWS][2];
    for (int i = 0; i < ROWS; i++)
        for (int v = 0; v < 2; v++) sums[i][v] = *(const Four *)(to + i * n + 4 * v);
    for (int64_t k = 0; k < count; k++) {
        const Four x = *(const Four *)(across + k * room), y = *(const Four *)(across + k * room + 4);
        for (int i = 0; i < ROWS; i++) {
            sums[i][0] -= rows[i * n + k] * x;
            sums[i][1] -= rows[i * n + k] * y;
        }
    }
    for (int i = 0; i < ROWS; i++)
        for (int v = 0; v < 2; v++) *(Four *)(to + i * n + 4 * v) = sums[i][v];
}

/* Rows from i on, at most four, less their products with the rows from `end` up to themselves. */
static void rest(double *l, int64_t n, int64_t k, int64_t end, int64_t i, const double *across, int64_t room) {
    const int64_t last = i + ROWS < n ? i + ROWS : n;
    int64_t j = end;
    if (last == i + ROWS)
        for (; j < last && j + COLUMNS <= n; j += COLUMNS)
            products(l + i * n + j, l + i * n + k, n, across + j, room, end - k);
    for (int64_t r = i; r < last; r++)
        for (int64_t c = j; c <= r; c++)
            for (int64_t m = k; m < end; m++) l[r * n + c] -= l[r * n + m] * across[(m - k) * room + c];
}

void peer_run(const int64_t *sizes, void *const *in, void *const *out) {
    const int64_t n = sizes[0], room = (n + 7) / 8 * 8;
    double *l = out[0], *across = scratch(1, BLOCK * room * 8);
    double square[BLOCK][BLOCK], inverses[BLOCK];
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (int64_t i = 0; i < n; i++) memcpy(l + i * n, (const double *)in[0] + i * n, (size_t)n * sizeof *l);
        for (int64_t k = 0; k < n; k += BLOCK) {
            const int64_t end = k + BLOCK < n ? k + BLOCK : n, count = end - k;
#pragma omp single
            {
                corner(l, n, k, end);
                for (int64_t j = 0; j < count; j++) {
                    inverses[j] = 1 / l[(k + j) * n + k + j];
                    for (int64_t c = 0; c < count; c++) square[j][c] = l[(k + c) * n + k + j];
                }
            }
#pragma omp for schedule(static)
            for (int64_t i = end; i < n; i++) {
                row_below(l + i * n + k, (const double(*)[BLOCK])square, inverses, count);
                for (int64_t j = 0; j < count; j++) across[j * room + i] = l[i * n + k + j];
            }
            /* The longest rows first. */
            const int64_t groups = (n - end + ROWS - 1) / ROWS;
#pragma omp for schedule(dynamic, 4)
            for (int64_t g = groups - 1; g >= 0; g--) rest(l, n, k, end, end + g * ROWS, across, room);
        }
#pragma omp for schedule(static)
        for (int64_t i = 0; i < n; i++) memset(l + i * n + i + 1, 0, (size_t)(n - i - 1) * sizeof *l);
    }
}
