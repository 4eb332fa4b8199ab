#include "tests/support/expect.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mpi-eval/backend/cuda/compile/compile_cache.h"

#define BYTES 1000

static char base[] = "/tmp/atoll-test-XXXXXX";
static char folder[64];
static unsigned char cubin[BYTES];

static int set_up(void **state)
{
    (void)state;
    for (size_t i = 0; i < BYTES; i++)
        cubin[i] = (unsigned char)(i * 7);
    snprintf(base, sizeof(base), "/tmp/atoll-test-XXXXXX");
    if (!mkdtemp(base))
        return -1;
    snprintf(folder, sizeof(folder), "%s/cache", base);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    char command[96];
    snprintf(command, sizeof(command), "rm -rf %s", base);
    return system(command);
}

static struct atoll_compile_cache *open_cache(uint64_t limit_bytes)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_compile_cache *cache = atoll_compile_cache_create(folder, limit_bytes, &err);
    if (!cache)
        fail_msg("%s", err.text);
    return cache;
}

static struct atoll_id key_of(unsigned number)
{
    return atoll_id_of(&number, sizeof(number));
}

static int has(struct atoll_compile_cache *cache, unsigned number)
{
    void *object = NULL;
    size_t length = 0;
    char *report = NULL;
    struct atoll_id key = key_of(number);
    int found = atoll_compile_cache_get(cache, &key, &object, &length, &report);
    if (found) {
        assert_int_equal(length, BYTES);
        assert_memory_equal(object, cubin, BYTES);
        assert_string_equal(report, "a report\n");
    }
    free(object);
    free(report);
    return found;
}

static void put(struct atoll_compile_cache *cache, unsigned number)
{
    struct atoll_id key = key_of(number);
    atoll_compile_cache_put(cache, &key, cubin, BYTES, "a report\n");
}

static void path_of(unsigned number, char ret_path[160])
{
    char name[ATOLL_ID_HEX];
    struct atoll_id key = key_of(number);
    atoll_id_hex(&key, name);
    snprintf(ret_path, 160, "%s/%s", folder, name);
}

