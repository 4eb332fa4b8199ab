/* What files of knowledge become, and what each broken one gets to hear; the folder that is installed is read without a complaint. */
#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/experience/hint.h"
#include "core/knowledge/knowledge_base.h"

static const char index_text[] =
    "version: 1\n"
    "devices:\n"
    "  - {name: cpu, vendor: x86, what: a processor, compile: {c: -march=x86-64-v3}}\n"
    "  - {name: hopper, vendor: nvidia, what: a GPU, compile: {cuda: sm_90a, triton: sm_90a}}\n"
    "features:\n"
    "  - {name: avx512, device: cpu, what: wide vectors, compile: {c: -mavx512f -mavx512bw}}\n"
    "families:\n"
    "  - {name: gemm, categories: [matmul], words: [gemm, lora]}\n"
    "  - {name: softmax, words: [softmax]}\n";

#define CONSTRAINT_HEAD "version: 1\nconstraints:\n"
#define CONSTRAINT                                                                                           \
    "  - id: c-alias\n"                                                                                      \
    "    severity: critical\n"                                                                               \
    "    language: [c]\n"                                                                                    \
    "    devices: \"*\"\n"                                                                                   \
    "    what: >-\n"                                                                                         \
    "      One rule,\n"                                                                                      \
    "      and why.\n"                                                                                       \
    "    wrong: |\n"                                                                                         \
    "      int a;\n"                                                                                         \
    "    right: |\n"                                                                                         \
    "      int b;\n"                                                                                         \
    "    fails: compile\n"                                                                                   \
    "    message: \"expected ';'\"\n"                                                                        \
    "    source: \"C11, 6.7\"\n"
#define PATTERN_HEAD "version: 1\npatterns:\n"
#define PATTERN                                                                                              \
    "  - id: cuda-split\n"                                                                                   \
    "    stage: memory\n"                                                                                    \
    "    language: cuda\n"                                                                                   \
    "    devices: [hopper]\n"                                                                                \
    "    families: [gemm, softmax]\n"                                                                        \
    "    limiters: [dram, l2]\n"                                                                             \
    "    errors: [race]\n"                                                                                   \
    "    stalls: [barrier]\n"                                                                                \
    "    unused: [wgmma]\n"                                                                                  \
    "    cells: [\"memory 0\"]\n"                                                                            \
    "    what: split it\n"                                                                                   \
    "    before: |\n      int a;\n"                                                                          \
    "    after: |\n      int b;\n"                                                                           \
    "    why: because\n"                                                                                     \
    "    expected: [1.1, 2.0]\n"                                                                             \
    "    applies: always\n"                                                                                  \
    "    source: me\n"
#define EXAMPLE                                                                                              \
    "version: 1\nid: h-gemm\nwhat: a product\nlanguage: cuda\nfamily: [gemm]\ntask: suites/gpu/gemm_bf16\n"  \
    "kernel: kernel.cu\n"                                                                                    \
    "measured:\n"                                                                                            \
    "  - {variant: bench, dims: {M: 4096, N: 128}, device: H200, time_us: 100, rival: cuBLAS, rival_us: "    \
    "90, "                                                                                                   \
    "floor_share: 0.8, date: 2026-11-23, choice: {BM: 128}}\n"                                               \
    "  - {dims: {M: 64, N: 128}, device: H200, time_us: 10, rival: cuBLAS, rival_us: 9, date: 2026-11-23, "  \
    "held_out: yes}\n"                                                                                       \
    "held_out: [{M: 64, N: 128}]\nlearn: [one thing, another thing]\nsource: us\n"
#define PASSAGES                                                                                             \
    "# Warp groups\n\nSource: a manual,\nthe second line\nFamilies: gemm\nmore\n\n## Fields, of a "          \
    "descriptor\n\nSome text.\n\n## "                                                                        \
    "Limits\nMore.\n"

struct file {
    const char *path, *text;
};

