/* project_brief.c - what asks were given and what came of it: briefs, hints, entries of the knowledge base and their uses, rewrites,
 * calls of tools.  A row of hints or entries stands where its account stands in the ledger of its books; element i of told belongs to
 * row i of asks. */
#include "archive-h5/table/project_state.h"

#include <stdio.h>
#include <string.h>

#include "archive-h5/campaign/hints.h"
#include "archive-h5/campaign/knowledge.h"

/* ---- hints ---- */

static int put_hint_texts(struct atoll_projection *p, const struct atoll_experience_hint *h,
                          struct atoll_row_hint *row, struct atoll_err *err)
{
    char trigger[ATOLL_HINT_TRIGGER_BYTES];
    const struct {
        const char *text;
        uint32_t *number;
    } texts[] = {{h->name, &row->name},         {atoll_trigger_text(&h->trigger, trigger), &row->trigger},
                 {h->language, &row->language}, {h->device, &row->device},
                 {h->category, &row->category}, {atoll_hint_role_name(h->role), &row->role},
                 {h->context, &row->context},   {h->advice, &row->advice},
                 {h->source, &row->source}};
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        if (atoll_projection_put_text(p, texts[i].text, texts[i].number, err) != 0)
            return -1;
    return 0;
}

static void fill_statistics(const struct atoll_hint_account *account, struct atoll_row_hint *row)
{
    const struct atoll_hint_statistics *own = &account->own, *prior = &account->prior,
                                       whole = atoll_hint_account_whole(account);
    row->uses = own->uses;
    row->outcomes = own->outcomes;
    row->wins = own->wins;
    row->expected = own->expected;
    row->gains = own->gains;
    row->mean_gain = own->gains > 0 ? atoll_hint_gain(own) : 0;
    row->confidence = atoll_hint_confidence(&whole);
    row->lift = atoll_hint_lift(&whole);
    row->dropped = (uint8_t)atoll_hint_is_losing(&whole);
    row->prior_uses = prior->uses;
    row->prior_outcomes = prior->outcomes;
    row->prior_wins = prior->wins;
    row->prior_expected = prior->expected;
    row->prior_gains = prior->gains;
    row->prior_mean_gain = prior->gains > 0 ? atoll_hint_gain(prior) : 0;
}

static int add_hint(struct atoll_projection *p, const struct atoll_experience_hint *h, struct atoll_err *err)
{
    struct atoll_row_hint row = {.id = atoll_experience_hint_id(h), .origin = (uint8_t)h->origin};
    struct atoll_hint_ledger *ledger = &p->books[ATOLL_PROJECTION_HINTS].ledger;
    if (atoll_hint_ledger_find(ledger, &row.id) != ATOLL_NONE)
        return 0;
    if (put_hint_texts(p, h, &row, err) != 0 || atoll_hint_ledger_add(ledger, &row.id, &h->prior, err) != 0)
        return -1;
    fill_statistics(&ledger->accounts[ledger->account_count - 1], &row);
    return atoll_tables_append(p->tables, ATOLL_TABLE_HINTS, &row, err);
}

/* What the briefing says is all that is known of it: a hint that the campaign's file does not have, or an entry.  An entry's title is
 * its kind and its name. */
static int add_told(struct atoll_projection *p, struct atoll_projection_books *books,
                    const struct atoll_brief *b, struct atoll_err *err)
{
    const char *name = b->title ? b->title : "", *blank = strchr(name, ' ');
    char kind[32] = "";
    static const struct atoll_hint_statistics none;
    struct atoll_row_hint row = {.id = b->id};
    if (atoll_hint_ledger_find(&books->ledger, &b->id) != ATOLL_NONE)
        return 0;
    if (books->rows == ATOLL_TABLE_KNOWLEDGE_ENTRIES && blank) {
        snprintf(kind, sizeof(kind), "%.*s", (int)(blank - name), name);
        name = blank + 1;
    }
    if (atoll_projection_put_text(p, name, &row.name, err) != 0 ||
        atoll_projection_put_text(p, kind, &row.trigger, err) != 0 ||
        atoll_projection_put_text(p, b->text, &row.advice, err) != 0 ||
        atoll_hint_ledger_add(&books->ledger, &b->id, &none, err) != 0) {
        return -1;
    }
    return atoll_tables_append(p->tables, books->rows, &row, err);
}

