/* Folders of knowledge become one pack, and one file of it: the same texts, the same bytes; what is no text is refused by name. */
#include "tests/support/allocation.h"
#include "tests/support/expect.h"

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/id.h"
#include "core/knowledge/pack.h"

static char root[PATH_MAX];

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *walk)
{
    (void)st;
    (void)kind;
    (void)walk;
    return remove(path);
}

static int set_up(void **state)
{
    (void)state;
    snprintf(root, sizeof(root), "%s/pack-XXXXXX", ATOLL_BUILD_DIR);
    return mkdtemp(root) ? setenv("XDG_DATA_HOME", root, 1) : -1;
}

static int tear_down(void **state)
{
    (void)state;
    unsetenv("XDG_DATA_HOME");
    return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Path below the test's folder; of the last four calls. */
static const char *at(const char *name)
{
    static char paths[4][PATH_MAX];
    static unsigned turn;
    char *path = paths[turn++ % 4];
    assert_true(snprintf(path, PATH_MAX, "%s/%s", root, name) < PATH_MAX);
    return path;
}

static void write_text(const char *name, const char *text, size_t length)
{
    const char *path = at(name);
    struct atoll_err err = ATOLL_ERR_INIT;
    FILE *f;
    assert_int_equal(atoll_folder_make_parents(path, &err), 0);
    f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, length, f), length);
    assert_int_equal(fclose(f), 0);
}

static void put(const char *name, const char *text)
{
    write_text(name, text, strlen(text));
}

static const char *text_of(const struct atoll_knowledge_pack *pack, const char *path)
{
    const struct atoll_knowledge_file *file = atoll_knowledge_pack_find(pack, path);
    return file ? file->text : "(none)";
}

static struct atoll_knowledge_pack *read_two(void)
{
    char ours[PATH_MAX], site[PATH_MAX];
    const char *folders[] = {ours, site};
    struct atoll_err err = ATOLL_ERR_INIT;
    snprintf(ours, sizeof(ours), "%s", at("ours"));
    snprintf(site, sizeof(site), "%s/", at("site"));
    struct atoll_knowledge_pack *pack = atoll_knowledge_pack_read(folders, 2, &err);
    if (!pack)
        fail_msg("%s", err.text);
    return pack;
}

/* A site's folder adds and replaces; what is hidden, a copy of an editor, or leads out of it is not read. */
static void test_folders(void **state)
{
    (void)state;
    put("ours/index.yaml", "version: 1\n");
    put("ours/prompts/c.md", "# C\n");
    put("ours/prompts/c.md~", "old");
    put("ours/.git/config", "hidden");
    put("outside.md", "secret");
    assert_int_equal(symlink(at("outside.md"), at("ours/leads-out.md")), 0);
    put("site/prompts/c.md", "# C of this site\n");
    put("site/prompts/zig.md", "# Zig\n");
    struct atoll_knowledge_pack *pack = read_two();
    assert_int_equal(pack->count, 3);
    assert_string_equal(pack->files[0].path, "index.yaml");
    assert_string_equal(text_of(pack, "prompts/c.md"), "# C of this site\n");
    assert_string_equal(text_of(pack, "prompts/zig.md"), "# Zig\n");
    assert_string_equal(text_of(pack, "prompts"), "(none)");
    assert_int_equal(pack->bytes, strlen("version: 1\n# C of this site\n# Zig\n"));
    assert_true(pack->files[1].is_instead && !pack->files[2].is_instead && !pack->files[0].is_instead);
    assert_string_equal(pack->files[1].folder, at("site"));
    atoll_knowledge_pack_destroy(pack);
}

/* A user's own folder is found by itself; the given ones come after it. */
static void test_load(void **state)
{
    (void)state;
    struct atoll_err err = ATOLL_ERR_INIT;
    char given[PATH_MAX];
    const char *folders[] = {given};
    snprintf(given, sizeof(given), "%s", at("given"));
    put("atoll/knowledge/mine.md", "mine");
    put("given/mine.md", "given");
    put("site/mine.md", "site");
    put("site/theirs.md", "theirs");
    struct atoll_knowledge_pack *pack = atoll_knowledge_pack_load(at("site"), NULL, 0, &err);
    assert_non_null(pack);
    assert_string_equal(text_of(pack, "mine.md"), "mine");
    assert_string_equal(text_of(pack, "theirs.md"), "theirs");
    atoll_knowledge_pack_destroy(pack);
    pack = atoll_knowledge_pack_load(NULL, folders, 1, &err);
    assert_non_null(pack);
    assert_string_equal(text_of(pack, "mine.md"), "given");
    atoll_knowledge_pack_destroy(pack);
}

