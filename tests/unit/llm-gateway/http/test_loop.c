#include "tests/support/expect.h"

#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "llm-gateway/http/loop.h"

static double clock_ns;

static double now_ns(void *context)
{
    assert_ptr_equal(context, &clock_ns);
    return clock_ns;
}

static struct atoll_loop *loop_start(void)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    clock_ns = 1e9;
    struct atoll_loop *loop = atoll_loop_create(now_ns, &clock_ns, &err);
    assert_non_null(loop);
    return loop;
}

static void turn(struct atoll_loop *loop)
{
    assert_int_equal(atoll_loop_run(loop, 0, NULL), 0);
}

/* ---- timers ---- */

struct note {
    struct atoll_loop *loop;
    char text[64];
    uint64_t victim;
};
struct mark {
    struct note *note;
    char letter;
};

static void on_due(void *context)
{
    const struct mark *mark = context;
    char letter[2] = {mark->letter, '\0'};
    strcat(mark->note->text, letter);
    atoll_loop_cancel(mark->note->loop, mark->note->victim);
}

static uint64_t set(struct mark *mark, double when_ns)
{
    uint64_t timer = 0;
    assert_int_equal(atoll_loop_at(mark->note->loop, when_ns, on_due, mark, &timer, NULL), 0);
    assert_true(timer > 0);
    return timer;
}

static void test_timers_in_order(void **state)
{
    struct note note = {.loop = loop_start()};
    struct mark a = {&note, 'a'}, b = {&note, 'b'}, c = {&note, 'c'}, d = {&note, 'd'};
    set(&a, 3e9);
    set(&b, 2e9);
    set(&c, 2e9);
    set(&d, 0.5e9);
    assert_int_equal(atoll_loop_wait_ms(note.loop, 1000), 0);
    turn(note.loop);
    assert_string_equal(note.text, "d");
    clock_ns = 2e9 - 1;
    turn(note.loop);
    assert_string_equal(note.text, "d");
    clock_ns = 5e9;
    turn(note.loop);
    assert_string_equal(note.text, "dbca");
    atoll_loop_destroy(note.loop);
}

static void test_cancel(void **state)
{
    struct note note = {.loop = loop_start()};
    struct mark a = {&note, 'a'}, b = {&note, 'b'}, c = {&note, 'c'};
    uint64_t first = set(&a, 1e9);
    note.victim = set(&b, 1e9); /* a cancels b, which is due in the same turn */
    turn(note.loop);
    assert_string_equal(note.text, "a");
    uint64_t again = set(&c, 1e9);
    atoll_loop_cancel(note.loop, first); /* its slot may be another timer's by now */
    atoll_loop_cancel(note.loop, note.victim);
    atoll_loop_cancel(note.loop, 0);
    atoll_loop_cancel(note.loop, 0xffffffffu);
    assert_true(again != first && again != note.victim);
    turn(note.loop);
    assert_string_equal(note.text, "ac");
    atoll_loop_destroy(note.loop);
}

static int self_calls;

static void on_self(void *context)
{
    self_calls++;
    assert_int_equal(atoll_loop_at(context, 0, on_self, context, NULL, NULL), 0);
}

static void test_own_turn_ends(void **state)
{
    struct note note = {.loop = loop_start()};
    struct mark a = {&note, 'a'};
    self_calls = 0;
    assert_int_equal(atoll_loop_at(note.loop, 0, on_self, note.loop, NULL, NULL), 0);
    set(&a, 1e9); /* later than what on_self asks for, and yet in this turn */
    turn(note.loop);
    assert_int_equal(self_calls, 1);
    assert_string_equal(note.text, "a");
    turn(note.loop);
    assert_int_equal(self_calls, 2);
    atoll_loop_destroy(note.loop);
}

static void test_wait(void **state)
{
    static const struct {
        double after_ns;
        int limit_ms, expected_ms;
    } rows[] = {{5e6, 100, 5},    {5e6 + 1, 100, 6}, {5e6, 3, 3},       {5e6, -1, 5},
                {-1e6, 100, 0},   {1, 100, 1},       {1e30, -1, -1},    {1e30, 7, 7},
                {INFINITY, 9, 9}, {0, 0, 0},         {-INFINITY, -1, 0}};
    struct atoll_loop *loop = loop_start();
    assert_int_equal(atoll_loop_wait_ms(loop, 17), 17);
    assert_int_equal(atoll_loop_wait_ms(loop, -1), -1);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint64_t timer = 0;
        assert_int_equal(atoll_loop_at(loop, clock_ns + rows[i].after_ns, on_self, loop, &timer, NULL), 0);
        assert_int_equal(atoll_loop_wait_ms(loop, rows[i].limit_ms), rows[i].expected_ms);
        atoll_loop_cancel(loop, timer);
    }
    atoll_loop_destroy(loop);
}

#define MANY 5000

