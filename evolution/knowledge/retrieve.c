/* retrieve.c - entries: which may be told at all, how well each fits, and the best of them.  A fit is a sum of what is known of it: that
 * the diagnosis calls for it, that it is about this family of operators, this device, this stage, and words that it shares with the
 * task and the messages (BM25).  What the diagnosis says counts more with every improvement, the family and the kind less. */
#include "evolution/knowledge/retrieve.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/word_list.h"
#include "core/experience/hint.h"
#include "core/issue.h"
#include "evolution/knowledge/retrieve_state.h"

#define ARENA_BYTES   ((size_t)256 << 20)
#define INDEX_ENTRIES (4u << 20)
#define DEPTH_MOST    4.0
#define PIECE_BYTES   400 /* of a source: about as many words as a query has */
#define SOURCE_BYTES  65536
#define VARIED        24  /* entries of a draft that are put in order by families */
#define ALIKE         0.2 /* what one counts less for each before it that is about the same family */

/* ---- what there is ---- */

static size_t count_words(const char *const *list)
{
    size_t count = 0;
    while (list && list[count])
        count++;
    return count;
}

static int is_any_excepted(const char *except, const char *const *families, size_t count)
{
    for (size_t i = 0; families && i < count; i++)
        if (atoll_word_is_in(except, families[i]))
            return 1;
    return 0;
}

/* What lists of names say, as triggers; a name that no trigger has is the check's business. */
static int read_triggers(struct atoll_retrieval *r, const struct atoll_knowledge_entry *e,
                         struct atoll_retrieval_triggers *ret, struct atoll_err *err)
{
    const struct {
        const char *kind;
        const char *const *names;
    } lists[] = {{"error", e->errors}, {"limiter", e->limiters}, {"stall", e->stalls}, {"unused", e->unused}};
    size_t count = 0;
    for (size_t l = 0; l < sizeof(lists) / sizeof(*lists); l++)
        count += count_words(lists[l].names);
    if (!(ret->items = atoll_arena_alloc_array(r->arena, count, sizeof(*ret->items), err)))
        return -1;
    for (size_t l = 0; l < sizeof(lists) / sizeof(*lists); l++) {
        for (const char *const *name = lists[l].names; name && *name; name++) {
            char text[ATOLL_HINT_TRIGGER_BYTES];
            snprintf(text, sizeof(text), "%s %s", lists[l].kind, *name);
            if (atoll_trigger_parse(text, &ret->items[ret->count], NULL) == 0)
                ret->count++;
        }
    }
    return 0;
}

static void put_list(struct atoll_buffer *out, const char *const *list)
{
    for (; list && *list; list++)
        atoll_buffer_printf(out, "%s ", *list);
}

static int add_entry(struct atoll_retrieval *r, size_t at, struct atoll_err *err)
{
    const struct atoll_knowledge_entry *e = &r->base->entries[at];
    const char *texts[] = {e->id,    e->what, e->message, e->wrong,  e->right, e->before,
                           e->after, e->why,  e->applies, e->kernel, e->text};
    static const struct atoll_hint_statistics none;
    struct atoll_id id = atoll_id_of(e->id, strlen(e->id));
    struct atoll_buffer all;
    atoll_buffer_init(&all, (size_t)4 << 20);
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        atoll_buffer_printf(&all, "%s\n", texts[i] ? texts[i] : "");
    put_list(&all, e->families);
    put_list(&all, e->about);
    put_list(&all, e->features);
    put_list(&all, e->learn);
    int rc = atoll_buffer_check(&all, err);
    rc = rc == 0 ? read_triggers(r, e, &r->triggers[at], err) : rc;
    rc = rc == 0 ? atoll_text_index_add(r->entries, (const char *)all.data, all.length, err) : rc;
    rc = rc == 0 ? atoll_hint_ledger_add(&r->ledger, &id, &none, err) : rc;
    atoll_buffer_fini(&all);
    return rc;
}

