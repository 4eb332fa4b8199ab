/* evaluator.c - the evaluator process.
 * Protocol: HEARTBEAT at once and every second; SETUP, then TASK 0, 1, ... come from the coordinator; HELLO
 * (device) and REQUEST (how many orders it wants in hand, all together) when the device is there, after PLACE;
 * then orders in, results out, in any order; DEVICE_TIME every second, and ahead of results that leave no order in
 * hand.  One that finds no device for itself sends PLACE without HELLO and goes on with HEARTBEAT alone: surplus is
 * no failure, and another SETUP makes it look again.  FAILED (u32 code, text) is the last message before it leaves by
 * itself.
 * Invariants: this thread never waits for a compiler or a measurement; a message that does not decode is
 * dropped; at the end of the socket the process leaves with everything it started. */
#include "mpi-eval/evaluator/evaluator.h"
#include "mpi-eval/backend/backends.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "core/message.h"
#include "core/evaluator_location.h"
#include "core/tool.h"
#include "mpi-eval/evaluator/pipeline.h"
#include "mpi-eval/evaluator/referee_thread.h"
#include "mpi-eval/evaluator/synthetic.h"
#include "mpi-eval/node/binding.h"
#include "mpi-eval/node/gpus.h"
#include "mpi-eval/node/stream.h"
#include "mpi-eval/torch/interpreter.h"

#define HEARTBEAT_NS        1e9
#define LEAVE_NS            3e9 /* what a measurement gets to stop */
#define PAYLOAD_LIMIT_BYTES ((size_t)ATOLL_FRAME_PAYLOAD_LIMIT)
#define TOOL_ARENA_BYTES    ((size_t)1 << 20)
#define NULL_TASK_LIMIT     4096u
#define NULL_ORDERS         32u
#define NULL_PAUSE_NS       1e8
#define NULL_RIVAL_PAUSE_NS 2e7 /* at least: a rival takes longer than a candidate */
#define FAILED_FLUSH_MS     1000
#define MEASURED_SLOTS      8u /* compile children at most, where they share cores with what is measured ... */
#define BESIDE_SLOTS        16u /* ... and where they do not */
#define MEASURED_AHEAD      4u  /* orders beside those that compile: measured, or waiting for the device */
#define BESIDE_AHEAD        8u

struct evaluator {
    struct atoll_stream *stream;
    struct atoll_setup setup;
    int has_setup, hello_sent, leave;
    enum atoll_surplus surplus;
    int tells_all_times; /* the coordinator may have lost what it was told */
    int is_alone;        /* the coordinator's end of the socket is gone */
    struct atoll_compiler *compiler;
    struct atoll_referee_thread *referee_thread;
    struct atoll_pipeline *pipeline;
    struct atoll_task **null_tasks; /* null backend */
    uint32_t null_task_count;
    struct atoll_buffer payload; /* of what is sent next */
    unsigned slots, orders;
    double started_ns, beat_ns;
};

/* One compile child per four cores where the others measure, and two at least: they give way to what measures and stand
 * still while a sample is timed.  Else all cores but those of the referee and of the device's process. */
static unsigned compile_slots(const struct atoll_backend *backend)
{
    cpu_set_t cores;
    unsigned count = sched_getaffinity(0, sizeof(cores), &cores) == 0 ? (unsigned)CPU_COUNT(&cores) : 1;
    unsigned slots = backend->compiles_beside ? (count > 2 ? count - 2 : 1) : count < 8 ? 2 : count / 4;
    unsigned limit = backend->compiles_beside ? BESIDE_SLOTS : MEASURED_SLOTS;
    return slots < 1 ? 1 : slots > limit ? limit : slots;
}

static int send_message(struct evaluator *ev, uint16_t type, struct atoll_buffer *payload,
                        struct atoll_err *err)
{
    int rc = atoll_buffer_check(payload, err);
    if (rc == 0)
        ev->is_alone = (rc = atoll_stream_send(ev->stream, type, payload->data, payload->length, err)) != 0;
    atoll_buffer_clear(payload);
    return rc;
}

/* What has grown since the last time. */
static int send_times(struct evaluator *ev, struct atoll_err *err)
{
    struct atoll_time_report report = {.count = 0};
    if (!ev->referee_thread)
        return 0;
    int rc = atoll_time_account_report(atoll_referee_thread_account(ev->referee_thread), ev->tells_all_times,
                                       &report, err);
    if (rc == 0 && report.count) {
        atoll_time_report_encode(&report, &ev->payload);
        rc = send_message(ev, ATOLL_MSG_DEVICE_TIME, &ev->payload, err);
    }
    ev->tells_all_times = 0;
    free(report.times);
    return rc;
}

