/* test_rival_shown.c - large outputs of a rival that stay on the device: who is asked for what, and what each failure comes to.  A peer
 * answers in torch's place, and the backend is a fake. */
#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpi-eval/referee/backend.h"
#include "mpi-eval/referee/rival_session.h"
#include "mpi-eval/torch/interpreter.h"

#define PYTHON "/usr/bin/python3"

static struct atoll_task *task;
static struct atoll_torch_rival *torch; /* its process starts again after a row that it does not outlive */

/* What the fake says, and what it saw. */
static struct {
    int asks, result;
    unsigned calls, shows;
    unsigned char last[ATOLL_TORCH_HANDLE_BYTES];
    uint64_t bytes;
} fake;

static int examine_shown(struct atoll_referee *referee, struct atoll_case *known,
                         const struct atoll_input_set *input_set, const struct atoll_torch_window *outputs,
                         double *ret_worst, char *ret_detail, struct atoll_err *err)
{
    int rc = 0;
    (void)referee;
    (void)known;
    (void)input_set;
    fake.calls++;
    fake.bytes = outputs->bytes;
    for (uint64_t at = 0; fake.asks && rc == 0 && at < outputs->bytes; at += outputs->stretch) {
        rc = outputs->show(outputs->context, at, fake.last, err);
        fake.shows++;
    }
    if (fake.asks)
        outputs->close(outputs->context);
    if (rc != 0)
        return -1;
    *ret_worst = 0.25;
    snprintf(ret_detail, ATOLL_DETAIL_BYTES, "output y is off");
    return fake.result >= 0 ? fake.result : atoll_err_set(err, ATOLL_E_CHILD, "the device is gone");
}

static json_t *inputs(const struct atoll_task *of, const struct atoll_input_set *input_set,
                      struct atoll_err *err)
{
    (void)of;
    (void)input_set;
    (void)err;
    return json_pack("{s:{s:[]}}", "x", "fills");
}

static void let_go(struct atoll_referee *referee)
{
    (void)referee;
}

static const struct atoll_backend able = {
    .name = "fake", .examine_shown = examine_shown, .torch_inputs = inputs, .let_go = let_go};
static const struct atoll_backend unable = {.name = "fake", .torch_inputs = inputs};

struct scene {
    struct atoll_referee referee;
    struct atoll_case known;
    struct atoll_order order;
    struct atoll_rival_session session;
    struct atoll_input_set set;
    struct atoll_torch_built built;
    char detail[ATOLL_DETAIL_BYTES];
};

static struct scene *scene_open(const struct atoll_backend *backend, const char *kind, int64_t size)
{
    static uint32_t number;
    struct scene *s = calloc(1, sizeof(*s));
    assert_non_null(s);
    memset(&fake, 0, sizeof(fake));
    task->rivals[0].expression = kind;
    task->variants[0].dims[0] = size;
    s->referee.backend = backend;
    s->known = (struct atoll_case){.number = ++number, .task = task};
    s->session = (struct atoll_rival_session){.referee = &s->referee,
                                              .known = &s->known,
                                              .order = &s->order,
                                              .torch = torch,
                                              .end_ns = atoll_referee_now_ns() + 60e9,
                                              .verdict = ATOLL_V_CORRECT,
                                              .detail = s->detail};
    if (atoll_rival_session_build(&s->session, 0, 0, &s->built) != 0)
        fail_msg("%s", s->detail);
    return s;
}

#define ROW   40                 /* bytes of two outputs */
#define LARGE ((int64_t)1 << 19) /* rows: 20 MiB */

