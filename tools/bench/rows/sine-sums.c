/* Sums of sines of j times a step, for j below a length. in: lengths [k], steps f64 [k]. out: f64 [k]. */
#include <math.h>
#include <stdint.h>

/* The sine of a number that is not very large: an odd polynomial on what is left of the nearest multiple
 * of pi, so that a loop of it is one of vectors. */
static inline double sin_of(double x) {
    const double k = rint(x * 0x1.45f306dc9c883p-2);
    /* Pi in two parts. */
    const double r = fma(-k, 1.2246467991473532e-16, fma(-k, 3.141592653589793, x)), s = r * r;
    double p = 2.731428986122616e-15;
    p = p * s - 7.643969031052769e-13;
    p = p * s + 1.6058977272815506e-10;
    p = p * s - 2.5052107616384595e-8;
    p = p * s + 2.755731921915843e-6;
    p = p * s - 1.9841269841254955e-4;
    p = p * s + 8.333333333333316e-3;
    p = p * s - 0.16666666666666666;
    union { double value; int64_t bits; } sine = {.value = p * s * r + r};
    /* An odd multiple turns the sign round. */
    sine.bits ^= (int64_t)k << 63;
    return sine.value;
}

#define REAL double
#define TERM(x, j) sin_of((x) * (j))
#include "float-terms.h"
