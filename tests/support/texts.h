/* texts.h - the folder knowledge/ of the source tree, for tests of what is made of it. */
#ifndef ATOLL_TESTS_SUPPORT_TEXTS_H
#define ATOLL_TESTS_SUPPORT_TEXTS_H

#include "tests/support/expect.h"

#include <stdio.h>

#include "core/knowledge/pack.h"

/* Read once, kept to the end of the program. */
static inline const struct atoll_knowledge_pack *source_texts(void)
{
    static struct atoll_knowledge_pack *pack;
    static const char *const folder = ATOLL_SOURCE_DIR "/knowledge";
    struct atoll_err err = ATOLL_ERR_INIT;
    if (!pack && !(pack = atoll_knowledge_pack_read(&folder, 1, &err)))
        fail_msg("%s", err.text);
    return pack;
}

/* name: below prompts/. */
static inline const char *source_text(const char *name)
{
    char path[256];
    assert_true(snprintf(path, sizeof(path), "prompts/%s", name) < (int)sizeof(path));
    const struct atoll_knowledge_file *file = atoll_knowledge_pack_find(source_texts(), path);
    if (!file)
        fail_msg("no text %s", path);
    return file->text;
}

#endif
