/* reply_items.c - each kind of ask has a reader of a document; one that finds nothing of its shape leaves the document to the
 * next one.  Names are read in any case, with blanks or hyphens for underscores; members have a second name where models
 * choose one. */
#include "evolution/reply/reply_items.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/utf8.h"
#include "core/experience/hint.h"
#include "core/issue.h"
#include "evolution/reply/reply.h"
#include "evolution/reply/reply_json.h"

#define WORK_BYTES ((size_t)64 << 20)
#define NAME_BYTES 64
#define GAIN_LIMIT 1000.0 /* nobody expects more in earnest */

struct items {
    enum atoll_ask_kind kind;
    struct atoll_arena *arena;
    struct atoll_reply reply; /* items, order */
    int is_empty;             /* the answer says that there is nothing */
    char *room;               /* of one text */
};

/* ---- members ---- */

/* The first of two members that is there and not null. */
static const json_t *member(const json_t *object, const char *name, const char *other)
{
    const json_t *value = json_object_get(object, name);
    return value && !json_is_null(value) ? value : other ? json_object_get(object, other) : NULL;
}

/* Appends what fits of a string, controls as '?'. */
static size_t append(char *room, size_t used, size_t limit, const char *text)
{
    size_t length = strlen(text), left = limit - used;
    size_t keep = length > left ? atoll_utf8_cut(text, left) : length;
    for (size_t i = 0; i < keep; i++) {
        unsigned char c = (unsigned char)text[i];
        room[used + i] = (char)((c < ' ' && c != '\n' && c != '\t') || c == 0x7f ? '?' : c);
    }
    return used + keep;
}

/* A string, or an array of strings as lines, trimmed and cut; "" where it is neither.  NULL: err. */
static const char *text_of(struct items *r, const json_t *value, size_t limit, struct atoll_err *err)
{
    size_t used = 0;
    if (json_is_string(value))
        used = append(r->room, 0, limit, json_string_value(value));
    for (size_t i = 0; i < json_array_size(value); i++) {
        const char *line = json_string_value(json_array_get(value, i));
        if (line && used + 1 < limit) {
            r->room[used] = '\n';
            used = append(r->room, used + (used > 0), limit, line);
        }
    }
    struct atoll_reply_span span = atoll_reply_trim((struct atoll_reply_span){r->room, used});
    return atoll_arena_text(r->arena, span.text, span.length, err);
}

static int title_member(struct items *r, const json_t *object, const char *name, const char *other,
                        const char **ret, struct atoll_err *err)
{
    *ret = text_of(r, member(object, name, other), ATOLL_REPLY_TITLE_BYTES, err);
    return *ret ? 0 : -1;
}

static int text_member(struct items *r, const json_t *object, const char *name, const char *other,
                       const char **ret, struct atoll_err *err)
{
    *ret = text_of(r, member(object, name, other), ATOLL_REPLY_ITEM_TEXT_BYTES, err);
    return *ret ? 0 : -1;
}

/* "Missing tiles" is missing_tiles; what no name has is left out. */
static void name_of(const json_t *value, char ret_name[NAME_BYTES])
{
    const char *text = json_string_value(value);
    size_t used = 0;
    for (; text && *text && used + 1 < NAME_BYTES; text++) {
        char c = *text;
        if (c >= 'A' && c <= 'Z')
            c = (char)(c - 'A' + 'a');
        if (strchr(" -._:", c))
            c = '_';
        int is_known = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
        if (is_known && (c != '_' || (used > 0 && ret_name[used - 1] != '_')))
            ret_name[used++] = c;
    }
    while (used > 0 && ret_name[used - 1] == '_')
        used--;
    ret_name[used] = '\0';
}

static unsigned severity_of(const json_t *value)
{
    double number = json_is_string(value) ? strtod(json_string_value(value), NULL) : json_number_value(value);
    return number >= 1 && number <= ATOLL_ITEM_SEVERITY_LIMIT ? (unsigned)number
           : number > ATOLL_ITEM_SEVERITY_LIMIT               ? ATOLL_ITEM_SEVERITY_LIMIT
                                                              : 0;
}

