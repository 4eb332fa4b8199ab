/* Calls of models on rank 0: what is looked up, what goes to evaluators and comes back, and what never leaves knowledge/. */
#include "tests/support/operator.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "core/knowledge/pack.h"
#include "mpi-eval/tool/tools.h"

#define SECOND 1e9

static const struct sim_seed seeds[] = {
    {"naive", NULL, NULL},
    {"tiled", "\"A\": [1, 2, 3, 4, 5, 6], \"B\": [1, 2, 3, 4]", NULL},
};

struct stand {
    struct sim *sim;
    struct atoll_knowledge_pack *pack;
    struct atoll_tools *tools;
    struct atoll_tool_scene scene;
    char folder[64];
};

static void put(const char *folder, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static const char *path_of(const struct stand *s, const char *name)
{
    static char path[256];
    snprintf(path, sizeof(path), "%s/%s", s->folder, name);
    return path;
}

/* Entries of two languages, and an example that is proven beside one that is not. */
static void put_entries(const char *folder)
{
    static const char *const folders[] = {"constraints", "examples", "examples/cpu", "examples/cpu/good",
                                          "examples/cpu/bad"};
    char path[256];
    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
        snprintf(path, sizeof(path), "%s/base/%s", folder, folders[i]);
        assert_int_equal(mkdir(path, 0755), 0);
    }
    put(folder, "base/index.yaml",
        "version: 1\ndevices:\n  - {name: cpu, vendor: x86, what: a processor}\n  - {name: hopper, "
        "vendor: nvidia, what: a GPU}\nfamilies:\n  - {name: gemm, "
        "what: "
        "products, words: [gemm]}\n");
    put(folder, "base/constraints/all.yaml",
        "version: 1\nconstraints:\n"
        "  - {id: cuda-zebra, severity: warning, language: cuda, devices: cpu, what: a zebra of cuda, wrong: "
        "a, right: b,\n"
        "     fails: compile, message: m, source: s}\n"
        "  - {id: c-zebra, severity: warning, language: c, devices: cpu, what: a zebra of c, wrong: a, "
        "right: b,\n"
        "     fails: compile, message: m, source: s}\n"
        "  - {id: any-zebra, severity: warning, language: \"*\", devices: \"*\", what: a zebra of all, "
        "wrong: a, right: b,\n"
        "     fails: compile, message: m, source: s}\n"
        "  - {id: hopper-gnu, severity: warning, language: \"*\", devices: hopper, what: a gnu, wrong: a, "
        "right: b,\n"
        "     fails: compile, message: m, source: s}\n"
        "  - {id: any-gnu, severity: warning, language: \"*\", devices: \"*\", what: a gnu, wrong: a, right: "
        "b,\n"
        "     fails: compile, message: m, source: s}\n");
    put(folder, "base/examples/cpu/good/example.yaml",
        "version: 1\nid: good-example\nwhat: giraffe\nlanguage: c\nfamily: [gemm]\ntask: t\nkernel: "
        "kernel.c\nmeasured:\n"
        "  - {variant: b, dims: {M: 1}, device: d, time_us: 1, rival: r, rival_us: 1, date: 2026-11-23}\n"
        "  - {variant: h, dims: {M: 2}, device: d, time_us: 1, rival: r, rival_us: 1, date: 2026-11-23, "
        "held_out: "
        "yes}\nlearn: [x]\nsource: s\n");
    put(folder, "base/hints.yaml",
        "version: 1\nhints:\n"
        "  - {name: of-c, trigger: limiter dram, language: c, context: long rows, advice: \"Let the okapi "
        "graze.\"}\n"
        "  - {name: of-cuda, trigger: limiter dram, language: cuda, advice: \"An okapi of warps.\"}\n"
        "  - {name: of-gpus, trigger: limiter dram, device: hopper, advice: \"An okapi of Hopper.\"}\n"
        "  - {name: of-all, trigger: error race, advice: \"An okapi goes first.\"}\n");
    put(folder, "base/examples/cpu/good/kernel.c", "void giraffe(void);\n");
    put(folder, "base/examples/cpu/bad/example.yaml",
        "version: 1\nid: bad-example\nwhat: giraffe\nlanguage: c\nfamily: [gemm]\ntask: t\nkernel: kernel.c\n"
        "measured: []\nlearn: [x]\nsource: s\n");
    put(folder, "base/examples/cpu/bad/kernel.c", "void giraffe_unproven(void);\n");
}

