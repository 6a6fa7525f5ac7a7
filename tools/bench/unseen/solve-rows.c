/* Solves a system of linear equations for each matrix and right side, without exchanging rows. in: a f64 [n d d], b f64
 * [n d]. out: f64 [n d]. */
#include "rows.h"

enum { D = 8, LANES = 8 };

/* Elimination down and substitution up, for the systems that lie in `lanes` lanes: item j of row i of all of them is at
 * s[i][j]; the right sides are the last column. */
static inline void solve_8(double (*restrict s)[D + 1][LANES]) {
    for (int k = 0; k < D; k++) {
        double inverse[LANES];
        for (int l = 0; l < LANES; l++) inverse[l] = 1 / s[k][k][l];
        for (int j = k + 1; j <= D; j++)
            for (int l = 0; l < LANES; l++) s[k][j][l] *= inverse[l];
        for (int i = k + 1; i < D; i++)
            for (int j = k + 1; j <= D; j++)
                for (int l = 0; l < LANES; l++) s[i][j][l] -= s[i][k][l] * s[k][j][l];
    }
    for (int k = D - 1; k > 0; k--)
        for (int i = 0; i < k; i++)
            for (int l = 0; l < LANES; l++) s[i][D][l] -= s[i][k][l] * s[k][D][l];
}

static void eight_systems(const double *restrict a, const double *restrict b, double *restrict to) {
    double s[D][D + 1][LANES];
    for (int i = 0; i < D; i++) {
        for (int j = 0; j < D; j++)
            for (int l = 0; l < LANES; l++) s[i][j][l] = a[(l * D + i) * D + j];
        for (int l = 0; l < LANES; l++) s[i][D][l] = b[l * D + i];
    }
    solve_8(s);
    for (int l = 0; l < LANES; l++)
        for (int i = 0; i < D; i++) to[l * D + i] = s[i][D][l];
}

static void one_system(const double *restrict a, const double *restrict b, double *restrict to, int64_t d) {
    double s[d][d];
    memcpy(s, a, sizeof s);
    memcpy(to, b, (size_t)d * sizeof *to);
    for (int64_t k = 0; k < d; k++)
        for (int64_t i = k + 1; i < d; i++) {
            const double factor = s[i][k] / s[k][k];
            for (int64_t j = k; j < d; j++) s[i][j] -= factor * s[k][j];
            to[i] -= factor * to[k];
        }
    for (int64_t k = d - 1; k >= 0; k--) {
        for (int64_t j = k + 1; j < d; j++) to[k] -= s[k][j] * to[j];
        to[k] /= s[k][k];
    }
}

void peer_run(const int64_t *sizes, void *const *in, void *const *out) {
    const int64_t n = sizes[0], d = sizes[1];
    const double *a = in[0], *b = in[1];
    double *to = out[0];
    const int64_t whole = d == D ? n / LANES : 0;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < whole; i++)
        eight_systems(a + i * LANES * D * D, b + i * LANES * D, to + i * LANES * D);
#pragma omp parallel for schedule(static)
    for (int64_t i = whole * LANES; i < n; i++) one_system(a + i * d * d, b + i * d, to + i * d, d);
}
