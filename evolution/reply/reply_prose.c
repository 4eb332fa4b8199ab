#include "evolution/reply/reply_prose.h"

#include <string.h>

#include "base/utf8.h"
#include "evolution/reply/reply.h"
#include "evolution/reply/reply_text.h"

#define WORK_BYTES (4 * ATOLL_REPLY_LIMIT_BYTES)

static int begins(struct atoll_reply_span line, const char *mark)
{
    return line.length >= strlen(mark) && memcmp(line.text, mark, strlen(mark)) == 0;
}

/* Appends the block's lines but for edits, which may stand outside of fences. */
static size_t put_prose(struct atoll_reply_span block, char *out, size_t used)
{
    struct atoll_reply_span line;
    int is_edit = 0;
    for (size_t at = 0; atoll_reply_line(block, &at, &line);) {
        line = atoll_reply_trim(line);
        is_edit |= begins(line, "<<<<<<<");
        int is_end = begins(line, ">>>>>>>"), is_blank = used == 0 || (used > 1 && out[used - 2] == '\n');
        if (!is_edit && !is_end && (line.length || !is_blank)) {
            memcpy(out + used, line.text, line.length);
            used += line.length;
            out[used++] = '\n';
        }
        is_edit &= !is_end;
    }
    return used;
}

static const char *read_prose(struct atoll_reply_span clean, size_t limit, struct atoll_arena *work,
                              struct atoll_arena *arena, struct atoll_err *err)
{
    struct atoll_reply_block *blocks =
        atoll_arena_alloc_array(work, ATOLL_REPLY_BLOCK_LIMIT, sizeof(*blocks), err);
    char *out = blocks ? atoll_arena_alloc(work, clean.length + ATOLL_REPLY_BLOCK_LIMIT + 1, err) : NULL;
    size_t count = out ? atoll_reply_blocks(clean, blocks) : 0, used = 0;
    if (!out)
        return NULL;
    for (size_t i = 0; i < count; i++)
        if (blocks[i].kind == ATOLL_REPLY_PROSE)
            used = put_prose(blocks[i].text, out, used);
    struct atoll_reply_span prose = atoll_reply_trim((struct atoll_reply_span){out, used});
    if (prose.length > limit)
        prose.length = atoll_utf8_cut(prose.text, limit);
    return atoll_arena_text(arena, prose.text, prose.length, err);
}

const char *atoll_reply_prose(const char *text, size_t length, size_t limit, struct atoll_arena *arena,
                              struct atoll_err *err)
{
    struct atoll_reply_span clean;
    struct atoll_arena *work = atoll_arena_create(WORK_BYTES, err);
    length = length < ATOLL_REPLY_LIMIT_BYTES ? length : ATOLL_REPLY_LIMIT_BYTES;
    const char *prose = work && atoll_reply_clean(work, text, length, &clean, err) == 0
                            ? read_prose(clean, limit, work, arena, err)
                            : NULL;
    atoll_arena_destroy(work);
    return prose;
}
