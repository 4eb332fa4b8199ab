/* rules.c - static rules over a candidate's source.  They keep honest errors cheap and their messages clear;
 * containment is the worker's.  A rule is one row: id, why, and a check of one token in its place, or of all of them.
 * What a compiler might read in another way than the lexer (trigraphs, raw strings, pasted or escaped names) is
 * forbidden altogether, so that what these rows see is what is compiled. */
#include "core/rules/rules.h"

#include <string.h>

#include "core/rules/rules_row.h"

#define MEMO_SLOTS 512

/* Trigraphs stand in raw text: where they are read at all, they are read before everything else. */
static int trigraph_line(const char *body)
{
    int line = 1;
    for (const char *p = body; *p; p++)
        if (*p == '\n')
            line++;
        else if (p[0] == '?' && p[1] == '?' && p[2] && strchr("=/'()!<>-", p[2]))
            return line;
    return 0;
}

static int report(struct atoll_err *err, const char *id, unsigned line, const char *why,
                  const struct atoll_token *t)
{
    int length = t && t->length < 40 ? (int)t->length : 0;
    if (length && t->kind == ATOLL_TOKEN_NAME) {
        return atoll_err_set(err, ATOLL_E_INPUT, "rule %s, line %u: %s ('%.*s')", id, line, why, length,
                             t->text);
    }
    return atoll_err_set(err, ATOLL_E_INPUT, "rule %s, line %u: %s", id, line, why);
}

/* Whether a name was looked at already; remembers it. */
static int is_known(uint32_t *memo, const struct atoll_rule_site *s)
{
    const struct atoll_token *t = atoll_rule_token(s, 0);
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (uint32_t i = 0; i < t->length; i++)
        hash = (hash ^ (unsigned char)t->text[i]) * 16777619u;
    uint32_t *slot = &memo[hash % MEMO_SLOTS], before = *slot;
    *slot = (uint32_t)s->at + 1;
    return before && s->tokens[before - 1].length == t->length &&
           memcmp(s->tokens[before - 1].text, t->text, t->length) == 0;
}

struct language {
    const char *name;
    const struct atoll_rule *rules;
    const size_t *count;
};

static const struct language *find_language(const char *name)
{
    static const struct language known[] = {{"c", atoll_rules_c, &atoll_rules_c_count},
                                            {"cuda", atoll_rules_cuda, &atoll_rules_cuda_count}};
    for (size_t i = 0; i < ATOLL_RULE_COUNT(known); i++)
        if (strcmp(known[i].name, name) == 0)
            return &known[i];
    return NULL;
}

/* known: a name that stood somewhere before, so that only its place is new. */
static int breaks(const struct atoll_rule *rule, const struct atoll_rule_site *s, int known)
{
    const struct atoll_token *t = atoll_rule_token(s, 0);
    if (rule->broken && rule->broken(s))
        return 1;
    if (t->kind != ATOLL_TOKEN_NAME)
        return 0;
    if (!known && ((rule->names && atoll_rule_any(t, rule->names)) ||
                   (rule->prefixes && atoll_rule_starts(t, rule->prefixes))))
        return 1;
    return rule->calls && atoll_rule_is(s, 1, "(") && atoll_rule_any(t, rule->calls);
}

static int check_tokens(const struct language *l, const struct atoll_token_list *list, struct atoll_err *err)
{
    uint32_t memo[MEMO_SLOTS] = {0};
    struct atoll_rule_site s = {list->tokens, list->count, 0};
    for (; s.at < s.count; s.at++) {
        const struct atoll_token *t = &list->tokens[s.at];
        int known = is_known(memo, &s);
        for (size_t i = 0; i < *l->count; i++)
            if (breaks(&l->rules[i], &s, known))
                return report(err, l->rules[i].id, t->line, l->rules[i].why, t);
    }
    for (size_t i = 0; i < *l->count; i++) {
        size_t at = l->rules[i].find ? l->rules[i].find(list->tokens, list->count) : list->count;
        if (at < list->count)
            return report(err, l->rules[i].id, list->tokens[at].line, l->rules[i].why, &list->tokens[at]);
    }
    return 0;
}

static const char trigraph_why[] = "trigraphs hide what is compiled; break the question marks apart";

int atoll_rules_check(const char *language, const char *body, struct atoll_err *err)
{
    struct atoll_token_list list;
    const struct language *l = find_language(language);
    if (!l) {
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "rule language, line 1: no rules are known for language '%.32s'", language);
    }
    int line = trigraph_line(body);
    if (line)
        return report(err, "trigraph", (unsigned)line, trigraph_why, NULL);
    if (atoll_token_list_init(&list, body, err))
        return -1;
    int rc = list.odd_line ? report(err, "comment", list.odd_line, "this comment never ends", NULL)
                           : check_tokens(l, &list, err);
    atoll_token_list_fini(&list);
    return rc;
}

unsigned atoll_rules_count(const char *language)
{
    const struct language *l = find_language(language);
    return l ? (unsigned)*l->count : 0;
}

const char *atoll_rules_id(const char *language, unsigned index)
{
    return index < atoll_rules_count(language) ? find_language(language)->rules[index].id : NULL;
}

const char *atoll_rules_why(const char *language, unsigned index)
{
    return index < atoll_rules_count(language) ? find_language(language)->rules[index].why : NULL;
}
