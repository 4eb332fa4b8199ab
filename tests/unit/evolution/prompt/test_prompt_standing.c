/* Where a parent stands: beside the best, beside what it came from, and on a device that has no registers of threads. */
#include "tests/support/expect.h"

#include <stdio.h>
#include <string.h>

#include "core/issue.h"
#include "core/search.h"
#include "evolution/prompt/prompt.h"
#include "tests/support/texts.h"

#define STARTER ATOLL_SOURCE_DIR "/suites/starter/"

static const char first_source[] = "int one;\nint two;\nint three;\n";
static const char parent_source[] =
    "void sum(void) { }\nvoid pack(void) { }\nvoid join(void) { }\nvoid last(void) { }\n";

struct scene {
    struct atoll_task *task;
    struct atoll_ask ask;
    struct atoll_evaluation evaluation;
    struct atoll_prompt_kernel parent, ancestor, best;
    struct atoll_prompt_input input;
    struct atoll_prompt prompt;
};

static void scene_init(struct scene *s)
{
    memset(s, 0, sizeof(*s));
    s->task = atoll_task_load(STARTER "row_reduce", NULL);
    assert_non_null(s->task);
    s->ask = (struct atoll_ask){.number = 1,
                                .op = ATOLL_OPERATOR_UNIVERSAL,
                                .count = 1,
                                .role = ATOLL_ISLAND_ROLE_COUNT,
                                .stage = ATOLL_ISSUE_STAGE_COUNT};
    s->evaluation.verdict = ATOLL_V_CORRECT;
    s->parent =
        (struct atoll_prompt_kernel){.source = parent_source, .evaluation = &s->evaluation, .time_ns = 302e3};
    s->ancestor =
        (struct atoll_prompt_kernel){.source = first_source, .evaluation = &s->evaluation, .time_ns = 14e6};
    s->best =
        (struct atoll_prompt_kernel){.source = first_source, .evaluation = &s->evaluation, .time_ns = 393e3};
    s->input = (struct atoll_prompt_input){.texts = source_texts(),
                                           .ask = &s->ask,
                                           .task = s->task,
                                           .language = "c",
                                           .backend = "cpu",
                                           .parent = &s->parent,
                                           .baseline_ns = 14e6};
    atoll_prompt_init(&s->prompt);
}

static void scene_fini(struct scene *s)
{
    atoll_prompt_fini(&s->prompt);
    atoll_task_destroy(s->task);
}

static const char *written(struct scene *s)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    if (atoll_prompt_write(&s->input, &s->prompt, &err))
        fail_msg("%s", err.text);
    atoll_buffer_put_u8(&s->prompt.user, 0); /* an end, for strstr() */
    assert_false(s->prompt.user.failed);
    return (const char *)s->prompt.user.data;
}

static void has(const char *text, const char *words, int is_wanted)
{
    if ((strstr(text, words) != NULL) != is_wanted)
        fail_msg("'%s' is%s in:\n%s", words, is_wanted ? " not" : "", text);
}

/* The best has won its comparisons; a parent that is faster by its own time has not yet, and is not told to be slower. */
static void parent_may_be_ahead(void **state)
{
    struct scene s;
    scene_init(&s);
    s.input.best_ns = s.best.time_ns;
    s.input.best = &s.best;
    const char *text = written(&s);
    has(text, "- best that a comparison confirmed: 393 us", 1);
    has(text, "- the parent, faster but not confirmed yet: 302 us", 1);
    has(text, "## The best that a comparison confirmed, of another line", 1);
    has(text, "best so far: 393 us", 0);
    s.input.best_ns = s.best.time_ns = 301e3;
    text = written(&s);
    has(text, "- best so far: 301 us", 1);
    has(text, "- the parent: 302 us", 1);
    has(text, "## The best so far, of another line", 1);
    scene_fini(&s);
}

/* A parent that was written anew stands in its prompt once. */
static void parent_is_shown_once(void **state)
{
    struct scene s;
    scene_init(&s);
    s.input.ancestors = &s.ancestor;
    s.input.ancestor_count = 1;
    const char *text = written(&s), *at = strstr(text, "void join(void)");
    has(text, "Written anew: it is the kernel that stands above.", 1);
    assert_non_null(at);
    assert_null(strstr(at + 1, "void join(void)"));
    s.ancestor.source = parent_source; /* other params */
    text = written(&s);
    has(text, "The same source, with other params.", 1);
    has(text, "Written anew", 0);
    scene_fini(&s);
}

/* A processor's binary is told by its instructions. */
static void registers_are_a_devices(void **state)
{
    static const enum atoll_ask_kind kinds[] = {ATOLL_ASK_WRITE, ATOLL_ASK_PLAN};
    for (size_t i = 0; i < 2; i++) {
        struct scene s;
        scene_init(&s);
        struct atoll_resources *r = &s.evaluation.profile.resources;
        s.ask.kind = kinds[i];
        s.ask.op = kinds[i] == ATOLL_ASK_PLAN ? ATOLL_OPERATOR_PLAN : ATOLL_OPERATOR_UNIVERSAL;
        r->kernel_count = 1;
        r->mix[0] = 24;
        const char *text = written(&s);
        has(text, "registers per thread", 0);
        has(text, "shared memory", 0);
        has(text, " 24", 1);
        r->registers = 40;
        text = written(&s);
        has(text, "40 registers per thread", 1);
        has(text, "0 bytes of static and 0 of dynamic shared memory", 1);
        scene_fini(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parent_may_be_ahead),
        cmocka_unit_test(parent_is_shown_once),
        cmocka_unit_test(registers_are_a_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
