/* Kernels of similar tasks, measured on a set that was labelled by hand (tests/fixtures/knowledge/kernels.yaml) over the seeds of all
 * suites, as a campaign freezes them. */
#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/yaml.h"
#include "evolution/knowledge/retrieve_state.h"
#include "tests/support/labelled_parts.h"

#define SUITES     ATOLL_SOURCE_DIR "/suites/"
#define LABELS     ATOLL_SOURCE_DIR "/tests/fixtures/knowledge/kernels.yaml"
#define KNOWLEDGE  ATOLL_SOURCE_DIR "/knowledge"
#define TASK_LIMIT 256

static struct corpus {
    struct atoll_arena *arena;
    struct atoll_knowledge_pack *pack;
    struct atoll_knowledge_base *base;
    struct atoll_task *tasks[TASK_LIMIT];
    const char *names[TASK_LIMIT]; /* "gpu/gemm_bf16" */
    size_t task_count;
} corpus;

static int add_task(void *context, const char *dir, struct atoll_err *err)
{
    struct corpus *c = context;
    struct atoll_task *task = atoll_task_load(dir, err);
    const char *below = dir + strlen(SUITES);
    if (!task)
        return -1;
    c->names[c->task_count] = atoll_arena_text(c->arena, below, strlen(below), NULL);
    c->tasks[c->task_count++] = task;
    for (size_t i = 0; i < task->seed_count; i++) {
        char name[256];
        struct atoll_kernel_text k;
        if (task->seeds[i].is_baseline)
            continue;
        int length = snprintf(name, sizeof(name), "%s/%s%s", below, task->seeds[i].name,
                              atoll_kernel_suffix(task->seeds[i].language));
        if (atoll_kernel_text_of(task, atoll_arena_text(c->arena, name, (size_t)length, NULL),
                                 task->seeds[i].language, task->seeds[i].source, NULL, c->arena, &k,
                                 err) != 0 ||
            atoll_kernel_text_put(&k, c->pack, err) != 0)
            return -1;
    }
    return 0;
}

static int set_up(void **state)
{
    static const char *const suites[] = {"attention", "gpu", "hpc", "kernelevolve", "nkibench", "starter"};
    struct atoll_err err = ATOLL_ERR_INIT;
    (void)state;
    corpus.arena = atoll_arena_create((size_t)8 << 20, NULL);
    corpus.pack = atoll_knowledge_pack_read((const char *const[]){KNOWLEDGE}, 1, &err);
    corpus.base = corpus.pack ? atoll_knowledge_base_parse(corpus.pack, NULL, NULL, &err) : NULL;
    if (!corpus.base)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < sizeof(suites) / sizeof(*suites); i++) {
        char dir[512];
        snprintf(dir, sizeof(dir), SUITES "%s", suites[i]);
        if (atoll_suite_visit(dir, add_task, &corpus, &err) != 0)
            fail_msg("%s", err.text);
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (size_t i = 0; i < corpus.task_count; i++)
        atoll_task_destroy(corpus.tasks[i]);
    atoll_knowledge_base_destroy(corpus.base);
    atoll_knowledge_pack_destroy(corpus.pack);
    atoll_arena_destroy(corpus.arena);
    return 0;
}

static const struct atoll_task *task_named(const char *name)
{
    for (size_t i = 0; i < corpus.task_count; i++)
        if (strcmp(corpus.names[i], name) == 0)
            return corpus.tasks[i];
    fail_msg("no task '%s'", name);
    return NULL;
}

/* ---- the labelled set ---- */

struct measuring {
    struct atoll_retrieval *retrieval;
    const struct atoll_yaml_node *groups;
    struct parts parts;
};

struct looking {
    const char *task;
    int is_there;
};

static int look_task(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    struct looking *l = target;
    (void)walk;
    l->is_there |= strcmp(atoll_yaml_scalar(node), l->task) == 0;
    return 0;
}

struct grouping {
    const struct atoll_yaml_node *groups;
    struct looking looking;
};

static int look_group(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    struct grouping *g = target;
    const struct atoll_yaml_node *group = atoll_yaml_find(g->groups, atoll_yaml_scalar(node));
    if (!group)
        return atoll_yaml_fail(walk, node, "no such group");
    return atoll_yaml_list(walk, group, 256, "tasks", look_task, &g->looking);
}

static int is_relevant(struct atoll_yaml_walk *walk, const struct measuring *m,
                       const struct atoll_yaml_node *query, const char *task)
{
    struct grouping g = {m->groups, {task, 0}};
    if (atoll_yaml_list(walk, atoll_yaml_find(query, "groups"), 16, "groups", look_group, &g) != 0)
        fail_msg("%s", walk->err->text);
    return g.looking.is_there;
}

