/* What stops cheating CUDA kernels before a device sees them: limits, rules, the compiler, the image.  The others and
 * every honest twin must come through.  With real NVRTC; skips where there is none. */
#include "tests/support/expect.h"

#include "mpi-eval/backend/cuda/compile/compile.h"
#include "tests/support/cheats.h"

static struct atoll_task *tasks[CHEATS_TASK_COUNT];
static struct atoll_compiler *compiler;

static void build(const char *name, const char *tail, enum cheats_task task, struct cheats_built *b)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    char *source = cheats_read(name, tail, &err);
    int rc = source ? cheats_build(source, tasks[task], NULL, compiler, b, &err) : -1;
    free(source);
    if (rc != 0)
        fail_msg("%s%s: %s", name, tail, err.text);
}

static const char *place_name(unsigned at)
{
    static const char *const names[] = {"nowhere", "plan", "rules", "", "compiler", "", "", "", "image"};
    return names[at];
}

/* A line; 1 when it is not as it should be. */
static size_t report(const char *name, const char *wanted, const struct cheats_built *b, int is_good)
{
    printf("%s  %-30s expected %-40s stopped by %-8s %-13s %.120s\n", is_good ? "ok  " : "FAIL", name, wanted,
           place_name(b->at), b->at ? atoll_verdict_name(b->verdict) : "", b->detail);
    return !is_good;
}

static size_t check(const struct cheat *c)
{
    const unsigned early = AT_PLAN | AT_RULES | AT_COMPILE | AT_IMAGE;
    struct cheats_built b;
    char wanted[256], twin[128];
    build(c->name, ".cu", c->task, &b);
    int is_good = b.at ? (b.at & c->at) && c->verdicts >> b.verdict & 1u && strstr(b.detail, c->says)
                       : (c->at & ~early) != 0;
    size_t failed = report(c->name, cheats_wanted(c, wanted, sizeof(wanted)), &b, is_good);
    cheats_built_fini(&b);
    snprintf(twin, sizeof(twin), "%s.honest", c->name);
    build(c->name, ".honest.cu", c->task, &b);
    failed += report(twin, "to pass", &b, b.at == 0);
    cheats_built_fini(&b);
    return failed;
}

static void every_fixture_has_a_row(void **state)
{
    (void)state;
    assert_int_equal(cheats_strays(), 0);
}

static void rows_are_whole(void **state)
{
    (void)state;
    for (size_t i = 0; i < CHEATS_COUNT; i++) {
        assert_true(cheats[i].at && cheats[i].verdicts);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(cheats[i].name, cheats[k].name);
    }
}

static void rows(void **state)
{
    size_t failed = 0;
    (void)state;
    if (!compiler)
        skip();
    for (size_t i = 0; i < CHEATS_COUNT; i++)
        failed += check(&cheats[i]);
    printf("SUMMARY %zu cheats and as many twins, %zu failed\n", CHEATS_COUNT, failed);
    assert_int_equal(failed, 0);
}

static int set_up(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_nvrtc_settings settings = {.compiler = {.command = "nvrtc",
                                                         .flags = "",
                                                         .target = "sm_90a",
                                                         .slots = 1,
                                                         .deadline_ns = 4e9,
                                                         .memory_bytes = (uint64_t)2 << 30,
                                                         .output_bytes = (uint64_t)16 << 20},
                                            .cache = ""};
    (void)state;
    setenv("ATOLL_COMPILE_CUDA", ATOLL_BUILD_DIR "/atoll-compile-cuda", 0);
    for (unsigned i = 0; i < CHEATS_TASK_COUNT; i++)
        if (!(tasks[i] = cheats_task_load((enum cheats_task)i, &err))) {
            print_error("%s\n", err.text);
            return -1;
        }
    compiler = atoll_nvrtc_create(&settings, &err);
    if (!compiler && err.code != ATOLL_E_MISSING) {
        print_error("%s\n", err.text);
        return -1;
    }
    if (!compiler)
        print_message("SKIP: %s\n", err.text);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    atoll_compiler_destroy(compiler);
    for (size_t i = 0; i < CHEATS_TASK_COUNT; i++)
        atoll_task_destroy(tasks[i]);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_fixture_has_a_row),
        cmocka_unit_test(rows_are_whole),
        cmocka_unit_test(rows),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
