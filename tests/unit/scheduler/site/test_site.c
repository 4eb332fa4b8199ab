/* test_site.c - profiles: what is read, what is refused and with which words, where one is found, what comes of it. */
#include "tests/support/expect.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scheduler/site/site.h"

#define BASE "version: 1\nname: x\nstep: {start: srun}\n"

static struct atoll_site *parse(const char *text, struct atoll_err *err)
{
    return atoll_site_parse("s.yaml", text, strlen(text), err);
}

static struct atoll_site *parse_good(const char *text)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_site *site = parse(text, &err);

    if (!site)
        fail_msg("%s", err.text);
    return site;
}

static void test_defaults(void **state)
{
    struct atoll_site *s = parse_good(BASE);

    (void)state;
    assert_string_equal(s->name, "x");
    assert_string_equal(s->path, "s.yaml");
    assert_int_equal(s->scheduler, ATOLL_SITE_SLURM);
    assert_int_equal(s->launcher, ATOLL_LAUNCHER_AUTO);
    assert_null(s->step.mpi);
    assert_true(!s->step.is_uniform && s->step.has_overlap && s->step.extra.count == 0 &&
                !s->step.extra.items[0]);
    assert_int_equal(s->gpus.ask, ATOLL_SITE_GPUS_PER_NODE);
    assert_string_equal(s->gpus.gres, "gpu");
    assert_true(!s->job.is_exclusive && s->job.has_no_kill && !s->job.partition);
    assert_true(s->limits.has_arrays && s->limits.counts_elements && isinf(s->limits.time_s) &&
                s->limits.poll_s == 90);
    assert_string_equal(s->end.signal, "TERM");
    assert_true(s->end.before_s == 180 && s->end.go_on == ATOLL_SITE_REQUEUE && s->end.grace_s == 0);
    assert_string_equal(s->files.scratch, "${TMPDIR:-/tmp}");
    assert_int_equal(s->files.broadcast, ATOLL_SITE_BROADCAST_NONE);
    assert_null(s->container.image);
    assert_null(s->python);
    atoll_site_destroy(s);
    atoll_site_destroy(NULL);
}

/* Every key, in an order that is not the order of reading. */
static const char whole[] =
    "network: {proxy: 'http://p:3128', no_proxy: 'localhost,.site', gateway: spool}\n"
    "container: {image: /i m.sif, runtime: singularity, program: /bin/ev, binds: [/a, '/b:/c'], gpu: rocm, "
    "extra: [--cleanenv]}\n"
    "environment: {A: \"it's $HOME\", EMPTY: , B_2: \"x\"}\n"
    "setup: ['ulimit -c 0', 'source \"$HOME/my env.sh\"']\n"
    "modules: [gcc/12, cuda]\n"
    "python: /opt/torch/bin/python3\n"
    "knowledge: /sw/knowledge\n"
    "files: {scratch: '${SLURM_TMPDIR:-/tmp}', broadcast: sbcast}\n"
    "end: {signal: USR2, before: 2m, continue: successor, grace: 30s}\n"
    "limits: {queued: 100, eligible: 4, running: 3, arrays: false, array_size: 1001, array_counts: one, "
    "time: 2h, nodes_min: 2,\n"
    "         nodes_max: 9, poll: 2m}\n"
    "job: {partition: p, account: a, qos: q, constraint: 'a&b', reservation: r, directives: ['--mem=0'], "
    "exclusive: true,\n"
    "      no_kill: false, cpus_per_rank: 7}\n"
    "gpus: {ask: gres, gres: 'gpu:h100', per_node: 4, visible: one}\n"
    "step: {extra: [--label, 'a b'], overlap: false, layout: uniform, mpi: pmix_v4, start: srun}\n"
    "launcher: commands\nscheduler: slurm\nnotes: n\nsummary: s\nname: whole\nversion: 1\n";

