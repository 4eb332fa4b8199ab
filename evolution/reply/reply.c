/* reply.c - an answer is cut into parts at headings "### Kernel N" and each part read alone: its edits first, then its
 * fenced sources, and only where there is neither its prose.  What keeps a part from being used is remembered; the
 * first such complaint is told when nothing usable is left. */
#include "evolution/reply/reply.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/plan/plan.h"
#include "evolution/reply/reply_part.h"

#define PLAN_LIMIT      ((size_t)32 << 10)
#define BEGINNING_BYTES ((size_t)6 << 10) /* of an unusable answer */
#define PLANLESS_LIMIT  16                /* sources of one part that wait for a plan */
#define WORK_BYTES      ((size_t)64 << 20)

struct answer {
    const char *language, *parent;
    uint32_t limit, count;
    char *sources[ATOLL_REPLY_SOURCE_LIMIT]; /* owned */
    struct atoll_arena *work;                /* of one part */
    char why[160];
};

/* One part while it is read. */
struct part {
    struct answer *answer;
    struct atoll_answer_span plan; /* JSON that stands alone, length 0: none so far */
    size_t planless_count, source_count;
    struct atoll_answer_span planless[PLANLESS_LIMIT];
};

static void complain(struct answer *a, const char *why)
{
    if (!a->why[0])
        snprintf(a->why, sizeof a->why, "%s", why);
}

/* Keeps a copy, unless it is known or of no use; of more than are wanted the first goes. */
static int add(struct answer *a, const char *text, struct atoll_err *err)
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
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a kernel of an answer");
    if (a->count == a->limit) {
        free(a->sources[0]);
        memmove(a->sources, a->sources + 1, (a->count - 1) * sizeof *a->sources);
        a->count--;
    }
    a->sources[a->count++] = copy;
    return 0;
}

/* ---- sources of a part ---- */

/* The JSON inside of a plan's comment. */
static struct atoll_answer_span json_of(struct atoll_answer_span comment)
{
    size_t open = atoll_answer_find(comment, "{"), end = comment.length;
    while (end > open && comment.text[end - 1] != '}')
        end--;
    return (struct atoll_answer_span){comment.text + open, end - open};
}

static int use(struct part *p, struct atoll_answer_span source, struct atoll_answer_span plan,
               struct atoll_err *err)
{
    if (plan.length > PLAN_LIMIT)
        plan.length = 0;
    const char *text = atoll_answer_join(p->answer->work, plan, source, err);
    return text ? add(p->answer, text, err) : -1;
}

static int is_one_of(struct atoll_answer_span info, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (info.length >= strlen(words[i]) && strncasecmp(info.text, words[i], strlen(words[i])) == 0)
            return 1;
    return 0;
}

static int looks_like_source(const struct atoll_answer_block *b)
{
    static const char *const others[] = {"json", "text", "txt", "diff",     "bash", "sh",  "console",
                                         "py",   "yaml", "yml", "markdown", "md",   "make"};
    if (atoll_answer_plan_comment(b->text).length)
        return 1;
    return !is_one_of(b->info, others, sizeof others / sizeof *others) &&
           atoll_answer_find(b->text, "{") < b->text.length &&
           atoll_answer_find(b->text, "(") < b->text.length &&
           atoll_answer_find(b->text, ";") < b->text.length;
}

static int read_source(struct part *p, const struct atoll_answer_block *b, struct atoll_err *err)
{
    struct atoll_answer_span none = {NULL, 0}, source = atoll_answer_trim(b->text);
    p->source_count++;
    if (source.length > ATOLL_SOURCE_LIMIT) {
        complain(p->answer, "the kernel is longer than a source may be (262144 bytes)");
        return 0;
    }
    int whole = b->is_open ? atoll_answer_is_balanced(source, p->answer->work, err) : 1;
    if (whole == 0)
        complain(p->answer, "the answer ends in the middle of a kernel; was it cut off?");
    if (whole <= 0)
        return whole;
    if (atoll_answer_plan_comment(source).length)
        return use(p, source, none, err);
    if (p->plan.length) {
        int rc = use(p, source, p->plan, err);
        p->plan.length = 0;
        return rc;
    }
    if (p->planless_count == PLANLESS_LIMIT)
        memmove(p->planless, p->planless + 1, --p->planless_count * sizeof *p->planless);
    p->planless[p->planless_count++] = source;
    return 0;
}

