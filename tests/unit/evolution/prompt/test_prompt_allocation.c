#include "tests/support/allocation.h"

#include <stdio.h>

#include "core/task/task.h"
#include "evolution/reply/reply.h"
#include "evolution/reply/reply_items.h"
#include "evolution/prompt/prompt.h"
#include "tests/support/texts.h"

#ifdef ALLOCATION_SKIP_REASON
int main(void)
{
    printf("skipped: %s\n", ALLOCATION_SKIP_REASON);
    return 77;
}
#else

static struct atoll_task *task;

/* A parent that was not measured: telling a choice parses its plan, and there jansson gives a refused allocation out as text
 * that is no JSON. */
static int write_prompt(struct atoll_err *err)
{
    struct atoll_ask ask = {.number = 1, .count = 1, .role = 0};
    struct atoll_prompt_kernel parent = {.source = task->seeds[2].source};
    struct atoll_prompt_input input = {.texts = source_texts(),
                                       .ask = &ask,
                                       .task = task,
                                       .language = "c",
                                       .backend = "cpu",
                                       .parent = &parent};
    struct atoll_prompt prompt;
    atoll_prompt_init(&prompt);
    int rc = atoll_prompt_write(&input, &prompt, err);
    atoll_prompt_fini(&prompt);
    return rc;
}

/* The same with a history: diffs and excerpts. */
static int write_history(struct atoll_err *err)
{
    static struct atoll_evaluation failed;
    struct atoll_ask ask = {.number = 1, .kind = ATOLL_ASK_PLAN, .count = 1, .role = 0};
    struct atoll_prompt_kernel parent = {.source = task->seeds[2].source},
                               other = {.source = task->seeds[1].source};
    struct atoll_prompt_kernel wrong = {.source = task->seeds[0].source, .evaluation = &failed};
    struct atoll_prompt_input input = {.texts = source_texts(),
                                       .ask = &ask,
                                       .task = task,
                                       .language = "c",
                                       .backend = "cpu",
                                       .parent = &parent,
                                       .ancestors = &other,
                                       .ancestor_count = 1,
                                       .slower = &other,
                                       .slower_count = 1,
                                       .failures = &wrong,
                                       .failure_count = 1};
    struct atoll_prompt prompt;
    failed.verdict = ATOLL_V_COMPILE_ERROR;
    snprintf(failed.detail, sizeof(failed.detail), "candidate:9: error: odd\n%.200s",
             strstr(wrong.source, "for ("));
    atoll_prompt_init(&prompt);
    int rc = atoll_prompt_write(&input, &prompt, err);
    atoll_prompt_fini(&prompt);
    return rc;
}

static int read_items(struct atoll_err *err)
{
    static const char text[] = "```json\n{\"plans\": [{\"title\": \"T\", \"step\": \"S\"}]}\n```\n";
    static struct atoll_reply reply;
    int usable;
    struct atoll_arena *arena = atoll_arena_create((size_t)1 << 20, err);
    int rc =
        arena ? atoll_reply_read_items(ATOLL_ASK_PLAN, text, strlen(text), arena, &reply, &usable, err) : -1;
    atoll_arena_destroy(arena);
    return rc;
}

static int read_text(const char *text, const char *parent, struct atoll_err *err)
{
    struct atoll_reply reply = {0};
    int usable;
    struct atoll_arena *arena = atoll_arena_create((size_t)1 << 20, err);
    int rc = arena ? atoll_reply_read(text, strlen(text), "c", parent, 2, arena, &reply, &usable, err) : -1;
    atoll_arena_destroy(arena);
    return rc;
}

#define PLAN "/* atoll-plan {\"launch\": [{\"function\": \"f\"}]} */\n"

static int read_whole(struct atoll_err *err)
{
    return read_text("```c\n" PLAN "void f(long a)\n{\n}\n```\n```c\n" PLAN "int b;\n", NULL, err);
}

static int read_planless(struct atoll_err *err)
{
    return read_text("```c\nvoid f(long b)\n{\n    b = 1;\n}\n```\n", PLAN "void f(long a)\n{\n}\n", err);
}

static int read_edits(struct atoll_err *err)
{
    return read_text("<<<<<<< SEARCH\n{\n=======\n{ int b;\n>>>>>>> REPLACE\n", PLAN "void f(long a)\n{\n}\n",
                     err);
}

static int read_nothing(struct atoll_err *err)
{
    return read_text("I cannot.", NULL, err);
}

static void each_allocation_fails_once(void **state)
{
    assert_true(allocation_each_fails("prompt", write_prompt) > 10);
    assert_true(allocation_each_fails("history", write_history) > 15);
    assert_true(allocation_each_fails("items", read_items) > 3);
    assert_true(allocation_each_fails("whole", read_whole) > 4);
    assert_true(allocation_each_fails("planless", read_planless) > 4);
    assert_true(allocation_each_fails("edits", read_edits) > 4);
    assert_true(allocation_each_fails("nothing", read_nothing) > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_allocation_fails_once)};
    struct atoll_err err = ATOLL_ERR_INIT;
    task = atoll_task_load(ATOLL_SOURCE_DIR "/suites/starter/softmax_rows", &err);
    source_texts();
    if (!task) {
        printf("%s\n", err.text);
        return 1;
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    atoll_task_destroy(task);
    return failed;
}
#endif