static double last_due_ns;
static unsigned due_count;

static void on_many(void *context)
{
    const double *when_ns = context;
    assert_true(*when_ns >= last_due_ns && *when_ns <= clock_ns);
    last_due_ns = *when_ns;
    due_count++;
}

static void test_many_timers(void **state)
{
    static double when_ns[MANY];
    static uint64_t timers[MANY];
    struct atoll_loop *loop = loop_start();
    unsigned expected = 0, random = 12345;
    last_due_ns = due_count = 0;
    for (int i = 0; i < MANY; i++) {
        random = random * 1664525u + 1013904223u;
        when_ns[i] = 1e9 + (double)(random >> 8);
        assert_int_equal(atoll_loop_at(loop, when_ns[i], on_many, &when_ns[i], &timers[i], NULL), 0);
    }
    for (int i = 0; i < MANY; i++)
        if (i % 3 == 0)
            atoll_loop_cancel(loop, timers[i]);
        else
            expected++;
    for (int step = 0; step < 40; step++) {
        clock_ns += 5e5;
        turn(loop);
    }
    assert_int_equal(due_count, expected);
    atoll_loop_destroy(loop);
}

/* ---- descriptors ---- */

struct ear {
    struct atoll_loop *loop;
    int calls, other, drain;
    uint32_t events;
};

static void on_ready(void *context, int fd, uint32_t epoll_events)
{
    struct ear *ear = context;
    char byte;
    ear->calls++;
    ear->events = epoll_events;
    if (ear->drain)
        assert_int_equal(read(fd, &byte, 1), 1);
    if (ear->other >= 0)
        atoll_loop_watch(ear->loop, ear->other, 0, NULL, NULL, NULL);
}

static void pair_open(int fds[2])
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
}

static void test_watch(void **state)
{
    struct ear ear = {.loop = loop_start(), .other = -1, .drain = 1};
    int fds[2];
    pair_open(fds);
    assert_int_equal(atoll_loop_watch(ear.loop, fds[0], EPOLLIN, on_ready, &ear, NULL), 0);
    turn(ear.loop);
    assert_int_equal(ear.calls, 0);
    assert_int_equal(write(fds[1], "xy", 2), 2);
    assert_int_equal(poll(&(struct pollfd){atoll_loop_fd(ear.loop), POLLIN, 0}, 1, 0), 1);
    turn(ear.loop);
    turn(ear.loop); /* level-triggered: the second byte is told again */
    assert_int_equal(ear.calls, 2);
    ear.drain = 0;
    assert_int_equal(atoll_loop_watch(ear.loop, fds[0], EPOLLOUT, on_ready, &ear, NULL), 0);
    turn(ear.loop);
    assert_int_equal(ear.events, EPOLLOUT);
    assert_int_equal(atoll_loop_watch(ear.loop, fds[0], EPOLLIN, on_ready, &ear, NULL), 0);
    close(fds[1]);
    turn(ear.loop);
    assert_true(ear.events & EPOLLIN);
    assert_int_equal(atoll_loop_watch(ear.loop, fds[0], 0, NULL, NULL, NULL), 0);
    int calls = ear.calls;
    turn(ear.loop);
    assert_int_equal(ear.calls, calls);
    close(fds[0]);
    atoll_loop_destroy(ear.loop);
}

/* Both are ready in one batch, and whoever is called first ends the other. */
static void test_removal_inside(void **state)
{
    struct atoll_loop *loop = loop_start();
    int a[2], b[2];
    pair_open(a);
    pair_open(b);
    struct ear first = {.loop = loop, .other = b[0], .drain = 1};
    struct ear second = {.loop = loop, .other = a[0], .drain = 1};
    assert_int_equal(atoll_loop_watch(loop, a[0], EPOLLIN, on_ready, &first, NULL), 0);
    assert_int_equal(atoll_loop_watch(loop, b[0], EPOLLIN, on_ready, &second, NULL), 0);
    assert_int_equal(write(a[1], "xx", 2) + write(b[1], "xx", 2), 4);
    turn(loop);
    assert_int_equal(first.calls + second.calls, 1);
    turn(loop);
    assert_int_equal(first.calls + second.calls, 2);
    close(a[0]), close(a[1]), close(b[0]), close(b[1]);
    atoll_loop_destroy(loop);
}

struct swap {
    struct atoll_loop *loop;
    int victim, calls;
    struct ear *heir;
};

static void on_swap(void *context, int fd, uint32_t epoll_events)
{
    struct swap *swap = context;
    int fresh[2];
    char bytes[8];
    swap->calls++;
    assert_true(read(fd, bytes, sizeof(bytes)) > 0);
    atoll_loop_watch(swap->loop, swap->victim, 0, NULL, NULL, NULL);
    close(swap->victim);
    pair_open(fresh);
    /* the new file has the old one's number, and nothing to read */
    assert_int_equal(fresh[0] == swap->victim || fresh[1] == swap->victim, 1);
    assert_int_equal(atoll_loop_watch(swap->loop, swap->victim, EPOLLIN, on_ready, swap->heir, NULL), 0);
    swap->victim = fresh[0] == swap->victim ? fresh[1] : fresh[0];
}

