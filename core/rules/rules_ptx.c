/* rules_ptx.c - texts are joined as the compiler joins them, then searched for words, with PTX's comments and without
 * them: a comment may end where a statement begins.  A text that contains none is no assembly or harmless; where it stands
 * does not matter, so that a macro cannot hide it.  The same words are looked for in finished PTX. */
#include "core/rules/rules_row.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/rules/rules.h"

#define TEXT_LIMIT 16384 /* of joined texts; what is longer is looked at in pieces that overlap */
#define OVERLAP    64

enum place { ANYWHERE, WORD, OPCODE, DIRECTIVE };

struct pattern {
    enum place
        place; /* WORD: no name goes on before or after; OPCODE: and a statement begins; DIRECTIVE: the same */
    const char *text;
};

static int is_name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$';
}

/* Comments of a text become blanks, but for the line ends in them. */
static void drop_comments(char *text)
{
    for (char *p = text; *p; p++) {
        if (p[0] != '/' || (p[1] != '/' && p[1] != '*'))
            continue;
        int is_line = p[1] == '/';
        char *end = is_line ? p + strcspn(p, "\n") : strstr(p + 2, "*/");
        end = !end ? p + strlen(p) : is_line ? end : end + 2;
        for (; p < end; p++)
            *p = *p == '\n' ? '\n' : ' ';
        p--;
    }
}

/* Only blanks, a predicate or a label lie between the last ";", brace or line and here. */
static int begins_statement(const char *text, size_t at)
{
    while (at > 0 && strchr(" \t\n\r", text[at - 1]))
        at--;
    if (at == 0 || strchr(";{}:", text[at - 1]))
        return 1;
    size_t word = at;
    while (word > 0 && (is_name_byte(text[word - 1]) || strchr("%!", text[word - 1])))
        word--;
    return word > 0 && word < at && text[word - 1] == '@';
}

static int stands_at(const char *text, size_t at, const struct pattern *p)
{
    /* nearly everywhere it is another letter, capital or not */
    if (((unsigned)text[at] ^ (unsigned)p->text[0]) & 0xdf)
        return 0;
    size_t n = strlen(p->text);
    if (strncasecmp(text + at, p->text, n) != 0)
        return 0;
    if (p->place == ANYWHERE)
        return 1;
    if ((at > 0 && is_name_byte(text[at - 1])) || is_name_byte(text[at + n]))
        return 0;
    return p->place == WORD || begins_statement(text, at);
}

/* Which of the patterns stands in a text, the first; count: none.  ret_at: where. */
static size_t find_pattern(const char *text, const struct pattern *patterns, size_t count, size_t *ret_at)
{
    for (size_t at = 0; text[at]; at++)
        for (size_t i = 0; i < count; i++)
            if (stands_at(text, at, &patterns[i])) {
                *ret_at = at;
                return i;
            }
    return count;
}

/* With its comments and without. */
static int speaks(const char *text, const struct pattern *patterns, size_t count)
{
    char bare[TEXT_LIMIT + 1];
    size_t at;
    if (find_pattern(text, patterns, count, &at) < count)
        return 1;
    memcpy(bare, text, strlen(text) + 1);
    drop_comments(bare);
    return find_pattern(bare, patterns, count, &at) < count;
}

/* Appends what a string token says, escapes for blanks as blanks. */
static size_t append(char *text, size_t used, const struct atoll_token *t)
{
    for (size_t i = 1; i + 1 < t->length && used < TEXT_LIMIT; i++) {
        char c = t->text[i];
        if (c == '\\' && i + 2 < t->length) {
            c = t->text[++i];
            c = strchr("ntrvf", c) ? ' ' : c;
            c = t->text[i] == 'n' ? '\n' : c;
        }
        text[used++] = c;
    }
    text[used] = 0;
    return used;
}

/* First token of the first run of neighbouring texts that says one of the patterns. */
static size_t search(const struct atoll_token *tokens, size_t count, const struct pattern *patterns,
                     size_t pattern_count)
{
    char text[TEXT_LIMIT + 1] = "";
    size_t used = 0, begin = 0;
    for (size_t i = 0; i < count; i++) {
        if (tokens[i].kind != ATOLL_TOKEN_STRING)
            continue;
        if (!(i > 0 && tokens[i - 1].kind == ATOLL_TOKEN_STRING)) {
            used = 0;
            begin = i;
        }
        if (used + tokens[i].length > TEXT_LIMIT && used > OVERLAP) {
            memmove(text, text + used - OVERLAP, OVERLAP);
            used = OVERLAP;
        }
        if (tokens[i].length > TEXT_LIMIT - OVERLAP)
            return i; /* nobody writes such a text by hand */
        used = append(text, used, &tokens[i]);
        int last = i + 1 == count || tokens[i + 1].kind != ATOLL_TOKEN_STRING ||
                   used + tokens[i + 1].length > TEXT_LIMIT;
        if (last && speaks(text, patterns, pattern_count))
            return begin;
    }
    return count;
}

