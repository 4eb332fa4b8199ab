/* test_retrieve_allocation.c - every allocation of a retrieval, of its briefs and of kernels in a pack fails once. */
#include "tests/support/allocation.h"

#include <stdio.h>
#include <string.h>

#include "evolution/knowledge/retrieve.h"

#ifdef ALLOCATION_SKIP_REASON
int main(void)
{
    printf("skipped: %s\n", ALLOCATION_SKIP_REASON);
    return 77;
}
#else

static struct atoll_knowledge_pack *pack;
static struct atoll_knowledge_base *base;
static struct atoll_task *task;

static int set_up(void **state)
{
    static const struct {
        const char *path, *text;
    } files[] = {{"index.yaml", "version: 1\ndevices: [{name: cpu, vendor: x86, what: one}]\nfamilies: "
                                "[{name: copies, words: [copy]}]\n"},
                 {"constraints/c.yaml", "version: 1\nconstraints:\n  - {id: c-one, severity: critical, "
                                        "language: [c], devices: \"*\", errors: [race], what: "
                                        "One., wrong: a, right: b, fails: compile, message: m, source: s}\n"},
                 {"kernels/a/other/k.c", "task: other_copy\nsummary: it copies\n\nint x;\n"}};
    (void)state;
    pack = atoll_knowledge_pack_create(NULL);
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
        assert_int_equal(
            atoll_knowledge_pack_put(pack, files[i].path, files[i].text, strlen(files[i].text), NULL), 0);
    base = atoll_knowledge_base_parse(pack, NULL, NULL, NULL);
    task = atoll_task_load(ATOLL_SOURCE_DIR "/suites/starter/transpose", NULL);
    assert_true(base && task);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    atoll_task_destroy(task);
    atoll_knowledge_base_destroy(base);
    atoll_knowledge_pack_destroy(pack);
    return 0;
}

static int look_up(struct atoll_err *err)
{
    const struct atoll_retrieved found[] = {
        {.kind = ATOLL_RETRIEVED_ENTRY, .is_critical = 1, .is_called_for = 1},
        {.kind = ATOLL_RETRIEVED_KERNEL}};
    struct atoll_retrieval *r = atoll_retrieval_create(base, pack, "sparse", err);
    struct atoll_arena *arena = r ? atoll_arena_create(1u << 20, err) : NULL;
    struct atoll_briefing briefing = {.ask = 1, .count = 2};
    int rc = arena ? 0 : -1;
    for (uint32_t i = 0; rc == 0 && i < 2; i++)
        rc = atoll_retrieval_brief(r, &found[i], arena, &briefing.briefs[i], err);
    rc = rc == 0 ? atoll_retrieval_used(r, NULL, &briefing, err) : rc;
    atoll_arena_destroy(arena);
    atoll_retrieval_destroy(r);
    return rc;
}

static int keep_kernel(struct atoll_err *err)
{
    struct atoll_arena *arena = atoll_arena_create(1u << 20, err);
    struct atoll_knowledge_pack *kernels = arena ? atoll_knowledge_pack_create(err) : NULL;
    struct atoll_kernel_text text;
    int rc = kernels ? atoll_kernel_text_of(task, "a/b/c.c", "c", "int x;", NULL, arena, &text, err) : -1;
    rc = rc == 0 ? atoll_kernel_text_put(&text, kernels, err) : rc;
    rc = rc == 0 && atoll_kernel_text_read(&kernels->files[0], NULL, arena, &text, err) < 0 ? -1 : rc;
    atoll_knowledge_pack_destroy(kernels);
    atoll_arena_destroy(arena);
    return rc;
}

static void test_look_up(void **state)
{
    (void)state;
    assert_true(allocation_each_fails("look up", look_up) > 10);
}

static void test_kernel(void **state)
{
    (void)state;
    assert_true(allocation_each_fails("kernel", keep_kernel) > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_look_up), cmocka_unit_test(test_kernel)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
#endif
