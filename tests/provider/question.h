/* question.h - what the fault server needs to know of a request's JSON body, in any of the dialects.
 * Layer: tests.  Lifetime: init/fini. */
#ifndef ATOLL_TESTS_PROVIDER_QUESTION_H
#define ATOLL_TESTS_PROVIDER_QUESTION_H

#include <jansson.h>

#include "tests/provider/tally.h"

struct question {
    const char *model; /* borrowed from the JSON */
    const char *text;  /* of the last message, or the input */
    char id[TALLY_ID_BYTES];
    int is_streamed, has_usage_in_stream;
    /* ---- tools ---- */
    const char *tool_name; /* of the first one offered that may be called; NULL none */
    unsigned result_count; /* of calls, in all messages */
    const char *fault;     /* why the provider would refuse this conversation; NULL: it would not */
    char parameters[128];  /* "max 100 t 0.5 p 1 e high": what is said of sampling, limit and effort */
};

/* 0, or -1: no model in it. */
int question_read(const json_t *body, struct question *ret_question);

#endif
