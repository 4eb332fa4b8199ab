/* Reading a journal: torn at every byte, damaged at every byte, out of order, newer. */
#include "tests/support/expect.h"

#include "archive-h5/journal/journal.h"
#include "archive-h5/journal/journal_reader.h"
#include "base/arena.h"
#include "base/frame.h"
#include "tests/unit/archive-h5/scratch.h"

static char dir[PATH_MAX], path[PATH_MAX];
static uint64_t batch_end[8]; /* file sizes after each sync; [0] after the header */

#define BATCHES 4

/* A journal of BATCHES synced batches of two events with decisions each. */
static int set_up(void **state)
{
    (void)state;
    struct atoll_journal_header h = {.engine_version = 1, .name = "local.0"};
    scratch_make(dir);
    scratch_join(path, dir, ATOLL_JOURNAL_FILE);
    struct atoll_journal *j = atoll_journal_create(path, &h, NULL, NULL);
    batch_end[0] = atoll_journal_durable_bytes(j);
    for (unsigned b = 1; b <= BATCHES; b++) {
        for (unsigned i = 0; i < 2; i++) {
            struct atoll_event e;
            struct atoll_decision d = sample_evaluate(b * 2 + i, 0);
            uint64_t number;
            sample_tick(&e, b);
            atoll_journal_append_event(j, &e, &number, NULL);
            atoll_journal_append_decisions(j, number, &d, 1, NULL);
        }
        atoll_journal_sync(j, NULL);
        batch_end[b] = atoll_journal_durable_bytes(j);
    }
    atoll_journal_destroy(j);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    scratch_remove(dir);
    return 0;
}

/* 0 and the end, or the error. */
static int read_all(struct atoll_journal_end *ret_end, uint64_t *ret_events, struct atoll_err *err)
{
    const struct atoll_record *record;
    int got;
    struct atoll_journal_reader *r = atoll_journal_reader_open(path, err);
    assert_non_null(r);
    *ret_events = 0;
    while ((got = atoll_journal_reader_next(r, &record, err)) == 1)
        *ret_events += record->type == ATOLL_RECORD_EVENT;
    atoll_journal_reader_end(r, ret_end);
    atoll_journal_reader_close(r);
    return got;
}

static void test_torn_at_every_byte(void **state)
{
    (void)state;
    size_t length;
    char *bytes = scratch_read(path, &length);
    struct atoll_journal_end end;
    uint64_t events, last = 0;
    assert_int_equal(length, batch_end[BATCHES]);
    for (size_t cut = 0; cut <= length; cut++) {
        scratch_write(path, bytes, cut);
        struct atoll_err err = ATOLL_ERR_INIT;
        if (read_all(&end, &events, &err) != 0)
            fail_msg("cut at %zu: %s", cut, err.text);
        assert_int_equal(end.good_bytes + end.lost_bytes, cut);
        assert_true(events >= last); /* never fewer events from more bytes */
        last = events;
        if (cut < batch_end[0])
            assert_int_equal(end.ending, ATOLL_JOURNAL_STILLBORN);
        else
            assert_int_equal(end.ending, end.lost_bytes ? ATOLL_JOURNAL_TORN : ATOLL_JOURNAL_KILLED);
    }
    assert_int_equal(last, 2 * BATCHES);
    free(bytes);
}

/* The last batch was never acknowledged: whatever of it the disk kept, the rest is a torn tail.  Damage to
 * what a later record calls durable is corruption. */
static void test_damage_at_every_byte(void **state)
{
    (void)state;
    size_t length;
    char *bytes = scratch_read(path, &length);
    for (size_t at = 0; at < length; at++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_journal_end end;
        uint64_t events;
        bytes[at] = (char)(bytes[at] ^ 0x41);
        scratch_write(path, bytes, length);
        int got = read_all(&end, &events, &err);
        if (at < batch_end[BATCHES - 1]) {
            assert_int_equal(got, -1);
            assert_int_equal(err.code, ATOLL_E_CORRUPT);
            assert_non_null(strstr(err.text, "journal.atl"));
        } else {
            if (got != 0)
                fail_msg("byte %zu: %s", at, err.text);
            assert_int_equal(end.ending, ATOLL_JOURNAL_TORN);
            assert_true(events >= 2 * (BATCHES - 1));
        }
        bytes[at] = (char)(bytes[at] ^ 0x41);
    }
    free(bytes);
}