static struct atoll_knowledge_pack *pack_of(const struct file *files, size_t count)
{
    struct atoll_knowledge_pack *pack = atoll_knowledge_pack_create(NULL);
    assert_non_null(pack);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(
            atoll_knowledge_pack_put(pack, files[i].path, files[i].text, strlen(files[i].text), NULL), 0);
    return pack;
}

static void test_reads_all_kinds(void **state)
{
    static const struct file files[] = {
        {"index.yaml", index_text},
        {"index-site.yaml", "version: 1\ndevices: [{name: npu, vendor: us, what: a chip}]\n"},
        {"constraints/a.yaml", CONSTRAINT_HEAD CONSTRAINT},
        {"patterns/a.yaml", PATTERN_HEAD PATTERN},
        {"examples/hopper/gemm/example.yaml", EXAMPLE},
        {"examples/hopper/gemm/kernel.cu", "int kernel;\n"},
        {"hardware/nvidia/hopper/wgmma.md", PASSAGES},
        {"hardware/x86/avx512/zmm.md", PASSAGES},
        {"prompts/role.md", "not an entry\n"},
    };
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_knowledge_pack *pack = pack_of(files, sizeof(files) / sizeof(*files));
    struct atoll_knowledge_base *base = atoll_knowledge_base_parse(pack, NULL, NULL, &err);
    (void)state;
    atoll_knowledge_pack_destroy(pack); /* nothing is borrowed from it */
    assert_string_equal(err.text, "");
    assert_non_null(base);
    assert_int_equal(base->count, 7);
    assert_string_equal(atoll_knowledge_device_find(&base->index, "npu")->what, "a chip");
    const struct atoll_knowledge_entry *e = atoll_knowledge_base_find(base, "c-alias");
    assert_non_null(e);
    assert_int_equal(e->kind, ATOLL_KNOWLEDGE_CONSTRAINT);
    assert_int_equal(e->line, 3);
    assert_string_equal(e->path, "constraints/a.yaml");
    assert_string_equal(e->what, "One rule, and why.");
    assert_string_equal(e->wrong, "int a;\n");
    assert_string_equal(e->message, "expected ';'");
    assert_int_equal(e->fails, ATOLL_KNOWLEDGE_FAILS_COMPILE);
    assert_null(e->devices);
    assert_true(atoll_knowledge_has(e->devices, "hopper"));
    assert_true(atoll_knowledge_has(e->languages, "c"));
    assert_false(atoll_knowledge_has(e->languages, "cuda"));
    e = atoll_knowledge_base_find(base, "cuda-split");
    assert_non_null(e);
    assert_int_equal(e->stage, ATOLL_ISSUE_STAGE_MEMORY);
    assert_string_equal(e->families[1], "softmax");
    assert_string_equal(e->cells[0], "memory 0");
    assert_true(e->expected[0] == 1.1 && e->expected[1] == 2.0);
    e = atoll_knowledge_base_find(base, "h-gemm");
    assert_non_null(e);
    assert_string_equal(e->kernel, "int kernel;\n");
    assert_string_equal(e->kernel_path, "examples/hopper/gemm/kernel.cu");
    assert_string_equal(e->devices[0], "hopper");
    assert_string_equal(e->learn[1], "another thing");
    assert_int_equal(e->measured_count, 2);
    assert_string_equal(e->measured[0].dims.names[1], "N");
    assert_int_equal(e->measured[0].dims.values[0], 4096);
    assert_string_equal(e->measured[0].choice.names[0], "BM");
    assert_int_equal(e->held_out_count, 1);
    assert_int_equal(e->held_out[0].values[1], 128);
    assert_true(atoll_knowledge_is_proven(e));
    struct atoll_knowledge_measurement rows[2] = {e->measured[0], e->measured[1]};
    struct atoll_knowledge_entry slower = *e;
    slower.measured = rows;
    rows[1].rival_us = 8.4;
    assert_false(atoll_knowledge_is_proven(&slower));
    slower.measured_count = 1;
    assert_false(atoll_knowledge_is_proven(&slower)); /* nothing was held out */
    e = atoll_knowledge_base_find(base, "hardware/x86/avx512/zmm#fields-of-a-descriptor");
    assert_non_null(e);
    assert_string_equal(e->what, "Warp groups: Fields, of a descriptor");
    assert_string_equal(e->text, "Some text.");
    assert_string_equal(e->source, "a manual,");
    assert_string_equal(e->devices[0], "cpu");
    assert_string_equal(e->features[0], "avx512");
    assert_int_equal(e->line, 8);
    assert_string_equal(e->families[0], "gemm");
    assert_null(e->families[1]);
    assert_null(atoll_knowledge_base_find(base, "hardware/x86/avx512/zmm#other"));
    atoll_knowledge_base_destroy(base);
}

