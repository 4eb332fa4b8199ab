/* Regions of a prompt text: what they are, what of an edit fits, and that nothing else changes. */
#include "tests/support/texts.h"

#include <stdlib.h>

#include "base/random.h"
#include "core/knowledge/region.h"

static const char *const languages[] = {"c.md", "cuda.md", "triton.md", "opencl.md"};

/* Every language's text has all of them, with room to grow. */
static void our_texts_have_regions(void **state)
{
    for (size_t i = 0; i < sizeof(languages) / sizeof(*languages); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        const char *text = source_text(languages[i]), *region;
        size_t length;
        struct atoll_buffer out;
        if (atoll_regions_check(text, &err) != 0)
            fail_msg("%s: %s", languages[i], err.text);
        for (unsigned r = 0; r < ATOLL_REGION_COUNT; r++) {
            assert_int_equal(atoll_region_find(text, (enum atoll_region)r, &region, &length), 0);
            assert_true(length > 50 && length < ATOLL_REGION_LIMIT / 3 * 2);
        }
        atoll_buffer_init(&out, 1u << 16);
        atoll_regions_strip(text, &out);
        atoll_buffer_put_u8(&out, 0);
        assert_null(strstr((const char *)out.data, "<!--"));
        assert_true(out.length > strlen(text) - 400);
        atoll_buffer_fini(&out);
    }
}

#define FRONT "# Rules\nkept\n<!-- region philosophy -->\n"
#define MID   "<!-- end -->\nmore\n<!-- region strategies -->\n- s\n<!-- end -->\n<!-- region pitfalls -->\n"
#define BACK  "<!-- end -->\n<!-- region analysis -->\nthink\n<!-- end -->\nlast\n"
#define TEXT  FRONT "Bytes first.\nThen time.\n" MID "- one\n- two\n- one more\n" BACK

