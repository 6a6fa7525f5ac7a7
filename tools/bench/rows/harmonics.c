/* Sums of 1 / (a + j) for j below a length. in: lengths [k], starts f64 [k]. out: f64 [k]. */
#define REAL double
#define TERM(x, j) (1 / ((x) + (j)))
#include "float-terms.h"
