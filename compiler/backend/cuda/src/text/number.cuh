// ---- numbers as the language writes them ----

// Half floats by their bits, for a host that may have no such type.
[[maybe_unused]] static f64 remc_from_half(u16 bits) {
  const int exponent = bits >> 10 & 31;
  const f64 fraction = (f64)(bits & 1023) / 1024;
  const f64 size = exponent == 31  ? (fraction != 0 ? NAN : INFINITY)
                   : exponent == 0 ? ldexp(fraction, -14)
                                   : ldexp(1 + fraction, exponent - 15);
  return bits >> 15 ? -size : size;
}

// The nearest half float, of two the even one.
[[maybe_unused]] static u16 remc_to_half(f64 x) {
  const u16 sign = signbit(x) ? 0x8000 : 0;
  const f64 size = fabs(x);
  if (x != x) return 0x7e00;
  if (size >= 65520) return sign | 0x7c00;
  // Steps of 2^-24 below 2^-14, and 1024 of them between powers of two above.
  int exponent = 0;
  frexp(size, &exponent);
  const int step = (exponent > -13 ? exponent : -13) - 11;
  const f64 steps = rint(ldexp(size, -step));
  return sign | (u16)(((step + 24) << 10) + (int)steps);
}

// Whether x is exactly in the middle between the decimal with these digits and the next one.
template <class T> static bool remc_is_tie(T x, const char *digits, int count, int exponent) {
  char decimal[96];
  snprintf(decimal, sizeof decimal, "%.*s5e%d", count, digits, exponent - count);
  if ((T)strtod(decimal, 0) != x) return false;
  // No number that is this near to so short a decimal, and not it, has its first digit that differs behind these.
  snprintf(decimal, sizeof decimal, "%.60e", (f64)x);
  for (int i = 0, d = 0; i < 62; ++i) {
    if (decimal[i] == '.') continue;
    if (decimal[i] != (d < count ? digits[d] : d == count ? '5' : '0')) return false;
    ++d;
  }
  return true;
}

// The shortest decimal that reads back as x, of two that are as near the greater one, with a point or an exponent: 0.1 2.0 1e-7 -0.0 inf nan. `text`
// has room for 48 characters.
template <class T> static const char *remc_float_text(T x, char *text) {
  if (x != x) return "nan";
  if (x - x != 0) return x > 0 ? "inf" : "-inf";
  char *to = text;
  if (signbit(x)) {
    *to++ = '-';
    x = -x;
  }
  // Digits, perhaps a point after the first one, and an exponent.
  char shortest[40];
  *std::to_chars(shortest, shortest + 39, x, std::chars_format::scientific).ptr = 0;
  char digits[32];
  int count = 0;
  const char *from = shortest;
  for (; *from && *from != 'e'; ++from)
    if (*from != '.') digits[count++] = *from;
  const int exponent = *from ? atoi(from + 1) : 0;
  // The library prefers an even digit, which is no 9.
  if ((digits[count - 1] - '0') % 2 == 0 && remc_is_tie(x, digits, count, exponent)) ++digits[count - 1];
  if (x != 0 && (x >= (T)1e16 || x < (T)1e-4)) {
    *to++ = digits[0];
    if (count > 1) *to++ = '.';
    for (int i = 1; i < count; ++i) *to++ = digits[i];
    snprintf(to, 8, "e%d", exponent);
    return text;
  }
  for (int i = exponent < 0 ? exponent : 0; i < count || i <= exponent; ++i) {
    if (i == exponent + 1) *to++ = '.';
    *to++ = i >= 0 && i < count ? digits[i] : '0';
  }
  if (exponent >= count - 1) {
    *to++ = '.';
    *to++ = '0';
  }
  *to = 0;
  return text;
}

// A half float as the shortest decimal that reads back as it.
[[maybe_unused]] static const char *remc_half_text(u16 bits, char *text) {
  f64 shown = remc_from_half(bits);
  if (shown == shown && shown - shown == 0)
    // Five digits tell all of them apart.
    for (int digits = 0; digits < 5; ++digits) {
      char decimal[48];
      snprintf(decimal, sizeof decimal, "%.*e", digits, shown);
      const f64 read = strtod(decimal, 0);
      if (remc_to_half(read) == bits) {
        shown = read;
        break;
      }
    }
  return remc_float_text(shown, text);
}