static int send_pulse(struct evaluator *ev, struct atoll_err *err)
{
    struct atoll_pulse pulse = {.uptime_ns = atoll_clock_mono_ns() - ev->started_ns};
    if (ev->pipeline)
        atoll_pipeline_pulse(ev->pipeline, &pulse);
    pulse.idle_ns = pulse.uptime_ns > pulse.occupied_ns ? pulse.uptime_ns - pulse.occupied_ns : 0;
    atoll_pulse_encode(&pulse, &ev->payload);
    return send_message(ev, ATOLL_MSG_HEARTBEAT, &ev->payload, err);
}

/* From here on this process keeps to the cores near the device at pci. */
static int send_place(struct evaluator *ev, const char *pci, const char *note, struct atoll_err *err)
{
    struct atoll_evaluator_location place = {.surplus = ev->surplus};
    atoll_binding_make(pci, &place);
    /* Fewer cores than when the compile children were counted: fewer orders in hand keep some of them idle. */
    unsigned fitting = ev->slots ? compile_slots(atoll_backend_find(ev->setup.backend)) : 0;
    if (fitting < ev->slots) {
        ev->orders -= ev->slots - fitting;
        ev->slots = fitting;
    }
    place.slots = ev->slots;
    if (gethostname(place.node, sizeof(place.node) - 1) != 0)
        snprintf(place.node, sizeof(place.node), "unknown");
    if (note)
        snprintf(place.note, sizeof(place.note), "%.*s", (int)sizeof(place.note) - 1, note);
    atoll_evaluator_location_encode(&place, &ev->payload);
    return send_message(ev, ATOLL_MSG_PLACE, &ev->payload, err);
}

static int send_hello(struct evaluator *ev, const struct atoll_device_info *device, uint32_t orders,
                      struct atoll_err *err)
{
    ev->hello_sent = 1;
    atoll_device_info_encode(device, &ev->payload);
    if (send_message(ev, ATOLL_MSG_HELLO, &ev->payload, err) != 0)
        return -1;
    atoll_buffer_put_u32(&ev->payload, orders);
    return send_message(ev, ATOLL_MSG_REQUEST, &ev->payload, err);
}

/* The last word; written out before the process leaves. */
static void send_failed(struct evaluator *ev, const struct atoll_err *why)
{
    atoll_buffer_clear(&ev->payload);
    atoll_buffer_put_u32(&ev->payload, (uint32_t)why->code);
    atoll_buffer_put_text(&ev->payload, why->text);
    if (send_message(ev, ATOLL_MSG_FAILED, &ev->payload, NULL) != 0)
        return;
    while (atoll_stream_waiting_bytes(ev->stream) > 0) {
        struct pollfd fd = {.fd = atoll_stream_fd(ev->stream), .events = POLLOUT};
        if (poll(&fd, 1, FAILED_FLUSH_MS) <= 0 || atoll_stream_flush(ev->stream, NULL) != 0)
            return;
    }
}

/* ---- messages ---- */

/* A referee that does not stop holds memory that cannot be freed: then the process just leaves, and its
 * children with it. */
static void stop_measuring(struct evaluator *ev)
{
    int hangs = atoll_referee_thread_destroy(ev->referee_thread, LEAVE_NS) != 0;
    atoll_compiler_destroy(ev->compiler);
    if (hangs) {
        atoll_log(ATOLL_LOG_WARNING, "eval.evaluator.hangs", "the referee did not stop in time");
        _exit(0);
    }
    atoll_pipeline_destroy(ev->pipeline);
    ev->referee_thread = NULL;
    ev->compiler = NULL;
    ev->pipeline = NULL;
}

static int become_surplus(struct evaluator *ev, enum atoll_surplus surplus, const char *why,
                          struct atoll_err *err)
{
    stop_measuring(ev);
    ev->surplus = surplus;
    ev->slots = 0;
    atoll_log(ATOLL_LOG_WARNING, "eval.evaluator.surplus", "%s; this evaluator stays idle", why);
    return send_place(ev, "", why, err);
}

