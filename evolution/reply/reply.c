/* reply.c - a reply is cut into parts at headings "### Kernel N" and each part read alone: its edits first, then its
 * fenced sources, and only where there is neither its prose.  Where its plan stands and whether the parent's still fits is
 * decided here; a plan is validated by core/plan/plan.h, with the task in hand.  What keeps a part from being used is
 * remembered; the first such complaint is reported when nothing usable is left. */
#include "evolution/reply/reply.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/utf8.h"
#include "core/plan/plan.h"
#include "core/source/source_python.h"
#include "evolution/reply/reply_text.h"

#define NAME_LIMIT      ATOLL_PLAN_LAUNCH_LIMIT
#define TRY_LIMIT       256  /* places where a function's name stands before a "(" */
#define PARAM_LIMIT     4096 /* tokens of a parameter list */
#define PLAN_LIMIT      ((size_t)32 << 10)
#define BEGINNING_BYTES ((size_t)6 << 10) /* of an unusable reply */
#define PLANLESS_LIMIT  16                /* sources of one part that wait for a plan */
#define WORK_BYTES      ((size_t)64 << 20)

/* From the '#' before the word to the end of the last line of the same kind. */
static struct atoll_reply_span line_comment(struct atoll_reply_span source, size_t begin)
{
    size_t at = begin, end = begin;
    struct atoll_reply_span line;
    while (atoll_reply_line(source, &at, &line)) {
        line = atoll_reply_trim(line);
        if (!line.length || line.text[0] != '#')
            break;
        end = (size_t)(line.text - source.text) + line.length;
    }
    return (struct atoll_reply_span){source.text + begin, end - begin};
}

static struct atoll_reply_span plan_comment(struct atoll_reply_span source)
{
    static const char word[] = "atoll-plan";
    for (size_t at = 0; at < source.length;) {
        struct atoll_reply_span rest = {source.text + at, source.length - at};
        size_t found = at + atoll_reply_find(rest, word), begin = found < source.length ? found : 0;
        while (begin > 0 && strchr(" \t\n", source.text[begin - 1]))
            begin--;
        if (begin >= 2 && memcmp(source.text + begin - 2, "/*", 2) == 0) {
            begin -= 2;
            rest = (struct atoll_reply_span){source.text + found, source.length - found};
            size_t end = atoll_reply_find(rest, "*/");
            end = end < rest.length ? found + end + 2 : source.length;
            return (struct atoll_reply_span){source.text + begin, end - begin};
        }
        size_t sign = begin > 0 && begin <= source.length ? begin - 1 : source.length;
        if (sign < source.length && source.text[sign] == '#' &&
            (sign == 0 || source.text[sign - 1] == '\n' || source.text[sign - 1] == ' '))
            return line_comment(source, sign);
        at = found + sizeof(word) - 1;
    }
    return (struct atoll_reply_span){source.text, 0};
}

static int is_python(const char *language)
{
    return strcmp(language, "triton") == 0;
}

/* JSON as lines of a Python comment, whether it comes from one or not. */
static size_t put_lines(char *text, struct atoll_reply_span json)
{
    struct atoll_reply_span line;
    size_t at = 0, used = 0, count = 0;
    while (atoll_reply_line(json, &at, &line)) {
        struct atoll_reply_span bare = atoll_reply_trim(line);
        int has_sign = bare.length && bare.text[0] == '#';
        if (has_sign) { /* its sign goes, its indentation stays */
            line.length -= (size_t)(bare.text + 1 - line.text);
            line.text = bare.text + 1;
        }
        const char *head = count++ ? "#" : "# atoll-plan";
        int needs_blank = line.length && (!has_sign || line.text[0] != ' ');
        while (*head)
            text[used++] = *head++;
        if (needs_blank)
            text[used++] = ' ';
        memcpy(text + used, line.text, line.length);
        used += line.length;
        text[used++] = '\n';
    }
    return used;
}

