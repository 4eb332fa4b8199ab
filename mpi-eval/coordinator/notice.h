/* notice.h - what a person should know while a run goes on: that no result counts, and why; that nothing of a template compiles;
 * what a task's rivals took; that there is no Triton where it may be used.
 * Layer: mpi-eval, part of the coordinator.  Plain values. */
#ifndef ATOLL_MPI_EVAL_COORDINATOR_NOTICE_H
#define ATOLL_MPI_EVAL_COORDINATOR_NOTICE_H

#include "core/message.h"
#include "evolution/engine/engine.h"

struct atoll_notice {
    char text[512];             /* the last one, without quotes and backslashes; "" before there is one */
    uint64_t evaluated;         /* by the engine, as of the last result or the start of the attempt */
    unsigned uncounted;         /* results of this attempt before the first that counted */
    char uncounted_detail[256]; /* of the last of them, with its task */
    double waits_said_ns;       /* when it was said that none counts; 0 not yet */
    int has_counted;            /* a result of this attempt counted */
    int is_of_rival;            /* the text is about a rival: another may take its place */
};

/* What of an attempt a notice follows from. */
struct atoll_notice_facts {
    const struct atoll_engine *engine;
    double attempt_ns, left_ns; /* of this attempt; of the budget of time, 0: there is none */
    unsigned ready, evaluators;
    uint64_t under_way;
};

/* At the start of an attempt: where sources in Triton may come and this machine has no Triton, that, and what to do.  1: said so. */
int atoll_notice_triton(struct atoll_notice *notice, const struct atoll_setup *setup,
                        enum atoll_triton triton);
/* The engine has seen this result. */
void atoll_notice_result(struct atoll_notice *notice, const struct atoll_engine *engine, uint32_t task,
                         const struct atoll_evaluation *evaluation);
/* The same of a rival: "rival of softmax_rows: eager 1.23 ms".  It never takes the place of what somebody should look at. */
void atoll_notice_rival(struct atoll_notice *notice, const struct atoll_engine *engine,
                        const struct atoll_rival *rival);
/* Now and then: says that nothing counts when that has gone on for too long a part of the time. */
void atoll_notice_check(struct atoll_notice *notice, const struct atoll_notice_facts *facts);
/* At the end of an attempt: every template of which nothing compiles. */
void atoll_notice_end(const struct atoll_engine *engine);

#endif
