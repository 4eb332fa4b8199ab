#include "tests/support/expect.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scheduler/campaign/campaign_queue.h"

#define ID "00112233445566778899aabbccddeeff"

static char folder[64];

static int make_folder(void **state)
{
    mallopt(M_PERTURB, 0xa5); /* what nobody filled is no address and no zero */
    snprintf(folder, sizeof(folder), "/tmp/atoll-queue-XXXXXX");
    assert_non_null(mkdtemp(folder));
    return setenv("ATOLL_QUEUE", folder, 1);
}

static int remove_folder(void **state)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command);
}

static void write_file(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static struct atoll_campaign_queue_entry entry_of(const char *id, double priority, int64_t added)
{
    static char path[] = "/scratch/me/\"a\nb\" \xc3\xa4", other[] = "/scratch/other";
    static char *after[] = {other};
    return (struct atoll_campaign_queue_entry){(char *)(uintptr_t)id, path, priority, 2.5, after, 1, added};
}

static void test_an_entry_comes_back_as_it_was(void **state)
{
    const struct atoll_campaign_queue_entry put = entry_of(ID, 1.5, 77);
    struct atoll_campaign_queue queue;
    assert_int_equal(atoll_campaign_queue_put(&put, NULL), 0);
    assert_int_equal(atoll_campaign_queue_put(&put, NULL), 0); /* replaced, not doubled */
    assert_int_equal(atoll_campaign_queue_load(&queue, NULL), 0);
    assert_int_equal(queue.count, 1);
    const struct atoll_campaign_queue_entry *got = atoll_campaign_queue_find(&queue, ID);
    assert_non_null(got);
    assert_string_equal(got->campaign, put.campaign);
    assert_true(got->priority == 1.5 && got->share == 2.5 && got->added_unix_s == 77);
    assert_int_equal(got->after_count, 1);
    assert_string_equal(got->after[0], "/scratch/other");
    assert_null(atoll_campaign_queue_find(&queue, "00"));
    atoll_campaign_queue_fini(&queue);
    assert_int_equal(atoll_campaign_queue_remove(ID, NULL), 0);
    assert_int_equal(atoll_campaign_queue_remove(ID, NULL), 0);
    assert_int_equal(atoll_campaign_queue_load(&queue, NULL), 0);
    assert_int_equal(queue.count, 0);
    atoll_campaign_queue_fini(&queue);
}

static void test_higher_priorities_come_first_then_older_ones(void **state)
{
    static const struct {
        const char *id;
        double priority;
        int64_t added;
    } rows[] = {{"dd", 0, 5}, {"cc", 0, 1}, {"bb", 9, 8}, {"aa", 0, 5}};
    static const char *const order[] = {"bb", "cc", "aa", "dd"};
    struct atoll_campaign_queue queue;
    for (size_t i = 0; i < 4; i++) {
        struct atoll_campaign_queue_entry put = entry_of(rows[i].id, rows[i].priority, rows[i].added);
        assert_int_equal(atoll_campaign_queue_put(&put, NULL), 0);
    }
    assert_int_equal(atoll_campaign_queue_load(&queue, NULL), 0);
    assert_int_equal(queue.count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(queue.entries[i].id, order[i]);
        assert_int_equal(atoll_campaign_queue_remove(order[i], NULL), 0);
    }
    atoll_campaign_queue_fini(&queue);
}

#define REST "\"campaign\": \"/c\", \"share\": 1"

static void test_files_that_are_no_entries_are_passed_over(void **state)
{
    static const struct {
        const char *name, *text;
    } cases[] = {
        {"01.json", ""},
        {"02.json", "{"},
        {"03.json", "[]"},
        {"04.json", "null"},
        {"05.json", "{}"},
        {"06.json", "{\"id\": 6, " REST "}"},
        {"07.json", "{\"id\": \"07\", \"share\": 1}"},
        {"08.json", "{\"id\": \"08\", \"campaign\": \"relative\", \"share\": 1}"},
        {"09.json", "{\"id\": \"09\", \"campaign\": \"/c\"}"},
        {"0a.json", "{\"id\": \"0a\", \"campaign\": \"/c\", \"share\": -1}"},
        {"0b.json", "{\"id\": \"0b\", \"campaign\": \"/c\", \"share\": 1e999}"},
        {"0c.json", "{\"id\": \"0c\", \"campaign\": \"/c\\u0000d\", \"share\": 1}"},
        {"0d.json", "{\"id\": \"0d\", \"id\": \"0d\", " REST "}"},
        {"0e.json", "{\"id\": \"../../etc/x\", " REST "}"},
        {"0f.json", "{\"id\": \"ab\", " REST "}"}, /* a copy of another entry would ask for its jobs twice */
        {"copy of ab.json", "{\"id\": \"ab\", " REST "}"},
        {"1a.json", "{\"id\": \"1a\", " REST ", \"after\": [1, null]}"},
        {"1b.json", "{\"id\": \"1b\", " REST ", \"after\": \"/c\"}"},
        {"XY.json", "{\"id\": \"XY\", " REST "}"}};
    char path[256];
    struct atoll_campaign_queue queue;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        write_file(cases[i].name, cases[i].text);
        assert_int_equal(atoll_campaign_queue_load(&queue, NULL), 0);
        if (queue.count != 0)
            fail_msg("%s was taken: %s", cases[i].name, cases[i].text);
        atoll_campaign_queue_fini(&queue);
        snprintf(path, sizeof(path), "%s/%s", folder, cases[i].name);
        assert_int_equal(access(path, F_OK), 0); /* left alone */
        unlink(path);
    }
    write_file(".hidden.json", "{");
    write_file("ab.json.tmp", "{");
    snprintf(path, sizeof(path), "%s/cd.json", folder);
    assert_int_equal(symlink("/nowhere/at/all", path), 0);
    assert_int_equal(atoll_campaign_queue_load(&queue, NULL), 0);
    assert_int_equal(queue.count, 0);
    atoll_campaign_queue_fini(&queue);
}

