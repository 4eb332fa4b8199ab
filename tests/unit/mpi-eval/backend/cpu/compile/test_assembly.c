/* The hot loop of assembler texts, as gcc writes them and as nobody does. */
#include "tests/support/expect.h"

#include <stdlib.h>

#include "base/random.h"
#include "mpi-eval/backend/cpu/compile/assembly.h"

#define INNER                                                                                                \
    ".L4:\n\tvmovups\t(%rdx,%rax), %zmm0\n\tvfmadd231ps\t(%rcx,%rax), %zmm0, %zmm1\n\taddq\t$64, "           \
    "%rax\n\tcmpq\t%rax, %rsi\n\tjne\t.L4\n"
#define COPY ".L7:\n\tmovq\t(%rdi,%rax), %r8\n\tmovq\t%r8, (%rsi,%rax)\n\taddq\t$8, %rax\n\tjne\t.L7\n"

static void test_loops(void **state)
{
    static const struct {
        const char *text;
        size_t count;
        const char *loop;
    } rows[] = {
        {"", 0, ""},
        {"f:\n\tret\n", 0, ""},
        {"f:\n\tjmp\t.L2\n.L2:\n\tret\n", 0, ""}, /* forward */
        {"f:\n" COPY "\tret\n", 1, COPY},
        {"f:\n" COPY "\t.p2align 4\n" INNER "\tret\n", 2, INNER},
        {"f:\n" INNER COPY "\tret\n", 2, INNER},
        /* the outer one has more arithmetic, and the inner one inside */
        {"f:\n.L3:\n\taddss\t%xmm0, %xmm1\n" INNER "\tmulss\t%xmm0, %xmm1\n\tjne\t.L3\n\tret\n", 2, INNER},
        {"f:\n.L3:\n" INNER COPY "\tjne\t.L3\n\tret\n", 3, INNER},
        {".L1:\n\t.loc 1 2 3\n\tmulsd\t%xmm0, %xmm1\n\tjb .L1", 1, ".L1:\n\tmulsd\t%xmm0, %xmm1\n\tjb .L1\n"},
        {"\tj\n\tjne\t\n\tjne\t*%rax\n\tj\t.L9\n.:\n\tj\t.\n", 1, ".:\n\tj\t.\n"},
        {"\tv\n\tvs\n\ts\n.L1:\n\tv\n\tj\t.L1", 1, ".L1:\n\tv\n\tj\t.L1\n"},
    };
    char loop[1000];
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        size_t count = atoll_assembly_hot_loop(rows[i].text, loop, sizeof(loop));
        if (count != rows[i].count || strcmp(loop, rows[i].loop) != 0)
            fail_msg("row %zu: %zu loops, '%s'", i, count, loop);
    }
    assert_int_equal(atoll_assembly_hot_loop(INNER, loop, 20), 1);
    assert_string_equal(loop, ".L4:\n");
    assert_int_equal(atoll_assembly_hot_loop(INNER, loop, 0), 1);
}

/* Any text ends, and what comes of it fits. */
static void test_any_text(void **state)
{
    static const char *const pieces[] = {".L1",      ":",  "\n", "\tj",  "\tjne\t", ".L2:\n",
                                         "\tvaddps", "\t", ".",  "\xff", "\t.L1\n"};
    struct atoll_random random = {.key = 3};
    char text[2000], loop[64];
    for (int round = 0; round < 2000; round++) {
        size_t n = 0;
        text[0] = '\0';
        while (n < 100 && strlen(text) < sizeof(text) - 20) {
            strcat(text,
                   pieces[atoll_random_below(atoll_random_next(&random), sizeof(pieces) / sizeof(*pieces))]);
            n++;
        }
        memset(loop, 'X', sizeof(loop));
        atoll_assembly_hot_loop(text, loop, sizeof(loop));
        assert_true(strnlen(loop, sizeof(loop)) < sizeof(loop));
    }
    /* four million bytes of jumps to what is nowhere: it gives up, soon */
    char *jumps = calloc(1, 4u << 20);
    for (size_t i = 0; i + 20 < 4u << 20; i += 8)
        memcpy(jumps + i, i < 8 * 4096 ? ".L1111:\n" : "\tj .L22\n", 8);
    assert_int_equal(atoll_assembly_hot_loop(jumps, loop, sizeof(loop)), 0);
    free(jumps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loops),
        cmocka_unit_test(test_any_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
