/* id.h - identities: BLAKE2b-256 (libsodium) of canonical bytes.
 * Layer: base.  Plain values. */
#ifndef ATOLL_BASE_ID_H
#define ATOLL_BASE_ID_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define ATOLL_ID_BYTES 32
#define ATOLL_ID_HEX   65 /* with the NUL */

struct atoll_id {
    uint8_t bytes[ATOLL_ID_BYTES];
};

struct atoll_id atoll_id_of(const void *bytes, size_t length);
/* Keyed: for secrets (draw seeds from the run's secret); key_length 16..64. */
struct atoll_id atoll_id_keyed(const void *key, size_t key_length, const void *bytes, size_t length);
int atoll_id_equal(const struct atoll_id *a, const struct atoll_id *b);
int atoll_id_is_zero(const struct atoll_id *id);
void atoll_id_hex(const struct atoll_id *id, char ret_hex[ATOLL_ID_HEX]);
/* Parses 64 hex digits. */
int atoll_id_parse(const char *hex, struct atoll_id *ret_id, struct atoll_err *err);
/* the first 8 bytes, little-endian: a hash-table key or a seed */
uint64_t atoll_id_u64(const struct atoll_id *id);

#endif