static const char *join_plan(const char *language, struct atoll_arena *arena, struct atoll_reply_span json,
                             struct atoll_reply_span source, struct atoll_err *err)
{
    static const char begin[] = "/* atoll-plan ", end[] = " */\n";
    struct atoll_reply_span own = plan_comment(source);
    size_t before = own.length ? (size_t)(own.text - source.text) : 0, used = 0;
    struct atoll_reply_span head = atoll_reply_trim((struct atoll_reply_span){source.text, before});
    size_t lines = 1;
    for (size_t i = 0; i < json.length; i++)
        lines += json.text[i] == '\n';
    char *text = atoll_arena_alloc(
        arena, source.length + json.length + 3 * lines + sizeof(begin) + sizeof(end) + 4, err);
    if (!text)
        return NULL;
#define APPEND(bytes, n) (memcpy(text + used, bytes, n), used += (n))
    if (json.length && is_python(language)) {
        used += put_lines(text, json);
    } else if (json.length) {
        APPEND(begin, sizeof(begin) - 1);
        APPEND(json.text, json.length);
        APPEND(end, sizeof(end) - 1);
    } else if (own.length) {
        APPEND(own.text, own.length);
    }
    if (head.length) {
        APPEND("\n", 1);
        APPEND(head.text, head.length);
        APPEND("\n", 1);
    }
    size_t rest = before + own.length;
    rest += used && text[used - 1] == '\n' && rest < source.length && source.text[rest] == '\n';
    APPEND(source.text + rest, source.length - rest);
#undef APPEND
    while (used && strchr(" \t\n", text[used - 1]))
        used--;
    text[used++] = '\n';
    text[used] = 0;
    return text;
}

/* ---- does the parent's plan fit ---- */

/* Values of "kernel" and "function" in the plan's JSON. */
static size_t launch_names(struct atoll_reply_span plan, struct atoll_reply_span ret_names[NAME_LIMIT])
{
    static const char *const keys[] = {"\"kernel\"", "\"function\""};
    size_t count = 0;
    for (size_t k = 0; k < 2; k++) {
        for (struct atoll_reply_span rest = plan; count < NAME_LIMIT;) {
            size_t at = atoll_reply_find(rest, keys[k]);
            if (at == rest.length)
                break;
            rest.text += at + strlen(keys[k]);
            rest.length -= at + strlen(keys[k]);
            size_t open = atoll_reply_find(rest, "\"");
            struct atoll_reply_span value = {rest.text + open + 1,
                                             rest.length > open ? rest.length - open - 1 : 0};
            value.length = atoll_reply_find(value, "\"");
            if (value.length)
                ret_names[count++] = value;
        }
    }
    return count;
}

/* The "(" of a function's definition: behind its name, with a "{" behind its ")". */
static size_t find_definition(const struct atoll_token_list *list, struct atoll_reply_span name)
{
    for (size_t i = 0, tries = 0; i + 1 < list->count && tries < TRY_LIMIT; i++) {
        size_t at = i + 1, depth = 0;
        const struct atoll_token *t = &list->tokens[i];
        if (t->length != name.length || memcmp(t->text, name.text, name.length) != 0 ||
            !atoll_token_is(&list->tokens[at], "(")) {
            continue;
        }
        for (tries++; at < list->count && at < i + PARAM_LIMIT; at++) {
            depth += atoll_token_is(&list->tokens[at], "(") ? 1 : 0;
            if (atoll_token_is(&list->tokens[at], ")") && --depth == 0)
                break;
        }
        if (at + 1 < list->count && atoll_token_is(&list->tokens[at + 1], "{"))
            return i + 1;
    }
    return list->count;
}

/* The next token of a parameter list that says something of a type: qualifiers and names of parameters do not. */
static const struct atoll_token *next_type(const struct atoll_token_list *list, size_t *at, size_t *depth)
{
    static const char *const qualifiers[] = {"const",      "restrict", "__restrict__", "__restrict",
                                             "__constant", "volatile", "__global",     "global"};
    for (; *at < list->count; (*at)++) {
        const struct atoll_token *t = &list->tokens[*at], *next = t + 1;
        int is_last = *at + 1 < list->count && (atoll_token_is(next, ",") || atoll_token_is(next, ")"));
        int is_skipped = is_last;
        for (size_t i = 0; i < sizeof(qualifiers) / sizeof(*qualifiers); i++)
            is_skipped |= atoll_token_is(t, qualifiers[i]);
        if (t->kind == ATOLL_TOKEN_NAME && is_skipped)
            continue;
        *depth += atoll_token_is(t, "(") ? 1 : 0;
        *depth -= atoll_token_is(t, ")") && *depth > 0 ? 1 : 0;
        (*at)++;
        return t;
    }
    return NULL;
}

