/* Levenshtein's distance of each pair of words, by the table of distances, of which one row is kept. (For words of at
 * most 64 letters there are tricks with bits that work on a whole row at once, for this distance alone: they are
 * another program.) in: letters u8 [n], lengths [k], others u8 [m], their lengths [k]. out: i64 [k]. */
#include "rows.h"

static inline int32_t least(int32_t a, int32_t b) { return a < b ? a : b; }

static int64_t distance(const uint8_t *restrict a, int64_t n, const uint8_t *restrict b, int64_t m,
                        int32_t *restrict row) {
    for (int64_t j = 0; j <= m; j++) row[j] = (int32_t)j;
    for (int64_t i = 0; i < n; i++) {
        const uint8_t letter = a[i];
        int32_t corner = row[0], left = ++row[0];
        for (int64_t j = 0; j < m; j++) {
            const int32_t changed = corner + (b[j] != letter);
            corner = row[j + 1];
            left = least(least(changed, corner + 1), left + 1);
            row[j + 1] = left;
        }
    }
    return row[m];
}

void peer_run(const int64_t *sizes, void *const *in, void *const *out) {
    const uint8_t *letters = in[0], *others = in[2];
    int64_t *to = out[0];
    const int64_t *lengths = in[3];
    const Rows rows = rows_of(in[1], sizes[1]);
    const int64_t *start = sums_before(lengths, rows.count, INT64_MAX, scratch(1, 8 * (rows.count + 1)));
    int64_t longest = 0;
#pragma omp parallel for schedule(static) reduction(max : longest)
    for (int64_t r = 0; r < rows.count; r++) longest = lengths[r] > longest ? lengths[r] : longest;
    const int64_t room = (longest + 1 + 15) / 16 * 16;
    int32_t *all = scratch(2, room * 4 * omp_get_max_threads());
    EACH_ROW(rows, r, end)
        to[r] = distance(letters + rows.start[r], row_length(&rows, r), others + start[r], lengths[r],
                         all + room * omp_get_thread_num());
}