static void test_outcomes(void **state)
{
    static const struct {
        const char *kind;
        int asks, result; /* of the backend */
        int rc;
        enum atoll_verdict verdict;
        const char *detail;
        int was_let_go;
    } rows[] = {
        {"shows", 1, 1, 1, ATOLL_V_CORRECT, "", 0},
        {"shows", 1, 0, -1, ATOLL_V_WRONG, "output y is off", 0},
        {"shows", 1, 2, 0, ATOLL_V_CORRECT, "", 0}, /* by way of the host, then */
        {"shows", 0, 2, 0, ATOLL_V_CORRECT, "", 0},
        {"shows", 1, -1, -1, ATOLL_V_INFRASTRUCTURE, "the device is gone", 0},
        {"shows wrong", 1, 1, -1, ATOLL_V_WRONG, "it gives 2 tensors", 0},
        {"shows garbage", 1, 1, -1, ATOLL_V_INFRASTRUCTURE, "without a handle that could be one", 0},
        {"shows problem", 1, 1, -1, ATOLL_V_COMPILE_ERROR, "it problem", 0},
        /* what needs less memory, or no window, may go well */
        {"shows memory", 1, 1, 0, ATOLL_V_CORRECT, "", 1},
        {"shows unsupported", 1, 1, 0, ATOLL_V_CORRECT, "", 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct scene *s = scene_open(&able, rows[i].kind, LARGE);
        double worst = 0;
        fake.asks = rows[i].asks;
        fake.result = rows[i].result;
        int rc = atoll_rival_session_examine_shown(&s->session, s->built.handle, &s->set, &worst);
        if (rc != rows[i].rc || s->session.verdict != rows[i].verdict || !strstr(s->detail, rows[i].detail) ||
            s->session.was_let_go != rows[i].was_let_go)
            fail_msg("row %zu, %s: %d, verdict %d, '%s'", i, rows[i].kind, rc, (int)s->session.verdict,
                     s->detail);
        assert_int_equal(fake.calls, 1);
        assert_int_equal(fake.bytes, ROW * LARGE);
        if (rc == 1)
            assert_true(worst == 0.25);
        free(s);
    }
}

/* Beyond one stretch the others are asked for, each by where it begins. */
static void test_stretches(void **state)
{
    struct scene *s = scene_open(&able, "shows", ((int64_t)1 << 26) + 3); /* 2.5 GiB and a little */
    double worst = 0;
    (void)state;
    fake.asks = fake.result = 1;
    if (atoll_rival_session_examine_shown(&s->session, s->built.handle, &s->set, &worst) != 1)
        fail_msg("%s", s->detail);
    assert_int_equal(fake.shows, 3);
    for (size_t i = 0; i < sizeof(fake.last); i++)
        assert_int_equal(fake.last[i], 2);
    free(s);
}

/* Nobody is asked. */
static void test_not(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        struct scene *s = scene_open(i == 0 ? &unable : &able, "shows", i == 1 ? 1000 : LARGE);
        double worst = 0;
        s->session.is_alone = i == 2;
        s->session.was_let_go = i == 3;
        if (i == 4)
            setenv("ATOLL_TORCH_WINDOW", "none", 1);
        assert_int_equal(atoll_rival_session_examine_shown(&s->session, s->built.handle, &s->set, &worst), 0);
        unsetenv("ATOLL_TORCH_WINDOW");
        assert_int_equal(fake.calls, 0);
        free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_outcomes), cmocka_unit_test(test_stretches),
                                       cmocka_unit_test(test_not)};
    const struct atoll_torch_place place = {.python = PYTHON};
    struct atoll_err err = ATOLL_ERR_INIT;
    if (access(PYTHON, X_OK) != 0) {
        printf("no " PYTHON "\n");
        return 77;
    }
    unsetenv("ATOLL_TORCH_WINDOW");
    unsetenv(ATOLL_TORCH_VARIABLE);
    setenv("ATOLL_TORCH_SCRIPT", ATOLL_SOURCE_DIR "/tests/fixtures/torch/rival_peer.py", 1);
    task = atoll_task_load(ATOLL_SOURCE_DIR "/tests/fixtures/rival", &err);
    if (!task) {
        printf("%s\n", err.text);
        return 1;
    }
    if (!(torch = atoll_torch_rival_create(&place, &err))) {
        printf("%s\n", err.text);
        return 1;
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    atoll_torch_rival_destroy(torch);
    atoll_task_destroy(task);
    return failed;
}
