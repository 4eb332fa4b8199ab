#include "core/briefing.h"

#include <math.h>
#include <string.h>

#include "core/text_limit.h"

const char *atoll_brief_kind_name(enum atoll_brief_kind kind)
{
    static const char *const names[ATOLL_BRIEF_KIND_COUNT] = {[ATOLL_BRIEF_HINT] = "hint",
                                                              [ATOLL_BRIEF_MEMORY] = "memory",
                                                              [ATOLL_BRIEF_KNOWLEDGE] = "knowledge",
                                                              [ATOLL_BRIEF_PROMPT] = "prompt",
                                                              [ATOLL_BRIEF_SIBLING] = "sibling",
                                                              [ATOLL_BRIEF_SLOWER] = "slower",
                                                              [ATOLL_BRIEF_BEST] = "best",
                                                              [ATOLL_BRIEF_COMBINATION] = "combination",
                                                              [ATOLL_BRIEF_CONSTRAINT] = "constraint",
                                                              [ATOLL_BRIEF_DEMONSTRATION] = "demonstration",
                                                              [ATOLL_BRIEF_ISSUE_TYPE] = "issue_type",
                                                              [ATOLL_BRIEF_FAILURE] = "failure",
                                                              [ATOLL_BRIEF_PLAN] = "plan"};
    return (unsigned)kind < ATOLL_BRIEF_KIND_COUNT ? names[kind] : "unknown";
}

int atoll_brief_is_told(const struct atoll_brief *brief)
{
    return brief->text && brief->cut_bytes < strlen(brief->text);
}

static size_t text_limit(enum atoll_brief_kind kind)
{
    return kind == ATOLL_BRIEF_DEMONSTRATION ? ATOLL_BRIEF_SOURCE_LIMIT : ATOLL_BRIEF_TEXT_LIMIT;
}

void atoll_briefing_encode(const struct atoll_briefing *briefing, struct atoll_buffer *out)
{
    atoll_buffer_put_u64(out, briefing->ask);
    atoll_buffer_put_u32(out, briefing->count);
    for (uint32_t i = 0; i < briefing->count; i++) {
        const struct atoll_brief *b = &briefing->briefs[i];
        atoll_buffer_put_u8(out, (uint8_t)b->kind);
        atoll_buffer_put_bytes(out, b->id.bytes, sizeof(b->id.bytes));
        atoll_text_put(out, b->title, ATOLL_BRIEF_TITLE_LIMIT);
        atoll_text_put(out, b->text, text_limit(b->kind));
        atoll_buffer_put_f64(out, b->score);
    }
    for (uint32_t i = 0; i < briefing->count; i++)
        atoll_buffer_put_u32(out, briefing->briefs[i].cut_bytes);
}

void atoll_briefing_decode(struct atoll_reader *reader, struct atoll_arena *arena,
                           struct atoll_briefing *ret_briefing)
{
    struct atoll_briefing briefing = {.ask = atoll_reader_u64(reader)};
    uint32_t count = atoll_reader_u32_in(reader, 0, ATOLL_BRIEF_LIMIT);
    for (uint32_t i = 0; i < count && !reader->failed; i++) {
        struct atoll_brief *b = &briefing.briefs[i];
        unsigned kind = atoll_reader_u8(reader);
        if (kind >= ATOLL_BRIEF_KIND_COUNT)
            reader->failed = ATOLL_E_PROTOCOL;
        b->kind = reader->failed ? ATOLL_BRIEF_HINT : (enum atoll_brief_kind)kind;
        atoll_reader_bytes(reader, b->id.bytes, sizeof(b->id.bytes));
        b->title = atoll_text_take(reader, arena, ATOLL_BRIEF_TITLE_LIMIT);
        b->text = atoll_text_take(reader, arena, text_limit(b->kind));
        b->score = atoll_reader_f64(reader);
        if (!isfinite(b->score))
            reader->failed = ATOLL_E_PROTOCOL;
    }
    int has_cuts = reader->offset < reader->length;
    for (uint32_t i = 0; i < count && has_cuts; i++)
        briefing.briefs[i].cut_bytes = atoll_reader_u32(reader);
    briefing.count = reader->failed ? 0 : count;
    *ret_briefing = briefing;
}
