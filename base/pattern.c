/* pattern.c - a pattern becomes steps: take a byte of a set, go two ways, go on elsewhere, hold at a border, match.  All
 * distances are relative, so a part of them is moved as it stands to make room for what decides before it.  Parsing calls
 * itself at most once for each character, of which there are few. */
#include "base/pattern.h"

#include <ctype.h>
#include <string.h>

enum kind { TAKE, SPLIT, JUMP, AT_BEGIN, AT_END, AT_WORD, MATCH };

struct parser {
    const char *text, *at;
    struct atoll_pattern *pattern;
    const char *why; /* the first thing that is wrong */
};

static int fail(struct parser *p, const char *why)
{
    if (!p->why)
        p->why = why;
    return -1;
}

static int append(struct parser *p, enum kind kind, int next, int other)
{
    struct atoll_pattern *made = p->pattern;
    if (made->count == ATOLL_PATTERN_STEPS)
        return fail(p, "it is too long");
    struct atoll_pattern_step *step = &made->steps[made->count++];
    memset(step, 0, sizeof(*step));
    step->kind = (uint8_t)kind;
    step->next = (int16_t)next;
    step->other = (int16_t)other;
    return 0;
}

/* Puts a step before those from `at` on; nothing leads into these from outside. */
static int insert(struct parser *p, uint32_t at, enum kind kind, int next, int other)
{
    struct atoll_pattern *made = p->pattern;
    if (append(p, kind, next, other) != 0)
        return -1;
    struct atoll_pattern_step step = made->steps[made->count - 1];
    for (uint32_t i = made->count - 1; i > at; i--)
        made->steps[i] = made->steps[i - 1];
    made->steps[at] = step;
    return 0;
}

static void take_byte(uint8_t bytes[32], unsigned byte)
{
    bytes[byte / 8 % 32] |= (uint8_t)(1u << byte % 8);
}

static void take_either_case(uint8_t bytes[32], unsigned byte)
{
    take_byte(bytes, (unsigned)tolower((int)byte));
    take_byte(bytes, (unsigned)toupper((int)byte));
}

static int is_word(unsigned byte)
{
    return isalnum((int)byte) || byte == '_';
}

/* \w, \d, \s; 0: it is none of them. */
static int take_class(uint8_t bytes[32], char name)
{
    if (name != 'w' && name != 'd' && name != 's')
        return 0;
    for (unsigned b = 0; b < 256; b++)
        if (name == 'w' ? is_word(b) : name == 'd' ? isdigit((int)b) : isspace((int)b))
            take_byte(bytes, b);
    return 1;
}

static unsigned next_byte(struct parser *p)
{
    return (unsigned char)*p->at++;
}

static int parse_set(struct parser *p, uint8_t bytes[32])
{
    int is_other = *p->at == '^';
    p->at += is_other;
    for (int is_first = 1; *p->at != ']' || is_first; is_first = 0) {
        if (!*p->at)
            return fail(p, "a [ without its ]");
        unsigned low = next_byte(p), high;
        if (low == '\\' && *p->at) {
            low = next_byte(p);
            if (take_class(bytes, (char)low))
                continue;
        }
        high = low;
        if (p->at[0] == '-' && p->at[1] && p->at[1] != ']') {
            p->at++;
            high = next_byte(p);
        }
        for (unsigned b = low; b <= high; b++)
            take_either_case(bytes, b);
    }
    p->at++;
    for (int i = 0; i < 32 && is_other; i++)
        bytes[i] = (uint8_t)~bytes[i];
    return 0;
}

static int parse_ways(struct parser *p);

static int parse_group(struct parser *p)
{
    if (parse_ways(p) != 0)
        return -1;
    if (*p->at != ')')
        return fail(p, "a ( without its )");
    p->at++;
    return 0;
}

static int parse_atom(struct parser *p)
{
    uint8_t bytes[32] = {0};
    unsigned byte = next_byte(p);
    switch (byte) {
    case '(': return parse_group(p);
    case '^': return append(p, AT_BEGIN, 1, 0);
    case '$': return append(p, AT_END, 1, 0);
    case '*':
    case '+':
    case '?': return fail(p, "nothing before a *, + or ?");
    case '.': memset(bytes, 0xff, sizeof(bytes)); break;
    case '[':
        if (parse_set(p, bytes) != 0)
            return -1;
        break;
    case '\\':
        if (!*p->at)
            return fail(p, "nothing behind a backslash");
        byte = next_byte(p);
        if (byte == 'b')
            return append(p, AT_WORD, 1, 0);
        if (!take_class(bytes, (char)byte))
            take_either_case(bytes, byte);
        break;
    default: take_either_case(bytes, byte);
    }
    if (append(p, TAKE, 1, 0) != 0)
        return -1;
    memcpy(p->pattern->steps[p->pattern->count - 1].bytes, bytes, sizeof(bytes));
    return 0;
}

