/* test_printed.c - what compilers said, as they said it. */
#include "tests/support/expect.h"

#include <string.h>

#include "mpi-eval/backend/cuda/triton/printed.h"

#define DUMP                                                                                                 \
    "module attributes {\"ttg.num-warps\" = 4 : i32} {\n  tt.func public @matmul(%arg0: !tt.ptr<f32>) {\n"
#define FAILED "candidate.py:12:0: error: Failures have been detected while processing an MLIR pass pipeline"
#define ASSERTED                                                                                             \
    "python3: AsmPrinter.cpp:403: virtual llvm::AsmPrinter::~AsmPrinter(): Assertion `!DD && \"Debug/EH "    \
    "info "                                                                                                  \
    "didn't get finalized\"' failed."

static const struct {
    const char *printed, *cause;
    int no_memory;
} rows[] = {
    {"", "", 0},
    {"a word\nand another\n", "a word\nand another\n", 0},
    {"LLVM ERROR: out of memory\nBuffer allocation failed\n", "LLVM ERROR: out of memory", 1},
    {"LLVM ERROR: out of memory\nAllocation failed\n" DUMP FAILED "\n" DUMP FAILED,
     "LLVM ERROR: out of memory\n" FAILED, 1},
    {ASSERTED "\n#0 0x1234 (libtriton.so+0x55)\n#1 0x1235\n", ASSERTED, 0},
    {"terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\n",
     "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc", 1},
    {"out of memory\n", "out of memory\n", 0}, /* a program's own words */
};

static void test_cause(void **state)
{
    char cause[1024];
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        size_t length = atoll_triton_printed_cause(rows[i].printed, strlen(rows[i].printed), cause, 1024);
        assert_string_equal(cause, rows[i].cause);
        assert_int_equal(length, strlen(rows[i].cause));
        assert_int_equal(atoll_triton_printed_no_memory(rows[i].printed, strlen(rows[i].printed)),
                         rows[i].no_memory);
    }
}

/* Whole lines, as many as there is room for. */
static void test_room(void **state)
{
    static const char text[] = "error: one\nerror: a longer line than there is room for\nerror: two\n";
    char cause[24];
    atoll_triton_printed_cause(text, sizeof(text) - 1, cause, sizeof(cause));
    assert_string_equal(cause, "error: one\nerror: two");
    atoll_triton_printed_cause("no word of it", 13, cause, 3);
    assert_string_equal(cause, "no");
    atoll_triton_printed_cause("no word of it", 13, cause, 1);
    assert_string_equal(cause, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cause), cmocka_unit_test(test_room)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
