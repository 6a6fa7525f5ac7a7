/* A C program that uses the libraries of four entries, each printed as CUDA: see ../../book/src/cuda.md. */
#include "columns.h"
#include "dot.h"
#include "nearest.h"
#include "quotients.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(int status, const remc_context *context) {
  if (status == REMC_DONE) return;
  fprintf(stderr, "%s\n", remc_error(context));
  exit(status);
}

static void show(const char *name, const remc_array *array) {
  printf("%s:", name);
  for (int64_t i = 0; i < array->dims[0]; i++) printf(" %g", (double)((const float *)array->data)[i]);
  printf(" (rank %d, type %d)\n", array->rank, array->type == REMC_F32);
}

int main(void) {
  remc_context *context = remc_context_new();
  if (!context) {
    fprintf(stderr, "%s\n", remc_error(NULL));
    return 2;
  }

  enum { N = 100000 };
  double *xs = malloc(N * sizeof *xs);
  for (int i = 0; i < N; i++) xs[i] = i % 10;
  double product = -1;
  check(remc_entry_dot_product(context, N, xs, xs, &product), context);
  printf("dot: %g\n", product);
  /* An empty array needs no memory. */
  check(remc_entry_dot_product(context, 0, NULL, NULL, &product), context);
  printf("dot of nothing: %g\n", product);

  const float table[3][2] = {{1, 10}, {2, 20}, {3, 60}};
  remc_array means, variances;
  check(remc_entry_columns(context, 3, 2, &table[0][0], &means, &variances), context);
  show("means", &means);
  show("variances", &variances);
  remc_array_free(&means);
  remc_array_free(&variances);

  const double points[4][2] = {{0, 0}, {3, 4}, {1, 1}, {2, 2}}, to[2] = {1.5, 1};
  double least;
  int64_t which;
  check(remc_entry_nearest(context, 4, 2, &points[0][0], to, &least, &which), context);
  printf("nearest: %lld, at %g\n", (long long)which, least);

  /* A check that fails, in a context of its own; the context is good for another run, and the first one
   * knows nothing of it. */
  remc_context *other = remc_context_new();
  if (!other) return 2;
  int64_t numbers[3] = {7, 8, 9}, by[3] = {2, 0, 4};
  remc_array quotients;
  int status = remc_entry_quotients(other, 3, numbers, by, &quotients);
  printf("quotients: %d, %s\n", status, remc_error(other));
  printf("no array: %d; the first context: \"%s\"\n", quotients.data == NULL, remc_error(context));
  remc_array_free(&quotients);
  by[1] = -3;
  check(remc_entry_quotients(other, 3, numbers, by, &quotients), other);
  for (int i = 0; i < 3; i++) printf("%lld%c", (long long)((int64_t *)quotients.data)[i], i < 2 ? ' ' : '\n');
  remc_array_free(&quotients);

  /* Wrong arguments are told, whatever they are. */
  status = remc_entry_dot_product(context, -1, xs, xs, &product);
  printf("%d, %s\n", status, remc_error(context));
  status = remc_entry_dot_product(context, N, xs, NULL, &product);
  printf("%d, %s\n", status, remc_error(context));
  status = remc_entry_dot_product(context, N, xs, xs, NULL);
  printf("%d, %s\n", status, remc_error(context));
  status = remc_entry_dot_product(context, INT64_MAX, xs, xs, &product);
  printf("%d, %s\n", status, remc_error(context));
  printf("%d\n", remc_entry_dot_product(NULL, N, xs, xs, &product));

  const char *about = remc_manifest_dot_product();
  printf("manifest: %d\n", strstr(about, "\"function\": \"remc_entry_dot_product\"") != NULL);
  remc_context_free(other);
  remc_context_free(context);
  free(xs);
  return 0;
}
