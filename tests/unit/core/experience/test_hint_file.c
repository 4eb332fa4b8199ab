/* test_hint_file.c - files of hints, and knowledge/hints.yaml held against what it promises. */
#include "tests/support/expect.h"

#include <stdio.h>

#include "core/experience/hint_file.h"

#define HEAD "version: 1\nhints:\n"
#define ROW  "  - {name: a, trigger: limiter dram, advice: Do it.}\n"

static int parse(const char *text, struct atoll_hint_file *ret_file, struct atoll_err *err)
{
    return atoll_hint_file_parse("h.yaml", text, strlen(text), ret_file, err);
}

/* What is written reads back, twice, to the same bytes; JSON is read as well. */
static void test_round_trip(void **state)
{
    static const char text[] =
        "{\"version\": 1, \"campaigns\": "
        "[\"00000000000000000000000000000000000000000000000000000000000000ff\"],\n"
        " \"hints\": [{\"name\": \"a-1\", \"trigger\": \"occupancy shared memory\", \"language\": \"cuda\",\n"
        "   \"device\": \"hopper\", \"category\": \"matmul\", \"role\": \"memory\", \"context\": \"say "
        "\\\"when\\\"\",\n"
        "   \"advice\": \"a \\\\ b: c # d\", \"source\": \"me\", \"origin\": \"distilled\",\n"
        "   \"statistics\": {\"uses\": 5, \"outcomes\": 4, \"wins\": 2, \"expected\": 1.1, \"gains\": 3, "
        "\"log_gain\": -0.25}},\n"
        "  {\"name\": \"b\", \"trigger\": \"race\", \"advice\": \"x\"}]}";
    struct atoll_hint_file file, back;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_buffer first, second;
    if (parse(text, &file, &err) != 0)
        fail_msg("%s", err.text);
    const struct atoll_experience_hint *h = &file.hints[0];
    assert_true(file.hint_count == 2 && file.campaign_count == 1 && file.campaigns[0].bytes[31] == 0xff);
    assert_true(h->trigger.kind == ATOLL_TRIGGER_OCCUPANCY && h->role == ATOLL_ISLAND_MEMORY &&
                h->origin == ATOLL_HINT_DISTILLED && h->prior.wins == 2 && h->prior.log_gain == -0.25);
    assert_string_equal(h->context, "say \"when\"");
    assert_string_equal(h->advice, "a \\ b: c # d");
    assert_true(file.hints[1].role == ATOLL_ISLAND_ROLE_COUNT && !*file.hints[1].device);
    atoll_buffer_init(&first, 1 << 16);
    atoll_buffer_init(&second, 1 << 16);
    atoll_hint_file_write_yaml(&file, &first);
    if (atoll_hint_file_parse("back", (const char *)first.data, first.length, &back, &err) != 0)
        fail_msg("%s", err.text);
    atoll_hint_file_write_yaml(&back, &second);
    assert_true(first.length == second.length && memcmp(first.data, second.data, first.length) == 0);
    atoll_hint_file_fini(&file);
    atoll_hint_file_fini(&back);
    atoll_buffer_fini(&first);
    atoll_buffer_fini(&second);
}

