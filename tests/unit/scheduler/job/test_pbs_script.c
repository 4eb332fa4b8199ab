#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "scheduler/job/pbs_script.h"

#define SCRIPT "#!/bin/bash\necho\n"

static int write_script(const struct atoll_job_request *request, struct atoll_buffer *out,
                        struct atoll_err *err)
{
    atoll_buffer_init(out, 1 << 16);
    int rc = atoll_job_script_pbs(request, out, err);
    atoll_buffer_put_u8(out, 0);
    return rc;
}

static void test_texts(void **state)
{
    const char *const extra[] = {"-l filesystems=home:eagle", NULL};
    const struct {
        struct atoll_job_request request;
        const char *text;
    } rows[] = {
        {{.script = SCRIPT},
         "#!/bin/bash\n#PBS -l select=1:ncpus=1:mpiprocs=1\n#PBS -l place=scatter\n#PBS -r n\necho\n"},
        {{.script = SCRIPT,
          .name = "atoll",
          .partition = "prod",
          .account = "proj",
          .nodes = 10,
          .tasks_per_node = 5,
          .cpus_per_task = 8,
          .gpus_per_node = 4,
          .time_min = 185,
          .exclusive = 1,
          .requeue = 1,
          .constraint = "system=polaris",
          .log_path = "/a/log/%j.log",
          .dependency = "afterany:12:13",
          .extra = extra,
          .signal_name = "TERM",
          .no_kill = 1},
         "#!/bin/bash\n#PBS -N atoll\n#PBS -q prod\n#PBS -A proj\n"
         "#PBS -l select=10:ncpus=40:mpiprocs=5:ngpus=4:system=polaris\n#PBS -l place=scatter:excl\n"
         "#PBS -l walltime=03:05:00\n#PBS -j oe\n#PBS -o /a/log/\n#PBS -W depend=afterany:12:13\n#PBS -r y\n"
         "#PBS -l filesystems=home:eagle\necho\n"},
        {{.script = SCRIPT,
          .gpus_by_gres = "gpu:h100:2",
          .reservation = "R7",
          .partition = "q",
          .array_count = 8,
          .array_at_once = 2,
          .log_path = "/a/x.log"},
         "#!/bin/bash\n#PBS -q R7\n#PBS -l select=1:ncpus=1:mpiprocs=1:ngpus=2\n#PBS -l place=scatter\n"
         "#PBS -j oe\n#PBS -o /a/x.log\n#PBS -J 0-7%2\n#PBS -r n\necho\n"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_buffer out;

        if (write_script(&rows[i].request, &out, &err) != 0) {
            fail_msg("row %zu: %s", i, err.text);
        }
        assert_string_equal((const char *)out.data, rows[i].text);
        atoll_buffer_fini(&out);
    }
}

static void test_refusals(void **state)
{
    const char *const hostile[] = {"-q x\n#PBS -q y", NULL};
    const struct {
        struct atoll_job_request request;
        const char *words;
    } rows[] = {
        {{.script = "echo\n"}, "must start with #!"},
        {{.script = NULL}, "must start with #!"},
        {{.script = "#!/bin/bash"}, "must start with #!"},
        {{.script = SCRIPT, .name = "a b"}, "name 'a b'"},
        {{.script = SCRIPT, .account = "a\n#PBS -q x"}, "must be one word"},
        {{.script = SCRIPT, .partition = "a'b"}, "queue 'a'b'"},
        {{.script = SCRIPT, .constraint = "a b"}, "constraint 'a b'"},
        {{.script = SCRIPT, .dependency = "x y"}, "dependency 'x y'"},
        {{.script = SCRIPT, .log_path = "/a b/%j.log"}, "log path"},
        {{.script = SCRIPT, .log_path = "/a%j/x.log"}, "PBS has no % in folders"},
        {{.script = SCRIPT, .exclude = "n1"}, "PBS cannot exclude nodes (n1)"},
        {{.script = SCRIPT, .qos = "low"}, "PBS has no qos (low); choose a queue"},
        {{.script = SCRIPT, .array_count = 1}, "an array of one element"},
        {{.script = SCRIPT, .extra = hostile}, "a line break in directive"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_buffer out;

        assert_int_equal(write_script(&rows[i].request, &out, &err), -1);
        if (err.code != ATOLL_E_INPUT || !strstr(err.text, rows[i].words)) {
            fail_msg("row %zu: %s", i, err.text);
        }
        atoll_buffer_fini(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_texts), cmocka_unit_test(test_refusals)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