static void test_round_trip(void **state)
{
    (void)state;
    struct stat st;
    struct atoll_compile_cache *mine = open_cache(1 << 20), *other = open_cache(1 << 20);
    assert_int_equal(has(mine, 1), 0);
    put(mine, 1);
    put(other, 1);
    assert_int_equal(has(mine, 1), 1);
    assert_int_equal(has(other, 1), 1);
    assert_int_equal(has(other, 2), 0);
    assert_int_equal(stat(folder, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    atoll_compile_cache_destroy(mine);
    atoll_compile_cache_destroy(other);
    atoll_compile_cache_destroy(NULL);
    mine = open_cache(1 << 20);
    assert_int_equal(has(mine, 1), 1);
    atoll_compile_cache_destroy(mine);
}

/* Every byte counts, and so does every missing one. */
static void test_damage(void **state)
{
    (void)state;
    struct atoll_compile_cache *cache = open_cache(1 << 20);
    char path[160];
    path_of(3, path);
    for (int at = 0; at < 1060; at += 53) {
        put(cache, 3);
        int fd = open(path, O_RDWR | O_CLOEXEC);
        unsigned char byte = 0;
        assert_int_equal(pread(fd, &byte, 1, at), 1);
        byte ^= 1;
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
        close(fd);
        assert_int_equal(has(cache, 3), 0);
        assert_int_equal(access(path, F_OK), -1); /* removed */
    }
    for (int length = 0; length < 1000; length += 75) {
        put(cache, 3);
        assert_int_equal(truncate(path, length), 0);
        assert_int_equal(has(cache, 3), 0);
    }
    put(cache, 3);
    char elsewhere[160];
    path_of(4, elsewhere);
    assert_int_equal(rename(path, elsewhere), 0); /* the right bytes under a wrong name */
    assert_int_equal(has(cache, 4), 0);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    assert_int_equal(has(cache, 3), 0);
    atoll_compile_cache_destroy(cache);
}

static void test_limit(void **state)
{
    (void)state;
    struct atoll_compile_cache *cache = open_cache(10 * BYTES);
    for (unsigned i = 0; i < 8; i++) {
        char path[160];
        put(cache, i);
        path_of(i, path);
        const struct timespec times[2] = {{1000 + i, 0}, {1000 + i, 0}};
        assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    }
    assert_int_equal(has(cache, 0), 1); /* used: the youngest now */
    put(cache, 8);
    put(cache, 9);
    assert_int_equal(has(cache, 0), 1);
    assert_int_equal(has(cache, 1), 0);
    assert_int_equal(has(cache, 7), 1);
    assert_int_equal(has(cache, 9), 1);
    atoll_compile_cache_destroy(cache);
}

static void test_folders_that_are_not_ours(void **state)
{
    (void)state;
    struct atoll_err err = ATOLL_ERR_INIT;
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(chmod(folder, 0755), 0);
    assert_null(atoll_compile_cache_create(folder, 1 << 20, &err));
    assert_int_equal(err.code, ATOLL_E_DENIED);
    assert_non_null(strstr(err.text, "not this user's alone"));
    assert_int_equal(chmod(folder, 0700), 0);
    if (geteuid() == 0) {
        assert_int_equal(chown(folder, 12345, 12345), 0);
        assert_null(atoll_compile_cache_create(folder, 1 << 20, &err));
        assert_int_equal(chown(folder, 0, 0), 0);
    } else {
        print_message("another user's folder: skipped, only root can make one\n");
    }
    char link[80];
    snprintf(link, sizeof(link), "%s/link", base);
    assert_int_equal(symlink(folder, link), 0);
    assert_null(atoll_compile_cache_create(link, 1 << 20, &err));
    assert_null(atoll_compile_cache_create("/proc/no-such-folder", 1 << 20, &err));
}

static void test_default_folder(void **state)
{
    (void)state;
    char wanted[96];
    struct stat st;
    setenv("ATOLL_SCRATCH", base, 1);
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_compile_cache *cache = atoll_compile_cache_create(NULL, 1 << 20, &err);
    unsetenv("ATOLL_SCRATCH");
    assert_non_null(cache);
    snprintf(wanted, sizeof(wanted), "%s/atoll-cache-%u", base, (unsigned)geteuid());
    assert_int_equal(stat(wanted, &st), 0);
    atoll_compile_cache_destroy(cache);
}

static int claim(struct atoll_compile_cache *cache, unsigned number, struct atoll_compile_claim *ret_claim)
{
    struct atoll_id key = key_of(number);
    return atoll_compile_cache_claim(cache, &key, ret_claim);
}

/* One has a claim at a time, until it is given back or its process ends; nothing of it stays, and it is no entry. */
static void test_claims(void **state)
{
    (void)state;
    struct atoll_compile_cache *mine = open_cache(1 << 20), *other = open_cache(1 << 20);
    struct atoll_compile_claim a, b;
    int ends[2];
    char byte, path[256], name[ATOLL_ID_HEX];
    assert_int_equal(claim(mine, 1, &a), 1);
    assert_int_equal(claim(other, 1, &b), 0);
    assert_int_equal(claim(mine, 1, &b), 0);
    assert_int_equal(claim(other, 2, &b), 1);
    assert_int_equal(has(other, 1), 0);
    put(mine, 1);
    atoll_compile_cache_unclaim(mine, &a);
    atoll_compile_cache_unclaim(mine, &a);
    atoll_compile_cache_unclaim(other, &b);
    assert_int_equal(claim(other, 1, &b), 1); /* and whoever looks now finds it */
    assert_int_equal(has(other, 1), 1);
    atoll_compile_cache_unclaim(other, &b);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        if (claim(mine, 3, &a) == 1 && write(ends[1], "c", 1) == 1)
            pause();
        _exit(1);
    }
    assert_int_equal(read(ends[0], &byte, 1), 1);
    assert_int_equal(claim(mine, 3, &a), 0);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(claim(mine, 3, &a), 1);
    atoll_compile_cache_unclaim(mine, &a);
    struct atoll_id key = key_of(3);
    atoll_id_hex(&key, name);
    snprintf(path, sizeof(path), "%s/claim-%s", folder, name);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(symlink("/etc/passwd", path), 0); /* nobody can tell: it is given, and is none */
    assert_int_equal(claim(mine, 3, &a), 1);
    assert_int_equal(a.fd, -1);
    atoll_compile_cache_unclaim(mine, &a);
    close(ends[0]);
    close(ends[1]);
    atoll_compile_cache_destroy(mine);
    atoll_compile_cache_destroy(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_round_trip, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_damage, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_limit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_folders_that_are_not_ours, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_default_folder, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_claims, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
