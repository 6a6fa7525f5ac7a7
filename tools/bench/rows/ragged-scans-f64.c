/* The sums of the first items of each row. in: xs f64 [n], lengths [k]. out: f64 [n]. */
#define REAL double
#include "scans.h"
