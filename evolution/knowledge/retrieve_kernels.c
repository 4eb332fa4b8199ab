/* retrieve_kernels.c - kernels of other tasks: by operator families that both are of, words of their tasks, types and shapes of their tensors, and
 * identifiers of reference and source; where a model made vectors of them, by these, too.  One kernel a task, and one of each text:
 * suites hold the same source under several names, and others that differ in a few lines: who tells
 * of them can have one of these (atoll_retrieval_once). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/experience/hint.h"
#include "evolution/knowledge/retrieve_state.h"

/* What reference and kernels call things. */
static const char *reference_of(const struct atoll_task *task)
{
    return task->reference_source ? task->reference_source : task->torch ? task->torch->source : "";
}

static size_t count_in(const char *word, size_t length, const char *text)
{
    size_t count = 0;
    for (const char *at = text; *at;) {
        size_t n = strcspn(at, " ");
        count += n == length && memcmp(at, word, n) == 0;
        at += n + strspn(at + n, " ");
    }
    return count;
}

/* Share of the words of both that they have in common, each as often as it is there. */
static double common_words(const char *a, const char *b)
{
    size_t common = 0, whole = 0;
    for (const char *at = a; *at;) {
        size_t n = strcspn(at, " "), seen = 0;
        for (const char *before = a; before < at;) {
            size_t m = strcspn(before, " ");
            seen += m == n && memcmp(before, at, n) == 0;
            before += m + strspn(before + m, " ");
        }
        common += seen < count_in(at, n, b);
        whole++;
        at += n + strspn(at + n, " ");
    }
    for (const char *at = b; *at; at += strspn(at, " ")) {
        at += strcspn(at, " ");
        whole++;
    }
    whole -= common;
    return whole ? (double)common / (double)whole : 0;
}

struct kernel_view {
    const struct atoll_retrieval_query *q;
    const char *families[ATOLL_KERNEL_FAMILY_LIMIT], *category, *types, *form;
    size_t family_count;
    double *by_head, *by_source;
    char id[ATOLL_ID_HEX];
};

static double common_families(const struct kernel_view *v, const struct atoll_kernel_text *k)
{
    size_t common = 0;
    for (size_t i = 0; i < v->family_count; i++)
        for (size_t j = 0; j < k->family_count; j++)
            common += strcmp(v->families[i], k->families[j]) == 0;
    size_t whole = v->family_count + k->family_count - common;
    return whole ? (double)common / (double)whole : 0;
}

static int may_be_shown(const struct atoll_retrieval *r, uint32_t at, const struct kernel_view *v)
{
    const struct atoll_kernel_text *k = &r->kernels[at];
    struct atoll_hint_statistics whole = atoll_hint_account_whole(&r->ledger.accounts[r->base->count + at]);
    return strcmp(k->language, v->q->language ? v->q->language : "") == 0 &&
           strcmp(k->task, v->q->task->name) != 0 && strcmp(k->task_id, v->id) != 0 &&
           (!*k->family || !v->q->device || atoll_device_family_holds(k->family, v->q->device)) &&
           !atoll_hint_is_losing(&whole);
}

static double likeness(const struct atoll_retrieval *r, uint32_t at, const struct kernel_view *v)
{
    const struct atoll_kernel_text *k = &r->kernels[at];
    int is_same_category = *v->category && strcmp(v->category, k->category) == 0;
    double fit = 2.5 * common_families(v, k) + 0.5 * is_same_category + 1.6 * v->by_head[at] +
                 0.6 * v->by_source[at] + 0.5 * common_words(v->types, k->types) +
                 1.2 * common_words(v->form, k->form);
    return fit + 0.15 * (k->time_us > 0) + 0.1 * fmin(1, log1p(k->gain) / 3);
}

static int by_score(const void *a, const void *b)
{
    const struct atoll_retrieved *x = a, *y = b;
    if (x->score > y->score || x->score < y->score)
        return x->score > y->score ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static double cosine(const float *a, const float *b, size_t length)
{
    double dot = 0, aa = 0, bb = 0;
    for (size_t i = 0; i < length; i++) {
        dot += (double)a[i] * (double)b[i];
        aa += (double)a[i] * (double)a[i];
        bb += (double)b[i] * (double)b[i];
    }
    return aa > 0 && bb > 0 ? dot / sqrt(aa * bb) : 0;
}

/* Both as one: each from 0 to 1, added. */
static void fuse(const struct atoll_retrieval *r, struct atoll_retrieved *all, size_t count, double *cosines)
{
    double least = 1, most = -1, best = count ? all[0].score : 0;
    for (size_t i = 0; i < count; i++) {
        const float *vector = r->kernel_vectors + all[i].at * r->vector_length;
        cosines[i] = cosine(vector, r->task_vector, r->vector_length);
        least = fmin(least, cosines[i]);
        most = fmax(most, cosines[i]);
    }
    for (size_t i = 0; i < count; i++)
        all[i].score =
            (best > 0 ? all[i].score / best : 0) + (most > least ? (cosines[i] - least) / (most - least) : 0);
    qsort(all, count, sizeof(*all), by_score);
}

static int is_there(const struct atoll_retrieval *r, const struct atoll_retrieved *found, size_t count,
                    uint32_t at)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(r->kernels[found[i].at].task, r->kernels[at].task) == 0 ||
            atoll_id_equal(&r->kernel_sources[found[i].at], &r->kernel_sources[at]))
            return 1;
    return 0;
}

