/* The mean of each box of 16 by 16 pixels. No table is made: sums of the last 16 pixels of each column follow the rows
 * down, and are added up along the row by doubling. in: image f64 [h w]. out: f64 [h-15 w-15]. */
#include "rows.h"

enum { SIDE = 16, BAND = 64 };

/* Sums of 2, 4, 8 and 16 successive numbers. */
static inline void row(const double *restrict columns, double *restrict some, double *restrict to, int64_t w) {
#pragma omp simd
    for (int64_t j = 0; j < w - 3; j++)
        some[j] = (columns[j] + columns[j + 1]) + (columns[j + 2] + columns[j + 3]);
#pragma omp simd
    for (int64_t j = 0; j < w - 15; j++)
        to[j] = ((some[j] + some[j + 4]) + (some[j + 8] + some[j + 12])) * (1.0 / (SIDE * SIDE));
}

void peer_run(const int64_t *sizes, void *const *in, void *const *out) {
    const int64_t h = sizes[0], w = sizes[1], rows = h - SIDE + 1, width = w - SIDE + 1;
    const double *image = in[0];
    double *to = out[0];
    const int64_t room = (w + 15) / 8 * 8;
    double *all = scratch(1, 2 * room * 8 * omp_get_max_threads());
    const int64_t bands = (rows + BAND - 1) / BAND;
#pragma omp parallel for schedule(static)
    for (int64_t band = 0; band < bands; band++) {
        double *restrict columns = all + 2 * room * omp_get_thread_num(), *restrict some = columns + room;
        const int64_t from = part_of(rows, band, bands), end = part_of(rows, band + 1, bands);
        memset(columns, 0, (size_t)w * sizeof *columns);
        for (int64_t i = from; i < from + SIDE; i++)
#pragma omp simd
            for (int64_t j = 0; j < w; j++) columns[j] += image[i * w + j];
        for (int64_t i = from; i < end; i++) {
            row(columns, some, to + i * width, w);
            const double *restrict old = image + i * w, *restrict next = image + (i + SIDE) * w;
            if (i + 1 < end)
#pragma omp simd
                for (int64_t j = 0; j < w; j++) columns[j] += next[j] - old[j];
        }
    }
}
