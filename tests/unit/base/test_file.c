#include "tests/support/expect.h"

#include <limits.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

static char folder[PATH_MAX];

static int make_folder(void **state)
{
    char path[] = "/tmp/atoll-folder-XXXXXX";
    assert_non_null(mkdtemp(path));
    assert_non_null(realpath(path, folder));
    return chdir(folder);
}

static int remove_folder(void **state)
{
    char command[PATH_MAX + 16];
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command);
}

static void test_folders_are_made_with_all_above_them(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    assert_int_equal(atoll_folder_make_parents("a/b/c", NULL), 0);
    assert_int_equal(access("a/b", F_OK), 0);
    assert_int_not_equal(access("a/b/c", F_OK), 0);
    assert_int_equal(atoll_folder_make("a//b/c", NULL), 0);
    assert_int_equal(atoll_folder_make("a/b/c/", NULL), 0);
    assert_int_equal(access("a/b/c", F_OK), 0);
    fclose(fopen("file", "w"));
    assert_int_equal(atoll_folder_make("file/x", &err), -1);
    expect_err(&err, ATOLL_E_IO, "file/x: Not a directory");
    err = (struct atoll_err)ATOLL_ERR_INIT;
    assert_int_equal(atoll_folder_make("file", &err), -1);
    expect_err(&err, ATOLL_E_EXISTS, "file");
}

static void test_absolute_paths_make_nothing(void **state)
{
    static const struct {
        const char *path, *result;
    } cases[] = {{"a", "/a"},
                 {"a/", "/a"},
                 {".", ""},
                 {"./a/./b", "/a/b"},
                 {"a/../a/b", "/a/b"},
                 {"new", "/new"},
                 {"new/", "/new"},
                 {"new/./x//y/", "/new/x/y"},
                 {"link/new", "/a/b/new"},
                 {"link", "/a/b"},
                 {"a/new", "/a/new"}};
    char path[PATH_MAX], expected[PATH_MAX + 64];
    assert_int_equal(atoll_folder_make("a/b", NULL), 0);
    assert_int_equal(symlink("a/b", "link"), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        assert_int_equal(atoll_folder_absolute(cases[i].path, path, sizeof(path), NULL), 0);
        snprintf(expected, sizeof(expected), "%s%s", folder, cases[i].result);
        assert_string_equal(path, expected);
    }
    assert_int_not_equal(access("new", F_OK), 0);
    assert_int_equal(atoll_folder_absolute("/", path, sizeof(path), NULL), 0);
    assert_string_equal(path, "/");
    assert_int_equal(atoll_folder_absolute("/no-such-folder-here/x", path, sizeof(path), NULL), 0);
    assert_string_equal(path, "/no-such-folder-here/x");
}

static void test_paths_that_cannot_be_are_refused(void **state)
{
    char path[PATH_MAX], small[8], text[2 * PATH_MAX];
    struct atoll_err err = ATOLL_ERR_INIT;
    assert_int_equal(atoll_folder_absolute("", path, sizeof(path), &err), -1);
    expect_err(&err, ATOLL_E_USAGE, "is no path of a folder");
    err = (struct atoll_err)ATOLL_ERR_INIT;
    assert_int_equal(atoll_folder_absolute("new/../x", path, sizeof(path), &err), -1);
    expect_err(&err, ATOLL_E_USAGE, "the folder is not there");
    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    err = (struct atoll_err)ATOLL_ERR_INIT;
    assert_int_equal(atoll_folder_absolute(text, path, sizeof(path), &err), -1);
    expect_err(&err, ATOLL_E_USAGE, "is no path");
    err = (struct atoll_err)ATOLL_ERR_INIT;
    assert_int_equal(atoll_folder_make_parents(text, &err), -1);
    expect_err(&err, ATOLL_E_USAGE, "is longer than");
    for (size_t i = 100; i < PATH_MAX - 8; i += 100)
        text[i] = '/';
    text[PATH_MAX - 8] = '\0'; /* too long with what is in front of it */
    err = (struct atoll_err)ATOLL_ERR_INIT;
    assert_int_equal(atoll_folder_absolute(text, path, sizeof(path), &err), -1);
    expect_err(&err, ATOLL_E_LIMIT, "path too long");
    err = (struct atoll_err)ATOLL_ERR_INIT;
    assert_int_equal(atoll_folder_absolute("new", small, sizeof(small), &err), -1);
    expect_err(&err, ATOLL_E_LIMIT, "path too long");
}

/* What is no regular file is refused at once: opening a FIFO that nobody writes would wait for ever. */
static void test_opened_for_reading(void **state)
{
    char path[] = "/tmp/atoll-file-XXXXXX";
    uint64_t bytes = 0;
    struct atoll_err err = ATOLL_ERR_INIT;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "abc", 3), 3);
    close(fd);
    fd = atoll_file_open(path, &bytes, &err);
    assert_true(fd >= 0);
    assert_int_equal(bytes, 3);
    close(fd);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(atoll_file_open(path, &bytes, &err), -1);
    expect_err(&err, ATOLL_E_INPUT, "is not a regular file");
    atoll_err_clear(&err);
    assert_null(atoll_file_stream(path, &err));
    expect_err(&err, ATOLL_E_INPUT, "is not a regular file");
    atoll_err_clear(&err);
    assert_int_equal(atoll_file_open_to_write(path, O_WRONLY | O_CREAT, 0600, &err),
                     -1); /* nobody reads it */
    expect_err(&err, ATOLL_E_INPUT, "is not a regular file");
    atoll_err_clear(&err);
    assert_int_equal(atoll_file_open_to_write(path, O_RDWR, 0600, &err), -1);
    expect_err(&err, ATOLL_E_INPUT, "is not a regular file");
    unlink(path);
    atoll_err_clear(&err);
    assert_int_equal(atoll_file_open(path, NULL, &err), -1);
    expect_err(&err, ATOLL_E_NOTFOUND, "cannot read");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_folders_are_made_with_all_above_them),
                                       cmocka_unit_test(test_absolute_paths_make_nothing),
                                       cmocka_unit_test(test_opened_for_reading),
                                       cmocka_unit_test(test_paths_that_cannot_be_are_refused)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