static int same_parameters(const struct atoll_token_list *a, size_t at_a, const struct atoll_token_list *b,
                           size_t at_b)
{
    size_t depth_a = 0, depth_b = 0;
    for (;;) {
        const struct atoll_token *x = next_type(a, &at_a, &depth_a), *y = next_type(b, &at_b, &depth_b);
        if (!x || !y || x->length != y->length || memcmp(x->text, y->text, x->length) != 0)
            return 0;
        if (depth_a == 0)
            return 1;
    }
}

/* "def NAME(...)": the text between the brackets; length 0 with text NULL: none. */
static struct atoll_reply_span python_parameters(struct atoll_reply_span source, struct atoll_reply_span name)
{
    struct atoll_reply_span rest = source;
    for (size_t at; (at = atoll_reply_find(rest, "def ")) < rest.length;) {
        rest.text += at + 4, rest.length -= at + 4;
        if (rest.length > name.length && memcmp(rest.text, name.text, name.length) == 0 &&
            rest.text[name.length] == '(') {
            struct atoll_reply_span in = {rest.text + name.length + 1, rest.length - name.length - 1};
            in.length = atoll_reply_find(in, "):");
            return in;
        }
    }
    return (struct atoll_reply_span){NULL, 0};
}

/* The plan's kernels are there, with the same parameters, blanks aside. */
static int python_plan_fits(const char *parent, struct atoll_reply_span source)
{
    struct atoll_reply_span whole = {parent, strlen(parent)}, names[NAME_LIMIT];
    size_t count = launch_names(plan_comment(whole), names);
    for (size_t i = 0; i < count; i++) {
        struct atoll_reply_span a = python_parameters(whole, names[i]),
                                b = python_parameters(source, names[i]);
        size_t x = 0, y = 0;
        while (a.text && b.text && (x < a.length || y < b.length))
            if (x < a.length && strchr(" \t\n", a.text[x]))
                x++;
            else if (y < b.length && strchr(" \t\n", b.text[y]))
                y++;
            else if (x == a.length || y == b.length || a.text[x++] != b.text[y++])
                return 0;
        if (!a.text || !b.text)
            return 0;
    }
    return count > 0;
}

static int plan_fits(const char *parent, struct atoll_reply_span source, struct atoll_arena *arena,
                     struct atoll_err *err)
{
    struct atoll_reply_span whole = {parent, strlen(parent)}, plan = plan_comment(whole);
    struct atoll_reply_span names[NAME_LIMIT];
    struct atoll_token_list old = {0}, new = {0};
    size_t count = launch_names(plan, names);
    const char *text = atoll_arena_text(arena, source.text, source.length, err);
    int fits =
        text && atoll_token_list_init(&old, parent, err) == 0 && atoll_token_list_init(&new, text, err) == 0
            ? count > 0
            : -1;
    for (size_t i = 0; fits > 0 && i < count; i++) {
        size_t a = find_definition(&old, names[i]), b = find_definition(&new, names[i]);
        fits = a < old.count && b < new.count &&same_parameters(&old, a, &new, b);
    }
    atoll_token_list_fini(&old);
    atoll_token_list_fini(&new);
    return fits;
}

