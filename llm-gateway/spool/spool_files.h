/* spool_files.h - names and files of a spool: what they are called, read whole, or published whole and once.
 * Layer: llm-gateway, private to spool*.c.  docs/spec/gateway.md, "Spool".
 * Every call opens its path anew, so that on NFS it sees what others closed before; ESTALE is tried again. */
#ifndef ATOLL_LLM_GATEWAY_SPOOL_SPOOL_FILES_H
#define ATOLL_LLM_GATEWAY_SPOOL_SPOOL_FILES_H

#include <limits.h>

#include "llm-gateway/spool/spool.h"

#define SPOOL_FOLDER_COUNT 256
#define SPOOL_ROOT_BYTES   (PATH_MAX - 256)
#define SPOOL_TAG_BYTES    17

enum atoll_spool_kind { ATOLL_SPOOL_REQUEST, ATOLL_SPOOL_REPLY };

/* Two lower-case hexadecimal digits, which are its folder, then letters, digits, '-' and '_': in all 3 to 64. */
int atoll_spool_name_is_valid(const char *name);
unsigned atoll_spool_name_folder(const char *name); /* 0..255, of a valid name */
/* From the key, or without one from the id. */
void atoll_spool_name_of(const struct atoll_llm_request *request, char ret_name[ATOLL_SPOOL_NAME_BYTES]);
/* "ab12.request", "ab12.reply": 1 and what it is of; 0 for anything else. */
int atoll_spool_name_parse(const char *file, char ret_name[ATOLL_SPOOL_NAME_BYTES],
                           enum atoll_spool_kind *ret_kind);

/* For messages; root: at most SPOOL_ROOT_BYTES, so nothing is cut. */
void atoll_spool_path(const char *root, const char *name, enum atoll_spool_kind kind,
                      char ret_path[PATH_MAX]);

/* One of the tree's folders ("c0", "bell"), open for reading its names and for calls relative to it; -1 with errno.  A symbolic
 * link in its place is not followed: whoever may write into a spool must not lead its server elsewhere. */
int atoll_spool_part_open(const char *root, const char *part);
/* Makes what is missing of the tree, or says why the folder cannot be a spool: INPUT (other files are in it), SCHEMA ... */
int atoll_spool_tree_open(const char *root, struct atoll_err *err);
/* Tells temporary files of this open handle from all others. */
void atoll_spool_tag_draw(char ret_tag[SPOOL_TAG_BYTES]);

/* 1 and its bytes, with a NUL behind that does not count; 0 there is none; -1: INPUT (no regular file), LIMIT, IO ... */
int atoll_spool_read(const char *root, const char *name, enum atoll_spool_kind kind,
                     struct atoll_buffer *ret_bytes, struct atoll_err *err);
/* A request or reply under its name, as a whole or not at all, durable: 1; 0: there was one already, which stays.  -1: IO,
 * FULL, DENIED ... */
int atoll_spool_publish(const char *root, const char *tag, const char *name, enum atoll_spool_kind kind,
                        const void *bytes, size_t length, struct atoll_err *err);
int atoll_spool_is_there(const char *root, const char *name, enum atoll_spool_kind kind);
/* Gone already: fine; what else fails is left to the cleaning. */
void atoll_spool_remove(const char *root, const char *name, enum atoll_spool_kind kind);
/* The bell of a folder: a hint that the other side looks there first.  Without it a request is found a little later. */
void atoll_spool_bell_ring(const char *root, unsigned folder);
void atoll_spool_bell_remove(const char *root, unsigned folder);

/* What one of the 256 folders holds, from one reading of its names; no file is opened. */
struct atoll_spool_entry {
    char name[ATOLL_SPOOL_NAME_BYTES];
    unsigned char has_request, has_reply;
};
struct atoll_spool_folder {
    struct atoll_spool_entry *entries; /* owned, by name; all zero: empty */
    uint32_t count, capacity;
};
void atoll_spool_folder_fini(struct atoll_spool_folder *folder);
/* What it held before is forgotten.  Opening the folder makes NFS ask its server whether its names changed; so this is also
 * how a new name is seen that was looked for in vain a moment ago. */
int atoll_spool_folder_read(struct atoll_spool_folder *folder, const char *root, unsigned index,
                            struct atoll_err *err);
const struct atoll_spool_entry *atoll_spool_folder_find(const struct atoll_spool_folder *folder,
                                                        const char *name);

#endif