static int set_up(void **state)
{
    static struct stand s;
    struct atoll_search search;
    struct atoll_buffer task;
    struct atoll_err err = ATOLL_ERR_INIT;
    s = (struct stand){.sim = malloc(sizeof(*s.sim)), .folder = "/tmp/atoll-test-tools-XXXXXX"};
    assert_non_null(mkdtemp(s.folder));
    assert_int_equal(mkdir(path_of(&s, "base"), 0755), 0);
    assert_int_equal(mkdir(path_of(&s, "base/hopper"), 0755), 0);
    assert_int_equal(mkdir(path_of(&s, "base/.git"), 0755), 0);
    assert_int_equal(mkdir(path_of(&s, "base/prompts"), 0755), 0);
    put(s.folder, "secret.txt", "the secret of the house\n");
    put(s.folder, "base/README.md", "What is here: banks.md, hopper/wgmma.md and others\n");
    put(s.folder, "base/.hidden", "warp warp warp\n");
    put(s.folder, "base/prompts/role.md", "warp warp warp hidden\n");
    put(s.folder, "base/.git/config", "warp warp warp\n");
    put(s.folder, "base/hopper/wgmma.md", "# wgmma\none\ntwo\nwgmma.fence orders registers\nfour\n");
    put(s.folder, "base/banks.md", "Shared memory has 32 banks.\nA warp reads them.\n");
    put_entries(s.folder);
    assert_int_equal(symlink("../secret.txt", path_of(&s, "base/link.md")), 0);
    assert_int_equal(symlink("..", path_of(&s, "base/up")), 0);
    const char *folder = path_of(&s, "base");
    s.pack = atoll_knowledge_pack_read(&folder, 1, &err);
    s.tools = s.pack ? atoll_tools_create(s.pack, NULL, 10 * SECOND, &err) : NULL;
    if (!s.tools)
        fail_msg("%s", err.text);
    atoll_buffer_init(&task, 1u << 24);
    sim_task("copy", seeds, 2, 1, &task);
    atoll_search_defaults(&search);
    search.evaluation_budget = 100;
    sim_start(s.sim, 7, &search);
    sim_add_task(s.sim, 0, &task);
    sim_capacity(s.sim, 4);
    for (int i = 0; i < 30; i++)
        sim_answer(s.sim);
    atoll_buffer_fini(&task);
    s.scene = (struct atoll_tool_scene){s.sim->engine, 0, 0, "c", "cpu", NULL};
    *state = &s;
    return 0;
}

static int tear_down(void **state)
{
    struct stand *s = *state;
    char command[128];
    atoll_tools_destroy(s->tools);
    atoll_knowledge_pack_destroy(s->pack);
    sim_fini(s->sim);
    free(s->sim);
    snprintf(command, sizeof(command), "rm -r %s", s->folder);
    return system(command);
}

static uint64_t start(struct stand *s, const char *name, const char *arguments, double now_ns)
{
    uint64_t call = 0;
    struct atoll_err err = ATOLL_ERR_INIT;
    if (atoll_tools_start(s->tools, &s->scene, name, arguments, now_ns, &call, &err) != 0)
        fail_msg("%s", err.text);
    assert_true(call > 0);
    return call;
}

