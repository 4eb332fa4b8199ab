/* The evaluator process with the null backend, in a child forked by the test, seen through its socket. */
#include "tests/support/expect.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "core/evaluator_location.h"
#include "mpi-eval/evaluator/evaluator.h"
#include "mpi-eval/coordinator/setup.h"
#include "mpi-eval/node/stream.h"
#include "mpi-eval/evaluator/synthetic.h"

struct process {
    pid_t pid;
    struct atoll_stream *stream;
};

static struct process process_start(void)
{
    struct process p;
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    p.pid = fork();
    if (p.pid == 0) {
        struct atoll_err err = ATOLL_ERR_INIT;
        close(fds[0]);
        _exit(atoll_evaluator_run(fds[1], &err) == 0 ? 0 : 10 + (int)err.code);
    }
    close(fds[1]);
    p.stream = atoll_stream_create(fds[0], 0, NULL);
    assert_non_null(p.stream);
    return p;
}

static int process_end(struct process *p)
{
    int status = -1;
    atoll_stream_destroy(p->stream);
    assert_int_equal(waitpid(p->pid, &status, 0), p->pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The next frame that does not come by the clock; 0 at the end of the socket. */
static int next(struct process *p, struct atoll_frame *ret_frame)
{
    for (;;) {
        int rc = atoll_stream_receive(p->stream, ret_frame, NULL);
        if (rc < 0)
            return 0;
        if (rc > 0 && ret_frame->type != ATOLL_MSG_HEARTBEAT && ret_frame->type != ATOLL_MSG_DEVICE_TIME)
            return 1;
        struct pollfd ready = {.fd = atoll_stream_fd(p->stream), .events = POLLIN};
        if (rc == 0)
            assert_int_equal(poll(&ready, 1, 20000), 1);
    }
}

static void say(struct process *p, uint16_t type, struct atoll_buffer *payload)
{
    assert_int_equal(payload->failed, 0);
    assert_int_equal(atoll_stream_send(p->stream, type, payload->data, payload->length, NULL), 0);
    atoll_buffer_clear(payload);
}

static void say_setup(struct process *p, struct atoll_buffer *payload, int is_null, const char *compiler)
{
    struct atoll_setup setup;
    atoll_setup_defaults(&setup);
    setup.backend_null = (uint32_t)is_null;
    setup.sample_device_ns = 0;
    if (compiler)
        assert_int_equal(atoll_setup_option(&setup, "compiler", compiler, NULL), 1);
    atoll_setup_encode(&setup, payload);
    say(p, ATOLL_MSG_SETUP, payload);
}

static void say_task(struct process *p, struct atoll_buffer *payload, uint32_t number)
{
    struct atoll_buffer bytes;
    struct atoll_task *task = atoll_task_load(ATOLL_SOURCE_DIR "/suites/starter/transpose", NULL);
    assert_non_null(task);
    atoll_buffer_init(&bytes, 1 << 20);
    assert_int_equal(atoll_task_encode(task, &bytes, NULL), 0);
    atoll_buffer_put_u32(payload, number);
    atoll_buffer_put_blob(payload, bytes.data, bytes.length);
    say(p, ATOLL_MSG_TASK, payload);
    atoll_buffer_fini(&bytes);
    atoll_task_destroy(task);
}

static void say_order(struct process *p, struct atoll_buffer *payload, uint64_t evaluation, uint32_t task,
                      int is_duel)
{
    struct atoll_order order = {.evaluation = evaluation,
                                .task = task,
                                .kind = is_duel ? ATOLL_ORDER_DUEL : ATOLL_ORDER_EVALUATE,
                                .purpose = ATOLL_DUEL_FINAL,
                                .candidate = {.id = atoll_id_of("a", 1), .language = "c", .source = "x"},
                                .elite = {.id = atoll_id_of("b", 1), .language = "c", .source = "y"},
                                .alpha = 0.05,
                                .margin = 0.01,
                                .pair_limit = 8};
    atoll_order_encode(&order, payload);
    say(p, is_duel ? ATOLL_MSG_DUEL : ATOLL_MSG_EVALUATE, payload);
}

static void expect_greeting(struct process *p)
{
    struct atoll_frame frame;
    struct atoll_device_info device;
    struct atoll_reader reader;
    struct atoll_evaluator_location place;
    assert_int_equal(next(p, &frame), 1);
    assert_int_equal(frame.type, ATOLL_MSG_PLACE);
    assert_int_equal(atoll_evaluator_location_decode(frame.payload, frame.length, &place, NULL), 0);
    assert_int_equal(place.surplus, ATOLL_SURPLUS_NONE);
    assert_true(place.node[0] && place.cores[0] && place.core_count > 0);
    assert_int_equal(next(p, &frame), 1);
    assert_int_equal(frame.type, ATOLL_MSG_HELLO);
    assert_int_equal(atoll_device_info_decode(frame.payload, frame.length, &device, NULL), 0);
    assert_string_equal(device.backend, "null");
    assert_int_equal(next(p, &frame), 1);
    assert_int_equal(frame.type, ATOLL_MSG_REQUEST);
    atoll_reader_init(&reader, frame.payload, frame.length);
    assert_true(atoll_reader_u32(&reader) > 0);
}

static void expect_evaluation(struct process *p, uint64_t evaluation)
{
    struct atoll_frame frame;
    struct atoll_evaluation e;
    struct atoll_id id = atoll_id_of("a", 1);
    assert_int_equal(next(p, &frame), 1);
    assert_int_equal(frame.type, ATOLL_MSG_EVALUATED);
    atoll_evaluation_init(&e);
    assert_int_equal(atoll_evaluation_decode(frame.payload, frame.length, &e, NULL), 0);
    assert_int_equal(e.evaluation, evaluation);
    assert_true(atoll_id_equal(&e.candidate, &id));
    assert_int_equal(e.verdict, ATOLL_V_CORRECT);
    assert_true(e.timing_count > 0);
    assert_true(e.timings[0].summary.median > 0);
    atoll_evaluation_fini(&e);
}

static void test_a_session(void **state)
{
    struct process p = process_start();
    struct atoll_buffer payload;
    struct atoll_frame frame;
    struct atoll_duel duel;
    atoll_buffer_init(&payload, 1 << 20);
    assert_int_equal(atoll_stream_receive(p.stream, &frame, NULL) >= 0, 1);
    say_setup(&p, &payload, 1, NULL);
    say_task(&p, &payload, 0);
    expect_greeting(&p);
    say_order(&p, &payload, 7, 0, 0);
    expect_evaluation(&p, 7);
    say_order(&p, &payload, 8, 0, 1);
    assert_int_equal(next(&p, &frame), 1);
    assert_int_equal(frame.type, ATOLL_MSG_DUELLED);
    assert_int_equal(atoll_duel_decode(frame.payload, frame.length, &duel, NULL), 0);
    assert_int_equal(duel.evaluation, 8);
    /* what it must shrug off: orders that do not decode or are of no task, unknown types, a second SETUP */
    atoll_buffer_put_text(&payload, "garbage");
    say(&p, ATOLL_MSG_EVALUATE, &payload);
    say_order(&p, &payload, 9, 5, 0);
    say(&p, 999, &payload);
    say_setup(&p, &payload, 1, NULL);
    atoll_buffer_put_u64(&payload, 7);
    say(&p, ATOLL_MSG_ACK, &payload);
    say_order(&p, &payload, 10, 0, 0);
    expect_evaluation(&p, 10);
    say(&p, ATOLL_MSG_STOP, &payload);
    assert_int_equal(next(&p, &frame), 0);
    assert_int_equal(process_end(&p), 0);
    atoll_buffer_fini(&payload);
}

static void test_leaves_when_the_coordinator_goes(void **state)
{
    struct process p = process_start();
    assert_int_equal(process_end(&p), 0);
}

static void expect_failed(struct process *p, enum atoll_code code)
{
    struct atoll_frame frame;
    struct atoll_reader reader;
    size_t length;
    do {
        assert_int_equal(next(p, &frame), 1);
    } while (frame.type == ATOLL_MSG_PLACE || frame.type == ATOLL_MSG_HELLO ||
             frame.type == ATOLL_MSG_REQUEST);
    assert_int_equal(frame.type, ATOLL_MSG_FAILED);
    atoll_reader_init(&reader, frame.payload, frame.length);
    assert_int_equal(atoll_reader_u32(&reader), code);
    assert_non_null(atoll_reader_blob(&reader, &length));
    assert_true(length > 10);
    assert_int_equal(atoll_reader_finish(&reader, "FAILED", NULL), 0);
    assert_int_equal(next(p, &frame), 0);
    assert_int_equal(process_end(p), 10 + (int)code);
}

static void test_says_why_it_cannot_go_on(void **state)
{
    struct atoll_buffer payload;
    atoll_buffer_init(&payload, 1 << 20);
    struct process p = process_start();
    say_setup(&p, &payload, 0, "no-such-compiler");
    expect_failed(&p, ATOLL_E_MISSING);
    p = process_start();
    say_task(&p, &payload, 0); /* before SETUP */
    expect_failed(&p, ATOLL_E_PROTOCOL);
    p = process_start();
    say_setup(&p, &payload, 1, NULL);
    say_task(&p, &payload, 3); /* the first is number 0 */
    expect_failed(&p, ATOLL_E_PROTOCOL);
    p = process_start();
    atoll_buffer_put_text(&payload, "garbage");
    say(&p, ATOLL_MSG_SETUP, &payload);
    expect_failed(&p, ATOLL_E_PROTOCOL);
    atoll_buffer_fini(&payload);
}

static void expect_surplus(struct process *p)
{
    struct atoll_frame frame;
    struct atoll_evaluator_location place;
    assert_int_equal(next(p, &frame), 1);
    assert_int_equal(frame.type, ATOLL_MSG_PLACE);
    assert_int_equal(atoll_evaluator_location_decode(frame.payload, frame.length, &place, NULL), 0);
    assert_int_equal(place.surplus, ATOLL_SURPLUS_IDLE);
    assert_non_null(strstr(place.note, "one rank for each GPU"));
    assert_int_equal(place.slots, 0);
}

static void say_setup_cuda(struct process *p, struct atoll_buffer *payload)
{
    struct atoll_setup setup;
    atoll_setup_defaults(&setup);
    snprintf(setup.backend, sizeof(setup.backend), "cuda");
    atoll_setup_encode(&setup, payload);
    say(p, ATOLL_MSG_SETUP, payload);
}

/* An evaluator for which no device is left lives on without one, and looks again when it is told to. */
static void test_surplus_is_no_failure(void **state)
{
    struct atoll_buffer payload;
    struct atoll_frame frame;
    atoll_buffer_init(&payload, 1 << 20);
    setenv("ATOLL_DEVICE", "surplus", 1);
    struct process p = process_start();
    unsetenv("ATOLL_DEVICE");
    say_setup_cuda(&p, &payload);
    say_task(&p, &payload, 0);
    expect_surplus(&p);
    say_setup_cuda(&p, &payload);
    say_task(&p, &payload, 0);
    expect_surplus(&p);
    say(&p, ATOLL_MSG_STOP, &payload);
    assert_int_equal(next(&p, &frame), 0);
    assert_int_equal(process_end(&p), 0);
    atoll_buffer_fini(&payload);
}

/* The time of a candidate is its identity's, or what its source says; comparisons agree with it. */
static void test_synthetic_results_agree(void **state)
{
    struct atoll_order order = {.margin = 0.01, .alpha = 0.05};
    struct atoll_duel duel;
    for (int i = 0; i < 100; i++) {
        order.candidate.id = atoll_id_of(&i, sizeof(i));
        order.elite.id = atoll_id_of(&i, 1);
        atoll_synthetic_duel(&order, &duel);
        double ratio =
            atoll_synthetic_time_ns(&order.elite.id) / atoll_synthetic_time_ns(&order.candidate.id);
        assert_true(duel.ratio == ratio);
        assert_int_equal(duel.better, ratio > 1.0100502);
        assert_true(atoll_synthetic_time_ns(&order.elite.id) >= 1e6);
    }
    order.candidate.source = "/* null-time 2000000 */ void f(void); /* null-time 5 */";
    order.elite.source = "/* null-time 2400000 */";
    atoll_synthetic_duel(&order, &duel);
    assert_true(duel.ratio == 1.2 && duel.challenger_ns == 2e6);
    order.elite.source = "/* null-time soon */";
    assert_true(atoll_synthetic_time_of(&order.elite) == atoll_synthetic_time_ns(&order.elite.id));
}

int main(void)
{
    atoll_log_setup(-1, ATOLL_LOG_ERROR, "");
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_session),
        cmocka_unit_test(test_leaves_when_the_coordinator_goes),
        cmocka_unit_test(test_says_why_it_cannot_go_on),
        cmocka_unit_test(test_surplus_is_no_failure),
        cmocka_unit_test(test_synthetic_results_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