static void check_whole_job(const struct atoll_site *s)
{
    assert_string_equal(s->step.mpi, "pmix_v4");
    assert_true(s->step.is_uniform && !s->step.has_overlap && s->step.extra.count == 2);
    assert_string_equal(s->step.extra.items[1], "a b");
    assert_true(s->gpus.ask == ATOLL_SITE_GPUS_GRES && s->gpus.per_node == 4 &&
                s->gpus.visible == ATOLL_SITE_VISIBLE_ONE);
    assert_string_equal(s->gpus.gres, "gpu:h100");
    assert_string_equal(s->job.constraint, "a&b");
    assert_string_equal(s->job.reservation, "r");
    assert_true(s->job.is_exclusive && !s->job.has_no_kill && s->job.cpus_per_rank == 7 &&
                s->job.directives.count == 1);
    assert_true(s->limits.queued == 100 && s->limits.eligible == 4 && s->limits.running == 3 &&
                !s->limits.has_arrays);
    assert_true(s->limits.array_size == 1001 && !s->limits.counts_elements && s->limits.time_s == 7200);
    assert_true(s->limits.nodes_min == 2 && s->limits.nodes_max == 9 && s->limits.poll_s == 120);
}

static void test_whole(void **state)
{
    struct atoll_site *s = parse_good(whole);

    (void)state;
    check_whole_job(s);
    assert_int_equal(s->launcher, ATOLL_LAUNCHER_COMMANDS);
    assert_string_equal(s->end.signal, "USR2");
    assert_true(s->end.before_s == 120 && s->end.go_on == ATOLL_SITE_SUCCESSOR && s->end.grace_s == 30);
    assert_int_equal(s->files.broadcast, ATOLL_SITE_BROADCAST_SBCAST);
    assert_int_equal(s->modules.count, 2);
    assert_string_equal(s->python, "/opt/torch/bin/python3");
    assert_string_equal(s->knowledge, "/sw/knowledge");
    assert_string_equal(s->setup.items[1], "source \"$HOME/my env.sh\"");
    assert_int_equal(s->environment_count, 3);
    assert_string_equal(s->environment[0].value, "it's $HOME");
    assert_string_equal(s->environment[1].value, "");
    assert_string_equal(s->environment[2].name, "B_2");
    assert_string_equal(s->container.image, "/i m.sif");
    assert_string_equal(s->container.runtime, "singularity");
    assert_int_equal(s->container.device, ATOLL_SITE_DEVICE_ROCM);
    assert_string_equal(s->container.binds.items[1], "/b:/c");
    assert_int_equal(s->network.gateway, ATOLL_SITE_GATEWAY_SPOOL);
    assert_string_equal(s->network.no_proxy, "localhost,.site");
    assert_string_equal(s->notes, "n");
    atoll_site_destroy(s);
}

