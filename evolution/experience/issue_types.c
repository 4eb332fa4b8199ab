#include "evolution/experience/issue_types.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "core/issue.h"

#define WORDS_BYTES 600u /* of the description that came with it first */

struct type {
    char title[ATOLL_BRIEF_TITLE_LIMIT + 1], words[WORDS_BYTES + 1], told[WORDS_BYTES + 160];
    uint8_t stage;
    uint32_t wins;
    double gain; /* the largest */
};

struct atoll_issue_types {
    uint32_t count;
    struct type items[ATOLL_ISSUE_TYPE_LIMIT]; /* the oldest first */
};

struct atoll_issue_types *atoll_issue_types_create(struct atoll_err *err)
{
    struct atoll_issue_types *types = calloc(1, sizeof(*types));
    if (!types)
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for types of issues");
    return types;
}

void atoll_issue_types_destroy(struct atoll_issue_types *types)
{
    free(types);
}

static void copy(char *out, size_t limit, const char *text)
{
    size_t length = text ? strlen(text) : 0;
    length = length <= limit ? length : atoll_utf8_cut((const void *)text, limit);
    memcpy(out, text ? text : "", length);
    out[length] = '\0';
}

/* NULL: there is no room for one more. */
static struct type *find_or_add(struct atoll_issue_types *types, const struct atoll_reply_item *item)
{
    char title[ATOLL_BRIEF_TITLE_LIMIT + 1];
    copy(title, ATOLL_BRIEF_TITLE_LIMIT, item->title);
    for (uint32_t i = 0; i < types->count; i++)
        if (types->items[i].stage == item->stage && strcmp(types->items[i].title, title) == 0)
            return &types->items[i];
    if (types->count == ATOLL_ISSUE_TYPE_LIMIT)
        return NULL;
    struct type *type = &types->items[types->count++];
    memcpy(type->title, title, sizeof(title));
    copy(type->words, WORDS_BYTES, item->text);
    type->stage = item->stage;
    return type;
}

void atoll_issue_types_won(struct atoll_issue_types *types, const struct atoll_reply_item *items,
                           uint32_t count, uint8_t stage, double gain)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct atoll_reply_item *item = &items[i];
        if (item->kind != ATOLL_ITEM_ISSUE || item->issue != ATOLL_ISSUE_COUNT || item->stage != stage ||
            !item->title || !*item->title)
            continue;
        struct type *type = find_or_add(types, item);
        if (!type)
            continue;
        type->wins++;
        type->gain = gain > type->gain ? gain : type->gain;
        snprintf(type->told, sizeof(type->told),
                 "Stage %s; %u faster kernel%s so far, the best %.3g times as fast as before. %s",
                 atoll_stage_name((enum atoll_issue_stage)stage), type->wins, type->wins == 1 ? "" : "s",
                 type->gain, type->words);
    }
}

size_t atoll_issue_types_list(struct atoll_issue_types *types, size_t limit, struct atoll_brief *ret_briefs)
{
    const struct type *order[ATOLL_ISSUE_TYPE_LIMIT];
    for (uint32_t i = 0; i < types->count; i++) {
        uint32_t at = i;
        for (; at > 0 && types->items[i].wins > order[at - 1]->wins; at--)
            order[at] = order[at - 1];
        order[at] = &types->items[i];
    }
    size_t told = types->count < limit ? types->count : limit;
    for (size_t i = 0; i < told; i++)
        ret_briefs[i] = (struct atoll_brief){.kind = ATOLL_BRIEF_ISSUE_TYPE,
                                             .id = atoll_id_of(order[i]->title, strlen(order[i]->title)),
                                             .title = order[i]->title,
                                             .text = order[i]->told,
                                             .score = order[i]->wins};
    return told;
}
