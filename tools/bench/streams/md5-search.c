// md5-search WORDS A B C D: sixteen words at a time.
#include "files.h"
#include <math.h>
#include <omp.h>
#include <string.h>

enum { LANES = 16 };
static const uint32_t shifts[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
static uint32_t sines[64];

static void digest(uint32_t m[16][LANES], uint32_t out[4][LANES]) {
  uint32_t a[LANES], b[LANES], c[LANES], d[LANES];
  for (int l = 0; l < LANES; l++) a[l] = 0x67452301, b[l] = 0xefcdab89, c[l] = 0x98badcfe, d[l] = 0x10325476;
#pragma GCC unroll 64
  for (int i = 0; i < 64; i++) {
    int r = i / 16, g = r == 0 ? i : r == 1 ? (5 * i + 1) % 16 : r == 2 ? (3 * i + 5) % 16 : 7 * i % 16;
    uint32_t s = shifts[r][i % 4], k = sines[i];
#pragma omp simd
    for (int l = 0; l < LANES; l++) {
      uint32_t f = r == 0   ? (b[l] & c[l]) | (~b[l] & d[l])
                   : r == 1 ? (d[l] & b[l]) | (~d[l] & c[l])
                   : r == 2 ? b[l] ^ c[l] ^ d[l]
                            : c[l] ^ (b[l] | ~d[l]);
      uint32_t t = f + a[l] + k + m[g][l];
      a[l] = d[l], d[l] = c[l], c[l] = b[l], b[l] += t << s | t >> (32 - s);
    }
  }
#pragma omp simd
  for (int l = 0; l < LANES; l++) {
    out[0][l] = a[l] + 0x67452301, out[1][l] = b[l] + 0xefcdab89;
    out[2][l] = c[l] + 0x98badcfe, out[3][l] = d[l] + 0x10325476;
  }
}

int main(int argc, char **argv) {
  uint32_t wanted[4];
  for (int i = 0; i < 4; i++) wanted[i] = strtoul(argv[2 + i], 0, 10);
  for (int i = 0; i < 64; i++) sines[i] = (uint32_t)floor(4294967296.0 * fabs(sin(i + 1.0)));
  size_t bytes;
  const char *text = mapped(argv[1], &bytes);
  int parts = omp_get_max_threads();
  size_t *cuts = calloc(parts + 1, sizeof *cuts);
  for (int p = 1; p < parts; p++) {
    cuts[p] = bytes / parts * p;
    while (text[cuts[p] - 1] != '\n') cuts[p]++;
  }
  cuts[parts] = bytes;
  long words = 0, found = 0;
#pragma omp parallel for reduction(+ : words, found)
  for (int p = 0; p < parts; p++) {
    uint32_t m[16][LANES], out[4][LANES];
    for (size_t at = cuts[p]; at < cuts[p + 1];) {
      memset(m, 0, sizeof m);
      int lanes = 0;
      for (; lanes < LANES && at < cuts[p + 1]; lanes++) {
        size_t length = (const char *)memchr(text + at, '\n', bytes - at) - (text + at);
        uint32_t block[16] = {0};
        memcpy(block, text + at, length);
        ((unsigned char *)block)[length] = 128;
        block[14] = 8 * length;
        for (int i = 0; i < 16; i++) m[i][lanes] = block[i];
        at += length + 1;
      }
      words += lanes;
      digest(m, out);
      for (int l = 0; l < lanes; l++)
        found += out[0][l] == wanted[0] && out[1][l] == wanted[1] && out[2][l] == wanted[2] && out[3][l] == wanted[3];
    }
  }
  printf("%ld %ld\n", words, found);
}
