/* place.h - what a measurement program needs around it: a compile cache of its own.  Its helper programs are found before main
 * (place_programs.c).
 * Layer: bench. */
#ifndef ATOLL_BENCH_PLACE_H
#define ATOLL_BENCH_PLACE_H

#include "base/err.h"

/* A new, empty folder for scratch and the compile cache, said in ATOLL_SCRATCH; removed at exit. */
int atoll_place_scratch(struct atoll_err *err);

#endif
