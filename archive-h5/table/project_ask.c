/* project_ask.c - what a reply holds beside sources, what its prompt was made of, and what the ask led to. */
#include "archive-h5/table/project_state.h"

#include <string.h>

#include "core/issue.h"

static int add_item(struct atoll_projection *p, uint64_t ask, uint32_t ordinal,
                    const struct atoll_reply_item *item, struct atoll_err *err)
{
    struct atoll_row_item row = {.ask = ask,
                                 .ordinal = ordinal,
                                 .kind = (uint8_t)item->kind,
                                 .stage = item->stage,
                                 .severity = item->severity,
                                 .gain_low = item->gain_low,
                                 .gain_high = item->gain_high};
    int is_known = item->kind == ATOLL_ITEM_ISSUE && item->issue < ATOLL_ISSUE_COUNT;
    const struct {
        const char *text;
        uint32_t *number;
    } texts[] = {{is_known ? atoll_issue_row((enum atoll_issue)item->issue)->name : "", &row.issue},
                 {item->title, &row.title},
                 {item->text, &row.text},
                 {item->why, &row.why},
                 {item->before, &row.before},
                 {item->after, &row.after}};
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        if (texts[i].text && atoll_projection_put_text(p, texts[i].text, texts[i].number, err) != 0)
            return -1;
    return atoll_tables_append(p->tables, ATOLL_TABLE_ITEMS, &row, err);
}

int atoll_projection_put_items(struct atoll_projection *p, const struct atoll_reply *reply,
                               struct atoll_err *err)
{
    const struct atoll_dialogue *d = &reply->dialogue;
    for (uint32_t i = 0; i < reply->item_count; i++)
        if (add_item(p, reply->ask, i, &reply->items[i], err) != 0)
            return -1;
    for (uint32_t i = 0; i < d->section_count; i++) {
        struct atoll_row_section row = {.ask = reply->ask,
                                        .ordinal = i,
                                        .bytes = d->sections[i].bytes,
                                        .cut_bytes = d->sections[i].cut_bytes};
        if (atoll_projection_put_text(p, d->sections[i].name, &row.name, err) != 0 ||
            atoll_tables_append(p->tables, ATOLL_TABLE_SECTIONS, &row, err) != 0) {
            return -1;
        }
    }
    return 0;
}

/* The ask of a candidate; of an instance that the tuner made that of its template; 0: none. */
static uint64_t ask_of(const struct atoll_projection *p, uint64_t candidate)
{
    struct atoll_row_candidate row, other;
    atoll_tables_get(p->tables, ATOLL_TABLE_CANDIDATES, candidate, &row);
    for (uint64_t i = 0; !row.ask && i < candidate; i++) {
        atoll_tables_get(p->tables, ATOLL_TABLE_CANDIDATES, i, &other);
        if (other.ask && other.task == row.task && atoll_id_equal(&other.source_id, &row.source_id))
            return other.ask;
    }
    return row.ask;
}

void atoll_projection_credit_ask(struct atoll_projection *p, uint64_t candidate, double before_ns,
                                 double after_ns)
{
    struct atoll_row_ask row;
    uint32_t at;
    uint64_t ask = ask_of(p, candidate);
    if (!ask || !(before_ns > 0) || !(after_ns > 0) || after_ns >= before_ns ||
        !atoll_projection_find_ask(p, ask, &at))
        return;
    atoll_tables_get(p->tables, ATOLL_TABLE_ASKS, at, &row);
    row.improvements++;
    row.gain = (row.gain > 0 ? row.gain : 1) * before_ns / after_ns;
    atoll_tables_set(p->tables, ATOLL_TABLE_ASKS, at, &row);
}
