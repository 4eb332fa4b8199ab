/* reply_fence.c - blocks as people write them rather than as a standard has them: a fence with an info word inside of
 * an open block begins a new one (somebody forgot to close it); a fence around prose or around other fences is looked
 * through. */
#include <string.h>

#include "evolution/reply/reply_part.h"

struct fence {
    char sign; /* '`' or '~', 0: the line is none */
    size_t count;
    struct atoll_answer_span info;
};

static struct fence fence_of(struct atoll_answer_span line)
{
    struct fence f = {0};
    line = atoll_answer_trim(line);
    if (!line.length || (line.text[0] != '`' && line.text[0] != '~'))
        return f;
    while (f.count < line.length && line.text[f.count] == line.text[0])
        f.count++;
    if (f.count < 3)
        return f;
    f.info = atoll_answer_trim((struct atoll_answer_span){line.text + f.count, line.length - f.count});
    if (memchr(f.info.text, '`', f.info.length))
        return f; /* code inside of a line */
    f.sign = line.text[0];
    return f;
}

struct reader {
    struct atoll_answer_span text;
    struct atoll_answer_block *blocks;
    size_t count;
    struct fence open;    /* sign 0: prose */
    struct fence wrapper; /* of prose or of nothing, with fences inside; sign 0: none */
};

static int is_wrapper(const struct fence *f)
{
    static const char *const words[] = {"markdown", "md", "text", "txt"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (f->info.length == strlen(words[i]) && memcmp(f->info.text, words[i], f->info.length) == 0)
            return 1;
    return 0;
}

static int closes(const struct fence *f, const struct fence *open)
{
    return open->sign == f->sign && f->info.length == 0 && f->count >= open->count;
}

/* Ends the current block at byte `end` of the text; the next one begins at `begin`. */
static void cut(struct reader *r, size_t end, size_t begin, int is_open)
{
    struct atoll_answer_block *b = &r->blocks[r->count];
    size_t first = (size_t)(b->text.text - r->text.text);
    b->text.length = end > first ? end - first : 0;
    b->kind = r->open.sign ? ATOLL_ANSWER_FENCED : ATOLL_ANSWER_PROSE;
    b->info = r->open.info;
    b->is_open = is_open;
    if (b->text.length)
        r->count++;
    if (r->count < ATOLL_ANSWER_BLOCK_LIMIT)
        r->blocks[r->count].text.text = r->text.text + (begin < r->text.length ? begin : r->text.length);
}

size_t atoll_answer_blocks(struct atoll_answer_span text, struct atoll_answer_block *ret_blocks)
{
    struct reader r = {.text = text, .blocks = ret_blocks};
    struct atoll_answer_span line;
    size_t at = 0;
    r.blocks[0].text.text = text.text;
    while (r.count < ATOLL_ANSWER_BLOCK_LIMIT && atoll_answer_line(text, &at, &line)) {
        struct fence f = fence_of(line);
        size_t begin = (size_t)(line.text - text.text);
        if (!f.sign)
            continue;
        if (!r.open.sign && closes(&f, &r.wrapper)) {
            cut(&r, begin, at, 0);
            r.wrapper.sign = 0;
        } else if (!r.open.sign) {
            cut(&r, begin, at, 0);
            *(is_wrapper(&f) ? &r.wrapper : &r.open) = f;
        } else if (closes(&f, &r.open)) {
            cut(&r, begin, at, 0);
            r.open.sign = 0;
            r.open.info.length = 0;
        } else if (f.info.length && f.sign == r.open.sign &&
                   (f.count == r.open.count || !r.open.info.length)) {
            cut(&r, begin, at, 1);
            if (f.count < r.open.count)
                r.wrapper = r.open;
            r.open = f;
        }
    }
    if (r.count < ATOLL_ANSWER_BLOCK_LIMIT)
        cut(&r, text.length, text.length, r.open.sign != 0);
    return r.count;
}
