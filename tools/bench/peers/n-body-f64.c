/* n-body.c in double precision. */
#define REAL double
#define SQRT sqrt
#include "n-body.c"
