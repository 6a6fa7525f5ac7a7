/* The best score of a local alignment: 2 for equal letters, -1 for different ones and for gaps. Scores are of 16 bits, so
 * that the shorter sequence has at most 16,000 letters. in: a u8 [n], b u8 [m]. out: i64 []. */
#include "rows.h"

enum { TILE = 512 };

/* Cells of a tile on one line from below to the right do not wait for each other. `column` has the scores at the right end
 * of the tile to the left, and gets those of this one; `row` has those above the tile, and gets those of its last row.
 * `corner` is the score above and to the left. `b` runs backwards. */
static int16_t tile(const int16_t *restrict a, const int16_t *restrict b, int h, int w, int16_t *restrict column,
                    int16_t *restrict row, int16_t corner) {
    int16_t lines[3][TILE + 1], most = 0;
    int16_t *restrict now = lines[0], *restrict one = lines[1], *restrict two = lines[2];
    one[0] = corner;
    for (int line = 1; line <= h + w; line++) {
        const int from = line > w ? line - w : 1, end = line <= h ? line : h + 1;
        const int16_t *restrict other = b + w - line;
        if (line <= w) now[0] = row[line - 1];
        if (line <= h) now[line] = column[line - 1];
#pragma omp simd reduction(max : most)
        for (int i = from; i < end; i++) {
            const int16_t pair = two[i - 1] + (a[i - 1] == other[i] ? 2 : -1);
            const int16_t before = one[i - 1] > one[i] ? one[i - 1] : one[i];
            int16_t score = before - 1 > pair ? before - 1 : pair;
            score = score > 0 ? score : 0;
            now[i] = score;
            most = score > most ? score : most;
        }
        if (line > h) row[line - h - 1] = now[h];
        if (line > w) column[line - w - 1] = now[line - w];
        int16_t *const spare = two;
        two = one;
        one = now;
        now = spare;
    }
    return most;
}

void peer_run(const int64_t *sizes, void *const *in, void *const *out) {
    const uint8_t *a = in[0], *b = in[1];
    const int64_t n = sizes[0], m = sizes[1], down = (n + TILE - 1) / TILE, across = (m + TILE - 1) / TILE;
    int16_t *as = scratch(1, 2 * (n + m) + 4 * (n + m + 2)), *bs = as + n;
    int16_t *column = bs + m, *row = column + n, corners[down + across + 1];
    int16_t most = 0;
    for (int64_t i = 0; i < n; i++) as[i] = a[i], column[i] = 0;
    for (int64_t j = 0; j < m; j++) bs[j] = b[m - 1 - j], row[j] = 0;
    /* Tiles on one line do not wait for each other either. A corner is kept for each diagonal of tiles. */
    memset(corners, 0, sizeof corners);
#pragma omp parallel
    for (int64_t line = 0; line < down + across - 1; line++) {
        const int64_t from = line < across ? 0 : line - across + 1, end = line < down ? line + 1 : down;
#pragma omp for schedule(dynamic, 1) reduction(max : most)
        for (int64_t i = from; i < end; i++) {
            const int64_t j = line - i, top = i * TILE, left = j * TILE;
            const int64_t h = top + TILE < n ? TILE : n - top, w = left + TILE < m ? TILE : m - left;
            int16_t *const corner = corners + down + j - i;
            const int16_t before = *corner;
            const int16_t best = tile(as + top, bs + m - left - w, (int)h, (int)w, column + top, row + left, before);
            *corner = row[left + w - 1];
            most = best > most ? best : most;
        }
    }
    *(int64_t *)out[0] = most;
}
