/* units.h - numbers as people write and read them.  Layer: base. */
#ifndef ATOLL_BASE_UNITS_H
#define ATOLL_BASE_UNITS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* "512", "64K", "1.5M", "2G" (powers of 1024; "KiB" and "kB" forms too). */
int atoll_bytes_parse(const char *text, uint64_t *ret_bytes, struct atoll_err *err);
/* "90", "90s", "2m", "1h30m", "250ms", "1-12:00:00" (Slurm). */
int atoll_duration_parse(const char *text, double *ret_seconds, struct atoll_err *err);
/* Written into caller's text, returned for use in printf. */
const char *atoll_bytes_text(uint64_t bytes, char *ret_text, size_t text_bytes); /* "1.5 MiB" */
/* Of a size in a message: "262144 bytes" exactly as long as a person reads it so (below ten million), then "4.0 TB". */
const char *atoll_size_text(double bytes, char *ret_text, size_t text_bytes);
/* "12.3 us", "4.56 ms", "1m 03s" */
const char *atoll_duration_text(double ns, char *ret_text, size_t text_bytes);
/* A measured time with half the width of its 95 % interval (lo to hi, 0 = not known) in percent of it: "4.56 ms   2%", "4.56 ms  <1%"; "-" of 0. */
const char *atoll_duration_interval_text(double ns, double lo, double hi, char *ret_text, size_t text_bytes);
/* A ratio in the same way: "2.31x   2%", "~2.31x     " where is_rough; "-" of 0. */
const char *atoll_ratio_interval_text(int is_rough, double ratio, double lo, double hi, char *ret_text,
                                      size_t text_bytes);
/* The shortest text that is read back as this number: "0.1"; 32 bytes are enough. */
const char *atoll_number_text(double value, char *ret_text, size_t text_bytes);
const char *atoll_count_text(double count, char *ret_text, size_t text_bytes); /* "12.3 k" */

#endif
