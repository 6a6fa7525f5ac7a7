/* The entry `@NAME@`, compiled by remc.
 *
 *   #define REMC_IMPLEMENTATION      in one file of the program
 *   #include "this header"
 *
 *   remc_context context = {0};
 *   uint64_t params[REMC_PARAMS] = {...}, results[REMC_RESULTS];
 *   if (remc_entry(&context, params, results) != 0) puts(context.message);
 *   ... what results point to ...
 *   remc_release(&context);          frees the results
 *
 * A slot is 8 bytes: a scalar's bits (integers extended, floats as they are), or an address. Arrays are
 * row-major and borrowed; their addresses are multiples of their elements' size.
 *
@PARAMS@
 *
@RESULTS@
 *
@NUMBERS@ * Compile with -fopenmp to run kernels on all cores; link with -lm.
 */
#ifndef REMC_ENTRY_H
#define REMC_ENTRY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define REMC_PARAMS @NPARAMS@
#define REMC_RESULTS @NRESULTS@
#define REMC_THRESHOLDS @NTHRESHOLDS@

typedef struct {
  /* What stopped the program: which check, from remc_checks, and its values. */
  char message[512];
  /* The arrays that are allocated. */
  void **blocks;
  uint64_t count, room;
  /* Values of thresholds that were given: 1 to all of a kind, 2 to one. */
  int64_t tuned[REMC_THRESHOLDS + 1];
  uint8_t is_tuned[REMC_THRESHOLDS + 1];
} remc_context;

/* 0, or another number if a check failed: then the context's message says which. */
int32_t remc_entry(remc_context *context, const uint64_t *params, uint64_t *results);
/* Frees every array of the context, results among them. */
void remc_release(remc_context *context);

/* Gives a context another value of a threshold, by its name or that of a kind: the size from which on a version of the
 * program is chosen, 0 for always, INT64_MAX for never. Not 0 if there is none, or the value is negative: then the
 * context's message says so. */
int32_t remc_context_tune(remc_context *context, const char *name, int64_t value);

/* What compiled code calls. */
typedef void (*remc_kernel)(const uint64_t *args, uint64_t lo, uint64_t hi, uint64_t worker, void *error);
void remc_fail(void *error, uint64_t block, uint32_t trap, uint32_t prov, uint32_t n, const int64_t *values);
int32_t remc_await(void *error, uint64_t block, const int64_t *state);
void remc_pass(int64_t *state);
void *remc_alloc(remc_context *context, uint32_t prov, uint64_t element_bytes, uint32_t rank, const uint64_t *dims);
void remc_free(remc_context *context, void *block);
int32_t remc_launch(remc_context *context, uint32_t kernel, remc_kernel f, const uint64_t *args, uint64_t nargs,
                    uint64_t blocks, int64_t each);
void remc_stop(remc_context *context, uint32_t trap, uint32_t prov, uint32_t n, const int64_t *values);
int32_t remc_sort(remc_context *context, uint32_t nkeys, const uint64_t *keys, uint64_t n, int64_t *out);
int32_t remc_sort_keys(remc_context *context, uint32_t type, const void *keys, uint64_t n, void *out);
uint64_t remc_workers(remc_context *context);
int64_t remc_threshold(remc_context *context, uint32_t n, int64_t value, int64_t size);

#ifdef __cplusplus
}
#endif
#endif

#ifdef REMC_IMPLEMENTATION
#undef REMC_IMPLEMENTATION
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#include <sched.h>
#endif

/* The program's checks, by number. */
static const char *const remc_checks[] = {
@TRAPS@
  ""
};

typedef struct {
  int64_t block; /* the lowest block that failed, or -1 */
  uint32_t trap, n;
  int64_t values[16];
} remc_error;

static void remc_describe(remc_context *context, uint32_t trap, uint32_t n, const int64_t *values) {
  int at = snprintf(context->message, sizeof context->message, "check %s failed, with", remc_checks[trap]);
  for (uint32_t i = 0; i < n && at > 0 && at < (int)sizeof context->message; i++)
    at += snprintf(context->message + at, sizeof context->message - at, " %lld", (long long)values[i]);
}

void remc_fail(void *error, uint64_t block, uint32_t trap, uint32_t prov, uint32_t n, const int64_t *values) {
  remc_error *e = (remc_error *)error;
  (void)prov;
#ifdef _OPENMP
#pragma omp critical(remc)
#endif
  if (e->block < 0 || (int64_t)block < e->block) {
    e->block = (int64_t)block;
    e->trap = trap;
    e->n = n < 16 ? n : 16;
    memcpy(e->values, values, e->n * sizeof *values);
  }
}

int32_t remc_await(void *error, uint64_t block, const int64_t *state) {
  const remc_error *e = (const remc_error *)error;
  for (int looks = 0; !__atomic_load_n(state, __ATOMIC_ACQUIRE); looks++) {
    int64_t failed = __atomic_load_n(&e->block, __ATOMIC_RELAXED);
    if (failed >= 0 && failed < (int64_t)block) return 1;
#ifdef _OPENMP
    if (looks >= 200) sched_yield();
#endif
  }
  return 0;
}

