#include "core/operator.h"

const char *atoll_operator_name(enum atoll_operator op)
{
    static const char *const names[ATOLL_OPERATOR_COUNT] = {
        [ATOLL_OPERATOR_SEED] = "seed",
        [ATOLL_OPERATOR_TUNE] = "tune",
        [ATOLL_OPERATOR_IMPORT] = "import",
        [ATOLL_OPERATOR_UNIVERSAL] = "universal",
        [ATOLL_OPERATOR_PLAN] = "plan",
        [ATOLL_OPERATOR_EXECUTE] = "execute",
        [ATOLL_OPERATOR_STAGED] = "staged",
        [ATOLL_OPERATOR_TEMPLATE] = "template",
        [ATOLL_OPERATOR_INITIALISE] = "initialise",
        [ATOLL_OPERATOR_TRANSLATE] = "translate",
        [ATOLL_OPERATOR_NULL_CONTROL] = "noop",
    };
    return (unsigned)op < ATOLL_OPERATOR_COUNT ? names[op] : "unknown";
}
