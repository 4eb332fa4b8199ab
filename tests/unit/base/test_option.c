#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/option.h"

struct settings {
    int json, progress, form;
    long long islands;
    double share, wall_s;
    const char *output;
    unsigned long long memory_bytes;
    struct atoll_option_list tasks;
};

static const struct atoll_option options[] = {
    {"json", 'j', ATOLL_OPT_FLAG, offsetof(struct settings, json), NULL, "0", 0, 0, NULL, "Print JSON."},
    {"progress", 0, ATOLL_OPT_FLAG, offsetof(struct settings, progress), NULL, "1", 0, 0, NULL,
     "Show progress."},
    {"fitness", 0, ATOLL_OPT_CHOICE, offsetof(struct settings, form), NULL, "log", 0, 0, "log|clipped",
     "Form of fitness."},
    {"islands", 'i', ATOLL_OPT_INT, offsetof(struct settings, islands), "N", "4", 1, 64, NULL,
     "How many islands."},
    {"share", 's', ATOLL_OPT_DOUBLE, offsetof(struct settings, share), "X", "0.25", -1, 1, NULL, "A share."},
    {"wall", 't', ATOLL_OPT_DURATION, offsetof(struct settings, wall_s), "TIME", "1h", 0, 86400, NULL,
     "Wall time."},
    {"output", 'o', ATOLL_OPT_TEXT, offsetof(struct settings, output), "DIR", NULL, 0, 0, NULL,
     ".starts with a dot, has a \\ and is long enough that its words must be broken over several lines of "
     "the help."},
    {NULL, 0, ATOLL_OPT_FLAG, 0, NULL, NULL, 0, 0, NULL, NULL},
};

/* Behind its own: what several commands share. */
static const struct atoll_option shared[] = {
    {"memory", 0, ATOLL_OPT_BYTES, offsetof(struct settings, memory_bytes), "BYTES", "2G", 0, 0, NULL,
     "Memory."},
    {"task", 0, ATOLL_OPT_LIST, offsetof(struct settings, tasks), "NAME", NULL, 0, 0, NULL,
     "Only this task."},
    {NULL, 0, ATOLL_OPT_FLAG, 0, NULL, NULL, 0, 0, NULL, NULL},
};

static const struct atoll_command command = {
    "task check",
    "SUITE",
    "check a task",
    "First paragraph.\n\nSecond paragraph.",
    "atoll task check -j suites/x",
    options,
    shared,
};

/* Splits line at blanks and parses it. */
static int parse(const char *line, struct settings *s, const char **arguments, size_t *count,
                 struct atoll_err *err)
{
    static char copy[512], program[] = "atoll";
    char *argv[96] = {program}, *save = NULL;
    int argc = 1;
    snprintf(copy, sizeof(copy), "%s", line);
    for (char *word = strtok_r(copy, " ", &save); word && argc < 95; word = strtok_r(NULL, " ", &save))
        argv[argc++] = word;
    memset(s, 0x55, sizeof(*s));
    s->output = "kept";
    return atoll_option_parse(&command, argc, argv, s, arguments, 3, count, err);
}

static void test_defaults(void **state)
{
    struct settings s;
    const char *arguments[3];
    size_t count = 9;
    assert_int_equal(parse("", &s, arguments, &count, NULL), 0);
    assert_int_equal(count, 0);
    assert_int_equal(s.json, 0);
    assert_int_equal(s.progress, 1);
    assert_int_equal(s.form, 0);
    assert_int_equal(s.islands, 4);
    expect_close(s.share, 0.25, 0);
    expect_close(s.wall_s, 3600, 0);
    assert_string_equal(s.output, "kept");
    assert_true(s.memory_bytes == 2147483648u);
    assert_int_equal(s.tasks.count, 0);
}

