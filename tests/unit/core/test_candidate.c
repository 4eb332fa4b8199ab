/* test_candidate.c - what makes two candidates the same one. */
#include "tests/support/expect.h"

#include <stdio.h>
#include <string.h>

#include "core/candidate.h"

static struct atoll_task *task;
static struct atoll_arena *arena;

static int set_up(void **state)
{
    task = atoll_task_load(ATOLL_SOURCE_DIR "/tests/fixtures/tasks/scale", NULL);
    arena = atoll_arena_create(8u << 20, NULL);
    return task && arena ? 0 : -1;
}

static int tear_down(void **state)
{
    atoll_task_destroy(task);
    atoll_arena_destroy(arena);
    return 0;
}

#define LAUNCH ", \"launch\": [{\"function\": \"f\", \"units\": \"N\", \"args\": [\"x\", \"y\"]}]}"

static struct atoll_id id_of(const char *json, const char *body, int64_t first, int64_t second)
{
    char source[1024];
    const char *rest = NULL;
    struct atoll_err err = ATOLL_ERR_INIT;
    snprintf(source, sizeof(source), "/* atoll-plan %s */%s", json, body);
    const struct atoll_plan *plan = atoll_plan_parse(arena, task, "c", source, &rest, &err);
    if (!plan)
        fail_msg("%s", err.text);
    struct atoll_choice choice = {plan->param_count, {first, second}};
    return atoll_candidate_id(task, "c", plan, rest, &choice);
}

static const char base[] = "{\"version\": 1, \"params\": {\"T\": [1, 2], \"U\": [3, 4]}" LAUNCH;

static const struct {
    const char *json, *body;
    int64_t first, second;
    int same;
} rows[] = {
    {base, "b", 1, 3, 1},
    {base, "b", 2, 3, 0},
    {base, "B", 1, 3, 0},
    {"{\"version\": 1, \"params\": {\"T\": [9, 1], \"U\": [3]}" LAUNCH, "b", 1, 3, 1},
    {"{\"version\": 1, \"params\": {\"U\": [3, 4], \"T\": [1, 2]}" LAUNCH, "b", 3, 1, 1},
    {"{\"version\": 1, \"params\": {\"U\": [3, 4], \"T\": [1, 2]}" LAUNCH, "b", 1, 3, 0},
    {"{\"version\": 1, \"params\": {\"T\": [1, 2], \"U\": [3, 4]}, \"require\": [\"T < U\"]" LAUNCH, "b", 1,
     3, 1},
    {"{\"version\": 1, \"params\": {\"T\": [1, 2], \"V\": [3, 4]}" LAUNCH, "b", 1, 3, 0},
    {"{\"version\": 1, \"params\": {\"T\": [1, 2], \"U\": [3, 4]}, \"scratch\": {\"s\": 8}" LAUNCH, "b", 1, 3,
     0},
    {"{\"version\": 1, \"params\": {\"T\": [1, 2], \"U\": [3, 4]}, \"launch\": [{\"function\": \"f\", "
     "\"units\": \"N\", "
     "\"args\": [\"y\", \"x\"]}]}",
     "b", 1, 3, 0},
    {"{\"version\": 1, \"params\": {\"T\": [1, 2], \"U\": [3, 4]}, \"launch\": [{\"function\": \"f\", "
     "\"units\": \"N + 1\", "
     "\"args\": [\"x\", \"y\"]}]}",
     "b", 1, 3, 0},
};

static void test_rows(void **state)
{
    struct atoll_id first = id_of(base, "b", 1, 3);
    assert_false(atoll_id_is_zero(&first));
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_id other = id_of(rows[i].json, rows[i].body, rows[i].first, rows[i].second);
        if (atoll_id_equal(&first, &other) != rows[i].same)
            fail_msg("row %zu", i);
    }
}

