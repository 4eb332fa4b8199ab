/* client_spool.c - calls as files of a spool: written when they are asked, looked for after 20 ms, then ever more rarely, at
 * last every 250 ms.  Trouble with the file system is waited out until the deadline. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "llm-gateway/client/client_transport.h"

#define NS_PER_MS  1e6
#define FIRST_MS   20.0
#define LONGEST_MS 250.0
#define GROWTH     1.25

struct transport {
    struct atoll_spool_client *spool;
    struct atoll_client_clock clock;
};

static double now_of(const struct transport *t)
{
    return t->clock.now_ns(t->clock.context);
}

static void *create(const char *where, const char *token_file, const struct atoll_client_clock *clock,
                    struct atoll_err *err)
{
    struct transport *t = calloc(1, sizeof(*t));
    if (!t) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a client of the spool %s", where);
        return NULL;
    }
    t->clock = *clock;
    t->spool = atoll_spool_client_open(where, clock->now_ns, clock->context, err);
    if (!t->spool) {
        free(t);
        return NULL;
    }
    return t;
}

static void destroy(void *transport)
{
    struct transport *t = transport;
    atoll_spool_client_close(t->spool);
    free(t);
}

static void plan_look(const struct transport *t, struct atoll_client_call *call)
{
    call->pause_ns = fmin(fmax(call->pause_ns * GROWTH, FIRST_MS * NS_PER_MS), LONGEST_MS * NS_PER_MS);
    call->look_ns = now_of(t) + call->pause_ns;
}

/* Its JSON is kept: another client of the same question may be done with the reply before this one has seen it. */
static int start(void *transport, struct atoll_client_call *call, const struct atoll_llm_request *request,
                 struct atoll_err *err)
{
    struct transport *t = transport;
    call->id = atoll_llm_request_id(request);
    if (atoll_llm_request_encode(request, &call->body, err) != 0 ||
        atoll_spool_client_ask(t->spool, request, call->name, err) != 0)
        return -1;
    plan_look(t, call);
    return 0;
}

static void stop(void *transport, struct atoll_client_call *call)
{
    struct transport *t = transport;
    atoll_spool_client_withdraw(t->spool, call->name);
}

static void look(struct transport *t, struct atoll_client_call *call)
{
    struct atoll_err why = ATOLL_ERR_INIT;
    int found = atoll_spool_client_look(t->spool, call->name, &call->outcome, &why);
    int is_given_up =
        found > 0 && call->outcome.status == ATOLL_LLM_CANCELLED; /* by a gateway that ended; not by us */
    if (found > 0 && !is_given_up) {
        call->is_concluded = 1;
        return;
    }
    if (is_given_up || (found < 0 && why.code == ATOLL_E_NOTFOUND))
        found = atoll_spool_client_again(t->spool, call->name, call->body.data, call->body.length, &why);
    if (found < 0)
        atoll_llm_outcome_set(&call->outcome, ATOLL_LLM_NETWORK, "%s", why.text);
    plan_look(t, call);
}

static int turn(void *transport, struct atoll_client_call *const *calls, size_t count, struct atoll_err *err)
{
    struct transport *t = transport;
    double now_ns = now_of(t);
    for (size_t i = 0; i < count; i++)
        if (!calls[i]->is_concluded && now_ns >= calls[i]->look_ns)
            look(t, calls[i]);
    return 0;
}

static void settle(void *transport, const char *name)
{
    struct transport *t = transport;
    atoll_spool_client_done(t->spool, name, NULL);
}

const struct atoll_client_transport atoll_client_spool = {
    .prefix = "spool:",
    .create = create,
    .destroy = destroy,
    .start = start,
    .stop = stop,
    .turn = turn,
    .settle = settle,
};