static int add_text(struct atoll_projection *p, const struct atoll_knowledge_file *file,
                    struct atoll_err *err)
{
    struct atoll_row_knowledge row = {.id = atoll_id_of(file->path, strlen(file->path))};
    if (atoll_projection_put_text(p, file->path, &row.path, err) != 0 ||
        atoll_projection_put_text(p, file->text, &row.text, err) != 0)
        return -1;
    return atoll_tables_append(p->tables, ATOLL_TABLE_KNOWLEDGE, &row, err);
}

static int add_texts(struct atoll_projection *p, const struct atoll_campaign *campaign, struct atoll_err *err)
{
    struct atoll_knowledge_pack *pack = NULL;
    int rc = 0;
    if (atoll_campaign_knowledge_read(campaign, &pack, NULL) != 0)
        return 0; /* it is not at hand */
    for (uint32_t i = 0; pack && rc == 0 && i < pack->count; i++)
        rc = add_text(p, &pack->files[i], err);
    atoll_knowledge_pack_destroy(pack);
    return rc;
}

int atoll_projection_knowledge(struct atoll_projection *p, const struct atoll_campaign *campaign,
                               struct atoll_err *err)
{
    struct atoll_hint_file file;
    int rc = add_texts(p, campaign, err);
    if (rc != 0 || atoll_campaign_hints_read(campaign, &file, NULL) != 0)
        return rc; /* not at hand: briefings tell those that were used */
    for (size_t i = 0; rc == 0 && i < file.hint_count; i++)
        rc = add_hint(p, &file.hints[i], err);
    atoll_hint_file_fini(&file);
    return rc;
}

static void update_books(struct atoll_projection *p, unsigned which, const struct atoll_projection_told *told)
{
    const struct atoll_projection_books *books = &p->books[which];
    for (uint32_t i = 0; i < told->use_count[which]; i++) {
        struct atoll_row_hint_use use;
        struct atoll_row_hint row;
        atoll_tables_get(p->tables, books->uses, told->first_use[which] + i, &use);
        uint32_t at = atoll_hint_ledger_find(&books->ledger, &use.hint);
        if (at == ATOLL_NONE)
            continue;
        atoll_tables_get(p->tables, books->rows, at, &row);
        fill_statistics(&books->ledger.accounts[at], &row);
        atoll_tables_set(p->tables, books->rows, at, &row);
    }
}

/* ---- briefings ---- */

static struct atoll_projection_told *told_of(const struct atoll_projection *p, uint32_t ask_row)
{
    return &((struct atoll_projection_told *)p->told.items)[ask_row];
}

int atoll_projection_add_told(struct atoll_projection *p, const struct atoll_ask *ask, struct atoll_err *err)
{
    struct atoll_projection_told *told = atoll_projection_list_add(&p->told, sizeof(*told), err);
    if (!told)
        return -1;
    if (ask->inspiration_count)
        told->fast = ask->inspirations[0];
    return 0;
}

/* The first result of a candidate on a model that counts; NULL: there is none. */
static const struct atoll_projection_first *first_of(const struct atoll_projection *p,
                                                     const struct atoll_id *candidate, uint32_t model)
{
    int64_t row = atoll_projection_find_candidate(p, candidate);
    if (row < 0 || model >= ATOLL_MODEL_LIMIT)
        return NULL;
    const struct atoll_projection_first *first =
        &((const struct atoll_projection_floor *)p->floors.items)[row].first[model];
    return first->is_known ? first : NULL;
}

static double time_of(const struct atoll_projection_first *first)
{
    return first && first->verdict == ATOLL_V_CORRECT ? first->time_ns : 0;
}

