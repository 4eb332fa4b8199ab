/* spool_folder.h - what one of a spool's 256 folders holds, from one reading of its names; no file is opened.
 * Layer: llm-gateway, private.  Lifetime: init/fini. */
#ifndef ATOLL_LLM_GATEWAY_SPOOL_SPOOL_FOLDER_H
#define ATOLL_LLM_GATEWAY_SPOOL_SPOOL_FOLDER_H

#include "llm-gateway/spool/spool_path.h"

#define SPOOL_FOLDER_LIMIT 65536 /* files */

struct atoll_spool_entry {
    char name[ATOLL_SPOOL_NAME_BYTES];
    unsigned lease; /* its highest epoch, 0 none */
    unsigned char has_request, has_reply;
};

struct atoll_spool_folder {
    struct atoll_spool_entry *entries; /* owned, by name */
    size_t count, capacity;
};

void atoll_spool_folder_init(struct atoll_spool_folder *folder);
void atoll_spool_folder_fini(struct atoll_spool_folder *folder);
/* What it held before is forgotten.  Opening the folder makes NFS ask its server whether its names changed; so this is also
 * how a new name is seen that was looked for in vain a moment ago. */
int atoll_spool_folder_read(struct atoll_spool_folder *folder, const char *root, unsigned index,
                            struct atoll_err *err);
const struct atoll_spool_entry *atoll_spool_folder_find(const struct atoll_spool_folder *folder,
                                                        const char *name);

#endif
