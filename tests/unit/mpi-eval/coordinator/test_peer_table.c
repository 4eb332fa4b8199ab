/* To whom waiting orders are sent, by what the peers have in hand and where a task is at home. */
#include "tests/support/expect.h"

#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "mpi-eval/coordinator/peer_table.h"

#define PEERS  2
#define WANTED 8

/* Orders alone are sent here: of what candidate is no matter. */
int __wrap_atoll_engine_source(const struct atoll_engine *engine, const struct atoll_id *source,
                               const char **ret_language, const char **ret_text);
int __wrap_atoll_engine_source(const struct atoll_engine *engine, const struct atoll_id *source,
                               const char **ret_language, const char **ret_text)
{
    *ret_language = "c";
    *ret_text = "";
    return 0;
}

void __wrap_atoll_engine_bars(const struct atoll_engine *engine, const struct atoll_decision *decision,
                              double ret_bars_ns[ATOLL_TASK_VARIANT_LIMIT]);
void __wrap_atoll_engine_bars(const struct atoll_engine *engine, const struct atoll_decision *decision,
                              double ret_bars_ns[ATOLL_TASK_VARIANT_LIMIT])
{
    memset(ret_bars_ns, 0, ATOLL_TASK_VARIANT_LIMIT * sizeof(*ret_bars_ns));
}

static int carry(void *context, unsigned peer, const void *frame, size_t length, struct atoll_err *err)
{
    return 0;
}

struct scene {
    struct atoll_peers carrier;
    struct atoll_setup setup;
    struct atoll_campaign_clock clock;
    struct atoll_engine *engine;
    struct atoll_dispatch *dispatch;
    struct atoll_peer_table *table;
    uint64_t next_evaluation;
};

static void take(struct scene *s, unsigned peer, uint32_t wanted)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_device_info device = {.model = "m"};
    struct atoll_buffer payload;
    assert_int_equal(atoll_peer_table_heard(s->table, peer, ATOLL_MSG_HELLO, &err), 0);
    atoll_peer_table_hello(s->table, peer, &device);
    atoll_buffer_init(&payload, 64);
    atoll_buffer_put_u32(&payload, wanted);
    struct atoll_frame frame = {.type = ATOLL_MSG_REQUEST, .payload = payload.data, .length = payload.length};
    assert_int_equal(atoll_peer_table_take(s->table, peer, &frame, &err), 1);
    atoll_buffer_fini(&payload);
}

static int set_up(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct scene *s = calloc(1, sizeof(*s));
    assert_non_null(s);
    s->carrier = (struct atoll_peers){.count = PEERS, .send = carry};
    s->engine = atoll_engine_create(&err);
    s->dispatch = atoll_dispatch_create(PEERS, &err);
    struct atoll_peer_table_settings settings = {
        .carrier = &s->carrier, .setup = &s->setup, .clock = &s->clock, .dispatch = s->dispatch};
    s->table = atoll_peer_table_create(&settings, &err);
    assert_true(s->engine && s->dispatch && s->table);
    atoll_peer_table_set_engine(s->table, s->engine);
    for (unsigned i = 0; i < PEERS; i++)
        take(s, i, WANTED);
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *s = *state;
    atoll_peer_table_destroy(s->table);
    atoll_dispatch_destroy(s->dispatch);
    atoll_engine_destroy(s->engine);
    free(s);
    return 0;
}

/* Of each task of a list, ended by -1. */
static void decide(struct scene *s, const int *tasks)
{
    for (; *tasks >= 0; tasks++) {
        struct atoll_decision d = {
            .type = ATOLL_DECIDE_EVALUATE, .evaluation = ++s->next_evaluation, .task = (uint32_t)*tasks};
        assert_int_equal(atoll_dispatch_decide(s->dispatch, &d, NULL), 0);
    }
}

/* Where a task is at home, its orders go while the others have half of what they want; nobody lacks work for that, and nothing
 * waits while somebody has room. */
static void test_orders_go_home(void **state)
{
    static const struct {
        int tasks[8];
        unsigned in_hand[PEERS];
    } rows[] = {
        {{0, 1, -1}, {1, 1}},             /* one each, which makes two homes */
        {{0, 0, 0, 0, 0, 0, -1}, {4, 4}}, /* to both alike, up to half */
        {{0, 0, -1}, {6, 4}},
        {{1, -1}, {6, 5}},
        {{2, 3, -1}, {7, 6}},    /* at home nowhere so far */
        {{0, 0, 0, -1}, {8, 8}}, /* there is room for one of them at home */
        {{1, -1}, {8, 8}},       /* and nowhere for this one */
    };
    struct atoll_err err = ATOLL_ERR_INIT;
    struct scene *s = *state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        decide(s, rows[i].tasks);
        assert_int_equal(atoll_peer_table_send_orders(s->table, &err), 0);
        for (unsigned k = 0; k < PEERS; k++)
            if (atoll_dispatch_sent_count(s->dispatch, k) != rows[i].in_hand[k])
                fail_msg("row %zu: peer %u has %u", i, k, atoll_dispatch_sent_count(s->dispatch, k));
    }
    atoll_dispatch_answered(s->dispatch, 1);
    assert_int_equal(atoll_peer_table_send_orders(s->table, &err), 0); /* it waited */
    assert_int_equal(atoll_dispatch_sent_count(s->dispatch, 0), 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_orders_go_home, set_up, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