/* A plan that stands alone belongs to the source before it that has none, else to the one behind it. */
static int read_plan(struct part *p, struct atoll_answer_span json, struct atoll_err *err)
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
    const char *parent = p->answer->parent;
    struct atoll_answer_span whole = {parent ? parent : "", parent ? strlen(parent) : 0};
    struct atoll_answer_span plan = json_of(atoll_answer_plan_comment(whole));
    for (size_t i = 0; i < p->planless_count; i++) {
        int fits = plan.length ? atoll_answer_plan_fits(parent, p->planless[i], p->answer->work, err) : 0;
        if (fits < 0)
            return -1;
        if (!fits) {
            complain(p->answer, parent ? "a kernel has no plan, and the parent's does not fit it"
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
static struct atoll_answer_span code_in_prose(struct atoll_answer_span prose)
{
    static const char *const begins[] = {"#include", "extern \"C\"", "static ",
                                         "void ",    "__kernel",     "typedef "};
    struct atoll_answer_span comment = atoll_answer_plan_comment(prose), line;
    size_t at = 0, begin = comment.length ? (size_t)(comment.text - prose.text) : prose.length, end = 0;
    while (atoll_answer_line(prose, &at, &line)) {
        size_t place = (size_t)(line.text - prose.text);
        if (!comment.length && begin == prose.length &&
            is_one_of(line, begins, sizeof begins / sizeof *begins))
            begin = place;
        if (line.length && (line.text[0] == '}' || (line.length >= 6 && memcmp(line.text, "#endif", 6) == 0)))
            end = place + line.length;
    }
    end = begin < prose.length && end <= begin ? prose.length : end;
    return (struct atoll_answer_span){prose.text + begin, begin < end ? end - begin : 0};
}

static int read_prose(struct part *p, const struct atoll_answer_block *blocks, size_t count,
                      struct atoll_err *err)
{
    for (size_t i = 0; i < count; i++) {
        struct atoll_answer_block code = {.text = code_in_prose(blocks[i].text), .is_open = 1};
        if (blocks[i].kind == ATOLL_ANSWER_PROSE && code.text.length && looks_like_source(&code) &&
            read_source(p, &code, err))
            return -1;
    }
    return 0;
}

/* A fenced block that is a plan and nothing else, with or without the marks of its comment; length 0: it is not. */
static struct atoll_answer_span plan_alone(struct atoll_answer_span block)
{
    struct atoll_answer_span comment = atoll_answer_plan_comment(block);
    block = atoll_answer_trim(block);
    if (comment.length == block.length)
        return json_of(comment);
    if (block.length > 10 && memcmp(block.text, "atoll-plan", 10) == 0)
        block.text += 10, block.length -= 10;
    return atoll_answer_is_plan(block) ? atoll_answer_trim(block) : (struct atoll_answer_span){block.text, 0};
}

static int read_blocks(struct part *p, const struct atoll_answer_block *blocks, size_t count,
                       struct atoll_err *err)
{
    for (size_t i = 0; i < count; i++) {
        const struct atoll_answer_block *b = &blocks[i];
        int rc = 0;
        if (atoll_answer_has_edits(b->text))
            continue;
        if (b->kind == ATOLL_ANSWER_PROSE)
            rc = read_plan(p, json_of(atoll_answer_plan_comment(b->text)), err);
        else if (plan_alone(b->text).length)
            rc = read_plan(p, plan_alone(b->text), err);
        else if (looks_like_source(b))
            rc = read_source(p, b, err);
        if (rc)
            return -1;
    }
    return p->source_count ? 0 : read_prose(p, blocks, count, err);
}

/* 1 when the edits made a kernel, 0 when not, -1 error. */
static int read_edits(struct part *p, struct atoll_answer_span text, const struct atoll_answer_block *blocks,
                      size_t count, struct atoll_err *err)
{
    struct answer *a = p->answer;
    char why[160];
    struct atoll_answer_span json = {NULL, 0};
    if (!a->parent) {
        complain(a, "it holds edits, but there is no kernel to edit; write the whole kernel");
        return 0;
    }
    const char *edited = atoll_answer_apply(a->work, text, a->parent, why, sizeof why, err);
    if (!edited) {
        complain(a, why);
        return why[0] ? 0 : -1;
    }
    for (size_t i = 0; i < count; i++)
        if (blocks[i].kind == ATOLL_ANSWER_FENCED && plan_alone(blocks[i].text).length)
            json = plan_alone(blocks[i].text);
    struct atoll_answer_span source = {edited, strlen(edited)};
    if (source.length > ATOLL_SOURCE_LIMIT) {
        complain(a, "the kernel is longer than a source may be (262144 bytes)");
        return 0;
    }
    return (json.length ? use(p, source, json, err) : add(a, edited, err)) ? -1 : 1;
}

static int read_part(struct answer *a, struct atoll_answer_span text, struct atoll_err *err)
{
    struct part p = {.answer = a};
    atoll_arena_reset(a->work);
    struct atoll_answer_block *blocks =
        atoll_arena_alloc_array(a->work, ATOLL_ANSWER_BLOCK_LIMIT, sizeof *blocks, err);
    if (!blocks)
        return -1;
    size_t count = atoll_answer_blocks(text, blocks);
    int edited = atoll_answer_has_edits(text) ? read_edits(&p, text, blocks, count, err) : 0;
    if (edited)
        return edited < 0 ? -1 : 0;
    return read_blocks(&p, blocks, count, err) || read_planless(&p, err) ? -1 : 0;
}

/* "### Kernel 2": the next kernel begins. */
static int is_heading(struct atoll_answer_span line)
{
    size_t marks = 0;
    line = atoll_answer_trim(line);
    while (marks < line.length && strchr("#*", line.text[marks]))
        marks++;
    line.text += marks, line.length -= marks;
    line = marks ? atoll_answer_trim(line) : line;
    return marks && line.length >= 8 && strncasecmp(line.text, "kernel ", 7) == 0 && line.text[7] >= '0' &&
           line.text[7] <= '9';
}

static int read_parts(struct answer *a, struct atoll_answer_span text, struct atoll_err *err)
{
    struct atoll_answer_span line;
    size_t at = 0, begin = 0;
    while (atoll_answer_line(text, &at, &line)) {
        size_t here = (size_t)(line.text - text.text);
        if (here == begin || !is_heading(line))
            continue;
        if (read_part(a, (struct atoll_answer_span){text.text + begin, here - begin}, err))
            return -1;
        begin = here;
    }
    return read_part(a, (struct atoll_answer_span){text.text + begin, text.length - begin}, err);
}

/* ---- the reply ---- */

static const char *unusable(const struct answer *a, struct atoll_answer_span text, struct atoll_arena *arena,
                            struct atoll_err *err)
{
    size_t keep = text.length < BEGINNING_BYTES ? text.length : BEGINNING_BYTES, bytes;
    while (keep > 0 && keep < text.length && ((unsigned char)text.text[keep] & 0xc0) == 0x80)
        keep--;
    const char *why = a->why[0] ? a->why : text.length ? "no kernel is in it" : "the answer is empty";
    bytes = sizeof ATOLL_ANSWER_UNUSABLE + strlen(why) + 8 + keep;
    char *source = atoll_arena_alloc(arena, bytes, err);
    if (source)
        snprintf(source, bytes, "%s%s */\n%.*s\n", ATOLL_ANSWER_UNUSABLE, why, (int)keep, text.text);
    return source;
}

static int fill(const struct answer *a, struct atoll_answer_span text, struct atoll_arena *arena,
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
    memcpy(ret_reply->sources, sources, count * sizeof *sources);
    ret_reply->source_count = count;
    return 0;
}

int atoll_answer_read(const char *text, size_t length, const char *language, const char *parent,
                      uint32_t count, struct atoll_arena *arena, struct atoll_reply *ret_reply,
                      int *ret_usable, struct atoll_err *err)
{
    struct answer a = {.language = language, .parent = parent, .limit = count};
    struct atoll_answer_span clean;
    if (count == 0 || count > ATOLL_REPLY_SOURCE_LIMIT)
        return atoll_err_set(err, ATOLL_E_INTERNAL,
                             "%u kernels of an answer are wanted; 1 to %d are possible", count,
                             ATOLL_REPLY_SOURCE_LIMIT);
    length = length < ATOLL_ANSWER_LIMIT_BYTES ? length : ATOLL_ANSWER_LIMIT_BYTES;
    struct atoll_arena *texts = atoll_arena_create(2 * ATOLL_ANSWER_LIMIT_BYTES, err);
    a.work = texts ? atoll_arena_create(WORK_BYTES, err) : NULL;
    int rc = !a.work || atoll_answer_clean(texts, text, length, &clean, err) || read_parts(&a, clean, err) ||
             fill(&a, clean, arena, ret_reply, err);
    if (!rc)
        *ret_usable = a.count > 0;
    for (uint32_t i = 0; i < a.count; i++)
        free(a.sources[i]);
    atoll_arena_destroy(a.work);
    atoll_arena_destroy(texts);
    return rc ? -1 : 0;
}