static int start_measuring(struct evaluator *ev, struct atoll_err *err)
{
    const struct atoll_setup *setup = &ev->setup;
    const struct atoll_backend *backend = atoll_backend_find(setup->backend);
    if (!backend)
        return atoll_err_set(err, ATOLL_E_INPUT, "this program has no backend \"%.15s\"", setup->backend);
    /* The spawner may have found no device for this process. */
    const char *device = getenv(ATOLL_GPU_VARIABLE);
    if (backend != &atoll_backend_cpu && device && strcmp(device, ATOLL_GPU_SURPLUS) == 0) {
        return become_surplus(ev, ATOLL_SURPLUS_IDLE,
                              "this node has fewer GPUs than evaluators (as CUDA_VISIBLE_DEVICES "
                              "shows them); "
                              "start one rank for each GPU, and one more for rank 0 on its node",
                              err);
    }
    ev->slots = compile_slots(backend);
    ev->orders = ev->slots + (backend->compiles_beside ? BESIDE_AHEAD : MEASURED_AHEAD);
    ev->compiler = backend->compiler_create(setup, ev->slots, err);
    if (ev->compiler)
        ev->referee_thread = atoll_referee_thread_create(setup, ev->compiler, err);
    if (ev->referee_thread)
        ev->pipeline = atoll_pipeline_create(backend, ev->compiler, ev->referee_thread, err);
    return ev->pipeline ? 0 : -1;
}

/* What the null device says of torch: what is there, so that its answers on rivals are asked for. */
static void null_torch(const struct evaluator *ev, struct atoll_device_info *device)
{
    char python[sizeof(ev->setup.python)];
    if (atoll_torch_find(ev->setup.python, python, sizeof(python), NULL) != 0)
        return;
    json_t *answer = atoll_torch_examine(python, NULL);
    if (answer)
        atoll_torch_describe(answer, device->torch, sizeof(device->torch));
    json_decref(answer);
}

static int on_setup(struct evaluator *ev, const struct atoll_frame *frame, struct atoll_err *err)
{
    ev->tells_all_times = 1;
    if (ev->has_setup && !ev->surplus)
        return 0; /* the coordinator had lost sight of this process and sends it again */
    ev->surplus = ATOLL_SURPLUS_NONE;
    if (atoll_setup_decode(frame->payload, frame->length, &ev->setup, err) != 0)
        return -1;
    ev->has_setup = 1;
    if (!ev->setup.backend_null)
        return start_measuring(ev, err);
    struct atoll_device_info device;
    atoll_synthetic_device(&device);
    null_torch(ev, &device);
    return send_place(ev, "", NULL, err) != 0 ? -1 : send_hello(ev, &device, NULL_ORDERS, err);
}

static int null_add_task(struct evaluator *ev, uint32_t number, struct atoll_task *task,
                         struct atoll_err *err)
{
    struct atoll_task **grown = NULL;
    if (number == ev->null_task_count && number < NULL_TASK_LIMIT)
        grown = realloc(ev->null_tasks, (number + 1) * sizeof(struct atoll_task *));
    if (!grown) {
        atoll_task_destroy(task);
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "task %u cannot be taken", number);
    }
    ev->null_tasks = grown;
    ev->null_tasks[ev->null_task_count++] = task;
    return 0;
}

static int on_task(struct evaluator *ev, const struct atoll_frame *frame, struct atoll_err *err)
{
    struct atoll_reader reader;
    size_t length;
    atoll_reader_init(&reader, frame->payload, frame->length);
    uint32_t number = atoll_reader_u32(&reader);
    const void *bytes = atoll_reader_blob(&reader, &length);
    if (atoll_reader_finish(&reader, "TASK", err) != 0)
        return -1;
    struct atoll_task *task = atoll_task_decode(bytes, length, err);
    if (!task)
        return -1;
    if (ev->setup.backend_null)
        return null_add_task(ev, number, task, err);
    if (ev->surplus) {
        atoll_task_destroy(task);
        return 0;
    }
    if (!ev->pipeline) {
        atoll_task_destroy(task);
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "TASK came before SETUP");
    }
    return atoll_pipeline_add_task(ev->pipeline, number, task, err);
}

static int null_rival(struct evaluator *ev, const struct atoll_order *order, struct atoll_err *err)
{
    struct atoll_rival rival;
    atoll_rival_init(&rival);
    int rc = atoll_synthetic_rival(ev->null_tasks[order->task], order, &rival, err);
    if (rc == 0) {
        atoll_rival_encode(&rival, &ev->payload);
        rc = send_message(ev, ATOLL_MSG_RIVALLED, &ev->payload, err);
    }
    atoll_rival_fini(&rival);
    return rc;
}

