/* place.h - what a measurement program needs around it: its helper programs, a compile cache of its own.
 * Layer: bench. */
#ifndef ATOLL_BENCH_PLACE_H
#define ATOLL_BENCH_PLACE_H

#include "base/err.h"

/* Names the device process and the compile child of the build tree (one folder up from this program) in the
 * environment, where the environment does not name others. */
void atoll_place_programs(void);
/* A new, empty folder for scratch and the compile cache, said in ATOLL_SCRATCH; removed at exit. */
int atoll_place_scratch(struct atoll_err *err);

#endif