static int is_gain(double gain)
{
    return gain > 0 && gain <= GAIN_LIMIT; /* no NaN */
}

/* "1.1x to 1.4x", "10-30 %": up to two numbers. */
static size_t gains_of_text(const char *text, double gains[2])
{
    size_t count = 0;
    while (*text && count < 2) {
        if (*text < '0' || *text > '9') {
            text++;
            continue;
        }
        char *end;
        gains[count++] = strtod(text, &end);
        text = end;
    }
    for (size_t i = 0; strchr(text, '%') && i < count; i++)
        gains[i] = 1 + gains[i] / 100;
    return count;
}

/* Expected speedup: a number, two of them, or words. */
static void read_gain(const json_t *object, struct atoll_reply_item *item)
{
    const json_t *value = member(object, "gain", "expected_speedup");
    double gains[2] = {0, 0};
    size_t count = 0;
    if (json_is_number(value))
        gains[count++] = json_number_value(value);
    else if (json_is_array(value))
        for (size_t i = 0; i < json_array_size(value) && count < 2; i++)
            gains[count++] = json_number_value(json_array_get(value, i));
    else if (json_is_string(value))
        count = gains_of_text(json_string_value(value), gains);
    if (count == 1)
        gains[1] = gains[0];
    if (!count || !is_gain(gains[0]) || !is_gain(gains[1]))
        return;
    item->gain_low = fmin(gains[0], gains[1]);
    item->gain_high = fmax(gains[0], gains[1]);
}

/* ---- items ---- */

/* Of equal ones the first counts. */
static void add(struct items *r, const struct atoll_reply_item *item)
{
    for (uint32_t i = 0; i < r->reply.item_count; i++) {
        const struct atoll_reply_item *known = &r->reply.items[i];
        if (known->kind == item->kind && strcmp(known->title, item->title) == 0 &&
            strcmp(known->text, item->text) == 0)
            return;
    }
    if (r->reply.item_count < ATOLL_REPLY_ITEM_LIMIT)
        r->reply.items[r->reply.item_count++] = *item;
}

static int read_plan(struct items *r, const json_t *object, struct atoll_err *err)
{
    struct atoll_reply_item item = {.kind = ATOLL_ITEM_PLAN, .after = ""};
    if (title_member(r, object, "title", "name", &item.title, err) ||
        text_member(r, object, "step", "plan", &item.text, err) ||
        text_member(r, object, "why", "reason", &item.why, err) ||
        text_member(r, object, "where", "before", &item.before, err))
        return -1;
    read_gain(object, &item);
    if (item.text[0])
        add(r, &item);
    return 0;
}

static enum atoll_issue issue_of(const char *name)
{
    unsigned i = 0;
    while (i < ATOLL_ISSUE_COUNT && strcmp(atoll_issue_row((enum atoll_issue)i)->name, name) != 0)
        i++;
    return (enum atoll_issue)i;
}

static enum atoll_issue_stage stage_of(const json_t *value)
{
    char name[NAME_BYTES];
    unsigned i = 0;
    name_of(value, name);
    while (i < ATOLL_ISSUE_STAGE_COUNT && strcmp(atoll_stage_name((enum atoll_issue_stage)i), name) != 0)
        i++;
    return (enum atoll_issue_stage)i;
}

static int read_issue(struct items *r, const json_t *object, struct atoll_err *err)
{
    char name[NAME_BYTES];
    name_of(member(object, "type", "issue"), name);
    enum atoll_issue issue = issue_of(name);
    enum atoll_issue_stage stage = stage_of(json_object_get(object, "stage"));
    struct atoll_reply_item item = {
        .kind = ATOLL_ITEM_ISSUE, .issue = (uint8_t)issue, .why = "", .before = ""};
    if (!name[0])
        return 0;
    if (issue < ATOLL_ISSUE_COUNT)
        stage = atoll_issue_row(issue)->stage;
    item.stage = (uint8_t)(stage < ATOLL_ISSUE_STAGE_COUNT ? stage : ATOLL_ISSUE_STAGE_DISCOVERY);
    item.severity = (uint8_t)severity_of(json_object_get(object, "severity"));
    item.title = atoll_arena_text(r->arena, name, strlen(name), err);
    if (!item.title || text_member(r, object, "description", "text", &item.text, err) ||
        text_member(r, object, "fix", "suggested_fix", &item.after, err))
        return -1;
    read_gain(object, &item);
    if (item.text[0] || issue < ATOLL_ISSUE_COUNT)
        add(r, &item);
    return 0;
}