static void expect_refused(enum atoll_code code, const char *part)
{
    char folder[PATH_MAX];
    const char *folders[] = {folder};
    struct atoll_err err = ATOLL_ERR_INIT;
    snprintf(folder, sizeof(folder), "%s", at("bad"));
    assert_null(atoll_knowledge_pack_read(folders, 1, &err));
    expect_err(&err, code, part);
    assert_int_equal(nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text;
        size_t length;
        enum atoll_code code;
        const char *part;
    } rows[] = {
        {"bad/a/b.md", "a\0b", 3, ATOLL_E_INPUT, "bad/a/b.md: is no text (byte 0x00 at 1)"},
        {"bad/latin.md", "caf\xe9", 4, ATOLL_E_INPUT, "latin.md: is no text (byte 0xe9 at 3)"},
        {"bad/esc.md", "\033[2J", 4, ATOLL_E_INPUT, "mend it or take it out"},
        {"bad/two words.md", "x", 1, ATOLL_E_INPUT, "'two words.md' is no name of a text of knowledge"},
        {"bad/1/2/3/4/5/6/7/8/9/x.md", "x", 1, ATOLL_E_LIMIT, "deeper than 8 folders; move it up"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        write_text(rows[i].name, rows[i].text, rows[i].length);
        expect_refused(rows[i].code, rows[i].part);
    }
    put("bad", "");
    expect_refused(ATOLL_E_INPUT, "is no folder; give the folder that holds index.yaml");
    put("bad/large.md", "");
    assert_int_equal(truncate(at("bad/large.md"), (off_t)ATOLL_KNOWLEDGE_FILE_BYTES + 1), 0);
    expect_refused(ATOLL_E_LIMIT, "large.md");
    const char *missing[] = {"/nonexistent/knowledge"};
    struct atoll_err err = ATOLL_ERR_INIT;
    assert_null(atoll_knowledge_pack_read(missing, 1, &err));
    expect_err(&err, ATOLL_E_NOTFOUND, "/nonexistent/knowledge");
    missing[0] = "";
    assert_null(atoll_knowledge_pack_read(missing, 1, &err));
    expect_err(&err, ATOLL_E_USAGE, "is no path of a folder");
}

/* All together: no more files than a pack holds, and no more bytes. */
static void test_limits(void **state)
{
    (void)state;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_knowledge_pack *pack = atoll_knowledge_pack_create(&err);
    char name[32], *large = calloc(1, ATOLL_KNOWLEDGE_FILE_BYTES + 1);
    assert_true(pack && large);
    for (unsigned i = 0; i < ATOLL_KNOWLEDGE_FILE_LIMIT; i++) {
        snprintf(name, sizeof(name), "%u", (i * 1031u) % ATOLL_KNOWLEDGE_FILE_LIMIT);
        assert_int_equal(atoll_knowledge_pack_put(pack, name, "x", 1, &err), 0);
    }
    assert_int_equal(pack->count, ATOLL_KNOWLEDGE_FILE_LIMIT);
    for (unsigned i = 1; i < pack->count; i++)
        assert_true(strcmp(pack->files[i - 1].path, pack->files[i].path) < 0);
    assert_int_equal(atoll_knowledge_pack_put(pack, "one-more", "x", 1, &err), -1);
    expect_err(&err, ATOLL_E_LIMIT, "one-more: with it the folders of knowledge hold more than 4096 files");
    assert_int_equal(atoll_knowledge_pack_put(pack, "17", "yy", 2, &err), 0);
    assert_int_equal(pack->bytes, ATOLL_KNOWLEDGE_FILE_LIMIT + 1);
    memset(large, 'x', ATOLL_KNOWLEDGE_FILE_BYTES);
    for (unsigned i = 0; i < 31; i++) {
        snprintf(name, sizeof(name), "%u", i);
        assert_int_equal(atoll_knowledge_pack_put(pack, name, large, ATOLL_KNOWLEDGE_FILE_BYTES, &err), 0);
    }
    assert_int_equal(atoll_knowledge_pack_put(pack, "31", large, ATOLL_KNOWLEDGE_FILE_BYTES, &err), -1);
    expect_err(&err, ATOLL_E_LIMIT, "or 33554432 bytes");
    atoll_knowledge_pack_destroy(pack);
    free(large);
}

static void freeze(const struct atoll_knowledge_pack *pack, struct atoll_buffer *out)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    atoll_buffer_init(out, ATOLL_KNOWLEDGE_JSON_BYTES);
    if (atoll_knowledge_pack_to_json(pack, out, &err) != 0)
        fail_msg("%s", err.text);
}

