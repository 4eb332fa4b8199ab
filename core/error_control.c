#include "core/error_control.h"

#include <math.h>
#include <string.h>

const char *const atoll_error_rule_names[ATOLL_ERROR_RULE_COUNT] = {
    [ATOLL_ERROR_SPENDING] = "spending",
    [ATOLL_ERROR_RECYCLING] = "recycling",
    [ATOLL_ERROR_LORD] = "lord",
    [ATOLL_ERROR_ADDIS] = "addis",
};

/* lambda 0 and tau 1: every test costs.  start: share of alpha that there is before any rejection; where it is less
 * than 1, rejections earn.  highest: of a level; at most lambda where there is one, as the papers demand.  For the
 * discovery rates it is less: after many rejections they could afford levels at which a candidate that equals its
 * elite is promoted now and then where pairs are noisy. */
struct rule {
    double lambda, tau, start, exponent, zeta, highest;
};

#define ZETA_2   1.6449340668482264 /* Riemann's, pi^2 / 6 */
#define ZETA_1_3 3.931949211809544
#define LAMBDA   ATOLL_ERROR_LAMBDA
#define TAU      ATOLL_ERROR_TAU

static const struct rule rules[ATOLL_ERROR_RULE_COUNT] = {
    [ATOLL_ERROR_SPENDING] = {0, 1, 1, 2, ZETA_2, 0.5},
    [ATOLL_ERROR_RECYCLING] = {LAMBDA, TAU, 1, 1.3, ZETA_1_3, LAMBDA},
    [ATOLL_ERROR_LORD] = {0, 1, 0.5, 1.3, ZETA_1_3, 0.01},
    [ATOLL_ERROR_ADDIS] = {LAMBDA, TAU, 0.5, 1.3, ZETA_1_3, 0.01},
};

void atoll_error_init(struct atoll_error_control *e, enum atoll_error_rule rule, double alpha)
{
    *e = (struct atoll_error_control){.rule = rule, .alpha = alpha, .term_count = 1};
    e->terms[0].weight = alpha * rules[rule].start;
}

double atoll_error_level(const struct atoll_error_control *e)
{
    const struct rule *rule = &rules[e->rule];
    double sum = 0;
    for (uint32_t i = 0; i < e->term_count; i++)
        sum += e->terms[i].weight * pow((double)(e->terms[i].age + e->under_way) + 1, -rule->exponent);
    return fmin((rule->tau - rule->lambda) * sum / rule->zeta, rule->highest);
}

double atoll_error_open(struct atoll_error_control *e)
{
    double level = atoll_error_level(e);
    e->under_way++;
    return level;
}

/* Two terms as one with the age of the older: gamma falls, so no level grows by it. */
static void merge_oldest(struct atoll_error_control *e)
{
    e->terms[0].weight += e->terms[1].weight;
    e->term_count--;
    memmove(&e->terms[1], &e->terms[2], (e->term_count - 1) * sizeof(*e->terms));
}

/* The first rejection brings the stream's start up to alpha, each later one earns alpha. */
static void reward(struct atoll_error_control *e)
{
    double start = rules[e->rule].start;
    e->rejections++;
    if (start >= 1)
        return;
    double weight = e->rejections == 1 ? e->alpha * (1 - start) : e->alpha;
    if (e->terms[e->term_count - 1].age == 0) {
        e->terms[e->term_count - 1].weight += weight;
        return;
    }
    if (e->term_count == ATOLL_ERROR_TERM_LIMIT)
        merge_oldest(e);
    e->terms[e->term_count++] = (struct atoll_error_term){.weight = weight};
}

void atoll_error_close(struct atoll_error_control *e, double p, int rejected)
{
    const struct rule *rule = &rules[e->rule];
    int is_free = (rule->lambda > 0 && p >= 0 && p <= rule->lambda) || (p > rule->tau && p <= 1);
    if (!e->under_way)
        return;
    e->under_way--;
    for (uint32_t i = 0; i < e->term_count && !is_free; i++)
        e->terms[i].age++;
    if (rejected)
        reward(e);
}

void atoll_error_abandon(struct atoll_error_control *e)
{
    e->under_way -= e->under_way > 0;
}

void atoll_error_encode(const struct atoll_error_control *e, struct atoll_buffer *out)
{
    atoll_buffer_put_u64(out, e->under_way);
    atoll_buffer_put_u64(out, e->rejections);
    atoll_buffer_put_u32(out, e->term_count);
    for (uint32_t i = 0; i < e->term_count; i++) {
        atoll_buffer_put_f64(out, e->terms[i].weight);
        atoll_buffer_put_u64(out, e->terms[i].age);
    }
}

/* What was earned is what start and rejections are worth, up to rounding. */
static int is_possible(const struct atoll_error_control *e)
{
    double start = rules[e->rule].start, sum = 0;
    double earned = start < 1 && e->rejections ? (double)e->rejections : start;
    for (uint32_t i = 0; i < e->term_count; i++) {
        if (!(e->terms[i].weight > 0) || (i && e->terms[i].age >= e->terms[i - 1].age))
            return 0;
        sum += e->terms[i].weight;
    }
    return fabs(sum - e->alpha * earned) <= 1e-9 * sum;
}

void atoll_error_decode(struct atoll_reader *r, struct atoll_error_control *e)
{
    struct atoll_error_control read = {.rule = e->rule, .alpha = e->alpha};
    read.under_way = atoll_reader_u64(r);
    read.rejections = atoll_reader_u64(r);
    read.term_count = atoll_reader_u32_in(r, 1, ATOLL_ERROR_TERM_LIMIT);
    for (uint32_t i = 0; i < read.term_count; i++) {
        read.terms[i].weight = atoll_reader_f64(r);
        read.terms[i].age = atoll_reader_u64(r);
    }
    if (!r->failed && !is_possible(&read))
        r->failed = ATOLL_E_PROTOCOL;
    if (!r->failed)
        *e = read;
}
