/* The real functions behind approximate PTX instructions, for many lanes at once. */
#ifndef PLUMB_TARGETS_CPU_ALU_APPROX_H
#define PLUMB_TARGETS_CPU_ALU_APPROX_H

#include "targets/cpu/alu_lanes.h"

#define PLUMB_APPROX_CHUNK 64

/* r[i] = the function of a[i], for PLUMB_APPROX_CHUNK floats in double; rounded to float it is what
 * the C library's function is. False: `which` is none of these functions. */
bool plumb_approx_lanes(plumb_approx which, const double *a, double *r);

#endif