/* In whatever order texts came, and however often: the same bytes, which read back. */
static void test_round_trip(void **state)
{
    (void)state;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_knowledge_pack *pack = atoll_knowledge_pack_create(&err), *back;
    struct atoll_buffer first, second;
    static const char expected[] =
        "{\"version\":1,\"files\":{\"a.md\":\"\",\"a/b.md\":\"\xc2\xb5s \\\"x\\\"\\t\\n\"}}";
    assert_int_equal(atoll_knowledge_pack_put(pack, "a/b.md", "old", 3, &err), 0);
    assert_int_equal(atoll_knowledge_pack_put(pack, "a.md", "", 0, &err), 0);
    assert_int_equal(atoll_knowledge_pack_put(pack, "a/b.md", "\xc2\xb5s \"x\"\t\n", 9, &err), 0);
    freeze(pack, &first);
    assert_int_equal(first.length, strlen(expected));
    assert_memory_equal(first.data, expected, first.length);
    back = atoll_knowledge_pack_from_json("knowledge.json", first.data, first.length, &err);
    assert_non_null(back);
    assert_true(back->count == 2 && back->bytes == pack->bytes);
    assert_string_equal(text_of(back, "a/b.md"), "\xc2\xb5s \"x\"\t\n");
    freeze(back, &second);
    assert_true(first.length == second.length && memcmp(first.data, second.data, first.length) == 0);
    atoll_buffer_fini(&first);
    atoll_buffer_fini(&second);
    atoll_knowledge_pack_destroy(pack);
    atoll_knowledge_pack_destroy(back);
}

static void test_foreign(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum atoll_code code;
        const char *part;
    } rows[] = {
        {"", ATOLL_E_INPUT, "k.json: no JSON"},
        {"{\"version\":1,\"files\":{\"a\":", ATOLL_E_INPUT, "k.json: no JSON"},
        {"[]", ATOLL_E_INPUT, "k.json: is no frozen knowledge"},
        {"{\"version\":1}", ATOLL_E_INPUT, "is no frozen knowledge"},
        {"{\"version\":1,\"files\":{},\"more\":1}", ATOLL_E_INPUT, "is no frozen knowledge"},
        {"{\"version\":2,\"files\":[]}", ATOLL_E_SCHEMA, "newer version of Atoll (2; this one reads 1)"},
        {"{\"version\":1,\"files\":{\"a\":1}}", ATOLL_E_INPUT, "'a' is no text"},
        {"{\"version\":1,\"files\":{\"a\":\"x\",\"a\":\"y\"}}", ATOLL_E_INPUT, "duplicate"},
        {"{\"version\":1,\"files\":{\"../a\":\"x\"}}", ATOLL_E_INPUT, "'../a' is no name"},
        {"{\"version\":1,\"files\":{\"/a\":\"x\"}}", ATOLL_E_INPUT, "'/a' is no name"},
        {"{\"version\":1,\"files\":{\"a//b\":\"x\"}}", ATOLL_E_INPUT, "'a//b' is no name"},
        {"{\"version\":1,\"files\":{\"a/\":\"x\"}}", ATOLL_E_INPUT, "'a/' is no name"},
        {"{\"version\":1,\"files\":{\"\":\"x\"}}", ATOLL_E_INPUT, "'' is no name"},
        {"{\"version\":1,\"files\":{\"a\":\"\\u001b\"}}", ATOLL_E_INPUT, "is no text (byte 0x1b at 0)"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        assert_null(atoll_knowledge_pack_from_json("k.json", rows[i].text, strlen(rows[i].text), &err));
        expect_err(&err, rows[i].code, rows[i].part);
    }
}

#ifndef ALLOCATION_SKIP_REASON
static int read_and_freeze(struct atoll_err *err)
{
    static const char text[] = "{\"version\":1,\"files\":{\"a.md\":\"x\",\"b.md\":\"y\"}}";
    struct atoll_knowledge_pack *pack = atoll_knowledge_pack_from_json("k", text, strlen(text), err);
    struct atoll_buffer out;
    atoll_buffer_init(&out, 1 << 12);
    int rc = pack ? atoll_knowledge_pack_to_json(pack, &out, err) : -1;
    atoll_buffer_fini(&out);
    atoll_knowledge_pack_destroy(pack);
    return rc;
}

static void test_allocations(void **state)
{
    (void)state;
    assert_true(allocation_each_fails("knowledge pack", read_and_freeze) > 10);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_folders, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_load, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_foreign),
#ifndef ALLOCATION_SKIP_REASON
        cmocka_unit_test(test_allocations),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
