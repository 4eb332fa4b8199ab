/* What squeue, sinfo, scontrol and srun of a real cluster printed, and what nothing should ever print. */
#include "tests/support/expect.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "scheduler/launcher/slurm/commands.h"

#define FIXTURES ATOLL_SOURCE_DIR "/tests/fixtures/slurm/"

static char *read_fixture(const char *name)
{
    char path[512], *text = calloc(1, 1 << 20);
    FILE *file;

    snprintf(path, sizeof(path), FIXTURES "%s", name);
    file = fopen(path, "r");
    assert_non_null(file);
    assert_int_not_equal(fread(text, 1, (1 << 20) - 1, file), 0);
    fclose(file);
    return text;
}

static const struct {
    const char *id, *name, *reason, *nodes;
    enum atoll_job_state state;
    unsigned restarts;
    int exit_status;
    int64_t start, end;
} expected[] = {
    {"2_4", "arr", "", "n1", ATOLL_JOB_CANCELLED, 0, 128 + 15, 1795342937, 1795343245},
    {"2_2", "arr", "", "n1", ATOLL_JOB_COMPLETED, 0, 0, 1795341937, 1795342937},
    {"24", "bad", "NonZeroExitCode", "n1", ATOLL_JOB_FAILED, 0, 3, 1795343248, 1795343248},
    {"25", "sig", "JobLaunchFailure", "n1", ATOLL_JOB_FAILED, 0, 128 + 9, 1795343248, 1795343248},
    {"22_2", "arr", "JobArrayTaskLimit", "", ATOLL_JOB_PENDING, 0, 0, 0, 0},
    {"26", "future", "BeginTime", "", ATOLL_JOB_PENDING, 0, 0, 1795346847, 0},
    {"27", "again", "BeginTime", "", ATOLL_JOB_REQUEUED, 1, 0, 1795343370, 0},
    {"23", "held", "JobHeldUser", "", ATOLL_JOB_HELD, 0, 0, 0, 0},
    {"21", "a b|c", "", "n1", ATOLL_JOB_RUNNING, 0, 0, 1795343248, 1795343848},
    {"22_0", "arr", "", "n1", ATOLL_JOB_RUNNING, 0, 0, 1795343248, 0},
};

static const struct atoll_job *find(const struct atoll_job *jobs, size_t count, const char *id)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(jobs[i].id, id) == 0)
            return &jobs[i];
    fail_msg("no job %s", id);
    return NULL;
}

static void test_jobs_of_squeue(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_job *jobs = NULL;
    size_t count = 0;
    char *text = read_fixture("squeue-22.05.txt");

    assert_int_equal(atoll_slurm_jobs_read(text, &jobs, &count, &err), 0);
    assert_int_equal(count, 16);
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        const struct atoll_job *job = find(jobs, count, expected[i].id);

        assert_string_equal(job->name, expected[i].name);
        assert_string_equal(job->reason, expected[i].reason);
        assert_string_equal(job->nodes, expected[i].nodes);
        assert_string_equal(job->partition, "main");
        assert_int_equal(job->state, expected[i].state);
        assert_int_equal(job->restart_count, expected[i].restarts);
        assert_int_equal(job->exit_status, expected[i].exit_status);
        assert_int_equal(job->start_unix_s, expected[i].start);
        assert_int_equal(job->end_unix_s, expected[i].end);
    }
    free(jobs);
    free(text);
}

static void test_lines_of_another_width(void **state)
{
    const char *const wrong[] = {"slurm_load_jobs error\n", "\n", "1 2 3"};

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_job *jobs = NULL;
        size_t count = 0;

        assert_int_equal(atoll_slurm_jobs_read(wrong[i], &jobs, &count, &err), -1);
        expect_err(&err, ATOLL_E_PROTOCOL, "squeue printed a line");
        free(jobs);
    }
}

static void test_the_format_has_every_width(void **state)
{
    const char *format = atoll_slurm_job_format();

    assert_ptr_equal(strstr(format, "JobArrayID:63,"), format);
    assert_non_null(strstr(format, ",Name:128,"));
    assert_non_null(strstr(format, ",exit_code:12"));
    assert_string_equal(format, atoll_slurm_job_format());
}

static void test_partitions(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_cluster cluster = {0};
    char *text = read_fixture("sinfo-partitions-22.05.txt");

    assert_int_equal(atoll_slurm_partitions_read(text, &cluster, &err), 0);
    assert_int_equal(cluster.partition_count, 2);
    assert_string_equal(cluster.partitions[0].name, "main");
    assert_true(cluster.partitions[0].is_default);
    assert_false(cluster.partitions[1].is_default);
    assert_string_equal(cluster.partitions[1].name, "scav");
    assert_int_equal(cluster.partitions[0].nodes, 4);
    assert_int_equal(cluster.partitions[0].idle_nodes, 4);
    assert_int_equal(cluster.partitions[0].cpus_per_node, 4);
    assert_string_equal(cluster.partitions[0].gres, "gpu:2");
    assert_true(isinf(cluster.partitions[0].time_limit_min));
    free(text);
}

