// page-rank RANK ROUNDS LINKS
#include "files.h"

int main(int argc, char **argv) {
  size_t n, links;
  const double *first = mapped(argv[1], &n);
  const int32_t *at = mapped(argv[3], &links);
  n /= 8;
  links /= 8;
  double *rank = malloc(8 * n), *sums = malloc(8 * n), *share = malloc(8 * n);
  int64_t *outs = calloc(n, 8);
  for (size_t i = 0; i < n; i++) rank[i] = first[i];
  for (size_t i = 0; i < links; i++) outs[at[2 * i]]++;
  for (int rounds = atoi(argv[2]); rounds > 0; rounds--) {
    double lost = 0;
    for (size_t i = 0; i < n; i++) {
      share[i] = outs[i] ? rank[i] / outs[i] : 0;
      if (!outs[i]) lost += rank[i];
      sums[i] = 0;
    }
    for (size_t i = 0; i < links; i++) sums[at[2 * i + 1]] += share[at[2 * i]];
    for (size_t i = 0; i < n; i++) rank[i] = (0.15 + 0.85 * lost) / n + 0.85 * sums[i];
  }
  double all = 0, most = 0;
  for (size_t i = 0; i < n; i++) {
    all += rank[i];
    most = most > rank[i] ? most : rank[i];
  }
  printf("%.12g %.12g\n", all, most);
}
