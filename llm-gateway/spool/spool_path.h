/* spool_path.h - names and places of a spool's files.
 * Layer: llm-gateway, private.  docs/spec/gateway.md, "Spool" */
#ifndef ATOLL_LLM_GATEWAY_SPOOL_SPOOL_PATH_H
#define ATOLL_LLM_GATEWAY_SPOOL_SPOOL_PATH_H

#include <limits.h>

#include "llm-gateway/spool/spool.h"

#define SPOOL_FOLDER_COUNT 256
#define SPOOL_ROOT_BYTES   (PATH_MAX - 256)

enum atoll_spool_kind { ATOLL_SPOOL_REQUEST, ATOLL_SPOOL_REPLY, ATOLL_SPOOL_LEASE };

/* Two lower-case hexadecimal digits, which are its folder, then letters, digits, '-' and '_': in all 3 to 64. */
int atoll_spool_name_is_valid(const char *name);
unsigned atoll_spool_name_folder(const char *name); /* 0..255, of a valid name */
/* From the key, or without one from the id. */
void atoll_spool_name_of(const struct atoll_llm_request *request, char ret_name[ATOLL_SPOOL_NAME_BYTES]);
/* "ab12.request", "ab12.reply", "ab12.lease-3": 1 and what it is of; 0 for anything else. epoch: 0 but of a lease. */
int atoll_spool_name_parse(const char *file, char ret_name[ATOLL_SPOOL_NAME_BYTES],
                           enum atoll_spool_kind *ret_kind, unsigned *ret_epoch);

/* root: at most SPOOL_ROOT_BYTES, so nothing is cut. epoch: of a lease. */
void atoll_spool_path(const char *root, const char *name, enum atoll_spool_kind kind, unsigned epoch,
                      char ret_path[PATH_MAX]);
/* tag: of an open handle, so that no two write the same; "" for none */
void atoll_spool_path_temporary(const char *root, const char *name, const char *tag, char ret_path[PATH_MAX]);
void atoll_spool_path_folder(const char *root, unsigned folder, char ret_path[PATH_MAX]);
void atoll_spool_path_bell(const char *root, unsigned folder, char ret_path[PATH_MAX]);

/* Makes what is missing of the tree, or says why the folder cannot be a spool: INPUT (other files are in it), SCHEMA ... */
int atoll_spool_tree_open(const char *root, struct atoll_err *err);

#endif
