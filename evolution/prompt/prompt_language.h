/* prompt_language.h - which texts of knowledge tell of a language, as the list `prompts` of index.yaml says (docs/spec/knowledge.md).
 * Layer: evolution, private to prompt*.c. */
#ifndef ATOLL_EVOLUTION_PROMPT_PROMPT_LANGUAGE_H
#define ATOLL_EVOLUTION_PROMPT_PROMPT_LANGUAGE_H

#include "base/arena.h"
#include "core/knowledge/index.h"
#include "core/knowledge/pack.h"

#define ATOLL_PROMPT_LANGUAGE_DEVICE_LIMIT 32

/* One of text and example is NULL. */
struct atoll_prompt_language_row {
    const char *language;
    const struct atoll_knowledge_file *text, *example;       /* of the pack */
    const char *devices[ATOLL_PROMPT_LANGUAGE_DEVICE_LIMIT]; /* families it is told of */
    uint32_t device_count;                                   /* 0: of all */
};
/* In the order of index.yaml, then of each index-*.yaml by name; in the arena. */
struct atoll_prompt_languages {
    struct atoll_prompt_language_row *rows;
    uint32_t count;
};
/* Errors: INPUT "index.yaml:line: ...", also for a text that the pack has not; MEMORY. */
int atoll_prompt_languages_read(const struct atoll_knowledge_pack *pack, struct atoll_arena *arena,
                                struct atoll_prompt_languages *ret_languages, struct atoll_err *err);
/* INPUT: a row names a family of devices that the index does not. */
int atoll_prompt_languages_check_devices(const struct atoll_prompt_languages *languages,
                                         const struct atoll_knowledge_index *index, struct atoll_err *err);
/* family: of the device; "" nothing is known of it. */
int atoll_prompt_language_holds(const struct atoll_prompt_language_row *row, const char *language,
                                const char *family);
/* INPUT: there are no texts for the language, and for which there are. */
int atoll_prompt_languages_check(const struct atoll_prompt_languages *languages, const char *language,
                                 struct atoll_err *err);

#endif
