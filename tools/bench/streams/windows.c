// windows SIGNAL STARTS LENGTHS
#include "files.h"
#include <math.h>

int main(int argc, char **argv) {
  size_t bytes, n;
  const float *signal = mapped(argv[1], &bytes);
  const int64_t *starts = mapped(argv[2], &n), *lengths = mapped(argv[3], &bytes);
  n /= 8;
  double energy = 0, deviation = 0, peaks = 0;
#pragma omp parallel for schedule(dynamic, 64) reduction(+ : energy, deviation, peaks)
  for (size_t i = 0; i < n; i++) {
    const float *w = signal + starts[i];
    int64_t k = lengths[i];
    float sum = 0, squares = 0, total = 0, peak = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < k; j++) sum += w[j];
    float mean = sum / (k > 1 ? k : 1);
#pragma omp simd reduction(+ : squares, total) reduction(max : peak)
    for (int64_t j = 0; j < k; j++) {
      float c = w[j] - mean, a = fabsf(c);
      squares += c * c;
      total += a;
      peak = peak > a ? peak : a;
    }
    energy += squares;
    deviation += total;
    peaks += peak;
  }
  printf("%.9g %.9g %.9g\n", energy, deviation, peaks);
}
