/* The sum of each row. in: xs f64 [n], lengths [k]. out: f64 [k]. */
#define REAL double
#include "sums.h"