static void test_what_is_looked_up(void **state)
{
    static const struct {
        const char *name, *arguments;
        enum atoll_tool_status status;
        const char *says, *says_not; /* NULL nothing */
    } rows[] = {
        {"search_knowledge", "{\"words\":\"fence of registers\"}", ATOLL_TOOL_OK,
         "1. hopper/wgmma.md (1 line fits)\n     3: two\n     4: wgmma.fence orders registers\n     5: "
         "four\n",
         "banks.md"},
        {"search_knowledge", "{\"words\":\"warp\"}", ATOLL_TOOL_OK, "1. banks.md", "hidden"},
        {"search_knowledge", "{\"pattern\":\"^a warp|secret\"}", ATOLL_TOOL_OK, "     2: A warp reads them.",
         "secret"},
        {"search_knowledge", "{\"words\":\"nobody owns that\"}", ATOLL_TOOL_OK,
         "nothing fits; 15 texts of knowledge were looked through", NULL},
        {"search_knowledge", "{\"words\":\"memory\",\"pattern\":\"registers\"}", ATOLL_TOOL_OK,
         "nothing fits", NULL},
        {"search_knowledge", "{\"words\":\"hopper\"}", ATOLL_TOOL_OK, "1. hopper/wgmma.md (0 lines fit)\n",
         "Shared memory"},
        {"search_knowledge", "{\"pattern\":\"banks.md$\"}", ATOLL_TOOL_OK, "1. banks.md (0 lines fit)\n",
         "hopper"},
        {"search_knowledge", "{\"words\":\"zebra\"}", ATOLL_TOOL_OK, "2. c-zebra (1 line fits)\n",
         "cuda-zebra"},
        {"search_knowledge", "{\"words\":\"zebra\"}", ATOLL_TOOL_OK, "1. any-zebra (1 line fits)\n",
         "all.yaml"},
        {"search_knowledge", "{\"words\":\"giraffe\"}", ATOLL_TOOL_OK, "examples/cpu/good/kernel.c", "bad"},
        {"search_knowledge", "{\"words\":\"gnu\"}", ATOLL_TOOL_OK, "any-gnu", "hopper-gnu"},
        {"search_knowledge", "{\"words\":\"okapi\"}", ATOLL_TOOL_OK, "hints/of-c (1 line fits)\n", "of-cuda"},
        {"search_knowledge", "{\"words\":\"okapi\"}", ATOLL_TOOL_OK, "hints/of-all (1 line fits)\n",
         "of-gpus"},
        {"search_knowledge", "{\"words\":\"okapi\"}", ATOLL_TOOL_OK, "Let the okapi graze.", "hints.yaml"},
        {"read_file", "{\"name\":\"hints/of-c\"}", ATOLL_TOOL_OK,
         "When: limiter dram\nlong rows\nLet the okapi graze.\n", "warps"},
        {"read_file", "{\"name\":\"cuda-zebra\"}", ATOLL_TOOL_OK, "a zebra of cuda", "c-zebra"},
        {"read_file", "{\"name\":\"constraints/all.yaml\"}", ATOLL_TOOL_OK, "any-zebra", NULL},
        {"read_file", "{\"name\":\"examples/cpu/good/kernel.c\"}", ATOLL_TOOL_OK, "void giraffe(void)", NULL},
        {"read_file", "{\"name\":\"examples/cpu/bad/kernel.c\"}", ATOLL_TOOL_ERROR, "there is no text",
         "unproven"},
        {"read_file", "{\"name\":\"prompts/role.md\"}", ATOLL_TOOL_ERROR, "there is no text", "hidden"},
        {"search_knowledge", "{\"pattern\":\"(\"}", ATOLL_TOOL_ERROR, "the pattern is wrong", NULL},
        {"search_archive", "{\"pattern\":\"atoll-plan\"}", ATOLL_TOOL_OK, "1. task copy: candidate ", "null"},
        {"search_archive", "{\"words\":\"atoll plan\"}", ATOLL_TOOL_OK, "x the baseline's speed (c, by seed)",
         NULL},
        {"search_archive", "{\"words\":\"zzzz\"}", ATOLL_TOOL_OK,
         "kernels of this campaign were looked through", NULL},
        {"read_file", "{\"name\":\"README.md\"}", ATOLL_TOOL_OK,
         "\n[it names these texts: banks.md, hopper/wgmma.md]\n", "house"},
        {"read_file", "{\"name\":\"banks.md\"}", ATOLL_TOOL_OK, "Shared memory has 32 banks.\nA warp", NULL},
        {"read_file", "{\"name\":\"hopper/wgmma.md\",\"line\":4}", ATOLL_TOOL_OK, "wgmma.fence orders",
         "two"},
        {"read_file", "{\"name\":\"banks.md\",\"line\":3}", ATOLL_TOOL_ERROR, "fewer than 3 lines", NULL},
        {"read_file", "{\"name\":\"bank.md\"}", ATOLL_TOOL_ERROR, "did you mean 'banks.md'?", NULL},
        {"read_file", "{\"name\":\"../secret.txt\"}", ATOLL_TOOL_ERROR, "there is no text", "house"},
        {"read_file", "{\"name\":\"hopper/../../secret.txt\"}", ATOLL_TOOL_ERROR, "there is no text",
         "house"},
        {"read_file", "{\"name\":\"hopper/../banks.md\"}", ATOLL_TOOL_ERROR, "there is no text", "32"},
        {"read_file", "{\"name\":\"/etc/passwd\"}", ATOLL_TOOL_ERROR, "there is no text", "root"},
        {"read_file", "{\"name\":\"link.md\"}", ATOLL_TOOL_ERROR, "there is no text", "house"},
        {"read_file", "{\"name\":\"up/secret.txt\"}", ATOLL_TOOL_ERROR, "there is no text", "house"},
        {"read_file", "{\"name\":\".hidden\"}", ATOLL_TOOL_ERROR, "there is no text", "warp"},
        {"read_file", "{\"name\":\".git/config\"}", ATOLL_TOOL_ERROR, "there is no text", "warp"},
        {"read_file", "{}", ATOLL_TOOL_ERROR, "\"name\" is missing", NULL},
        {"write_file", "{}", ATOLL_TOOL_ERROR,
         "there is no tool 'write_file'; these are there: compile, check, search_knowledge, search_archive, "
         "read_file",
         NULL},
        {"compile", "not JSON", ATOLL_TOOL_ERROR, "the arguments are no JSON", NULL},
        {"", "", ATOLL_TOOL_ERROR, "there is no tool ''", NULL},
    };
    struct stand *s = *state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_tool_result result;
        uint64_t call = start(s, rows[i].name, rows[i].arguments, 0);
        assert_int_equal(atoll_tools_open_count(s->tools), 0);
        assert_int_equal(atoll_tools_next(s->tools, SECOND, &result), 1);
        if (result.call != call || result.status != rows[i].status || !strstr(result.text, rows[i].says) ||
            (rows[i].says_not && strstr(result.text, rows[i].says_not)))
            fail_msg("%s %s: %s: %s", rows[i].name, rows[i].arguments, atoll_tool_status_name(result.status),
                     result.text);
        expect_close(result.elapsed_s, 1, 1e-9);
        assert_int_equal(atoll_tools_next(s->tools, 0, &result), 0);
    }
}

