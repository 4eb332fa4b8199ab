/* spool_clean.h - removes from one of a spool's folders what nobody will fetch or end.
 * Layer: llm-gateway, private. */
#ifndef ATOLL_LLM_GATEWAY_SPOOL_SPOOL_CLEAN_H
#define ATOLL_LLM_GATEWAY_SPOOL_SPOOL_CLEAN_H

#include "llm-gateway/spool/spool_lease.h"

/* The file system's time, of a file made now. */
int atoll_spool_clean_clock(const char *root, const char *tag, double *ret_now_s, struct atoll_err *err);
/* now_s: of that clock; shelf: leases of ours, which stay. */
int atoll_spool_clean_folder(const char *root, unsigned index, double keep_s, double now_s,
                             const struct atoll_spool_shelf *shelf, struct atoll_err *err);

#endif