static void texts_are_checked(void **state)
{
    static const struct {
        const char *text, *error;
    } rows[] = {
        {TEXT, NULL},
        {"plain\n", "region philosophy is missing"},
        {FRONT "x\n" BACK, "line 6: region analysis"},
        {FRONT "x\n", "region philosophy is not closed"},
        {FRONT FRONT "x\n" MID BACK, "line 6: region philosophy begins inside of another"},
        {TEXT "<!-- end -->\n", "the end of a region that has not begun"},
        {TEXT "<!-- region notes -->\n", "a marker is"},
        {TEXT FRONT "<!-- end -->\n", "region philosophy is there twice"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        assert_int_equal(atoll_regions_check(rows[i].text, &err), rows[i].error ? -1 : 0);
        if (rows[i].error && i != 2)
            expect_err(&err, ATOLL_E_INPUT, rows[i].error);
    }
}

static char long_text[ATOLL_REGION_LIMIT + 2];

static void edits_are_applied_inside(void **state)
{
    memset(long_text, 'x', ATOLL_REGION_LIMIT + 1);
    const struct {
        const char *region, *before, *after, *result; /* NULL: it does not fit */
    } rows[] = {
        {"pitfalls", "- two", "- three",
         FRONT "Bytes first.\nThen time.\n" MID "- one\n- three\n- one more\n" BACK},
        {"pitfalls", "- two\n- one more", "- three",
         FRONT "Bytes first.\nThen time.\n" MID "- one\n- three\n" BACK},
        {"pitfalls", "\n- two\n", "", FRONT "Bytes first.\nThen time.\n" MID "- one\n\n- one more\n" BACK},
        {"pitfalls", "", "- new",
         FRONT "Bytes first.\nThen time.\n" MID "- one\n- two\n- one more\n- new\n" BACK},
        {"philosophy", "Then time.", "```c\n#define X 1\n```",
         FRONT "Bytes first.\n```c\n#define X 1\n```\n" MID "- one\n- two\n- one more\n" BACK},
        {"pitfalls", "- one", "- x", NULL},   /* twice */
        {"pitfalls", "Bytes", "- x", NULL},   /* of another region */
        {"pitfalls", "kept", "lost", NULL},   /* outside */
        {"pitfalls", "- two", "- two", NULL}, /* nothing changes */
        {"pitfalls", "", "", NULL},           /* nothing */
        {"rules", "kept", "lost", NULL},      /* no region */
        {"", "kept", "lost", NULL},
        {"pitfalls", "- two", "<!-- end -->", NULL},
        {"pitfalls", "- two", "a --> b", NULL},
        {"pitfalls", "- two", "<!-", NULL},
        {"pitfalls", "- two", "# Rules", NULL}, /* would look like ours */
        {"pitfalls", "- two", "  ## Rules", NULL},
        {"pitfalls", "- two", "```c\nint x;", NULL}, /* would swallow what follows */
        {"pitfalls", "- two", "caf\xc3\xa9", NULL},
        {"pitfalls", "- two", "a\rb", NULL},
        {"pitfalls", "- two", long_text, NULL},
        {"pitfalls", "<!-- end -->", "x", NULL},
        {"pitfalls", NULL, NULL, NULL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const struct atoll_reply_item item = {.kind = ATOLL_ITEM_EDIT,
                                              .title = rows[i].region,
                                              .before = rows[i].before,
                                              .after = rows[i].after};
        struct atoll_buffer out;
        uint8_t fits = 2;
        atoll_buffer_init(&out, 1u << 16);
        int applied = atoll_regions_apply(TEXT, &item, 1, &out, &fits, NULL);
        if (applied != (rows[i].result != NULL) || fits != applied)
            fail_msg("row %zu: %d edits are applied", i, applied);
        assert_string_equal((const char *)out.data, rows[i].result ? rows[i].result : TEXT);
        atoll_buffer_fini(&out);
    }
}

/* Items of other kinds are none; the first three that fit, each on what the last one left. */
static void edits_come_one_after_the_other(void **state)
{
    const struct atoll_reply_item items[] = {
        {.kind = ATOLL_ITEM_HINT, .title = "pitfalls", .before = "- two", .after = "- x"},
        {.kind = ATOLL_ITEM_EDIT, .title = "pitfalls", .before = "- two", .after = "- three"},
        {.kind = ATOLL_ITEM_EDIT, .title = "pitfalls", .before = "- two", .after = "- y"},
        {.kind = ATOLL_ITEM_EDIT, .title = "pitfalls", .before = "- three", .after = "- four"},
        {.kind = ATOLL_ITEM_EDIT, .title = "analysis", .before = "think", .after = "think hard"},
        {.kind = ATOLL_ITEM_EDIT, .title = "analysis", .before = "hard", .after = "harder"},
    };
    struct atoll_buffer out;
    uint8_t fits[6];
    atoll_buffer_init(&out, 1u << 16);
    assert_int_equal(atoll_regions_apply(TEXT, items, 6, &out, fits, NULL), 3);
    assert_memory_equal(fits, ((const uint8_t[]){0, 1, 0, 1, 1, 0}), 6);
    assert_non_null(strstr((const char *)out.data, "- four\n"));
    assert_non_null(strstr((const char *)out.data, "think hard\n"));
    atoll_buffer_fini(&out);
}

/* Pieces of the text itself, of markers and of noise, many times over: what is outside stays. */
static void hostile_edits_change_nothing_outside(void **state)
{
    static const char *const pieces[] = {
        "- one", "\n", "<!-- end -->", "<!-- region ", "pitfalls", " -->", "```",  "# ",
        "kept",  "x",  "Bytes first.", "\t",           "\x01",     "~~~",  "-- >", ""};
    static const char *const titles[] = {"philosophy", "strategies", "pitfalls",
                                         "analysis",   "end",        "Pitfalls"};
    struct atoll_random random = {5, 0};
    struct atoll_buffer out, next;
    atoll_buffer_init(&out, 1u << 16);
    atoll_buffer_init(&next, 1u << 16);
    atoll_buffer_put_bytes(&out, TEXT, sizeof(TEXT));
    for (unsigned round = 0; round < 20000; round++) {
        char before[128] = "", after[128] = "";
        for (unsigned i = 0; i < 4; i++) {
            strcat(before, pieces[atoll_random_below(atoll_random_next(&random), 16)]);
            strcat(after, pieces[atoll_random_below(atoll_random_next(&random), 16)]);
        }
        const struct atoll_reply_item item = {.kind = ATOLL_ITEM_EDIT,
                                              .title =
                                                  titles[atoll_random_below(atoll_random_next(&random), 6)],
                                              .before = before,
                                              .after = after};
        assert_true(atoll_regions_apply((const char *)out.data, &item, 1, &next, NULL, NULL) >= 0);
        const char *text = (const char *)next.data, *region;
        size_t length, inside = 0;
        assert_int_equal(atoll_regions_check(text, NULL), 0);
        for (unsigned r = 0; r < ATOLL_REGION_COUNT; r++) {
            assert_int_equal(atoll_region_find(text, (enum atoll_region)r, &region, &length), 0);
            inside += length;
        }
        assert_int_equal(strlen(text) - inside, strlen(FRONT MID BACK) - strlen("- s\n") - strlen("think\n"));
        assert_int_equal(strncmp(text, FRONT, strlen(FRONT)), 0);
        assert_string_equal(text + strlen(text) - 5, "last\n");
        struct atoll_buffer old = out;
        out = next;
        next = old;
        if (round % 500 == 499) { /* before they are full */
            atoll_buffer_clear(&out);
            atoll_buffer_put_bytes(&out, TEXT, sizeof(TEXT));
        }
    }
    atoll_buffer_fini(&out);
    atoll_buffer_fini(&next);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(our_texts_have_regions),
        cmocka_unit_test(texts_are_checked),
        cmocka_unit_test(edits_are_applied_inside),
        cmocka_unit_test(edits_come_one_after_the_other),
        cmocka_unit_test(hostile_edits_change_nothing_outside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
