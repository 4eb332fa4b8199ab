#include "tests/support/expect.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mpi-eval/node/slice.h"

static cpu_set_t cores(unsigned long bits)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    for (size_t i = 0; i < 64; i++)
        if (bits >> i & 1)
            CPU_SET(i, &set);
    return set;
}

static void slices_are_disjoint_and_whole(void **state)
{
    static const struct {
        struct atoll_slice slice;
        unsigned long mask;
        int online;
        unsigned long expected;
    } cases[] =
        {
            {{0, 1}, 0x3, 2, 0x3},   {{0, 2}, 0x3, 2, 0x1},
            {{1, 2}, 0x3, 2, 0x2},   {{0, 3}, 0xff, 8, 0x03},
            {{1, 3}, 0xff, 8, 0x1c}, {{2, 3}, 0xff, 8, 0xe0},
            {{1, 2}, 0x0f, 8, 0x0f}, /* bound by the launcher: its own */
            {{1, 4}, 0x0f, 8, 0x2},  /* four masks of four cores among eight: some overlap */
            {{0, 4}, 0x3, 2, 0x1},   {{1, 4}, 0x3, 2, 0x1},
            {{3, 4}, 0x3, 2, 0x2}, /* shared: more evaluators than cores */
            {{0, 0}, 0x3, 2, 0x3},
        };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cpu_set_t mask = cores(cases[i].mask), expected = cores(cases[i].expected), got;

        atoll_slice_cores(&cases[i].slice, &mask, cases[i].online, &got);
        assert_true(CPU_EQUAL(&got, &expected));
    }
}

/* In a child: two evaluators started here share what this process may use, which is less than the machine. */
static void one_machine_is_shared(void **state)
{
    cpu_set_t mask, got;
    int status = -1;

    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof(mask), &mask), 0);
    if (CPU_COUNT(&mask) < 2) {
        print_message("skipped: this process may use one core only\n");
        skip();
    }
    pid_t pid = fork();
    if (pid == 0) {
        atoll_slice_bind(&(struct atoll_slice){1, 2}, 1);
        _exit(sched_getaffinity(0, sizeof(got), &got) != 0 ||
              CPU_COUNT(&got) != CPU_COUNT(&mask) - CPU_COUNT(&mask) / 2);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void slice_of_rank_follows_the_launcher(void **state)
{
    static const struct {
        const char *rank, *local, *size;
        struct atoll_slice expected;
    } cases[] = {
        {NULL, NULL, NULL, {0, 1}}, {"1", "1", "3", {0, 2}},  {"2", "2", "3", {1, 2}},
        {"4", "1", "3", {1, 3}},    {"0", "0", "3", {0, 1}},  {"2", "5", "3", {0, 1}},
        {"x", "1", "3", {0, 1}},    {"1", "1", "-3", {0, 1}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct atoll_slice got;

        unsetenv("OMPI_COMM_WORLD_RANK");
        unsetenv("SLURM_PROCID");
        if (cases[i].rank) {
            setenv("OMPI_COMM_WORLD_RANK", cases[i].rank, 1);
            setenv("OMPI_COMM_WORLD_LOCAL_RANK", cases[i].local, 1);
            setenv("OMPI_COMM_WORLD_LOCAL_SIZE", cases[i].size, 1);
        }
        got = atoll_slice_of_rank();
        assert_int_equal(got.index, cases[i].expected.index);
        assert_int_equal(got.count, cases[i].expected.count);
    }
}

static void slurm_lists_are_read(void **state)
{
    static const struct {
        const char *list;
        unsigned node;
        int rc;
        unsigned tasks;
    } cases[] = {
        {NULL, 0, -1, 0},      {"", 0, -1, 0},
        {"4", 0, 0, 4},        {"4", 1, -1, 0},
        {"2(x3),1", 2, 0, 2},  {"2(x3),1", 3, 0, 1},
        {"2(x3),1", 4, -1, 0}, {"1,2,3", 2, 0, 3},
        {"2(x3", 1, 0, 2},     {"x", 0, -1, 0},
        {"0", 0, -1, 0},       {"2(x0),3", 0, -1, 0},
        {"1;2", 1, -1, 0},     {"99999999999", 0, -1, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        unsigned tasks = 0;

        assert_int_equal(atoll_slice_tasks_of_node(cases[i].list, cases[i].node, &tasks), cases[i].rc);
        assert_int_equal(tasks, cases[i].tasks);
    }
}

/* Without a word of mpirun's. */
static void slice_of_rank_follows_srun(void **state)
{
    static const struct {
        const char *rank, *local, *node, *list;
        struct atoll_slice expected;
    } cases[] = {{"1", "1", "0", "5", {0, 4}},   {"4", "4", "0", "5", {3, 4}},
                 {"0", "0", "0", "5", {0, 1}},   {"6", "1", "1", "5,4", {1, 4}},
                 {"6", "1", "2", "5,4", {0, 1}}, {"6", "9", "1", "5,4", {0, 1}}};

    (void)state;
    unsetenv("OMPI_COMM_WORLD_RANK");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct atoll_slice got;

        setenv("SLURM_PROCID", cases[i].rank, 1);
        setenv("SLURM_LOCALID", cases[i].local, 1);
        setenv("SLURM_NODEID", cases[i].node, 1);
        setenv("SLURM_STEP_TASKS_PER_NODE", cases[i].list, 1);
        got = atoll_slice_of_rank();
        assert_int_equal(got.index, cases[i].expected.index);
        assert_int_equal(got.count, cases[i].expected.count);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices_are_disjoint_and_whole), cmocka_unit_test(one_machine_is_shared),
        cmocka_unit_test(slice_of_rank_follows_the_launcher), cmocka_unit_test(slurm_lists_are_read),
        cmocka_unit_test(slice_of_rank_follows_srun)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
