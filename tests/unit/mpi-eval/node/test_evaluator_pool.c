/* The evaluators are this program: "child MODE" crashes, leaves, or is a real evaluator process. */
#include "tests/support/expect.h"
#include "tests/support/only_child.h"

#include <limits.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "core/message.h"
#include "mpi-eval/evaluator/evaluator.h"
#include "mpi-eval/node/evaluator_pool.h"

static char program[PATH_MAX];

static int child_main(const char *mode)
{
    if (strcmp(mode, "crash") == 0)
        kill(getpid(), SIGKILL);
    if (strcmp(mode, "evaluate") == 0)
        return atoll_evaluator_run(ATOLL_SPAWNER_CHILD_FD, NULL);
    return 3;
}

struct house {
    struct atoll_spawner *spawner;
    struct atoll_evaluator_pool *pool;
    struct atoll_peers peers;
};

static struct house house_open(const char *mode, unsigned count)
{
    const char *argv[] = {"child", mode, NULL};
    struct house house = {.spawner = atoll_spawner_create(program, argv, NULL)};
    assert_non_null(house.spawner);
    house.pool = atoll_evaluator_pool_create(house.spawner, count, NULL);
    assert_non_null(house.pool);
    house.peers = atoll_evaluator_pool_peers(house.pool);
    return house;
}

static void house_close(struct house *house)
{
    atoll_evaluator_pool_destroy(house->pool);
    atoll_spawner_destroy(house->spawner);
}

/* The next frame; its type, and the first byte of its payload for PEER_LOST. */
static unsigned next(struct house *house, unsigned *ret_peer, int *ret_loss)
{
    struct atoll_frame frame;
    while (house->peers.receive(house->peers.context, ret_peer, &frame) == 0)
        house->peers.wait(house->peers.context, NULL, 0, 100); /* ctest's limit ends a test that hangs */
    *ret_loss = frame.type == ATOLL_MSG_PEER_LOST && frame.length == 1 ? frame.payload[0] : -1;
    return frame.type;
}

static void test_crashes_are_started_again_so_often(void **state)
{
    struct house house = house_open("crash", 1);
    int loss = -1, lost = 0;
    unsigned peer = 9;
    while (loss != ATOLL_PEER_GONE) {
        assert_int_equal(next(&house, &peer, &loss), ATOLL_MSG_PEER_LOST);
        assert_int_equal(peer, 0);
        lost += loss == ATOLL_PEER_RESTARTS;
    }
    assert_int_equal(lost, 1 + ATOLL_EVALUATOR_POOL_RESTART_LIMIT);
    assert_int_equal(atoll_evaluator_pool_alive(house.pool), 0);
    house_close(&house);
}

static void test_one_that_leaves_is_gone(void **state)
{
    struct house house = house_open("leave", 2);
    int loss = -1, gone = 0, lost = 0;
    unsigned peer;
    while (gone < 2) {
        assert_int_equal(next(&house, &peer, &loss), ATOLL_MSG_PEER_LOST);
        gone += loss == ATOLL_PEER_GONE;
        lost += loss == ATOLL_PEER_RESTARTS;
    }
    assert_true(lost <= 2);
    assert_int_equal(atoll_evaluator_pool_alive(house.pool), 0);
    house_close(&house);
}

static void stop_say(struct house *house)
{
    struct atoll_buffer frame;
    atoll_buffer_init(&frame, 64);
    assert_int_equal(atoll_frame_encode(&frame, ATOLL_MSG_STOP, "", 0, NULL), 0);
    assert_int_equal(house->peers.send(house->peers.context, 0, frame.data, frame.length, NULL), 0);
    atoll_buffer_fini(&frame);
}

static void test_drop_and_retire(void **state)
{
    struct house house = house_open("evaluate", 1);
    struct atoll_err err = ATOLL_ERR_INIT;
    unsigned peer;
    int loss;
    assert_int_equal(next(&house, &peer, &loss), ATOLL_MSG_HEARTBEAT);
    house.peers.drop(house.peers.context, 0);
    assert_int_equal(house.peers.send(house.peers.context, 0, "x", 1, &err), -1);
    assert_int_equal(err.code, ATOLL_E_CHILD);
    assert_int_equal(next(&house, &peer, &loss), ATOLL_MSG_PEER_LOST);
    assert_int_equal(loss, ATOLL_PEER_RESTARTS);
    assert_int_equal(next(&house, &peer, &loss), ATOLL_MSG_HEARTBEAT); /* the new one */
    atoll_evaluator_pool_retire(house.pool);
    stop_say(&house);
    do {
        next(&house, &peer, &loss);
    } while (loss != ATOLL_PEER_GONE);
    assert_int_equal(atoll_evaluator_pool_alive(house.pool), 0);
    house_close(&house);
}

static void test_spawner_lost(void **state)
{
    struct house house = house_open("evaluate", 1);
    unsigned peer;
    int loss;
    assert_int_equal(next(&house, &peer, &loss), ATOLL_MSG_HEARTBEAT);
    kill(only_child(), SIGKILL);
    do {
        next(&house, &peer, &loss);
    } while (loss != ATOLL_PEER_GONE);
    assert_int_equal(atoll_evaluator_pool_alive(house.pool), 0);
    house_close(&house);
}

static void test_bad_counts(void **state)
{
    const char *argv[] = {"child", "leave", NULL};
    struct atoll_spawner *spawner = atoll_spawner_create(program, argv, NULL);
    struct atoll_err err = ATOLL_ERR_INIT;
    assert_null(atoll_evaluator_pool_create(spawner, 0, &err));
    assert_int_equal(err.code, ATOLL_E_LIMIT);
    assert_null(atoll_evaluator_pool_create(spawner, ATOLL_SPAWNER_CHILD_LIMIT + 1, &err));
    atoll_spawner_destroy(spawner);
    atoll_evaluator_pool_destroy(NULL);
}

int main(int argc, char **argv)
{
    atoll_log_setup(-1, ATOLL_LOG_ERROR, "");
    if (argc == 2 && strcmp(argv[0], "child") == 0)
        return child_main(argv[1]);
    if (readlink("/proc/self/exe", program, sizeof(program) - 1) <= 0)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crashes_are_started_again_so_often),
        cmocka_unit_test(test_one_that_leaves_is_gone),
        cmocka_unit_test(test_drop_and_retire),
        cmocka_unit_test(test_spawner_lost),
        cmocka_unit_test(test_bad_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
