/* Each row less its mean, by its standard deviation, which counts as 1e-12 at least. in: xs f64 [n],
 * lengths [k]. out: f64 [n]. */
#define REAL double
#define FACTOR(variance) (1 / fmax(sqrt(variance), 1e-12))
#include "normal.h"