static void test_deep_and_long_files_are_passed_over(void **state)
{
    struct atoll_campaign_queue queue;
    char *text = malloc(200001);
    memset(text, '[', 200000);
    text[200000] = '\0';
    write_file("ee.json", text);
    free(text);
    assert_int_equal(atoll_campaign_queue_load(&queue, NULL), 0);
    assert_int_equal(queue.count, 0);
    atoll_campaign_queue_fini(&queue);
}

static void test_what_is_no_id_is_refused(void **state)
{
    static const char *const ids[] = {"", "..", "../x", "ABC", "12 34", "zz"};
    for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_campaign_queue_entry put = entry_of(ids[i], 0, 0);
        assert_int_equal(atoll_campaign_queue_put(&put, &err), -1);
        expect_err(&err, ATOLL_E_INPUT, "is no campaign's id");
        err = (struct atoll_err)ATOLL_ERR_INIT;
        assert_int_equal(atoll_campaign_queue_remove(ids[i], &err), -1);
        expect_err(&err, ATOLL_E_INPUT, "is no campaign's id");
    }
    struct atoll_err err = ATOLL_ERR_INIT;
    char latin[] = "/scratch/\xe4";
    struct atoll_campaign_queue_entry put = entry_of(ID, 0, 0);
    put.campaign = latin;
    assert_int_equal(atoll_campaign_queue_put(&put, &err), -1);
    expect_err(&err, ATOLL_E_INPUT, "is not text in UTF-8");
}

static void test_where_the_folder_is(void **state)
{
    char path[4096], small[8];
    struct atoll_err err = ATOLL_ERR_INIT;
    unsetenv("ATOLL_QUEUE");
    setenv("XDG_DATA_HOME", "/data", 1);
    setenv("HOME", "/home/me", 1);
    assert_int_equal(atoll_campaign_queue_folder(path, sizeof(path), NULL), 0);
    assert_string_equal(path, "/data/atoll/queue");
    assert_int_equal(atoll_campaign_queue_folder(small, sizeof(small), &err), -1);
    expect_err(&err, ATOLL_E_LIMIT, "too long");
    setenv("XDG_DATA_HOME", "relative", 1);
    assert_int_equal(atoll_campaign_queue_folder(path, sizeof(path), NULL), 0);
    assert_string_equal(path, "/home/me/.local/share/atoll/queue");
    unsetenv("HOME");
    err = (struct atoll_err)ATOLL_ERR_INIT;
    assert_int_equal(atoll_campaign_queue_folder(path, sizeof(path), &err), -1);
    expect_err(&err, ATOLL_E_MISSING, "set ATOLL_QUEUE");
    assert_int_equal(chdir(folder), 0);
    setenv("ATOLL_QUEUE", "mine/queue", 1); /* a job works in another folder */
    assert_int_equal(atoll_campaign_queue_folder(path, sizeof(path), NULL), 0);
    assert_int_equal(strncmp(path, folder, strlen(folder)), 0);
    assert_string_equal(path + strlen(folder), "/mine/queue");
    setenv("ATOLL_QUEUE", folder, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_an_entry_comes_back_as_it_was),
                                       cmocka_unit_test(test_higher_priorities_come_first_then_older_ones),
                                       cmocka_unit_test(test_files_that_are_no_entries_are_passed_over),
                                       cmocka_unit_test(test_deep_and_long_files_are_passed_over),
                                       cmocka_unit_test(test_what_is_no_id_is_refused),
                                       cmocka_unit_test(test_where_the_folder_is)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