static int is_balanced(const char *language, struct atoll_reply_span source, struct atoll_arena *arena,
                       struct atoll_err *err)
{
    const char *open = is_python(language) ? "([{" : "{", *close = is_python(language) ? ")]}" : "}";
    struct atoll_token_list list;
    const char *text = atoll_arena_text(arena, source.text, source.length, err);
    long depth = 0;
    if (!text || (is_python(language) ? atoll_python_token_list_init(&list, text, err)
                                      : atoll_token_list_init(&list, text, err)) != 0)
        return -1;
    for (size_t i = 0; i < list.count; i++) {
        const struct atoll_token *t = &list.tokens[i];
        int is_mark = t->length == 1 && t->kind == ATOLL_TOKEN_MARK && !t->directive;
        depth += is_mark && strchr(open, t->text[0]) ? 1 : is_mark && strchr(close, t->text[0]) ? -1 : 0;
    }
    int balanced = depth <= 0 && list.odd_line == 0;
    atoll_token_list_fini(&list);
    return balanced;
}

struct reading {
    const char *language, *parent;
    uint32_t limit, count;
    char *sources[ATOLL_REPLY_SOURCE_LIMIT]; /* owned */
    struct atoll_arena *work;                /* of one part */
    char why[160];
};

/* One part while it is read. */
struct part {
    struct reading *reading;
    struct atoll_reply_span plan; /* JSON that stands alone, length 0: none so far */
    size_t planless_count, source_count;
    struct atoll_reply_span planless[PLANLESS_LIMIT];
};

static void complain(struct reading *a, const char *why)
{
    if (!a->why[0])
        snprintf(a->why, sizeof(a->why), "%s", why);
}

/* Keeps a copy, unless it is known or of no use; of more than are wanted the first goes. */
static int add(struct reading *a, const char *text, struct atoll_err *err)
{
    if (strlen(text) > ATOLL_SOURCE_LIMIT) {
        complain(a, "the kernel is longer than a source may be (262144 bytes)");
        return 0;
    }
    if (a->parent && strcmp(a->parent, text) == 0) {
        complain(a, "the kernel is the parent, unchanged");
        return 0;
    }
    for (uint32_t i = 0; i < a->count; i++)
        if (strcmp(a->sources[i], text) == 0)
            return 0;
    char *copy = strdup(text);
    if (!copy)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a kernel of a reply");
    if (a->count == a->limit) {
        free(a->sources[0]);
        memmove(a->sources, a->sources + 1, (a->count - 1) * sizeof(*a->sources));
        a->count--;
    }
    a->sources[a->count++] = copy;
    return 0;
}

/* ---- sources of a part ---- */

/* The JSON inside of a plan's comment. */
static struct atoll_reply_span json_of(struct atoll_reply_span comment)
{
    size_t open = atoll_reply_find(comment, "{"), end = comment.length;
    while (end > open && comment.text[end - 1] != '}')
        end--;
    return (struct atoll_reply_span){comment.text + open, end - open};
}

static int use(struct part *p, struct atoll_reply_span source, struct atoll_reply_span plan,
               struct atoll_err *err)
{
    if (plan.length > PLAN_LIMIT)
        plan.length = 0;
    const char *text = join_plan(p->reading->language, p->reading->work, plan, source, err);
    return text ? add(p->reading, text, err) : -1;
}

static int is_one_of(struct atoll_reply_span info, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (info.length >= strlen(words[i]) && strncasecmp(info.text, words[i], strlen(words[i])) == 0)
            return 1;
    return 0;
}

/* A Triton source has a function for the device. */
static int looks_like_python(const struct atoll_reply_block *b)
{
    return plan_comment(b->text).length || (atoll_reply_find(b->text, "def ") < b->text.length &&
                                            (atoll_reply_find(b->text, "triton") < b->text.length ||
                                             atoll_reply_find(b->text, "tl.") < b->text.length));
}

static int looks_like_source(const char *language, const struct atoll_reply_block *b)
{
    if (is_python(language))
        return looks_like_python(b);
    static const char *const others[] = {"json", "text", "txt", "diff",     "bash", "sh",  "console",
                                         "py",   "yaml", "yml", "markdown", "md",   "make"};
    if (plan_comment(b->text).length)
        return 1;
    return !is_one_of(b->info, others, sizeof(others) / sizeof(*others)) &&
           atoll_reply_find(b->text, "{") < b->text.length &&
           atoll_reply_find(b->text, "(") < b->text.length && atoll_reply_find(b->text, ";") < b->text.length;
}

