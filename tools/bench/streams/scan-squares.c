// scan-squares N
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  int64_t n = atoll(argv[1]);
  uint64_t prefix = 0, sum = 0;
  for (int64_t i = 0; i < n; i++) {
    prefix += i & 1023;
    sum += prefix * prefix;
  }
  printf("%lld\n", (long long)sum);
}
