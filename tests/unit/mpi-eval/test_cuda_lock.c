/* The lock of a device: held once, named to the next one, free again when its holder goes. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mpi-eval/backend/cuda/lock.h"

#define UUID "GPU-00000000-1111-2222-3333-444444444444"

static char folder[64], path[200];

static int set_up(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/atoll-lock-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/atoll-gpu-%s.lock", folder, UUID);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static void test_held(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct stat st;
    char pid[32];
    (void)state;
    mode_t mask = umask(077);
    int fd = atoll_cuda_lock(folder, UUID, &err);
    umask(mask);
    assert_true(fd >= 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0666); /* others must be able to ask */
    assert_int_equal(atoll_cuda_lock(folder, UUID, &err), -1);
    assert_int_equal(err.code, ATOLL_E_BUSY);
    snprintf(pid, sizeof pid, "process %ld ", (long)getpid());
    assert_non_null(strstr(err.text, pid));
    atoll_cuda_unlock(fd);
    atoll_cuda_unlock(-1);
    atoll_err_clear(&err);
    fd = atoll_cuda_lock(folder, UUID, &err);
    assert_true(fd >= 0);
    atoll_cuda_unlock(fd);
}

static void test_refusals(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    (void)state;
    assert_int_equal(atoll_cuda_lock(folder, "../evil", &err), -1);
    assert_int_equal(err.code, ATOLL_E_INPUT);
    atoll_err_clear(&err);
    assert_int_equal(atoll_cuda_lock(folder, "", &err), -1);
    assert_int_equal(err.code, ATOLL_E_LIMIT);
    atoll_err_clear(&err);
    assert_int_equal(symlink("/dev/null", path), 0);
    assert_int_equal(atoll_cuda_lock(folder, UUID, &err), -1); /* never through a link */
    assert_true(err.code != ATOLL_OK);
    unlink(path);
    atoll_err_clear(&err);
    assert_int_equal(mkfifo(path, 0666), 0);
    assert_int_equal(atoll_cuda_lock(folder, UUID, &err), -1);
    assert_int_equal(err.code, ATOLL_E_DENIED);
    unlink(path);
    atoll_err_clear(&err);
    assert_int_equal(atoll_cuda_lock("/no/such/folder", UUID, &err), -1);
    assert_int_equal(err.code, ATOLL_E_NOTFOUND);
}

/* What a holder's file says is not believed to be a number. */
static void test_strange_holder(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    (void)state;
    int fd = atoll_cuda_lock(folder, UUID, &err);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, "%s\n", 3, 0), 3);
    assert_int_equal(atoll_cuda_lock(folder, UUID, &err), -1);
    assert_non_null(strstr(err.text, "process (unknown)"));
    atoll_cuda_unlock(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_held, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refusals, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_strange_holder, set_up, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
