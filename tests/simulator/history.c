#include "tests/simulator/history.h"

#include "base/arena.h"

#define EVENT_BYTES   ((size_t)1 << 26)
#define HISTORY_BYTES ((size_t)1 << 34)

void atoll_history_init(struct atoll_history *h)
{
    h->count = 0;
    atoll_buffer_init(&h->bytes, HISTORY_BYTES);
}

void atoll_history_fini(struct atoll_history *h)
{
    atoll_buffer_fini(&h->bytes);
}

int atoll_history_add(struct atoll_history *h, const struct atoll_event *event, struct atoll_err *err)
{
    struct atoll_buffer one;
    atoll_buffer_init(&one, EVENT_BYTES);
    atoll_event_encode(event, &one);
    int failed = atoll_buffer_check(&one, err);
    if (!failed)
        atoll_buffer_put_blob(&h->bytes, one.data, one.length);
    atoll_buffer_fini(&one);
    h->count++;
    return failed || atoll_buffer_check(&h->bytes, err) ? -1 : 0;
}

static int replay_one(struct atoll_engine *engine, struct atoll_reader *reader, struct atoll_arena *arena,
                      atoll_decision_sink *sink, void *context, struct atoll_err *err)
{
    struct atoll_event event;
    size_t length;
    const void *bytes = atoll_reader_blob(reader, &length);
    atoll_arena_reset(arena);
    if (atoll_event_decode(bytes, length, arena, &event, err))
        return -1;
    int failed = atoll_engine_step(engine, &event, sink, context, err);
    atoll_event_fini(&event);
    return failed;
}

struct atoll_engine *atoll_history_replay(const struct atoll_history *h, atoll_decision_sink *sink,
                                          void *context, struct atoll_err *err)
{
    struct atoll_engine *engine = atoll_engine_create(err);
    struct atoll_arena *arena = atoll_arena_create(EVENT_BYTES, err);
    struct atoll_reader reader;
    int failed = !engine || !arena;
    atoll_reader_init(&reader, h->bytes.data, h->bytes.length);
    for (uint64_t i = 0; i < h->count && !failed; i++)
        failed = replay_one(engine, &reader, arena, sink, context, err);
    atoll_arena_destroy(arena);
    if (!failed)
        return engine;
    atoll_engine_destroy(engine);
    return NULL;
}