static int null_answer(struct evaluator *ev, const struct atoll_order *order, struct atoll_err *err)
{
    double pause_ns = ev->setup.sample_device_ns < NULL_PAUSE_NS ? ev->setup.sample_device_ns : NULL_PAUSE_NS;
    if (order->kind == ATOLL_ORDER_RIVAL)
        pause_ns = fmax(pause_ns, NULL_RIVAL_PAUSE_NS);
    struct timespec pause = {.tv_nsec = (long)pause_ns};
    if (pause_ns > 0)
        nanosleep(&pause, NULL);
    if (order->task >= ev->null_task_count) {
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "an order for task %u, which was never sent",
                             order->task);
    }
    if (order->kind == ATOLL_ORDER_RIVAL)
        return null_rival(ev, order, err);
    if (order->kind == ATOLL_ORDER_DUEL) {
        struct atoll_duel duel;
        atoll_synthetic_duel(order, &duel);
        atoll_duel_encode(&duel, &ev->payload);
        return send_message(ev, ATOLL_MSG_DUELLED, &ev->payload, err);
    }
    struct atoll_evaluation evaluation;
    atoll_evaluation_init(&evaluation);
    int rc = atoll_synthetic_evaluate(ev->null_tasks[order->task], order, &evaluation, err);
    if (rc == 0) {
        atoll_evaluation_encode(&evaluation, &ev->payload);
        rc = send_message(ev, ATOLL_MSG_EVALUATED, &ev->payload, err);
    }
    atoll_evaluation_fini(&evaluation);
    return rc;
}

static int on_order(struct evaluator *ev, const struct atoll_frame *frame, struct atoll_err *err)
{
    if (ev->pipeline)
        return atoll_pipeline_order(ev->pipeline, frame->payload, frame->length, err);
    struct atoll_arena *arena = atoll_arena_create(4u << 20, err);
    struct atoll_order order;
    int rc = arena ? atoll_order_decode(frame->payload, frame->length, arena, &order, err) : -1;
    if (rc == 0)
        rc = null_answer(ev, &order, err);
    atoll_arena_destroy(arena);
    return rc;
}

/* The null backend compiles nothing, and says so. */
static int null_tool(struct evaluator *ev, const struct atoll_frame *frame, struct atoll_err *err)
{
    struct atoll_tool_order order;
    struct atoll_arena *arena = atoll_arena_create(TOOL_ARENA_BYTES, err);
    int rc = arena ? atoll_tool_order_decode(frame->payload, frame->length, arena, &order, err) : -1;
    if (rc == 0) {
        const struct atoll_tool_answer answer = {order.call, ATOLL_TOOL_OK,
                                                 order.tool == ATOLL_TOOL_COMPILE
                                                     ? "null backend: nothing was compiled"
                                                     : "null backend: nothing was checked"};
        atoll_tool_answer_encode(&answer, &ev->payload);
        rc = send_message(ev, ATOLL_MSG_TOOLED, &ev->payload, err);
    }
    atoll_arena_destroy(arena);
    return rc;
}

static int on_tool(struct evaluator *ev, const struct atoll_frame *frame, struct atoll_err *err)
{
    if (ev->pipeline)
        return atoll_pipeline_tool(ev->pipeline, frame->payload, frame->length, err);
    if (ev->setup.backend_null)
        return null_tool(ev, frame, err);
    return atoll_err_set(err, ATOLL_E_PROTOCOL, "TOOL came to an evaluator without a device");
}

static int on_ack(struct evaluator *ev, const struct atoll_frame *frame, struct atoll_err *err)
{
    return 0; /* nothing is kept for a second sending: a result that is lost is an order that is sent again */
}

static int on_stop(struct evaluator *ev, const struct atoll_frame *frame, struct atoll_err *err)
{
    ev->leave = 1;
    return 0;
}

static const struct {
    int (*handle)(struct evaluator *ev, const struct atoll_frame *frame, struct atoll_err *err);
    int is_fatal; /* an error in it ends the process: it cannot do its work without */
} handlers[ATOLL_MSG_TYPE_COUNT] = {
    [ATOLL_MSG_SETUP] = {on_setup, 1}, [ATOLL_MSG_TASK] = {on_task, 1},  [ATOLL_MSG_EVALUATE] = {on_order, 0},
    [ATOLL_MSG_RIVAL] = {on_order, 0}, [ATOLL_MSG_DUEL] = {on_order, 0}, [ATOLL_MSG_ACK] = {on_ack, 0},
    [ATOLL_MSG_STOP] = {on_stop, 0},   [ATOLL_MSG_TOOL] = {on_tool, 0},
};

static int take_message(struct evaluator *ev, const struct atoll_frame *frame, struct atoll_err *err)
{
    struct atoll_err own = ATOLL_ERR_INIT;
    if (frame->type >= ATOLL_MSG_TYPE_COUNT || !handlers[frame->type].handle) {
        atoll_log(ATOLL_LOG_WARNING, "eval.evaluator.message", "a message of unknown type %u was dropped",
                  frame->type);
        return 0;
    }
    if (handlers[frame->type].handle(ev, frame, &own) == 0)
        return 0;
    if (handlers[frame->type].is_fatal || ev->is_alone) {
        *err = own;
        return -1;
    }
    atoll_log_err(ATOLL_LOG_WARNING, "eval.evaluator.message", &own);
    return 0;
}

