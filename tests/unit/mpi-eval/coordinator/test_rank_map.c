#include "tests/support/expect.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "mpi-eval/coordinator/rank_map.h"

static const struct atoll_evaluator_location near_place = {
    .core_count = 16, .slots = 8, .node = "n1", .cores = "0-7,64-71", .numa = "0"};
static const struct atoll_evaluator_location spare = {.surplus = ATOLL_SURPLUS_BUSY,
                                                      .core_count = 4,
                                                      .node = "n2",
                                                      .cores = "0-3",
                                                      .numa = "0",
                                                      .note = "device GPU-2 is \"another's\"\n\\"};
static const struct atoll_evaluator_location unknown = {.node = ""};

static const struct atoll_rank_map_row rows[] = {
    {1, 0, "ready", "NVIDIA H200", "GPU-1", &near_place},
    {2, 1, "surplus", "", "", &spare},
    {3, 2, "absent", "", "", &unknown},
};

static const char *text_of(struct atoll_buffer *b)
{
    atoll_buffer_put_u8(b, '\0');
    assert_int_equal(atoll_buffer_check(b, NULL), 0);
    return (const char *)b->data;
}

static void test_lines(void **state)
{
    static const char *const expected[] = {
        "rank 1    ready     n1               NVIDIA H200 GPU-1; NUMA 0, 16 cores 0-7,64-71, 8 compile slots",
        "rank 2    surplus   n2              ; NUMA 0, 4 cores 0-3; device GPU-2 is \"another's\"\n\\",
        "rank 3    absent    -                - ",
    };
    struct atoll_buffer line;
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        atoll_buffer_init(&line, 4096);
        atoll_rank_map_line(&rows[i], &line);
        assert_string_equal(text_of(&line), expected[i]);
        atoll_buffer_fini(&line);
    }
    struct atoll_rank_map_row local = rows[0];
    local.rank = -1;
    atoll_buffer_init(&line, 4096);
    atoll_rank_map_line(&local, &line);
    assert_memory_equal(text_of(&line), "evaluator 0   ready ", 20);
    atoll_buffer_fini(&line);
}

static void test_summary(void **state)
{
    static const struct {
        unsigned count;
        const char *expected;
    } cases[] = {{0, "0 of 0 evaluators work, on 0 nodes"},
                 {1, "1 of 1 evaluators work, on 1 node"},
                 {2, "1 of 2 evaluators work, on 2 nodes; 1 surplus"},
                 {3, "1 of 3 evaluators work, on 2 nodes; 1 surplus; 1 not there"}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_buffer line;
        atoll_buffer_init(&line, 4096);
        atoll_rank_map_summary(rows, cases[i].count, &line);
        assert_string_equal(text_of(&line), cases[i].expected);
        atoll_buffer_fini(&line);
    }
}

/* Who was not heard of is a warning, for nobody looks at a node that idles all night. */
static void test_log(void **state)
{
    (void)state;
    for (unsigned count = 2; count <= 3; count++) {
        char said[4096];
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        atoll_log_setup(ends[1], ATOLL_LOG_WARNING, "");
        atoll_rank_map_log(rows, count);
        atoll_log_setup(STDERR_FILENO, ATOLL_LOG_INFO, "");
        close(ends[1]);
        ssize_t length = read(ends[0], said, sizeof(said) - 1);
        close(ends[0]);
        assert_int_equal(length > 0, count == 3);
        said[length] = '\0';
        assert_int_equal(strstr(said, "eval.ranks.absent 1 of 3 evaluators were not heard of") != NULL,
                         count == 3);
    }
}

/* A reader of JSON finds what was put in, whatever texts devices and nodes have. */
static void test_json(void **state)
{
    struct atoll_buffer file;
    (void)state;
    atoll_buffer_init(&file, 1 << 16);
    atoll_rank_map_json(rows, 3, 77, &file);
    json_t *root = json_loads(text_of(&file), 0, NULL);
    assert_non_null(root);
    assert_int_equal(json_integer_value(json_object_get(root, "version")), ATOLL_RANK_MAP_VERSION);
    assert_int_equal(json_integer_value(json_object_get(root, "unix_ns")), 77);
    const json_t *list = json_object_get(root, "evaluators"), *first = json_array_get(list, 0);
    assert_int_equal(json_array_size(list), 3);
    assert_int_equal(json_integer_value(json_object_get(first, "rank")), 1);
    assert_int_equal(json_integer_value(json_object_get(first, "compile_slots")), 8);
    assert_string_equal(json_string_value(json_object_get(first, "uuid")), "GPU-1");
    assert_string_equal(json_string_value(json_object_get(first, "cores")), "0-7,64-71");
    assert_string_equal(json_string_value(json_object_get(json_array_get(list, 1), "note")),
                        "device GPU-2 is \"another's\"?\\");
    json_decref(root);
    atoll_buffer_fini(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_lines), cmocka_unit_test(test_summary),
                                       cmocka_unit_test(test_log), cmocka_unit_test(test_json)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
