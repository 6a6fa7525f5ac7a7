// file-sums XS: reads as a program without the memory for all of it would.
#include "files.h"

int main(int argc, char **argv) {
  FILE *file = fopen(argv[1], "r");
  enum { MANY = 1 << 17 };
  static double xs[MANY];
  double sum = 0, most = -1e300, squares = 0;
  int64_t count = 0;
  for (size_t n; (n = fread(xs, 8, MANY, file)) > 0; count += n) {
#pragma omp simd reduction(+ : sum, squares) reduction(max : most)
    for (size_t i = 0; i < n; i++) {
      sum += xs[i];
      squares += xs[i] * xs[i];
      most = most > xs[i] ? most : xs[i];
    }
  }
  printf("%.17g %.17g %.17g\n", sum, most, squares / count);
}
