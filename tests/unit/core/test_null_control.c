#include "tests/support/expect.h"

#include "core/candidate.h"
#include "core/null_control.h"

static const char *const sources[] = {"void f(void);\n", "no newline", "// ends in a comment",
                                      "// goes on \\", ""};

static char *mutant_of(const char *source, uint8_t first, struct atoll_buffer *buffer)
{
    struct atoll_id original = {{first}};
    atoll_buffer_init(buffer, 4096);
    atoll_null_control_source(source, &original, buffer);
    assert_int_equal(atoll_buffer_check(buffer, NULL), 0);
    return (char *)buffer->data;
}

/* The whole source, and after it nothing but a comment on a line of its own. */
static void test_only_a_comment_more(void **state)
{
    for (size_t i = 0; i < sizeof(sources) / sizeof(*sources); i++) {
        struct atoll_buffer buffer;
        const char *text = mutant_of(sources[i], 0xab, &buffer);
        size_t length = strlen(sources[i]), total = strlen(text);
        assert_int_equal(total + 1, buffer.length);
        assert_memory_equal(text, sources[i], length);
        assert_int_equal(strncmp(text + length, "\n/* ", 4), 0);
        assert_ptr_equal(strstr(text + length, "*/"), text + total - 3);
        assert_non_null(strstr(text, "ab0000"));
        atoll_buffer_fini(&buffer);
    }
}

static void test_another_identity(void **state)
{
    struct atoll_buffer buffers[3];
    struct atoll_id ids[3], original = atoll_source_id("c", sources[0]);
    for (size_t i = 0; i < 3; i++)
        ids[i] = atoll_source_id("c", mutant_of(sources[0], (uint8_t)(i / 2), &buffers[i]));
    assert_true(atoll_id_equal(&ids[0], &ids[1]));
    assert_false(atoll_id_equal(&ids[0], &ids[2]) || atoll_id_equal(&ids[0], &original));
    for (size_t i = 0; i < 3; i++)
        atoll_buffer_fini(&buffers[i]);
}

static void test_limit(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_buffer buffer;
    struct atoll_id original = {{1}};
    atoll_buffer_init(&buffer, 16);
    atoll_null_control_source("a text", &original, &buffer);
    assert_int_equal(atoll_buffer_check(&buffer, &err), -1);
    assert_int_equal(err.code, ATOLL_E_LIMIT);
    atoll_buffer_fini(&buffer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_a_comment_more),
        cmocka_unit_test(test_another_identity),
        cmocka_unit_test(test_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