static void test_refusals(void **state)
{
    static const struct {
        const char *text, *words;
    } rows[] = {
        {"", "s.yaml:1: the file is empty"},
        {"version: 2\nname: x\nstep: {start: srun}\n", "s.yaml:1: version '2' is not known"},
        {"name: x\nstep: {start: srun}\n", "key 'version' is missing"},
        {"version: 1\nname: x\n", "key 'step' is missing"},
        {"version: 1\nname: x\nstep: {}\n", "s.yaml:3: key 'start' is missing"},
        {"version: 1\nname: x\nstep: {start: sruns}\n",
         "s.yaml:3: unknown start 'sruns'; did you mean 'srun'?"},
        {"version: 1\nname: x\nstep: {start: torque}\n", "known: srun, mpirun, mpiexec, ibrun, direct"},
        {"version: 1\nname: x\nstep: srun\n", "s.yaml:3: a map is expected"},
        {"version: 1\nname: ../x\nstep: {start: srun}\n", "s.yaml:2: name '../x' must be"},
        {BASE "limit: {}\n", "s.yaml:4: unknown key 'limit'; did you mean 'limits'?"},
        {BASE "limits: {queud: 1}\n", "unknown key 'queud'; did you mean 'queued'?"},
        {BASE "limits: {queued: 0}\n", "s.yaml:4: 0 is too few"},
        {BASE "limits: {queued: -1}\n", "'-1' is not a whole number"},
        {BASE "limits: {time: soon}\n", "s.yaml:4: "},
        {BASE "python: python3\n", "s.yaml:4: python 'python3' must be the absolute path of a Python with "
                                   "torch on the nodes, of less than "
                                   "256 bytes, or none"},
        {BASE "python: [/usr/bin/python3]\n", "s.yaml:4: python '' must be"},
        {BASE "knowledge: here\n", "s.yaml:4: knowledge 'here' must be the absolute path of a folder"},
        {BASE "pyton: none\n", "unknown key 'pyton'; did you mean 'python'?"},
        {BASE "limits: {time: 0}\n", "must be longer than 0"},
        {BASE "limits: {time: 2m}\n", "time (120 s) is not longer than end.before (180 s)"},
        {BASE "limits: {nodes_min: 4, nodes_max: 2}\n", "nodes_min is above nodes_max"},
        {BASE "end: {signal: USR1}\n",
         "USR1 is caught by communication libraries (NCCL); write TERM or USR2"},
        {BASE "end: {signal: KILL}\n", "unknown signal 'KILL'"},
        {BASE "end: {continue: maybe}\n", "unknown continue 'maybe'; known: requeue, successor, none"},
        {BASE "files: {scratch: '$(rm -rf /)'}\n", "must be an absolute path that may name variables"},
        {BASE "files: {scratch: '/tmp\"; reboot; \"'}\n", "must be an absolute path"},
        {BASE "files: {scratch: tmp}\n", "must be an absolute path"},
        {BASE "job: {partition: 'a b'}\n", "'a b' must be one word"},
        {BASE "job: {account: --wrap=x}\n", "must be one word"},
        {BASE "job: {partition: \"a\\nb\"}\n", "must be one word"},
        {BASE "job: {directives: [\"a\\n#SBATCH -p x\"]}\n", "a line break or control character"},
        {BASE "setup: ulimit\n", "a list of shell lines is expected"},
        {BASE "modules: {gcc: 12}\n", "a list of texts is expected"},
        {BASE "environment: [A]\n", "a map of variables is expected"},
        {BASE "environment: {'A;reboot': 1}\n", "'A;reboot' is no name of an environment variable"},
        {BASE "environment: {1A: 1}\n", "'1A' is no name"},
        {BASE "environment: {A: 1, A: 2}\n", "s.yaml:4: "},
        {BASE "container: {gpu: nv}\n", "key 'image' is missing"},
        {BASE "container: {image: x, runtime: docker}\n",
         "unknown runtime 'docker'; known: apptainer, singularity"},
        {"version: 1\nname: x\nscheduler: pbs\nstep: {start: srun}\n", "s.yaml:4: srun is Slurm's"},
        {"version: 1\nname: x\nstep: {start: mpirun, mpi: pmix}\n", "mpi is for start: srun alone"},
        {"version: 1\nname: x\nstep: {start: ibrun, layout: exact}\n", "ibrun knows layout: uniform alone"},
        {"version: 1\nname: x\nscheduler: pbs\nstep: {start: mpiexec}\nfiles: {broadcast: sbcast}\n",
         "s.yaml:5: sbcast is Slurm's"},
        {"a: &x 1\nb: *x\n", "s.yaml:1: anchors are not read"},
        {"version: 1\nversion: 1\n", "s.yaml:2: "},
        {"[", "s.yaml:"},
        {"version: 1\nname: x\nstep: {start: srun, extra: [[a]]}\n", "a text is expected here"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_site *site = parse(rows[i].text, &err);

        if (site || err.code != ATOLL_E_INPUT || !strstr(err.text, rows[i].words))
            fail_msg("row %zu: %s", i, site ? "it was taken" : err.text);
    }
}

static void test_limits_of_the_file(void **state)
{
    char *text = malloc(1 << 16);
    struct atoll_err err = ATOLL_ERR_INIT;
    size_t used;

    (void)state;
    assert_non_null(text);
    used = (size_t)sprintf(text, BASE "modules: [");
    for (int i = 0; i < ATOLL_SITE_WORD_LIMIT + 1; i++)
        used += (size_t)sprintf(text + used, "m%d, ", i);
    sprintf(text + used, "]\n");
    assert_null(parse(text, &err));
    assert_non_null(strstr(err.text, "65 items, at most 64 are allowed"));
    used = (size_t)sprintf(text, BASE "environment: {");
    for (int i = 0; i < ATOLL_SITE_WORD_LIMIT + 1; i++)
        used += (size_t)sprintf(text + used, "V%d: 1, ", i);
    sprintf(text + used, "}\n");
    atoll_err_clear(&err);
    assert_null(parse(text, &err));
    assert_non_null(strstr(err.text, "65 variables, at most 64 are allowed"));
    free(text);
    atoll_err_clear(&err);
    assert_null(atoll_site_parse("s.yaml", "version: 1\0", 11, &err));
    assert_non_null(strstr(err.text, "NUL"));
}

/* A profile cut anywhere is refused or taken, and never read beyond its end. */
static void test_every_prefix(void **state)
{
    (void)state;
    for (size_t length = 0; length < sizeof(whole); length++) {
        char *text = malloc(length + 1); /* of its own size, for the sanitizers */
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_site *site;

        assert_non_null(text);
        memcpy(text, whole, length);
        site = atoll_site_parse("s.yaml", text, length, &err);
        assert_true(site || err.code != ATOLL_OK);
        atoll_site_destroy(site);
        free(text);
    }
}

static void test_shipped(void **state)
{
    DIR *folder = opendir(ATOLL_SOURCE_DIR "/jobscripts/sites");
    struct dirent *entry;
    size_t count = 0;

    (void)state;
    assert_non_null(folder);
    while ((entry = readdir(folder))) {
        struct atoll_err err = ATOLL_ERR_INIT;
        char path[512], file[300];
        struct atoll_site *site;

        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), ATOLL_SOURCE_DIR "/jobscripts/sites/%s", entry->d_name);
        site = atoll_site_load(path, &err);
        if (!site)
            fail_msg("%s", err.text);
        snprintf(file, sizeof(file), "%s.yaml", site->name);
        assert_string_equal(file, entry->d_name);
        assert_non_null(site->summary);
        atoll_site_destroy(site);
        count++;
    }
    closedir(folder);
    assert_true(count >= 16);
}

