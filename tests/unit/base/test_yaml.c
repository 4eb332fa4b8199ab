/* test_yaml.c - trees of settings from hostile files, and the readers of single values. */
#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/yaml.h"

struct thing {
    const char *name;
    int flag;
    double number, share, seconds;
    uint32_t count;
    uint64_t large;
    size_t items;
};

static int read_item(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const char *text;
    (void)target;
    if (atoll_yaml_read_text(walk, node, &text))
        return -1;
    ((struct thing *)walk->owner)->items++;
    return 0;
}

static int read_items(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    return atoll_yaml_list(walk, node, 3, "items", read_item, target);
}

static int refuse(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    return atoll_yaml_fail(walk, node, "not here");
}

#define AT(m) offsetof(struct thing, m)
static const struct atoll_yaml_row rows[] = {
    {"version", ATOLL_YAML_OPTIONAL, atoll_yaml_read_version1, 0},
    {"name", ATOLL_YAML_REQUIRED, atoll_yaml_read_text, AT(name)},
    {"flag", ATOLL_YAML_OPTIONAL, atoll_yaml_read_flag, AT(flag)},
    {"number", ATOLL_YAML_OPTIONAL, atoll_yaml_read_number, AT(number)},
    {"rate", ATOLL_YAML_OPTIONAL, atoll_yaml_read_positive, AT(number)},
    {"share", ATOLL_YAML_OPTIONAL, atoll_yaml_read_share, AT(share)},
    {"seconds", ATOLL_YAML_OPTIONAL, atoll_yaml_read_duration, AT(seconds)},
    {"count", ATOLL_YAML_OPTIONAL, atoll_yaml_read_count, AT(count)},
    {"large", ATOLL_YAML_OPTIONAL, atoll_yaml_read_count64, AT(large)},
    {"items", ATOLL_YAML_OPTIONAL, read_items, 0},
    {"password", ATOLL_YAML_HIDDEN, refuse, 0},
};
static const struct atoll_yaml_section section = {rows, sizeof(rows) / sizeof(*rows)};

static int read_thing_of(const char *text, size_t length, struct thing *ret, char name[64],
                         struct atoll_err *err)
{
    struct atoll_yaml *yaml = atoll_yaml_parse("f.yaml", text, length, err);
    struct atoll_arena *arena = atoll_arena_create(1 << 20, NULL);
    struct atoll_yaml_walk walk = {yaml, arena, ret, err};
    *ret = (struct thing){.name = NULL};
    int rc = yaml ? atoll_yaml_map(&walk, &section, atoll_yaml_root(yaml), ret) : -1;
    if (!rc)
        snprintf(name, 64, "%s", ret->name);
    ret->name = NULL;
    atoll_arena_destroy(arena);
    atoll_yaml_destroy(yaml);
    return rc;
}

static void test_reads(void **state)
{
    struct thing thing;
    char name[64];
    struct atoll_err err = ATOLL_ERR_INIT;
    const char text[] = "# a comment\n"
                        "version: 1\n"
                        "items: [a, b, 'c d']\n"
                        "name: \"w\xc3\xb6rd\"\n"
                        "flag: true\nnumber: 1.5e2\nshare: 0.25\nseconds: 2m\ncount: 7\nlarge: 2.5M\n";
    assert_int_equal(read_thing_of(text, sizeof(text) - 1, &thing, name, &err), 0);
    assert_string_equal(name, "w\xc3\xb6rd");
    assert_int_equal(thing.flag, 1);
    assert_true(thing.number == 150 && thing.share == 0.25 && thing.seconds == 120);
    assert_int_equal(thing.count, 7);
    assert_true(thing.large == 2500000);
    assert_int_equal(thing.items, 3);
    assert_int_equal(err.code, ATOLL_OK);
    assert_int_equal(read_thing_of("name: x\nlarge: 9007199254740992", 31, &thing, name, &err), 0);
    assert_true(thing.large == (uint64_t)1 << 53);
}

