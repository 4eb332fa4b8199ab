#include "evolution/experience/rewrites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

struct rewrite {
    struct atoll_id id;
    char *title, *text; /* owned */
};

struct queue {
    uint32_t task, model, count;
    struct rewrite items[ATOLL_BRIEF_LIMIT]; /* the oldest first */
};

struct atoll_rewrites {
    uint32_t size, queue_count, queue_capacity;
    struct queue *queues;
};

struct atoll_rewrites *atoll_rewrites_create(uint32_t size, struct atoll_err *err)
{
    struct atoll_rewrites *r = calloc(1, sizeof(*r));
    if (!r) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for rewrites");
        return NULL;
    }
    r->size = size < 1 ? 1 : size < ATOLL_BRIEF_LIMIT ? size : ATOLL_BRIEF_LIMIT;
    return r;
}

static void rewrite_fini(struct rewrite *r)
{
    free(r->title);
    free(r->text);
}

void atoll_rewrites_destroy(struct atoll_rewrites *r)
{
    for (uint32_t q = 0; r && q < r->queue_count; q++)
        for (uint32_t i = 0; i < r->queues[q].count; i++)
            rewrite_fini(&r->queues[q].items[i]);
    if (r)
        free(r->queues);
    free(r);
}

static struct queue *find(const struct atoll_rewrites *r, uint32_t task, uint32_t model)
{
    for (uint32_t q = 0; q < r->queue_count; q++)
        if (r->queues[q].task == task && r->queues[q].model == model)
            return &r->queues[q];
    return NULL;
}

static struct queue *find_or_add(struct atoll_rewrites *r, uint32_t task, uint32_t model,
                                 struct atoll_err *err)
{
    struct queue *q = find(r, task, model);
    if (q)
        return q;
    if (atoll_array_reserve(&r->queues, &r->queue_capacity, r->queue_count + 1, sizeof(*r->queues), err) != 0)
        return NULL;
    q = &r->queues[r->queue_count++];
    q->task = task;
    q->model = model;
    return q;
}

/* As it is told: what was done and why, then both sides. */
static int rewrite_init(struct rewrite *r, const struct atoll_reply_item *item, struct atoll_err *err)
{
    const char *parts[] = {item->text, item->before, item->after};
    static const char *const heads[] = {"", "\nBefore:\n", "\nAfter:\n"};
    struct atoll_buffer text;
    atoll_buffer_init(&text, ATOLL_BRIEF_TEXT_LIMIT * 8);
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        if (parts[i] && *parts[i])
            atoll_buffer_printf(&text, "%s%.*s", heads[i], (int)ATOLL_BRIEF_TEXT_LIMIT, parts[i]);
    r->title = strndup(item->title ? item->title : "", ATOLL_BRIEF_TITLE_LIMIT);
    r->text = text.failed ? NULL : strndup(text.length ? (const char *)text.data : "", text.length);
    r->id = atoll_id_of(text.length ? text.data : (const void *)"", text.length);
    atoll_buffer_fini(&text);
    if (r->title && r->text)
        return 0;
    rewrite_fini(r);
    return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a rewrite");
}

int atoll_rewrites_add(struct atoll_rewrites *r, uint32_t task, uint32_t model,
                       const struct atoll_reply *reply, struct atoll_err *err)
{
    for (uint32_t i = 0; i < reply->item_count; i++) {
        struct rewrite new;
        if (reply->items[i].kind != ATOLL_ITEM_REWRITE)
            continue;
        struct queue *q = find_or_add(r, task, model, err);
        if (!q || rewrite_init(&new, &reply->items[i], err) != 0)
            return -1;
        if (q->count == r->size) {
            rewrite_fini(&q->items[0]);
            memmove(q->items, q->items + 1, --q->count * sizeof(*q->items));
        }
        q->items[q->count++] = new;
    }
    return 0;
}

size_t atoll_rewrites_list(const struct atoll_rewrites *r, uint32_t task, uint32_t model, size_t limit,
                           struct atoll_brief *ret_briefs)
{
    const struct queue *q = find(r, task, model);
    size_t count = q ? q->count : 0;
    count = count < limit ? count : limit;
    for (size_t i = 0; i < count; i++) {
        const struct rewrite *w = &q->items[q->count - 1 - i];
        ret_briefs[i] =
            (struct atoll_brief){.kind = ATOLL_BRIEF_MEMORY, .id = w->id, .title = w->title, .text = w->text};
    }
    return count;
}