static int read_source(struct part *p, const struct atoll_reply_block *b, struct atoll_err *err)
{
    struct atoll_reply_span none = {NULL, 0}, source = atoll_reply_trim(b->text);
    p->source_count++;
    if (source.length > ATOLL_SOURCE_LIMIT) {
        complain(p->reading, "the kernel is longer than a source may be (262144 bytes)");
        return 0;
    }
    int whole = b->is_open ? is_balanced(p->reading->language, source, p->reading->work, err) : 1;
    if (whole == 0)
        complain(p->reading, "the answer ends in the middle of a kernel; was it cut off?");
    if (whole <= 0)
        return whole;
    if (plan_comment(source).length)
        return use(p, source, none, err);
    if (p->plan.length) {
        int rc = use(p, source, p->plan, err);
        p->plan.length = 0;
        return rc;
    }
    if (p->planless_count == PLANLESS_LIMIT)
        memmove(p->planless, p->planless + 1, --p->planless_count * sizeof(*p->planless));
    p->planless[p->planless_count++] = source;
    return 0;
}

/* A plan that stands alone belongs to the source before it that has none, else to the one behind it. */
static int read_plan(struct part *p, struct atoll_reply_span json, struct atoll_err *err)
{
    if (json.length == 0 || json.length > PLAN_LIMIT)
        return 0;
    if (p->planless_count)
        return use(p, p->planless[--p->planless_count], json, err);
    p->plan = json;
    return 0;
}

/* Sources without a plan of their own: the parent's, where it still fits. */
static int read_planless(struct part *p, struct atoll_err *err)
{
    const char *parent = p->reading->parent;
    struct atoll_reply_span whole = {parent ? parent : "", parent ? strlen(parent) : 0};
    struct atoll_reply_span plan = json_of(plan_comment(whole));
    for (size_t i = 0; i < p->planless_count; i++) {
        int fits = !parent || !plan.length ? 0
                   : is_python(p->reading->language)
                       ? python_plan_fits(parent, p->planless[i])
                       : plan_fits(parent, p->planless[i], p->reading->work, err);
        if (fits < 0)
            return -1;
        if (!fits) {
            complain(p->reading, parent ? "a kernel has no plan, and the parent's does not fit it"
                                        : "a kernel has no plan; put its comment in front");
            continue;
        }
        if (use(p, p->planless[i], plan, err))
            return -1;
    }
    return 0;
}

/* Code without fences: from a plan's comment, or from the first line that can only be code, to the last brace or
 * directive that begins a line. */
static struct atoll_reply_span code_in_prose(const char *language, struct atoll_reply_span prose)
{
    static const char *const c_begins[] = {"#include", "extern \"C\"", "static ",
                                           "void ",    "__kernel",     "typedef "};
    static const char *const python_begins[] = {"import triton", "from triton", "@triton.jit"};
    const char *const *begins = is_python(language) ? python_begins : c_begins;
    size_t begin_count = is_python(language) ? sizeof(python_begins) / sizeof(*python_begins)
                                             : sizeof(c_begins) / sizeof(*c_begins);
    struct atoll_reply_span comment = plan_comment(prose), line;
    size_t at = 0, begin = comment.length ? (size_t)(comment.text - prose.text) : prose.length, end = 0;
    while (atoll_reply_line(prose, &at, &line)) {
        size_t place = (size_t)(line.text - prose.text);
        if (!comment.length && begin == prose.length && is_one_of(line, begins, begin_count))
            begin = place;
        if (is_python(language) && line.length && strchr(" \t", line.text[0]) && begin < prose.length)
            end = place + line.length; /* what is indented is still code */
        if (line.length && (line.text[0] == '}' || (line.length >= 6 && memcmp(line.text, "#endif", 6) == 0)))
            end = place + line.length;
    }
    end = begin < prose.length && end <= begin ? prose.length : end;
    return (struct atoll_reply_span){prose.text + begin, begin < end ? end - begin : 0};
}

