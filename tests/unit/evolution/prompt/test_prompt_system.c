/* The system text: rules, examples, languages and folders of one's own. */
#include "tests/unit/evolution/prompt/prompt_scene.h"

static void expect_every_combination_fits(const struct atoll_task *task, const struct atoll_plan *plan)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_choice choice;
    uint64_t count = combination_count(plan), legal = 0;
    atoll_plan_first_choice(plan, &choice);
    assert_int_equal(atoll_plan_choice_legal(task, plan, &choice, &err), 1);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t rest = i;
        for (size_t p = 0; p < plan->param_count; p++) {
            choice.values[p] = plan->params[p].values[rest % plan->params[p].value_count];
            rest /= plan->params[p].value_count;
        }
        if (atoll_plan_choice_legal(task, plan, &choice, &err) != 1)
            continue;
        legal++;
        if (atoll_plan_choice_check(task, plan, &choice, &err))
            fail_msg("%s", err.text);
    }
    assert_true(legal > 1);
}

/* The prompt leaves the list of headers to the rule, whose text it shows. */
static void headers_are_the_rules(void **state)
{
    struct atoll_buffer out;
    atoll_buffer_init(&out, 1 << 20);
    const struct atoll_ask ask = {.kind = ATOLL_ASK_WRITE, .role = ATOLL_ISLAND_ROLE_COUNT};
    const struct atoll_prompt_input input = {.texts = source_texts(), .ask = &ask, .language = "c"};
    assert_int_equal(atoll_prompt_write_system(&input, &out, NULL), 0);
    atoll_buffer_put_u8(&out, 0);
    const char *text = (const char *)out.data, *rule = strstr(text, "- include: only these may be included");
    assert_non_null(rule);
    assert_non_null(strstr(text, "those that the static rule `include` names below"));
    assert_non_null(strstr(rule, "inttypes.h"));
    assert_null(strstr(source_text("c.md"), "stdint.h"));
    atoll_buffer_fini(&out);
}

/* What a plan may say is the parser's: types of tensor maps, and that a launch may be both. */
static void plans_may_say_what_they_are_told(void **state)
{
    static const char source[] = "/* atoll-plan {\"version\": 1, \"launch\": [{\"kernel\": \"f\", \"grid\": "
                                 "[2], \"block\": [32], \"cluster\": [2], "
                                 "\"cooperative\": true, \"args\": []}]} */\n";
    const char *text = source_text("cuda.md"),
               *types = strstr(text, "dtype= (needed for\n  scratch; one of "), *body = NULL;
    struct atoll_task *task = atoll_task_load(EXAMPLE, NULL);
    struct atoll_arena *arena = atoll_arena_create(1u << 22, NULL);
    struct atoll_err err = ATOLL_ERR_INIT;
    assert_non_null(types);
    assert_non_null(task);
    types += strlen("dtype= (needed for\n  scratch; one of ");
    assert_int_equal(strncmp(types, atoll_dtype_names(), strlen(atoll_dtype_names())), 0);
    assert_int_equal(types[strlen(atoll_dtype_names())], ')');
    assert_non_null(strstr(text, "A launch may have `\"cooperative\"` beside it."));
    if (!atoll_plan_parse(arena, task, "cuda", source, &body, &err))
        fail_msg("%s", err.text);
    atoll_arena_destroy(arena);
    atoll_task_destroy(task);
}

static void worked_examples_pass_plan_and_rules(void **state)
{
    static const struct {
        const char *language, *file;
    } rows[] = {{"c", "example/seeds/example.c"},
                {"cuda", "example/seeds/example.cu"},
                {"triton", "example/seeds/example.py"},
                {"opencl", "example/seeds/example.cl"}};
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_task *task = atoll_task_load(EXAMPLE, &err);
    assert_non_null(task);
    assert_string_equal(source_text("example/reference.c"), task->reference_source);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const char *source = source_text(rows[i].file), *body = NULL;
        struct atoll_arena *arena = atoll_arena_create((size_t)1 << 20, NULL);
        assert_non_null(source);
        const struct atoll_plan *plan = atoll_plan_parse(arena, task, rows[i].language, source, &body, &err);
        if (!plan)
            fail_msg("%s: %s", rows[i].file, err.text);
        if (atoll_rules_count(rows[i].language) && atoll_rules_check(rows[i].language, body, 1, &err))
            fail_msg("%s: %s", rows[i].file, err.text);
        if (strcmp(rows[i].language, "opencl") != 0) /* the task has no bench variant for it */
            expect_every_combination_fits(task, plan);
        assert_int_equal(strcmp(seed_of(task, rows[i].language, i < 2 /* behind the naive one */), source),
                         0);
        atoll_arena_destroy(arena);
    }
    atoll_task_destroy(task);
}