static int add_brief(struct atoll_projection *p, const struct atoll_briefing *briefing, uint32_t index,
                     struct atoll_err *err)
{
    const struct atoll_brief *b = &briefing->briefs[index];
    struct atoll_row_brief row = {.event = p->event,
                                  .ordinal = index,
                                  .ask = briefing->ask,
                                  .kind = (uint8_t)b->kind,
                                  .id = b->id,
                                  .score = b->score,
                                  .cut_bytes = b->cut_bytes};
    return atoll_projection_put_text(p, b->title, &row.title, err) != 0 ||
                   atoll_projection_put_text(p, b->text, &row.text, err) != 0
               ? -1
               : atoll_tables_append(p->tables, ATOLL_TABLE_BRIEFS, &row, err);
}

/* Rows of uses of one of the books, of an ask about a kernel with this first result. */
static int add_uses(struct atoll_projection *p, unsigned which, const struct atoll_briefing *briefing,
                    const struct atoll_row_ask *ask, const struct atoll_projection_first *parent,
                    struct atoll_projection_told *told, struct atoll_err *err)
{
    struct atoll_projection_books *books = &p->books[which];
    uint32_t kinds = books->ledger.kinds ? books->ledger.kinds : 1u << ATOLL_BRIEF_HINT;
    struct atoll_row_hint_use row = {
        .event = p->event, .ask = ask->number, .task = ask->task, .model = ask->model};
    if (parent) {
        row.error_class = parent->error;
        row.limiter = parent->limiter;
        row.parent_ns = time_of(parent);
    }
    told->first_use[which] = atoll_tables_count(p->tables, books->uses);
    for (uint32_t i = 0; i < briefing->count; i++) {
        const struct atoll_brief *b = &briefing->briefs[i];
        if (!(kinds >> b->kind & 1u) || !atoll_brief_is_told(b))
            continue;
        row.ordinal = i;
        row.hint = b->id;
        row.score = b->score;
        if (add_told(p, books, b, err) != 0 || atoll_projection_put_text(p, b->title, &row.name, err) != 0 ||
            atoll_tables_append(p->tables, books->uses, &row, err) != 0) {
            return -1;
        }
        told->use_count[which]++;
    }
    return 0;
}

int atoll_projection_put_briefing(struct atoll_projection *p, const struct atoll_briefing *briefing,
                                  struct atoll_err *err)
{
    struct atoll_row_ask ask;
    uint32_t at;
    if (!atoll_projection_find_ask(p, briefing->ask, &at) || told_of(p, at)->is_briefed)
        return 0; /* never asked, or told again after a resume: the first holds */
    struct atoll_projection_told *told = told_of(p, at);
    told->is_briefed = 1;
    atoll_tables_get(p->tables, ATOLL_TABLE_ASKS, at, &ask);
    const struct atoll_projection_first *parent = first_of(p, &ask.parent, ask.model);
    for (uint32_t i = 0; i < briefing->count; i++)
        if (add_brief(p, briefing, i, err) != 0)
            return -1;
    struct atoll_diagnosis diagnosis = {.error = ATOLL_ERROR_NONE};
    if (parent) {
        diagnosis.error = (enum atoll_error_class)parent->error;
        diagnosis.limiter = (enum atoll_limiter)parent->limiter;
    }
    for (unsigned i = 0; i < ATOLL_PROJECTION_BOOK_COUNT; i++) {
        if (add_uses(p, i, briefing, &ask, parent, told, err) != 0 ||
            atoll_hint_ledger_used(&p->books[i].ledger, parent ? &diagnosis : NULL, briefing, err) != 0) {
            return -1;
        }
        update_books(p, i, told);
    }
    return 0;
}

/* ---- what followed ---- */

static void put_outcome(struct atoll_projection *p, unsigned which, const struct atoll_projection_told *told,
                        const struct atoll_id *candidate, const struct atoll_projection_first *first)
{
    enum atoll_table uses = p->books[which].uses;
    for (uint32_t i = 0; i < told->use_count[which]; i++) {
        struct atoll_row_hint_use use;
        atoll_tables_get(p->tables, uses, told->first_use[which] + i, &use);
        use.outcome =
            atoll_hint_is_win(use.parent_ns, (enum atoll_verdict)first->verdict, first->time_ns) ? 2 : 1;
        use.candidate = *candidate;
        use.verdict = first->verdict;
        use.time_ns = first->time_ns;
        atoll_tables_set(p->tables, uses, told->first_use[which] + i, &use);
    }
}

