/* prompt_brief.c - the sections that say what others found out or decided: memories, hints, issues, the step to carry out; then
 * which tools there are, and the form of the answer.  All of it but types, stages and figures was written by models, so
 * it is quoted. */
#include <stdio.h>
#include <string.h>

#include "core/diagnosis.h"
#include "core/issue.h"
#include "evolution/prompt/prompt_form.h"
#include "evolution/prompt/prompt_kernel.h"

#define BRIEF_BYTES  2000 /* of each, for a budget of 48 KiB */
#define ISSUE_BYTES  1200
#define REPORT_LIMIT 8    /* findings of an analysis */
#define PLAN_BYTES   8192 /* of a step, whatever the budget */
#define STAGE(s)     ((uint32_t)1 << (s))

/* ---- memory and hints ---- */

static void put_briefs(const struct atoll_prompt_input *input, struct atoll_prompt_text *t,
                       enum atoll_brief_kind kind, const char *what)
{
    size_t count = 0;
    for (size_t i = 0; i < input->brief_count && input->briefs; i++) {
        if (input->briefs[i].kind != kind)
            continue;
        atoll_prompt_put(t, "%s\n%zu.\n\n", count ? "" : what, count + 1);
        count++;
        atoll_prompt_put_brief(t, input, i, atoll_prompt_cap(input, BRIEF_BYTES));
    }
}

void atoll_prompt_write_memory(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    put_briefs(
        input, t, ATOLL_BRIEF_MEMORY,
        "What turned a slower kernel of this task into a faster one, the newest first, also where the faster "
        "one "
        "was the older: then it says what not to do. Use what fits the parent; do not repeat what it has.\n");
}

void atoll_prompt_write_hints(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    put_briefs(input, t, ATOLL_BRIEF_HINT,
               "Found by the diagnosis in a library of what helped elsewhere, the most trusted first. Each "
               "holds where "
               "its context does; judge that before you follow it.\n");
}

void atoll_prompt_write_plans(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    put_briefs(input, t, ATOLL_BRIEF_PLAN,
               "The newest first, with what came of each. Plan something else: a step that is one of these "
               "again is thrown away. Say what was wrong with the attempt where you want one of them done "
               "otherwise.\n");
}

/* ---- issues ---- */

static void put_gain(struct atoll_prompt_text *t, const struct atoll_reply_item *item)
{
    if (item->gain_high > item->gain_low)
        atoll_prompt_put(t, ", expected %.3g to %.3g times the speed", item->gain_low, item->gain_high);
    else if (item->gain_high > 0)
        atoll_prompt_put(t, ", expected %.3g times the speed", item->gain_high);
}

static void put_text(struct atoll_prompt_text *t, const char *what, const char *text, size_t cap)
{
    if (!text || !text[0])
        return;
    atoll_prompt_put(t, "%s", what);
    atoll_prompt_put_quote(t, text, cap);
}

static unsigned severity_of(const struct atoll_reply_item *item)
{
    const struct atoll_issue_row *row = atoll_issue_row((enum atoll_issue)item->issue);
    return item->severity ? item->severity : row ? row->severity : 3;
}

static void put_issue(const struct atoll_prompt_input *input, struct atoll_prompt_text *t,
                      const struct atoll_reply_item *item, int says_stage)
{
    const struct atoll_issue_row *row = atoll_issue_row((enum atoll_issue)item->issue);
    size_t cap = atoll_prompt_cap(input, ISSUE_BYTES);
    const char *stage = atoll_stage_name((enum atoll_issue_stage)item->stage);
    if (item->kind == ATOLL_ITEM_PROPOSAL) {
        atoll_prompt_put(t, "\n- A proposal%s%s", says_stage ? ", stage " : "", says_stage ? stage : "");
        put_gain(t, item);
        atoll_prompt_put(t, ":\n");
        put_text(t, "", item->title, cap);
        put_text(t, "  What changes:\n", item->text, cap);
        if (says_stage)
            return;
        put_text(t, "  Why it is valid:\n", item->why, cap);
        put_text(t, "  Before:\n", item->before, cap);
        put_text(t, "  After:\n", item->after, cap);
        return;
    }
    atoll_prompt_put(t, "\n- %s%s%s, severity %u", row ? row->name : "a type of its own",
                     says_stage ? ", stage " : "", says_stage ? stage : "", severity_of(item));
    put_gain(t, item);
    atoll_prompt_put(t, "%s%s%s\n", row ? ": " : ":", row ? row->meaning : "", row ? "." : "");
    put_text(t, "", row ? NULL : item->title, cap);
    put_text(t, "", item->text, cap);
    put_text(t, "  Fix:\n", says_stage ? NULL : item->after, cap);
}