static int take(struct stand *s, unsigned peer, uint64_t call, const char *text)
{
    const struct atoll_tool_answer answer = {call, ATOLL_TOOL_OK, text};
    struct atoll_buffer bytes;
    atoll_buffer_init(&bytes, 1u << 16);
    atoll_tool_answer_encode(&answer, &bytes);
    int rc = atoll_tools_take(s->tools, peer, bytes.data, bytes.length, NULL);
    atoll_buffer_fini(&bytes);
    return rc;
}

/* To one evaluator of the model, and only what that one says of it counts. */
static void test_orders(void **state)
{
    struct stand *s = *state;
    struct atoll_tool_result result;
    uint64_t first = start(s, "compile", "{\"source\":\"int x;\",\"pattern\":\"LDS\"}", 0);
    uint64_t second = start(s, "check", "{\"source\":\"int y;\"}", 0);
    assert_int_equal(atoll_tools_open_count(s->tools), 2);
    assert_null(atoll_tools_next_order(s->tools, 3, 1)); /* of another device model */
    const struct atoll_tool_order *order = atoll_tools_next_order(s->tools, 3, 0);
    assert_int_equal(order->call, first);
    assert_int_equal(order->tool, ATOLL_TOOL_COMPILE);
    assert_string_equal(order->source, "int x;");
    assert_string_equal(order->pattern, "LDS");
    assert_string_equal(order->language, "c");
    assert_int_equal(take(s, 3, second, "not sent yet"), 0);
    order = atoll_tools_next_order(s->tools, 4, 0);
    assert_int_equal(order->call, second);
    assert_int_equal(order->tool, ATOLL_TOOL_CHECK);
    assert_null(atoll_tools_next_order(s->tools, 3, 0));
    assert_int_equal(take(s, 3, second, "of another's"), 0);
    assert_int_equal(take(s, 3, 99, "of none"), 0);
    assert_int_equal(atoll_tools_take(s->tools, 3, "garbage", 7, NULL), -1);
    assert_int_equal(atoll_tools_next(s->tools, 0, &result), 0);
    assert_int_equal(take(s, 4, second, "it is right"), 0);
    assert_int_equal(take(s, 4, second, "no, it is not"), 0);
    assert_int_equal(atoll_tools_next(s->tools, SECOND, &result), 1);
    assert_int_equal(result.call, second);
    assert_int_equal(result.status, ATOLL_TOOL_OK);
    assert_string_equal(result.text, "it is right");
    atoll_tools_lose(s->tools, 4);
    assert_int_equal(atoll_tools_next(s->tools, SECOND, &result), 0);
    atoll_tools_lose(s->tools, 3);
    assert_int_equal(atoll_tools_next(s->tools, SECOND, &result), 1);
    assert_int_equal(result.call, first);
    assert_int_equal(result.status, ATOLL_TOOL_ERROR);
    assert_non_null(strstr(result.text, "was lost"));
    assert_int_equal(atoll_tools_open_count(s->tools), 0);
}

