/* spool_file.h - one file of a spool: read whole, or published whole and once.
 * Layer: llm-gateway, private.  Every call opens the path anew, so that on NFS it sees what others closed before; ESTALE
 * is tried again. */
#ifndef ATOLL_LLM_GATEWAY_SPOOL_SPOOL_FILE_H
#define ATOLL_LLM_GATEWAY_SPOOL_SPOOL_FILE_H

#include "base/buffer.h"

#define SPOOL_TAG_BYTES 17

/* Tells temporary files and leases of this open handle from all others. */
void atoll_spool_tag_draw(char ret_tag[SPOOL_TAG_BYTES]);

/* 1 and its bytes, with a NUL behind that does not count; 0 there is none; -1: not a regular file, LIMIT, IO ... */
int atoll_spool_file_read(const char *path, struct atoll_buffer *ret_bytes, struct atoll_err *err);
/* Under its name as a whole, or not at all, durable: 1; 0: there was one already, which stays.  -1: IO, FULL, DENIED ... */
int atoll_spool_file_publish(const char *temporary, const char *path, const void *bytes, size_t length,
                             struct atoll_err *err);
/* Creates path with these bytes (not durable): 1, or 0: there is one already. -1. */
int atoll_spool_file_create(const char *path, const void *bytes, size_t length, struct atoll_err *err);
/* Writes them over the beginning of path: 1, or 0: it is gone. -1. */
int atoll_spool_file_rewrite(const char *path, const void *bytes, size_t length, struct atoll_err *err);
int atoll_spool_file_is_there(const char *path);
void atoll_spool_file_remove(
    const char *path); /* gone already: fine; what else fails is left to the cleaning */

#endif