static void test_task_and_language_count(void **state)
{
    const char *body = NULL;
    const struct atoll_plan *plan = atoll_plan_parse(arena, task, "c", task->seeds[0].source, &body, NULL);
    assert_non_null(plan);
    struct atoll_choice choice = {0, {0}};
    struct atoll_task other = *task;
    other.id.bytes[31] ^= 1;
    struct atoll_id a = atoll_candidate_id(task, "c", plan, body, &choice);
    struct atoll_id b = atoll_candidate_id(&other, "c", plan, body, &choice);
    struct atoll_id c = atoll_candidate_id(task, "cuda", plan, body, &choice);
    assert_false(atoll_id_equal(&a, &b));
    assert_false(atoll_id_equal(&a, &c));
}

static void test_source(void **state)
{
    struct atoll_id a = atoll_source_id("c", "x"), b = atoll_source_id("c", "x");
    struct atoll_id c = atoll_source_id("cu", "x"), d = atoll_source_id("c", "ux"),
                    e = atoll_source_id("c", "");
    assert_true(atoll_id_equal(&a, &b));
    assert_false(atoll_id_equal(&a, &c));
    assert_false(atoll_id_equal(&c, &d));
    assert_false(atoll_id_is_zero(&e));
}

/* ---- null controls ---- */

static const char *const originals[] = {"void f(void);\n", "no newline", "// ends in a comment",
                                        "// goes on \\", ""};

static char *null_control_of(const char *source, uint8_t first, struct atoll_buffer *buffer)
{
    struct atoll_id original = {{first}};
    atoll_buffer_init(buffer, 4096);
    atoll_null_control_source("cuda", source, &original, buffer);
    assert_int_equal(atoll_buffer_check(buffer, NULL), 0);
    return (char *)buffer->data;
}

/* The whole source, and after it nothing but a comment on a line of its own. */
static void test_a_null_control_has_only_a_comment_more(void **state)
{
    for (size_t i = 0; i < sizeof(originals) / sizeof(*originals); i++) {
        struct atoll_buffer buffer;
        const char *text = null_control_of(originals[i], 0xab, &buffer);
        size_t length = strlen(originals[i]), total = strlen(text);
        assert_int_equal(total + 1, buffer.length);
        assert_memory_equal(text, originals[i], length);
        assert_int_equal(strncmp(text + length, "\n/* ", 4), 0);
        assert_ptr_equal(strstr(text + length, "*/"), text + total - 3);
        assert_non_null(strstr(text, "ab0000"));
        atoll_buffer_fini(&buffer);
    }
}

static void test_a_null_control_has_another_identity(void **state)
{
    struct atoll_buffer buffers[3];
    struct atoll_id ids[3], original = atoll_source_id("c", originals[0]);
    for (size_t i = 0; i < 3; i++)
        ids[i] = atoll_source_id("c", null_control_of(originals[0], (uint8_t)(i / 2), &buffers[i]));
    assert_true(atoll_id_equal(&ids[0], &ids[1]));
    assert_false(atoll_id_equal(&ids[0], &ids[2]) || atoll_id_equal(&ids[0], &original));
    for (size_t i = 0; i < 3; i++)
        atoll_buffer_fini(&buffers[i]);
}

static void test_a_null_control_has_a_limit(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_buffer buffer;
    struct atoll_id original = {{1}};
    atoll_buffer_init(&buffer, 16);
    atoll_null_control_source("cuda", "a text", &original, &buffer);
    assert_int_equal(atoll_buffer_check(&buffer, &err), -1);
    assert_int_equal(err.code, ATOLL_E_LIMIT);
    atoll_buffer_fini(&buffer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows),
                                       cmocka_unit_test(test_task_and_language_count),
                                       cmocka_unit_test(test_source),
                                       cmocka_unit_test(test_a_null_control_has_only_a_comment_more),
                                       cmocka_unit_test(test_a_null_control_has_another_identity),
                                       cmocka_unit_test(test_a_null_control_has_a_limit)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
