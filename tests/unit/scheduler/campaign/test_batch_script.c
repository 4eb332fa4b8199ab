/* test_batch_script.c - the text under a real bash: what goes in comes out, and signals reach the pilot. */
#include "tests/support/expect.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "scheduler/campaign/batch_script.h"

static char folder[] = "/tmp/atoll-batch-XXXXXX";

static int setup(void **state)
{
    (void)state;
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int teardown(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command);
}

static struct atoll_site *parse(const char *text)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_site *site = atoll_site_parse("s.yaml", text, strlen(text), &err);

    if (!site)
        fail_msg("%s", err.text);
    return site;
}

static void write_bytes(const char *path, const void *bytes, size_t length, mode_t mode)
{
    FILE *stream = fopen(path, "w");

    assert_non_null(stream);
    assert_int_equal(fwrite(bytes, 1, length, stream), length);
    assert_int_equal(fclose(stream), 0);
    assert_int_equal(chmod(path, mode), 0);
}

static void write_script(const struct atoll_batch_script *script, const char *path)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_buffer out;

    atoll_buffer_init(&out, ATOLL_BATCH_SCRIPT_BYTES);
    if (atoll_batch_script_text(script, &out, &err) != 0)
        fail_msg("%s", err.text);
    assert_memory_equal(out.data, "#!/bin/bash\n", 12);
    write_bytes(path, out.data, out.length, 0755);
    atoll_buffer_fini(&out);
}

static char *read_whole(const char *path, size_t *ret_length)
{
    static char bytes[65536];
    FILE *stream = fopen(path, "r");

    *ret_length = 0;
    if (!stream)
        return NULL;
    *ret_length = fread(bytes, 1, sizeof(bytes) - 1, stream);
    bytes[*ret_length] = '\0';
    fclose(stream);
    return bytes;
}

/* Runs bash on the script; its exit status. */
static int run(const char *path)
{
    char command[256];
    int status;

    snprintf(command, sizeof(command), "bash %s", path);
    status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The pilot writes its arguments and the named variables, each ended by a NUL, beside itself. */
static const char echo_pilot[] =
    "#!/bin/bash\n"
    "out=${0%/*}/said\n"
    "printf '%s\\0' \"$@\" >\"$out\"\n"
    "printf '%s\\0' \"$VALUE\" \"$EMPTY\" \"$https_proxy\" \"$ATOLL_SCRATCH\" >>\"$out\"\n"
    "exit 7\n";

#define HOSTILE "it's $(touch broken) `touch broken` \"$HOME\" \\ * ; # ~ && !!"

static void expect_said(const char *path, const char *const *words)
{
    size_t length, at = 0;
    const char *said = read_whole(path, &length);

    assert_non_null(said);
    for (size_t i = 0; words[i]; i++) {
        assert_true(at < length);
        assert_string_equal(said + at, words[i]);
        at += strlen(said + at) + 1;
    }
    assert_int_equal(at, length);
}

static void test_bytes_come_through(void **state)
{
    static const char text[] = "version: 1\nname: x\nstep: {start: srun}\n"
                               "environment: {VALUE: \"it's $(touch broken) `touch broken` \\\"$HOME\\\" "
                               "\\\\ * ; # ~ && !!\", EMPTY: }\n"
                               "network: {proxy: 'http://p:3128'}\n"
                               "files: {scratch: '${NOT_SET:-/tmp/s}/x'}\n"
                               "setup: ['echo \"$UNSET_IS_FINE\" >setup-ran']\n";
    const char *const arguments[] = {HOSTILE, "", "two\nlines", "caf\xc3\xa9 \xff", NULL};
    char place[256], program[300], campaign[300], site_file[340], said[300];

    (void)state;
    snprintf(place, sizeof(place), "%s/a 'b' $c\n\"d\" `e`", folder);
    assert_int_equal(mkdir(place, 0755), 0);
    snprintf(program, sizeof(program), "%s/atoll", place);
    snprintf(campaign, sizeof(campaign), "%s/camp aign", place);
    snprintf(site_file, sizeof(site_file), "%s/site.yaml", campaign);
    snprintf(said, sizeof(said), "%s/said", place);
    write_bytes(program, echo_pilot, sizeof(echo_pilot) - 1, 0755);
    struct atoll_site *site = parse(text);
    const struct atoll_batch_script script = {site, program, campaign, site_file, arguments};
    write_script(&script, "job.sh");
    assert_int_equal(run("job.sh"), 7);
    const char *const words[] = {
        "job",   campaign, "--site",        site_file,  HOSTILE, "", "two\nlines", "caf\xc3\xa9 \xff",
        HOSTILE, "",       "http://p:3128", "/tmp/s/x", NULL};
    expect_said(said, words);
    assert_int_equal(access("setup-ran", F_OK), 0);
    assert_int_not_equal(access("broken", F_OK), 0);
    atoll_site_destroy(site);
}

/* ---- signals ---- */

static void wait_for(const char *path)
{
    const struct timespec pause = {0, 20000000};

    for (int i = 0; i < 3000; i++) { /* a minute: only a guard */
        if (access(path, F_OK) == 0)
            return;
        nanosleep(&pause, NULL);
    }
    fail_msg("%s did not come", path);
}

static pid_t start(const char *path)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        execlp("bash", "bash", path, (char *)NULL);
        _exit(126);
    }
    return pid;
}

