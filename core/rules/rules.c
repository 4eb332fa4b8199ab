/* rules.c - static rules over a candidate.  They keep honest errors cheap and their messages clear; containment is the
 * worker's.  A rule is one row: id, why, and a check of the text, of one token in its place, or of all of them.  What a
 * compiler might read in another way than the lexer (odd splices, trigraphs, raw strings) is forbidden altogether; what
 * macros make of the rest is seen in the preprocessor's own output, where the same rows decide. */
#include "core/rules/rules.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "core/rules/rules_row.h"
#include "core/source/source_python.h"

#define MEMO_SLOTS 512

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
    const char *headers; /* that a source may include by name */
};

static const struct language *find_language(const char *name)
{
    static const struct language known[] = {{"c", atoll_rules_c, &atoll_rules_c_count, atoll_rules_c_headers},
                                            {"cuda", atoll_rules_cuda, &atoll_rules_cuda_count, " "},
                                            {"triton", atoll_rules_triton, &atoll_rules_triton_count, " "}};
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

/* What is judged: a text, or what a preprocessor made of one. */
struct subject {
    const struct language *language;
    const char *body;
    int is_text;
    unsigned first_line;   /* of a text's body in its file */
    const uint32_t *lines; /* of what a preprocessor made: each line's number in the file */
};

static unsigned line_of(const struct subject *s, unsigned line)
{
    return s->is_text ? s->first_line + line - 1 : s->lines[line - 1];
}

static int check_tokens(const struct subject *subject, const struct atoll_token_list *list,
                        struct atoll_err *err)
{
    const struct language *l = subject->language;
    uint32_t memo[MEMO_SLOTS] = {0};
    struct atoll_rule_site s = {list->tokens, list->count, 0};
    for (; s.at < s.count; s.at++) {
        const struct atoll_token *t = &list->tokens[s.at];
        int known = is_known(memo, &s);
        if (!subject->is_text && t->first && t->directive && !atoll_rule_is(&s, 1, "pragma"))
            return report(err, "directive", line_of(subject, t->line), "macros may not make directives",
                          NULL);
        for (size_t i = 0; i < *l->count; i++)
            if ((subject->is_text || !l->rules[i].of_text) && breaks(&l->rules[i], &s, known))
                return report(err, l->rules[i].id, line_of(subject, t->line), l->rules[i].why, t);
    }
    for (size_t i = 0; i < *l->count; i++) {
        size_t at = l->rules[i].find ? l->rules[i].find(list->tokens, list->count) : list->count;
        if (at < list->count)
            return report(err, l->rules[i].id, line_of(subject, list->tokens[at].line), l->rules[i].why,
                          &list->tokens[at]);
    }
    return 0;
}

static int check(const struct subject *subject, struct atoll_err *err)
{
    const struct language *l = subject->language;
    struct atoll_token_list list;
    int is_python = strcmp(l->name, "triton") == 0;
    if (is_python ? atoll_python_token_list_init(&list, subject->body, err)
                  : atoll_token_list_init(&list, subject->body, err))
        return -1;
    int rc = 0;
    for (size_t i = 0; i < *l->count && subject->is_text && !rc; i++) {
        unsigned line = l->rules[i].raw ? l->rules[i].raw(subject->body, &list) : 0;
        if (line)
            rc = report(err, l->rules[i].id, line_of(subject, line), l->rules[i].why, NULL);
    }
    rc = rc ? rc : check_tokens(subject, &list, err);
    atoll_token_list_fini(&list);
    return rc;
}

static int no_rules(const char *language, struct atoll_err *err)
{
    return atoll_err_set(err, ATOLL_E_INPUT, "rule language, line 1: no rules are known for language '%.32s'",
                         language);
}

int atoll_rules_check(const char *language, const char *body, unsigned first_line, struct atoll_err *err)
{
    struct subject s = {find_language(language), body, 1, first_line, NULL};
    return s.language ? check(&s, err) : no_rules(language, err);
}

/* ---- what a preprocessor made ---- */

#define OWN_LIMIT ((size_t)1 << 20) /* of the candidate's own part */

/* A line marker of gcc and clang: # 12 "name" flags; 1 enters a file, 2 returns from one. */
struct marker {
    uint32_t line;
    const char *name;
    size_t name_length;
    int enters, returns;
};

static int read_marker(const char *line, size_t length, struct marker *ret)
{
    char *rest = NULL;
    if (length < 5 || line[0] != '#' || line[1] != ' ' || line[2] < '0' || line[2] > '9')
        return 0;
    *ret = (struct marker){.line = (uint32_t)strtoul(line + 2, &rest, 10)};
    const char *end = line + length;
    if (rest + 2 > end || rest[0] != ' ' || rest[1] != '"')
        return 0;
    ret->name = rest + 2;
    const char *close = memchr(ret->name, '"', (size_t)(end - ret->name));
    if (!close)
        return 0;
    ret->name_length = (size_t)(close - ret->name);
    for (const char *p = close + 1; p < end; p++) {
        int is_alone = p[-1] == ' ' && (p + 1 == end || p[1] == ' ');
        ret->enters |= *p == '1' && is_alone;
        ret->returns |= *p == '2' && is_alone;
    }
    return 1;
}

static int is_named(const struct marker *m, const char *name)
{
    return strlen(name) == m->name_length && memcmp(name, m->name, m->name_length) == 0;
}

/* Whether a header that the candidate's own text enters is one that it may include. */
static int may_enter(const struct language *l, const struct marker *m)
{
    for (const char *w = l->headers + 1; *w; w += strcspn(w, " ") + 1) {
        size_t n = strcspn(w, " ");
        if (m->name_length > n && memcmp(m->name + m->name_length - n, w, n) == 0 &&
            m->name[m->name_length - n - 1] == '/')
            return 1;
    }
    return 0;
}

struct own {
    struct atoll_buffer text;
    uint32_t *lines;
    size_t count, capacity;
};

/* gcc writes a letter beyond ASCII as \U and eight digits: as one letter, whichever, it breaks no name apart. */
static void put_line(struct atoll_buffer *out, const char *line, size_t length)
{
    for (size_t i = 0; i < length;) {
        size_t digits = i + 10 <= length && line[i] == '\\' && line[i + 1] == 'U'
                            ? strspn(line + i + 2, "0123456789abcdefABCDEF")
                            : 0;
        if (digits >= 8) {
            atoll_buffer_put_bytes(out, "\xc3\xa9", 2);
            i += 10;
        } else {
            atoll_buffer_put_bytes(out, line + i++, 1);
        }
    }
    atoll_buffer_put_bytes(out, "\n", 1);
}

static int keep_line(struct own *o, const char *line, size_t length, uint32_t number, struct atoll_err *err)
{
    if (o->count == o->capacity) {
        size_t capacity = o->capacity ? o->capacity * 2 : 1024;
        uint32_t *lines = realloc(o->lines, capacity * sizeof(*lines));
        if (!lines)
            return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the lines of a preprocessed source");
        o->lines = lines;
        o->capacity = capacity;
    }
    o->lines[o->count++] = number;
    put_line(&o->text, line, length);
    if (!o->text.failed)
        return 0;
    return atoll_err_set(err, ATOLL_E_INPUT,
                         "rule expansion, line %u: macros make more than %zu bytes of this source", number,
                         OWN_LIMIT);
}

/* The candidate's own lines.  Nothing but an #include changes the file, and nothing but its end goes back. */
static int keep_own(const struct language *l, const char *text, const char *end,
                    const struct atoll_rules_unit *unit, struct own *o, struct atoll_err *err)
{
    size_t depth = 0, own_markers = 0; /* the first stands before what is built in */
    int begun = 0;
    uint32_t number = 1;
    for (const char *line = text; line < end;) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        size_t length = (size_t)((stop ? stop : end) - line);
        struct marker m;
        if (read_marker(line, length, &m)) {
            int is_own = is_named(&m, unit->file) || is_named(&m, unit->other_name);
            int is_ours = m.name_length > 0 && m.name[0] == '<'; /* <built-in>, <command-line> */
            if (m.enters && begun && depth == 0 && !may_enter(l, &m))
                return atoll_err_set(err, ATOLL_E_INPUT, "rule include, line %u: '%.*s' may not be included",
                                     number, m.name_length < 200 ? (int)m.name_length : 200, m.name);
            depth += (size_t)m.enters;
            if (m.returns && depth > 0)
                depth--;
            if (depth == 0 && !is_own && (begun || !is_ours))
                return atoll_err_set(err, ATOLL_E_INPUT,
                                     "rule directive, line %u: the source says that it is another file",
                                     number);
            if (depth == 0 && is_own) {
                number = m.line;
                begun |= ++own_markers > 1;
            }
        } else if (depth == 0) {
            if (keep_line(o, line, length, number++, err))
                return -1;
            begun |= length > 0;
        }
        line = stop ? stop + 1 : end;
    }
    return 0;
}

/* Where the last marker with this name begins: what the harness adds is what comes last. */
static const char *find_end(const char *text, const char *name)
{
    const char *end = text + strlen(text);
    struct marker m;
    if (!name)
        return end;
    for (const char *line = text; line; line = (line = strchr(line, '\n')) ? line + 1 : NULL)
        if (read_marker(line, strcspn(line, "\n"), &m) && is_named(&m, name))
            end = line;
    return end;
}

int atoll_rules_check_preprocessed(const char *language, const char *text,
                                   const struct atoll_rules_unit *unit, struct atoll_err *err)
{
    struct own o = {.count = 0};
    struct subject s = {.language = find_language(language)};
    if (!s.language)
        return no_rules(language, err);
    atoll_buffer_init(&o.text, OWN_LIMIT);
    int rc = keep_own(s.language, text, find_end(text, unit->end_name), unit, &o, err);
    if (!rc && o.count > 0) {
        atoll_buffer_put_bytes(&o.text, "", 1);
        s.body = (const char *)o.text.data;
        s.lines = o.lines;
        rc = atoll_buffer_check(&o.text, err) ? -1 : check(&s, err);
    }
    atoll_buffer_fini(&o.text);
    free(o.lines);
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