/* ---- finding and keeping ---- */

static char folder[] = "/tmp/atoll-site-XXXXXX";

static void write_file(const char *path, const char *text)
{
    FILE *stream = fopen(path, "w");

    assert_non_null(stream);
    fputs(text, stream);
    assert_int_equal(fclose(stream), 0);
}

static void expect_found(const char *name, const char *path)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_site *site = atoll_site_load(name, &err);

    if (!site)
        fail_msg("%s", err.text);
    assert_string_equal(site->path, path);
    atoll_site_destroy(site);
}

static void expect_lost(const char *name, enum atoll_code code, const char *words)
{
    struct atoll_err err = ATOLL_ERR_INIT;

    assert_null(atoll_site_load(name, &err));
    assert_int_equal(err.code, code);
    if (!strstr(err.text, words))
        fail_msg("%s", err.text);
}

static void test_finding(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(
        mkdir("one", 0755) | mkdir("two", 0755) | mkdir("atoll", 0755) | mkdir("atoll/sites", 0755), 0);
    setenv("XDG_CONFIG_HOME", folder, 1);
    setenv("ATOLL_SITES", "missing:one::two", 1);
    unsetenv("ATOLL_SITE");
    expect_lost("mine", ATOLL_E_NOTFOUND, "no site profile mine.yaml in missing, one, two, .,");
    expect_lost("./mine.yaml", ATOLL_E_NOTFOUND, "./mine.yaml: cannot read: No such file");
    write_file("atoll/sites/mine.yaml", BASE);
    char path[300];
    snprintf(path, sizeof(path), "%s/atoll/sites/mine.yaml", folder);
    expect_found("mine", path);
    write_file("mine.yaml", BASE);
    expect_found("mine", "./mine.yaml");
    expect_found("mine.yaml", "mine.yaml");
    write_file("two/mine.yaml", BASE);
    expect_found("mine", "two/mine.yaml");
    write_file("one/mine.yaml", BASE "x: 1\n");
    expect_lost("mine", ATOLL_E_INPUT, "one/mine.yaml:4: unknown key 'x'");
    unlink("one/mine.yaml");
    setenv("ATOLL_SITE", "mine", 1);
    expect_found(NULL, "two/mine.yaml");
    setenv("ATOLL_SITE", "", 1);
    expect_lost(NULL, ATOLL_E_NOTFOUND, "generic-slurm.yaml");
    setenv("ATOLL_SITES", ATOLL_SOURCE_DIR "/jobscripts/sites", 1);
    expect_found(NULL, ATOLL_SOURCE_DIR "/jobscripts/sites/generic-slurm.yaml");
}

