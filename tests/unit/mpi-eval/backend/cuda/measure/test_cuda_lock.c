/* The lock of a device: held once, named to the next one, free again when its holder goes. */
#include "tests/support/expect.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mpi-eval/backend/cuda/measure/lock.h"

#define UUID "GPU-00000000-1111-2222-3333-444444444444"

static char folder[64], path[200];

static int set_up(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/atoll-lock-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof(path), "%s/atoll-gpu-%s.lock", folder, UUID);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

/* How the command line of who runs this test begins: what starts an evaluator names its campaign. */
static void parent_program(char *ret_text, size_t bytes)
{
    char file[64];
    snprintf(file, sizeof(file), "/proc/%ld/cmdline", (long)getppid());
    FILE *f = fopen(file, "re");
    assert_non_null(f);
    size_t n = fread(ret_text, 1, bytes - 1, f);
    fclose(f);
    ret_text[n] = 0; /* the first word ends with a NUL of its own */
    assert_true(*ret_text);
}

static void test_held(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct stat st;
    char pid[128], host[65] = "";
    (void)state;
    mode_t mask = umask(077);
    int fd = atoll_cuda_lock(folder, UUID, &err);
    umask(mask);
    assert_true(fd >= 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0666); /* others must be able to ask */
    assert_int_equal(atoll_cuda_lock(folder, UUID, &err), -1);
    assert_int_equal(err.code, ATOLL_E_BUSY);
    snprintf(pid, sizeof(pid), "process %ld ", (long)getpid());
    assert_non_null(strstr(err.text, pid));
    gethostname(host, sizeof(host) - 1);
    snprintf(pid, sizeof(pid), " on %.64s, started by \"", host);
    assert_non_null(strstr(err.text, pid));
    parent_program(pid, sizeof(pid));
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
    static const struct {
        const char *text, *says;
    } cases[] = {{"%s\n", "process (unknown) on an unknown host, started by \"\" ("},
                 {"12x\n\tb\n\x1b[31m", "process 12 on an unknown host, started by \"\" ("},
                 {"12\nhost name\nrun \"it\"\nand more", "process 12 on host, started by \"run \"it\"\" ("},
                 {"12", "process 12 on an unknown host"},
                 {"", "process (unknown) on"},
                 {"1\nh\n%n%s\x7f", "process 1 on h, started by \"%n%s\" ("}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        assert_int_equal(ftruncate(fd, 0), 0);
        assert_int_equal(pwrite(fd, cases[i].text, strlen(cases[i].text), 0), (ssize_t)strlen(cases[i].text));
        atoll_err_clear(&err);
        assert_int_equal(atoll_cuda_lock(folder, UUID, &err), -1);
        if (!strstr(err.text, cases[i].says))
            fail_msg("case %zu: %s", i, err.text);
    }
    char *flood = malloc(1 << 16);
    assert_non_null(flood);
    memset(flood, '1', 1 << 16);
    assert_int_equal(pwrite(fd, flood, 1 << 16, 0), 1 << 16);
    free(flood);
    atoll_err_clear(&err);
    assert_int_equal(atoll_cuda_lock(folder, UUID, &err), -1);
    assert_non_null(strstr(err.text, "give every evaluator a device of its own"));
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