static int keep_kernel(struct atoll_retrieval *r, const struct atoll_kernel_text *k, const char *except,
                       struct atoll_err *err)
{
    static const struct atoll_hint_statistics none;
    struct atoll_id id = atoll_id_of(k->name, strlen(k->name));
    struct atoll_buffer head;
    if (is_any_excepted(except, k->families, k->family_count))
        return 0;
    if (atoll_array_reserve(&r->kernels, &r->kernel_capacity, r->kernel_count + 1, sizeof(*r->kernels),
                            err) != 0 ||
        atoll_array_reserve(&r->kernel_sources, &r->source_capacity, r->kernel_count + 1,
                            sizeof(*r->kernel_sources), err) != 0) {
        return -1;
    }
    atoll_buffer_init(&head, (size_t)1 << 20);
    atoll_buffer_printf(&head, "%s %s %s %s %s", k->task, k->category, k->summary, k->types, k->note);
    int rc = atoll_buffer_check(&head, err);
    rc = rc == 0 ? atoll_text_index_add(r->heads, (const char *)head.data, head.length, err) : rc;
    rc = rc == 0 ? atoll_text_index_add(r->sources, k->source, strlen(k->source), err) : rc;
    rc = rc == 0 ? atoll_hint_ledger_add(&r->ledger, &id, &none, err) : rc;
    atoll_buffer_fini(&head);
    r->kernel_sources[r->kernel_count] = atoll_id_of(k->source, strlen(k->source));
    r->kernels[r->kernel_count] = *k;
    r->kernel_count += rc == 0;
    return rc;
}

/* The text of an example that is shown to nobody, under another name. */
static int is_hidden(const struct atoll_knowledge_base *base, const char *except, const char *source)
{
    for (size_t i = 0; i < base->count; i++) {
        const struct atoll_knowledge_entry *e = &base->entries[i];
        if (e->kind == ATOLL_KNOWLEDGE_EXAMPLE &&
            (!atoll_knowledge_is_proven(e) ||
             is_any_excepted(except, e->families, count_words(e->families))) &&
            atoll_knowledge_is_kernel_of(e, source))
            return 1;
    }
    return 0;
}

static const char *first_word(const char *const *list)
{
    return list && list[0] && strcmp(list[0], ATOLL_KNOWLEDGE_ANY) != 0 ? list[0] : "";
}

/* A proven example as a kernel of its task. */
static int add_example(struct atoll_retrieval *r, const struct atoll_knowledge_entry *e, const char *except,
                       struct atoll_err *err)
{
    const char *task = e->task ? strrchr(e->task, '/') : NULL, *suffix = strrchr(e->kernel_path, '.');
    char name[2 * ATOLL_KNOWLEDGE_PATH_BYTES], shape[512] = "";
    size_t used = 0;
    const struct atoll_knowledge_measurement *m = &e->measured[0];
    for (size_t i = 0; i < m->dims.count && used < sizeof(shape) - 64; i++)
        used += (size_t)snprintf(shape + used, sizeof(shape) - used, "%s%.32s=%llu", i ? " " : "",
                                 m->dims.names[i], (unsigned long long)m->dims.values[i]);
    int length = snprintf(name, sizeof(name), "examples/%s%s", e->id, suffix ? suffix : "");
    struct atoll_kernel_text k = {
        .language = first_word(e->languages),
        .task = task ? task + 1 : "",
        .category = "",
        .summary = e->what,
        .task_id = "",
        .types = "",
        .form = "",
        .device = m->device ? m->device : "",
        .family = first_word(e->devices),
        .time_us = m->time_us,
        .note = e->learn && e->learn[0] ? e->learn[0] : "",
        .source = e->kernel,
    };
    k.name = atoll_arena_text(r->arena, name, (size_t)length, err);
    k.shape = k.name ? atoll_arena_text(r->arena, shape, strlen(shape), err) : NULL;
    if (!k.shape)
        return -1;
    for (; e->families && e->families[k.family_count] && k.family_count < ATOLL_KERNEL_FAMILY_LIMIT;
         k.family_count++)
        k.families[k.family_count] = e->families[k.family_count];
    return keep_kernel(r, &k, except, err);
}

