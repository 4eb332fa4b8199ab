/* ask_history.c - records in the order of their decisions.  A briefing and turns live until their ask is answered, in an arena of
 * their own; what later asks are told lives on. */
#include "mpi-eval/operator/ask_history.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash_index.h"
#include "base/utf8.h"
#include "evolution/reply/reply_prose.h"

#define KEPT_BYTES ((size_t)1 << 30)
#define OPEN_BYTES ((size_t)64 << 20) /* of one ask: twenty results and what they were called with */

struct entry {
    struct atoll_ask_record record;
    struct atoll_arena *open; /* briefing and turns; NULL: none yet, or answered */
    struct atoll_ask_turn *last;
};

struct atoll_ask_history {
    struct entry **entries;
    uint32_t count, capacity;
    struct atoll_index index; /* by number */
    struct atoll_arena *kept;
};

struct atoll_ask_history *atoll_ask_history_create(struct atoll_err *err)
{
    struct atoll_ask_history *h = calloc(1, sizeof(*h));
    if (!h) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for what was asked");
        return NULL;
    }
    h->kept = atoll_arena_create(KEPT_BYTES, err);
    if (h->kept)
        return h;
    free(h);
    return NULL;
}

void atoll_ask_history_destroy(struct atoll_ask_history *h)
{
    if (!h)
        return;
    for (uint32_t i = 0; i < h->count; i++) {
        atoll_arena_destroy(h->entries[i]->open);
        free(h->entries[i]);
    }
    free(h->entries);
    atoll_index_fini(&h->index);
    atoll_arena_destroy(h->kept);
    free(h);
}

struct wanted {
    const struct atoll_ask_history *history;
    uint64_t number;
};

static int is_wanted(const void *context, uint32_t row)
{
    const struct wanted *w = context;
    return w->history->entries[row]->record.ask.number == w->number;
}

static struct entry *find(const struct atoll_ask_history *h, uint64_t number)
{
    struct wanted wanted = {h, number};
    uint32_t row = atoll_index_find(&h->index, number, is_wanted, &wanted);
    return row == ATOLL_NONE ? NULL : h->entries[row];
}

int atoll_ask_history_add(struct atoll_ask_history *h, const struct atoll_ask *ask, struct atoll_err *err)
{
    if (find(h, ask->number))
        return 0;
    struct entry *entry = calloc(1, sizeof(*entry));
    if (!entry)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for what was asked");
    entry->record.ask = *ask;
    entry->record.thought = "";
    if (atoll_array_reserve(&h->entries, &h->capacity, h->count + 1, sizeof(struct entry *), err) != 0 ||
        atoll_index_add(&h->index, ask->number, h->count, err) != 0) {
        free(entry);
        return -1;
    }
    h->entries[h->count++] = entry;
    return 0;
}

/* ---- what is journaled of an ask ---- */

/* Copies by encoding and decoding: what is kept is what the journal holds. */
static int open_arena(struct entry *entry, struct atoll_err *err)
{
    if (!entry->open)
        entry->open = atoll_arena_create(OPEN_BYTES, err);
    return entry->open ? 0 : -1;
}

static int keep_briefing(struct entry *entry, const struct atoll_briefing *briefing, struct atoll_err *err)
{
    if (entry->record.briefing)
        return 0;
    struct atoll_briefing *kept =
        open_arena(entry, err) == 0 ? atoll_arena_alloc(entry->open, sizeof(*kept), err) : NULL;
    struct atoll_buffer bytes;
    if (!kept)
        return -1;
    atoll_buffer_init(&bytes, OPEN_BYTES);
    atoll_briefing_encode(briefing, &bytes);
    int rc = atoll_buffer_check(&bytes, err);
    struct atoll_reader reader = {0};
    if (rc == 0) {
        atoll_reader_init(&reader, bytes.data, bytes.length);
        atoll_briefing_decode(&reader, entry->open, kept);
        if (reader.failed)
            rc = atoll_err_set(err, ATOLL_E_INTERNAL, "a briefing does not read back");
    }
    atoll_buffer_fini(&bytes);
    if (rc == 0)
        entry->record.briefing = kept;
    return rc;
}