/* The instructions that are told of Hopper are those that the static rules let pass. */
static void told_instructions_pass_rules(void **state)
{
    static const char fence[] = "```cuda\n";
    struct atoll_err err = ATOLL_ERR_INIT;
    char source[8192];
    const char *code = strstr(source_text("hopper.md"), fence);
    assert_non_null(code);
    code += strlen(fence);
    snprintf(source, sizeof(source),
             "#include <cuda.h>\nextern \"C\" __global__ void k(const __grid_constant__ CUtensorMap map, "
             "unsigned bar, "
             "unsigned to, unsigned bytes, int x, int y, unsigned parity)\n{\n%.*s}\n",
             (int)(strstr(code, "```") - code), code);
    assert_non_null(strstr(source, "try_wait"));
    if (atoll_rules_check("cuda", source, 1, &err))
        fail_msg("%s", err.text);
}

static void system_texts_are_whole(void **state)
{
    static const char *const languages[] = {"c", "cuda", "triton", "opencl"};
    static const char *const examples[] = {"example/seeds/example.c", "example/seeds/example.cu",
                                           "example/seeds/example.py", "example/seeds/example.cl"};
    static const char *const parts[] = {"Atoll evolves compute kernels",
                                        "# The launch plan",
                                        "# No cheating",
                                        "# Your part: writer",
                                        "# A worked example",
                                        "# The form of an answer",
                                        "<<<<<<< SEARCH"};
    const struct atoll_ask ask = {.kind = ATOLL_ASK_WRITE, .role = ATOLL_ISLAND_MEMORY};
    for (size_t i = 0; i < sizeof(languages) / sizeof(*languages); i++) {
        struct atoll_device_info device;
        struct atoll_buffer out;
        char title[32];
        atoll_buffer_init(&out, 1 << 20);
        fill_device(&device, 1);
        const struct atoll_prompt_input input = {
            .texts = source_texts(), .ask = &ask, .language = languages[i], .device = &device};
        assert_int_equal(atoll_prompt_write_system(&input, &out, NULL), 0);
        atoll_buffer_put_u8(&out, 0);
        const char *text = (const char *)out.data;
        print_message("%s: %zu bytes\n", languages[i], out.length - 1);
        for (size_t k = 0; k < sizeof(parts) / sizeof(*parts); k++)
            assert_non_null(strstr(text, parts[k]));
        snprintf(title, sizeof(title), "# Language %s\n", languages[i]);
        assert_non_null(strstr(text, title));
        assert_non_null(strstr(text, source_text(examples[i])));
        for (unsigned k = 0; k < atoll_rules_count(languages[i]); k++)
            assert_non_null(strstr(text, atoll_rules_why(languages[i], k)));
        assert_int_equal(strstr(text, "## Compute capability 9.0") != NULL, i == 1);
        /* Of a prompt's context 8000 tokens are kept for it (mpi-eval/operator/roles.c), and text with code has three and a half
         * bytes of a token and more. */
        assert_true(out.length < 28000);
        atoll_buffer_fini(&out);
    }
}

/* A pack with the source tree's texts and what a test adds. */
static struct atoll_knowledge_pack *own_texts(const char *index)
{
    struct atoll_knowledge_pack *pack = atoll_knowledge_pack_create(NULL);
    const struct atoll_knowledge_pack *all = source_texts();
    for (uint32_t i = 0; i < all->count; i++)
        if (strncmp(all->files[i].path, "prompts/", 8) == 0 || strcmp(all->files[i].path, "index.yaml") == 0)
            assert_int_equal(atoll_knowledge_pack_put(pack, all->files[i].path, all->files[i].text,
                                                      all->files[i].length, NULL),
                             0);
    assert_int_equal(atoll_knowledge_pack_put(pack, "index-site.yaml", index, strlen(index), NULL), 0);
    assert_int_equal(atoll_knowledge_pack_put(pack, "prompts/zig.md", "# Language zig\n", 15, NULL), 0);
    assert_int_equal(atoll_knowledge_pack_put(pack, "prompts/new.md", "## Of ada\n", 10, NULL), 0);
    return pack;
}

