/* broker_bench.h - the broker against the fault server, over real sockets; a fresh pair for each test. */
#ifndef ATOLL_TESTS_UNIT_LLM_GATEWAY_BROKER_BROKER_BENCH_H
#define ATOLL_TESTS_UNIT_LLM_GATEWAY_BROKER_BROKER_BENCH_H

#include "tests/unit/llm-gateway/broker_case.h"

#include <signal.h>
#include <sys/resource.h>

#include "base/file.h"
#include "llm-gateway/broker/broker_state.h"

static struct broker_case bench;

static inline int setup(void **state)
{
    case_begin(&bench);
    return 0;
}

static inline int teardown(void **state)
{
    case_end(&bench);
    return 0;
}

static inline uint64_t worst_tokens(struct broker_case *c, const char *id)
{
    const struct atoll_llm_request request = case_request(c, "m0", id);
    return atoll_llm_request_input_bound(&request) + 100;
}

static inline atoll_nanousd worst_money(struct broker_case *c, const char *id)
{
    const struct atoll_llm_request request = case_request(c, "m0", id);
    return atoll_llm_request_input_bound(&request) * 1000 + 100 * 2000;
}

static inline void until_it_is_seen(long count)
{
    for (int turn = 0; case_counted(&bench, "seen") < count; turn++) {
        assert_true(turn < CASE_TURNS);
        case_turn(&bench);
    }
}

#endif
