/* json_file.h - a JSON file, plain or gzipped (a name that ends in .gz; through gzip(1)).
 * Layer: bench.  Hostile input. */
#ifndef ATOLL_BENCH_JSON_FILE_H
#define ATOLL_BENCH_JSON_FILE_H

#include <jansson.h>

#include "base/err.h"

#define ATOLL_JSON_FILE_LIMIT (256u << 20) /* bytes of text */

/* Owned, json_decref.  Errors: NOTFOUND, DENIED or IO (open, gzip), INPUT (too long, no JSON, a member twice; "f.json: line 3: ..."). */
json_t *atoll_json_file_load(const char *path, struct atoll_err *err);

#endif