static int add_kernels(struct atoll_retrieval *r, const struct atoll_knowledge_pack *pack, const char *except,
                       struct atoll_err *err)
{
    for (size_t i = 0; i < r->base->count; i++) {
        const struct atoll_knowledge_entry *e = &r->base->entries[i];
        if (e->kind == ATOLL_KNOWLEDGE_EXAMPLE && atoll_knowledge_is_proven(e) && e->kernel &&
            add_example(r, e, except, err) != 0)
            return -1;
    }
    for (uint32_t i = 0; pack && i < pack->count; i++) {
        struct atoll_kernel_text k;
        int got = atoll_kernel_text_read(&pack->files[i], &r->base->index, r->arena, &k, err);
        if (got < 0 ||
            (got > 0 && !is_hidden(r->base, except, k.source) && keep_kernel(r, &k, except, err) != 0))
            return -1;
    }
    return 0;
}

/* Examples of what is left out are entries all the same: they are marked as such, so that positions are the base's. */
static int add_entries(struct atoll_retrieval *r, struct atoll_err *err)
{
    r->triggers = atoll_arena_alloc_array(r->arena, r->base->count, sizeof(*r->triggers), err);
    if (!r->triggers)
        return -1;
    for (size_t i = 0; i < r->base->count; i++)
        if (add_entry(r, i, err) != 0)
            return -1;
    return 0;
}

struct atoll_retrieval *atoll_retrieval_create(const struct atoll_knowledge_base *base,
                                               const struct atoll_knowledge_pack *pack, const char *except,
                                               struct atoll_err *err)
{
    struct atoll_retrieval *r = calloc(1, sizeof(*r));
    if (!r) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory to look up knowledge");
        return NULL;
    }
    r->base = base;
    r->ledger.kinds = ATOLL_BRIEFS_OF_KNOWLEDGE;
    if ((r->arena = atoll_arena_create(ARENA_BYTES, err)) &&
        (r->entries = atoll_text_index_create(INDEX_ENTRIES, err)) &&
        (r->heads = atoll_text_index_create(INDEX_ENTRIES, err)) &&
        (r->sources = atoll_text_index_create(INDEX_ENTRIES, err)) && add_entries(r, err) == 0 &&
        add_kernels(r, pack, except, err) == 0) {
        r->except = except ? atoll_arena_text(r->arena, except, strlen(except), err) : "";
        if (r->except)
            return r;
    }
    atoll_retrieval_destroy(r);
    return NULL;
}

void atoll_retrieval_destroy(struct atoll_retrieval *r)
{
    if (!r)
        return;
    atoll_text_index_destroy(r->entries);
    atoll_text_index_destroy(r->heads);
    atoll_text_index_destroy(r->sources);
    atoll_hint_ledger_fini(&r->ledger);
    atoll_arena_destroy(r->arena);
    free(r->kernels);
    free(r->kernel_sources);
    free(r);
}

uint32_t atoll_retrieval_kernel_count(const struct atoll_retrieval *r)
{
    return r->kernel_count;
}

/* ---- words ---- */

void atoll_retrieval_score(const struct atoll_text_index *index, const char *words, double *ret_scores)
{
    uint32_t count = atoll_text_index_count(index);
    struct atoll_text_hit *hits = calloc(count ? count : 1, sizeof(*hits));
    struct atoll_text_query query;
    memset(ret_scores, 0, count * sizeof(*ret_scores));
    if (!hits)
        return; /* words do not count this time */
    atoll_text_query_init(&query, words, strlen(words));
    size_t found = atoll_text_index_find(index, &query, hits, count);
    for (size_t i = 0; i < found; i++)
        ret_scores[hits[i].text] = hits[i].score / hits[0].score;
    free(hits);
}

