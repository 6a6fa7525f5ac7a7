/* The inverse of each 4 by 4 matrix, by the determinants of its parts. in: a f64 [n 4 4]. out: f64 [n 4 4]. */
#include "rows.h"

/* Four numbers, one of each of four matrices, or a row of one. */
typedef double Four __attribute__((vector_size(32)));
typedef int64_t Places __attribute__((vector_size(32)));

/* Rows of four matrices become the lanes of their items, and the other way round. */
static inline void turn(Four *x) {
    const Four a = __builtin_shuffle(x[0], x[1], (Places){0, 4, 2, 6});
    const Four b = __builtin_shuffle(x[0], x[1], (Places){1, 5, 3, 7});
    const Four c = __builtin_shuffle(x[2], x[3], (Places){0, 4, 2, 6});
    const Four d = __builtin_shuffle(x[2], x[3], (Places){1, 5, 3, 7});
    x[0] = __builtin_shuffle(a, c, (Places){0, 1, 4, 5});
    x[1] = __builtin_shuffle(b, d, (Places){0, 1, 4, 5});
    x[2] = __builtin_shuffle(a, c, (Places){2, 3, 6, 7});
    x[3] = __builtin_shuffle(b, d, (Places){2, 3, 6, 7});
}

static inline void invert(const Four m[4][4], Four to[4][4]) {
    /* Of the upper two rows and of the lower two: the determinants of each pair of columns. */
    const Four u01 = m[0][0] * m[1][1] - m[0][1] * m[1][0], l01 = m[2][0] * m[3][1] - m[2][1] * m[3][0];
    const Four u02 = m[0][0] * m[1][2] - m[0][2] * m[1][0], l02 = m[2][0] * m[3][2] - m[2][2] * m[3][0];
    const Four u03 = m[0][0] * m[1][3] - m[0][3] * m[1][0], l03 = m[2][0] * m[3][3] - m[2][3] * m[3][0];
    const Four u12 = m[0][1] * m[1][2] - m[0][2] * m[1][1], l12 = m[2][1] * m[3][2] - m[2][2] * m[3][1];
    const Four u13 = m[0][1] * m[1][3] - m[0][3] * m[1][1], l13 = m[2][1] * m[3][3] - m[2][3] * m[3][1];
    const Four u23 = m[0][2] * m[1][3] - m[0][3] * m[1][2], l23 = m[2][2] * m[3][3] - m[2][3] * m[3][2];
    const Four f = 1.0 / (u01 * l23 - u02 * l13 + u03 * l12 + u12 * l03 - u13 * l02 + u23 * l01);
    to[0][0] = f * (m[1][1] * l23 - m[1][2] * l13 + m[1][3] * l12);
    to[0][1] = f * (m[0][2] * l13 - m[0][1] * l23 - m[0][3] * l12);
    to[0][2] = f * (m[3][1] * u23 - m[3][2] * u13 + m[3][3] * u12);
    to[0][3] = f * (m[2][2] * u13 - m[2][1] * u23 - m[2][3] * u12);
    to[1][0] = f * (m[1][2] * l03 - m[1][0] * l23 - m[1][3] * l02);
    to[1][1] = f * (m[0][0] * l23 - m[0][2] * l03 + m[0][3] * l02);
    to[1][2] = f * (m[3][2] * u03 - m[3][0] * u23 - m[3][3] * u02);
    to[1][3] = f * (m[2][0] * u23 - m[2][2] * u03 + m[2][3] * u02);
    to[2][0] = f * (m[1][0] * l13 - m[1][1] * l03 + m[1][3] * l01);
    to[2][1] = f * (m[0][1] * l03 - m[0][0] * l13 - m[0][3] * l01);
    to[2][2] = f * (m[3][0] * u13 - m[3][1] * u03 + m[3][3] * u01);
    to[2][3] = f * (m[2][1] * u03 - m[2][0] * u13 - m[2][3] * u01);
    to[3][0] = f * (m[1][1] * l02 - m[1][0] * l12 - m[1][2] * l01);
    to[3][1] = f * (m[0][0] * l12 - m[0][1] * l02 + m[0][2] * l01);
    to[3][2] = f * (m[3][1] * u02 - m[3][0] * u12 - m[3][2] * u01);
    to[3][3] = f * (m[2][0] * u12 - m[2][1] * u02 + m[2][2] * u01);
}

/* Up to four matrices. */
static inline void some(const double *restrict a, double *restrict to, int64_t count) {
    Four m[4][4] = {{{0}}}, inverse[4][4];
    for (int64_t l = 0; l < count; l++)
        for (int r = 0; r < 4; r++) memcpy(&m[r][l], a + 16 * l + 4 * r, sizeof(Four));
    for (int r = 0; r < 4; r++) turn(m[r]);
    invert(m, inverse);
    for (int r = 0; r < 4; r++) turn(inverse[r]);
    for (int64_t l = 0; l < count; l++)
        for (int r = 0; r < 4; r++) memcpy(to + 16 * l + 4 * r, &inverse[r][l], sizeof(Four));
}

void peer_run(const int64_t *sizes, void *const *in, void *const *out) {
    const int64_t n = sizes[0];
    const double *a = in[0];
    double *to = out[0];
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n / 4; i++) some(a + 64 * i, to + 64 * i, 4);
    if (n % 4) some(a + 16 * (n / 4 * 4), to + 16 * (n / 4 * 4), n % 4);
}
