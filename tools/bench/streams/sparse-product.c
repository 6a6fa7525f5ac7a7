// sparse-product LENGTHS COLUMNS WEIGHTS X
#include "files.h"

int main(int argc, char **argv) {
  size_t n, k, bytes;
  const int64_t *lengths = mapped(argv[1], &n), *columns = mapped(argv[2], &k);
  const float *weights = mapped(argv[3], &bytes), *x = mapped(argv[4], &bytes);
  n /= 8;
  int64_t *starts = malloc((n + 1) * 8);
  starts[0] = 0;
  for (size_t i = 0; i < n; i++) starts[i + 1] = starts[i] + lengths[i];
  double all = 0;
#pragma omp parallel for reduction(+ : all)
  for (size_t i = 0; i < n; i++) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = starts[i]; j < starts[i + 1]; j++) sum += weights[j] * x[columns[j]];
    all += sum;
  }
  printf("%.9g\n", all);
}