static void test_partitions_of_several_kinds_of_nodes(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_cluster cluster = {0};

    assert_int_equal(atoll_slurm_partitions_read("gpu*|up|1-00:00:00|30:00|10|4/6|64|(null)\n"
                                                 "gpu*|up|1-00:00:00|30:00|2|0/1|128+|gpu:h100:4(S:0-1)\n",
                                                 &cluster, &err),
                     0);
    assert_int_equal(cluster.partition_count, 1);
    assert_int_equal(cluster.partitions[0].nodes, 12);
    assert_int_equal(cluster.partitions[0].idle_nodes, 7);
    assert_int_equal(cluster.partitions[0].cpus_per_node, 128);
    assert_string_equal(cluster.partitions[0].gres, "gpu:h100:4(S:0-1)");
    expect_close(cluster.partitions[0].time_limit_min, 1440, 1e-12);
    expect_close(cluster.partitions[0].default_min, 30, 1e-12);
    assert_int_equal(atoll_slurm_partitions_read("sinfo: error", &cluster, &err), -1);
    expect_err(&err, ATOLL_E_PROTOCOL, "sinfo printed a line");
}

static void test_bad_nodes(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    char names[64], *text = read_fixture("sinfo-nodes-22.05.txt");

    assert_int_equal(atoll_slurm_bad_nodes_read(text, names, sizeof(names), &err), 0);
    assert_string_equal(names, "n2,n3");
    free(text);
    assert_int_equal(
        atoll_slurm_bad_nodes_read("a|idle~\nb|down*\nc|draining\nd|failing\ne|mixed*\nf|allocated\n"
                                   "g|unknown\nh|unknown*\nbb|idle\nb|down*\n",
                                   names, sizeof(names), &err),
        0);
    assert_string_equal(names, "b,c,d,e,h");
    assert_int_equal(atoll_slurm_bad_nodes_read("", names, sizeof(names), &err), 0);
    assert_string_equal(names, "");
    assert_int_equal(atoll_slurm_bad_nodes_read("aaaa|down\nbbbb|down\n", names, 9, &err), -1);
    expect_err(&err, ATOLL_E_LIMIT, "too long");
}

static void test_minutes(void **state)
{
    static const struct {
        const char *text;
        double minutes;
    } times[] = {{"30:00", 30},        {"10:00", 10},  {"1:00:00", 60},
                 {"1-00:00:00", 1440}, {"2-03", 3060}, {"1-02:30", 1590},
                 {"90", 90},           {"0:30", 0.5},  {"365-00:00:00", 365.0 * 1440}};
    static const char *const none[] = {"infinite", "n/a", "UNLIMITED", "NOT_SET", "INVALID", ""};

    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
        expect_close(atoll_slurm_minutes(times[i].text), times[i].minutes, 1e-12);
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
        assert_true(isinf(atoll_slurm_minutes(none[i])));
}

static void test_ids_of_sbatch(void **state)
{
    static const char *const good[] = {"1234\n", "1234;reef\n", "a site's greeting\n1234\n", "1234"};
    static const char *const bad[] = {"", "Submitted batch job 1234\n", "12x\n", "\n"};
    char id[ATOLL_JOB_ID_BYTES];

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;

        assert_int_equal(atoll_slurm_submitted_read(good[i], id, &err), 0);
        assert_string_equal(id, "1234");
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;

        assert_int_equal(atoll_slurm_submitted_read(bad[i], id, &err), -1);
        expect_err(&err, ATOLL_E_PROTOCOL, "no id of a job");
    }
}

static void test_mpi_types(void **state)
{
    char types[64], *text = read_fixture("mpi-22.05.txt");

    atoll_slurm_mpi_types_read(text, types, sizeof(types));
    assert_string_equal(types, "pmix none cray_shasta pmi2 pmix_v4");
    free(text);
    atoll_slurm_mpi_types_read("srun: MPI types are...\nsrun: none\nsrun: pmi2\n", types, sizeof(types));
    assert_string_equal(types, "none pmi2");
}

static void test_settings(void **state)
{
    char value[64], *text = read_fixture("config-22.05.txt");

    atoll_slurm_setting_read(text, "SLURM_VERSION", value, sizeof(value));
    assert_string_equal(value, "22.05.8");
    atoll_slurm_setting_read(text, "SlurmctldHost[0]", value, sizeof(value));
    assert_string_equal(value, "reef-head(10.0.0.1)");
    atoll_slurm_setting_read(text, "Max", value, sizeof(value));
    assert_string_equal(value, "");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jobs_of_squeue),
        cmocka_unit_test(test_lines_of_another_width),
        cmocka_unit_test(test_the_format_has_every_width),
        cmocka_unit_test(test_partitions),
        cmocka_unit_test(test_partitions_of_several_kinds_of_nodes),
        cmocka_unit_test(test_bad_nodes),
        cmocka_unit_test(test_minutes),
        cmocka_unit_test(test_ids_of_sbatch),
        cmocka_unit_test(test_mpi_types),
        cmocka_unit_test(test_settings),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
