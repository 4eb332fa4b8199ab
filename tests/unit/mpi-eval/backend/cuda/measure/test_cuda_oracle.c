#include "tests/support/expect.h"

#include <stdlib.h>

#include "mpi-eval/backend/cuda/measure/oracle.h"

static void declarations_of_file_scope(void **state)
{
    static const struct {
        const char *source, *expected;
    } rows[] = {
        {"", ""},
        {"void reference(int a)\n{\n    int b = a;\n    f(b);\n}\n",
         "__device__ void reference(int a)\n{\n    int b = a;\n    f(b);\n}\n"},
        {"static double f(double x) { return x; }\nvoid reference(void)\n{\n}\n",
         "__device__ static double f(double x) { return x; }\n__device__ void reference(void)\n{\n}\n"},
        {"static const double t[2] = {1,\n2};\nstruct s { int a; };\nenum { A };\n",
         "__device__ static const double t[2] = {1,\n2};\nstruct s { int a; };\nenum { A };\n"},
        {"/* a comment; */\n#define X 1\n  void g(void);\n// void h(void);\n",
         "/* a comment; */\n#define X 1\n  __device__ void g(void);\n// void h(void);\n"},
        {"void g(int a,\n       int b);\n", "__device__ void g(int a,\n       int b);\n"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char *text = atoll_cuda_reference_annotate(rows[i].source, NULL);
        assert_string_equal(text, rows[i].expected);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(declarations_of_file_scope)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