/* What the ask names, and what the parent's measurement shows. */
static uint64_t known_issues(const struct atoll_prompt_input *input)
{
    const struct atoll_evaluation *e = input->parent ? input->parent->evaluation : NULL;
    uint64_t issues = input->ask->issues;
    if (e && e->verdict == ATOLL_V_CORRECT) {
        struct atoll_diagnosis d;
        atoll_diagnose_evaluation(e, input->task, input->device, &d);
        issues |= atoll_issues_of_diagnosis(&d, &e->profile.resources);
    }
    return issues;
}

/* Of what an analyser found the severest first, then what else is known of the wanted stages, a line each. */
static void put_issues(const struct atoll_prompt_input *input, struct atoll_prompt_text *t, uint32_t stages,
                       uint64_t known)
{
    int says_stage = input->ask->kind == ATOLL_ASK_ORDER;
    for (unsigned severity = ATOLL_ISSUE_SEVERITY_LIMIT + 1; severity-- > 0;) {
        for (size_t i = 0; i < input->issue_count && input->issues; i++) {
            const struct atoll_reply_item *item = &input->issues[i];
            int is_issue = item->kind == ATOLL_ITEM_ISSUE || item->kind == ATOLL_ITEM_PROPOSAL;
            if (!is_issue || item->stage >= ATOLL_ISSUE_STAGE_COUNT || !(stages & STAGE(item->stage)) ||
                severity_of(item) != severity)
                continue;
            put_issue(input, t, item, says_stage);
            /* a proposal is what nobody else named */
            unsigned issue = item->kind == ATOLL_ITEM_PROPOSAL ? ATOLL_ISSUE_OPEN_ENDED : item->issue;
            if (issue < ATOLL_ISSUE_COUNT)
                known &= ~(UINT64_C(1) << issue);
        }
    }
    for (unsigned i = 0; i < ATOLL_ISSUE_COUNT; i++) {
        const struct atoll_issue_row *row = atoll_issue_row((enum atoll_issue)i);
        if (!(known & UINT64_C(1) << i) || !(stages & STAGE(row->stage)))
            continue;
        atoll_prompt_put(t, "- %s%s%s: %s (%s).\n", row->name, says_stage ? ", stage " : "",
                         says_stage ? atoll_stage_name(row->stage) : "", row->meaning,
                         i == ATOLL_ISSUE_OPEN_ENDED ? "nobody named one: look for it yourself"
                                                     : "a rule suspects it; see whether and where it holds");
    }
}

/* The stages that an order is made of. */
static uint32_t stages_of(const struct atoll_prompt_input *input)
{
    uint32_t stages = atoll_issue_stages(input->ask->issues);
    for (size_t i = 0; i < input->issue_count && input->issues; i++)
        if (input->issues[i].stage < ATOLL_ISSUE_STAGE_COUNT)
            stages |= STAGE(input->issues[i].stage);
    return stages;
}

static void put_precedences(struct atoll_prompt_text *t, uint32_t stages)
{
    int any = 0;
    for (unsigned a = 0; a < ATOLL_ISSUE_STAGE_COUNT; a++) {
        for (unsigned b = 0; b < ATOLL_ISSUE_STAGE_COUNT; b++) {
            if (!(stages & STAGE(a)) || !(stages & STAGE(b)) ||
                !atoll_stage_precedes((enum atoll_issue_stage)a, (enum atoll_issue_stage)b))
                continue;
            atoll_prompt_put(t, "%s%s before %s",
                             any ? ", " : "\nIn any case: ", atoll_stage_name((enum atoll_issue_stage)a),
                             atoll_stage_name((enum atoll_issue_stage)b));
            any = 1;
        }
    }
    atoll_prompt_put(t, any ? ".\n\n" : "");
}