void atoll_retrieval_score_text(const struct atoll_text_index *index, const char *text, double *ret_scores)
{
    uint32_t count = atoll_text_index_count(index);
    struct atoll_text_hit *hits = calloc(count ? count : 1, sizeof(*hits));
    struct atoll_text_query query;
    size_t length = strlen(text);
    double best = 0;
    memset(ret_scores, 0, count * sizeof(*ret_scores));
    for (size_t at = 0; hits && at < length && at < SOURCE_BYTES; at += PIECE_BYTES) {
        atoll_text_query_init(&query, text + at, length - at < PIECE_BYTES ? length - at : PIECE_BYTES);
        size_t found = atoll_text_index_find(index, &query, hits, count);
        for (size_t i = 0; i < found; i++)
            ret_scores[hits[i].text] += hits[i].score;
    }
    for (uint32_t i = 0; i < count; i++)
        best = fmax(best, ret_scores[i]);
    for (uint32_t i = 0; i < count && best > 0; i++)
        ret_scores[i] /= best;
    free(hits);
}

void atoll_retrieval_put_task(const struct atoll_task *task, char *text, size_t bytes)
{
    size_t used = (size_t)snprintf(text, bytes, "%s %s", task->name, task->category ? task->category : "");
    for (size_t i = 0; i < task->tag_count && used < bytes; i++)
        used += (size_t)snprintf(text + used, bytes - used, " %s", task->tags[i]);
    if (used < bytes)
        snprintf(text + used, bytes - used, " %s", task->summary ? task->summary : "");
}

/* ---- which may be told ---- */

int atoll_retrieval_is_for(const char *const *devices, const char *family)
{
    for (size_t i = 0; devices && devices[i]; i++)
        if (strcmp(devices[i], ATOLL_KNOWLEDGE_ANY) == 0 ||
            (*family && atoll_device_family_holds(devices[i], family)))
            return 1;
    return devices == NULL;
}

/* What a query comes to, once for all entries. */
struct view {
    const struct atoll_retrieval_query *q;
    const char *families[ATOLL_KERNEL_FAMILY_LIMIT];
    size_t family_count;
    char name[1024]; /* of the task, and its summary */
    int is_wrong;
    double progress;             /* 0..1 */
    double *by_task, *by_source; /* scores of words */
    double *by_failure;          /* of messages; NULL without one */
};

static int has_word(const char *const *list, const char *word)
{
    for (; list && *list; list++)
        if (strcmp(*list, word) == 0 || strcmp(*list, ATOLL_KNOWLEDGE_ANY) == 0)
            return 1;
    return 0;
}

static int is_of_family(const struct view *v, const struct atoll_knowledge_entry *e)
{
    if (has_word(e->families, ATOLL_KNOWLEDGE_ANY))
        return 1;
    for (size_t i = 0; i < v->family_count; i++)
        if (has_word(e->families, v->families[i]))
            return 1;
    return 0;
}

/* Of the device's family, or of a narrower one that its features name; with all features that it needs.  A device whose features are
 * not known may have all of them. */
int atoll_retrieval_fits_device(const struct atoll_knowledge_entry *e, const char *family,
                                const char *const *features)
{
    int is_of_device = atoll_retrieval_is_for(e->devices, family);
    for (const char *const *d = e->devices; d && *d && features; d++)
        is_of_device |= has_word(features, *d);
    for (const char *const *f = e->features; f && *f && features; f++)
        if (!has_word(features, *f))
            return 0;
    return is_of_device;
}

/* Whether the task computes with what one of its features is for: has it in a tensor, or may use it inside. */
static int suits_types(const struct atoll_task *task, const struct atoll_knowledge_device *feature)
{
    for (const char *const *name = feature->types; name && *name; name++) {
        enum atoll_dtype type;
        if (atoll_dtype_parse(*name, &type) != 0)
            continue;
        if (task->precisions >> type & 1)
            return 1;
        for (size_t i = 0; i < task->tensor_count; i++)
            if (task->tensors[i].dtype == type)
                return 1;
    }
    return feature->types == NULL;
}