static int parse_repeated(struct parser *p)
{
    uint32_t begin = p->pattern->count;
    if (parse_atom(p) != 0)
        return -1;
    for (; *p->at == '*' || *p->at == '+' || *p->at == '?'; p->at++) {
        int length = (int)(p->pattern->count - begin);
        int failed = *p->at == '+' ? append(p, SPLIT, -length, 1)
                                   : insert(p, begin, SPLIT, 1, length + (*p->at == '*' ? 2 : 1));
        if (failed || (*p->at == '*' && append(p, JUMP, -length - 1, 0) != 0))
            return -1;
    }
    return 0;
}

static int parse_ways(struct parser *p)
{
    uint32_t begin = p->pattern->count;
    while (*p->at && *p->at != '|' && *p->at != ')')
        if (parse_repeated(p) != 0)
            return -1;
    if (*p->at != '|')
        return 0;
    p->at++;
    int length = (int)(p->pattern->count - begin);
    if (insert(p, begin, SPLIT, 1, length + 2) != 0 || append(p, JUMP, 0, 0) != 0)
        return -1;
    uint32_t jump = p->pattern->count - 1;
    if (parse_ways(p) != 0)
        return -1;
    p->pattern->steps[jump].next = (int16_t)(p->pattern->count - jump);
    return 0;
}

int atoll_pattern_parse(const char *text, struct atoll_pattern *ret_pattern, struct atoll_err *err)
{
    struct parser p = {.text = text, .at = text, .pattern = ret_pattern};
    ret_pattern->count = 0;
    if (strlen(text) > ATOLL_PATTERN_LIMIT)
        return atoll_err_set(err, ATOLL_E_INPUT, "the pattern has more than %d characters",
                             ATOLL_PATTERN_LIMIT);
    if (parse_ways(&p) == 0 && *p.at)
        fail(&p, "a ) without its (");
    if (!p.why && append(&p, MATCH, 0, 0) == 0)
        return 0;
    ret_pattern->count = 0;
    return atoll_err_set(err, ATOLL_E_INPUT, "the pattern is wrong at character %td: %s", p.at - text + 1,
                         p.why);
}

/* The steps that a text may stand at. */
struct stand {
    uint16_t steps[ATOLL_PATTERN_STEPS];
    uint32_t count;
    uint8_t is_there[ATOLL_PATTERN_STEPS];
};

struct place {
    const char *text;
    size_t at, length;
};

static int is_at_word(const struct place *place)
{
    int before = place->at > 0 && is_word((unsigned char)place->text[place->at - 1]);
    int after = place->at < place->length && is_word((unsigned char)place->text[place->at]);
    return before != after;
}

/* Adds a step and what it leads to without taking a byte.  1: that is the end of the pattern. */
static int stand_add(const struct atoll_pattern *pattern, struct stand *stand, uint32_t first,
                     const struct place *place, uint64_t *work)
{
    uint16_t left[ATOLL_PATTERN_STEPS + 1];
    uint32_t left_count = 0;
    if (!stand->is_there[first])
        left[left_count++] = (uint16_t)first;
    stand->is_there[first] = 1;
    while (left_count > 0) {
        uint32_t at = left[--left_count];
        const struct atoll_pattern_step *step = &pattern->steps[at];
        uint32_t ways[2] = {(uint32_t)((int)at + step->next), (uint32_t)((int)at + step->other)};
        int way_count = step->kind == SPLIT      ? 2
                        : step->kind == JUMP     ? 1
                        : step->kind == AT_BEGIN ? place->at == 0
                        : step->kind == AT_END   ? place->at == place->length
                        : step->kind == AT_WORD  ? is_at_word(place)
                                                 : 0;
        *work -= *work > 0;
        if (step->kind == MATCH)
            return 1;
        if (step->kind == TAKE)
            stand->steps[stand->count++] = (uint16_t)at;
        for (int i = 0; i < way_count; i++) {
            if (!stand->is_there[ways[i]])
                left[left_count++] = (uint16_t)ways[i];
            stand->is_there[ways[i]] = 1;
        }
    }
    return 0;
}

int atoll_pattern_matches(const struct atoll_pattern *pattern, const char *text, size_t length,
                          uint64_t *work)
{
    struct stand stands[2];
    struct place place = {text, 0, length};
    stands[0].count = stands[1].count = 0;
    if (!pattern->count)
        return 0;
    for (; *work > 0; place.at++) {
        struct stand *now = &stands[place.at & 1], *then = &stands[~place.at & 1];
        memset(now->is_there, 0, pattern->count);
        now->count = 0;
        for (uint32_t i = 0; place.at > 0 && i < then->count; i++) {
            const struct atoll_pattern_step *step = &pattern->steps[then->steps[i]];
            unsigned byte = (unsigned char)text[place.at - 1];
            *work -= *work > 0;
            if (step->bytes[byte / 8] >> byte % 8 & 1 &&
                stand_add(pattern, now, (uint32_t)(then->steps[i] + step->next), &place, work))
                return 1;
        }
        if (stand_add(pattern, now, 0, &place, work))
            return 1;
        if (place.at == length)
            return 0;
    }
    return 0;
}