static const struct {
    const char *path, *text, *message;
} broken[] = {
    {"constraints/a.yaml", CONSTRAINT_HEAD CONSTRAINT CONSTRAINT,
     "constraints/a.yaml:17: id 'c-alias' is that of constraints/a.yaml:3 as well; rename one"},
    {"constraints/a.yaml", "version: 2\nconstraints: []\n", "constraints/a.yaml:1: "},
    {"constraints/a.yaml", CONSTRAINT_HEAD "  - {id: C-ALIAS}\n",
     "constraints/a.yaml:3: an id is 3 to 64 of a-z, 0-9 and -; 'C-ALIAS' is none"},
    {"constraints/a.yaml", CONSTRAINT_HEAD "  - {id: abc, severity: fatal}\n", "constraints/a.yaml:3: "},
    {"constraints/a.yaml", CONSTRAINT_HEAD "  - {id: abc, severity: info, language: fortran}\n",
     "constraints/a.yaml:3: 'fortran' is no language; there are c cuda triton opencl"},
    {"constraints/a.yaml", CONSTRAINT_HEAD "  - {id: abc, severity: info, language: c, devices: [hoper]}\n",
     "'hoper' is no device of index.yaml; did you mean 'hopper'?"},
    {"constraints/a.yaml",
     CONSTRAINT_HEAD "  - {id: abc, severity: info, language: c, devices: cpu, families: [gem]}\n",
     "'gem' is no family of index.yaml; did you mean 'gemm'?"},
    {"constraints/a.yaml",
     CONSTRAINT_HEAD "  - {id: abc, severity: info, language: c, devices: cpu, features: [avx]}\n",
     "'avx' is no feature of index.yaml; "},
    {"constraints/a.yaml",
     CONSTRAINT_HEAD "  - {id: abc, severity: info, language: c, devices: cpu, errors: [races]}\n",
     "'races' is no class of errors; did you mean 'race'?"},
    {"constraints/a.yaml",
     CONSTRAINT_HEAD
     "  - {id: abc, severity: warning, language: c, devices: cpu, what: a, source: b, wrong: x}\n",
     "constraint 'abc' needs wrong, right, fails and message"},
    {"constraints/a.yaml",
     CONSTRAINT_HEAD "  - {id: abc, severity: warning, language: c, devices: cpu, what: a, source: b, wrong: "
                     "x, right: y, fails: result, message: racy}\n",
     "its message is a class of errors, which 'racy' is not"},
    {"constraints/a.yaml",
     CONSTRAINT_HEAD "  - {id: abc, severity: warning, language: c, devices: cpu, what: a, source: b, wrong: "
                     "x, right: x, fails: result, message: race}\n",
     "wrong and right of constraint 'abc' are the same"},
    {"constraints/a.yaml",
     CONSTRAINT_HEAD
     "  - {id: abc, severity: info, language: c, devices: cpu, what: a, source: b, tells: c}\n",
     "unknown key 'tells'"},
    {"constraints/a.yaml",
     CONSTRAINT_HEAD
     "  - {id: abc, severity: info, language: c, devices: cpu, what: \"\xc3\xa9\", source: b}\n",
     "that is not plain ASCII; replace it"},
    {"constraints/a.yaml",
     CONSTRAINT_HEAD "  - {id: abc, severity: info, language: c, devices: cpu, what: a}\n", "source"},
    {"patterns/a.yaml", PATTERN_HEAD "  - {id: abc, stage: memmory}\n", "did you mean 'memory'?"},
    {"patterns/a.yaml",
     PATTERN_HEAD "  - {id: abc, stage: memory, language: cuda, devices: hopper, limiters: [drams]}\n",
     "'drams' is no limiter; did you mean 'dram'?"},
    {"patterns/a.yaml",
     PATTERN_HEAD "  - {id: abc, stage: memory, language: cuda, devices: hopper, stalls: [unknown]}\n",
     "'unknown' is no stall; "},
    {"patterns/a.yaml",
     PATTERN_HEAD "  - {id: abc, stage: memory, language: cuda, devices: hopper, unused: [wgmmas]}\n",
     "did you mean 'wgmma'?"},
    {"patterns/a.yaml",
     PATTERN_HEAD "  - {id: abc, stage: memory, language: cuda, devices: hopper, cells: [memory 4]}\n",
     "'memory 4' is no dimension of behaviour and its level; "},
    {"patterns/a.yaml",
     PATTERN_HEAD
     "  - {id: abc, stage: memory, language: cuda, devices: hopper, what: a, before: a, after: b, "
     "why: c, expected: [2, 1]}\n",
     "two factors are expected here"},
    {"patterns/a.yaml", PATTERN_HEAD "  - [1]\n", "patterns/a.yaml:3: "},
    {"examples/hopper/gemm/example.yaml", EXAMPLE, "there is no file 'kernel.cu' beside this one"},
    {"examples/hopper/example.yaml", EXAMPLE, "lies in examples/DEVICE/NAME/example.yaml; move it there"},
    {"examples/hopper/a/b/example.yaml", EXAMPLE, "lies in examples/DEVICE/NAME/example.yaml; move it there"},
    {"hardware/nvidia/volta/a.md", PASSAGES,
     "hardware/nvidia/volta/a.md:1: folder 'volta' is called like no device and no feature of index.yaml"},
    {"hardware/a.md", PASSAGES, "lies in hardware/VENDOR/FAMILY/NAME.md; move it there"},
    {"hardware/nvidia/hopper/a.md", "Warp groups\n", "hardware/nvidia/hopper/a.md:1: the first line is '# '"},
    {"hardware/nvidia/hopper/a.md", "# Warp groups\n\ntext\n",
     "hardware/nvidia/hopper/a.md:3: a line 'Source: ...' belongs behind the title"},
    {"hardware/nvidia/hopper/a.md", "# Warp groups\nSource: a\n\ntext\n\n## A\nb\n",
     "hardware/nvidia/hopper/a.md:4: text before the first '## ' heading"},
    {"hardware/nvidia/hopper/a.md", "# Warp groups\nSource: a\n", "a text without '## ' headings"},
    {"hardware/nvidia/hopper/a.md", "# Warp groups\nSource: a\n## A\n\n## B\nb\n",
     "hardware/nvidia/hopper/a.md:3: a section without text"},
    {"hardware/nvidia/hopper/a.md", "# Warp groups\nSource: a\n## A b\nc\n## A B\nd\n",
     "hardware/nvidia/hopper/a.md:5: id 'hardware/nvidia/hopper/a#a-b' is that of"},
    {"hardware/nvidia/hopper/a.md", "# Warp groups\nSource: a\n## A\n\xc3\xa9\n",
     "hardware/nvidia/hopper/a.md:4: a character that is not plain ASCII"},
    {"hardware/nvidia/hopper/a.md", "# Warp groups\nSource: a\nFamilies: gemm, gem\n## A\nb\n",
     "hardware/nvidia/hopper/a.md:3: 'gem' is no family of index.yaml"},
    {"hardware/nvidia/hopper/a.md", "# Warp groups\nSource: a\nFamilies: \n## A\nb\n",
     "hardware/nvidia/hopper/a.md:3: '' is no family of index.yaml"},
    {"index-site.yaml", "version: 1\nfamilies: [{name: gemm, words: [a]}]\n",
     "index-site.yaml:2: family 'gemm' stands here twice"},
    {"index.yaml",
     "version: 1\ndevices:\n  - {name: a, vendor: b, what: c, compile: {c: -fplugin=/tmp/x.so}}\n"
     "families: []\n",
     "index.yaml:3: '-fplugin=/tmp/x.so' is no flag that the check gives a compiler"},
    {"index.yaml",
     "version: 1\ndevices: [{name: a, vendor: b, what: c}]\nfeatures: [{name: a, device: a, what: c}]\n"
     "families: []\n",
     "index.yaml:3: 'a' stands here twice"},
    {"index.yaml", "version: 1\ndevices: []\nfeatures: [{name: b, device: a, what: c}]\nfamilies: []\n",
     "feature 'b' is of device 'a', which is not among the devices above"},
    {"index.yaml", "version: 1\ndevices: []\nfamilies: [{name: gemm}]\n",
     "index.yaml:3: family 'gemm' has neither categories nor words"},
};