static void test_refused(void **state)
{
    static const struct {
        const char *text, *part;
    } rows[] = {
        {HEAD ROW ROW, "h.yaml:4: hint 'a' stands here twice"},
        {HEAD ROW "  - {name: b, trigger: dram, advice: Do it.}\n", "hint 'b' stands here twice ('a')"},
        {HEAD "  - {name: a, trigger: limiter dram}\n", "key 'advice' is missing"},
        {HEAD "  - {name: a, trigger: limiter drum, advice: x}\n", "did you mean 'limiter dram'?"},
        {HEAD "  - {name: a, trigger: dram, advice: x, role: memmory}\n", "memory"},
        {HEAD "  - {name: a, trigger: dram, advice: x, device: gopher}\n", "no such device"},
        {HEAD "  - {name: a, trigger: dram, advice: x, statistics: {uses: 1, outcomes: 2, wins: 0, expected: "
              "0}}\n",
         "do not agree"},
        {HEAD "  - {name: a, trigger: dram, advice: x, statistics: {uses: 2, outcomes: 2, wins: -1, "
              "expected: 0}}\n",
         "negative"},
        {"version: 2\nhints: []\n", "1"},
        {"version: 1\ncampaigns: [xyz]\nhints: []\n", "h.yaml:2"},
        {"version: 1\n", "key 'hints' is missing"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_hint_file file;
        struct atoll_err err = ATOLL_ERR_INIT;
        if (parse(rows[i].text, &file, &err) == 0)
            fail_msg("row %zu was taken", i);
        expect_err(&err, ATOLL_E_INPUT, rows[i].part);
    }
}

#define STATS "statistics: {uses: 4, outcomes: 4, wins: 2, expected: 1}"
#define ONE   "campaigns: [\"0000000000000000000000000000000000000000000000000000000000000001\"]\n"

/* New hints come, statistics are added once per campaign, a taken name gets another. */
static void test_merge(void **state)
{
    static const char more_text[] = "version: 1\n" ONE "hints:\n"
                                    "  - {name: z, trigger: limiter dram, advice: Do it., " STATS "}\n"
                                    "  - {name: a, trigger: limiter l2, advice: Do that.}\n";
    struct atoll_hint_file sum, more;
    struct atoll_err err = ATOLL_ERR_INIT;
    size_t new, known;
    assert_int_equal(parse(HEAD ROW, &sum, &err), 0);
    assert_int_equal(parse(more_text, &more, &err), 0);
    for (int time = 0; time < 2; time++) {
        assert_int_equal(atoll_hint_file_merge(&sum, &more, &new, &known, &err), 0);
        assert_true(new == (time ? 0 : 1) && known == (time ? 2 : 1));
        assert_true(sum.hint_count == 2 && sum.campaign_count == 1);
        expect_close(sum.hints[0].prior.wins, 2, 0); /* not twice */
    }
    assert_string_equal(sum.hints[0].name, "a");
    assert_int_equal(strncmp(sum.hints[1].name, "a-", 2), 0);
    assert_int_equal(strlen(sum.hints[1].name), 10);
    atoll_hint_file_fini(&sum);
    assert_int_equal(atoll_hint_file_merge(&sum, &more, &new, &known, &err), 0); /* into nothing */
    assert_true(new == 2 && sum.hint_count == 2);
    atoll_hint_file_fini(&more);
    assert_string_equal(sum.hints[1].advice, "Do that."); /* its own */
    atoll_hint_file_fini(&sum);
}

/* ---- knowledge/hints.yaml ---- */

static int sentences(const char *text)
{
    int count = 0;
    for (const char *at = text; *at; at++)
        count += (*at == '.' || *at == '?' || *at == '!') && (at[1] == '\0' || at[1] == ' ');
    return count;
}

static int is_limiter(const struct atoll_experience_hint *h, enum atoll_limiter from, enum atoll_limiter to)
{
    return h->trigger.kind == ATOLL_TRIGGER_LIMITER && h->trigger.value >= (uint32_t)from &&
           h->trigger.value <= (uint32_t)to;
}

/* A kernel of some diagnosis can call for it: classes that nothing is diagnosed as would never be told. */
static int can_hold(const struct atoll_trigger *t)
{
    return !(t->kind == ATOLL_TRIGGER_ERROR &&
             (t->value == ATOLL_ERROR_NONE || t->value == ATOLL_ERROR_INFRASTRUCTURE)) &&
           !(t->kind == ATOLL_TRIGGER_STALL && t->value == ATOLL_STALL_UNKNOWN);
}

static void test_knowledge(void **state)
{
    struct atoll_hint_file file;
    struct atoll_err err = ATOLL_ERR_INIT;
    int correctness = 0, memory = 0, instruction = 0, latency = 0, hopper = 0;
    if (atoll_hint_file_load(ATOLL_SOURCE_DIR "/knowledge/hints.yaml", &file, &err) != 0)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < file.hint_count; i++) {
        const struct atoll_experience_hint *h = &file.hints[i];
        int told = sentences(h->advice), is_hopper = strcmp(h->device, "hopper") == 0;
        enum atoll_trigger_kind kind = h->trigger.kind;
        if (told < 1 || told > 3)
            fail_msg("hint '%s': its advice has %d sentences; one to three", h->name, told);
        if (!*h->source)
            fail_msg("hint '%s': nobody says so; give its source", h->name);
        if (!can_hold(&h->trigger))
            fail_msg("hint '%s': nothing is ever diagnosed as that", h->name);
        for (const char *at = h->advice; *at; at++)
            if ((unsigned char)*at > 126)
                fail_msg("hint '%s': plain ASCII only", h->name);
        assert_true(h->origin == ATOLL_HINT_CURATED && h->prior.uses == 0);
        hopper += is_hopper;
        if (is_hopper)
            continue;
        correctness += kind == ATOLL_TRIGGER_ERROR;
        memory += is_limiter(h, ATOLL_LIMITER_DRAM, ATOLL_LIMITER_BANK_CONFLICTS);
        instruction += is_limiter(h, ATOLL_LIMITER_TENSOR, ATOLL_LIMITER_ISSUE);
        latency += kind == ATOLL_TRIGGER_STALL || kind == ATOLL_TRIGGER_OCCUPANCY ||
                   is_limiter(h, ATOLL_LIMITER_OCCUPANCY, ATOLL_LIMITER_TAIL) ||
                   is_limiter(h, ATOLL_LIMITER_LATENCY, ATOLL_LIMITER_LAUNCH);
    }
    if (file.hint_count < 40 || correctness < 9 || memory < 7 || instruction < 5 || latency < 10 ||
        hopper < 9)
        fail_msg(
            "%zu hints: %d of correctness, %d of memory, %d of instructions, %d of latency, %d of Hopper",
            file.hint_count, correctness, memory, instruction, latency, hopper);
    atoll_hint_file_fini(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_round_trip), cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_merge), cmocka_unit_test(test_knowledge)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
