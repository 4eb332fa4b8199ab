#include "tests/support/expect.h"

#include <stdio.h>
#include <string.h>

#include "evolution/engine/engine.h"
#include "mpi-eval/coordinator/setup.h"
#include "tests/unit/archive-h5/scratch.h"

static void test_options(void **state)
{
    struct atoll_setup s;
    atoll_setup_defaults(&s);
    assert_int_equal(s.backend_null, 0);
    assert_int_equal(atoll_setup_option(&s, "compiler", "clang", NULL), 1);
    assert_string_equal(s.compiler, "clang");
    assert_int_equal(atoll_setup_option(&s, "compile-flags", "-O2 -g", NULL), 1);
    assert_string_equal(s.compile_flags, "-O2 -g");
    assert_int_equal(atoll_setup_option(&s, "compile-deadline", "1m30s", NULL), 1);
    assert_true(s.compile_deadline_ns == 90e9);
    assert_int_equal(atoll_setup_option(&s, "compile-memory", "1G", NULL), 1);
    assert_int_equal(s.compile_memory_bytes, 1u << 30);
    assert_int_equal(atoll_setup_option(&s, "sample-device", "250ms", NULL), 1);
    assert_true(s.sample_device_ns == 250e6);
    assert_int_equal(atoll_setup_option(&s, "sample-min", "9", NULL), 1);
    assert_int_equal(s.sample_min, 9);
    assert_int_equal(atoll_setup_option(&s, "interval", "0.01", NULL), 1);
    assert_true(s.interval_target == 0.01);
    assert_int_equal(atoll_setup_option(&s, "threads", "3", NULL), 1);
    assert_int_equal(s.threads, 3);
    assert_int_equal(atoll_setup_option(&s, "backend", "null", NULL), 1);
    assert_int_equal(s.backend_null, 1);
    assert_int_equal(atoll_setup_option(&s, "backend", "cpu", NULL), 1);
    assert_int_equal(s.backend_null, 0);
    assert_int_equal(s.is_warm, 0);
    assert_int_equal(atoll_setup_option(&s, "timing", "warm", NULL), 1);
    assert_int_equal(s.is_warm, 1);
    assert_int_equal(atoll_setup_option(&s, "timing", "cold", NULL), 1);
    assert_int_equal(s.is_warm, 0);
    assert_int_equal(atoll_setup_option(&s, "ranks", "3", NULL), 0); /* somebody else's */
}

/* What compiles follows the backend, unless the campaign has a mind of its own. */
static void test_cuda(void **state)
{
    static const struct {
        const char *options[3][2], *backend, *compiler, *flags;
        double ratio;
        uint32_t all;
    } rows[] = {
        {{{"backend", "cpu"}, {NULL, NULL}}, "cpu", "cc", ATOLL_SETUP_COMPILE_FLAGS, 1.5, 0},
        {{{"backend", "cuda"}, {NULL, NULL}}, "cuda", "nvrtc", "", 1.5, 0},
        {{{"compiler", "/opt/nvcc"}, {"backend", "cuda"}, {NULL, NULL}}, "cuda", "/opt/nvcc", "", 1.5, 0},
        {{{"backend", "cuda"}, {"compile-flags", "-lineinfo"}, {NULL, NULL}},
         "cuda",
         "nvrtc",
         "-lineinfo",
         1.5,
         0},
        {{{"backend", "cuda"}, {"counters", "all"}, {"counters-ratio", "2"}}, "cuda", "nvrtc", "", 2, 1},
        {{{"counters", "none"}, {"counters-ratio", "2"}, {"backend", "cuda"}}, "cuda", "nvrtc", "", 0, 0},
        {{{"counters-ratio", "2"}, {"counters", "none"}, {"backend", "cuda"}}, "cuda", "nvrtc", "", 0, 0},
        {{{"counters", "near"}, {"counters-ratio", "3"}, {"backend", "cuda"}}, "cuda", "nvrtc", "", 3, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct atoll_setup s;
        atoll_setup_defaults(&s);
        for (size_t k = 0; k < 3 && rows[i].options[k][0]; k++)
            assert_int_equal(atoll_setup_option(&s, rows[i].options[k][0], rows[i].options[k][1], NULL), 1);
        if (strcmp(s.backend, rows[i].backend) != 0 || strcmp(s.compiler, rows[i].compiler) != 0 ||
            strcmp(s.compile_flags, rows[i].flags) != 0)
            fail_msg("row %zu: %s, %s, \"%s\"", i, s.backend, s.compiler, s.compile_flags);
        assert_true(s.profile_ratio == rows[i].ratio);
        assert_int_equal(s.profile_all, rows[i].all);
        assert_true(s.profile_budget == 0.1);
    }
}

static void test_counters_budget(void **state)
{
    static const double shares[] = {0, 0.25, 1};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct atoll_setup s;
        char text[16];
        atoll_setup_defaults(&s);
        snprintf(text, sizeof(text), "%g", shares[i]);
        assert_int_equal(atoll_setup_option(&s, "counters-budget", text, NULL), 1);
        assert_true(s.profile_budget == shares[i] && s.profile_ratio == 1.5);
    }
}