/* What a kernel without a correct parent is held against, and the best, whose decision comes behind the evaluation that made it. */
static void times_of_task(struct atoll_projection *p, const struct atoll_row_ask *ask,
                          double *ret_baseline_ns, double *ret_best_ns, struct atoll_err *err)
{
    struct atoll_row_task task = {0};
    uint64_t row;
    if (atoll_projection_task_row(p, ask->task, ask->model, &row, err) == 1)
        atoll_tables_get(p->tables, ATOLL_TABLE_TASKS, row, &task);
    *ret_baseline_ns = task.baseline_ns;
    *ret_best_ns = task.best_ns;
}

int atoll_projection_credit(struct atoll_projection *p, uint64_t ask_number,
                            const struct atoll_row_evaluation *e, struct atoll_err *err)
{
    int64_t at = atoll_projection_find_candidate(p, &e->candidate);
    struct atoll_row_ask ask = {0};
    uint32_t ask_row;
    int has_ask = ask_number && atoll_projection_find_ask(p, ask_number, &ask_row);
    if (at < 0 || e->model >= ATOLL_MODEL_LIMIT || e->verdict == ATOLL_V_INFRASTRUCTURE)
        return 0;
    if (has_ask)
        atoll_tables_get(p->tables, ATOLL_TABLE_ASKS, ask_row, &ask);
    has_ask = has_ask && ask.model == e->model;
    double parent_ns = has_ask ? time_of(first_of(p, &ask.parent, ask.model)) : 0;
    double baseline_ns = 0, best_ns = 0;
    if (has_ask)
        times_of_task(p, &ask, &baseline_ns, &best_ns, err);
    if (has_ask && atoll_projection_prompt_credit(p, &ask, e, parent_ns > 0 ? parent_ns : baseline_ns,
                                                  best_ns, err) != 0)
        return -1;
    if (e->verdict == ATOLL_V_UNSTABLE)
        return 0;
    struct atoll_projection_first *first =
        &((struct atoll_projection_floor *)p->floors.items)[at].first[e->model];
    if (!first->is_known)
        *first = (struct atoll_projection_first){1, e->verdict, e->error_class, e->limiter, e->time_ns};
    for (unsigned i = 0; has_ask && i < ATOLL_PROJECTION_BOOK_COUNT; i++) {
        if (atoll_hint_ledger_credit(&p->books[i].ledger, ask.number, parent_ns,
                                     (enum atoll_verdict)first->verdict, first->time_ns))
            put_outcome(p, i, told_of(p, ask_row), &e->candidate, first);
        update_books(p, i, told_of(p, ask_row));
    }
    return 0;
}

/* ---- replies ---- */

/* Of the ask's parent. */
static const char *language_of(const struct atoll_projection *p, const struct atoll_row_ask *ask)
{
    int64_t row = atoll_projection_find_candidate(p, &ask->parent);
    struct atoll_row_candidate candidate;
    if (row < 0)
        return "";
    atoll_tables_get(p->tables, ATOLL_TABLE_CANDIDATES, (uint64_t)row, &candidate);
    return atoll_tables_text(p->tables, candidate.language);
}

/* Of the first device of the model, else of the first of all. */
static const char *family_of(const struct atoll_projection *p, uint32_t model)
{
    const struct atoll_device_info *devices = p->devices.items;
    const char *name = model < p->model_count ? atoll_tables_text(p->tables, p->models[model]) : "";
    for (size_t i = 0; i < p->devices.count; i++)
        if (strcmp(devices[i].model, name) == 0)
            return atoll_device_family(&devices[i]);
    return p->devices.count ? atoll_device_family(&devices[0]) : "";
}