static void count_problem(void *context, const struct atoll_err *problem)
{
    assert_int_equal(problem->code, ATOLL_E_INPUT);
    ++*(unsigned *)context;
}

static void test_says_what_is_wrong(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(broken) / sizeof(*broken); i++) {
        const struct file files[] = {{"index.yaml", index_text}, {broken[i].path, broken[i].text}};
        struct atoll_err err = ATOLL_ERR_INIT;
        unsigned problems = 0;
        struct atoll_knowledge_pack *pack = pack_of(files, 2);
        struct atoll_knowledge_base *base = atoll_knowledge_base_parse(pack, NULL, NULL, &err);
        if (base || err.code != ATOLL_E_INPUT || !strstr(err.text, broken[i].message))
            fail_msg("row %zu: '%s' instead of '%s'", i, err.text, broken[i].message);
        base = atoll_knowledge_base_parse(pack, count_problem, &problems, &err);
        assert_non_null(base); /* what is wrong is left out */
        assert_true(problems > 0);
        atoll_knowledge_base_destroy(base);
        atoll_knowledge_pack_destroy(pack);
    }
}

/* What is wrong does not hide what stands behind it. */
static void test_goes_on_behind_a_problem(void **state)
{
    static const struct file files[] = {
        {"index.yaml", index_text},
        {"constraints/a.yaml", CONSTRAINT_HEAD "  - {id: abc, severity: fatal}\n  - {id: X}\n" CONSTRAINT}};
    struct atoll_knowledge_pack *pack = pack_of(files, 2);
    unsigned problems = 0;
    struct atoll_knowledge_base *base = atoll_knowledge_base_parse(pack, count_problem, &problems, NULL);
    (void)state;
    assert_non_null(base);
    assert_int_equal(problems, 2);
    assert_int_equal(base->count, 1);
    atoll_knowledge_base_destroy(base);
    atoll_knowledge_pack_destroy(pack);
}

