#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "scheduler/doctor/doctor_cuda.h"

/* What drivers write to their list of settings, and what follows for a user and for root. */
static void test_counters(void **state)
{
    static const struct {
        const char *params;
        int is_root, result;
        const char *text;
    } cases[] = {
        {"ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 0\nDeviceFileUID: 0\n", 0, 1, "open"},
        {"RmProfilingAdminOnly: 0\n", 1, 1, "open"},
        {"RmProfilingAdminOnly: 1\n", 0, 0, "NVreg_RestrictProfilingToAdminUsers=0"},
        {"RmProfilingAdminOnly: 1\n", 1, 1, "open, to root alone"},
        {"DeviceFileUID: 0\n", 1, -1, "not known"},
        {"", 0, -1, "not known"},
    };
    char path[] = "/tmp/atoll-params-XXXXXX", text[256];
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    close(fd);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        FILE *file = fopen(path, "w");

        assert_non_null(file);
        fputs(cases[i].params, file);
        fclose(file);
        assert_int_equal(atoll_doctor_counters(path, cases[i].is_root, text, sizeof(text)), cases[i].result);
        assert_non_null(strstr(text, cases[i].text));
    }
    unlink(path);
    assert_int_equal(atoll_doctor_counters(path, 1, text, sizeof(text)), -1);
    assert_non_null(strstr(text, path));
}

/* Whatever this machine has, every library is a finding with a text, and the devices are a list. */
static void test_findings(void **state)
{
    static const char *const libraries[] = {"driver", "nvml", "nvrtc", "cupti", "compute-sanitizer"};
    struct atoll_err err = ATOLL_ERR_INIT;
    json_t *findings = atoll_doctor_cuda(&err);

    if (!findings)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++) {
        const json_t *library = json_object_get(findings, libraries[i]);

        assert_true(json_is_boolean(json_object_get(library, "ok")));
        assert_true(strlen(json_string_value(json_object_get(library, "text"))) > 0);
    }
    assert_true(json_is_array(json_object_get(findings, "devices")));
    if (!json_is_true(json_object_get(json_object_get(findings, "driver"), "ok")))
        assert_int_equal(json_array_size(json_object_get(findings, "devices")), 0);
    json_decref(findings);
}

/* A device that is not there is refused with a sentence, and gets no rates. */
static void test_no_device_to_calibrate(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    json_t *device = json_pack("{s:s}", "uuid", "GPU-00000000-0000-0000-0000-000000000000");

    assert_int_equal(atoll_doctor_cuda_calibrate(device, &err), -1);
    assert_true(strlen(err.text) > 0);
    assert_null(json_object_get(device, "calibration"));
    json_decref(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counters),
        cmocka_unit_test(test_findings),
        cmocka_unit_test(test_no_device_to_calibrate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
