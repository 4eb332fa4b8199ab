/* error_control.h - how much error each test of an unending stream may have, so that the error of the whole
 * stream stays under control.  Tests may be under way together and end in any order.
 * Layer: core, pure.  Plain value of fixed size; deterministic; never allocates.
 *
 * A test is opened (which gives its level), then closed with its p-value, or abandoned.  The level depends on
 * nothing but tests that are closed and how many are under way.  What is promised needs p-values of true null
 * hypotheses that do not depend on other tests, given which tests were made; recycling and addis also need,
 * of each null, P(rejected at level a) <= a / (tau - lambda) * P(lambda < p <= tau), which a null has whose
 * p-value is uniform, and as a rule one that is further from being true (docs/error-budget.md measures it).
 *
 * Every rule is one formula: level = share * sum over terms of weight * gamma(1 + age + tests under way), with
 * gamma(j) = j^-exponent / zeta(exponent); a term's age counts the tests that were closed since and cost something.
 *
 *   spending   familywise: probability of any false rejection <= alpha.  The level of the k-th test is
 *              alpha * 6 / (pi^2 k^2).
 *   recycling  familywise, ADDIS-spending: a test whose p-value is small (<= lambda) or hopeless (> tau) costs
 *              nothing.  Tian and Ramdas, Online control of the familywise error rate, 2021.
 *   lord       false discovery rate (modified: expected false over expected rejections) <= alpha, LORD++: every
 *              rejection earns a term of its own.  Ramdas, Yang, Wainwright, Jordan 2017.
 *   addis      the same rate, where what costs nothing in recycling costs nothing.  Tian and Ramdas 2019.
 *
 * Tests under way count as costly until they are closed: at least as cautious as the asynchronous rules of Zrnic,
 * Ramdas and Jordan 2021, where only those that began after a rejection count in its term. */
#ifndef ATOLL_CORE_ERROR_CONTROL_H
#define ATOLL_CORE_ERROR_CONTROL_H

#include "base/buffer.h"

#define ATOLL_ERROR_TERM_LIMIT 32
/* Of recycling and addis, and the exponent 1.3: what lost least in bench_error_control over streams with 1 to 30 % true
 * improvements and pairs that deviate by 0.3 to 3 % (docs/error-budget.md). */
#define ATOLL_ERROR_LAMBDA 0.1
#define ATOLL_ERROR_TAU    0.5

enum atoll_error_rule {
    ATOLL_ERROR_SPENDING,
    ATOLL_ERROR_RECYCLING,
    ATOLL_ERROR_LORD,
    ATOLL_ERROR_ADDIS,
    ATOLL_ERROR_RULE_COUNT
};
extern const char *const atoll_error_rule_names[ATOLL_ERROR_RULE_COUNT];

/* What the start or rejections earned: weight in units of error. */
struct atoll_error_term {
    double weight;
    uint64_t age; /* costly tests closed since */
};

struct atoll_error_control {
    enum atoll_error_rule rule;
    double alpha;        /* (0, 0.5): of the whole stream */
    uint64_t under_way;  /* opened, neither closed nor abandoned */
    uint64_t rejections; /* closed as rejected */
    uint32_t term_count; /* >= 1; oldest first, ages fall */
    struct atoll_error_term terms[ATOLL_ERROR_TERM_LIMIT];
};

void atoll_error_init(struct atoll_error_control *e, enum atoll_error_rule rule, double alpha);
/* The level that the next test would get, (0, 0.5). */
double atoll_error_level(const struct atoll_error_control *e);
/* Opens a test and returns its level. */
double atoll_error_open(struct atoll_error_control *e);
/* A test is over.  p: outside [0, 1] it counts as one that costs.  rejected: its null was rejected at its level.
 * Without a test under way nothing happens. */
void atoll_error_close(struct atoll_error_control *e, double p, int rejected);
/* A test gave no answer, for reasons that have nothing to do with its p-value: as if it had never been opened. */
void atoll_error_abandon(struct atoll_error_control *e);

void atoll_error_encode(const struct atoll_error_control *e, struct atoll_buffer *out);
/* e: as init left it, with the rule and alpha of the one that was encoded.  What no stream of tests leads to fails the
 * reader and leaves e as it was. */
void atoll_error_decode(struct atoll_reader *r, struct atoll_error_control *e);

#endif