/* What an analyser found in the kernel that is started from. */
static void put_report(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    enum atoll_prompt_form form = atoll_prompt_form_of(input);
    size_t left = 0;
    if (!input->issue_count)
        return;
    atoll_prompt_put(t,
                     "An analyst has read the parent%s, its verdict and its counters: what keeps it from "
                     "being faster, the severest first. %s\n",
                     input->has_other_params ? ", with other values of its params" : "",
                     form == ATOLL_FORM_EXECUTE    ? "The planner knew this; carry out the step alone."
                     : form == ATOLL_FORM_TEMPLATE ? "Of it take what other sizes can mend."
                                                   : "It may be wrong: hold it against the source and the "
                                                     "diagnosis before you build on it.");
    for (unsigned severity = ATOLL_ISSUE_SEVERITY_LIMIT + 1, told = 0; severity-- > 0;) {
        for (size_t i = 0; i < input->issue_count; i++) {
            if (severity_of(&input->issues[i]) != severity)
                continue;
            if (told++ < REPORT_LIMIT)
                put_issue(input, t, &input->issues[i], 0);
            else
                left++;
        }
    }
    if (left)
        atoll_prompt_put(t, "\n%zu more, of less weight.\n", left);
}

void atoll_prompt_write_issues(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    const struct atoll_ask *ask = input->ask;
    if (ask->kind == ATOLL_ASK_ANALYSE) {
        put_briefs(
            input, t, ATOLL_BRIEF_ISSUE_TYPE,
            "Beside the types listed above. Analysts of this campaign made these up, and kernels that "
            "worked on them became faster. Where the parent has one, use its name, and say its stage.\n");
        return;
    }
    if (ask->kind == ATOLL_ASK_ORDER) {
        uint32_t stages = stages_of(input);
        put_precedences(t, stages);
        atoll_prompt_put(t, "What was found in the parent, the severest first:\n");
        put_issues(input, t, stages, ask->issues);
        return;
    }
    if (ask->op != ATOLL_OPERATOR_STAGED && ask->op != ATOLL_OPERATOR_EXTRACT) {
        put_report(input, t);
        return;
    }
    if (ask->stage >= ATOLL_ISSUE_STAGE_COUNT)
        return;
    atoll_prompt_put(t, "Stage of the work: %s", atoll_stage_name((enum atoll_issue_stage)ask->stage));
    if (ask->op == ATOLL_OPERATOR_STAGED && input->round_limit)
        atoll_prompt_put(t, ", attempt %u of %u", ask->round + 1u, input->round_limit);
    atoll_prompt_put(t, ". Known issues of the stage's kernel, the severest first; work on these alone, and "
                        "take from hints and "
                        "knowledge what serves them:\n");
    put_issues(input, t, STAGE(ask->stage), known_issues(input));
}

/* ---- the step ---- */

void atoll_prompt_write_plan(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    const struct atoll_reply_item *step = input->step;
    const char *plan = step && step->text ? step->text : input->plan;
    if (!plan || !plan[0])
        return;
    if (input->ask->kind == ATOLL_ASK_SUMMARISE)
        atoll_prompt_put(t, "The faster kernel, or the slower one, came of this step; the figures say what "
                            "it was worth:\n\n");
    else
        atoll_prompt_put(
            t, "Carry out this one step and leave the rest of the parent as it is, unless it is plainly "
               "wrong:\n\n");
    if (step)
        put_text(t, "", step->title, 0);
    if (step)
        put_text(t, "\nWhere:\n\n", step->before, 0);
    atoll_prompt_put(t, step ? "\nWhat:\n\n" : "");
    atoll_prompt_put_quote(t, plan, PLAN_BYTES);
    if (!step)
        return;
    put_text(t, "\nWhy:\n\n", step->why, 0);
    if (step->gain_high > 0) {
        atoll_prompt_put(t, "\nThe planner expected %.3g to %.3g times the speed.\n", step->gain_low,
                         step->gain_high);
    }
}

/* ---- tools and the answer ---- */

void atoll_prompt_write_tools(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    if (!input->tool_limit)
        return;
    atoll_prompt_put(
        t, "You may call tools before you answer, %u call%s in all; they are described beside this text. ",
        input->tool_limit, input->tool_limit == 1 ? "" : "s");
    if (atoll_prompt_form_row(atoll_prompt_form_of(input))->writes) {
        int is_c = strcmp(input->language, "c") == 0; /* whose compiler tells of no spills */
        atoll_prompt_put(
            t,
            "They cost no evaluation, your answer does: compile what you are going to hand "
            "in, repair it until it compiles%s, and check it at the small shapes while calls are "
            "left. Keep one call for the last version. What is measured is your answer "
            "alone, so it holds the whole kernel even where a tool has seen it.\n",
            is_c ? " to the loop that you meant" : " without spills that you do not want");
    } else {
        atoll_prompt_put(
            t, "Use them for what you would otherwise guess: how an instruction is written, what was tried "
               "already, what the compiler makes of a few lines.\n");
    }
}

