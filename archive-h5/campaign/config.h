/* config.h - what campaign.yaml says: frozen at the start, never edited afterwards (docs/spec/archive.md,
 * "campaign.yaml"). Layer: archive-h5.  The file is the block subset of YAML that this writer makes: two
 * levels, plain numbers, quoted texts. */
#ifndef ATOLL_ARCHIVE_H5_CAMPAIGN_CONFIG_H
#define ATOLL_ARCHIVE_H5_CAMPAIGN_CONFIG_H

#include "core/search.h"
#include "core/task/task.h"

#define ATOLL_CAMPAIGN_SCHEMA       1
#define ATOLL_CAMPAIGN_TASK_LIMIT   4096
#define ATOLL_CAMPAIGN_OPTION_LIMIT 64

struct atoll_campaign_task {
    const char *name; /* as in task.yaml */
    const char
        *dir; /* create: folder to copy from; after open: absolute or relative path of the campaign's copy */
    struct atoll_id id; /* atoll_task.id */
};

/* A run option worth keeping for a resume ("ranks", "compiler" ...): texts, the reader parses them. */
struct atoll_config_option {
    const char *key;   /* [a-z][a-z0-9_-]*, unique */
    const char *value; /* any text without NUL */
};

/* Keys of the options that say where a campaign came from: its suites as named, and the command that made it. */
#define ATOLL_CONFIG_SUITE        "suite"
#define ATOLL_CONFIG_COMMAND_LINE "command-line"

struct atoll_config {
    uint32_t schema;    /* filled by create */
    struct atoll_id id; /* of the campaign: unique, chosen by the caller */
    uint32_t engine_version;
    char atoll_version[32];
    int64_t created_unix_ns;
    struct atoll_search search;
    size_t option_count;
    const struct atoll_config_option *options;
    size_t task_count;
    const struct atoll_campaign_task *tasks; /* in the order of their numbers */
    const void *prior; /* create: bytes of prior.atl (prior.h), which an option then names; NULL = none */
    size_t prior_length;
    const void *
        knowledge; /* create: bytes of knowledge.json (knowledge.h), which an option then names; NULL = none here */
    size_t knowledge_length;
};

struct atoll_buffer;
struct atoll_arena;
int atoll_config_write(const struct atoll_config *config, struct atoll_buffer *out, struct atoll_err *err);
/* Parses what atoll_config_write made; texts and arrays live in the arena.  file: for messages.  Errors:
 * INPUT "file:line: what", SCHEMA for a newer version. */
int atoll_config_read(const char *text, size_t length, const char *file, struct atoll_arena *arena,
                      struct atoll_config *ret_config, struct atoll_err *err);

#endif
