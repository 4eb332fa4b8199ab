/* operator.h - who writes candidates (ALGORITHMS.md 7).
 * Layer: core.  The order is the order in journals and archives: new ones go before COUNT. */
#ifndef ATOLL_CORE_OPERATOR_H
#define ATOLL_CORE_OPERATOR_H

enum atoll_operator {
    ATOLL_OPERATOR_SEED,         /* the task's own */
    ATOLL_OPERATOR_TUNE,         /* parameters of a template, by the built-in tuner */
    ATOLL_OPERATOR_IMPORT,       /* from outside, unasked */
    ATOLL_OPERATOR_UNIVERSAL,    /* one prompt with everything known */
    ATOLL_OPERATOR_PLAN,         /* planner: plans of one step */
    ATOLL_OPERATOR_EXECUTE,      /* executor: attempts at a plan */
    ATOLL_OPERATOR_STAGED,       /* analyser, planner and refine rounds of a stage */
    ATOLL_OPERATOR_TEMPLATE,     /* a templated version of the best kernel */
    ATOLL_OPERATOR_INITIALISE,   /* a first draft, from the task and similar kernels */
    ATOLL_OPERATOR_TRANSLATE,    /* from an elite of another device or language */
    ATOLL_OPERATOR_NULL_CONTROL, /* a mutant that changes nothing, for the false-promotion rate */
    ATOLL_OPERATOR_COUNT
};
const char *atoll_operator_name(enum atoll_operator op);

#endif
