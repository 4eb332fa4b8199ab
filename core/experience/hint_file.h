/* hint_file.h - a table of hints as a file: YAML, which JSON is a part of (docs/spec/experience.md).
 * Layer: core.  Lifetime: load/destroy; immutable between.  Files are from elsewhere: everything is checked. */
#ifndef ATOLL_CORE_EXPERIENCE_HINT_FILE_H
#define ATOLL_CORE_EXPERIENCE_HINT_FILE_H

#include "base/buffer.h"
#include "core/experience/hint.h"

#define ATOLL_HINT_FILE_LIMIT          1024 /* hints of a file */
#define ATOLL_HINT_FILE_CAMPAIGN_LIMIT 4096

struct atoll_hint_file {
    struct atoll_experience_hint *hints;
    size_t hint_count;
    const struct atoll_id *campaigns; /* whose statistics are in it already */
    size_t campaign_count;
    struct atoll_arena *arena; /* of all of it */
};

/* Errors: what opening says, LIMIT, INPUT ("path:line: ..."): names twice, classes that no diagnosis has, texts too long. */
int atoll_hint_file_load(const char *path, struct atoll_hint_file *ret_file, struct atoll_err *err);
/* file: for messages. */
int atoll_hint_file_parse(const char *file, const char *text, size_t length, struct atoll_hint_file *ret_file,
                          struct atoll_err *err);
void atoll_hint_file_fini(struct atoll_hint_file *file);

/* Hints of `more` into `sum` (all zero: none yet), copied: new ones at the end; of one that is there the statistics are added, but
 * not where a campaign of `more` is in `sum` already.  ret_new, ret_known: how many.  Errors: LIMIT, MEMORY. */
int atoll_hint_file_merge(struct atoll_hint_file *sum, const struct atoll_hint_file *more, size_t *ret_new,
                          size_t *ret_known, struct atoll_err *err);

/* Appended; reads back as the same. */
void atoll_hint_file_write_yaml(const struct atoll_hint_file *file, struct atoll_buffer *out);

#endif
