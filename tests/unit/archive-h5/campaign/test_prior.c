/* prior.atl: what a campaign starts with, whole or refused. */
#include "tests/support/expect.h"

#include "archive-h5/campaign/prior.h"
#include "base/arena.h"
#include "tests/unit/archive-h5/scratch.h"

#define TASK_DIR ATOLL_SOURCE_DIR "/tests/fixtures/archive/tasks/matmul"

static char dir[PATH_MAX], campaign_dir[PATH_MAX];
static struct atoll_arena *arena;

static int set_up(void **state)
{
    (void)state;
    scratch_make(dir);
    scratch_join(campaign_dir, dir, "campaign");
    arena = atoll_arena_create(1 << 20, NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    atoll_arena_destroy(arena);
    scratch_remove(dir);
    return 0;
}

static struct atoll_event source_event(void)
{
    struct atoll_event e;
    atoll_event_init(&e, ATOLL_EVENT_SOURCE);
    e.language = "c";
    e.origin = "import";
    e.source = "int x;";
    return e;
}

static struct atoll_event hint_event(int64_t value)
{
    struct atoll_event e;
    atoll_event_init(&e, ATOLL_EVENT_HINT);
    e.hint.choice.count = 2;
    e.hint.choice.values[0] = value;
    e.hint.time_ns = 5e5;
    return e;
}

/* A source and two hints. */
static void fill(struct atoll_buffer *out)
{
    const struct atoll_event events[] = {source_event(), hint_event(3), hint_event(4)};
    atoll_buffer_init(out, 1 << 20);
    for (size_t i = 0; i < 3; i++)
        atoll_prior_put(out, &events[i]);
    assert_int_equal(atoll_buffer_check(out, NULL), 0);
}

/* With the digest that its option says; NULL: of the bytes. */
static struct atoll_campaign *create(const struct atoll_buffer *prior, const char *digest)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_id id = atoll_id_of(prior ? prior->data : NULL, prior ? prior->length : 0);
    char hex[ATOLL_ID_HEX];
    atoll_id_hex(&id, hex);
    struct atoll_task *task = atoll_task_load(TASK_DIR, &err);
    if (!task)
        fail_msg("%s", err.text);
    const struct atoll_campaign_task told = {task->name, TASK_DIR, task->id};
    const struct atoll_config_option option = {ATOLL_PRIOR_OPTION, digest ? digest : hex};
    struct atoll_config config = {.engine_version = 1,
                                  .atoll_version = "0.1.0",
                                  .task_count = 1,
                                  .tasks = &told,
                                  .option_count = prior != NULL,
                                  .options = &option,
                                  .prior = prior ? prior->data : NULL,
                                  .prior_length = prior ? prior->length : 0};
    atoll_search_defaults(&config.search);
    struct atoll_campaign *c = atoll_campaign_create(campaign_dir, &config, NULL, &err);
    if (!c)
        fail_msg("%s", err.text);
    atoll_task_destroy(task);
    return c;
}

static void test_round_trip(void **state)
{
    (void)state;
    struct atoll_buffer bytes;
    struct atoll_prior prior;
    struct atoll_event e;
    size_t cursor = 0;
    fill(&bytes);
    struct atoll_campaign *c = create(&bytes, NULL);
    assert_int_equal(atoll_prior_read(c, &prior, NULL), 0);
    assert_int_equal(prior.count, 3);
    assert_int_equal(atoll_prior_next(&prior, &cursor, arena, &e, NULL), 1);
    assert_int_equal(e.type, ATOLL_EVENT_SOURCE);
    assert_string_equal(e.source, "int x;");
    assert_string_equal(e.origin, "import");
    for (int64_t value = 3; value < 5; value++) {
        assert_int_equal(atoll_prior_next(&prior, &cursor, arena, &e, NULL), 1);
        assert_int_equal(e.type, ATOLL_EVENT_HINT);
        assert_true(e.hint.choice.values[0] == value && e.hint.time_ns == 5e5);
    }
    assert_int_equal(atoll_prior_next(&prior, &cursor, arena, &e, NULL), 0);
    atoll_prior_fini(&prior);
    atoll_campaign_close(c);
    atoll_buffer_fini(&bytes);
}

static void test_none(void **state)
{
    (void)state;
    struct atoll_prior prior = {.count = 9};
    struct atoll_campaign *c = create(NULL, NULL);
    assert_int_equal(atoll_prior_read(c, &prior, NULL), 0);
    assert_true(prior.count == 0 && prior.bytes == NULL);
    atoll_prior_fini(&prior);
    atoll_campaign_close(c);
}

static void refuse(const struct atoll_campaign *c, enum atoll_code code, const char *text)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_prior prior = {.count = 9};
    assert_int_equal(atoll_prior_read(c, &prior, &err), -1);
    assert_int_equal(err.code, code);
    if (!strstr(err.text, text) || !strstr(err.text, ATOLL_PRIOR_FILE))
        fail_msg("%s", err.text);
    assert_int_equal(prior.count, 9); /* untouched */
}

static void test_missing_and_changed(void **state)
{
    (void)state;
    struct atoll_buffer bytes;
    char path[PATH_MAX];
    fill(&bytes);
    struct atoll_campaign *c = create(&bytes, NULL);
    scratch_join(path, campaign_dir, ATOLL_PRIOR_FILE);
    bytes.data[20] ^= 1;
    scratch_write(path, bytes.data, bytes.length);
    refuse(c, ATOLL_E_CORRUPT, "not the file that the campaign was made with");
    assert_int_equal(unlink(path), 0);
    refuse(c, ATOLL_E_CORRUPT, "prior.atl");
    atoll_campaign_close(c);
    atoll_buffer_fini(&bytes);
}

/* Bytes that somebody digested, and that hold something else. */
static void test_hostile(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text;
        enum atoll_event_type type;
        size_t cut;
    } cases[] = {{"another type", "another type", ATOLL_EVENT_FINISH, 0},
                 {"cut", "ends within an event", ATOLL_EVENT_HINT, 1}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_buffer bytes;
        struct atoll_event e;
        fill(&bytes);
        atoll_event_init(&e, cases[i].type);
        atoll_prior_put(&bytes, &e);
        bytes.length -= cases[i].cut;
        scratch_join(campaign_dir, dir, cases[i].name);
        struct atoll_campaign *c = create(&bytes, NULL);
        refuse(c, ATOLL_E_PROTOCOL, cases[i].text);
        atoll_campaign_close(c);
        atoll_buffer_fini(&bytes);
    }
}

static void test_too_large_for_its_buffer(void **state)
{
    (void)state;
    struct atoll_buffer bytes;
    struct atoll_event e = hint_event(1);
    atoll_buffer_init(&bytes, 16);
    atoll_prior_put(&bytes, &e);
    assert_int_equal(atoll_buffer_check(&bytes, NULL), -1);
    atoll_buffer_fini(&bytes);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {CASE(test_round_trip), CASE(test_none), CASE(test_missing_and_changed),
                                       CASE(test_hostile), CASE(test_too_large_for_its_buffer)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