static int keep_turn(struct entry *entry, const struct atoll_tool_turn *turn, struct atoll_err *err)
{
    if (turn->turn != entry->record.turn_count)
        return 0;
    struct atoll_ask_turn *kept =
        open_arena(entry, err) == 0 ? atoll_arena_alloc(entry->open, sizeof(*kept), err) : NULL;
    struct atoll_buffer bytes;
    if (!kept)
        return -1;
    atoll_buffer_init(&bytes, OPEN_BYTES);
    atoll_tool_turn_encode(turn, &bytes);
    int rc = atoll_buffer_check(&bytes, err);
    struct atoll_reader reader = {0};
    if (rc == 0) {
        atoll_reader_init(&reader, bytes.data, bytes.length);
        atoll_tool_turn_decode(&reader, entry->open, &kept->turn);
        if (reader.failed)
            rc = atoll_err_set(err, ATOLL_E_INTERNAL, "a turn with tools does not read back");
    }
    atoll_buffer_fini(&bytes);
    if (rc != 0)
        return -1;
    if (entry->last)
        entry->last->next = kept;
    else
        entry->record.turns = kept;
    entry->last = kept;
    entry->record.turn_count++;
    entry->record.call_count += kept->turn.call_count;
    return 0;
}

static const char *keep_text(struct atoll_ask_history *h, const char *text, size_t limit,
                             struct atoll_err *err)
{
    size_t length = text ? strlen(text) : 0;
    return atoll_arena_text(h->kept, text ? text : "",
                            length <= limit ? length : atoll_utf8_cut((const void *)text, limit), err);
}

static int keep_item(struct atoll_ask_history *h, const struct atoll_reply_item *from,
                     struct atoll_reply_item *item, struct atoll_err *err)
{
    *item = *from;
    item->title = keep_text(h, from->title, ATOLL_ITEM_TEXT_LIMIT, err);
    item->text = keep_text(h, from->text, ATOLL_ITEM_TEXT_LIMIT, err);
    item->why = keep_text(h, from->why, ATOLL_ITEM_TEXT_LIMIT, err);
    item->before = keep_text(h, from->before, ATOLL_ITEM_TEXT_LIMIT, err);
    item->after = keep_text(h, from->after, ATOLL_ITEM_TEXT_LIMIT, err);
    return item->title && item->text && item->why && item->before && item->after ? 0 : -1;
}

/* What came beside the kernels, in the reasoning channel or else in the answer. */
static const char *keep_thought(struct atoll_ask_history *h, const struct atoll_dialogue *d,
                                struct atoll_err *err)
{
    const char *answer = d->answer ? d->answer : "";
    if (d->thought && *d->thought)
        return keep_text(h, d->thought, ATOLL_ASK_HISTORY_THOUGHT_BYTES, err);
    return atoll_reply_prose(answer, strlen(answer), ATOLL_ASK_HISTORY_THOUGHT_BYTES, h->kept, err);
}

static int keep_reply(struct atoll_ask_history *h, struct entry *entry, const struct atoll_reply *reply,
                      struct atoll_err *err)
{
    struct atoll_ask_record *r = &entry->record;
    struct atoll_reply_item *items = atoll_arena_alloc_array(h->kept, reply->item_count, sizeof(*items), err);
    const char *thought = keep_thought(h, &reply->dialogue, err);
    if (!items || !thought)
        return -1;
    for (uint32_t i = 0; i < reply->item_count; i++)
        if (keep_item(h, &reply->items[i], &items[i], err) != 0)
            return -1;
    r->items = items;
    r->item_count = reply->item_count;
    r->thought = thought;
    r->status = reply->status;
    r->order_count = reply->order_count;
    memcpy(r->order, reply->order, sizeof(r->order));
    r->is_answered = 1;
    r->briefing = NULL;
    r->turns = NULL;
    entry->last = NULL;
    atoll_arena_destroy(entry->open);
    entry->open = NULL;
    return 0;
}

static uint64_t ask_of(const struct atoll_event *event)
{
    switch (event->type) {
    case ATOLL_EVENT_BRIEFING: return event->briefing.ask;
    case ATOLL_EVENT_TOOL: return event->tool_turn.ask;
    case ATOLL_EVENT_REPLY: return event->reply.ask;
    default: return 0;
    }
}

