/* The sum of each row. in: xs f32 [n], lengths [k]. out: f32 [k]. */
#define REAL float
#include "sums.h"