static void test_number_used_again(void **state)
{
    struct atoll_loop *loop = loop_start();
    int a[2], b[2];
    pair_open(a);
    pair_open(b);
    struct ear heir = {.loop = loop, .other = -1};
    struct ear never = {.loop = loop, .other = -1};
    struct swap swap = {.loop = loop, .victim = b[0], .heir = &heir};
    assert_int_equal(atoll_loop_watch(loop, a[0], EPOLLIN, on_swap, &swap, NULL), 0);
    assert_int_equal(atoll_loop_watch(loop, b[0], EPOLLIN, on_ready, &never, NULL), 0);
    assert_int_equal(write(a[1], "x", 1), 1); /* told first */
    assert_int_equal(write(b[1], "x", 1), 1);
    turn(loop);
    assert_int_equal(swap.calls, 1);
    assert_int_equal(heir.calls, 0); /* the old file's event is not the new one's */
    assert_int_equal(never.calls, 0);
    close(a[0]), close(a[1]), close(b[0]), close(b[1]), close(swap.victim);
    atoll_loop_destroy(loop);
}

/* A descriptor that was closed without a word, and its number opened again. */
static void test_closed_behind_its_back(void **state)
{
    struct ear ear = {.loop = loop_start(), .other = -1, .drain = 1};
    int fds[2];
    pair_open(fds);
    assert_int_equal(atoll_loop_watch(ear.loop, fds[0], EPOLLIN, on_ready, &ear, NULL), 0);
    int number = fds[0];
    close(fds[0]);
    close(fds[1]);
    pair_open(fds);
    assert_int_equal(fds[0], number);
    assert_int_equal(atoll_loop_watch(ear.loop, fds[0], EPOLLIN, on_ready, &ear, NULL), 0);
    assert_int_equal(write(fds[1], "x", 1), 1);
    turn(ear.loop);
    assert_int_equal(ear.calls, 1);
    close(fds[0]);
    assert_int_equal(atoll_loop_watch(ear.loop, fds[0], 0, NULL, NULL, NULL), 0);
    close(fds[1]);
    atoll_loop_destroy(ear.loop);
}

static void test_bad_arguments(void **state)
{
    struct atoll_loop *loop = loop_start();
    struct atoll_err err = ATOLL_ERR_INIT;
    int fds[2];
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    assert_int_equal(atoll_loop_watch(loop, -1, EPOLLIN, on_ready, NULL, &err), -1);
    expect_err(&err, ATOLL_E_INTERNAL, "descriptor -1");
    assert_int_equal(atoll_loop_watch(loop, fds[0], EPOLLIN, NULL, NULL, &err), -1);
    expect_err(&err, ATOLL_E_INTERNAL, "no callback");
    assert_int_equal(atoll_loop_watch(loop, fds[0], EPOLLIN | EPOLLET, on_ready, NULL, &err), -1);
    expect_err(&err, ATOLL_E_INTERNAL, "wrong events");
    assert_int_equal(atoll_loop_watch(loop, 1 << 30, EPOLLIN, on_ready, NULL, &err), -1);
    expect_err(&err, ATOLL_E_LIMIT, "beyond the limit");
    close(fds[0]);
    close(fds[1]);
    assert_int_equal(atoll_loop_watch(loop, fds[0], EPOLLIN, on_ready, NULL, &err), -1);
    expect_err(&err, ATOLL_E_IO, "watching descriptor");
    assert_int_equal(atoll_loop_at(loop, NAN, on_self, NULL, NULL, &err), -1);
    expect_err(&err, ATOLL_E_INTERNAL, "without a time");
    assert_int_equal(atoll_loop_at(loop, 1, NULL, NULL, NULL, &err), -1);
    expect_err(&err, ATOLL_E_INTERNAL, "callback");
    atoll_loop_destroy(loop);
    atoll_loop_destroy(NULL);
}

static void test_system_clock(void **state)
{
    struct atoll_loop *loop = atoll_loop_create(NULL, NULL, NULL);
    double before_ns = atoll_loop_now_ns(loop);
    assert_true(before_ns > 0 && atoll_loop_now_ns(loop) >= before_ns);
    atoll_loop_destroy(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timers_in_order),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_own_turn_ends),
        cmocka_unit_test(test_wait),
        cmocka_unit_test(test_many_timers),
        cmocka_unit_test(test_watch),
        cmocka_unit_test(test_removal_inside),
        cmocka_unit_test(test_number_used_again),
        cmocka_unit_test(test_closed_behind_its_back),
        cmocka_unit_test(test_bad_arguments),
        cmocka_unit_test(test_system_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