void remc_pass(int64_t *state) { __atomic_store_n(state, 1, __ATOMIC_RELEASE); }

void *remc_alloc(remc_context *c, uint32_t prov, uint64_t element_bytes, uint32_t rank, const uint64_t *dims) {
  uint64_t bytes = element_bytes;
  int fits = 1;
  (void)prov;
  for (uint32_t i = 0; i < rank; i++) {
    if (dims[i] != 0 && bytes > UINT64_MAX / dims[i]) fits = 0;
    bytes *= dims[i];
  }
  for (uint32_t i = 0; i < rank; i++)
    if (dims[i] == 0) fits = 1, bytes = 0;
  if (fits && c->count == c->room) {
    uint64_t room = c->room ? 2 * c->room : 16;
    void **blocks = (void **)realloc(c->blocks, room * sizeof *blocks);
    if (!blocks) fits = 0;
    else c->blocks = blocks, c->room = room;
  }
  void *block = 0;
  if (fits && bytes < UINT64_MAX - 64) block = aligned_alloc(64, (bytes + 127) / 64 * 64);
  if (!block) {
    snprintf(c->message, sizeof c->message, "an array of %u dims does not fit in memory", rank);
    return 0;
  }
  c->blocks[c->count++] = block;
  return block;
}

void remc_free(remc_context *c, void *block) {
  for (uint64_t i = c->count; i-- > 0;)
    if (c->blocks[i] == block) {
      c->blocks[i] = c->blocks[--c->count];
      free(block);
      return;
    }
}

void remc_release(remc_context *c) {
  while (c->count > 0) free(c->blocks[--c->count]);
  free(c->blocks);
  c->blocks = 0;
  c->room = 0;
}

int32_t remc_launch(remc_context *c, uint32_t kernel, remc_kernel f, const uint64_t *args, uint64_t nargs,
                    uint64_t blocks, int64_t each) {
  remc_error e = {-1, 0, 0, {0}};
  (void)kernel;
  (void)nargs;
  (void)each; /* A block may wait for those below it: they are begun in ascending order. */
#ifdef _OPENMP
#pragma omp parallel for schedule(monotonic : dynamic, 1)
  for (int64_t b = 0; b < (int64_t)blocks; b++)
    if (__atomic_load_n(&e.block, __ATOMIC_RELAXED) < 0 || b < e.block) f(args, b, b + 1, (uint64_t)omp_get_thread_num(), &e);
#else
  f(args, 0, blocks, 0, &e);
#endif
  if (e.block < 0) return 0;
  remc_describe(c, e.trap, e.n, e.values);
  return 1;
}

void remc_stop(remc_context *c, uint32_t trap, uint32_t prov, uint32_t n, const int64_t *values) {
  (void)prov;
  remc_describe(c, trap, n, values);
}

/* The thresholds by number, with their kinds; and the numbers that have shaped the code, with their values. */
static const char *const remc_thresholds[][2] = {
@THRESHOLDS@
  {"", ""}
};
static const char *const remc_fixed[][2] = {
@FIXED@
  {"", ""}
};

/* Adds words to the message; what has no room ends in dots. */
static void remc_add(remc_context *c, const char *words) {
  size_t at = strlen(c->message), room = sizeof c->message - at, length = strlen(words);
  if (length < room) {
    memcpy(c->message + at, words, length + 1);
    return;
  }
  at = at < sizeof c->message - 5 ? at : sizeof c->message - 5;
  memcpy(c->message + at, " ...", 5);
}

int32_t remc_context_tune(remc_context *c, const char *name, int64_t value) {
  int known = 0;
  c->message[0] = 0;
  for (int n = 0; n < REMC_THRESHOLDS; n++) {
    int own = strcmp(name, remc_thresholds[n][0]) == 0;
    if (!own && strcmp(name, remc_thresholds[n][1]) != 0) continue;
    known = 1;
    if (value < 0 || (!own && c->is_tuned[n] == 2)) continue;
    c->tuned[n] = value;
    c->is_tuned[n] = own ? 2 : 1;
  }
  if (known && value >= 0) return 0;
  if (known) {
    snprintf(c->message, sizeof c->message, "`%.300s` is given %lld: a threshold is a number of at least 0", name,
             (long long)value);
    return 1;
  }
  for (int k = 0; remc_fixed[k][0][0]; k++)
    if (strcmp(name, remc_fixed[k][0]) == 0) {
      snprintf(c->message, sizeof c->message, "`%.300s` has shaped the code and stays %s: compile the program anew",
               name, remc_fixed[k][1]);
      return 1;
    }
  snprintf(c->message, sizeof c->message, "there is no threshold `%.200s`%s", name,
           REMC_THRESHOLDS ? "; there are " : ": the program has no versions to choose between");
  for (int n = 0; n < REMC_THRESHOLDS; n++) {
    remc_add(c, n ? ", `" : "`");
    remc_add(c, remc_thresholds[n][0]);
    remc_add(c, "`");
  }
  return 1;
}