static void test_all_forms(void **state)
{
    struct settings s;
    const char *arguments[3];
    size_t count;
    assert_int_equal(
        parse("one --json --no-progress --fitness=clipped -i8 -s -0.5 --wall 90s --output=a=b --memory 64K "
              "--task x two --task=y -- --json",
              &s, arguments, &count, NULL),
        0);
    assert_int_equal(s.json, 1);
    assert_int_equal(s.progress, 0);
    assert_int_equal(s.form, 1);
    assert_int_equal(s.islands, 8);
    expect_close(s.share, -0.5, 0);
    expect_close(s.wall_s, 90, 0);
    assert_string_equal(s.output, "a=b");
    assert_true(s.memory_bytes == 65536);
    assert_int_equal(s.tasks.count, 2);
    assert_string_equal(s.tasks.items[1], "y");
    assert_int_equal(count, 3);
    assert_string_equal(arguments[0], "one");
    assert_string_equal(arguments[1], "two");
    assert_string_equal(arguments[2], "--json");
    assert_int_equal(parse("-ji 3 -o dir - --json --no-json", &s, arguments, &count, NULL), 0);
    assert_int_equal(s.json, 0);
    assert_int_equal(s.islands, 3);
    assert_string_equal(s.output, "dir");
    assert_string_equal(arguments[0], "-");
    assert_int_equal(parse("-j", &s, arguments, &count, NULL), 0);
    assert_int_equal(s.json, 1);
}

static void test_help_is_asked_for(void **state)
{
    static const char *const lines[] = {"--help", "-h", "x --help", "-jh", "--islands 3 --help --nonsense"};
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        struct settings s;
        const char *arguments[3];
        size_t count;
        assert_int_equal(parse(lines[i], &s, arguments, &count, NULL), 1);
    }
}

static void test_errors(void **state)
{
    static const char *const cases[][2] = {
        {"--jsn", "task check: unknown option --jsn; did you mean --json?"},
        {"--no-jsn", "unknown option --no-jsn"},
        {"--out x", "did you mean --output?"},
        {"--fitnes=log", "did you mean --fitness?"},
        {"--completely-else", "--help lists all"},
        {"-x", "unknown option -x"},
        {"-jx", "unknown option -x"},
        {"--json=1", "--json takes no value"},
        {"--no-islands", "unknown option --no-islands"},
        {"--islands", "--islands: N is expected after it"},
        {"-i", "--islands: N is expected after it"},
        {"--islands x", "--islands x: a whole number is expected"},
        {"--islands 3x", "a whole number"},
        {"--islands=", "a whole number"},
        {"--islands 1.5", "a whole number"},
        {"--islands 99999999999999999999", "a whole number"},
        {"--islands 0", "--islands 0: a value from 1 to 64 is expected"},
        {"--islands 65", "from 1 to 64"},
        {"--share 1.5", "from -1 to 1"},
        {"--share nan", "a number is expected"},
        {"--share inf", "a number is expected"},
        {"--share=", "a number is expected"},
        {"--wall 1x", "--wall: duration '1x'"},
        {"--wall 2d", "from 0 to 86400"},
        {"--memory 1Q", "--memory: size '1Q'"},
        {"--fitness foo", "--fitness foo: one of log|clipped is expected"},
        {"--fitness lo", "one of log|clipped"},
        {"--fitness=", "one of log|clipped"},
        {"a b c d", "task check: 'd' is one argument too many; expected: SUITE"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct settings s;
        const char *arguments[3];
        size_t count = 77;
        struct atoll_err err = ATOLL_ERR_INIT;
        assert_int_equal(parse(cases[i][0], &s, arguments, &count, &err), -1);
        expect_err(&err, ATOLL_E_USAGE, cases[i][1]);
        assert_int_equal(count, 77);
    }
}

static void test_a_list_is_bounded(void **state)
{
    static char program[] = "atoll", option[] = "--task", value[] = "x";
    char *argv[288] = {program};
    struct settings s;
    struct atoll_err err = ATOLL_ERR_INIT;
    size_t count;
    for (int i = 1; i <= 258; i += 2) {
        argv[i] = option;
        argv[i + 1] = value;
    }
    assert_int_equal(atoll_option_parse(&command, 257, argv, &s, NULL, 0, &count, &err), 0);
    assert_int_equal(s.tasks.count, 128);
    assert_int_equal(atoll_option_parse(&command, 259, argv, &s, NULL, 0, &count, &err), -1);
    expect_err(&err, ATOLL_E_USAGE, "more than 128 times");
}

static void test_a_wrong_default_is_told(void **state)
{
    static const struct atoll_option rows[] = {
        {"n", 0, ATOLL_OPT_INT, 0, "N", "x", 0, 0, NULL, "A number."},
        {NULL, 0, ATOLL_OPT_FLAG, 0, NULL, NULL, 0, 0, NULL, NULL},
    };
    static const struct atoll_command wrong = {"wrong", "", "", NULL, NULL, rows, NULL};
    struct atoll_err err = ATOLL_ERR_INIT;
    long long n;
    size_t count;
    assert_int_equal(atoll_option_parse(&wrong, 0, NULL, &n, NULL, 0, &count, &err), -1);
    expect_err(&err, ATOLL_E_USAGE, "a defect of the program");
}

static char *printed(int as_man, size_t *ret_length)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, ret_length);
    if (as_man)
        atoll_option_man(&command, "2026-01-31", out);
    else
        atoll_option_help(&command, out);
    fclose(out);
    return text;
}