static int read_proposal(struct items *r, const json_t *object, struct atoll_err *err)
{
    struct atoll_reply_item item = {
        .kind = ATOLL_ITEM_PROPOSAL, .issue = ATOLL_ISSUE_COUNT, .stage = ATOLL_ISSUE_STAGE_DISCOVERY};
    if (title_member(r, object, "title", "name", &item.title, err) ||
        text_member(r, object, "change", "description", &item.text, err) ||
        text_member(r, object, "valid", "why_valid", &item.why, err) ||
        text_member(r, object, "before", NULL, &item.before, err) ||
        text_member(r, object, "after", NULL, &item.after, err))
        return -1;
    read_gain(object, &item);
    if (item.text[0])
        add(r, &item);
    return 0;
}

static int read_rewrite(struct items *r, const json_t *object, struct atoll_err *err)
{
    struct atoll_reply_item item = {.kind = ATOLL_ITEM_REWRITE, .why = ""};
    if (title_member(r, object, "title", "name", &item.title, err) ||
        text_member(r, object, "text", "description", &item.text, err) ||
        text_member(r, object, "before", "slow", &item.before, err) ||
        text_member(r, object, "after", "fast", &item.after, err))
        return -1;
    if (item.title[0] && (item.text[0] || item.after[0]))
        add(r, &item);
    return 0;
}

/* "Limiter DRAM", "long_scoreboard": as core/experience/hint.h writes it; 0: nothing would ever find such a hint. */
static int trigger_of(const json_t *value, char ret_text[ATOLL_HINT_TRIGGER_BYTES])
{
    static const char *const kinds[] = {"limiter_", "error_", "stall_", "unused_", "occupancy_"};
    struct atoll_trigger trigger;
    char name[NAME_BYTES];
    name_of(value, name);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        if (strncmp(name, kinds[i], strlen(kinds[i])) == 0)
            name[strlen(kinds[i]) - 1] = ' ';
    int is_known = atoll_trigger_parse(name, &trigger, NULL) == 0;
    for (char *p = name; !is_known && *p; p++)
        *p = (char)(*p == '_' ? ' ' : *p); /* "occupancy shared memory" */
    if (!is_known && atoll_trigger_parse(name, &trigger, NULL) != 0)
        return 0;
    atoll_trigger_text(&trigger, ret_text);
    return 1;
}

static int read_hint(struct items *r, const json_t *object, struct atoll_err *err)
{
    char trigger[ATOLL_HINT_TRIGGER_BYTES];
    struct atoll_reply_item item = {.kind = ATOLL_ITEM_HINT, .before = "", .after = ""};
    if (!trigger_of(json_object_get(object, "trigger"), trigger))
        return 0;
    item.title = atoll_arena_text(r->arena, trigger, strlen(trigger), err);
    if (!item.title || text_member(r, object, "advice", "text", &item.text, err) ||
        text_member(r, object, "context", "when", &item.why, err))
        return -1;
    read_gain(object, &item);
    if (item.text[0])
        add(r, &item);
    return 0;
}

/* From 0 to 1; also in percent: what has the sign, or is more than 1.  -1: none. */
static double likelihood_of(const json_t *value)
{
    const char *text = json_string_value(value);
    double number = text ? strtod(text, NULL) : json_is_number(value) ? json_number_value(value) : -1;
    if (text && (*text < '0' || *text > '9') && *text != '.')
        return -1;
    if ((text && strchr(text, '%')) || number > 1)
        number /= 100;
    return number >= 0 && number <= 1 ? number : -1;
}