static int has_types(const struct atoll_retrieval *r, const struct view *v,
                     const struct atoll_knowledge_entry *e)
{
    for (const char *const *f = e->features; f && *f && v->q->task; f++) {
        const struct atoll_knowledge_device *feature = atoll_knowledge_feature_find(&r->base->index, *f);
        if (feature && !suits_types(v->q->task, feature))
            return 0;
    }
    return 1;
}

/* The very message that an entry says it causes: then it is told, whatever family the task is of. */
static int is_said(const struct view *v, const struct atoll_knowledge_entry *e)
{
    return v->is_wrong && e->message && strlen(e->message) >= 8 && v->q->message &&
           strstr(v->q->message, e->message) != NULL;
}

static int may_be_told(const struct atoll_retrieval *r, uint32_t at, const struct view *v)
{
    const struct atoll_knowledge_entry *e = &r->base->entries[at];
    struct atoll_hint_statistics whole = atoll_hint_account_whole(&r->ledger.accounts[at]);
    int is_critical = e->kind == ATOLL_KNOWLEDGE_CONSTRAINT && e->severity == ATOLL_KNOWLEDGE_CRITICAL;
    int is_example = e->kind == ATOLL_KNOWLEDGE_EXAMPLE;
    return atoll_knowledge_has(e->languages, v->q->language ? v->q->language : "") &&
           atoll_retrieval_fits_device(e, v->q->device ? v->q->device : "", v->q->features) &&
           has_types(r, v, e) && (!e->families || is_of_family(v, e) || is_said(v, e)) &&
           (is_critical || !atoll_hint_is_losing(&whole)) &&
           (!is_example || (atoll_knowledge_is_proven(e) &&
                            !is_any_excepted(r->except, e->families, count_words(e->families))));
}

static int is_called_for(const struct atoll_retrieval *r, uint32_t at, const struct view *v)
{
    const struct atoll_retrieval_triggers *t = &r->triggers[at];
    for (size_t i = 0; i < t->count; i++)
        if (atoll_trigger_holds(&t->items[i], v->q->diagnosis))
            return 1;
    for (const char *const *cell = v->q->cells; cell && *cell && !v->is_wrong; cell++)
        if (has_word(r->base->entries[at].cells, *cell))
            return 1;
    return is_said(v, &r->base->entries[at]);
}

/* ---- how well ---- */

/* How much a first draft can make of it: what decides about a kernel's shape before what polishes it. */
static double breadth_of(const struct atoll_knowledge_entry *e)
{
    static const double stages[ATOLL_ISSUE_STAGE_COUNT] = {
        [ATOLL_ISSUE_STAGE_ALGORITHM] = 1,    [ATOLL_ISSUE_STAGE_DISCOVERY] = 0.7,
        [ATOLL_ISSUE_STAGE_DTYPE] = 0.8,      [ATOLL_ISSUE_STAGE_FUSION] = 0.9,
        [ATOLL_ISSUE_STAGE_MEMORY] = 0.8,     [ATOLL_ISSUE_STAGE_ADDRESSING] = 0.5,
        [ATOLL_ISSUE_STAGE_PERSISTENT] = 0.4, [ATOLL_ISSUE_STAGE_DEVICE] = 0.7,
        [ATOLL_ISSUE_STAGE_TUNING] = 0.3};
    switch (e->kind) {
    case ATOLL_KNOWLEDGE_PATTERN:
        return (unsigned)e->stage < ATOLL_ISSUE_STAGE_COUNT ? stages[e->stage] : 0.3;
    case ATOLL_KNOWLEDGE_EXAMPLE: return 0.9;
    case ATOLL_KNOWLEDGE_HARDWARE: return 0.6;
    default: return e->severity == ATOLL_KNOWLEDGE_INFO ? 0.1 : 0.5;
    }
}