/* A power loss inside the last write may keep its second page and not its first. */
static void test_hole_in_last_batch_is_torn(void **state)
{
    (void)state;
    size_t length;
    char *bytes = scratch_read(path, &length);
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_journal_end end;
    uint64_t events;
    memset(bytes + batch_end[BATCHES - 1], 0, 40);
    scratch_write(path, bytes, length);
    assert_int_equal(read_all(&end, &events, &err), 0);
    assert_int_equal(end.ending, ATOLL_JOURNAL_TORN);
    assert_int_equal(end.good_bytes, batch_end[BATCHES - 1]);
    assert_int_equal(events, 2 * (BATCHES - 1));
    free(bytes);
}

static void put_frame(struct atoll_buffer *file, uint16_t type, struct atoll_buffer *payload)
{
    assert_int_equal(atoll_frame_encode(file, type, payload->data, payload->length, NULL), 0);
    atoll_buffer_clear(payload);
}

struct order_case {
    const char *name;
    const char *records; /* h header, n newer header, e event 0, E event 1, d decisions of 0, s snapshot of 0,
                            c close, u unknown */
    enum atoll_code code;
    const char *text;
};

static const struct order_case order_cases[] = {
    {"header only", "h", ATOLL_OK, NULL},
    {"normal", "heEdsc", ATOLL_OK, NULL},
    {"no header", "e", ATOLL_E_CORRUPT, "before the header"},
    {"two headers", "hh", ATOLL_E_CORRUPT, "comes twice"},
    {"newer", "n", ATOLL_E_SCHEMA, "knows up to 3"},
    {"unknown record", "hu", ATOLL_E_SCHEMA, "use a newer Atoll"},
    {"gap", "hE", ATOLL_E_CORRUPT, "out of order"},
    {"event twice", "hee", ATOLL_E_CORRUPT, "out of order"},
    {"decisions without event", "hd", ATOLL_E_CORRUPT, "belongs to no event"},
    {"decisions twice", "hedd", ATOLL_E_CORRUPT, "belongs to no event"},
    {"snapshot without event", "hs", ATOLL_E_CORRUPT, "not there"},
    {"after close", "hce", ATOLL_E_CORRUPT, "follows a close"},
};

static void put_record(struct atoll_buffer *file, char what)
{
    struct atoll_journal_header h = {
        .schema = what == 'n' ? ATOLL_JOURNAL_SCHEMA + 1 : 1, .engine_version = 1, .name = "local.0"};
    struct atoll_decision d = sample_evaluate(1, 0);
    struct atoll_event e;
    struct atoll_buffer p;
    uint16_t type = ATOLL_RECORD_HEADER;
    atoll_buffer_init(&p, 1 << 20);
    sample_tick(&e, 1);
    switch (what) {
    case 'h':
    case 'n': atoll_record_put_header(&p, &h); break;
    case 'e':
    case 'E':
        type = ATOLL_RECORD_EVENT;
        atoll_record_put_event(&p, 0, what == 'E', &e);
        break;
    case 'd':
        type = ATOLL_RECORD_DECISIONS;
        atoll_record_put_decisions(&p, 0, 0, &d, 1);
        break;
    case 's':
        type = ATOLL_RECORD_SNAPSHOT;
        atoll_record_put_snapshot(&p, 0, 0, "x", 1);
        break;
    case 'c':
        type = ATOLL_RECORD_CLOSE;
        atoll_record_put_close(&p, 0, 1, "end");
        break;
    default: type = 999; atoll_buffer_put_u64(&p, 0);
    }
    put_frame(file, type, &p);
    atoll_buffer_fini(&p);
}

