#include "tests/support/expect.h"

#include <dirent.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mpi-eval/node/binding.h"
#include "mpi-eval/node/gpus.h"

/* ---- seats, in a folder like sysfs's ---- */

static char folder[] = ATOLL_BUILD_DIR "/pci-XXXXXX";

static void file_put(const char *address, const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", folder, address);
    mkdir(path, 0700);
    snprintf(path, sizeof(path), "%s/%s/%s", folder, address, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void device_put(const char *address, const char *vendor, const char *class, const char *local)
{
    file_put(address, "vendor", vendor);
    file_put(address, "class", class);
    if (local)
        file_put(address, "local_cpulist", local);
}

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    device_put("0000:00:1f.0", "0x8086\n", "0x060100\n", "0-63\n");
    device_put("0000:1b:00.0", "0x10de\n", "0x030200\n", "0-31\n");
    device_put("0000:43:00.0", "0x10de\n", "0x030200\n", "0-31\n");
    device_put("0000:9b:00.0", "0x10de\n", "0x030000\n", "32-63\n");
    device_put("0000:9b:00.1", "0x10de\n", "0x040300\n", "32-63\n"); /* its sound card */
    device_put("0000:c3:00.0", "0x10de\n", "0x030200\n", "32-63\n");
    device_put("0000:e0:00.0", "0x10de\n", "0x030200\n", NULL);
    return 0;
}

static int entry_remove(const char *path, const struct stat *st, int kind, struct FTW *walk)
{
    return remove(path);
}

static int tear_down(void **state)
{
    (void)state;
    return nftw(folder, entry_remove, 16, FTW_DEPTH | FTW_PHYS);
}

static void test_seats(void **state)
{
    static const struct {
        const char *address;
        int rc;
        const char *local;
        unsigned index, count;
    } rows[] = {
        {"0000:1b:00.0", 0, "0-31", 0, 2},
        {"0000:43:00.0", 0, "0-31", 1, 2},
        {"0000:9B:00.0", 0, "32-63", 0, 2}, /* drivers write capitals */
        {"0000:c3:00.0", 0, "32-63", 1, 2},
        {"0000:e0:00.0", -1, "", 0, 0}, /* nothing said of what is near */
        {"0000:77:00.0", -1, "", 0, 0},
        {"", -1, "", 0, 0},
        {"../0000:1b:00.0", -1, "", 0, 0},
        {"..", -1, "", 0, 0},
        {"0000:1b:00.0/../0000:43:00.0", -1, "", 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_pci_seat seat = {.total = 99};
        if (atoll_pci_seat(folder, rows[i].address, &seat) != rows[i].rc)
            fail_msg("row %zu", i);
        if (rows[i].rc != 0) {
            assert_int_equal(seat.total, 99); /* untouched */
            continue;
        }
        assert_string_equal(seat.local, rows[i].local);
        assert_int_equal(seat.index, rows[i].index);
        assert_int_equal(seat.count, rows[i].count);
        assert_int_equal(seat.total, 5);
    }
}

static void test_part(void **state)
{
    static const struct {
        struct atoll_pci_seat seat;
        struct atoll_slice slice;
        int is_whole;
        struct atoll_slice expected;
    } rows[] = {
        {{"0-31", 1, 2, 4}, {3, 4}, 1, {1, 2}}, /* one evaluator for each GPU */
        {{"0-31", 1, 2, 4}, {0, 2}, 1, {0, 2}}, /* some GPUs are other people's */
        {{"0-31", 1, 2, 4}, {3, 4}, 0, {3, 4}}, /* parts of GPUs: more may sit at the same address */
        {{"", 0, 0, 0}, {1, 3}, 1, {1, 3}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_slice got = atoll_binding_part(&rows[i].seat, &rows[i].slice, rows[i].is_whole);
        assert_int_equal(got.index, rows[i].expected.index);
        assert_int_equal(got.count, rows[i].expected.count);
    }
}

/* ---- processes of this machine ---- */

/* A device whose cores are all that the parent may use, so that there is something to bind to. */
static int device_find(const cpu_set_t *pool, char *ret_address, size_t bytes)
{
    DIR *dir = opendir(ATOLL_PCI_FOLDER);
    int found = 0;
    for (struct dirent *entry = dir ? readdir(dir) : NULL; entry && !found; entry = readdir(dir)) {
        struct atoll_pci_seat seat;
        unsigned first, last;
        if (entry->d_name[0] == '.' || atoll_pci_seat(ATOLL_PCI_FOLDER, entry->d_name, &seat) != 0 ||
            sscanf(seat.local, "%u-%u", &first, &last) != 2)
            continue;
        found = 1;
        for (unsigned i = 0; i < CPU_SETSIZE; i++)
            found &= !CPU_ISSET(i, pool) || (i >= first && i <= last);
        snprintf(ret_address, bytes, "%.63s", entry->d_name);
    }
    if (dir)
        closedir(dir);
    return found;
}

struct sleeper {
    cpu_set_t got;
    int fds[2]; /* a byte wakes it */
};

static void *thread_sleep(void *argument)
{
    struct sleeper *s = argument;
    char byte;
    while (read(s->fds[0], &byte, 1) < 0)
        continue;
    sched_getaffinity(0, sizeof(s->got), &s->got);
    return NULL;
}

/* In a process that is the child of one with all cores and has only the first: a thread and a grandchild that were
 * there before are bound like the process itself.  The exit status tells what was not. */
static int bound_child(const char *address, const cpu_set_t *pool)
{
    struct sleeper sleeper;
    cpu_set_t one, own, grand;
    struct atoll_evaluator_location place = {.note = ""};
    pthread_t thread;
    CPU_ZERO(&one);
    for (size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, pool))
            CPU_SET(i, &one);
    if (sched_setaffinity(0, sizeof(one), &one) != 0 || pipe(sleeper.fds) != 0)
        return 10;
    pid_t pid = fork();
    if (pid == 0)
        for (;;)
            pause();
    if (pid < 0 || pthread_create(&thread, NULL, thread_sleep, &sleeper) != 0)
        return 11;
    atoll_binding_make(address, &place);
    int rc = write(sleeper.fds[1], "x", 1) != 1 || pthread_join(thread, NULL) != 0 ||
             sched_getaffinity(0, sizeof(own), &own) != 0 ||
             sched_getaffinity(pid, sizeof(grand), &grand) != 0;
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return rc                                              ? 12
           : !CPU_EQUAL(&own, pool)                        ? 13
           : !CPU_EQUAL(&sleeper.got, pool)                ? 14
           : !CPU_EQUAL(&grand, pool)                      ? 15
           : place.core_count != (uint32_t)CPU_COUNT(pool) ? 16
           : !place.cores[0] || !place.numa[0]             ? 17
           : place.note[0]                                 ? 18
                                                           : 0;
}

static void test_bind(void **state)
{
    cpu_set_t pool;
    char address[64] = "";
    int status = -1;
    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof(pool), &pool), 0);
    if (CPU_COUNT(&pool) < 2 || !device_find(&pool, address, sizeof(address))) {
        print_message("skipped: one core, or no PCI device of this machine says which cores are near it\n");
        skip();
    }
    unsetenv(ATOLL_SLICE_VARIABLE);
    unsetenv(ATOLL_GPU_VARIABLE);
    pid_t pid = fork();
    if (pid == 0)
        _exit(bound_child(address, &pool));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* Without a device nothing is bound, and the cores are told. */
static void test_describe(void **state)
{
    cpu_set_t before, after;
    struct atoll_evaluator_location place = {.note = ""};
    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
    atoll_binding_make("", &place);
    assert_int_equal(sched_getaffinity(0, sizeof(after), &after), 0);
    assert_true(CPU_EQUAL(&before, &after));
    assert_int_equal(place.core_count, CPU_COUNT(&before));
    assert_true(place.cores[0] && place.numa[0]);
    assert_string_equal(place.note, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_seats), cmocka_unit_test(test_part),
                                       cmocka_unit_test(test_bind), cmocka_unit_test(test_describe)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