/* A fenced block that is a plan and nothing else, with or without the marks of its comment; length 0: it is not. */
static struct atoll_reply_span plan_alone(struct atoll_reply_span block)
{
    struct atoll_reply_span comment = plan_comment(block);
    block = atoll_reply_trim(block);
    if (comment.length == block.length)
        return json_of(comment);
    if (block.length > 10 && memcmp(block.text, "atoll-plan", 10) == 0)
        block.text += 10, block.length -= 10;
    block = atoll_reply_trim(block);
    int is_json = block.length > 2 && block.text[0] == '{' && block.text[block.length - 1] == '}' &&
                  atoll_reply_find(block, "\"launch\"") < block.length;
    return (struct atoll_reply_span){block.text, is_json ? block.length : 0};
}

static int read_blocks(struct part *p, const struct atoll_reply_block *blocks, size_t count,
                       struct atoll_err *err)
{
    for (size_t i = 0; i < count; i++) {
        const struct atoll_reply_block *b = &blocks[i];
        int rc = 0;
        if (atoll_reply_has_edits(b->text))
            continue;
        if (b->kind == ATOLL_REPLY_PROSE)
            rc = read_plan(p, json_of(plan_comment(b->text)), err);
        else if (plan_alone(b->text).length)
            rc = read_plan(p, plan_alone(b->text), err);
        else if (looks_like_source(p->reading->language, b))
            rc = read_source(p, b, err);
        if (rc)
            return -1;
    }
    if (p->source_count)
        return 0;
    for (size_t i = 0; i < count; i++) { /* without a fence that holds a source: code in the prose */
        struct atoll_reply_block code = {.text = code_in_prose(p->reading->language, blocks[i].text),
                                         .is_open = 1};
        if (blocks[i].kind == ATOLL_REPLY_PROSE && code.text.length &&
            looks_like_source(p->reading->language, &code) && read_source(p, &code, err)) {
            return -1;
        }
    }
    return 0;
}

/* 1 when the edits made a kernel, 0 when not, -1 error. */
static int read_edits(struct part *p, struct atoll_reply_span text, const struct atoll_reply_block *blocks,
                      size_t count, struct atoll_err *err)
{
    struct reading *a = p->reading;
    char why[160];
    struct atoll_reply_span json = {NULL, 0};
    if (!a->parent) {
        complain(a, "it holds edits, but there is no kernel to edit; write the whole kernel");
        return 0;
    }
    const char *edited = atoll_reply_apply(a->work, text, a->parent, why, sizeof(why), err);
    if (!edited) {
        complain(a, why);
        return why[0] ? 0 : -1;
    }
    for (size_t i = 0; i < count; i++)
        if (blocks[i].kind == ATOLL_REPLY_FENCED && plan_alone(blocks[i].text).length)
            json = plan_alone(blocks[i].text);
    struct atoll_reply_span source = {edited, strlen(edited)};
    if (source.length > ATOLL_SOURCE_LIMIT) {
        complain(a, "the kernel is longer than a source may be (262144 bytes)");
        return 0;
    }
    return (json.length ? use(p, source, json, err) : add(a, edited, err)) ? -1 : 1;
}

static int read_part(struct reading *a, struct atoll_reply_span text, struct atoll_err *err)
{
    struct part p = {.reading = a};
    atoll_arena_reset(a->work);
    struct atoll_reply_block *blocks =
        atoll_arena_alloc_array(a->work, ATOLL_REPLY_BLOCK_LIMIT, sizeof(*blocks), err);
    if (!blocks)
        return -1;
    size_t count = atoll_reply_blocks(text, blocks);
    int edited = atoll_reply_has_edits(text) ? read_edits(&p, text, blocks, count, err) : 0;
    if (edited)
        return edited < 0 ? -1 : 0;
    return read_blocks(&p, blocks, count, err) || read_planless(&p, err) ? -1 : 0;
}