static void put_kernels(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    enum atoll_prompt_form form = atoll_prompt_form_of(input);
    const char *what = form == ATOLL_FORM_TEMPLATE ? "template" : "kernel";
    uint32_t count = input->ask->count;
    int has_edits = input->parent && form != ATOLL_FORM_TRANSLATE;
    if (count > 1 && form == ATOLL_FORM_EXECUTE)
        atoll_prompt_put(
            t,
            "Write %u attempts at this one step. All keep its idea; they differ in what it leaves open: "
            "sizes of tiles, depth of a pipeline, layout, which threads do what",
            count);
    else if (count > 1)
        atoll_prompt_put(t, "Write %u different %ss", count, what);
    if (count > 1) {
        atoll_prompt_put(
            t,
            ", each under a heading `### Kernel 1`, `### Kernel 2` and so on, each whole in one fence "
            "that starts with its plan comment%s. Before each",
            has_edits ? ", or as SEARCH/REPLACE edits of the parent" : "");
    } else if (has_edits) {
        atoll_prompt_put(t,
                         "Write one %s: whole in one fence that starts with its plan comment, or as "
                         "SEARCH/REPLACE edits of the parent where little changes. Before it",
                         what);
    } else {
        atoll_prompt_put(t,
                         "Write one kernel, whole in one fence that starts with its plan comment. Before it");
    }
    atoll_prompt_put(
        t, ", say in at most five sentences what %syou change and why it will be faster%s.%s\n",
        form == ATOLL_FORM_REFINE && input->round_count ? "the attempts so far show, what " : "",
        form == ATOLL_FORM_REFINE ? "; if it is not, the next attempt begins with these sentences" : "",
        has_edits && atoll_prompt_is_correct(input->parent) ? " Returning the parent unchanged is of no use."
                                                            : "");
}

static void put_plans(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    if (input->ask->count > 1) {
        atoll_prompt_put(t,
                         "Write %u plans, the most promising first, as the JSON described above; they differ "
                         "in what they change.\n",
                         input->ask->count);
    } else {
        static const char *const others[] = {
            "take what the evidence supports most, not what comes to mind first",
            "leave the most obvious step to them, and take the best one of another kind (fewer passes or "
            "bytes "
            "instead of a faster loop, another split of the work instead of another copy, or the other way "
            "round)",
            "take the one that could win most, even if it is a larger change, as long as the evidence allows "
            "it "
            "and it can be written in one go"};
        size_t which = input->alternatives > 1 ? input->ask->number % (sizeof(others) / sizeof(*others)) : 0;
        atoll_prompt_put(t, "Write one plan, as the JSON described above. ");
        if (input->alternatives > 1)
            atoll_prompt_put(t, "%u answer the same question with the same facts: %s.\n", input->alternatives,
                             others[which]);
        else
            atoll_prompt_put(t, "Of several steps %s.\n", others[0]);
    }
}

static void put_order(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    uint32_t stages = stages_of(input);
    int any = 0;
    atoll_prompt_put(t, "Write the order of these stages, as the JSON described above:");
    for (unsigned s = 0; s < ATOLL_ISSUE_STAGE_COUNT; s++) {
        if (stages & STAGE(s)) {
            atoll_prompt_put(t, "%s %s", any ? "," : "", atoll_stage_name((enum atoll_issue_stage)s));
            any = 1;
        }
    }
    atoll_prompt_put(t, ".\n");
}

void atoll_prompt_write_answer(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    switch (atoll_prompt_form_of(input)) {
    case ATOLL_FORM_PLAN: put_plans(input, t); break;
    case ATOLL_FORM_ANALYSE:
        atoll_prompt_put(t, "Write issues and proposals, the severest first, as the JSON described above.\n");
        break;
    case ATOLL_FORM_ORDER: put_order(input, t); break;
    case ATOLL_FORM_SUMMARISE:
        atoll_prompt_put(t, "Write the rewrite, as the JSON described above, or `{\"rewrite\": null}`.\n");
        break;
    case ATOLL_FORM_DISTIL: atoll_prompt_put(t, "Write the hints, as the JSON described above.\n"); break;
    case ATOLL_FORM_JUDGE:
        atoll_prompt_put(
            t, "Write what you found, then how likely the candidate cheats, as the JSON described above.\n");
        break;
    case ATOLL_FORM_META:
        atoll_prompt_put(t,
                         "Write what the guidance did, then at most %u edits, as the JSON described above.\n",
                         input->ask->count);
        break;
    default: put_kernels(input, t); break;
    }
}
