/* The texts of our kernels compile, without a word from the compiler; so do the references of all tasks.  Both texts ask
 * which architecture they are for.  That of the calibration is compiled for every one that this NVRTC knows a form of; the
 * other one for the oldest and for Hopper, between which 8.0 has a part of Hopper's instructions.  ATOLL_NVRTC_ARCHS=all:
 * for every one, too. */
#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi-eval/backend/cuda/compile/cubin.h"
#include "mpi-eval/backend/cuda/measure/oracle.h"
#include "mpi-eval/backend/cuda/measure/support.h"
#include "tests/support/nvrtc.h"

static const struct atoll_nvrtc_library *nvrtc;

static int set_up(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    nvrtc = atoll_nvrtc_library_open(&err);
    if (!nvrtc)
        print_message("skipped: %s\n", err.text);
    return 0;
}

static int knows(int arch)
{
    int archs[64], count = 0;
    if (nvrtc->nvrtcGetNumSupportedArchs(&count) || count > 64 || nvrtc->nvrtcGetSupportedArchs(archs))
        return 0;
    for (int i = 0; i < count; i++)
        if (archs[i] == arch)
            return 1;
    return 0;
}

/* Kernels that overwrite local memory leave no thread of a multiprocessor out: 2048 of them have 32 registers each.  No other
 * kernel of ours has any: expected values, keys and inputs of draws to come are in registers alone (where a compiler must spill
 * them after all, they are overwritten; sample.c). */
static void frames_check(const char *what, const char *arch, const void *bytes, size_t length)
{
    static const struct {
        const char *name;
        uint32_t stack_bytes;
    } wipes[] = {{"atoll_local_1k_kernel", 1024},
                 {"atoll_local_2k_kernel", ATOLL_SUPPORT_LOCAL_BYTES},
                 {"atoll_local_4k_kernel", 4096},
                 {"atoll_local_8k_kernel", 8192},
                 {"atoll_local_16k_kernel", ATOLL_SUPPORT_LOCAL_WIDEST}};
    static struct atoll_cubin cubin;
    struct atoll_err err = ATOLL_ERR_INIT;
    if (atoll_cubin_read(bytes, length, "", &cubin, &err) != 0)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < cubin.kernel_count; i++) {
        const struct atoll_cubin_kernel *k = &cubin.kernels[i];
        uint32_t wanted = 0;
        for (size_t w = 0; w < sizeof(wipes) / sizeof(*wipes); w++)
            wanted = strcmp(wipes[w].name, k->name) == 0 ? wipes[w].stack_bytes : wanted;
        if (wanted)
            assert_true(k->registers <= 32 && k->stack_bytes >= wanted);
        else if (k->stack_bytes)
            fail_msg("%s for %s: %s spills to %u bytes of local memory", what, arch, k->name, k->stack_bytes);
    }
}

/* Beside our kernels, references have what their authors and the compiler gave them; it is overwritten. */
static void check_text(const char *what, const char *text, const char *arch, int is_ours)
{
    char *log = NULL;
    size_t length = 0;
    const char *option = is_ours ? NULL : test_nvrtc_quick(nvrtc); /* frames are the optimizer's doing */
    void *cubin = test_nvrtc_compile(nvrtc, text, arch, option, &length, &log);
    if (!cubin || (log && strspn(log, " \n") != strlen(log)))
        fail_msg("%s for %s: %s", what, arch, log ? log : "no log");
    assert_memory_equal(cubin, "\177ELF", 4);
    if (is_ours)
        frames_check(what, arch, cubin, length);
    free(cubin);
    free(log);
}

static void test_units(void **state)
{
    static const struct {
        int number;
        const char *name;
    } archs[] = {{70, "sm_70"}, {75, "sm_75"},  {80, "sm_80"},
                 {89, "sm_89"}, {90, "sm_90a"}, {100, "sm_100a"}};
    const char *wanted = getenv("ATOLL_NVRTC_ARCHS");
    int all = wanted && strcmp(wanted, "all") == 0, is_oldest = 1;
    if (!nvrtc)
        skip();
    for (size_t i = 0; i < sizeof(archs) / sizeof(*archs); i++) {
        if (!knows(archs[i].number)) {
            print_message("this NVRTC has no %s\n", archs[i].name);
            continue;
        }
        if (all || is_oldest || archs[i].number == 90) {
            check_text("support", atoll_support_text(), archs[i].name, 1);
            check_text("wide frames", atoll_support_wide_frames_text(), archs[i].name, 1);
        }
        is_oldest = 0;
        check_text("calibration", atoll_support_calibration_text(), archs[i].name, 1);
    }
}

static int check_reference(void *context, const char *dir, struct atoll_err *err)
{
    struct atoll_buffer text;
    struct atoll_task *task = atoll_task_load(dir, err);
    if (!task)
        return -1;
    const char *name;
    atoll_buffer_init(&text, (size_t)4 << 20);
    int rc = atoll_cuda_case_unit(task, &name, &text, err);
    atoll_buffer_put_u8(&text, 0);
    if (!rc)
        check_text(dir, (const char *)text.data, "sm_90a", 0);
    *(unsigned *)context += 1;
    atoll_buffer_fini(&text);
    atoll_task_destroy(task);
    return rc;
}

static void test_references(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    unsigned count = 0;
    if (!nvrtc)
        skip();
    if (atoll_suite_visit(ATOLL_SOURCE_DIR "/suites/starter", check_reference, &count, &err) ||
        atoll_suite_visit(ATOLL_SOURCE_DIR "/suites/gpu", check_reference, &count, &err))
        fail_msg("%s", err.text);
    assert_true(count >= 10);
}

/* The texts are whole: no include is left, every kernel that load asks for is there. */
static void test_texts_are_complete(void **state)
{
    const char *texts[] = {atoll_support_text(), atoll_support_calibration_text(),
                           atoll_support_wide_frames_text()};
    for (size_t i = 0; i < 3; i++) {
        assert_null(strstr(texts[i], "#include"));
        assert_non_null(strstr(texts[i], "atoll_random_at"));
        assert_true(strlen(texts[i]) > 10000);
    }
    assert_non_null(strstr(texts[0], "atoll_compare_kernel"));
    assert_non_null(strstr(texts[0], "atoll_contents_kernel"));
    assert_non_null(strstr(texts[1], "atoll_empty_kernel"));
    assert_non_null(strstr(texts[2], "atoll_local_16k_kernel"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts_are_complete),
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_references),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
