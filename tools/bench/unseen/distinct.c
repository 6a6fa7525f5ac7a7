/* What is different in each row, in ascending order. in: xs i64 [n], lengths [k]. out: i64 [as many as that is]. Each
 * row is sorted where it begins, and copied to where it goes when all are counted. */
#include "rows.h"

static void sort(int64_t *xs, int64_t n) {
    while (n > 24) {
        const int64_t a = xs[0], b = xs[n / 2], c = xs[n - 1];
        const int64_t middle = a < b ? (b < c ? b : a < c ? c : a) : (a < c ? a : b < c ? c : b);
        int64_t i = 0, j = n - 1;
        while (i <= j) {
            while (xs[i] < middle) i++;
            while (xs[j] > middle) j--;
            if (i <= j) {
                const int64_t x = xs[i];
                xs[i++] = xs[j];
                xs[j--] = x;
            }
        }
        /* The shorter part first. */
        if (j + 1 < n - i) {
            sort(xs, j + 1);
            xs += i, n -= i;
        } else {
            sort(xs + i, n - i);
            n = j + 1;
        }
    }
    for (int64_t i = 1; i < n; i++) {
        const int64_t x = xs[i];
        int64_t j = i;
        for (; j > 0 && xs[j - 1] > x; j--) xs[j] = xs[j - 1];
        xs[j] = x;
    }
}

void peer_run(const int64_t *sizes, void *const *in, void *const *out) {
    const int64_t *xs = in[0];
    int64_t *to = out[0];
    const Rows rows = rows_of(in[1], sizes[1]);
    int64_t *room = scratch(1, 8 * (rows.items + 1));
    int64_t *counts = scratch(2, 8 * (2 * rows.count + 1)), *place = counts + rows.count;
    EACH_ROW(rows, r, end) {
        const int64_t n = row_length(&rows, r);
        int64_t *row = room + rows.start[r], kept = 0;
        memcpy(row, xs + rows.start[r], 8 * (size_t)n);
        sort(row, n);
        for (int64_t i = 0; i < n; i++) {
            row[kept] = row[i];
            kept += i + 1 == n || row[i + 1] != row[i];
        }
        counts[r] = kept;
    }
    sums_before(counts, rows.count, INT64_MAX, place);
    EACH_ROW(rows, r, end_)
        memcpy(to + place[r], room + rows.start[r], 8 * (size_t)(place[r + 1] - place[r]));
}
