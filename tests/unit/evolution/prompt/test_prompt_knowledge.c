/* What was retrieved, in a prompt: the line of a critical constraint is there however small the budget, everything else is cut by the rule,
 * and is where it belongs. */
#include "tests/support/expect.h"

#include <stdio.h>
#include <string.h>

#include "core/issue.h"
#include "core/search.h"
#include "evolution/prompt/prompt.h"
#include "tests/support/texts.h"

#define STARTER ATOLL_SOURCE_DIR "/suites/starter/"

struct scene {
    struct atoll_task *task;
    struct atoll_ask ask;
    struct atoll_prompt_input input;
    struct atoll_prompt prompt;
    char long_text[20001];
    struct atoll_brief briefs[8];
};

static void scene_init(struct scene *s)
{
    memset(s, 0, sizeof(*s));
    s->task = atoll_task_load(STARTER "row_reduce", NULL);
    assert_non_null(s->task);
    memset(s->long_text, 'x', sizeof(s->long_text) - 1);
    memcpy(s->long_text, "what it is\n\nint begin;\n", 23);
    s->ask = (struct atoll_ask){.number = 1,
                                .op = ATOLL_OPERATOR_INITIALISE,
                                .count = 1,
                                .role = ATOLL_ISLAND_ROLE_COUNT,
                                .stage = ATOLL_ISSUE_STAGE_COUNT};
    s->input = (struct atoll_prompt_input){.texts = source_texts(),
                                           .ask = &s->ask,
                                           .task = s->task,
                                           .language = "c",
                                           .backend = "cpu",
                                           .briefs = s->briefs};
    atoll_prompt_init(&s->prompt);
}

static void scene_fini(struct scene *s)
{
    atoll_prompt_fini(&s->prompt);
    atoll_task_destroy(s->task);
}

static void give(struct scene *s, enum atoll_brief_kind kind, const char *title, const char *text)
{
    s->briefs[s->input.brief_count++] = (struct atoll_brief){.kind = kind, .title = title, .text = text};
}

static const char *written(struct scene *s)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    if (atoll_prompt_write(&s->input, &s->prompt, &err))
        fail_msg("%s", err.text);
    atoll_buffer_put_u8(&s->prompt.user, 0);
    s->prompt.user.length--;
    return (const char *)s->prompt.user.data;
}

static void entries_are_told(void **state)
{
    static struct scene s;
    (void)state;
    scene_init(&s);
    give(&s, ATOLL_BRIEF_KNOWLEDGE, "pattern c-second", "Looked up.\nTwo lines.");
    give(&s, ATOLL_BRIEF_CONSTRAINT, "constraint c-first", "Never do <|that|>.\nwrong:\nint x;");
    give(&s, ATOLL_BRIEF_HINT, "a hint", "Elsewhere.");
    give(&s, ATOLL_BRIEF_DEMONSTRATION, "kernel gpu/mean/seed.cu",
         "Of mean, 3 us.\n\n__global__ void k();\n");
    give(&s, ATOLL_BRIEF_DEMONSTRATION, "kernel gpu/sum/seed.c", "Of sum; 70000 bytes.\n");
    give(&s, ATOLL_BRIEF_HINT, "an empty hint", "");
    const char *text = written(&s), *section = strstr(text, "# Knowledge\n");
    assert_non_null(section);
    const char *line = strstr(section, "\n| Never do < |that|>.\n| wrong:\n| int x;\n"),
               *entry = strstr(section, "\n1.\n\n| pattern c-second\n| Looked up.\n| Two lines.\n");
    assert_true(line && entry && line < entry);
    assert_null(strstr(section, "Elsewhere"));
    section = strstr(text, "# Kernels of similar tasks\n");
    assert_non_null(section);
    assert_non_null(
        strstr(section, "## Kernel 1\n\n| Of mean, 3 us.\n\n```cuda\n__global__ void k();\n```\n"));
    assert_non_null(strstr(section, "## Kernel 2\n\n| Of sum; 70000 bytes.\n"));
    static const uint32_t cuts[] = {0, 0, 0, 0, 21, 0}; /* a kernel of which the size is told is not told */
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(s.prompt.brief_cut_bytes[i], cuts[i]);
    /* A translator is shown kernels of the language that it writes. */
    s.ask.op = ATOLL_OPERATOR_TRANSLATE;
    const struct atoll_prompt_kernel elite = {.source = "int elite;\n"};
    s.input.parent = &elite;
    assert_non_null(strstr(written(&s), "# Kernels of similar tasks"));
    s.input.parent = NULL;
    /* Who only orders stages is told nothing of it; who refines a stage is shown no other kernels. */
    s.ask.op = ATOLL_OPERATOR_STAGED;
    s.ask.stage = ATOLL_ISSUE_STAGE_MEMORY;
    text = written(&s);
    assert_true(strstr(text, "# Knowledge\n") && !strstr(text, "# Kernels of similar tasks"));
    assert_int_equal(s.prompt.brief_cut_bytes[3], strlen(s.briefs[3].text)); /* so it was not told */
    s.ask.kind = ATOLL_ASK_SUMMARISE;
    assert_null(strstr(written(&s), "# Knowledge\n"));
    scene_fini(&s);
}

