/* forwarder.c - frames up, frames down.
 * States: RUNNING --STOP--> STOPPING (the evaluator is told; waits for its end, bounded) -> ANSWERED
 * (PEER_LOST sent; waits for STOP with one byte: all may finalize, or some are lost and the others leave as
 * they are; bounded, and anew each time rank 0 says that it is still writing). */
#include "mpi-eval/node/forwarder.h"

#include <math.h>
#include <time.h>

#include "base/log.h"
#include "core/message.h"
#include "base/clock.h"

#define WAIT_MS        500
#define EVALUATOR_ENDS 4e9 /* what an evaluator gets to leave */
#define RANK0_ANSWERS  12e9
#define RANK0_WRITES   300e9 /* between two words of it while it writes files: as its lease has it */

struct forwarder {
    const struct atoll_peers *up;
    struct atoll_peers down;
    struct atoll_evaluator_pool *pool;
    struct atoll_buffer frame;
    struct atoll_forwarder_times times;
    double heard_ns;     /* the evaluator */
    double last_word_ns; /* until then rank 0's is waited for */
    int is_stopping, may_finalize, is_dismissed;
};

static double now_ns(const struct forwarder *f)
{
    return f->times.now_ns ? f->times.now_ns() : atoll_clock_mono_ns();
}

static int pass(struct forwarder *f, const struct atoll_peers *to, const struct atoll_frame *frame)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    atoll_buffer_clear(&f->frame);
    if (atoll_frame_encode(&f->frame, frame->type, frame->payload, frame->length, &err) == 0 &&
        to->send(to->context, 0, f->frame.data, f->frame.length, &err) == 0) {
        return 0;
    }
    atoll_log_err(ATOLL_LOG_WARNING, "eval.forwarder.dropped", &err);
    return -1;
}

static void pass_down(struct forwarder *f)
{
    struct atoll_frame frame;
    unsigned peer;
    while (f->up->receive(f->up->context, &peer, &frame) > 0) {
        if (frame.type == ATOLL_MSG_STOP && frame.length > 0 && frame.payload[0] == ATOLL_STOP_WAIT) {
            f->last_word_ns = now_ns(f) + f->times.writing_ns;
            continue;
        }
        if (frame.type == ATOLL_MSG_STOP && frame.length > 0) {
            f->may_finalize = frame.payload[0] == ATOLL_STOP_FINALIZE;
            f->is_dismissed = 1;
            continue;
        }
        if (frame.type == ATOLL_MSG_STOP) {
            f->is_stopping = 1;
            atoll_evaluator_pool_retire(f->pool);
        }
        if (atoll_evaluator_pool_alive(f->pool) > 0)
            pass(f, &f->down, &frame);
    }
}

/* After STOP the loss of the evaluator is the answer, sent once at the end. */
static void pass_up(struct forwarder *f)
{
    struct atoll_frame frame;
    unsigned peer;
    while (f->down.receive(f->down.context, &peer, &frame) > 0) {
        f->heard_ns = now_ns(f);
        if (frame.type != ATOLL_MSG_PEER_LOST || !f->is_stopping)
            pass(f, f->up, &frame);
    }
}

static void wait_for_frames(struct forwarder *f, int timeout_ms)
{
    struct pollfd fds[4];
    size_t count = f->down.pollfds(f->down.context, fds, sizeof(fds) / sizeof(fds[0]));
    f->up->wait(f->up->context, fds, count, timeout_ms);
    f->down.waiting(f->down.context); /* writes what the evaluator's socket takes now */
}

/* The evaluator was told to stop: what it still sends goes up, until it has left or its time is over. */
static void end_evaluator(struct forwarder *f)
{
    double until_ns = now_ns(f) + EVALUATOR_ENDS;
    while (atoll_evaluator_pool_alive(f->pool) > 0 && now_ns(f) < until_ns) {
        pass_up(f);
        if (atoll_evaluator_pool_alive(f->pool) > 0)
            wait_for_frames(f, 10);
    }
    if (atoll_evaluator_pool_alive(f->pool) > 0)
        f->down.drop(f->down.context, 0);
}

/* Reports that the evaluator is gone, and waits for rank 0's word: 1 = all may finalize. */
static int ask_to_finalize(struct forwarder *f)
{
    static const unsigned char gone = ATOLL_PEER_GONE;
    const struct atoll_frame lost = {.type = ATOLL_MSG_PEER_LOST, .payload = &gone, .length = 1};
    if (pass(f, f->up, &lost) != 0)
        return 0;
    f->last_word_ns = fmax(f->last_word_ns, now_ns(f) + f->times.answer_ns);
    while (!f->is_dismissed && now_ns(f) < f->last_word_ns) {
        pass_down(f);
        if (!f->is_dismissed)
            f->up->wait(f->up->context, NULL, 0, 100);
    }
    return f->may_finalize;
}

int atoll_forwarder_run(const struct atoll_peers *up, struct atoll_evaluator_pool *pool,
                        const struct atoll_forwarder_times *times)
{
    struct forwarder f = {.up = up, .down = atoll_evaluator_pool_peers(pool), .pool = pool, .times = *times};
    f.heard_ns = now_ns(&f);
    f.times.answer_ns = times->answer_ns > 0 ? times->answer_ns : RANK0_ANSWERS;
    f.times.writing_ns = times->writing_ns > 0 ? times->writing_ns : RANK0_WRITES;
    atoll_buffer_init(&f.frame, (size_t)ATOLL_FRAME_PAYLOAD_LIMIT + ATOLL_FRAME_HEADER_BYTES);
    while (!f.is_stopping) {
        pass_down(&f);
        pass_up(&f);
        if (f.is_stopping)
            break;
        if (now_ns(&f) - f.heard_ns > times->heartbeat_timeout_ns) {
            f.heard_ns = now_ns(&f);
            if (atoll_evaluator_pool_alive(pool) > 0)
                f.down.drop(f.down.context, 0); /* it is silent: another is started */
        }
        wait_for_frames(&f, WAIT_MS);
    }
    end_evaluator(&f);
    int is_allowed = ask_to_finalize(&f);
    atoll_buffer_fini(&f.frame);
    return is_allowed;
}