static void test_deadline_and_cancel(void **state)
{
    struct stand *s = *state;
    struct atoll_tool_result result;
    uint64_t waits = start(s, "check", "{\"source\":\"int y;\"}", 0), sent, cancelled;
    cancelled = start(s, "check", "{\"source\":\"int z;\"}", 0);
    atoll_tools_cancel(s->tools, cancelled);
    atoll_tools_cancel(s->tools, cancelled);
    sent = start(s, "check", "{\"source\":\"int z;\"}", SECOND);
    atoll_tools_next_order(s->tools, 0, 0);
    assert_int_equal(atoll_tools_next_order(s->tools, 0, 0)->call, sent);
    assert_int_equal(atoll_tools_next(s->tools, 10 * SECOND, &result), 0);
    assert_int_equal(atoll_tools_next(s->tools, 10.5 * SECOND, &result), 1);
    assert_int_equal(result.call, waits);
    assert_int_equal(result.status, ATOLL_TOOL_ERROR);
    assert_non_null(strstr(result.text, "no result came within 10 s"));
    assert_int_equal(atoll_tools_next(s->tools, 10.5 * SECOND, &result), 0);
    atoll_tools_cancel(s->tools, sent);
    assert_int_equal(take(s, 0, sent, "nobody waits"), 0);
    assert_int_equal(atoll_tools_next(s->tools, 100 * SECOND, &result), 0);
}

/* One evaluator has so many in hand, and all together are bounded. */
static void test_bounds(void **state)
{
    struct stand *s = *state;
    struct atoll_tool_result result;
    int sent = 0, refused = 0, lost = 0;
    for (int i = 0; i < ATOLL_TOOLS_CALL_LIMIT + 5; i++)
        start(s, "compile", "{\"source\":\"int y;\"}", 0);
    assert_int_equal(atoll_tools_open_count(s->tools), ATOLL_TOOLS_CALL_LIMIT);
    while (atoll_tools_next_order(s->tools, 0, 0))
        sent++;
    assert_int_equal(sent, ATOLL_TOOLS_PEER_LIMIT);
    atoll_tools_lose(s->tools, 0);
    while (atoll_tools_next(s->tools, 0, &result) == 1) {
        refused += strstr(result.text, "too many calls") != NULL;
        lost += strstr(result.text, "was lost") != NULL;
    }
    assert_int_equal(refused, 5);
    assert_int_equal(lost, ATOLL_TOOLS_PEER_LIMIT);
    while (atoll_tools_next(s->tools, 100 * SECOND, &result) == 1)
        assert_non_null(strstr(result.text, "no device was free within 10 s"));
    assert_int_equal(atoll_tools_open_count(s->tools), 0);
}

static void test_without_knowledge(void **state)
{
    struct stand *s = *state;
    struct atoll_tool_result result;
    struct atoll_tools *known = s->tools;
    struct atoll_knowledge_pack *empty = atoll_knowledge_pack_create(NULL);
    s->tools = atoll_tools_create(empty, NULL, 0, NULL);
    start(s, "search_knowledge", "{\"words\":\"warp\"}", 0);
    assert_int_equal(atoll_tools_next(s->tools, 0, &result), 1);
    assert_string_equal(result.text, "nothing fits; 0 texts of knowledge were looked through\n");
    atoll_tools_destroy(s->tools);
    atoll_knowledge_pack_destroy(empty);
    s->tools = known;
    atoll_tools_destroy(NULL);
}

/* Of a family that is left out no example is found, and none is read. */
static void test_left_out(void **state)
{
    struct stand *s = *state;
    struct atoll_tool_result result;
    struct atoll_tools *known = s->tools;
    s->tools = atoll_tools_create(s->pack, "attention,gemm", 0, NULL);
    start(s, "search_knowledge", "{\"words\":\"giraffe\"}", 0);
    assert_int_equal(atoll_tools_next(s->tools, 0, &result), 1);
    assert_non_null(strstr(result.text, "nothing fits"));
    start(s, "read_file", "{\"name\":\"examples/cpu/good/example.yaml\"}", 0);
    assert_int_equal(atoll_tools_next(s->tools, 0, &result), 1);
    assert_int_equal(result.status, ATOLL_TOOL_ERROR);
    atoll_tools_destroy(s->tools);
    s->tools = known;
}

int main(void)
{
    atoll_log_setup(-1, ATOLL_LOG_ERROR, "");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_is_looked_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_orders, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_deadline_and_cancel, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bounds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_without_knowledge, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_left_out, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