/* Which family of the task its first one is; family_count: none. */
static size_t family_of(const struct view *v, const struct atoll_knowledge_entry *e)
{
    size_t i = 0;
    while (i < v->family_count && !(e->families && strcmp(e->families[0], v->families[i]) == 0))
        i++;
    return i;
}

/* Its first family is what it is about before all else; of a whole kernel the others say little. */
static double family_fit(const struct view *v, const struct atoll_knowledge_entry *e)
{
    if (family_of(v, e) < v->family_count)
        return 1;
    return e->families && e->kind != ATOLL_KNOWLEDGE_EXAMPLE ? 0.6 : 0.2;
}

/* Whether the task has a tensor of a type, by the beginning of its name. */
static int has_type(const struct atoll_task *task, const char *type)
{
    for (size_t i = 0; i < task->tensor_count; i++)
        if (strncmp(atoll_dtype_name(task->tensors[i].dtype), type, strlen(type)) == 0)
            return 1;
    return 0;
}

/* Named after a type that the task has not. */
static int is_of_other_type(const struct view *v, const struct atoll_knowledge_entry *e)
{
    static const struct {
        const char *word, *type;
    } known[] = {{"bf16", "bf16"}, {"f16", "f16"}, {"f8", "f8"},   {"fp8", "f8"},
                 {"f64", "f64"},   {"vnni", "i8"}, {"int8", "i8"}, {"amx", "bf16"}};
    for (const char *at = e->id; v->q->task && *at; at += strcspn(at, "-"), at += *at == '-')
        for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
            if (strcspn(at, "-") == strlen(known[i].word) &&
                strncmp(at, known[i].word, strlen(known[i].word)) == 0)
                return !has_type(v->q->task, known[i].type);
    return 0;
}

/* An entry that is about tasks of some kind fits these better than one about all of the family, and others worse. */
static double about_fit(const struct view *v, const struct atoll_knowledge_entry *e)
{
    if (!e->about)
        return 0;
    if (!atoll_knowledge_names_any(v->name, e->about))
        return -1.5;
    return family_of(v, e) < v->family_count ? 0.5 : 0;
}

static double fit_of(const struct atoll_retrieval *r, uint32_t at, const struct view *v, int called_for)
{
    const struct atoll_knowledge_entry *e = &r->base->entries[at];
    int is_pattern = e->kind == ATOLL_KNOWLEDGE_PATTERN, has_triggers = r->triggers[at].count > 0 || e->cells;
    double p = v->progress, family = family_fit(v, e),
           device = e->features                                                ? 1
                    : e->devices && !has_word(e->devices, ATOLL_KNOWLEDGE_ANY) ? 0.7
                                                                               : 0;
    if (v->is_wrong) {
        double said = v->by_failure ? v->by_failure[at] : 0;
        double kind = e->kind == ATOLL_KNOWLEDGE_CONSTRAINT ? 0.6 : is_pattern ? -0.6 : 0;
        return called_for || said > 0.25
                   ? 3 * called_for + 2 * said + 0.5 * v->by_task[at] + v->by_source[at] + 0.3 * family + kind
                   : 0;
    }
    int is_of_stage = is_pattern && (uint8_t)e->stage == v->q->stage;
    double fit = (1.2 + 1.8 * p) * called_for + (1.5 - 0.9 * p) * family + (1.5 - 1.1 * p) * breadth_of(e) +
                 0.6 * device + 0.8 * v->by_task[at] + 0.5 * v->by_source[at] + 1.5 * is_of_stage;
    if (v->q->diagnosis && has_triggers && !called_for)
        fit *= 0.6; /* it answers to another diagnosis */
    fit += about_fit(v, e) - is_of_other_type(v, e);
    if (p >= 0.5 && !called_for && !is_of_stage && v->by_task[at] < 0.5)
        fit = 0; /* by now there is evidence for what matters */
    return fit;
}