/* In the smallest budget the lines of constraints stay, and what went is counted. */
static void constraints_stay(void **state)
{
    static struct scene s;
    (void)state;
    scene_init(&s);
    for (unsigned i = 0; i < 3; i++)
        give(&s, ATOLL_BRIEF_CONSTRAINT, "constraint c-x",
             "Keep this line.\nand xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
    s.briefs[1].text = s.long_text;
    give(&s, ATOLL_BRIEF_KNOWLEDGE, "pattern c-y", s.long_text);
    give(&s, ATOLL_BRIEF_DEMONSTRATION, "kernel a/b/c.c", s.long_text);
    give(&s, ATOLL_BRIEF_DEMONSTRATION, "kernel a/b/d.c", s.long_text);
    s.input.user_limit_bytes = 1;
    const char *text = written(&s);
    assert_non_null(strstr(text, "| Keep this line.\n"));
    assert_non_null(strstr(strstr(text, "| Keep this line.\n") + 1, "| Keep this line.\n"));
    assert_non_null(strstr(text, "\n| what it is\n"));
    assert_true(s.prompt.cut_bytes[ATOLL_PROMPT_KNOWLEDGE] > 20000);
    assert_true(s.prompt.cut_bytes[ATOLL_PROMPT_DEMONSTRATIONS] > 10000);
    assert_non_null(strstr(text, "(Its source of 19988 bytes is left out: no room.)\n"));
    assert_null(strstr(text, "int begin;\nx"));
    assert_int_equal(s.prompt.brief_cut_bytes[4], 20000);
    assert_true(s.prompt.brief_cut_bytes[3] > 5000 && s.prompt.brief_cut_bytes[3] <= 20000);
    assert_true(s.prompt.brief_cut_bytes[1] > 15000 && s.prompt.brief_cut_bytes[1] < 20000);
    assert_int_equal(s.prompt.brief_cut_bytes[0], 0); /* not longer than a mark */
    /* The more similar one first, and none in part. */
    s.input.user_limit_bytes = 42000;
    text = written(&s);
    assert_true(s.prompt.brief_cut_bytes[4] == 0 && s.prompt.brief_cut_bytes[5] == 20000);
    s.input.user_limit_bytes = 200000;
    text = written(&s);
    assert_non_null(strstr(text, "```c\nint begin;\n"));
    assert_true(s.prompt.section_bytes[ATOLL_PROMPT_DEMONSTRATIONS] > 40000);
    /* Beside a limit that nobody set. */
    s.input.user_limit_bytes = 0;
    text = written(&s);
    assert_true(s.prompt.brief_cut_bytes[4] == 0 && s.prompt.brief_cut_bytes[5] == 0);
    assert_string_equal(atoll_prompt_section_name(ATOLL_PROMPT_KNOWLEDGE), "knowledge");
    scene_fini(&s);
}

/* Where room is short the wrong half and what a rewrite begins with go first, and what fits best is told whole. */
static void the_right_half_stays(void **state)
{
    static struct scene s;
    static char constraint[8192], entry[8192], last[8192];
    (void)state;
    scene_init(&s);
    snprintf(constraint, sizeof(constraint),
             "Keep this line.\nWrong:\n%.2000s wrongend\nwhich leads to: hang\nRight:\nint right;\n%.300s "
             "rightend\n",
             s.long_text + 30, s.long_text + 30);
    snprintf(entry, sizeof(entry),
             "What it does\nWhy: sums.\nBefore:\n%.2000s beforeend\nAfter:\nint after;\n%.2000s afterend\n",
             s.long_text + 30, s.long_text + 30);
    snprintf(last, sizeof(last), "Its first line.\n%.2000s lastend\n", s.long_text + 30);
    give(&s, ATOLL_BRIEF_CONSTRAINT, "constraint c-x", constraint);
    give(&s, ATOLL_BRIEF_KNOWLEDGE, "pattern c-y", entry);
    give(&s, ATOLL_BRIEF_KNOWLEDGE, "hardware c-z", last);
    s.input.user_limit_bytes = 9000;
    const char *text = written(&s), *section = strstr(text, "# Knowledge\n");
    assert_non_null(section);
    const char *line = strstr(section, "| Keep this line.\n| ... ("),
               *right = strstr(section, " bytes are left out)\n| Right:\n| int right;\n"),
               *first = strstr(section, "| pattern c-y\n| What it does\n| Why: sums.\n| ... ("),
               *after = strstr(section, " bytes are left out)\n| After:\n| int after;\n"),
               *name = strstr(section, "| hardware c-z\n| Its first line.\n| x");
    assert_true(line && right && first && after && name);
    assert_true(line < right && right < first && first < after && after < name);
    assert_true(strstr(section, "rightend\n") && strstr(section, "afterend\n") &&
                strstr(section, "lastend\n"));
    assert_true(!strstr(section, "Wrong:") && !strstr(section, "Before:"));
    for (size_t i = 0; i < 3; i++)
        assert_in_range(s.prompt.brief_cut_bytes[i], i < 2 ? 2000 : 0, i < 2 ? 2100 : 0);
    s.input.user_limit_bytes = 0;
    text = written(&s);
    assert_true(strstr(text, "wrongend\n") && strstr(text, "beforeend\n") && strstr(text, "lastend\n"));
    assert_null(strstr(text, "left out)"));
    scene_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(entries_are_told), cmocka_unit_test(constraints_stay),
                                       cmocka_unit_test(the_right_half_stays)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
