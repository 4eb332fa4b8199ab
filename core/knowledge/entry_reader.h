/* entry_reader.h - who reads one file of a pack into entries; for knowledge_base.c alone.
 * Layer: core. */
#ifndef ATOLL_CORE_KNOWLEDGE_ENTRY_READER_H
#define ATOLL_CORE_KNOWLEDGE_ENTRY_READER_H

#include "core/knowledge/knowledge_base.h"

struct atoll_knowledge_reading {
    const struct atoll_knowledge_pack *pack;
    struct atoll_knowledge_base *base;
    uint32_t capacity;                       /* of its entries */
    const struct atoll_knowledge_file *file; /* under way */
    atoll_knowledge_problem *problem;        /* NULL: the first one ends it */
    void *context;
};

/* Takes an entry in (its id is checked against those that are there already), or says what is wrong with it. */
int atoll_knowledge_reading_add(struct atoll_knowledge_reading *reading,
                                const struct atoll_knowledge_entry *entry, struct atoll_err *err);
/* After something is wrong: 0, it was told and reading goes on; -1 it is the error. */
int atoll_knowledge_reading_failed(struct atoll_knowledge_reading *reading, const struct atoll_err *problem,
                                   struct atoll_err *err);
/* devices and features of a folder's name ("hopper", "avx512"); INPUT where the index has neither.  Borrowed from the arena. */
int atoll_knowledge_reading_device(struct atoll_knowledge_reading *reading, const char *name, size_t length,
                                   struct atoll_knowledge_entry *entry, struct atoll_err *err);

int atoll_knowledge_read_constraints(struct atoll_knowledge_reading *reading, struct atoll_err *err);
int atoll_knowledge_read_patterns(struct atoll_knowledge_reading *reading, struct atoll_err *err);
int atoll_knowledge_read_example(struct atoll_knowledge_reading *reading, struct atoll_err *err);
int atoll_knowledge_read_passages(struct atoll_knowledge_reading *reading, struct atoll_err *err);

#endif