#define SEARCH(tokens, count, patterns)                                                                      \
    search(tokens, count, patterns, sizeof(patterns) / sizeof(*(patterns)))

size_t atoll_ptx_clock(const struct atoll_token *tokens, size_t count)
{
    static const struct pattern patterns[] = {
        {ANYWHERE, "%clock"}, {ANYWHERE, "%globaltimer"}, {ANYWHERE, "%pm0"}, {ANYWHERE, "%pm1"},
        {ANYWHERE, "%pm2"},   {ANYWHERE, "%pm3"},         {ANYWHERE, "%pm4"}, {ANYWHERE, "%pm5"},
        {ANYWHERE, "%pm6"},   {ANYWHERE, "%pm7"},         {OPCODE, "pmevent"}};
    return SEARCH(tokens, count, patterns);
}

size_t atoll_ptx_forbidden(const struct atoll_token *tokens, size_t count)
{
    static const struct pattern patterns[] = {
        {OPCODE, "trap"},         {OPCODE, "brkpt"},       {OPCODE, "call"},
        {WORD, "griddepcontrol"}, {ANYWHERE, "__cudart_"}, /* tables of the compiler's */
        {DIRECTIVE, ".file"},     {DIRECTIVE, ".loc"},     {DIRECTIVE, ".section"},
        {DIRECTIVE, ".extern"},   {DIRECTIVE, ".visible"}, {DIRECTIVE, ".weak"},
        {DIRECTIVE, ".common"},   {DIRECTIVE, ".entry"},   {DIRECTIVE, ".func"},
        {DIRECTIVE, ".alias"},    {DIRECTIVE, ".global"},  {DIRECTIVE, ".const"},
        {DIRECTIVE, ".version"},  {DIRECTIVE, ".target"},  {DIRECTIVE, ".address_size"},
        {DIRECTIVE, ".pragma"}};
    return SEARCH(tokens, count, patterns);
}

size_t atoll_ptx_persisting(const struct atoll_token *tokens, size_t count)
{
    static const struct pattern patterns[] = {
        {ANYWHERE, "L2::evict_last"}, {OPCODE, "discard"}, {OPCODE, "applypriority"}};
    return SEARCH(tokens, count, patterns);
}

/* %gridid counts launches; the environment's registers lead to memory of the driver's that no sample clears. */
size_t atoll_ptx_system(const struct atoll_token *tokens, size_t count)
{
    static const struct pattern patterns[] = {{ANYWHERE, "%gridid"},
                                              {ANYWHERE, "%reserved_smem"},
                                              {ANYWHERE, "%envreg"},
                                              {ANYWHERE, "%current_graph_exec"}};
    return SEARCH(tokens, count, patterns);
}

/* A policy of cache hints is a number of 64 bits: what createpolicy makes of L2::evict_last begins with 0x14 whatever its
 * fraction, and stands in finished PTX as a constant, in whatever way the source came to it. */
static int has_policy_number(const char *ptx)
{
    const char *p = strstr(ptx, "cache_hint") ? ptx : "";
    for (; *p; p++) {
        if (*p < '0' || *p > '9' || (p > ptx && (is_name_byte(p[-1]) || p[-1] == '.')))
            continue;
        char *end;
        unsigned long long value = strtoull(p, &end, 0);
        if (value >> 56 == 0x14 && !is_name_byte(*end))
            return 1;
        p = end > p ? end - 1 : p;
    }
    return 0;
}