/* One that says no likelihood says nothing. */
static int read_judgement(struct items *r, const json_t *object, struct atoll_err *err)
{
    struct atoll_reply_item item = {
        .kind = ATOLL_ITEM_JUDGEMENT, .title = "", .why = "", .before = "", .after = ""};
    double likelihood = likelihood_of(member(object, "likelihood", "probability"));
    if (text_member(r, object, "reason", "why", &item.text, err))
        return -1;
    item.gain_low = item.gain_high = likelihood;
    if (likelihood >= 0 && !r->reply.item_count)
        add(r, &item);
    return 0;
}

/* An empty search appends. */
static int read_edit(struct items *r, const json_t *object, struct atoll_err *err)
{
    char region[NAME_BYTES];
    struct atoll_reply_item item = {.kind = ATOLL_ITEM_EDIT, .text = ""};
    name_of(json_object_get(object, "region"), region);
    item.title = atoll_arena_text(r->arena, region, strlen(region), err);
    if (!item.title || text_member(r, object, "search", "before", &item.before, err) ||
        text_member(r, object, "replace", "after", &item.after, err) ||
        text_member(r, object, "why", "reason", &item.why, err))
        return -1;
    if (item.title[0] && (item.before[0] || item.after[0]))
        add(r, &item);
    return 0;
}

/* ---- documents ---- */

typedef int item_reader(struct items *r, const json_t *object, struct atoll_err *err);

/* Objects of an array, or one that stands alone. */
static int read_list(struct items *r, const json_t *list, item_reader *read, struct atoll_err *err)
{
    if (json_is_object(list))
        return read(r, list, err);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *object = json_array_get(list, i);
        if (json_is_object(object) && read(r, object, err) != 0)
            return -1;
    }
    return 0;
}

/* The member of a document, or the document itself where it is what the member would be. */
static const json_t *list_of(const json_t *document, const char *name, const char *mark)
{
    const json_t *list = json_object_get(document, name);
    return list ? list : json_is_array(document) || json_object_get(document, mark) ? document : NULL;
}

static int take_plans(struct items *r, const json_t *document, struct atoll_err *err)
{
    const json_t *one = json_object_get(document, "plan"); /* of an object: a step, or the object of one */
    const json_t *list = json_is_object(one) ? one : list_of(document, "plans", one ? "plan" : "step");
    return read_list(r, list, read_plan, err) ? -1 : r->reply.item_count > 0;
}

static int take_issues(struct items *r, const json_t *document, struct atoll_err *err)
{
    const json_t *issues = list_of(document, "issues", "type");
    const json_t *proposals = json_object_get(document, "proposals");
    if (read_list(r, issues, read_issue, err) || read_list(r, proposals, read_proposal, err))
        return -1;
    r->is_empty = json_is_array(json_object_get(document, "issues"));
    return r->reply.item_count > 0 || r->is_empty;
}

static int take_order(struct items *r, const json_t *document, struct atoll_err *err)
{
    const json_t *list = list_of(document, "order", "stages");
    (void)err;
    if (json_is_object(list))
        list = json_object_get(list, "stages");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *value = json_array_get(list, i);
        enum atoll_issue_stage stage =
            stage_of(json_is_object(value) ? json_object_get(value, "stage") : value);
        uint32_t known = 0;
        while (known < r->reply.order_count && r->reply.order[known] != stage)
            known++;
        if (stage < ATOLL_ISSUE_STAGE_COUNT && known == r->reply.order_count && known < ATOLL_STAGE_LIMIT)
            r->reply.order[r->reply.order_count++] = (uint8_t)stage;
    }
    return r->reply.order_count > 0;
}

static int take_rewrites(struct items *r, const json_t *document, struct atoll_err *err)
{
    const json_t *rewrite = json_object_get(document, "rewrite");
    if (json_is_null(rewrite)) {
        r->is_empty = 1;
        return 1;
    }
    return read_list(r, rewrite ? rewrite : list_of(document, "rewrites", "title"), read_rewrite, err)
               ? -1
               : r->reply.item_count > 0;
}

