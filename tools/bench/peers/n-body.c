/* The acceleration of each body: the sum over all bodies of mass × d / (|d|² + softening)^(3/2), d being the
 * way from this body to that one. sizes: n. in: positions REAL [n 3], masses REAL [n]. out: REAL [n 3]. */
#include "peer.h"
#include <math.h>

#ifndef REAL
#define REAL float
#define SQRT sqrtf
#endif

void peer_run(const int64_t *sizes, void *const *in, void *const *out) {
    const int64_t n = sizes[0];
    const REAL *restrict p = in[0], *restrict masses = in[1];
    REAL *restrict acceleration = out[0];
    /* One array for each coordinate, for whole vectors of bodies. */
    REAL *restrict x = malloc((size_t)(3 * n + 1) * sizeof *x);
    if (!x) abort();
    REAL *restrict y = x + n, *restrict z = y + n;
    for (int64_t i = 0; i < n; i++) {
        x[i] = p[3 * i];
        y[i] = p[3 * i + 1];
        z[i] = p[3 * i + 2];
    }
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i++) {
        const REAL xi = x[i], yi = y[i], zi = z[i];
        REAL ax = 0, ay = 0, az = 0;
#pragma omp simd reduction(+ : ax, ay, az)
        for (int64_t j = 0; j < n; j++) {
            const REAL dx = x[j] - xi, dy = y[j] - yi, dz = z[j] - zi;
            const REAL r2 = dx * dx + dy * dy + dz * dz + (REAL)1e-3;
            const REAL pull = masses[j] / (r2 * SQRT(r2));
            ax += pull * dx;
            ay += pull * dy;
            az += pull * dz;
        }
        acceleration[3 * i] = ax;
        acceleration[3 * i + 1] = ay;
        acceleration[3 * i + 2] = az;
    }
    free(x);
}