/* Every row is in both, with its default, and lines of the help fit a terminal. */
static void test_help_and_man_come_from_the_table(void **state)
{
    size_t length;
    char *help = printed(0, &length), *man = printed(1, &length), text[64];
    const struct atoll_option *o;
    for (size_t i = 0; (o = atoll_option_at(&command, i)) != NULL; i++) {
        snprintf(text, sizeof(text), "--%s%s", o->kind == ATOLL_OPT_FLAG ? "[no-]" : "", o->name);
        assert_non_null(strstr(help, text));
        snprintf(text, sizeof(text), "\\-\\-%s%s", o->kind == ATOLL_OPT_FLAG ? "[no\\-]" : "", o->name);
        assert_non_null(strstr(man, text));
        if (o->fallback && o->kind != ATOLL_OPT_FLAG) {
            snprintf(text, sizeof(text), "Default: %s.", o->fallback);
            assert_non_null(strstr(help, text));
            assert_non_null(strstr(man, text));
        }
    }
    static const char *const in_help[] = {"Usage: atoll task check [OPTION ...] SUITE\n\ncheck a task\n",
                                          "-i, --islands N ",
                                          "--fitness log|clipped",
                                          "On by default.",
                                          "May be given several times.",
                                          "\n\nSecond paragraph.\n",
                                          "Examples:\n  atoll task check -j suites/x\n"};
    for (size_t i = 0; i < sizeof(in_help) / sizeof(*in_help); i++)
        assert_non_null(strstr(help, in_help[i]));
    static const char *const in_man[] = {
        ".TH ATOLL\\-TASK\\-CHECK 1 \"2026-01-31\"", "\natoll\\-task\\-check \\- check a task\n",
        "\n\\&.starts with a dot, has a \\e and", "\n.PP\nSecond paragraph.\n"};
    for (size_t i = 0; i < sizeof(in_man) / sizeof(*in_man); i++)
        assert_non_null(strstr(man, in_man[i]));
    for (const char *line = help; *line; line += strcspn(line, "\n") + 1)
        assert_true(strcspn(line, "\n") <= 80);
    free(help);
    free(man);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_all_forms),
        cmocka_unit_test(test_help_is_asked_for),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_a_list_is_bounded),
        cmocka_unit_test(test_a_wrong_default_is_told),
        cmocka_unit_test(test_help_and_man_come_from_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
