#include "bench/contest.h"

#include <math.h>
#include <stdlib.h>

#include "bench/report.h"

#define RESAMPLES 100

int atoll_contest_init(struct atoll_contest *contest, const struct atoll_t4 *t4, size_t budget,
                       struct atoll_err *err)
{
    static const size_t marks[ATOLL_CONTEST_MARKS] = {50, 100, 200};
    *contest = (struct atoll_contest){.t4 = t4};
    for (size_t i = 0; i < ATOLL_CONTEST_MARKS && marks[i] <= budget; i++)
        contest->marks[contest->mark_count++] = marks[i];
    if (contest->mark_count == 0)
        contest->marks[contest->mark_count++] = budget;
    return atoll_baseline_init(&contest->baseline, t4, err);
}

void atoll_contest_fini(struct atoll_contest *contest)
{
    atoll_baseline_fini(&contest->baseline);
}

void atoll_contest_add(struct atoll_contest *contest, const struct atoll_contestant *contestant)
{
    if (contest->count < ATOLL_CONTEST_LIMIT)
        contest->list[contest->count++] = *contestant;
}

/* ---- scores ---- */

static int contestant_score(const struct atoll_contest *contest, struct atoll_contestant *c,
                            struct atoll_err *err)
{
    for (size_t m = 0; m < contest->mark_count; m++) {
        c->scores[m] = -INFINITY;
        if (c->curves->runs == 0)
            continue;
        c->scores[m] = atoll_curves_score(c->curves, &contest->baseline, contest->marks[m]);
        if (atoll_curves_score_error(c->curves, &contest->baseline, contest->marks[m], RESAMPLES,
                                     &c->errors[m], err) != 0)
            return -1;
    }
    return 0;
}

static int better_first(const void *a, const void *b, void *last)
{
    const struct atoll_contestant *x = a, *y = b;
    double u = x->scores[*(const size_t *)last], v = y->scores[*(const size_t *)last];
    return (u < v) - (u > v);
}

int atoll_contest_score(struct atoll_contest *contest, struct atoll_err *err)
{
    size_t last = contest->mark_count - 1;
    for (size_t i = 0; i < contest->count; i++)
        if (contestant_score(contest, &contest->list[i], err) != 0)
            return -1;
    qsort_r(contest->list, contest->count, sizeof(*contest->list), better_first, &last);
    return 0;
}

/* At a mark; NULL when none of that side ran. */
static const struct atoll_contestant *best_of(const struct atoll_contest *contest, enum atoll_side side,
                                              size_t mark)
{
    const struct atoll_contestant *best = NULL;
    for (size_t i = 0; i < contest->count; i++) {
        const struct atoll_contestant *c = &contest->list[i];
        if (c->side == side && c->curves->runs && (!best || c->scores[mark] > best->scores[mark]))
            best = c;
    }
    return best;
}

/* Times the optimum. */
static double ratio_of(const struct atoll_contest *contest, const struct atoll_contestant *c,
                       size_t evaluation, double quantile)
{
    return atoll_curves_quantile(c->curves, &contest->baseline, evaluation, quantile) /
           contest->baseline.times[0];
}

/* ---- text ---- */

static void head_print(const struct atoll_contest *contest)
{
    const struct atoll_baseline *b = &contest->baseline;
    size_t count = contest->t4->count;
    printf("\n%s: %zu configurations, %zu of them fail; optimum %.4g ms, median %.4g ms\n", contest->t4->name,
           count, count - b->count, b->times[0] / 1e6, b->times[b->count / 2] / 1e6);
    printf("%-24s %5s", "evaluations", "");
    for (size_t m = 0; m < contest->mark_count; m++)
        printf(" | %28zu", contest->marks[m]);
    printf("\n%-24s %5s", "best/optimum", "seeds");
    for (size_t m = 0; m < contest->mark_count; m++)
        printf(" | %7s %6s %6s %6s", "score", "q1", "median", "q3");
    printf("\n");
}

static void row_print(const struct atoll_contest *contest, const struct atoll_contestant *c, size_t budget)
{
    printf("%-24s %5zu", c->name, c->curves->runs);
    for (size_t m = 0; c->curves->runs && m < contest->mark_count; m++)
        printf(" | %7.3f %6.3f %6.3f %6.3f", c->scores[m], ratio_of(contest, c, contest->marks[m], 0.25),
               ratio_of(contest, c, contest->marks[m], 0.5), ratio_of(contest, c, contest->marks[m], 0.75));
    if (c->least_evaluations < budget)
        printf("  stops early, at %zu and more", c->least_evaluations);
    printf("%s%s\n", *c->note ? "  " : "", c->note);
}

static void verdict_print(const struct atoll_contest *contest, size_t mark)
{
    const struct atoll_contestant *ours = best_of(contest, ATOLL_SIDE_OURS, mark);
    const struct atoll_contestant *rival = best_of(contest, ATOLL_SIDE_RIVAL, mark);
    if (!ours || !rival)
        return;
    printf("%s at %zu: %s %.3f +- %.3f against %s %.3f +- %.3f: %s\n", contest->t4->name,
           contest->marks[mark], ours->name, ours->scores[mark], ours->errors[mark], rival->name,
           rival->scores[mark], rival->errors[mark],
           ours->scores[mark] > rival->scores[mark] ? "WIN" : "LOSE");
}

void atoll_contest_print(const struct atoll_contest *contest)
{
    head_print(contest);
    for (size_t i = 0; i < contest->count; i++)
        row_print(contest, &contest->list[i], contest->marks[contest->mark_count - 1]);
    for (size_t m = 0; m < contest->mark_count; m++)
        verdict_print(contest, m);
}

/* ---- JSON ---- */

static void contestant_json(const struct atoll_contest *contest, const struct atoll_contestant *c, FILE *out)
{
    static const char *const sides[] = {"ours", "part", "rival"};
    static const double quantiles[] = {0.25, 0.5, 0.75};
    atoll_report_json_text(out, c->name);
    fprintf(out, ": {\"side\": \"%s\", \"seeds\": %zu, \"seconds\": %.2f, \"note\": ", sides[c->side],
            c->curves->runs, c->seconds);
    atoll_report_json_text(out, c->note);
    for (size_t m = 0; c->curves->runs && m < contest->mark_count; m++)
        fprintf(out, ", \"score_%zu\": %.6f, \"score_error_%zu\": %.6f", contest->marks[m], c->scores[m],
                contest->marks[m], c->errors[m]);
    for (size_t q = 0; c->curves->runs && q < 3; q++) {
        fprintf(out, ",\n   \"p%.0f_ns\": [", 100 * quantiles[q]);
        for (size_t i = 1; i <= c->curves->budget; i++)
            fprintf(out, "%s%.1f", i > 1 ? ", " : "",
                    atoll_curves_quantile(c->curves, &contest->baseline, i, quantiles[q]));
        fprintf(out, "]");
    }
    fprintf(out, "}");
}

void atoll_contest_json(const struct atoll_contest *contest, FILE *out)
{
    fprintf(out, "{\"space\": ");
    atoll_report_json_text(out, contest->t4->name);
    fprintf(out, ", \"configurations\": %zu, \"valid\": %zu, \"optimum_ns\": %.1f, \"strategies\": {",
            contest->t4->count, contest->baseline.count, contest->baseline.times[0]);
    for (size_t i = 0; i < contest->count; i++) {
        fprintf(out, "%s\n  ", i ? "," : "");
        contestant_json(contest, &contest->list[i], out);
    }
    fprintf(out, "}}");
}
