/* test_reference_elements.c - which references are known to put every element, and which are not believed. */
#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/task/reference_elements.h"

#define HEAD "void reference(const struct atoll_reference_args *a, long unit)\n{\n"

static int proves(const char *source, int is_scale)
{
    static struct atoll_task task;
    static char name[] = "y";
    char *text = strdup(source);
    assert_non_null(text);
    memset(&task, 0, sizeof(task));
    task.tensors[0].name = name;
    task.tensor_count = 1;
    task.reference_source = text;
    int found = atoll_reference_puts_each(&task, 0, is_scale);
    free(text);
    return found;
}

static void test_texts(void **state)
{
    static const struct {
        const char *source;
        int puts;
    } rows[] = {
        {HEAD "put_y(a, unit, 1);\n}\n", 1},
        {"/* return */ static double f(double x) { return x; }\n" HEAD
         "const double x = get_x(a, unit);\nput_y(a, unit, f(x) > 0.0 ? x : 0.0);\n}\n",
         1},
        {HEAD "double s = 0;\nfor (long k = 0; k < 3; k++) { if (k == unit) break; s += unit * k; }\n"
              "put_y(a, unit, s);\n}\n",
         1},
        {HEAD "const long i = unit / 2;\nif (i) put_y(a, unit, 2);\nelse {}\nput_y(a, unit, 1);\n}\n", 1},
        /* not each */
        {HEAD "put_y(a, unit + 1, 1);\n}\n", 0},
        {HEAD "put_y(a, 2 * unit, 1);\n}\n", 0},
        {HEAD "put_z(a, unit, 1);\n}\n", 0},
        {HEAD "scale_y(a, unit, 1);\n}\n", 0},
        {HEAD "if (unit) put_y(a, unit, 1);\n}\n", 0},
        {HEAD "if (unit) { put_y(a, unit, 1); }\n}\n", 0},
        {HEAD "if (unit) ; else put_y(a, unit, 1);\n}\n", 0},
        {HEAD "for (; unit > 3; put_y(a, unit, 1)) ;\n}\n", 0},
        {HEAD "while (get_x(a, unit) > 0) put_y(a, unit, 1);\n}\n", 0},
        {HEAD "get_x(a, unit) > 0 ? put_y(a, unit, 1) : put_y(a, unit, 2);\n}\n", 0},
        {HEAD "switch (unit) case 3: put_y(a, unit, 1);\n}\n", 0},
        /* ways out */
        {HEAD "if (unit > 3) return;\nput_y(a, unit, 1);\n}\n", 0},
        {HEAD "if (unit > 3) goto out;\nput_y(a, unit, 1);\nout: ;\n}\n", 0},
        {HEAD "asm(\"exit;\");\nput_y(a, unit, 1);\n}\n", 0},
        /* another unit */
        {HEAD "unit = 3;\nput_y(a, unit, 1);\n}\n", 0},
        {HEAD "unit %= 3;\nput_y(a, unit, 1);\n}\n", 0},
        {HEAD "(unit)++;\nput_y(a, unit, 1);\n}\n", 0},
        {HEAD "--unit;\nput_y(a, unit, 1);\n}\n", 0},
        {HEAD "long *p = &unit;\n*p = 3;\nput_y(a, unit, 1);\n}\n", 0},
        {HEAD "const struct atoll_reference_args b = *a;\na = &b;\nput_y(a, unit, 1);\n}\n", 0},
        /* something else */
        {"#define put_y(a, i, v)\n" HEAD "put_y(a, unit, 1);\n}\n", 0},
        {HEAD "if (unit) <% ; put_y(a, unit, 1); }\n}\n", 0},
        {HEAD "if (unit) ?\077< ; put_y(a, unit, 1); ?\077>\n}\n", 0},
        {HEAD "void (*put_y)(int) = f;\nput_y(a, unit, 1);\n}\n", 0},
        {"void reference(const struct atoll_reference_args *b, long unit)\n{\nput_y(a, unit, 1);\n}\n", 0},
        {"void other(const struct atoll_reference_args *a, long unit)\n{\nput_y(a, unit, 1);\n}\n", 0},
        {"void other(void)\n{\nput_y(a, unit, 1);\n}\n" HEAD "}\n", 0},
        {HEAD "put_y(a, unit, 1);\n", 0},
        {HEAD "/* put_y(a, unit, 1);\n}\n", 0},
        {HEAD "put_y", 0},
        {"", 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (proves(rows[i].source, 0) != rows[i].puts)
            fail_msg("row %zu: %s", i, rows[i].source);
    assert_true(proves(HEAD "scale_y(a, unit, 1);\n}\n", 1));
    assert_false(proves(HEAD "put_y(a, unit, 1);\n}\n", 1));
}

/* Tasks that come with Atoll: an element a unit, and a row a unit. */
static void test_bundled(void **state)
{
    static const struct {
        const char *folder, *tensor;
        int puts, scales;
    } rows[] = {{"bench/tasks/relu_huge", "y", 1, 0},     {"suites/starter/adamw_step", "p", 1, 1},
                {"suites/starter/adamw_step", "v", 1, 0}, {"suites/starter/bias_gelu", "y", 1, 1},
                {"suites/starter/stencil5", "y", 1, 1},   {"suites/starter/transpose", "y", 1, 0},
                {"suites/starter/layernorm", "y", 0, 0},  {"suites/starter/softmax_rows", "y", 0, 0}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char path[4096];
        snprintf(path, sizeof(path), ATOLL_SOURCE_DIR "/%s", rows[i].folder);
        struct atoll_task *task = atoll_task_load(path, NULL);
        assert_non_null(task);
        size_t t = 0;
        while (t < task->tensor_count && strcmp(task->tensors[t].name, rows[i].tensor) != 0)
            t++;
        assert_true(t < task->tensor_count);
        if (atoll_reference_puts_each(task, t, 0) != rows[i].puts ||
            atoll_reference_puts_each(task, t, 1) != rows[i].scales)
            fail_msg("%s, %s", rows[i].folder, rows[i].tensor);
        atoll_task_destroy(task);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_texts), cmocka_unit_test(test_bundled)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
