/* pack.h - the texts of knowledge/ (docs/spec/knowledge.md), read from folders once and then kept as one file, whose BLAKE2b is its
 * name: what a campaign was told stays what it was, whatever is installed later.
 * Layer: core.  Lifetime: create, read or parse / destroy; immutable once it is filled, so a const pointer may be shared. */
#ifndef ATOLL_CORE_KNOWLEDGE_PACK_H
#define ATOLL_CORE_KNOWLEDGE_PACK_H

#include "base/buffer.h"

#define ATOLL_KNOWLEDGE_FILE_LIMIT  4096u
#define ATOLL_KNOWLEDGE_FILE_BYTES  ((size_t)1 << 20)
#define ATOLL_KNOWLEDGE_WHOLE_BYTES ((size_t)32 << 20)                            /* of all texts */
#define ATOLL_KNOWLEDGE_PATH_BYTES  200                                           /* without the NUL */
#define ATOLL_KNOWLEDGE_JSON_BYTES  (2 * ATOLL_KNOWLEDGE_WHOLE_BYTES + (2 << 20)) /* of the frozen form */

/* Owned by the pack.  path: below the folder, letters, digits and "._+-" between single '/'; text: UTF-8 that ends with NUL, with no
 * control characters but tab and end of line. */
struct atoll_knowledge_file {
    const char *path, *text;
    size_t length;
    const char *folder; /* read: the one it came from; else NULL */
    int is_instead;     /* of the text that an earlier folder has under this path */
};
struct atoll_knowledge_pack {
    struct atoll_knowledge_file *files; /* by path, as strcmp orders them */
    uint32_t count, capacity;
    size_t bytes;
};

struct atoll_knowledge_pack *atoll_knowledge_pack_create(struct atoll_err *err); /* empty */
void atoll_knowledge_pack_destroy(struct atoll_knowledge_pack *pack);            /* NULL is fine */

/* Of folders, in their order: what a later one has under the same path replaces what was there.  Hidden files and
 * those that end with '~' are left out, nothing is followed that leads out of a folder.  Errors: NOTFOUND, DENIED, IO; INPUT (a
 * file that is no text, a name with other characters, no folder), LIMIT: each names the file and what to do. */
struct atoll_knowledge_pack *atoll_knowledge_pack_read(const char *const *folders, size_t count,
                                                       struct atoll_err *err);
/* The same of what is installed beside the running program, then site (NULL none), then the user's own folder
 * ($XDG_DATA_HOME/atoll/knowledge, else ~/.local/share/...) where there is one, then those given.  NOTFOUND: nothing is installed
 * and none is given. */
struct atoll_knowledge_pack *atoll_knowledge_pack_load(const char *site, const char *const *given,
                                                       size_t count, struct atoll_err *err);

/* NULL when there is none. */
const struct atoll_knowledge_file *atoll_knowledge_pack_find(const struct atoll_knowledge_pack *pack,
                                                             const char *path);
/* Copies a text in, in place of what was there under this path.  INPUT and LIMIT as of read. */
int atoll_knowledge_pack_put(struct atoll_knowledge_pack *pack, const char *path, const char *text,
                             size_t length, struct atoll_err *err);

/* The frozen form, appended: {"version":1,"files":{"path":"text",...}}, sorted by path: the same texts give the same bytes. */
int atoll_knowledge_pack_to_json(const struct atoll_knowledge_pack *pack, struct atoll_buffer *out,
                                 struct atoll_err *err);
/* name: of the file, for messages.  Hostile input.  Errors: INPUT, LIMIT, SCHEMA (made by a newer version), MEMORY. */
struct atoll_knowledge_pack *atoll_knowledge_pack_from_json(const char *name, const void *bytes,
                                                            size_t length, struct atoll_err *err);

#endif