static void test_an_entry_replaces_another(void **state)
{
    static const char replacing[] = CONSTRAINT_HEAD
        "  - {id: c-alias, replaces: true, severity: info, language: c, devices: cpu, what: the "
        "site's own, source: b}\n";
    static const char *const names[][2] = {{"constraints/a.yaml", "constraints/b.yaml"},
                                           {"constraints/b.yaml", "constraints/a.yaml"}};
    (void)state;
    for (size_t i = 0; i < 2; i++) { /* in whatever order they come */
        const struct file files[] = {
            {"index.yaml", index_text}, {names[i][0], CONSTRAINT_HEAD CONSTRAINT}, {names[i][1], replacing}};
        struct atoll_knowledge_pack *pack = pack_of(files, 3);
        struct atoll_knowledge_base *base = atoll_knowledge_base_parse(pack, NULL, NULL, NULL);
        assert_non_null(base);
        assert_int_equal(base->count, 1);
        assert_string_equal(atoll_knowledge_base_find(base, "c-alias")->what, "the site's own");
        atoll_knowledge_base_destroy(base);
        atoll_knowledge_pack_destroy(pack);
    }
}

static void test_families_of_a_task(void **state)
{
    static const struct {
        const char *category, *words, *families;
    } rows[] = {
        {"matmul", "", "gemm"},        {"", "gemm_bf16 a product", "gemm"},
        {"", "lora2", "gemm"},         {"", "Softmax of gemm's rows", "gemm softmax"},
        {"", "gemms explorative", ""}, {"attention", "", ""},
    };
    struct atoll_arena *arena = atoll_arena_create((size_t)1 << 20, NULL);
    struct atoll_knowledge_index index = {0};
    (void)state;
    assert_int_equal(atoll_knowledge_index_parse("i", index_text, strlen(index_text), arena, &index, NULL),
                     0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const char *families[ATOLL_KNOWLEDGE_FAMILY_LIMIT];
        char all[64] = "";
        size_t count = atoll_knowledge_families_of(&index, rows[i].category, rows[i].words, families,
                                                   ATOLL_KNOWLEDGE_FAMILY_LIMIT);
        for (size_t k = 0; k < count; k++)
            snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", k ? " " : "", families[k]);
        assert_string_equal(all, rows[i].families);
        assert_int_equal(atoll_knowledge_families_of(&index, rows[i].category, rows[i].words, families, 0),
                         0);
    }
    assert_string_equal(atoll_knowledge_device_find(&index, "hopper")->compile[1], "sm_90a");
    assert_null(atoll_knowledge_device_find(&index, "hopper")->compile[0]);
    atoll_arena_destroy(arena);
}