/* How many there are to be found: one a task, and one of each text. */
static size_t count_relevant(struct atoll_yaml_walk *walk, const struct measuring *m,
                             const struct atoll_yaml_node *query, const char *own, const char *language)
{
    const struct atoll_kernel_text *taken[TASK_LIMIT];
    size_t count = 0;
    for (uint32_t i = 0; i < m->retrieval->kernel_count; i++) {
        const struct atoll_kernel_text *k = &m->retrieval->kernels[i];
        size_t known = 0;
        while (known < count && strcmp(taken[known]->task, k->task) != 0 &&
               strcmp(taken[known]->source, k->source) != 0)
            known++;
        if (known == count && strcmp(k->language, language) == 0 && strcmp(k->task, own) != 0 &&
            is_relevant(walk, m, query, k->task))
            taken[count++] = k;
    }
    return count;
}

static int measure(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *query, void *target)
{
    struct measuring *m = target;
    const char *name = atoll_yaml_scalar(atoll_yaml_find(query, "task")),
               *language = atoll_yaml_scalar(atoll_yaml_find(query, "language"));
    const struct atoll_task *task = task_named(name);
    const struct atoll_retrieval_query q = {
        .task = task, .language = language, .device = strcmp(language, "c") == 0 ? "cpu" : "hopper"};
    struct atoll_retrieved found[ATOLL_RETRIEVE_KERNELS];
    size_t wanted = count_relevant(walk, m, query, task->name, language), right = 0, first = 0;
    size_t count = atoll_retrieval_kernels(m->retrieval, &q, found, ATOLL_RETRIEVE_KERNELS);
    if (!wanted)
        fail_msg("%s, %s: nothing to be found", name, language);
    for (size_t i = 0; i < count; i++) {
        const struct atoll_kernel_text *k = &m->retrieval->kernels[found[i].at];
        assert_string_equal(k->language, language);
        assert_true(strcmp(k->task, task->name) != 0 && (i == 0 || found[i - 1].score >= found[i].score));
        int is_right = is_relevant(walk, m, query, k->task);
        right += (size_t)is_right;
        first = is_right && !first ? i + 1 : first;
    }
    wanted = wanted < ATOLL_RETRIEVE_KERNELS ? wanted : ATOLL_RETRIEVE_KERNELS;
    if (right < wanted || first != 1) {
        print_message("%s, %s: %zu of %zu, the first at %zu:", name, language, right, wanted, first);
        for (size_t i = 0; i < count; i++)
            print_message(" %s", m->retrieval->kernels[found[i].at].name);
        print_message("\n");
    }
    parts_add(&m->parts, name, language, NULL, (double)right / (double)wanted, first);
    return 0;
}

static void similar_kernels_are_found(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_yaml *labels = atoll_yaml_load(LABELS, &err);
    struct measuring m = {.retrieval = atoll_retrieval_create(corpus.base, corpus.pack, NULL, &err)};
    (void)state;
    if (!labels || !m.retrieval)
        fail_msg("%s", err.text);
    struct atoll_yaml_walk walk = {labels, corpus.arena, NULL, &err};
    m.groups = atoll_yaml_find(atoll_yaml_root(labels), "groups");
    if (atoll_yaml_list(&walk, atoll_yaml_find(atoll_yaml_root(labels), "queries"), 256, "queries", measure,
                        &m) != 0)
        fail_msg("%s", err.text);
    m.parts.is_fresh = 1;
    if (atoll_yaml_list(&walk, atoll_yaml_find(atoll_yaml_root(labels), "fresh"), 256, "queries", measure,
                        &m) != 0)
        fail_msg("%s", err.text);
    int is_good = parts_reach(&m.parts, TUNING_HALF, 0.9, 0.7);
    is_good &= parts_reach(&m.parts, HELD_OUT_HALF, 0.9, 0.7);
    is_good &= parts_reach(&m.parts, FRESH, 0.9, 0.7);
    assert_true(is_good);
    atoll_retrieval_destroy(m.retrieval);
    atoll_yaml_destroy(labels);
}

/* A family that is left out is not shown to any task. */
static void what_is_excepted_is_not_shown(void **state)
{
    static const char *const tasks[] = {"gpu/flash_attention", "gpu/batch_matmul_softmax", "gpu/gemm_bf16"};
    struct atoll_retrieval *all = atoll_retrieval_create(corpus.base, corpus.pack, NULL, NULL),
                           *some =
                               atoll_retrieval_create(corpus.base, corpus.pack, "sparse, attention", NULL);
    struct atoll_retrieved found[ATOLL_RETRIEVE_KERNELS];
    (void)state;
    assert_true(all && some);
    assert_true(some->kernel_count < all->kernel_count);
    for (size_t t = 0; t < 3; t++) {
        const struct atoll_retrieval_query q = {
            .task = task_named(tasks[t]), .language = "cuda", .device = "hopper"};
        size_t count = atoll_retrieval_kernels(some, &q, found, ATOLL_RETRIEVE_KERNELS);
        assert_int_equal(count, ATOLL_RETRIEVE_KERNELS);
        for (size_t i = 0; i < count; i++) {
            const struct atoll_kernel_text *k = &some->kernels[found[i].at];
            for (size_t f = 0; f < k->family_count; f++)
                assert_true(strcmp(k->families[f], "attention") != 0 &&
                            strcmp(k->families[f], "sparse") != 0);
        }
    }
    atoll_retrieval_destroy(all);
    atoll_retrieval_destroy(some);
}

