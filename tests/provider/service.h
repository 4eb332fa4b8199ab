/* service.h - from a request to its reply.
 * Layer: tests.  Lifetime: init/fini. */
#ifndef ATOLL_TESTS_PROVIDER_SERVICE_H
#define ATOLL_TESTS_PROVIDER_SERVICE_H

#include "tests/provider/dialect.h"
#include "tests/provider/question.h"
#include "tests/provider/reply.h"
#include "tests/provider/tally.h"

struct service_request {
    char method[16], path[256], query[64], key[256], boundary[128];
    int is_anthropic; /* it has the header anthropic-version */
    const char *body;
    size_t body_length;
};

struct service {
    struct tally tally;
    char url[160];        /* of the server, for links */
    unsigned long number; /* of the last reply */
};

void service_init(struct service *service);
void service_fini(struct service *service);
void service_answer(struct service *service, const struct service_request *request, struct reply *reply);

/* An answer's texts as the scenario wants them; answer.text may be question's. */
void service_compose(struct service *service, const struct question *question,
                     const struct scenario *scenario, struct atoll_buffer *text,
                     struct atoll_buffer *reasoning, struct answer *ret_answer);

#endif
