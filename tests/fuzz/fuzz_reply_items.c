/* fuzz_reply_items.c - any bytes as the answer to an ask that wants no kernel: the first byte says which.  What is read is
 * bounded and clean, of the kind that was asked, survives the journal, and the same answer reads alike twice. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/experience/hint.h"
#include "core/issue.h"
#include "evolution/reply/reply_items.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text, size_t limit)
{
    if (!text || strlen(text) > limit)
        abort();
    for (const char *p = text; *p; p++)
        if ((unsigned char)*p < ' ' && *p != '\n' && *p != '\t')
            abort();
}

static void check_item(enum atoll_ask_kind kind, const struct atoll_reply_item *item)
{
    static const enum atoll_ask_kind asked[ATOLL_ITEM_KIND_COUNT] = {
        ATOLL_ASK_PLAN,   ATOLL_ASK_ANALYSE, ATOLL_ASK_ANALYSE, ATOLL_ASK_SUMMARISE,
        ATOLL_ASK_DISTIL, ATOLL_ASK_META,    ATOLL_ASK_JUDGE};
    if ((unsigned)item->kind >= ATOLL_ITEM_KIND_COUNT || asked[item->kind] != kind)
        abort();
    if (item->issue > ATOLL_ISSUE_COUNT || item->stage >= ATOLL_ISSUE_STAGE_COUNT ||
        item->severity > ATOLL_ITEM_SEVERITY_LIMIT)
        abort();
    if (!(item->gain_low >= 0) || !(item->gain_high >= item->gain_low) || !isfinite(item->gain_high))
        abort();
    struct atoll_trigger trigger;
    if (item->kind == ATOLL_ITEM_HINT && atoll_trigger_parse(item->title, &trigger, NULL) != 0)
        abort();
    check_text(item->title, ATOLL_REPLY_TITLE_BYTES);
    check_text(item->text, ATOLL_REPLY_ITEM_TEXT_BYTES);
    check_text(item->why, ATOLL_REPLY_ITEM_TEXT_BYTES);
    check_text(item->before, ATOLL_REPLY_ITEM_TEXT_BYTES);
    check_text(item->after, ATOLL_REPLY_ITEM_TEXT_BYTES);
}

static void encode(const struct atoll_reply *reply, struct atoll_buffer *out)
{
    atoll_buffer_init(out, (size_t)16 << 20);
    atoll_reply_encode(reply, out);
    if (out->failed)
        abort();
}

static void check_journal(const struct atoll_reply *reply, struct atoll_arena *arena)
{
    static struct atoll_reply back;
    struct atoll_buffer bytes, again;
    struct atoll_reader reader;
    encode(reply, &bytes);
    atoll_reader_init(&reader, bytes.data, bytes.length);
    atoll_reply_decode(&reader, arena, &back);
    if (reader.failed || reader.offset != bytes.length)
        abort();
    encode(&back, &again);
    if (bytes.length != again.length || memcmp(bytes.data, again.data, bytes.length) != 0)
        abort();
    atoll_buffer_fini(&bytes);
    atoll_buffer_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct atoll_reply first, second;
    if (size == 0)
        return 0;
    enum atoll_ask_kind kind = (enum atoll_ask_kind)(1 + data[0] % (ATOLL_ASK_KIND_COUNT - 1));
    const char *text = (const char *)data + 1;
    int usable = 0, usable_again = 1;
    struct atoll_arena *arena = atoll_arena_create((size_t)64 << 20, NULL);
    first = second = (struct atoll_reply){.ask = 1, .origin = "m"};
    if (arena && atoll_reply_read_items(kind, text, size - 1, arena, &first, &usable, NULL) == 0 &&
        atoll_reply_read_items(kind, text, size - 1, arena, &second, &usable_again, NULL) == 0) {
        if (first.item_count > ATOLL_REPLY_ITEM_LIMIT || first.order_count > ATOLL_STAGE_LIMIT ||
            usable != usable_again)
            abort();
        if ((first.item_count || first.order_count) && !usable)
            abort();
        for (uint32_t i = 0; i < first.item_count; i++)
            check_item(kind, &first.items[i]);
        check_journal(&first, arena);
        struct atoll_buffer a, b;
        encode(&first, &a);
        encode(&second, &b);
        if (a.length != b.length || memcmp(a.data, b.data, a.length) != 0)
            abort();
        atoll_buffer_fini(&a);
        atoll_buffer_fini(&b);
    }
    atoll_arena_destroy(arena);
    return 0;
}