/* A new language, and what is told of a family of devices, are rows and files: nothing is compiled in. */
static void languages_are_files(void **state)
{
    static const struct {
        const char *language;
        unsigned capability; /* 0: no device is known */
        const char *has, *has_not;
    } rows[] = {
        {"zig", 89, "# Language zig\n", "## Of ada"},
        {"zig", 89, "```zig\n# Language zig\n", "# Language c\n"},
        {"cuda", 89, "## Of ada\n", "## Compute capability"},
        {"cuda", 90, "## Compute capability 9.0", "## Of ada"},
        {"cuda", 0, "# Language cuda\n", "## Of ada"},
        {"c", 0, "# Language c\n", "# Language zig"},
    };
    struct atoll_knowledge_pack *pack = own_texts(
        "version: 1\nprompts:\n  - {language: zig, text: prompts/zig.md}\n  - {language: zig, example: "
        "prompts/zig.md}\n  - {language: cuda, text: prompts/new.md, devices: [xe, ada]}\n");
    const struct atoll_ask ask = {.kind = ATOLL_ASK_WRITE, .role = ATOLL_ISLAND_MEMORY};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_device_info device;
        struct atoll_buffer out;
        atoll_buffer_init(&out, 1 << 20);
        fill_device(&device, 1);
        device.limits.compute_capability = rows[i].capability;
        const struct atoll_prompt_input input = {.texts = pack,
                                                 .ask = &ask,
                                                 .language = rows[i].language,
                                                 .device = rows[i].capability ? &device : NULL};
        assert_int_equal(atoll_prompt_write_system(&input, &out, NULL), 0);
        atoll_buffer_put_u8(&out, 0);
        assert_non_null(strstr((const char *)out.data, rows[i].has));
        assert_null(strstr((const char *)out.data, rows[i].has_not));
        atoll_buffer_fini(&out);
    }
    atoll_knowledge_pack_destroy(pack);
}

/* Lists that are wrong, and texts that are not there, are said with their place. */
static void wrong_folders_are_named(void **state)
{
    static const struct {
        const char *index, *part;
    } rows[] = {
        {"version: 1\nprompts:\n  - {language: zig, text: prompts/zag.md}\n",
         "index-site.yaml:3: there is no text 'prompts/zag.md' in the folder of knowledge"},
        {"prompts: [{language: zig}]\n", "index-site.yaml:1: one of text and example is wanted"},
        {"prompts: [{language: zig, text: prompts/zig.md, device: x}]\n", "device"},
        {"prompts: [\n", "index-site.yaml:"},
        {"version: 1\n", "knowledge has no prompts/role.md"},
    };
    const struct atoll_ask ask = {.kind = ATOLL_ASK_WRITE, .role = ATOLL_ISLAND_MEMORY};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_knowledge_pack *all = own_texts(rows[i].index),
                                    *pack = atoll_knowledge_pack_create(NULL);
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_buffer out;
        for (uint32_t k = 0; k < all->count; k++)
            if (strcmp(all->files[k].path, "prompts/role.md") != 0)
                atoll_knowledge_pack_put(pack, all->files[k].path, all->files[k].text, all->files[k].length,
                                         NULL);
        const struct atoll_prompt_input input = {.texts = pack, .ask = &ask, .language = "c"};
        atoll_buffer_init(&out, 1 << 20);
        assert_int_equal(atoll_prompt_write_system(&input, &out, &err), -1);
        expect_err(&err, ATOLL_E_INPUT, rows[i].part);
        atoll_buffer_fini(&out);
        atoll_knowledge_pack_destroy(all);
        atoll_knowledge_pack_destroy(pack);
    }
}

static void texts_are_plain_ascii(void **state)
{
    const struct atoll_knowledge_pack *pack = source_texts();
    for (uint32_t i = 0; i < pack->count; i++)
        for (const char *c = pack->files[i].text; strncmp(pack->files[i].path, "prompts/", 8) == 0 && *c; c++)
            if ((*c < ' ' || *c > '~') && *c != '\n' && *c != '\t')
                fail_msg("%s: a prompt text holds a character that is not plain ASCII", pack->files[i].path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {

        cmocka_unit_test(headers_are_the_rules),        cmocka_unit_test(worked_examples_pass_plan_and_rules),

        cmocka_unit_test(told_instructions_pass_rules), cmocka_unit_test(system_texts_are_whole),
        cmocka_unit_test(languages_are_files),          cmocka_unit_test(wrong_folders_are_named),
        cmocka_unit_test(texts_are_plain_ascii),        cmocka_unit_test(plans_may_say_what_they_are_told),

    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
