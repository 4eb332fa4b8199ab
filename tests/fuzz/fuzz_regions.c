/* Edits of a prompt's regions, whatever a model wrote: what is outside does not change, the text stays well formed and bounded. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "core/knowledge/region.h"
#include "evolution/reply/reply_items.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char text[] =
    "# Rules\n\nkept 1\n\n<!-- region philosophy -->\nBytes first.\n<!-- end -->\nkept 2\n"
    "<!-- region strategies -->\n- one\n- two\n```c\n#define A 1\n```\n<!-- end -->\n"
    "kept 3\n<!-- region pitfalls -->\n- a\n- b\n<!-- end -->\nkept 4\n"
    "<!-- region analysis -->\nThink.\n<!-- end -->\nkept 5\n";

/* The text with every region empty. */
static char *outside(const char *of)
{
    size_t at = 0, length;
    char *rest = malloc(strlen(of) + 1);
    const char *from = of, *region;
    if (!rest)
        abort();
    for (unsigned i = 0; i < ATOLL_REGION_COUNT; i++) {
        if (atoll_region_find(of, (enum atoll_region)i, &region, &length) != 0 || region < from)
            abort();
        memcpy(rest + at, from, (size_t)(region - from));
        at += (size_t)(region - from);
        from = region + length;
    }
    strcpy(rest + at, from);
    return rest;
}

static void check(const struct atoll_reply_item *items, uint32_t count)
{
    struct atoll_buffer out;
    uint8_t fits[ATOLL_REPLY_ITEM_LIMIT] = {0};
    atoll_buffer_init(&out, (size_t)1 << 20);
    int applied = atoll_regions_apply(text, items, count, &out, fits, NULL);
    if (applied < 0 || applied > (int)ATOLL_REGION_EDIT_LIMIT ||
        atoll_regions_check((const char *)out.data, NULL) != 0)
        abort();
    if (!applied != !strcmp(text, (const char *)out.data))
        abort();
    char *was = outside(text), *is = outside((const char *)out.data);
    if (strcmp(was, is) != 0)
        abort();
    free(was);
    free(is);
    atoll_buffer_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct atoll_reply reply;
    static const char *const titles[] = {"philosophy", "strategies", "pitfalls", "analysis", "end"};
    struct atoll_arena *arena = atoll_arena_create((size_t)64 << 20, NULL);
    int usable;
    if (!arena || size == 0)
        goto out;
    reply = (struct atoll_reply){.ask = 1};
    if (atoll_reply_read_items(ATOLL_ASK_META, (const char *)data, size, arena, &reply, &usable, NULL) == 0)
        check(reply.items, reply.item_count);
    /* and without a reader in between: texts that end at each NUL */
    char *rest = atoll_arena_alloc(arena, size + 1, NULL);
    if (!rest)
        goto out;
    memcpy(rest, data, size);
    rest[size] = 0;
    uint32_t count = 0;
    for (size_t at = 0; at < size && count < 4; count++) {
        struct atoll_reply_item *item = &reply.items[count];
        *item = (struct atoll_reply_item){.kind = ATOLL_ITEM_EDIT, .title = titles[data[at] % 5]};
        item->before = rest + at;
        at += strlen(rest + at) + 1;
        item->after = at < size ? rest + at : "";
        at += strlen(item->after) + 1;
    }
    check(reply.items, count);
out:
    atoll_arena_destroy(arena);
    return 0;
}