static int end_of(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* Counts the signals and ends in its own time: when the file `end` is there. */
static const char slow_pilot[] = "#!/bin/bash\n"
                                 "count=0\n"
                                 "trap 'count=$((count + 1)); touch got-$count' TERM\n"
                                 "touch ready\n"
                                 "until [ -e end ] || [ ! -e ready ]; do sleep 0.05; done\n"
                                 "exit 42\n";

static void clear(void)
{
    static const char *const files[] = {"ready", "got-1", "got-2", "got-3", "end"};

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        unlink(files[i]);
}

static void write_slow_job(const char *profile, const char *path)
{
    char program[300];
    struct atoll_site *site = parse(profile);
    const struct atoll_batch_script script = {site, program, "/c", "/c/site.yaml", NULL};

    snprintf(program, sizeof(program), "%s/slow", folder);
    write_bytes(program, slow_pilot, sizeof(slow_pilot) - 1, 0755);
    write_script(&script, path);
    atoll_site_destroy(site);
    clear();
}

static void test_signals_reach_the_pilot(void **state)
{
    pid_t pid;

    (void)state;
    write_slow_job("version: 1\nname: x\nstep: {start: srun}\nend: {signal: USR2}\n", "slow.sh");
    pid = start("slow.sh");
    wait_for("ready");
    kill(pid, SIGTERM);
    wait_for("got-1");
    kill(pid, SIGUSR2);
    wait_for("got-2");
    kill(pid, SIGINT);
    wait_for("got-3");
    assert_int_equal(waitpid(pid, NULL, WNOHANG), 0); /* the shell still waits */
    write_bytes("end", "", 0, 0644);
    assert_int_equal(end_of(pid), 42);
}

static void test_a_killed_pilot_is_told(void **state)
{
    char program[300];
    struct atoll_site *site = parse("version: 1\nname: x\nstep: {start: srun}\n");
    const struct atoll_batch_script script = {site, program, "/c", "/c/site.yaml", NULL};
    static const char suicide[] = "#!/bin/bash\nkill -KILL $$\n";

    (void)state;
    snprintf(program, sizeof(program), "%s/suicide", folder);
    write_bytes(program, suicide, sizeof(suicide) - 1, 0755);
    write_script(&script, "dead.sh");
    assert_int_equal(run("dead.sh"), 137);
    unlink(program);
    assert_int_equal(run("dead.sh 2>/dev/null"), 127); /* no such pilot */
    atoll_site_destroy(site);
}

/* Slurm's fences by trees are no barriers; who names another way has it. */
static void test_fences_are_rings_where_pmix_starts_ranks(void **state)
{
    static const struct {
        const char *site, *want;
    } cases[] = {
        {"step: {start: srun}\n", "ring"},
        {"step: {start: srun, mpi: pmix_v4}\n", "ring"},
        {"step: {start: srun, mpi: pmi2}\n", "none"},
        {"step: {start: mpirun}\n", "none"},
        {"step: {start: srun, mpi: pmix}\nenvironment: {SLURM_PMIX_FENCE: mixed}\n", "mixed"},
    };
    static const char pilot[] = "#!/bin/bash\nprintf '%s' \"${SLURM_PMIX_FENCE:-none}\" >fence\n";
    char program[300], text[256];
    size_t length;

    (void)state;
    unsetenv("SLURM_PMIX_FENCE");
    snprintf(program, sizeof(program), "%s/fence-pilot", folder);
    write_bytes(program, pilot, sizeof(pilot) - 1, 0755);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        snprintf(text, sizeof(text), "version: 1\nname: x\n%s", cases[i].site);
        struct atoll_site *site = parse(text);
        const struct atoll_batch_script script = {site, program, "/c", "/c/site.yaml", NULL};
        write_script(&script, "fence.sh");
        assert_int_equal(run("fence.sh"), 0);
        assert_string_equal(read_whole("fence", &length), cases[i].want);
        atoll_site_destroy(site);
    }
}