int atoll_ask_history_add_event(struct atoll_ask_history *h, const struct atoll_event *event,
                                struct atoll_err *err)
{
    uint64_t ask = ask_of(event);
    struct entry *entry = ask ? find(h, ask) : NULL;
    if (!entry || entry->record.is_answered)
        return 0;
    switch (event->type) {
    case ATOLL_EVENT_BRIEFING: return keep_briefing(entry, &event->briefing, err);
    case ATOLL_EVENT_TOOL: return keep_turn(entry, &event->tool_turn, err);
    default: return keep_reply(h, entry, &event->reply, err);
    }
}

/* ---- what asks that follow are told ---- */

const struct atoll_ask_record *atoll_ask_history_find(const struct atoll_ask_history *h, uint64_t ask)
{
    const struct entry *entry = find(h, ask);
    return entry ? &entry->record : NULL;
}

const struct atoll_reply_item *atoll_ask_history_step(const struct atoll_ask_history *h,
                                                      const struct atoll_ask *ask)
{
    const struct atoll_ask_record *r = ask->plan ? atoll_ask_history_find(h, ask->plan) : NULL;
    return r && r->ask.kind == ATOLL_ASK_PLAN ? atoll_items_plan(r->items, r->item_count, ask->plan_index)
                                              : NULL;
}

const struct atoll_ask_record *atoll_ask_history_analysis(const struct atoll_ask_history *h,
                                                          const struct atoll_ask *ask)
{
    const struct atoll_ask_record *r = ask->plan ? atoll_ask_history_find(h, ask->plan) : NULL;
    if (r && r->ask.kind == ATOLL_ASK_PLAN) /* what its planner was told */
        r = r->ask.plan ? atoll_ask_history_find(h, r->ask.plan) : NULL;
    return r && r->ask.kind == ATOLL_ASK_ANALYSE && r->is_answered && r->status == ATOLL_REPLY_OK ? r : NULL;
}

size_t atoll_ask_history_plans(const struct atoll_ask_history *h, const struct atoll_ask *ask,
                               const struct atoll_ask_record **ret_plans, size_t limit)
{
    size_t count = 0;
    for (uint32_t i = h->count; i-- > 0 && count < limit;) {
        const struct atoll_ask_record *r = &h->entries[i]->record;
        if (r->ask.kind == ATOLL_ASK_PLAN && r->is_answered && r->status == ATOLL_REPLY_OK &&
            r->ask.number < ask->number && r->ask.task == ask->task && r->ask.model == ask->model &&
            atoll_id_equal(&r->ask.parent, &ask->parent))
            ret_plans[count++] = r;
    }
    return count;
}

static int is_round_before(const struct atoll_ask *round, const struct atoll_ask *ask)
{
    return round->kind == ATOLL_ASK_WRITE && round->op == ATOLL_OPERATOR_STAGED &&
           round->number < ask->number && round->stage == ask->stage && round->plan == ask->plan &&
           round->task == ask->task && round->model == ask->model && round->island == ask->island &&
           atoll_id_equal(&round->parent, &ask->parent);
}

size_t atoll_ask_history_rounds(const struct atoll_ask_history *h, const struct atoll_ask *ask,
                                const struct atoll_ask_record **ret_rounds, size_t limit)
{
    size_t count = 0;
    uint64_t before = ask->number;
    for (;;) { /* the newest first, down to the stage's first round */
        const struct atoll_ask_record *found = NULL;
        for (uint32_t i = 0; i < h->count; i++) {
            const struct atoll_ask_record *r = &h->entries[i]->record;
            if (r->ask.number < before && is_round_before(&r->ask, ask) &&
                (!found || r->ask.number > found->ask.number)) {
                found = r;
            }
        }
        if (!found || count == limit)
            break;
        ret_rounds[count++] = found;
        before = found->ask.number;
        if (found->ask.round == 0)
            break;
    }
    for (size_t i = 0; i < count / 2; i++) {
        const struct atoll_ask_record *r = ret_rounds[i];
        ret_rounds[i] = ret_rounds[count - 1 - i];
        ret_rounds[count - 1 - i] = r;
    }
    return count;
}