int64_t remc_threshold(remc_context *c, uint32_t n, int64_t value, int64_t size) {
  (void)size;
  return c->is_tuned[n] ? c->tuned[n] : value;
}

uint64_t remc_workers(remc_context *c) {
  (void)c;
#ifdef _OPENMP
  return (uint64_t)omp_get_max_threads();
#else
  return 1;
#endif
}

/* The order of one element: base types by number, as remc counts them. */
static int remc_order(uint64_t type, const void *a, const void *b) {
#define REMC_CASE(k, T) \
  case k: { T x, y; memcpy(&x, a, sizeof x); memcpy(&y, b, sizeof y); return (x > y) - (x < y); }
  switch (type) {
    REMC_CASE(0, uint8_t)
    REMC_CASE(1, uint32_t)
    REMC_CASE(2, int8_t)
    REMC_CASE(3, int16_t)
    REMC_CASE(4, int32_t)
    REMC_CASE(5, int64_t)
    REMC_CASE(6, uint8_t)
    REMC_CASE(7, uint16_t)
    REMC_CASE(8, uint32_t)
    REMC_CASE(9, uint64_t)
  }
#undef REMC_CASE
  /* Floats: by value; a NaN after all numbers. */
  double x, y;
  if (type == 11) { float p, q; memcpy(&p, a, 4); memcpy(&q, b, 4); x = p; y = q; }
  else if (type == 12) { memcpy(&x, a, 8); memcpy(&y, b, 8); }
  else {
    uint16_t p, q;
    memcpy(&p, a, 2);
    memcpy(&q, b, 2);
    int nan_p = (p & 0x7fff) > 0x7c00, nan_q = (q & 0x7fff) > 0x7c00;
    if (nan_p || nan_q) return nan_p - nan_q;
    int32_t m = p & 0x8000 ? -(int32_t)(p & 0x7fff) : p, k = q & 0x8000 ? -(int32_t)(q & 0x7fff) : q;
    return (m > k) - (m < k);
  }
  if (isnan(x) || isnan(y)) return (isnan(x) != 0) - (isnan(y) != 0);
  return (x > y) - (x < y);
}

/* The bytes of an element. */
static const uint64_t remc_widths[] = {1, 4, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8};

static int remc_compare(uint32_t nkeys, const uint64_t *keys, int64_t i, int64_t j) {
  for (uint32_t k = 0; k < nkeys; k++) {
    const char *base = (const char *)keys[3 * k];
    uint64_t type = keys[3 * k + 1], cell = keys[3 * k + 2], w = remc_widths[type];
    for (uint64_t e = 0; e < cell; e++) {
      int order = remc_order(type, base + ((uint64_t)i * cell + e) * w, base + ((uint64_t)j * cell + e) * w);
      if (order) return order;
    }
  }
  return 0;
}

/* A stable merge sort of positions. */
int32_t remc_sort(remc_context *c, uint32_t nkeys, const uint64_t *keys, uint64_t n, int64_t *out) {
  int64_t *other = (int64_t *)malloc((n + 1) * sizeof *other), *from = out, *to = other;
  if (!other) {
    snprintf(c->message, sizeof c->message, "no memory to sort %llu items", (unsigned long long)n);
    return 1;
  }
  for (uint64_t i = 0; i < n; i++) out[i] = (int64_t)i;
  for (uint64_t width = 1; width < n; width *= 2) {
    for (uint64_t lo = 0; lo < n; lo += 2 * width) {
      uint64_t mid = lo + width < n ? lo + width : n, hi = lo + 2 * width < n ? lo + 2 * width : n;
      uint64_t a = lo, b = mid, k = lo;
      while (a < mid || b < hi)
        to[k++] = b == hi || (a < mid && remc_compare(nkeys, keys, from[a], from[b]) <= 0) ? from[a++] : from[b++];
    }
    int64_t *swap = from;
    from = to;
    to = swap;
  }
  if (from != out) memcpy(out, from, n * sizeof *out);
  free(other);
  return 0;
}

/* The elements themselves, in order. */
int32_t remc_sort_keys(remc_context *c, uint32_t type, const void *keys, uint64_t n, void *out) {
  uint64_t key[] = {(uint64_t)(uintptr_t)keys, type, 1}, w = remc_widths[type];
  int64_t *order = (int64_t *)malloc((n + 1) * sizeof *order);
  if (!order) {
    snprintf(c->message, sizeof c->message, "no memory to sort %llu items", (unsigned long long)n);
    return 1;
  }
  int32_t stopped = remc_sort(c, 1, key, n, order);
  for (uint64_t i = 0; !stopped && i < n; i++)
    memcpy((char *)out + i * w, (const char *)keys + (uint64_t)order[i] * w, w);
  free(order);
  return stopped;
}
#endif
