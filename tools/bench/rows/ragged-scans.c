/* The sums of the first items of each row. in: xs f32 [n], lengths [k]. out: f32 [n]. */
#define REAL float
#include "scans.h"