static void print_problem(void *context, const struct atoll_err *problem)
{
    printf("%s\n", problem->text);
    ++*(unsigned *)context;
}

static void test_what_is_installed_is_whole(void **state)
{
    static const char *const folders[] = {ATOLL_SOURCE_DIR "/knowledge"};
    static const char *const runs_on[] = {"blackwell-rtx", "blackwell", "hopper", "ada", "ampere", "cpu"};
    struct atoll_err err = ATOLL_ERR_INIT;
    unsigned problems = 0;
    struct atoll_knowledge_pack *pack = atoll_knowledge_pack_read(folders, 1, &err);
    assert_string_equal(err.text, "");
    struct atoll_knowledge_base *base = atoll_knowledge_base_parse(pack, print_problem, &problems, &err);
    (void)state;
    assert_non_null(base);
    assert_int_equal(problems, 0);
    for (size_t i = 0; i < sizeof(runs_on) / sizeof(*runs_on); i++)
        assert_non_null(atoll_knowledge_device_find(&base->index, runs_on[i]));
    for (size_t i = 0; i < base->count; i++) { /* compute capability 12 has no tensor memory */
        const struct atoll_knowledge_entry *e = &base->entries[i];
        const char *const code[] = {e->right, e->after, e->kernel};
        for (size_t k = 0; k < 3 && atoll_knowledge_has(e->devices, "blackwell-rtx"); k++)
            if (code[k] && strstr(code[k], "tcgen05"))
                fail_msg("%s is for blackwell-rtx, which has no tcgen05", e->id);
    }
    atoll_knowledge_base_destroy(base);
    atoll_knowledge_pack_destroy(pack);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_all_kinds),          cmocka_unit_test(test_says_what_is_wrong),
        cmocka_unit_test(test_goes_on_behind_a_problem), cmocka_unit_test(test_an_entry_replaces_another),
        cmocka_unit_test(test_families_of_a_task),       cmocka_unit_test(test_what_is_installed_is_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
