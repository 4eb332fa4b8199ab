#include "evolution/strategy/plan_repeat.h"

#include <stdlib.h>
#include <string.h>

uint64_t atoll_plan_words_of(const char *text)
{
    uint64_t words = 0;
    int is_gap = 0;
    for (const unsigned char *c = (const void *)(text ? text : ""); *c; c++) {
        unsigned byte = *c >= 'A' && *c <= 'Z' ? *c + 32u : *c;
        int is_word = (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || byte >= 0x80;
        if (is_word && is_gap && words)
            words = atoll_mix64(words ^ ' ');
        if (is_word)
            words = atoll_mix64(words ^ byte) | 1;
        is_gap = !is_word;
    }
    return words;
}

int atoll_plan_repeats_add(struct atoll_plan_repeats *r, uint32_t parent, const char *text,
                           struct atoll_err *err)
{
    uint64_t words = atoll_plan_words_of(text);
    for (uint32_t i = 0; i < r->count && words; i++)
        if (r->items[i].parent == parent && r->items[i].words == words)
            return 1;
    if (!words)
        return 0;
    if (atoll_array_reserve(&r->items, &r->capacity, r->count + 1, sizeof(*r->items), err))
        return -1;
    r->items[r->count++] = (struct atoll_plan_words){parent, words};
    return 0;
}

int atoll_plan_repeats_codec(struct atoll_plan_repeats *r, uint32_t individual_count, struct atoll_codec *c,
                             struct atoll_err *err)
{
    uint32_t count = r->count;
    atoll_codec_count(c, &count, 12);
    if (c->in && atoll_array_reserve(&r->items, &r->capacity, count, sizeof(*r->items), err))
        return -1;
    r->count = count;
    for (uint32_t i = 0; i < count; i++) {
        atoll_codec_u32(c, &r->items[i].parent);
        atoll_codec_u64(c, &r->items[i].words);
        if (c->in && r->items[i].parent >= individual_count)
            c->in->failed = 1;
    }
    return 0;
}

void atoll_plan_repeats_fini(struct atoll_plan_repeats *r)
{
    free(r->items);
    memset(r, 0, sizeof(*r));
}