static void test_missing_module_ends_the_job(void **state)
{
    struct atoll_site *site = parse("version: 1\nname: x\nstep: {start: srun}\nmodules: ['no;such']\n"
                                    "environment: {A: b}\n");
    const struct atoll_batch_script script = {site, "/bin/true", "/c", "/c/site.yaml", NULL};
    size_t length;

    (void)state;
    setenv("LMOD_PKG", "/nowhere", 1);
    setenv("MODULESHOME", "/nowhere", 1);
    write_script(&script, "module.sh");
    if (access("/etc/profile.d/lmod.sh", R_OK) == 0 || access("/etc/profile.d/modules.sh", R_OK) == 0)
        print_message("this machine has modules; only the exit status is judged\n");
    assert_int_equal(run("module.sh 2>said.txt"), 69);
    assert_non_null(strstr(read_whole("said.txt", &length), "atoll: module no;such does not load here"));
    atoll_site_destroy(site);
}

static void test_refusals(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_site *site = parse("version: 1\nname: x\nstep: {start: srun}\n");
    const struct atoll_batch_script rows[] = {
        {site, "atoll", "/c", "/s", NULL}, {site, "/a", "c", "/s", NULL}, {site, "/a", "/c", NULL, NULL}};
    static const char *const words[] = {"program 'atoll'", "campaign 'c'", "site profile ''"};
    struct atoll_buffer out;

    (void)state;
    atoll_buffer_init(&out, 4096);
    for (size_t i = 0; i < 3; i++) {
        atoll_err_clear(&err);
        assert_int_equal(atoll_batch_script_text(&rows[i], &out, &err), -1);
        assert_int_equal(err.code, ATOLL_E_INPUT);
        assert_non_null(strstr(err.text, words[i]));
    }
    atoll_buffer_fini(&out);
    atoll_buffer_init(&out, 64);
    const struct atoll_batch_script good = {site, "/a", "/c", "/s", NULL};
    atoll_err_clear(&err);
    assert_int_equal(atoll_batch_script_text(&good, &out, &err), -1);
    assert_int_equal(err.code, ATOLL_E_LIMIT);
    atoll_buffer_fini(&out);
    atoll_site_destroy(site);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_come_through),
        cmocka_unit_test(test_signals_reach_the_pilot),
        cmocka_unit_test(test_a_killed_pilot_is_told),
        cmocka_unit_test(test_fences_are_rings_where_pmix_starts_ranks),
        cmocka_unit_test(test_missing_module_ends_the_job),
        cmocka_unit_test(test_refusals),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