static int add_rewrite(struct atoll_projection *p, const struct atoll_row_ask *ask,
                       const struct atoll_projection_told *told, const struct atoll_reply_item *item,
                       uint32_t ordinal, struct atoll_err *err)
{
    struct atoll_row_memory row = {.event = p->event,
                                   .ordinal = ordinal,
                                   .ask = ask->number,
                                   .task = ask->task,
                                   .model = ask->model,
                                   .slow = ask->parent,
                                   .fast = told->fast,
                                   .slow_ns = time_of(first_of(p, &ask->parent, ask->model)),
                                   .fast_ns = time_of(first_of(p, &told->fast, ask->model))};
    const struct {
        const char *text;
        uint32_t *number;
    } texts[] = {{item->title, &row.title},
                 {item->text, &row.text},
                 {item->before, &row.before},
                 {item->after, &row.after}};
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        if (texts[i].text && atoll_projection_put_text(p, texts[i].text, texts[i].number, err) != 0)
            return -1;
    return atoll_tables_append(p->tables, ATOLL_TABLE_MEMORY, &row, err);
}

int atoll_projection_put_learned(struct atoll_projection *p, uint32_t ask_row,
                                 const struct atoll_reply *reply, struct atoll_err *err)
{
    struct atoll_row_ask ask;
    atoll_tables_get(p->tables, ATOLL_TABLE_ASKS, ask_row, &ask);
    for (uint32_t i = 0; i < reply->item_count; i++) {
        const struct atoll_reply_item *item = &reply->items[i];
        struct atoll_hint_words words;
        struct atoll_experience_hint hint;
        if (item->kind == ATOLL_ITEM_REWRITE && add_rewrite(p, &ask, told_of(p, ask_row), item, i, err) != 0)
            return -1;
        if (atoll_experience_hint_of_item(item, language_of(p, &ask), family_of(p, ask.model), &words,
                                          &hint) &&
            add_hint(p, &hint, err) != 0) {
            return -1;
        }
    }
    return 0;
}

/* ---- tools ---- */

static int add_call(struct atoll_projection *p, const struct atoll_tool_turn *turn, uint32_t index,
                    struct atoll_err *err)
{
    const struct atoll_tool_call *call = &turn->calls[index];
    struct atoll_row_tool_call row = {.event = p->event,
                                      .ordinal = index,
                                      .ask = turn->ask,
                                      .turn = turn->turn,
                                      .status = (uint8_t)call->status,
                                      .elapsed_s = call->elapsed_s,
                                      .request = turn->request};
    const struct {
        const char *text;
        uint32_t *number;
    } texts[] = {{call->id, &row.call},
                 {call->name, &row.name},
                 {call->arguments, &row.arguments},
                 {call->result, &row.result},
                 {index ? NULL : turn->said, &row.said},
                 {index ? NULL : turn->thought, &row.thought}};
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        if (texts[i].text && atoll_projection_put_text(p, texts[i].text, texts[i].number, err) != 0)
            return -1;
    if (!index) {
        row.input_tokens = turn->tokens_in;
        row.output_tokens = turn->tokens_out;
        row.cost_usd = turn->cost_usd;
    }
    return atoll_tables_append(p->tables, ATOLL_TABLE_TOOL_CALLS, &row, err);
}

int atoll_projection_put_tool_turn(struct atoll_projection *p, const struct atoll_tool_turn *turn,
                                   struct atoll_err *err)
{
    struct atoll_row_campaign campaign;
    uint32_t at;
    if (!atoll_projection_find_ask(p, turn->ask, &at))
        return 0;
    for (uint32_t i = 0; i < turn->call_count; i++)
        if (add_call(p, turn, i, err) != 0)
            return -1;
    struct atoll_row_ask ask;
    atoll_tables_get(p->tables, ATOLL_TABLE_ASKS, at, &ask);
    ask.tool_calls += turn->call_count;
    ask.tool_tokens += turn->tokens_in + turn->tokens_out;
    ask.tool_cost_usd += turn->cost_usd;
    atoll_tables_set(p->tables, ATOLL_TABLE_ASKS, at, &ask);
    atoll_tables_get(p->tables, ATOLL_TABLE_CAMPAIGN, 0, &campaign);
    campaign.tokens += turn->tokens_in + turn->tokens_out;
    campaign.cost_usd += turn->cost_usd;
    atoll_tables_set(p->tables, ATOLL_TABLE_CAMPAIGN, 0, &campaign);
    return 0;
}
