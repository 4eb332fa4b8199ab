/* What engine version 6 decided where nobody has torch this engine decides as well: a journal of that version (a cassette,
 * tests/fixtures/cassettes) through this one.  States are laid out anew, so snapshots are not compared. */
#include "tests/support/expect.h"

#include <stdlib.h>

#include "archive-h5/campaign/campaign.h"
#include "base/arena.h"
#include "evolution/engine/engine.h"

#define QUEUE       512
#define ARENA_BYTES ((size_t)64 << 20)

/* The decisions of events whose own are still to come in the journal. */
struct walk {
    struct atoll_engine *engine;
    struct atoll_arena *arena;
    struct {
        uint64_t event;
        struct atoll_buffer bytes;
    } queue[QUEUE];
    size_t first, count;
    uint64_t compared, versions;
};

/* Version 10 holds every seed against the fastest there is; what is decided beside that is compared. */
static void sink(void *context, const struct atoll_decision *d)
{
    struct atoll_decision plain = *d;
    if (d->type == ATOLL_DECIDE_EVALUATE && d->op == ATOLL_OPERATOR_SEED)
        plain.incumbent_ns = 0;
    atoll_decision_encode(&plain, context);
}

static void step(struct walk *w, const struct atoll_record *record)
{
    struct atoll_event event;
    struct atoll_err err = ATOLL_ERR_INIT;
    size_t at = (w->first + w->count++) % QUEUE;
    assert_true(w->count <= QUEUE);
    w->queue[at].event = record->event;
    atoll_buffer_init(&w->queue[at].bytes, 1u << 26);
    atoll_arena_reset(w->arena);
    int failed = atoll_event_decode(record->bytes, record->length, w->arena, &event, &err);
    if (!failed && event.type == ATOLL_EVENT_START) /* what version 8 asks beside the strategy */
        event.search.memory = event.search.distil = event.search.template_rounds = 0;
    if (failed || atoll_engine_step(w->engine, &event, sink, &w->queue[at].bytes, &err))
        fail_msg("event %llu: %s", (unsigned long long)record->event, err.text);
    atoll_event_fini(&event);
}

static void compare(struct walk *w, const struct atoll_record *record)
{
    struct atoll_buffer bytes;
    struct atoll_decision d;
    size_t cursor = 0;
    assert_true(w->count > 0 && w->queue[w->first].event == record->event);
    atoll_buffer_init(&bytes, 1u << 26);
    while (atoll_record_decision(record, &cursor, &d, NULL) == 1) {
        sink(&bytes, &d);
        w->compared++;
    }
    const struct atoll_buffer *derived = &w->queue[w->first].bytes;
    if (bytes.length != derived->length ||
        (bytes.length > 0 && memcmp(bytes.data, derived->data, bytes.length) != 0))
        fail_msg("event %llu: other decisions", (unsigned long long)record->event);
    atoll_buffer_fini(&bytes);
    atoll_buffer_fini(&w->queue[w->first].bytes);
    w->first = (w->first + 1) % QUEUE;
    w->count--;
}

static int visit(void *context, const struct atoll_attempt *attempt, const struct atoll_record *record,
                 struct atoll_err *err)
{
    struct walk *w = context;
    if (record->type == ATOLL_RECORD_HEADER)
        w->versions |= UINT64_C(1) << record->header.engine_version;
    else if (record->type == ATOLL_RECORD_EVENT)
        step(w, record);
    else if (record->type == ATOLL_RECORD_DECISIONS)
        compare(w, record);
    return 0;
}

static void version_6_decides_alike(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_engine_status status;
    struct walk *w = calloc(1, sizeof(*w));
    struct atoll_campaign *campaign =
        atoll_campaign_open(ATOLL_SOURCE_DIR "/tests/fixtures/cassettes/extended-null/campaign", NULL, &err);
    assert_true(w && campaign);
    w->engine = atoll_engine_create(&err);
    w->arena = atoll_arena_create(ARENA_BYTES, &err);
    if (atoll_campaign_replay(campaign, visit, w, NULL, &err) != 0)
        fail_msg("%s", err.text);
    assert_int_equal(w->versions, UINT64_C(1) << 6);
    assert_true(w->compared > 900 && w->count == 0);
    atoll_engine_status(w->engine, &status);
    assert_int_equal(status.stopped, 1);
    atoll_engine_destroy(w->engine);
    atoll_arena_destroy(w->arena);
    atoll_campaign_close(campaign);
    free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(version_6_decides_alike)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