/* What the compiler writes into PTX by itself (directives, calls, traps of unreachable places) says nothing. */
int atoll_rules_check_ptx(const char *ptx, struct atoll_err *err)
{
    static const struct {
        const char *id, *why;
        struct pattern patterns[10];
    } rows[] = {
        {"assembly-clock",
         "it reads a clock, timer or performance counter",
         {{ANYWHERE, "%clock"},
          {ANYWHERE, "%globaltimer"},
          {ANYWHERE, "%pm0"},
          {ANYWHERE, "%pm1"},
          {ANYWHERE, "%pm2"},
          {ANYWHERE, "%pm3"},
          {ANYWHERE, "%pm4"},
          {OPCODE, "pmevent"}}},
        /* cooperative groups read the others by themselves */
        {"assembly-system",
         "it reads the number of its launch",
         {{ANYWHERE, "%gridid"}, {ANYWHERE, "%current_graph_exec"}}},
        {"assembly-persisting",
         "something would stay in the cache beyond the launch",
         {{ANYWHERE, "L2::evict_last"}, {OPCODE, "discard"}, {OPCODE, "applypriority"}}},
        {"dependent-launch", "dependent launches are the plan's business", {{WORD, "griddepcontrol"}}},
        {"print", "printing from a kernel is not allowed", {{WORD, "vprintf"}}},
        {"memory", "memory comes from the plan's scratch, not from an allocator", {{WORD, "malloc"}}},
        {"device-launch", "a kernel may not launch kernels", {{ANYWHERE, "cudaLaunchDevice"}}},
    };
    char *text = strdup(ptx);
    int rc = text ? 0 : atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a kernel's PTX");
    if (text)
        drop_comments(text);
    for (size_t i = 0; !rc && i < sizeof(rows) / sizeof(*rows); i++) {
        size_t count = 0, at = 0;
        while (count < sizeof(rows[i].patterns) / sizeof(*rows[i].patterns) && rows[i].patterns[count].text)
            count++;
        size_t found = find_pattern(text, rows[i].patterns, count, &at);
        if (found < count)
            rc = atoll_err_set(err, ATOLL_E_INPUT, "rule %s, in the PTX that the compiler made: %s ('%s')",
                               rows[i].id, rows[i].why, rows[i].patterns[found].text);
    }
    if (!rc && has_policy_number(text))
        rc =
            atoll_err_set(err, ATOLL_E_INPUT,
                          "rule assembly-persisting, in the PTX that the compiler made: something would stay "
                          "in the cache beyond the launch (the number of L2::evict_last)");
    free(text);
    return rc;
}

static int is(const struct atoll_token *tokens, size_t count, size_t at, const char *text)
{
    return at < count && atoll_token_is(&tokens[at], text);
}

/* Octal, hexadecimal and Unicode escapes. */
static int has_odd_escape(const struct atoll_token *t)
{
    for (size_t i = 1; i + 1 < t->length; i++)
        if (t->text[i] == '\\' && !strchr("ntrvf\"'\\", t->text[++i]))
            return 1;
    return 0;
}

/* A name right beside a text: a macro that goes on with it, or a prefix. */
static int has_neighbour(const struct atoll_token *tokens, size_t count, size_t at)
{
    static const char *const before[] = {"extern",       "asm",  "__asm__", "__asm", "volatile",
                                         "__volatile__", "goto", "return",  "error", "warning"};
    int bare = is(tokens, count, at, "\"C\"") || tokens[at].first;
    if (!bare && at + 1 < count && tokens[at + 1].kind == ATOLL_TOKEN_NAME && !tokens[at + 1].first)
        return 1;
    if (!bare && at + 1 < count && tokens[at + 1].kind == ATOLL_TOKEN_NAME &&
        tokens[at].directive == tokens[at + 1].directive) {
        return 1;
    }
    if (at == 0 || tokens[at - 1].kind != ATOLL_TOKEN_NAME)
        return 0;
    if (at > 1 && tokens[at].directive && is(tokens, count, at - 2, "define"))
        return 0;
    for (size_t i = 0; i < sizeof(before) / sizeof(*before); i++)
        if (atoll_token_is(&tokens[at - 1], before[i]))
            return 0;
    return tokens[at - 1].directive == tokens[at].directive;
}

/* Between "asm (" and the first ":" or ")" nothing but texts. */
static int has_odd_text(const struct atoll_token *tokens, size_t count, size_t at)
{
    size_t i = at + 1;
    while (i < count && (is(tokens, count, i, "volatile") || is(tokens, count, i, "__volatile__") ||
                         is(tokens, count, i, "goto"))) {
        i++;
    }
    if (!is(tokens, count, i, "("))
        return 1;
    for (i++; i < count && !is(tokens, count, i, ":") && !is(tokens, count, i, ")"); i++)
        if (tokens[i].kind != ATOLL_TOKEN_STRING)
            return 1;
    return 0;
}

size_t atoll_ptx_hidden(const struct atoll_token *tokens, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct atoll_token *t = &tokens[i];
        int is_define = t->directive && !t->first && is(tokens, count, i, "#");
        int is_asm = atoll_token_is(t, "asm") || atoll_token_is(t, "__asm__") || atoll_token_is(t, "__asm");
        if (is_define || (is_asm && has_odd_text(tokens, count, i)) ||
            (t->kind == ATOLL_TOKEN_STRING && (has_odd_escape(t) || has_neighbour(tokens, count, i)))) {
            return i;
        }
    }
    return count;
}
