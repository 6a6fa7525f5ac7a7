/* What the kernels of this folder share. Their interface is that of `../peers/peer.h`; `sizes` has the sizes of the
 * axes of all inputs, one input after the other, and then those of the output. A `lengths` is i64.
 *
 * Rows lie one after the other. Threads get pieces of some rows each that have about as many items, and whoever is
 * done takes the next one. A row that is longer than a piece is large: all threads work on it together, after the
 * others.
 *
 *     const Rows rows = rows_of(lengths, count);
 *     SMALL_ROWS(rows, r) f(xs + rows.start[r], row_length(&rows, r));
 *     LARGE_ROWS(rows, r) f_by_all(xs + rows.start[r], row_length(&rows, r));
 */
#include "../peers/peer.h"

enum { PIECES_A_THREAD = 16, MAX_THREADS = 1024 };

typedef struct {
    const int64_t *start; /* one more than there are rows */
    int64_t count, items, pieces, limit; /* a row longer than the limit is large */
    int64_t large_count, *large;
} Rows;

/* Memory that stays from call to call, so that no call waits for pages. Places 1 and 2 are a kernel's own. */
static inline void *scratch(int place, int64_t bytes) {
    static struct { void *start; int64_t bytes; } kept[4];
    if (kept[place].bytes < bytes) {
        free(kept[place].start);
        kept[place].start = peer_alloc(bytes);
        kept[place].bytes = bytes;
    }
    return kept[place].start;
}

static inline int64_t part_of(int64_t n, int64_t part, int64_t parts) {
    return (int64_t)((__int128)n * part / parts);
}

static inline int64_t row_length(const Rows *rows, int64_t r) { return rows->start[r + 1] - rows->start[r]; }

/* Sums of what is before each of `n` numbers, and of all; no number counts for more than `most`. */
static inline const int64_t *sums_before(const int64_t *xs, int64_t n, int64_t most, int64_t *to) {
    static int64_t sums[MAX_THREADS + 1];
#pragma omp parallel
    {
        const int t = omp_get_thread_num(), threads = omp_get_num_threads();
        const int64_t from = part_of(n, t, threads), end = part_of(n, t + 1, threads);
        int64_t sum = 0;
        for (int64_t i = from; i < end; i++) sum += xs[i] < most ? xs[i] : most;
        sums[t + 1] = sum;
#pragma omp barrier
#pragma omp single
        for (int i = 0; i < threads; i++) sums[i + 1] += sums[i];
        sum = sums[t];
        for (int64_t i = from; i < end; i++) {
            to[i] = sum;
            sum += xs[i] < most ? xs[i] : most;
        }
        if (t == threads - 1) to[n] = sum;
    }
    return to;
}

/* Rows that begin at these places; the last place is where they end. */
static inline Rows rows_at(const int64_t *start, int64_t count) {
    Rows rows = {.start = start, .count = count, .pieces = PIECES_A_THREAD * omp_get_max_threads()};
    rows.items = start[count];
    /* Fewer than there are pieces are longer than one. */
    rows.large = scratch(3, 8 * (rows.pieces + 1));
    rows.limit = rows.items / rows.pieces > 64 ? rows.items / rows.pieces : 64;
#pragma omp parallel for schedule(static)
    for (int64_t r = 0; r < count; r++) {
        if (start[r + 1] - start[r] <= rows.limit) continue;
#pragma omp critical
        rows.large[rows.large_count++] = r;
    }
    return rows;
}

static inline Rows rows_of(const int64_t *lengths, int64_t count) {
    return rows_at(sums_before(lengths, count, INT64_MAX, scratch(0, 8 * (count + 1))), count);
}

/* The first row of a piece. A row costs something by itself, too, as much as a few items. */
static inline int64_t first_row(const Rows *rows, int64_t piece) {
    enum { ROW = 4 };
    const int64_t wanted = part_of(rows->items + ROW * rows->count, piece, rows->pieces);
    int64_t low = 0, high = rows->count;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (rows->start[middle] + ROW * middle < wanted) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* `end` is the first row of the next piece. */
#define EACH_ROW(rows, r, end)                                                                                \
    _Pragma("omp parallel for schedule(dynamic, 1)")                                                          \
    for (int64_t piece_ = 0; piece_ < (rows).pieces; piece_++)                                                \
        for (int64_t r = first_row(&(rows), piece_), end = first_row(&(rows), piece_ + 1); r < end; r++)

#define SMALL_ROWS(rows, r) EACH_ROW(rows, r, end_) if (row_length(&(rows), r) <= (rows).limit)

#define LARGE_ROWS(rows, r)                                                                                   \
    for (int64_t i_ = 0, r = (rows).large[0]; i_ < (rows).large_count; r = (rows).large[++i_])
