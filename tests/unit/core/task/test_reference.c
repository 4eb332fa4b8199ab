/* test_reference.c - the translation unit: its parts, and its answers, compiled and called where there is a
 * cc. */
#include "tests/support/expect.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "core/task/dtype.h"
#include "core/task/reference.h"

#define FIXTURES ATOLL_SOURCE_DIR "/tests/fixtures/tasks"

typedef void reference_range(const struct atoll_reference_args *a, long unit_begin, long unit_end);

static char *unit_text(const struct atoll_task *task)
{
    struct atoll_buffer out;
    struct atoll_err err = ATOLL_ERR_INIT;
    atoll_buffer_init(&out, 1u << 20);
    if (atoll_reference_translation_unit(task, &out, &err))
        fail_msg("%s", err.text);
    char *text = malloc(out.length + 1);
    assert_non_null(text);
    memcpy(text, out.data, out.length);
    text[out.length] = 0;
    atoll_buffer_fini(&out);
    return text;
}

static struct atoll_task *load(const char *name)
{
    char path[512];
    struct atoll_err err = ATOLL_ERR_INIT;
    snprintf(path, sizeof(path), "%s/%s", FIXTURES, name);
    struct atoll_task *task = atoll_task_load(path, &err);
    if (!task)
        fail_msg("%s", err.text);
    return task;
}

static void test_parts(void **state)
{
    static const char *const parts[] = {
        "long dim_B(",           "long dim_N(",        "double get_x(",
        "void put_total(",       "scale_total(",       "double get_count(",
        "void put_count(",       "double *scratch(",   "#line 1 \"reference.c\"\n",
        "atoll_reference_range", "double atoll_rsqrt("};
    struct atoll_task *task = load("rowsum");
    char *text = unit_text(task);
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        if (!strstr(text, parts[i]))
            fail_msg("no '%s'", parts[i]);
    assert_null(strstr(text, "get_total"));
    assert_null(strstr(text, "put_x"));
    assert_null(strstr(text, "#include"));
    assert_int_equal(atoll_reference_has_scale(task, 1), 1);
    assert_int_equal(atoll_reference_has_scale(task, 2), 0);
    free(text);
    atoll_task_destroy(task);
}

static void test_scale_in_comments_does_not_count(void **state)
{
    struct atoll_task *task = load("rowsum");
    struct atoll_task other = *task;
    other.reference_source = "/* scale_total(a, 0, 1) */ // scale_total\nint scale_totals;";
    assert_int_equal(atoll_reference_has_scale(&other, 1), 0);
    atoll_task_destroy(task);
}

static void test_includes_are_refused(void **state)
{
    static const char *const texts[] = {"#include <math.h>\n", "\n# include \"x\"\n", "#\\\ninclude <x>\n",
                                        "#include_next <x>\n"};
    struct atoll_task *task = load("scale");
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        struct atoll_task other = *task;
        struct atoll_buffer out;
        struct atoll_err err = ATOLL_ERR_INIT;
        other.reference_source = texts[i];
        atoll_buffer_init(&out, 1u << 20);
        assert_int_equal(atoll_reference_translation_unit(&other, &out, &err), -1);
        assert_non_null(strstr(err.text, "includes are not allowed"));
        atoll_buffer_fini(&out);
    }
    atoll_task_destroy(task);
}

static void test_device_unit(void **state)
{
    static const char *const parts[] = {"double expected_total(", "double expected_scale_total(", "TILES\n",
                                        "namespace atoll_tiled {\n#line 1 \"reference.cu\"\nmine();\n"};
    struct atoll_task *task = load("rowsum");
    struct atoll_task other = *task;
    struct atoll_buffer out;
    struct atoll_err err = ATOLL_ERR_INIT;
    atoll_buffer_init(&out, 1u << 20);
    assert_int_equal(atoll_reference_device_unit(&other, "TILES\n", &out, &err), -1);
    expect_err(&err, ATOLL_E_INTERNAL, "has no reference.cu");
    other.device_source = "mine();\n";
    atoll_err_clear(&err);
    assert_int_equal(atoll_reference_device_unit(&other, "TILES\n", &out, &err), 0);
    atoll_buffer_put_u8(&out, 0);
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        if (!strstr((const char *)out.data, parts[i]))
            fail_msg("no '%s'", parts[i]);
    assert_null(strstr((const char *)out.data, "expected_x"));
    other.device_source = "\n#include <x>\n";
    assert_int_equal(atoll_reference_device_unit(&other, "", &out, &err), -1);
    expect_err(&err, ATOLL_E_INPUT, "reference.cu:2: includes are not allowed");
    atoll_buffer_fini(&out);
    atoll_task_destroy(task);
}

static void test_limit(void **state)
{
    struct atoll_task *task = load("scale");
    struct atoll_buffer out;
    struct atoll_err err = ATOLL_ERR_INIT;
    atoll_buffer_init(&out, 100);
    assert_int_equal(atoll_reference_translation_unit(task, &out, &err), -1);
    assert_int_equal(err.code, ATOLL_E_LIMIT);
    atoll_buffer_fini(&out);
    atoll_task_destroy(task);
}

