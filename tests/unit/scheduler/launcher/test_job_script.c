#include "tests/support/expect.h"

#include <stdio.h>

#include "scheduler/launcher/launcher.h"

#define SCRIPT "#!/bin/bash -l\necho hello\n"

static const char *const extra[] = {"--gpu-bind=none", "--mem=0", NULL};

static const struct {
    struct atoll_job_request request; /* script and work_dir are filled in */
    const char *lines;                /* behind the first three */
} cases[] = {
    {{.name = "a"}, ""},
    {{.name = "a", .log_path = "/w/log/%j.log"},
     "#SBATCH --output=/w/log/%j.log\n#SBATCH --open-mode=append\n"},
    {{.name = "a",
      .partition = "gpu",
      .account = "p1",
      .qos = "long",
      .constraint = "a100&nvme",
      .reservation = "r"},
     "#SBATCH --partition=gpu\n#SBATCH --account=p1\n#SBATCH --qos=long\n#SBATCH --constraint=a100&nvme\n"
     "#SBATCH --reservation=r\n"},
    {{.name = "a", .constraint = "say \"a\\b\" twice"},
     "#SBATCH --constraint=\"say \\\"a\\\\b\\\" twice\"\n"},
    {{.name = "a", .nodes = 4, .tasks_per_node = 2, .cpus_per_task = 8, .gpus_per_node = 2, .time_min = 90},
     "#SBATCH --gpus-per-node=2\n#SBATCH --nodes=4\n#SBATCH --ntasks-per-node=2\n#SBATCH --cpus-per-task=8\n"
     "#SBATCH --time=90\n"},
    {{.name = "a", .gpus_by_gres = "gpu:4"}, "#SBATCH --gres=gpu:4\n"},
    {{.name = "a", .array_count = 1}, "#SBATCH --array=0-0\n"},
    {{.name = "a", .array_count = 10}, "#SBATCH --array=0-9\n"},
    {{.name = "a", .signal_name = "TERM"}, "#SBATCH --signal=B:TERM\n"},
    {{.name = "a", .signal_name = "SIGUSR2", .signal_before_s = 120}, "#SBATCH --signal=B:SIGUSR2@120\n"},
    {{.name = "a", .no_kill = 1, .requeue = 1, .exclusive = 1},
     "#SBATCH --no-kill\n#SBATCH --requeue\n#SBATCH --exclusive\n"},
    {{.name = "a", .extra = extra}, "#SBATCH --gpu-bind=none\n#SBATCH --mem=0\n"},
};

static void test_lines_follow_the_first(void **state)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct atoll_job_request request = cases[i].request;
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_buffer out;
        char expected[2048];

        request.script = SCRIPT;
        request.work_dir = "/w";
        atoll_buffer_init(&out, 4096);
        assert_int_equal(atoll_job_script(&request, &out, &err), 0);
        atoll_buffer_put_u8(&out, 0);
        snprintf(expected, sizeof(expected),
                 "#!/bin/bash -l\n#SBATCH --job-name=a\n#SBATCH --chdir=/w\n%secho hello\n", cases[i].lines);
        assert_string_equal((const char *)out.data, expected);
        atoll_buffer_fini(&out);
    }
}

static const struct {
    struct atoll_job_request request;
    const char *part;
} wrong[] = {
    {{.script = SCRIPT, .work_dir = "/w"}, "needs a name"},
    {{.name = "", .script = SCRIPT, .work_dir = "/w"}, "needs a name"},
    {{.name = "a", .script = SCRIPT}, "folder"},
    {{.name = "a", .script = SCRIPT, .work_dir = "w"}, "work_dir 'w' is not absolute"},
    {{.name = "a", .work_dir = "/w"}, "#!/bin/bash"},
    {{.name = "a", .script = "echo", .work_dir = "/w"}, "#!/bin/bash"},
    {{.name = "a\nb", .script = SCRIPT, .work_dir = "/w"}, "name has a line break"},
    {{.name = "a", .script = SCRIPT, .work_dir = "/w", .partition = "p\r"}, "partition has a line break"},
    {{.name = "a", .script = SCRIPT, .work_dir = "/w", .gpus_by_gres = "gpu:1", .gpus_per_node = 1}, "twice"},
    {{.name = "a", .script = SCRIPT, .work_dir = "/w", .signal_before_s = 1}, "names none"},
    {{.name = "a", .script = SCRIPT, .work_dir = "/w", .signal_name = "TRM"}, "'TRM' is no signal"},
    {{.name = "a", .script = SCRIPT, .work_dir = "/w", .extra = (const char *const[]){"-x", NULL}}, "'-x'"},
    {{.name = "a", .script = SCRIPT, .work_dir = "/w", .extra = (const char *const[]){"--x\n", NULL}},
     "--gpu-bind"},
};

static void test_what_cannot_be_said_is_refused(void **state)
{
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_buffer out;

        atoll_buffer_init(&out, 4096);
        assert_int_equal(atoll_job_script(&wrong[i].request, &out, &err), -1);
        expect_err(&err, ATOLL_E_INPUT, wrong[i].part);
        assert_int_equal(out.length, 0);
        atoll_buffer_fini(&out);
    }
}

static void test_a_buffer_too_small_is_told(void **state)
{
    struct atoll_job_request request = {.name = "a", .script = SCRIPT, .work_dir = "/w"};
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_buffer out;

    atoll_buffer_init(&out, 10);
    assert_int_equal(atoll_job_script(&request, &out, &err), -1);
    assert_int_equal(err.code, ATOLL_E_LIMIT);
    atoll_buffer_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_follow_the_first),
        cmocka_unit_test(test_what_cannot_be_said_is_refused),
        cmocka_unit_test(test_a_buffer_too_small_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