/* Like counters: none, "none" stands whatever the deadline is. */
static void test_sanitize(void **state)
{
    static const struct {
        const char *options[2][2];
        double deadline_ns;
    } rows[] = {
        {{{"backend", "cuda"}}, 60e9},
        {{{"sanitize", "finals"}}, 60e9},
        {{{"sanitize", "finals"}, {"sanitize-deadline", "2m"}}, 120e9},
        {{{"sanitize-deadline", "20"}}, 20e9},
        {{{"sanitize", "none"}, {"sanitize-deadline", "20"}}, 0},
        {{{"sanitize-deadline", "20"}, {"sanitize", "none"}}, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct atoll_setup s;
        atoll_setup_defaults(&s);
        for (size_t k = 0; k < 2 && rows[i].options[k][0]; k++)
            assert_int_equal(atoll_setup_option(&s, rows[i].options[k][0], rows[i].options[k][1], NULL), 1);
        if (s.sanitize_deadline_ns != rows[i].deadline_ns)
            fail_msg("row %zu: %g", i, s.sanitize_deadline_ns);
    }
}

/* Who compiles for GPUs is told whether the search has Triton, so that nobody waits for its interpreter later. */
static void test_triton(void **state)
{
    static const struct {
        const char *backend;
        enum atoll_triton triton;
        int is_null;
        uint32_t wants;
    } rows[] = {{"cuda", ATOLL_TRITON_NONE, 0, 0},
                {"cuda", ATOLL_TRITON_BESIDE, 0, 1},
                {"cuda", ATOLL_TRITON_ALONE, 0, 1},
                {"cuda", ATOLL_TRITON_ALONE, 1, 0},
                {"cpu", ATOLL_TRITON_ALONE, 0, 0}};
    static const char dir[] = ATOLL_SOURCE_DIR "/suites/starter/softmax_rows";
    struct atoll_task *task = atoll_task_load(dir, NULL);
    assert_non_null(task);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char folder[PATH_MAX], path[PATH_MAX];
        const struct atoll_config_option option = {"backend", rows[i].backend};
        const struct atoll_campaign_task listed = {task->name, dir, task->id};
        struct atoll_config config = {.engine_version = ATOLL_ENGINE_VERSION,
                                      .id = atoll_id_of("setup", 5),
                                      .option_count = 1,
                                      .options = &option,
                                      .task_count = 1,
                                      .tasks = &listed};
        struct atoll_setup s;
        atoll_search_defaults(&config.search);
        config.search.triton = rows[i].triton;
        scratch_make(folder);
        struct atoll_campaign *campaign =
            atoll_campaign_create(scratch_join(path, folder, "c"), &config, NULL, NULL);
        assert_non_null(campaign);
        assert_int_equal(atoll_setup_of_campaign(campaign, rows[i].is_null, &s, NULL), 0);
        if (s.wants_triton != rows[i].wants)
            fail_msg("row %zu: %u", i, s.wants_triton);
        atoll_campaign_close(campaign);
        scratch_remove(folder);
    }
    atoll_task_destroy(task);
}

static void test_wrong_values(void **state)
{
    static char long_text[2000];
    static const struct {
        const char *key, *value, *text;
    } cases[] = {
        {"sample-min", "0", "not within"},         {"sample-min", "2.5", "not a number"},
        {"sample-min", "", "not a number"},        {"threads", "-1", "not within"},
        {"interval", "nan", "not within"},         {"interval", "1e-9", "not within"},
        {"backend", "opencl", "no backend"},       {"counters", "some", "no choice of counters"},
        {"sanitize", "all", "no choice"},          {"sanitize-deadline", "0.5", "not within"},
        {"sanitize-deadline", "6m", "not within"}, {"counters-ratio", "0.5", "not within"},
        {"counters-budget", "1.1", "not within"},  {"counters-budget", "-0.1", "not within"},
        {"include-path", long_text, "longer"},     {"compile-deadline", "never", "duration"},
        {"compile-memory", "1K", "not within"},    {"timing", "hot", "no way of timing"},
        {"timing", "", "no way of timing"},        {"compiler", long_text, "longer"},
        {"sample-device", "0s", "not within"},
    };
    memset(long_text, 'x', sizeof(long_text) - 1);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct atoll_setup s, before;
        struct atoll_err err = ATOLL_ERR_INIT;
        atoll_setup_defaults(&s);
        before = s;
        assert_int_equal(atoll_setup_option(&s, cases[i].key, cases[i].value, &err), -1);
        assert_int_equal(err.code, ATOLL_E_INPUT);
        if (!strstr(err.text, cases[i].text))
            fail_msg("%s=%s: \"%s\"", cases[i].key, cases[i].value, err.text);
        assert_memory_equal(&s, &before, sizeof(s));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options),         cmocka_unit_test(test_cuda),
        cmocka_unit_test(test_counters_budget), cmocka_unit_test(test_sanitize),
        cmocka_unit_test(test_triton),          cmocka_unit_test(test_wrong_values)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