/* Compiles text with the machine's cc; NULL when there is none. */
static void *compile(const char *text)
{
    char source[512], object[512], command[1200];
    if (system("cc --version > /dev/null 2>&1") != 0)
        return NULL;
    snprintf(source, sizeof(source), "%s/test-reference-%d.c", ATOLL_BUILD_DIR, (int)getpid());
    snprintf(object, sizeof(object), "%s/test-reference-%d.so", ATOLL_BUILD_DIR, (int)getpid());
    FILE *f = fopen(source, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
    snprintf(command, sizeof(command), "cc -std=c11 -Wall -Wextra -Werror -O1 -shared -fPIC -o '%s' '%s' -lm",
             object, source);
    assert_int_equal(system(command), 0);
    void *library = dlopen(object, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fail_msg("%s", dlerror());
    unlink(source);
    unlink(object);
    return library;
}

static reference_range *find_range(void *library)
{
    union {
        void *pointer;
        reference_range *function;
    } f = {dlsym(library, "atoll_reference_range")};
    assert_non_null(f.pointer);
    return f.function;
}

static void test_answers(void **state)
{
    struct atoll_task *task = load("rowsum");
    char *text = unit_text(task);
    void *library = compile(text);
    free(text);
    atoll_task_destroy(task);
    if (!library) {
        print_message("skipped: no cc on this machine\n");
        return;
    }
    static const long long dims[] = {2, 3};
    uint16_t x[6];
    int32_t count[2] = {7, -9};
    double total[2] = {0}, counted[2] = {0}, magnitude[2] = {0}, scratch[3];
    for (size_t i = 0; i < 6; i++)
        atoll_dtype_store(ATOLL_F16, x, i, i % 2 ? -0.5 * (double)i : 1.25 * (double)i);
    const void *inputs[] = {x, NULL, count};
    double *expected[] = {NULL, total, counted}, *scale[] = {NULL, magnitude, NULL};
    struct atoll_reference_args args = {dims, inputs, expected, scale, scratch};
    find_range(library)(&args, 1, 2);
    assert_true(total[0] == 0 && total[1] == -1.5 + 5.0 - 2.5);
    find_range(library)(&args, 0, 1);
    assert_true(total[0] == -0.5 + 2.5 && magnitude[0] == 3.0 && magnitude[1] == 9.0);
    assert_true(counted[0] == 8 && counted[1] == -8);
    dlclose(library);
}

/* Every bit pattern of the narrow floats decodes as core/dtype does. */
static void test_narrow_floats(void **state)
{
    static const struct {
        enum atoll_dtype dtype;
        uint32_t patterns;
    } types[] = {{ATOLL_F16, 65536}, {ATOLL_BF16, 65536}, {ATOLL_F8E4M3, 256}, {ATOLL_F8E5M2, 256}};
    static double got[65536];
    static uint16_t wide[65536];
    static uint8_t narrow[256];
    for (uint32_t i = 0; i < 65536; i++)
        wide[i] = (uint16_t)i;
    for (uint32_t i = 0; i < 256; i++)
        narrow[i] = (uint8_t)i;
    struct atoll_task *task = load("scale");
    for (size_t t = 0; t < 4; t++) {
        struct atoll_task other = *task;
        other.tensors[0].dtype = types[t].dtype;
        other.reference_source = "void reference(const struct atoll_reference_args *a, long unit) { put_y(a, "
                                 "unit, get_x(a, unit)); }";
        char *text = unit_text(&other);
        void *library = compile(text);
        free(text);
        if (!library)
            break;
        const void *inputs[] = {types[t].patterns == 256 ? (const void *)narrow : wide, NULL};
        double *expected[] = {NULL, got}, *scale[] = {NULL, NULL};
        struct atoll_reference_args args = {(const long long[]){types[t].patterns}, inputs, expected, scale,
                                            NULL};
        find_range(library)(&args, 0, (long)types[t].patterns);
        for (uint32_t i = 0; i < types[t].patterns; i++) {
            double want = atoll_dtype_load(types[t].dtype, inputs[0], i);
            if (!(got[i] == want || (isnan(got[i]) && isnan(want))))
                fail_msg("%s %u: %g, expected %g", atoll_dtype_name(types[t].dtype), i, got[i], want);
        }
        dlclose(library);
    }
    atoll_task_destroy(task);
}

/* A task that PyTorch defines has no unit, and says so. */
static void test_torch_has_no_unit(void **state)
{
    struct atoll_task *task = load("packed");
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_buffer out;
    atoll_buffer_init(&out, 1u << 20);
    assert_int_equal(atoll_reference_translation_unit(task, &out, &err), -1);
    expect_err(&err, ATOLL_E_INPUT,
               "task 'packed' is defined by PyTorch (problem.py); there is no reference.c");
    assert_int_equal(atoll_reference_has_scale(task, 2), 0);
    atoll_buffer_fini(&out);
    atoll_task_destroy(task);
}

/* The line that a compiler blames is the author's, whoever says it and however; without one nothing is quoted. */
static void test_quote(void **state)
{
    static const char source[] =
        "static double f(double x);\n\n  void reference(a, long unit) { g(f(1)); }\n";
    static const struct {
        const char *diagnostics, *quote;
    } rows[] = {
        {"reference.c:3:32: error: implicit declaration of g",
         "; line 3 of reference.c says: void reference(a, long unit) { g(f(1)); }"},
        {"reference.c(1): error: no definition of f",
         "; line 1 of reference.c says: static double f(double x);"},
        {"ld: undefined reference to `g'",
         "; line 3 of reference.c says: void reference(a, long unit) { g(f(1)); }"},
        {"ld: undefined reference to `h'", ""},
        {"reference.c:9: error: end of file", ""},
        {"the compiler was not done after 20 s", ""},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char quote[ATOLL_REFERENCE_QUOTE_BYTES];
        atoll_reference_quote(source, rows[i].diagnostics, quote);
        assert_string_equal(quote, rows[i].quote);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_scale_in_comments_does_not_count),
        cmocka_unit_test(test_includes_are_refused),
        cmocka_unit_test(test_device_unit),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_narrow_floats),
        cmocka_unit_test(test_torch_has_no_unit),
        cmocka_unit_test(test_quote),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
