/* rules_row.h - what a rule is made of, and the checks that every language of the C family shares.
 * Layer: core, private to rules*.c.  Pure. */
#ifndef ATOLL_CORE_RULES_RULES_ROW_H
#define ATOLL_CORE_RULES_RULES_ROW_H

#include "core/source/source_token.h"

struct atoll_rule_site {
    const struct atoll_token *tokens;
    size_t count, at;
};

struct atoll_rule {
    const char *id, *why;
    int (*broken)(const struct atoll_rule_site *s); /* 1 when the token at s->at breaks the rule */
    int by_name; /* 1: depends on the token's text alone, so once per name is enough */
    /* instead of broken: looks at all tokens once; index of the one that breaks the rule, count when none does */
    size_t (*find)(const struct atoll_token *tokens, size_t count);
};

#define ATOLL_RULE_COUNT(array) (sizeof(array) / sizeof *(array))

const struct atoll_token *atoll_rule_token(const struct atoll_rule_site *s, size_t offset);
int atoll_rule_is(const struct atoll_rule_site *s, size_t offset, const char *text);
/* words: one text, a blank before and after each word. */
int atoll_rule_any(const struct atoll_token *t, const char *words);
int atoll_rule_starts(const struct atoll_token *t, const char *prefixes);
int atoll_rule_is_name(const struct atoll_rule_site *s);
/* The name of a directive stands right after the '#' that opens its line. */
int atoll_rule_is_directive(const struct atoll_rule_site *s);
/* Whether the header named by an #include is in a list of names or starts with one of some folders; any path that
 * climbs or holds odd characters is not. */
int atoll_rule_includes(const struct atoll_rule_site *s, const char *const *headers, size_t header_count,
                        const char *const *folders, size_t folder_count);

int atoll_rule_odd_byte(const struct atoll_rule_site *s);
int atoll_rule_digraph(const struct atoll_rule_site *s);
int atoll_rule_pasting(const struct atoll_rule_site *s);
int atoll_rule_raw_string(const struct atoll_rule_site *s);
int atoll_rule_directive_known(const struct atoll_rule_site *s);
int atoll_rule_probes_files(const struct atoll_rule_site *s);
int atoll_rule_build_stamp(const struct atoll_rule_site *s);
int atoll_rule_pragma_operator(const struct atoll_rule_site *s);
int atoll_rule_attribute_forbidden(const struct atoll_rule_site *s);
int atoll_rule_label_address(const struct atoll_rule_site *s);
int atoll_rule_builtin_forbidden(const struct atoll_rule_site *s);
int atoll_rule_harness_name(const struct atoll_rule_site *s);

/* The tables, one file each. */
extern const struct atoll_rule atoll_rules_c[];
extern const size_t atoll_rules_c_count;
extern const struct atoll_rule atoll_rules_cuda[];
extern const size_t atoll_rules_cuda_count;

#endif