static void test_order(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(order_cases) / sizeof(*order_cases); i++) {
        const struct order_case *c = &order_cases[i];
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_journal_end end;
        struct atoll_buffer file;
        uint64_t events;
        atoll_buffer_init(&file, 1 << 20);
        for (const char *r = c->records; *r; r++)
            put_record(&file, *r);
        scratch_write(path, file.data, file.length);
        atoll_buffer_fini(&file);
        int got = read_all(&end, &events, &err);
        if (got != (c->code ? -1 : 0) || err.code != c->code || (c->text && !strstr(err.text, c->text)))
            fail_msg("%s: %d %s %s", c->name, got, atoll_code_name(err.code), err.text);
    }
}

static void test_no_journal(void **state)
{
    (void)state;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_journal_end end;
    uint64_t events;
    static const size_t lengths[] = {36, 3, 1};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
        scratch_write(path, "name: no journal at all, but a text\n", lengths[i]);
        assert_int_equal(read_all(&end, &events, &err), -1);
        assert_int_equal(err.code, ATOLL_E_CORRUPT);
        assert_non_null(strstr(err.text, "is not a journal"));
    }
    unlink(path);
    assert_null(atoll_journal_reader_open(path, &err));
    assert_int_equal(err.code, ATOLL_E_NOTFOUND);
    atoll_journal_reader_close(NULL);
}

/* What a golden journal holds: its evaluations, those with a profile, and its device. */
struct golden {
    uint32_t schema;
    unsigned evaluations, profiles, devices, capability;
};

static void count_golden(const struct atoll_record *record, struct atoll_arena *arena, struct golden *g)
{
    struct atoll_event e;
    struct atoll_err err = ATOLL_ERR_INIT;
    if (record->type == ATOLL_RECORD_HEADER)
        g->schema = record->header.schema;
    if (record->type == ATOLL_RECORD_DEVICE) {
        g->devices++;
        g->capability = record->device.limits.compute_capability;
    }
    if (record->type != ATOLL_RECORD_EVENT)
        return;
    if (atoll_event_decode(record->bytes, record->length, arena, &e, &err) != 0)
        fail_msg("%s", err.text);
    if (e.type == ATOLL_EVENT_EVALUATED) {
        g->evaluations++;
        g->profiles += !atoll_profile_is_empty(&e.evaluation.profile);
    }
    atoll_event_fini(&e);
}

/* Journals of every released schema are read to their end. */
static void test_golden(void **state)
{
    (void)state;
    static const struct {
        const char *file;
        struct golden holds;
    } cases[] = {{"journal-1.atl", {1, 51, 0, 1, 0}}, {"journal-2.atl", {2, 51, 23, 1, 90}}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct golden g = {0};
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_journal_end end;
        const struct atoll_record *record;
        struct atoll_arena *arena = atoll_arena_create((size_t)16 << 20, NULL);
        char file[PATH_MAX];
        int got;
        snprintf(file, sizeof(file), "%s/tests/fixtures/archive/%s", ATOLL_SOURCE_DIR, cases[i].file);
        struct atoll_journal_reader *r = atoll_journal_reader_open(file, &err);
        assert_non_null(r);
        while ((got = atoll_journal_reader_next(r, &record, &err)) == 1)
            count_golden(record, arena, &g);
        if (got < 0)
            fail_msg("%s", err.text);
        atoll_journal_reader_end(r, &end);
        assert_int_equal(end.ending, ATOLL_JOURNAL_CLOSED);
        assert_memory_equal(&g, &cases[i].holds, sizeof(g));
        atoll_journal_reader_close(r);
        atoll_arena_destroy(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_torn_at_every_byte, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_damage_at_every_byte, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_hole_in_last_batch_is_torn, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_journal, set_up, tear_down),
        cmocka_unit_test(test_golden),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