/* The kernel of an example under a name that says nothing of its family, with a task's definitions put in: it goes with the example. */
static void no_example_hides_under_another_name(void **state)
{
    static const struct {
        const char *except;
        int is_shown;
    } rows[] = {{NULL, 1}, {"sparse", 1}, {"convolution", 0}};
    const struct atoll_knowledge_entry *e = NULL;
    (void)state;
    for (size_t i = 0; i < corpus.base->count && !e; i++)
        if (corpus.base->entries[i].kind == ATOLL_KNOWLEDGE_EXAMPLE &&
            atoll_knowledge_is_proven(&corpus.base->entries[i]) && corpus.base->entries[i].families &&
            atoll_knowledge_has(corpus.base->entries[i].families, "convolution"))
            e = &corpus.base->entries[i];
    assert_non_null(e);
    struct atoll_knowledge_pack *pack = atoll_knowledge_pack_create(NULL);
    struct atoll_buffer text;
    const char *plan = strstr(e->kernel, "*/\n");
    assert_non_null(plan);
    atoll_buffer_init(&text, 1u << 20);
    atoll_buffer_printf(&text, "task: elsewhere\n\n%.*s#define EPS 1\n%s", (int)(plan + 3 - e->kernel),
                        e->kernel, plan + 3);
    assert_int_equal(
        atoll_knowledge_pack_put(pack, "kernels/a/b/c.cu", (const char *)text.data, text.length, NULL), 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_retrieval *r = atoll_retrieval_create(corpus.base, pack, rows[i].except, NULL);
        int is_shown = 0;
        for (uint32_t k = 0; k < r->kernel_count; k++)
            is_shown |= strcmp(r->kernels[k].name, "a/b/c.cu") == 0;
        assert_int_equal(is_shown, rows[i].is_shown);
        atoll_retrieval_destroy(r);
    }
    assert_false(atoll_knowledge_is_kernel_of(e, "int x;"));
    atoll_buffer_fini(&text);
    atoll_knowledge_pack_destroy(pack);
}

/* Vectors that contradict the words: the order follows from both. */
static void vectors_count_as_much_as_words(void **state)
{
    struct atoll_retrieval *r = atoll_retrieval_create(corpus.base, corpus.pack, NULL, NULL);
    const struct atoll_retrieval_query q = {
        .task = task_named("hpc/fft_batch_f32"), .language = "cuda", .device = "hopper"};
    struct atoll_retrieved found[ATOLL_RETRIEVE_KERNELS];
    uint32_t count = atoll_retrieval_kernel_count(r);
    float *kernels = calloc(2 * (size_t)count, sizeof(*kernels)), task[2] = {1, 0};
    char words[400];
    (void)state;
    for (uint32_t i = 0; i < count; i++) {
        int is_near = strcmp(r->kernels[i].task, "histogram_f32") == 0;
        kernels[2 * i + (is_near ? 0 : 1)] = 1;
    }
    assert_int_equal(atoll_retrieval_kernels(r, &q, found, 5), 5);
    assert_string_equal(r->kernels[found[0].at].task, "fft_batch_f64");
    atoll_retrieval_set_vectors(r, kernels, task, 2);
    assert_int_equal(atoll_retrieval_kernels(r, &q, found, 5), 5);
    int is_there = 0;
    for (size_t i = 0; i < 2; i++)
        is_there += strcmp(r->kernels[found[i].at].task, "histogram_f32") == 0;
    assert_int_equal(is_there, 1);
    atoll_retrieval_set_vectors(r, NULL, NULL, 0);
    assert_int_equal(atoll_retrieval_kernels(r, &q, found, 1), 1);
    assert_string_equal(r->kernels[found[0].at].task, "fft_batch_f64");
    atoll_retrieval_kernel_words(r, found[0].at, words, sizeof(words));
    assert_non_null(strstr(words, "fft_batch_f64: "));
    atoll_retrieval_task_words(q.task, words, 40);
    assert_true(strlen(words) == 39 && strncmp(words, "fft_batch_f32: ", 15) == 0);
    free(kernels);
    atoll_retrieval_destroy(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(similar_kernels_are_found),
                                       cmocka_unit_test(what_is_excepted_is_not_shown),
                                       cmocka_unit_test(no_example_hides_under_another_name),
                                       cmocka_unit_test(vectors_count_as_much_as_words)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