static int take_hints(struct items *r, const json_t *document, struct atoll_err *err)
{
    const json_t *hints = json_object_get(document, "hints");
    if (read_list(r, list_of(document, "hints", "trigger"), read_hint, err))
        return -1;
    r->is_empty = json_is_array(hints) && json_array_size(hints) == 0;
    return r->reply.item_count > 0 || r->is_empty;
}

static int take_edits(struct items *r, const json_t *document, struct atoll_err *err)
{
    const json_t *edits = json_object_get(document, "edits");
    if (read_list(r, list_of(document, "edits", "region"), read_edit, err))
        return -1;
    r->is_empty = json_is_array(edits) && json_array_size(edits) == 0;
    return r->reply.item_count > 0 || r->is_empty;
}

static int take_judgement(struct items *r, const json_t *document, struct atoll_err *err)
{
    const json_t *one = json_object_get(document, "judgement");
    return read_list(r, one ? one : list_of(document, "judgment", "likelihood"), read_judgement, err)
               ? -1
               : r->reply.item_count > 0;
}

static int take(void *context, const json_t *document, struct atoll_err *err)
{
    struct items *r = context;
    switch (r->kind) {
    case ATOLL_ASK_PLAN: return take_plans(r, document, err);
    case ATOLL_ASK_ANALYSE: return take_issues(r, document, err);
    case ATOLL_ASK_ORDER: return take_order(r, document, err);
    case ATOLL_ASK_SUMMARISE: return take_rewrites(r, document, err);
    case ATOLL_ASK_JUDGE: return take_judgement(r, document, err);
    case ATOLL_ASK_META: return take_edits(r, document, err);
    default: return take_hints(r, document, err);
    }
}

/* The sentence of papers/004 A.4, in either spelling. */
static int says_nothing_found(struct atoll_reply_span text)
{
    static const char *const sentences[] = {"no optimization found", "no optimisation found"};
    for (size_t i = 0; i < text.length; i++)
        for (size_t k = 0; k < 2; k++)
            if (text.length - i >= strlen(sentences[k]) &&
                strncasecmp(text.text + i, sentences[k], strlen(sentences[k])) == 0)
                return 1;
    return 0;
}

int atoll_reply_read_items(enum atoll_ask_kind kind, const char *text, size_t length,
                           struct atoll_arena *arena, struct atoll_reply *ret_reply, int *ret_usable,
                           struct atoll_err *err)
{
    if (kind <= ATOLL_ASK_WRITE || kind >= ATOLL_ASK_KIND_COUNT)
        return atoll_err_set(err, ATOLL_E_INTERNAL, "an answer to '%s' has no items",
                             atoll_ask_kind_name(kind));
    struct atoll_reply_span clean;
    struct items *r = calloc(1, sizeof(*r));
    struct atoll_arena *work = r ? atoll_arena_create(WORK_BYTES, err) : NULL;
    int rc = -1;
    if (!r)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the items of a reply");
    length = length < ATOLL_REPLY_LIMIT_BYTES ? length : ATOLL_REPLY_LIMIT_BYTES;
    r->kind = kind;
    r->arena = arena;
    if (!work || !(r->room = atoll_arena_alloc(work, ATOLL_REPLY_ITEM_TEXT_BYTES + 8, err)) ||
        atoll_reply_clean(work, text, length, &clean, err) ||
        atoll_reply_json_find(clean, work, take, r, err) < 0)
        goto out;
    if (kind == ATOLL_ASK_SUMMARISE && !r->reply.item_count)
        r->is_empty |= says_nothing_found(clean);
    ret_reply->item_count = r->reply.item_count;
    memcpy(ret_reply->items, r->reply.items, r->reply.item_count * sizeof(*r->reply.items));
    ret_reply->order_count = r->reply.order_count;
    memcpy(ret_reply->order, r->reply.order, r->reply.order_count);
    atoll_reply_count_items(ret_reply);
    *ret_usable = r->reply.item_count > 0 || r->reply.order_count > 0 || r->is_empty;
    rc = 0;
out:
    atoll_arena_destroy(work);
    free(r);
    return rc;
}