static size_t choose(const struct atoll_retrieval *r, struct kernel_view *v, struct atoll_retrieved *all,
                     struct atoll_retrieved *ret_found, size_t limit)
{
    char words[ATOLL_RETRIEVE_WORDS_BYTES];
    size_t count = 0, chosen = 0;
    atoll_retrieval_put_task(v->q->task, words, sizeof(words));
    atoll_retrieval_score(r->heads, words, v->by_head);
    atoll_retrieval_score(r->sources, reference_of(v->q->task), v->by_source);
    for (uint32_t at = 0; at < r->kernel_count; at++)
        if (may_be_shown(r, at, v))
            all[count++] = (struct atoll_retrieved){
                .kind = ATOLL_RETRIEVED_KERNEL, .at = at, .score = likeness(r, at, v)};
    if (count)
        qsort(all, count, sizeof(*all), by_score);
    if (r->kernel_vectors && r->task_vector)
        fuse(r, all, count, v->by_head); /* which are in the scores by now */
    for (size_t i = 0; i < count && chosen < limit; i++)
        if (!is_there(r, ret_found, chosen, all[i].at))
            ret_found[chosen++] = all[i];
    return chosen;
}

size_t atoll_retrieval_kernels(struct atoll_retrieval *r, const struct atoll_retrieval_query *q,
                               struct atoll_retrieved *ret_found, size_t limit)
{
    size_t count = r->kernel_count, chosen = 0;
    if (!q->task || count == 0)
        return 0;
    struct kernel_view v = {.q = q, .category = q->task->category ? q->task->category : ""};
    struct atoll_arena *arena = atoll_arena_create((size_t)1 << 16, NULL);
    double *scores = calloc(2 * count, sizeof(*scores));
    struct atoll_retrieved *all = calloc(count, sizeof(*all));
    v.types = arena ? atoll_kernel_types(q->task, arena, NULL) : NULL;
    v.form = arena ? atoll_kernel_form(q->task, arena, NULL) : NULL;
    if (scores && all && v.types && v.form) { /* else none is shown this time */
        v.by_head = scores;
        v.by_source = scores + count;
        v.family_count =
            atoll_knowledge_families(&r->base->index, q->task, v.families, ATOLL_KERNEL_FAMILY_LIMIT);
        atoll_id_hex(&q->task->id, v.id);
        chosen = choose(r, &v, all, ret_found, limit);
    }
    atoll_arena_destroy(arena);
    free(scores);
    free(all);
    return chosen;
}

/* ---- near-equal ones ---- */

#define LINE_LIMIT 4096 /* of a source */
#define LEAST_LINE 4    /* bytes: braces say nothing */
#define NEAR       0.7  /* part of the lines of both that they share */

/* The lines of a source without what they are indented by, sorted. */
struct lines {
    size_t count;
    struct line {
        const char *text;
        size_t length;
    } lines[LINE_LIMIT];
};

static int by_line(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    int order = memcmp(x->text, y->text, x->length < y->length ? x->length : y->length);
    return order ? order : (x->length > y->length) - (x->length < y->length);
}

static void read_lines(const char *source, struct lines *ret_lines)
{
    ret_lines->count = 0;
    for (const char *at = source; *at && ret_lines->count < LINE_LIMIT;) {
        at += strspn(at, " \t\n");
        size_t length = strcspn(at, "\n");
        if (length >= LEAST_LINE)
            ret_lines->lines[ret_lines->count++] = (struct line){at, length};
        at += length;
    }
    qsort(ret_lines->lines, ret_lines->count, sizeof(*ret_lines->lines), by_line);
}

static int is_near(const struct lines *a, const struct lines *b)
{
    size_t common = 0, i = 0, j = 0;
    while (i < a->count && j < b->count) {
        int order = by_line(&a->lines[i], &b->lines[j]);
        common += order == 0;
        i += order <= 0;
        j += order >= 0;
    }
    return 2 * (double)common > NEAR * (double)(a->count + b->count);
}

/* Whether it is as one that was chosen, which then speaks for it.  pair: room for two; no memory: none is. */
static int is_like(const struct atoll_retrieval *r, struct atoll_retrieved *found, size_t count, uint32_t at,
                   struct lines *pair)
{
    if (pair)
        read_lines(r->kernels[at].source, &pair[0]);
    for (size_t i = 0; pair && i < count; i++) {
        read_lines(r->kernels[found[i].at].source, &pair[1]);
        if (is_near(&pair[0], &pair[1])) {
            found[i].like_count++;
            return 1;
        }
    }
    return 0;
}

size_t atoll_retrieval_once(const struct atoll_retrieval *r, struct atoll_retrieved *found, size_t count,
                            size_t limit)
{
    size_t kept = 0;
    struct lines *pair = calloc(2, sizeof(*pair));
    for (size_t i = 0; i < count; i++)
        if (!is_like(r, found, kept, found[i].at, pair) && kept < limit)
            found[kept++] = found[i];
    free(pair);
    return kept;
}

/* ---- embeddings ---- */

void atoll_retrieval_kernel_words(const struct atoll_retrieval *r, uint32_t at, char *ret_text, size_t bytes)
{
    const struct atoll_kernel_text *k = &r->kernels[at];
    snprintf(ret_text, bytes, "%s: %s\n%s", k->task, k->summary, k->source);
}

void atoll_retrieval_task_words(const struct atoll_task *task, char *ret_text, size_t bytes)
{
    snprintf(ret_text, bytes, "%s: %s\n%s", task->name, task->summary ? task->summary : "",
             reference_of(task));
}

void atoll_retrieval_set_vectors(struct atoll_retrieval *r, const float *kernels, const float *task,
                                 size_t length)
{
    r->kernel_vectors = kernels;
    r->task_vector = task;
    r->vector_length = length;
}
