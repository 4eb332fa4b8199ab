/* Counting a journal by the heads of its frames: as the reader does, torn at every byte, damaged at every byte, from every
 * record on. */
#include "tests/support/expect.h"

#include "archive-h5/journal/journal.h"
#include "archive-h5/journal/journal_reader.h"
#include "archive-h5/journal/journal_tally.h"
#include "base/arena.h"
#include "base/frame.h"
#include "tests/unit/archive-h5/scratch.h"

#define GROUPS 5

static char dir[PATH_MAX], path[PATH_MAX];
static uint64_t group_end[GROUPS + 1]; /* file sizes after each sync; [0] after the header */

static void event_append(struct atoll_journal *j, enum atoll_event_type type, int64_t campaign_ns)
{
    struct atoll_decision d = sample_evaluate(1, 0);
    struct atoll_event e;
    uint64_t number;
    atoll_event_init(&e, type);
    e.campaign_ns = campaign_ns;
    e.unix_ns = 1700000000000000000 + campaign_ns;
    assert_int_equal(atoll_journal_append_event(j, &e, &number, NULL), 0);
    assert_int_equal(atoll_journal_append_decisions(j, number, &d, 1, NULL), 0);
    atoll_event_fini(&e);
}

/* Groups of a result, a comparison and a tick; the last group has the close record too. */
static int set_up(void **state)
{
    (void)state;
    struct atoll_journal_header h = {.engine_version = 1, .name = "local.0"};
    scratch_make(dir);
    scratch_join(path, dir, ATOLL_JOURNAL_FILE);
    struct atoll_journal *j = atoll_journal_create(path, &h, NULL, NULL);
    group_end[0] = atoll_journal_durable_bytes(j);
    for (int g = 1; g <= GROUPS; g++) {
        event_append(j, ATOLL_EVENT_EVALUATED, g * 1000);
        event_append(j, ATOLL_EVENT_DUELLED, g * 1000 + 1);
        event_append(j, ATOLL_EVENT_TICK, g * 1000 + 2);
        if (g == 2)
            assert_int_equal(atoll_journal_append_snapshot(j, 1, dir, sizeof(dir), NULL), 0);
        if (g == GROUPS)
            assert_int_equal(atoll_journal_append_close(j, 9, "asked", NULL), 0);
        assert_int_equal(atoll_journal_sync(j, NULL), 0);
        group_end[g] = atoll_journal_durable_bytes(j);
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

/* What the reader that decodes everything finds. */
static int read_all(struct atoll_journal_tally *ret, struct atoll_err *err)
{
    const struct atoll_record *record;
    struct atoll_journal_end end;
    struct atoll_arena *arena = atoll_arena_create(1 << 20, NULL);
    struct atoll_journal_reader *r = atoll_journal_reader_open(path, err);
    int got = 1;
    assert_non_null(r);
    *ret = (struct atoll_journal_tally){.events = 0};
    while ((got = atoll_journal_reader_next(r, &record, err)) == 1) {
        struct atoll_event e;
        if (record->type == ATOLL_RECORD_CLOSE)
            memcpy(ret->reason, record->reason, sizeof(ret->reason));
        if (record->type != ATOLL_RECORD_EVENT)
            continue;
        assert_int_equal(atoll_event_decode(record->bytes, record->length, arena, &e, NULL), 0);
        ret->events++;
        ret->evaluated += e.type == ATOLL_EVENT_EVALUATED;
        ret->duelled += e.type == ATOLL_EVENT_DUELLED;
        ret->campaign_ns = e.campaign_ns;
        ret->unix_ns = e.unix_ns;
        atoll_event_fini(&e);
    }
    atoll_journal_reader_end(r, &end);
    ret->is_closed = end.ending == ATOLL_JOURNAL_CLOSED;
    ret->lost_bytes = end.lost_bytes;
    ret->walked_bytes = end.good_bytes;
    atoll_journal_reader_close(r);
    atoll_arena_destroy(arena);
    return got;
}

static void tally_equal(const struct atoll_journal_tally *a, const struct atoll_journal_tally *b)
{
    assert_int_equal(a->events, b->events);
    assert_int_equal(a->evaluated, b->evaluated);
    assert_int_equal(a->duelled, b->duelled);
    assert_int_equal(a->campaign_ns, b->campaign_ns);
    assert_int_equal(a->unix_ns, b->unix_ns);
    assert_int_equal(a->is_closed, b->is_closed);
    assert_string_equal(a->reason, b->reason);
    assert_int_equal(a->lost_bytes, b->lost_bytes);
    assert_int_equal(a->walked_bytes, b->walked_bytes);
}

static int tally_of(uint64_t from, uint64_t until, struct atoll_journal_tally *ret, struct atoll_err *err)
{
    *ret = (struct atoll_journal_tally){.events = 0};
    return atoll_journal_tally(path, from, until, ret, err);
}

static void test_whole(void **state)
{
    (void)state;
    struct atoll_journal_tally want, got;
    assert_int_equal(read_all(&want, NULL), 0);
    assert_int_equal(tally_of(0, UINT64_MAX, &got, NULL), 1);
    tally_equal(&got, &want);
    assert_int_equal(got.evaluated, GROUPS);
    assert_int_equal(got.duelled, GROUPS);
    assert_int_equal(got.campaign_ns, GROUPS * 1000 + 2);
    assert_string_equal(got.reason, "asked");
}

static void test_torn_at_every_byte(void **state)
{
    (void)state;
    size_t length;
    char *bytes = scratch_read(path, &length);
    for (size_t cut = 0; cut <= length; cut += EVERY_BYTE) {
        struct atoll_journal_tally want, got;
        scratch_write(path, bytes, cut);
        assert_int_equal(read_all(&want, NULL), 0);
        assert_int_equal(tally_of(0, UINT64_MAX, &got, NULL), 1);
        tally_equal(&got, &want);
    }
    free(bytes);
}

/* Where the file is damaged: the reader's word where it says torn; refused or, for old payloads alone, not noticed where it
 * says damaged. */
static void test_damage_at_every_byte(void **state)
{
    (void)state;
    size_t length, refused = 0;
    char *bytes = scratch_read(path, &length);
    for (size_t at = 0; at < length; at += EVERY_BYTE) {
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_journal_tally want, got;
        bytes[at] = (char)(bytes[at] ^ 0x41);
        scratch_write(path, bytes, length);
        int read = read_all(&want, NULL), counted = tally_of(0, UINT64_MAX, &got, &err);
        if (read == 0) {
            assert_int_equal(counted, 1);
            tally_equal(&got, &want);
        } else if (counted != 1) {
            refused++;
            assert_int_equal(err.code, ATOLL_E_CORRUPT);
            assert_non_null(strstr(err.text, "journal.atl"));
        } else {
            assert_int_equal(got.events, 3 * GROUPS);
        }
        bytes[at] = (char)(bytes[at] ^ 0x41);
    }
    assert_true(refused > 20 * 4 * GROUPS / EVERY_BYTE); /* headers, at least */
    free(bytes);
}

/* A power loss may keep any pages of the last group: with the first bytes of its payloads gone the heads still look well. */
static void test_holes_in_last_group(void **state)
{
    (void)state;
    size_t length;
    char *bytes = scratch_read(path, &length);
    for (uint64_t at = group_end[GROUPS - 1]; at + 24 < length; at += 16) {
        struct atoll_journal_tally want, got;
        char kept[400];
        size_t hole = length - at < sizeof(kept) ? length - at : sizeof(kept);
        memcpy(kept, bytes + at, hole);
        memset(bytes + at, 0, hole);
        scratch_write(path, bytes, length);
        memcpy(bytes + at, kept, hole);
        assert_int_equal(read_all(&want, NULL), 0);
        assert_int_equal(tally_of(0, UINT64_MAX, &got, NULL), 1);
        tally_equal(&got, &want);
    }
    free(bytes);
}

/* From each place of the file: what lies behind it where a record starts there, else 0. */
static void test_from_every_byte(void **state)
{
    (void)state;
    struct atoll_journal_tally whole, got;
    uint64_t boundaries = 0;
    assert_int_equal(tally_of(0, UINT64_MAX, &whole, NULL), 1);
    for (uint64_t from = 1; from <= group_end[GROUPS] + 10; from++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        int rc = tally_of(from, UINT64_MAX, &got, &err);
        if (rc == 0) {
            assert_int_equal(got.events + got.walked_bytes, 0);
            assert_int_equal(err.code, ATOLL_OK);
            continue;
        }
        assert_int_equal(rc, 1);
        boundaries++;
        assert_int_equal(got.walked_bytes, group_end[GROUPS] - from);
        assert_int_equal(got.is_closed, from < group_end[GROUPS]);
    }
    assert_int_equal(boundaries, 6 * GROUPS + 1 + 1 + 1); /* events, decisions, snapshot, close, the end */
    for (int g = 0; g < GROUPS; g++) {
        assert_int_equal(tally_of(group_end[g], UINT64_MAX, &got, NULL), 1);
        assert_int_equal(got.evaluated, GROUPS - g);
    }
}

static void test_sealed(void **state)
{
    (void)state;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_journal_tally got;
    for (int g = 1; g <= GROUPS; g++) {
        assert_int_equal(tally_of(0, group_end[g], &got, NULL), 1);
        assert_int_equal(got.evaluated, g);
        assert_int_equal(got.is_closed, g == GROUPS);
        assert_int_equal(tally_of(group_end[g], group_end[g], &got, NULL), 1);
        assert_int_equal(got.events, 0);
    }
    assert_int_equal(tally_of(0, group_end[2] - 1, &got, &err), -1);
    assert_int_equal(err.code, ATOLL_E_CORRUPT);
    assert_non_null(strstr(err.text, "sealed"));
    err = (struct atoll_err)ATOLL_ERR_INIT;
    assert_int_equal(tally_of(0, group_end[GROUPS] + 1, &got, &err), -1);
    assert_int_equal(err.code, ATOLL_E_CORRUPT);
    assert_int_equal(tally_of(group_end[3], group_end[2], &got, NULL), 0);
}

static void frame_append(uint16_t type, const void *payload, size_t length, int version)
{
    struct atoll_buffer frame;
    FILE *f = fopen(path, "ab");
    atoll_buffer_init(&frame, 1 << 20);
    assert_int_equal(atoll_frame_encode(&frame, type, payload, length, NULL), 0);
    frame.data[4] = (unsigned char)version;
    uint32_t crc = atoll_crc32c(0, frame.data, 20);
    for (int i = 0; i < 4; i++)
        frame.data[20 + i] = (unsigned char)(crc >> (8 * i));
    assert_int_equal(fwrite(frame.data, 1, frame.length, f), frame.length);
    assert_int_equal(fclose(f), 0);
    atoll_buffer_fini(&frame);
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        uint16_t type;
        int version;
        enum atoll_code code;
        const char *text;
    } cases[] = {{ATOLL_RECORD_DEVICE, 2, ATOLL_E_CORRUPT, "follows the close"},
                 {ATOLL_RECORD_CLOSE + 1, 2, ATOLL_E_SCHEMA, "use a newer Atoll"},
                 {ATOLL_RECORD_EVENT, 4, ATOLL_E_SCHEMA, "version 4"}};
    static const unsigned char payload[64];
    size_t length;
    char *bytes = scratch_read(path, &length);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_journal_tally got;
        scratch_write(path, bytes, length);
        frame_append(cases[i].type, payload, sizeof(payload), cases[i].version);
        assert_int_equal(tally_of(0, UINT64_MAX, &got, &err), -1);
        assert_int_equal(err.code, cases[i].code);
        assert_non_null(strstr(err.text, cases[i].text));
    }
    free(bytes);
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_journal_tally got;
    unlink(path);
    assert_int_equal(tally_of(0, UINT64_MAX, &got, &err), -1);
    assert_int_equal(err.code, ATOLL_E_NOTFOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_torn_at_every_byte, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_damage_at_every_byte, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_holes_in_last_group, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_from_every_byte, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_sealed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
