/* The end of a rank: what rank 0 says after STOP, and for how long it is waited for.  The evaluator is this program. */
#include "tests/support/expect.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "core/message.h"
#include "mpi-eval/evaluator/evaluator.h"
#include "mpi-eval/node/forwarder.h"

static char program[PATH_MAX];
static double clock_ns; /* goes on while rank 0 is waited for, once the evaluator is gone */

static double fake_now(void)
{
    return clock_ns;
}

/* What rank 0 sends, so long after it heard that the evaluator is gone; before that STOP alone. */
struct word {
    double after_ns;
    int byte; /* -1: the end of the list */
};

struct rank0 {
    const struct word *words;
    unsigned next;
    int has_stopped;
    double gone_ns; /* 0: not heard of */
    unsigned char byte;
};

static int rank0_send(void *context, unsigned peer, const void *frame, size_t length, struct atoll_err *err)
{
    struct rank0 *r = context;
    struct atoll_frame got;
    (void)peer;
    size_t consumed;
    assert_int_equal(atoll_frame_decode(frame, length, &got, &consumed, err), 1);
    if (got.type == ATOLL_MSG_PEER_LOST)
        r->gone_ns = clock_ns;
    return 0;
}

static int rank0_receive(void *context, unsigned *ret_peer, struct atoll_frame *ret_frame)
{
    struct rank0 *r = context;
    *ret_peer = 0;
    if (!r->has_stopped) {
        r->has_stopped = 1;
        *ret_frame = (struct atoll_frame){.type = ATOLL_MSG_STOP, .payload = (const unsigned char *)""};
        return 1;
    }
    const struct word *word = &r->words[r->next];
    if (!(r->gone_ns > 0) || word->byte < 0 || clock_ns < r->gone_ns + word->after_ns)
        return 0;
    r->next++;
    r->byte = (unsigned char)word->byte;
    *ret_frame = (struct atoll_frame){.type = ATOLL_MSG_STOP, .payload = &r->byte, .length = 1};
    return 1;
}

static void rank0_wait(void *context, struct pollfd *others, size_t other_count, int timeout_ms)
{
    const struct rank0 *r = context;
    if (r->gone_ns > 0)
        clock_ns += 1e9;
    else
        poll(others, other_count, timeout_ms);
}

static size_t rank0_pollfds(void *context, struct pollfd *ret_fds, size_t limit)
{
    return 0;
}

static void rank0_drop(void *context, unsigned peer)
{
    fail_msg("rank 0 is not dropped");
}

static size_t rank0_waiting(void *context)
{
    return 0;
}

static int run(const struct word *words)
{
    const char *argv[] = {"child", NULL};
    const struct atoll_forwarder_times times = {.heartbeat_timeout_ns = 1e12, .now_ns = fake_now};
    clock_ns = 1;
    struct rank0 r = {.words = words};
    const struct atoll_peers up = {
        &r, 1, 1, rank0_send, rank0_receive, rank0_wait, rank0_pollfds, rank0_drop, rank0_waiting};
    struct atoll_spawner *spawner = atoll_spawner_create(program, argv, NULL);
    assert_non_null(spawner);
    struct atoll_evaluator_pool *pool = atoll_evaluator_pool_create(spawner, 1, NULL);
    assert_non_null(pool);
    int may_finalize = atoll_forwarder_run(&up, pool, &times);
    assert_true(r.gone_ns > 0);
    atoll_evaluator_pool_destroy(pool);
    atoll_spawner_destroy(spawner);
    return may_finalize;
}

/* Rank 0 answers within 12 s, or says that it writes and answers within 300 s of that. */
static void test_the_last_word(void **state)
{
    static const struct {
        struct word words[6];
        int may_finalize;
    } cases[] = {
        {{{0, ATOLL_STOP_FINALIZE}, {0, -1}}, 1},
        {{{0, ATOLL_STOP_LEAVE}, {0, -1}}, 0},
        {{{11e9, ATOLL_STOP_FINALIZE}, {0, -1}}, 1},
        {{{13e9, ATOLL_STOP_FINALIZE}, {0, -1}}, 0}, /* too late */
        {{{0, ATOLL_STOP_WAIT}, {290e9, ATOLL_STOP_FINALIZE}, {0, -1}}, 1},
        {{{10e9, ATOLL_STOP_WAIT}, {290e9, ATOLL_STOP_WAIT}, {580e9, ATOLL_STOP_FINALIZE}, {0, -1}}, 1},
        {{{0, ATOLL_STOP_WAIT}, {310e9, ATOLL_STOP_FINALIZE}, {0, -1}}, 0},
        {{{0, ATOLL_STOP_WAIT}, {0, -1}}, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        if (run(cases[i].words) != cases[i].may_finalize)
            fail_msg("case %zu: expected %d", i, cases[i].may_finalize);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_last_word)};
    atoll_log_setup(-1, ATOLL_LOG_ERROR, "");
    if (argc == 1 && strcmp(argv[0], "child") == 0)
        return atoll_evaluator_run(ATOLL_SPAWNER_CHILD_FD, NULL);
    if (readlink("/proc/self/exe", program, sizeof(program) - 1) <= 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
