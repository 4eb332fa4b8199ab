/* prompt_request.c - the sections that say what is wanted: where the search stands, directions, a step, the answer. */
#include <string.h>

#include "core/issue.h"
#include "core/search.h"
#include "base/units.h"
#include "evolution/population/advice.h"
#include "evolution/prompt/prompt_section.h"

static const char *const roles[ATOLL_ISLAND_ROLE_COUNT] = {
    [ATOLL_ISLAND_FUSION] =
        "This island looks for fusion: fewer passes over the data, fewer launches, no intermediate result "
        "that goes through far memory.",
    [ATOLL_ISLAND_MEMORY] =
        "This island looks at memory: order and width of accesses, tiles for each level of near memory, "
        "packing, prefetching, data read once.",
    [ATOLL_ISLAND_PARALLELISM] =
        "This island looks at parallelism and launch shape: what a unit, thread or block does, how "
        "evenly work is spread, how many independent operations are in flight.",
    [ATOLL_ISLAND_ALGORITHM] =
        "This island looks for better algorithms: fewer operations or bytes by reformulation, running "
        "forms, identities, decompositions.",
    [ATOLL_ISLAND_NUMERICS] =
        "This island looks at numerics: the cheapest arithmetic that the tolerance and the allowed "
        "precisions permit, polynomials for elementary functions, exact rescaling.",
};

static const char *wanted(const struct atoll_prompt_input *input)
{
    const struct atoll_prompt_kernel *parent = input->parent;
    if (!parent)
        return "Wanted: a first kernel that is correct at every shape, and as fast as you can make it.";
    if (input->ask->op == ATOLL_OPERATOR_TEMPLATE)
        return "Wanted: the parent as a template, with the sizes that matter (tiles, unrolling, vector "
               "widths, stages) as "
               "params of the plan.";
    if (input->ask->op == ATOLL_OPERATOR_TRANSLATE)
        return "Wanted: the parent's idea, written anew for this device.";
    if (parent->evaluation && !atoll_prompt_is_correct(parent))
        return "Wanted: a correct kernel. Repair the parent, or replace it where its approach is at fault.";
    return "Wanted: a kernel that is faster than the parent, better still than the best so far: improve the "
           "parent, or replace "
           "it by a better approach. It counts when it is at least 1 % faster in a direct comparison.";
}

static void put_time(struct atoll_prompt_text *t, const char *what, double ns, double baseline_ns)
{
    char time[32];
    if (!(ns > 0))
        return;
    atoll_prompt_put(t, "- %s: %s", what, atoll_duration_text(ns, time, sizeof time));
    if (baseline_ns > 0)
        atoll_prompt_put(t, " (%.3g times the baseline's speed)", baseline_ns / ns);
    atoll_prompt_put(t, "\n");
}

void atoll_prompt_write_state(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    const struct atoll_prompt_kernel *parent = input->parent;
    put_time(t, "baseline", input->baseline_ns, 0);
    put_time(t, "best so far", input->best_ns, input->baseline_ns);
    put_time(t, "the parent", parent ? parent->time_ns : 0, input->baseline_ns);
    put_time(t, "floor (nothing can be faster than bandwidth and peak arithmetic allow)", input->floor_ns,
             input->baseline_ns);
    atoll_prompt_put(t, "%s%s\n", t->piece_count ? "\n" : "", wanted(input));
}

static void put_issues(const struct atoll_ask *ask, struct atoll_prompt_text *t)
{
    uint64_t issues = ask->op == ATOLL_OPERATOR_STAGED && ask->stage < ATOLL_ISSUE_STAGE_COUNT
                          ? atoll_issues_of_stage(ask->issues, (enum atoll_issue_stage)ask->stage)
                          : 0;
    if (!issues)
        return;
    atoll_prompt_put(t, "Stage of the work: %s. Known issues of the parent; work on these alone:\n",
                     atoll_stage_name((enum atoll_issue_stage)ask->stage));
    for (unsigned i = 0; i < ATOLL_ISSUE_COUNT; i++)
        if (issues & ((uint64_t)1 << i))
            atoll_prompt_put(t, "- %s: %s.\n", atoll_issue_row((enum atoll_issue)i)->name,
                             atoll_issue_row((enum atoll_issue)i)->meaning);
}

void atoll_prompt_write_advice(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    const struct atoll_ask *ask = input->ask;
    int any = 0;
    if (ask->role < ATOLL_ISLAND_ROLE_COUNT)
        atoll_prompt_put(t, "%s\n", roles[ask->role]);
    put_issues(ask, t);
    for (size_t i = 0; i < ask->advice_count && i < ATOLL_ASK_ADVICE_LIMIT; i++) {
        const char *sentence = atoll_advice_text(input->language, &ask->advice[i]);
        if (!sentence)
            continue;
        if (!any)
            atoll_prompt_put(
                t,
                "%sSteps in these directions paid off from kernels like the parent, the strongest first:\n",
                t->piece_count ? "\n" : "");
        atoll_prompt_put(t, "- %s\n", sentence);
        any = 1;
    }
}

void atoll_prompt_write_plan(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    if (!input->plan || !input->plan[0])
        return;
    atoll_prompt_put(
        t,
        "Carry out this one step and leave the rest of the parent as it is, unless it is plainly wrong:\n\n");
    atoll_prompt_put_quote(t, input->plan, 0);
}

void atoll_prompt_write_answer(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    uint32_t count = input->ask->count;
    if (count > 1)
        atoll_prompt_put(t,
                         "Write %u different kernels, each under a heading `### Kernel 1`, `### Kernel 2` "
                         "and so on, each whole "
                         "in one fence that starts with its plan comment%s.",
                         count, input->parent ? ", or as SEARCH/REPLACE edits of the parent" : "");
    else if (input->parent)
        atoll_prompt_put(t, "Write one kernel: whole in one fence that starts with its plan comment, or as "
                            "SEARCH/REPLACE edits of "
                            "the parent where little changes.");
    else
        atoll_prompt_put(t, "Write one kernel, whole in one fence that starts with its plan comment.");
    atoll_prompt_put(
        t, " Before it, say in at most five sentences what you change and why it will be faster.%s\n",
        input->parent && atoll_prompt_is_correct(input->parent)
            ? " Returning the parent unchanged is of no use."
            : "");
}
