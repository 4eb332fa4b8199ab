/* test_rules_triton.c - every Triton rule breaks on its own snippet and not on its innocent twin. */
#include "tests/support/expect.h"

#include <stdio.h>
#include <string.h>

#include "core/rules/rules.h"
#include "core/source/source_python.h"

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in \"%s\"", part, text);
}

static const struct {
    const char *rule, *source, *twin;
} rows[] = {
    {"control-byte", "x = 1\ry = 2\n", "x = 1\r\ny = 2\n"},
    {"text", "x = 'open\n", "x = 'closed'\n"},
    {"text", "\"\"\"open\n\n", "\"\"\"closed\n\"\"\"\n"},
    {"import", "import os\n", "import math\nimport triton\n"},
    {"import", "import triton, os\n", "import triton, triton.language as tl\n"},
    {"import", "from os import path\n", "from triton.language import load\n"},
    {"import", "import triton\\\n, os\n", "# import os\n"},
    {"import", "import numpy as np\n", "x = 'import os'\n"},
    {"import", "from os import (\n path)\n", "from triton import (\n jit)\n"},
    {"system", "triton.os.system('x')\n", "system = 1\n"},
    {"system", "open('/etc/passwd')\n", "reopen = 1\n"},
    {"system", "y = getattr(x, 'y')\n", "y = x.y\n"},
    {"dunder", "x.__class__\n", "x._class\n"},
    {"machinery", "@triton.autotune(configs=[])\n", "@triton.jit\n"},
    {"machinery", "triton.knobs.nvidia.ptxas = 1\n", "BLOCK = 1\n"},
    {"print", "    tl.device_print('x', x)\n", "    tl.device = 1\n"},
    {"print", "print(1)\n", "printed = 1\n"},
    {"clock", "t = tl.extra.cuda.globaltimer()\n", "t = tl.program_id(0)\n"},
    {"clock", "tl.inline_asm_elementwise('mov.u64 $0, %clock64;', '=l', [])\n",
     "tl.inline_asm_elementwise('mov.b32 $0, $1;', '=r,r', [x])\n"},
    {"persisting", "tl.load(x, eviction_policy='evict_last')\n# L2::evict_last\n",
     "tl.load(x, cache_modifier='.cg')\n"},
    {"inline-assembly", "a = 'trap;'\n", "a = 'trapezoid'\n"},
    {"harness", "atoll_x = 1\n", "atol = 1\n"},
};

static void test_rows(void **state)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        char head[64];
        snprintf(head, sizeof(head), "rule %s, line ", rows[i].rule);
        if (atoll_rules_check("triton", rows[i].source, 5, &err) != -1)
            fail_msg("row %zu passes: %s", i, rows[i].source);
        if (strncmp(err.text, head, strlen(head)) != 0)
            fail_msg("row %zu: %s", i, err.text);
        err = (struct atoll_err)ATOLL_ERR_INIT;
        if (atoll_rules_check("triton", rows[i].twin, 5, &err) != 0)
            fail_msg("twin %zu: %s", i, err.text);
    }
    struct atoll_err err = ATOLL_ERR_INIT;
    assert_int_equal(atoll_rules_check("triton", "x = 1\n\nimport os\n", 5, &err), -1);
    assert_has(err.text, "rule import, line 7: ");
    assert_true(atoll_rules_count("triton") > 8);
}

/* Every token of a text, one after the other, with '|' between, and the lines of some. */
static void test_tokens(void **state)
{
    static const struct {
        const char *source, *tokens;
        uint32_t last_line, odd_line;
    } sources[] = {
        {"", "", 0, 0},
        {"a = b # c\nd", "a|=|b|d", 2, 0},
        {"x=r'\\'' 'b\\'c' b\"\"\"d\n'\"e\"\"\"", "x|=|r'\\''|'b\\'c'|b\"\"\"d\n'\"e\"\"\"", 1, 0},
        {"f'{x}' rb'' u\"y\" xr'z'", "f'{x}'|rb''|u\"y\"|xr|'z'", 1, 0},
        {"1.5e-3+0x1F .5 1_000", "1.5e-3|+|0x1F|.5|1_000", 1, 0},
        {"@jit\ndef f(a,\n  b): \\\n c", "@|jit|def|f|(|a|,|b|)|:|c", 4, 0},
        {"'a\nb", "'a|b", 2, 1},
        {"'''a\nb", "'''a\nb", 1, 1},
        {"a!=b $", "a|!|=|b|$", 1, 0},
        {"\xce\xb1 = 1", "\xce\xb1|=|1", 1, 0},
    };
    for (size_t i = 0; i < sizeof(sources) / sizeof(*sources); i++) {
        struct atoll_token_list list;
        char text[256] = "";
        assert_int_equal(atoll_python_token_list_init(&list, sources[i].source, NULL), 0);
        for (size_t k = 0; k < list.count; k++)
            snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%.*s", k ? "|" : "",
                     (int)list.tokens[k].length, list.tokens[k].text);
        assert_string_equal(text, sources[i].tokens);
        assert_int_equal(list.count ? list.tokens[list.count - 1].line : 0, sources[i].last_line);
        assert_int_equal(list.odd_line, sources[i].odd_line);
        atoll_token_list_fini(&list);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_tokens)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