/* Everything that must be refused, with the words that help. */
static const struct {
    const char *text, *words;
} refused[] = {
    {"", "f.yaml:1: the file is empty"},
    {"# only a comment\n", "the file is empty"},
    {"name: x\nname: y\n", "f.yaml:2: key 'name' stands here twice, first in line 1"},
    {"name: &a x\n", "f.yaml:1: anchors are not read here"},
    {"name: x\nitems: [&b q, *b]\n", "f.yaml:2: anchors are not read here"},
    {"name: *b\n", "aliases are not read here"},
    {"name: !!str x\n", "tags are not read here"},
    {"items: &c [x]\n", "anchors"},
    {"--- &d {name: x}\n", "anchors"},
    {"name: x\n---\nname: y\n", "f.yaml:2: a second document"},
    {"[a, b]", "f.yaml:1: a map is expected here"},
    {"just words", "a map is expected here"},
    {"name: [x", "not valid YAML"},
    {"name: x\n\tflag: true\n", "not valid YAML"},
    {"name: \"\xff\xfe\"\n", "not valid YAML"},
    {"{[a]: b, name: x}", "a key must be a word"},
    {"\"\": x\n", "a key must be a word"},
    {"nmae: x\n", "f.yaml:1: unknown key 'nmae'; did you mean 'name'?"},
    {"name: x\nzzzzzz: 1\n", "f.yaml:2: unknown key 'zzzzzz'; known here: version, name, flag"},
    {"name: x\npasswort: 1\n", "known here"}, /* a hidden key is never offered */
    {"name: x\npassword: 1\n", "f.yaml:2: not here"},
    {"flag: true\n", "f.yaml:1: key 'name' is missing"},
    {"name:\n", "a text is expected"},
    {"name: \"a\\nb\"\n", "a line break or control character"},
    {"name: [x]\n", "a text is expected"},
    {"name: x\nversion: 2\n", "f.yaml:2: version '2' is not known"},
    {"name: x\nflag: yes\n", "'yes' is neither true nor false"},
    {"name: x\nnumber: -1\n", "'-1' must not be negative"},
    {"name: x\nnumber: nan\n", "'nan' is not a finite number"},
    {"name: x\nnumber: 0x10\n", "is not a finite number"},
    {"name: x\nnumber: 1e999\n", "is not a finite number"},
    {"name: x\nrate: 0\n", "'0' must be greater than 0"},
    {"name: x\nshare: 1.01\n", "'1.01' must lie between 0 and 1"},
    {"name: x\nseconds: soon\n", "f.yaml:2: "},
    {"name: x\nseconds: []\n", "a duration is expected here"},
    {"name: x\ncount: 4294967296\n", "'4294967296' is not a whole number"},
    {"name: x\ncount: -1\n", "is not a whole number"},
    {"name: x\ncount: 1.5\n", "is not a whole number"},
    {"name: x\nlarge: 1.5\n", "is not a whole number"},
    {"name: x\nlarge: 1e3\n", "is not a whole number"},
    {"name: x\nlarge: 5Q\n", "is not a whole number"},
    {"name: x\nlarge: 9007199254740994\n", "is not a whole number"},
    {"name: x\nitems: [a, b, c, d]\n", "4 items, at most 3 are allowed"},
    {"name: x\nitems: a\n", "a list of items is expected here"},
};

static void test_refused(void **state)
{
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
        struct thing thing;
        char name[64];
        struct atoll_err err = ATOLL_ERR_INIT;
        if (!read_thing_of(refused[i].text, strlen(refused[i].text), &thing, name, &err))
            fail_msg("row %zu was read: %s", i, refused[i].text);
        if (err.code != ATOLL_E_INPUT || !strstr(err.text, refused[i].words))
            fail_msg("row %zu says '%s'", i, err.text);
        if (strstr(err.text, "password"))
            fail_msg("row %zu offers a hidden key: '%s'", i, err.text);
    }
}

static void expect_failure(const char *text, size_t length, enum atoll_code code, const char *words)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    assert_null(atoll_yaml_parse("f.yaml", text, length, &err));
    if (err.code != code || !strstr(err.text, words))
        fail_msg("code %d '%s' instead of '%s'", (int)err.code, err.text, words);
}

static char *repeated(const char *piece, size_t times, size_t *ret_length)
{
    size_t length = strlen(piece);
    char *text = malloc(times * length + 1);
    assert_non_null(text);
    for (size_t i = 0; i < times; i++)
        memcpy(text + i * length, piece, length);
    *ret_length = times * length;
    text[*ret_length] = 0;
    return text;
}

static void test_limits(void **state)
{
    size_t length;
    char *text = repeated("[", ATOLL_YAML_DEPTH_LIMIT + 1, &length);
    expect_failure(text, length, ATOLL_E_INPUT, "nested deeper than 32 levels");
    free(text);
    text = repeated("- a\n", ATOLL_YAML_NODE_LIMIT, &length); /* and the list itself */
    expect_failure(text, length, ATOLL_E_INPUT, "more than 65536 values");
    struct atoll_yaml *yaml = atoll_yaml_parse("f.yaml", text, length - 4, NULL);
    assert_non_null(yaml);
    assert_int_equal(atoll_yaml_count(atoll_yaml_root(yaml)), ATOLL_YAML_NODE_LIMIT - 1);
    atoll_yaml_destroy(yaml);
    free(text);
    text = repeated("# words\n", ATOLL_YAML_FILE_BYTES / 8 + 1, &length);
    expect_failure(text, length, ATOLL_E_LIMIT, "more than 1048576 bytes");
    free(text);
    text = calloc(ATOLL_YAML_KEY_LIMIT + 1, 16);
    assert_non_null(text);
    length = 0;
    for (int i = 0; i <= ATOLL_YAML_KEY_LIMIT; i++)
        length += (size_t)sprintf(text + length, "k%d: 1\n", i);
    expect_failure(text, length, ATOLL_E_INPUT, "f.yaml:1025: more than 1024 keys");
    free(text);
    expect_failure("a: 1\nb: \0x\n", 11, ATOLL_E_INPUT, "f.yaml:2: a NUL byte");
    expect_failure("a: \"x\\0y\"\n", 10, ATOLL_E_INPUT, "a NUL inside");
    expect_failure("\xff\xfe"
                   "a\0",
                   4, ATOLL_E_INPUT, "NUL byte"); /* UTF-16 */
}