static void test_keeping(void **state)
{
    static const char text[] = BASE "# a comment stays\n";
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_site *site = parse_good(text), *again;
    size_t length;
    FILE *file;

    (void)state;
    assert_string_equal(atoll_site_text(site, &length), text);
    assert_int_equal(length, strlen(text));
    file = fopen("kept.yaml", "w"); /* as a campaign keeps it */
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
    again = atoll_site_load("./kept.yaml", &err);
    assert_non_null(again);
    assert_string_equal(atoll_site_text(again, &length), text);
    atoll_site_destroy(again);
    atoll_site_destroy(site);
}

static int teardown(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command);
}

/* ---- what a job asks for ---- */

static void test_request(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_arena *arena = atoll_arena_create(1 << 16, &err);
    struct atoll_site *site = parse_good(whole);
    const char *own[] = {"--mail-type=END", NULL};
    struct atoll_job_request r = {.nodes = 3, .account = "mine", .time_min = 120, .extra = own};

    (void)state;
    assert_int_equal(atoll_site_request(site, 0, 0, arena, &r, &err), 0);
    assert_string_equal(r.partition, "p");
    assert_string_equal(r.account, "mine");
    assert_string_equal(r.gpus_by_gres, "gpu:h100:4");
    assert_int_equal(r.gpus_per_node, 0);
    assert_int_equal(r.tasks_per_node, 5);
    assert_int_equal(r.cpus_per_task, 7);
    assert_string_equal(r.signal_name, "USR2");
    assert_int_equal(r.signal_before_s, 120);
    assert_true(r.exclusive && !r.no_kill && !r.requeue);
    assert_string_equal(r.extra[0], "--mem=0");
    assert_string_equal(r.extra[1], "--mail-type=END");
    assert_null(r.extra[2]);
    atoll_site_destroy(site);
    site = parse_good(BASE);
    r = (struct atoll_job_request){0};
    assert_int_equal(atoll_site_request(site, 2, 2, arena, &r, &err), 0);
    assert_true(r.gpus_per_node == 2 && !r.gpus_by_gres && r.tasks_per_node == 3 && r.nodes == 1 &&
                r.requeue && r.no_kill);
    r = (struct atoll_job_request){0};
    assert_int_equal(atoll_site_request(site, 0, 0, arena, &r, &err), 0);
    assert_true(r.gpus_per_node == 0 && r.tasks_per_node == 2 && !r.extra[0]);
    atoll_site_destroy(site);
    atoll_arena_destroy(arena);
}

static void test_request_beyond_limits(void **state)
{
    static const struct {
        unsigned nodes, time_min;
        const char *words;
    } rows[] = {
        {10, 1, "10 nodes, and site whole allows 9 for a job"},
        {1, 1, "1 nodes, and site whole wants at least 2"},
        {2, 121, "121 minutes, and site whole allows 120 for a job"},
    };
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_arena *arena = atoll_arena_create(1 << 16, &err);
    struct atoll_site *site = parse_good(whole);

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct atoll_job_request r = {.nodes = rows[i].nodes, .time_min = rows[i].time_min};

        atoll_err_clear(&err);
        assert_int_equal(atoll_site_request(site, 0, 0, arena, &r, &err), -1);
        assert_int_equal(err.code, ATOLL_E_INPUT);
        if (!strstr(err.text, rows[i].words))
            fail_msg("row %zu: %s", i, err.text);
        assert_null(r.partition); /* untouched */
    }
    atoll_site_destroy(site);
    atoll_arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),     cmocka_unit_test(test_whole),
        cmocka_unit_test(test_refusals),     cmocka_unit_test(test_limits_of_the_file),
        cmocka_unit_test(test_every_prefix), cmocka_unit_test(test_shipped),
        cmocka_unit_test(test_finding),      cmocka_unit_test(test_keeping),
        cmocka_unit_test(test_request),      cmocka_unit_test(test_request_beyond_limits),
    };

    return cmocka_run_group_tests(tests, NULL, teardown);
}
