/* plan_comment.c - where a plan stands in its source. */
#include <string.h>

#include "core/plan/plan_reader.h"

static size_t skip_blanks(const char *text)
{
    return strspn(text, " \t\r\n\v\f");
}

int atoll_plan_find(const char *source, const char **ret_json, size_t *ret_length, const char **ret_body,
                    struct atoll_err *err)
{
    const char *at = source + skip_blanks(source);
    if (strncmp(at, "/*", 2) != 0) {
        return atoll_err_set(
            err, ATOLL_E_INPUT,
            "plan: the source must start with a comment /* atoll-plan {...} */; add it (docs/spec/plan.md)");
    }
    at += 2 + skip_blanks(at + 2);
    if (strncmp(at, "atoll-plan", 10) != 0) {
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "plan: the first comment must start with 'atoll-plan'; move the plan there");
    }
    at += 10;
    const char *end = strstr(at, "*/");
    if (!end) {
        return atoll_err_set(err, ATOLL_E_INPUT, "plan: the plan's comment never ends; close it with */");
    }
    if ((size_t)(end - at) > ATOLL_PLAN_BYTES) {
        return atoll_err_set(err, ATOLL_E_INPUT, "plan: %zu bytes of JSON, at most %u are allowed",
                             (size_t)(end - at), ATOLL_PLAN_BYTES);
    }
    *ret_json = at;
    *ret_length = (size_t)(end - at);
    *ret_body = end + 2;
    return 0;
}