/* What nests without end, or begins again and again, is refused where its limit is passed, however long it is. */
static void test_endless(void **state)
{
    static const struct {
        const char *piece, *words;
    } endless[] = {
        {"[", "f.yaml:1: nested deeper than 32 levels"},
        {"{a: ", "f.yaml:1: nested deeper than 32 levels"},
        {"- ", "f.yaml:1: nested deeper than 32 levels"},
        {"[\n", "f.yaml:33: nested deeper than 32 levels"},
        {"[[a], ", "f.yaml:1: nested deeper than 32 levels"},
        {"{", "a key must be a word"},
        {"? ", "a key must be a word"},
        {"&a ", "anchors are not read here"},
        {"---\n", "a second document"},
        {"[a,", "nested deeper than 32 levels"},
    };
    for (size_t i = 0; i < sizeof(endless) / sizeof(*endless); i++) {
        size_t length;
        char *text = repeated(endless[i].piece, 100000, &length);
        expect_failure(text, length, ATOLL_E_INPUT, endless[i].words);
        free(text);
    }
}

static void test_files(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    char path[] = "/tmp/atoll-yaml-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "a: [1, 2]\n", 10), 10);
    close(fd);
    struct atoll_yaml *yaml = atoll_yaml_load(path, &err);
    assert_non_null(yaml);
    const struct atoll_yaml_node *list = atoll_yaml_find(atoll_yaml_root(yaml), "a");
    assert_non_null(list);
    assert_int_equal(atoll_yaml_count(list), 2);
    assert_null(atoll_yaml_scalar(list));
    assert_null(atoll_yaml_find(list, "a"));
    assert_null(atoll_yaml_find(atoll_yaml_root(yaml), "b"));
    atoll_yaml_destroy(yaml);
    unlink(path);
    assert_null(atoll_yaml_load(path, &err));
    assert_int_equal(err.code, ATOLL_E_NOTFOUND);
    assert_non_null(strstr(err.text, path));
    atoll_err_clear(&err);
    assert_null(atoll_yaml_load("/tmp", &err));
    assert_int_equal(err.code, ATOLL_E_INPUT);
    atoll_err_clear(&err);
    assert_int_equal(mkfifo(path, 0600), 0); /* nobody writes into it: opening it must not wait */
    assert_null(atoll_yaml_load(path, &err));
    unlink(path);
    assert_int_equal(err.code, ATOLL_E_INPUT);
    assert_non_null(strstr(err.text, "is not a regular file"));
    atoll_yaml_destroy(NULL);
}

/* Every prefix of a file is read or refused, and nothing else. */
static void test_prefixes(void **state)
{
    static const char text[] =
        "a: {b: [1, \"two\", 'three'], c: >-\n  folded\n  text\n}\nd:\n  - e: f\n    g: |\n      h\n";
    for (size_t length = 0; length < sizeof(text); length++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_yaml *yaml = atoll_yaml_parse("f.yaml", text, length, &err);
        assert_true(yaml ? err.code == ATOLL_OK : strncmp(err.text, "f.yaml:", 7) == 0);
        atoll_yaml_destroy(yaml);
    }
}

/* Keys of the reader's own choice, joined: "a=1;b=;" */
static int read_pair(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    char *text = target;
    const char *value = atoll_yaml_scalar(node);
    sprintf(text + strlen(text), "%s=%s;", atoll_yaml_key(node), value ? value : "");
    return 0;
}

static void test_pairs(void **state)
{
    static const struct {
        const char *text, *expected; /* joined pairs, or part of the error's text */
    } cases[] = {
        {"{a: 1, 'b c': , d: x}", "a=1;b c=;d=x;"},
        {"{}", ""},
        {"[a]", "f.yaml:1: a map of settings is expected here; write {NAME: value, ...}"},
        {"a", "a map of settings is expected"},
        {"{a: 1, b: 2, c: 3, d: 4}", "4 settings, at most 3 are allowed"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_yaml *yaml = atoll_yaml_parse("f.yaml", cases[i].text, strlen(cases[i].text), &err);
        struct atoll_yaml_walk walk = {yaml, NULL, NULL, &err};
        char joined[128] = "";
        assert_non_null(yaml);
        assert_null(atoll_yaml_key(atoll_yaml_root(yaml)));
        if (atoll_yaml_pairs(&walk, atoll_yaml_root(yaml), 3, "settings", read_pair, joined) == 0)
            assert_string_equal(joined, cases[i].expected);
        else if (!strstr(err.text, cases[i].expected))
            fail_msg("case %zu: %s", i, err.text);
        atoll_yaml_destroy(yaml);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs),    cmocka_unit_test(test_reads),   cmocka_unit_test(test_refused),
        cmocka_unit_test(test_limits),   cmocka_unit_test(test_endless), cmocka_unit_test(test_files),
        cmocka_unit_test(test_prefixes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
