/* An image turned about its middle by half a radian, interpolated linearly, with 0 beyond its ends. in: image f64 [h w].
 * out: f64 [h w]. */
#include "rows.h"
#include <math.h>

enum { TILE = 64 };

static const double angle = 0.5;

typedef struct { const double *image; int64_t h, w; } Image;

static inline double pixel(const Image *m, int64_t i, int64_t j) {
    return i >= 0 && i < m->h && j >= 0 && j < m->w ? m->image[i * m->w + j] : 0;
}

/* A piece of a row from column `from` on, which begins at a place and goes on by steps. */
static void piece(const Image *m, double *restrict to, int64_t from, int64_t end, double y, double x, double dy,
                  double dx, int inside) {
    const double *restrict image = m->image;
    const int32_t w = (int32_t)m->w;
    if (inside) {
#pragma omp simd
        for (int64_t c = from; c < end; c++) {
            const double at_y = y + dy * (double)c, at_x = x + dx * (double)c;
            /* Neither is negative. */
            const int32_t i = (int32_t)at_y, j = (int32_t)at_x, at = i * w + j;
            const double down = at_y - i, right = at_x - j;
            const double above = image[at] + right * (image[at + 1] - image[at]);
            const double below = image[at + w] + right * (image[at + w + 1] - image[at + w]);
            to[c] = above + down * (below - above);
        }
        return;
    }
    for (int64_t c = from; c < end; c++) {
        const double at_y = y + dy * (double)c, at_x = x + dx * (double)c;
        const int64_t i = (int64_t)floor(at_y), j = (int64_t)floor(at_x);
        const double down = at_y - (double)i, right = at_x - (double)j;
        const double above = (1 - right) * pixel(m, i, j) + right * pixel(m, i, j + 1);
        const double below = (1 - right) * pixel(m, i + 1, j) + right * pixel(m, i + 1, j + 1);
        to[c] = (1 - down) * above + down * below;
    }
}

/* Whether a place and its neighbours are in the image; rounding is no matter one pixel from its ends. */
static inline int within(const Image *m, double y, double x) {
    return y >= 1 && y < (double)(m->h - 2) && x >= 1 && x < (double)(m->w - 2);
}

void peer_run(const int64_t *sizes, void *const *in, void *const *out) {
    const Image m = {.image = in[0], .h = sizes[0], .w = sizes[1]};
    double *to = out[0];
    const double s = sin(angle), c = cos(angle), middle_y = (double)(m.h - 1) / 2, middle_x = (double)(m.w - 1) / 2;
    const int64_t down = (m.h + TILE - 1) / TILE, across = (m.w + TILE - 1) / TILE;
#pragma omp parallel for schedule(dynamic, 4)
    for (int64_t tile = 0; tile < down * across; tile++) {
        const int64_t top = tile / across * TILE, from = tile % across * TILE;
        const int64_t bottom = top + TILE < m.h ? top + TILE : m.h, end = from + TILE < m.w ? from + TILE : m.w;
        for (int64_t r = top; r < bottom; r++) {
            const double y = middle_y + c * ((double)r - middle_y) + s * middle_x;
            const double x = middle_x + s * ((double)r - middle_y) - c * middle_x;
            /* A piece is a line: it is inside if both of its ends are. */
            const int inside = within(&m, y - s * (double)from, x + c * (double)from) &&
                               within(&m, y - s * (double)(end - 1), x + c * (double)(end - 1));
            piece(&m, to + r * m.w, from, end, y, x, -s, c, inside);
        }
    }
}