static size_t kind_limit(enum atoll_knowledge_kind kind, int is_wrong)
{
    switch (kind) {
    case ATOLL_KNOWLEDGE_HARDWARE: return is_wrong ? 2 : 3;
    case ATOLL_KNOWLEDGE_EXAMPLE: return 1;
    case ATOLL_KNOWLEDGE_CONSTRAINT: return is_wrong ? 5 : 3;
    default: return is_wrong ? 2 : 5;
    }
}

static int by_score(const void *a, const void *b)
{
    const struct atoll_retrieved *x = a, *y = b;
    if (x->is_critical != y->is_critical)
        return y->is_critical - x->is_critical;
    if (x->score > y->score || x->score < y->score)
        return x->score > y->score ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* All that may be told, the best first; returns how many. */
static size_t rank(const struct atoll_retrieval *r, const struct view *v, struct atoll_retrieved *all)
{
    size_t count = 0;
    for (uint32_t at = 0; at < r->base->count; at++) {
        const struct atoll_knowledge_entry *e = &r->base->entries[at];
        if (!may_be_told(r, at, v))
            continue;
        struct atoll_hint_statistics whole = atoll_hint_account_whole(&r->ledger.accounts[at]);
        struct atoll_retrieved *f = &all[count];
        *f = (struct atoll_retrieved){.at = at,
                                      .is_critical = e->kind == ATOLL_KNOWLEDGE_CONSTRAINT &&
                                                     e->severity == ATOLL_KNOWLEDGE_CRITICAL,
                                      .is_called_for = is_called_for(r, at, v)};
        f->has_code = !f->is_critical || f->is_called_for || v->q->is_first_draft;
        f->score = fit_of(r, at, v, f->is_called_for) * fmin(1.5, fmax(0.5, atoll_hint_lift(&whole)));
        count += f->is_critical || f->score > 0.3;
    }
    if (count)
        qsort(all, count, sizeof(*all), by_score);
    return count;
}

/* Fewer with every improvement: what is told then is what the evidence calls for. */
static size_t entry_limit(const struct view *v)
{
    size_t fewer = v->is_wrong ? 2 : (size_t)(3 * v->progress);
    size_t limit = ATOLL_RETRIEVE_ENTRIES - fewer;
    return v->q->is_narrow ? (limit + 1) / 2 : limit;
}

static double less_of(const struct atoll_retrieval *r, const struct view *v, const size_t *told,
                      const struct atoll_retrieved *f)
{
    size_t family = family_of(v, &r->base->entries[f->at]);
    return family < v->family_count ? ALIKE * (double)told[family] : 0;
}

/* A draft of a task of several families is told of each: what is first about one that others before it were about counts less. */
static void vary(const struct atoll_retrieval *r, const struct view *v, struct atoll_retrieved *all,
                 size_t count)
{
    size_t told[ATOLL_KERNEL_FAMILY_LIMIT] = {0}, first = 0;
    if (v->is_wrong || v->q->diagnosis || v->family_count < 2)
        return;
    while (first < count && all[first].is_critical)
        first++;
    for (size_t to = first; to < count && to < first + VARIED; to++) {
        size_t best = to;
        for (size_t i = to; i < count; i++)
            if (all[i].score - less_of(r, v, told, &all[i]) >
                all[best].score - less_of(r, v, told, &all[best]))
                best = i;
        struct atoll_retrieved kept = all[best];
        kept.score -= less_of(r, v, told, &kept);
        memmove(&all[to + 1], &all[to], (best - to) * sizeof(*all));
        all[to] = kept;
        size_t family = family_of(v, &r->base->entries[kept.at]);
        told[family < v->family_count ? family : 0] += family < v->family_count;
    }
}

static size_t choose(const struct atoll_retrieval *r, const struct view *v, const struct atoll_retrieved *all,
                     size_t count, struct atoll_retrieved *ret_found, size_t limit)
{
    size_t kinds[ATOLL_KNOWLEDGE_KIND_COUNT] = {0}, chosen = 0, critical = 0, others = 0;
    for (size_t i = 0; i < count && chosen < limit; i++) {
        enum atoll_knowledge_kind kind = r->base->entries[all[i].at].kind;
        if (all[i].is_critical ? critical++ >= ATOLL_RETRIEVE_CRITICAL
                               : others >= entry_limit(v) || kinds[kind] >= kind_limit(kind, v->is_wrong))
            continue;
        if (!all[i].is_critical) {
            kinds[kind]++;
            others++;
        }
        ret_found[chosen++] = all[i];
    }
    return chosen;
}

static void view_init(struct view *v, const struct atoll_retrieval *r, const struct atoll_retrieval_query *q)
{
    const struct atoll_diagnosis *d = q->diagnosis;
    *v = (struct view){.q = q, .is_wrong = d && d->error != ATOLL_ERROR_NONE};
    v->progress = d && !v->is_wrong ? fmin(q->depth, DEPTH_MOST) / DEPTH_MOST : 0;
    if (!q->task)
        return;
    v->family_count =
        atoll_knowledge_families(&r->base->index, q->task, v->families, ATOLL_KERNEL_FAMILY_LIMIT);
    snprintf(v->name, sizeof(v->name), "%s %s", q->task->name, q->task->summary ? q->task->summary : "");
}

/* Of the task, the words given, and what the diagnosis says in words. */
static void score_words(const struct atoll_retrieval *r, struct view *v)
{
    char words[ATOLL_RETRIEVE_WORDS_BYTES] = "", task[ATOLL_RETRIEVE_WORDS_BYTES] = "",
         label[ATOLL_DIAGNOSIS_BYTES] = "";
    const struct atoll_retrieval_query *q = v->q;
    if (q->task)
        atoll_retrieval_put_task(q->task, task, sizeof(task));
    if (q->diagnosis)
        atoll_diagnosis_label(q->diagnosis, label, sizeof(label));
    snprintf(words, sizeof(words), "%.1000s %.200s %.2000s", q->words ? q->words : "", label, task);
    atoll_retrieval_score(r->entries, words, v->by_task);
    if (q->source)
        atoll_retrieval_score_text(r->entries, q->source, v->by_source);
    if (v->by_failure)
        atoll_retrieval_score(r->entries, q->message, v->by_failure);
}

size_t atoll_retrieval_entries(struct atoll_retrieval *r, const struct atoll_retrieval_query *q,
                               struct atoll_retrieved *ret_found, size_t limit)
{
    struct view v;
    size_t count = r->base->count, chosen = 0;
    double *scores = calloc(3 * count + 1, sizeof(*scores));
    struct atoll_retrieved *all = calloc(count + 1, sizeof(*all));
    view_init(&v, r, q);
    if (scores && all) { /* else nothing is told this time */
        v.by_task = scores;
        v.by_source = scores + count;
        v.by_failure = v.is_wrong && q->message ? scores + 2 * count : NULL;
        score_words(r, &v);
        size_t ranked = rank(r, &v, all);
        vary(r, &v, all, ranked);
        chosen = choose(r, &v, all, ranked, ret_found, limit);
    }
    free(scores);
    free(all);
    return chosen;
}

/* ---- what came of it ---- */

int atoll_retrieval_used(struct atoll_retrieval *r, const struct atoll_diagnosis *diagnosis,
                         const struct atoll_briefing *briefing, struct atoll_err *err)
{
    return atoll_hint_ledger_used(&r->ledger, diagnosis, briefing, err);
}

void atoll_retrieval_credit(struct atoll_retrieval *r, uint64_t ask, double parent_ns,
                            enum atoll_verdict verdict, double child_ns)
{
    atoll_hint_ledger_credit(&r->ledger, ask, parent_ns, verdict, child_ns);
}
