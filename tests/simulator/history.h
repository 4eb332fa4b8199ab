/* history.h - the events of a campaign as bytes, and the same campaign again from them alone: what a journal is for.
 * Layer: tests.  Lifetime: init/fini. */
#ifndef ATOLL_TESTS_SIMULATOR_HISTORY_H
#define ATOLL_TESTS_SIMULATOR_HISTORY_H

#include "base/buffer.h"
#include "core/event.h"
#include "evolution/engine/engine.h"

struct atoll_history {
    struct atoll_buffer bytes; /* blobs, one after the other */
    uint64_t count;
};

void atoll_history_init(struct atoll_history *h);
void atoll_history_fini(struct atoll_history *h);
int atoll_history_add(struct atoll_history *h, const struct atoll_event *event, struct atoll_err *err);
/* A new engine that saw them all; NULL on error.  sink may be NULL. */
struct atoll_engine *atoll_history_replay(const struct atoll_history *h, atoll_decision_sink *sink,
                                          void *context, struct atoll_err *err);

#endif