static int send_results(struct evaluator *ev, struct atoll_err *err)
{
    uint16_t type;
    struct atoll_err own = ATOLL_ERR_INIT;
    if (!ev->pipeline)
        return 0;
    if (atoll_pipeline_advance(ev->pipeline, &own) != 0) {
        if (own.code == ATOLL_E_BUSY && !ev->hello_sent)
            return become_surplus(ev, ATOLL_SURPLUS_BUSY, own.text, err);
        *err = own;
        return -1;
    }
    /* Its time is told first, so that nobody takes it for that of a process before this one. */
    if (!ev->hello_sent && atoll_pipeline_is_open(ev->pipeline) &&
        (send_times(ev, err) != 0 ||
         send_place(ev, atoll_referee_thread_pci(ev->referee_thread), NULL, err) != 0 ||
         send_hello(ev, atoll_referee_thread_device(ev->referee_thread), ev->orders, err) != 0)) {
        return -1;
    }
    if (atoll_pipeline_is_done(ev->pipeline) && send_times(ev, err) != 0)
        return -1;
    while (atoll_pipeline_result(ev->pipeline, &type, &ev->payload))
        if (send_message(ev, type, &ev->payload, err) != 0)
            return -1;
    return 0;
}

static void wait_for_events(struct evaluator *ev)
{
    struct pollfd fds[64];
    size_t count = 0;
    double left_ns = ev->beat_ns + HEARTBEAT_NS - atoll_clock_mono_ns();
    int timeout_ms = left_ns <= 0 ? 0 : (int)(left_ns / 1e6) + 1;
    fds[count++] =
        (struct pollfd){.fd = atoll_stream_fd(ev->stream), .events = atoll_stream_events(ev->stream)};
    if (ev->referee_thread)
        fds[count++] = (struct pollfd){.fd = atoll_referee_thread_fd(ev->referee_thread), .events = POLLIN};
    if (ev->pipeline && atoll_pipeline_owns_compiler(ev->pipeline)) {
        int deadline_ms = atoll_compiler_timeout_ms(ev->compiler);
        count += atoll_compiler_pollfds(ev->compiler, fds + count, sizeof(fds) / sizeof(fds[0]) - count);
        if (deadline_ms >= 0 && deadline_ms < timeout_ms)
            timeout_ms = deadline_ms;
    }
    poll(fds, count, timeout_ms);
}

static int loop(struct evaluator *ev, struct atoll_err *err)
{
    while (!ev->leave) {
        struct atoll_frame frame;
        int got;
        while (!ev->leave && (got = atoll_stream_receive(ev->stream, &frame, NULL)) != 0) {
            if (got < 0)
                return 0; /* the coordinator is gone */
            if (take_message(ev, &frame, err) != 0)
                return -1;
        }
        if (send_results(ev, err) != 0)
            return -1;
        if (atoll_clock_mono_ns() - ev->beat_ns >= HEARTBEAT_NS) {
            ev->beat_ns = atoll_clock_mono_ns();
            if (send_pulse(ev, err) != 0 || send_times(ev, err) != 0)
                return -1;
        }
        if (atoll_stream_flush(ev->stream, err) != 0)
            return 0;
        if (!ev->leave)
            wait_for_events(ev);
    }
    return 0;
}

int atoll_evaluator_run(int fd, struct atoll_err *err)
{
    struct evaluator ev = {.started_ns = atoll_clock_mono_ns()};
    struct atoll_err own = ATOLL_ERR_INIT;
    prctl(PR_SET_DUMPABLE, 0);
    signal(SIGPIPE, SIG_IGN);
    atoll_buffer_init(&ev.payload, PAYLOAD_LIMIT_BYTES);
    ev.stream = atoll_stream_create(fd, 0, err);
    if (!ev.stream)
        return -1;
    int rc = loop(&ev, &own);
    if (ev.is_alone)
        rc = 0;
    if (rc != 0) {
        send_failed(&ev, &own);
        if (err)
            *err = own;
    }
    stop_measuring(&ev);
    for (uint32_t i = 0; i < ev.null_task_count; i++)
        atoll_task_destroy(ev.null_tasks[i]);
    free(ev.null_tasks);
    atoll_buffer_fini(&ev.payload);
    atoll_stream_destroy(ev.stream);
    explicit_bzero(&ev.setup, sizeof(ev.setup));
    return rc;
}
