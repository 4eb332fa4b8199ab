#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/campaign/batch_script.h"

static void test_words(void **state)
{
    static const struct {
        const char *word, *text;
    } rows[] = {
        {"", "''"},           {"plain-1.5/x:y=z,+@%_", "plain-1.5/x:y=z,+@%_"},
        {"a b", "'a b'"},     {"it's", "'it'\\''s'"},
        {"$HOME", "'$HOME'"}, {"~", "'~'"},
        {"a\nb", "'a\nb'"},   {"'", "''\\'''"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct atoll_buffer out;

        atoll_buffer_init(&out, 4096);
        atoll_shell_put(&out, rows[i].word);
        atoll_buffer_put_u8(&out, 0);
        assert_string_equal((const char *)out.data, rows[i].text);
        atoll_buffer_fini(&out);
    }
}

/* bash gives back byte for byte what went in: every byte but NUL, alone and in company, in a fixed pseudo-random order. */
static void test_bash_gives_it_back(void **state)
{
    unsigned seed = 12345;
    char path[] = "/tmp/atoll-shell-XXXXXX", command[64], word[64], back[128];

    (void)state;
    for (int round = 0; round < 40; round++) {
        struct atoll_buffer out;
        size_t length = round ? (size_t)round : 1;
        FILE *stream;

        for (size_t i = 0; i < length; i++) {
            seed = seed * 1103515245 + 12345;
            word[i] = (char)(1 + (seed >> 16) % 255);
        }
        word[length] = '\0';
        atoll_buffer_init(&out, 4096);
        atoll_buffer_printf(&out, "printf %%s ");
        atoll_shell_put(&out, word);
        assert_int_equal(atoll_buffer_check(&out, NULL), 0);
        strcpy(path, "/tmp/atoll-shell-XXXXXX");
        int fd = mkstemp(path);
        assert_true(fd >= 0);
        stream = fdopen(fd, "w");
        assert_int_equal(fwrite(out.data, 1, out.length, stream), out.length);
        fclose(stream);
        snprintf(command, sizeof(command), "LC_ALL=C bash %s", path);
        stream = popen(command, "r");
        assert_non_null(stream);
        assert_int_equal(fread(back, 1, sizeof(back), stream), length);
        assert_memory_equal(back, word, length);
        assert_int_equal(pclose(stream), 0);
        remove(path);
        atoll_buffer_fini(&out);
    }
}

static void test_comments_stay_in_their_line(void **state)
{
    struct atoll_buffer out;

    (void)state;
    atoll_buffer_init(&out, 4096);
    atoll_shell_put_comment(&out, "a\nreboot\r\x7f");
    atoll_buffer_put_u8(&out, 0);
    assert_string_equal((const char *)out.data, "a reboot  ");
    atoll_buffer_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_bash_gives_it_back),
        cmocka_unit_test(test_comments_stay_in_their_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
