/* Each row less its mean, by its standard deviation. in: xs f32 [n], lengths [k]. out: f32 [n]. */
#define REAL float
#define FACTOR(variance) (1 / sqrtf((variance) + 1e-5f))
#include "normal.h"