/* "### Kernel 2": the next kernel begins. */
static int is_heading(struct atoll_reply_span line)
{
    size_t marks = 0;
    line = atoll_reply_trim(line);
    while (marks < line.length && strchr("#*", line.text[marks]))
        marks++;
    line.text += marks, line.length -= marks;
    line = marks ? atoll_reply_trim(line) : line;
    return marks && line.length >= 8 && strncasecmp(line.text, "kernel ", 7) == 0 && line.text[7] >= '0' &&
           line.text[7] <= '9';
}

static int read_parts(struct reading *a, struct atoll_reply_span text, struct atoll_err *err)
{
    struct atoll_reply_span line;
    size_t at = 0, begin = 0;
    while (atoll_reply_line(text, &at, &line)) {
        size_t here = (size_t)(line.text - text.text);
        if (here == begin || !is_heading(line))
            continue;
        if (read_part(a, (struct atoll_reply_span){text.text + begin, here - begin}, err))
            return -1;
        begin = here;
    }
    return read_part(a, (struct atoll_reply_span){text.text + begin, text.length - begin}, err);
}

/* ---- the reply ---- */

static const char *unusable(const struct reading *a, struct atoll_reply_span text, struct atoll_arena *arena,
                            struct atoll_err *err)
{
    size_t keep = text.length < BEGINNING_BYTES ? text.length : BEGINNING_BYTES, bytes;
    if (keep < text.length)
        keep = atoll_utf8_cut(text.text, keep);
    const char *why = a->why[0] ? a->why : text.length ? "no kernel is in it" : "the answer is empty";
    bytes = sizeof(ATOLL_REPLY_UNUSABLE) + strlen(why) + 8 + keep;
    char *source = atoll_arena_alloc(arena, bytes, err);
    if (source)
        snprintf(source, bytes, "%s%s */\n%.*s\n", ATOLL_REPLY_UNUSABLE, why, (int)keep, text.text);
    return source;
}

static int fill(const struct reading *a, struct atoll_reply_span text, struct atoll_arena *arena,
                struct atoll_reply *ret_reply, struct atoll_err *err)
{
    struct atoll_reply_source sources[ATOLL_REPLY_SOURCE_LIMIT];
    const char *language = atoll_arena_text(arena, a->language, strlen(a->language), err);
    uint32_t count = a->count ? a->count : 1;
    if (!language)
        return -1;
    for (uint32_t i = 0; i < count; i++) {
        sources[i].language = language;
        sources[i].text = a->count ? atoll_arena_text(arena, a->sources[i], strlen(a->sources[i]), err)
                                   : unusable(a, text, arena, err);
        if (!sources[i].text)
            return -1;
    }
    memcpy(ret_reply->sources, sources, count * sizeof(*sources));
    ret_reply->source_count = count;
    return 0;
}

int atoll_reply_read(const char *text, size_t length, const char *language, const char *parent,
                     uint32_t count, struct atoll_arena *arena, struct atoll_reply *ret_reply,
                     int *ret_usable, struct atoll_err *err)
{
    struct reading a = {.language = language, .parent = parent, .limit = count};
    struct atoll_reply_span clean;
    if (count == 0 || count > ATOLL_REPLY_SOURCE_LIMIT) {
        return atoll_err_set(err, ATOLL_E_INTERNAL, "%u kernels of a reply are wanted; 1 to %d are possible",
                             count, ATOLL_REPLY_SOURCE_LIMIT);
    }
    length = length < ATOLL_REPLY_LIMIT_BYTES ? length : ATOLL_REPLY_LIMIT_BYTES;
    struct atoll_arena *texts = atoll_arena_create(2 * ATOLL_REPLY_LIMIT_BYTES, err);
    a.work = texts ? atoll_arena_create(WORK_BYTES, err) : NULL;
    int rc = !a.work || atoll_reply_clean(texts, text, length, &clean, err) || read_parts(&a, clean, err) ||
             fill(&a, clean, arena, ret_reply, err);
    if (!rc)
        *ret_usable = a.count > 0;
    for (uint32_t i = 0; i < a.count; i++)
        free(a.sources[i]);
    atoll_arena_destroy(a.work);
    atoll_arena_destroy(texts);
    return rc ? -1 : 0;
}
