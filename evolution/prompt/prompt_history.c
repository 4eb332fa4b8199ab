/* prompt_history.c - the sections about other kernels of the same search: how the parent came about, what was made from it,
 * elites of other cells, attempts of a stage, failures.  A kernel that is near another one is shown as what it changed; of what is
 * older a line is left. */
#include <string.h>

#include "core/diagnosis.h"
#include "evolution/prompt/prompt_change.h"
#include "evolution/prompt/prompt_kernel.h"

#define SOURCE_LIMIT ((size_t)4 << 20)

/* Bytes that are shown of each, for a budget of 48 KiB. */
#define STEP_BYTES     1600 /* of a trajectory */
#define SIBLING_BYTES  2000
#define SLOWER_BYTES   1200
#define ATTEMPT_BYTES  1600 /* of a stage, but for the last */
#define THOUGHT_BYTES  1200
#define FAILURE_SOURCE 2400
#define FAILURE_DETAIL 900
/* How many are shown so; beyond them a line each, and beyond those a count. */
#define STEPS_SHOWN    5
#define SIBLINGS_SHOWN 3
#define SLOWER_SHOWN   2
#define ATTEMPTS_SHOWN 5
#define LINES_SHOWN    12

static const char *source_of(const struct atoll_prompt_kernel *kernel)
{
    return kernel && !atoll_prompt_is_unusable(kernel) ? kernel->source : NULL;
}

/* ---- trajectory ---- */

static void put_step(const struct atoll_prompt_input *input, struct atoll_prompt_text *t, size_t number,
                     const struct atoll_prompt_kernel *from, const struct atoll_prompt_kernel *to)
{
    atoll_prompt_put(t, "\n## Step %zu%s: ", number, to == input->parent ? ", the parent" : "");
    atoll_prompt_put_line(input, t, to, "its predecessor's", from->time_ns);
    atoll_prompt_put(t, "\n\n");
    const char *before = source_of(from);
    size_t cap = atoll_prompt_cap(input, STEP_BYTES);
    if (to != input->parent || (before && strcmp(before, to->source) == 0))
        atoll_prompt_put_change(t, input->language, before, to->source, cap);
    else if (!before || !atoll_prompt_put_diff(t, before, to->source, cap)) /* shown once is enough */
        atoll_prompt_put(t, "It shares so little with its predecessor that no difference is shown: it is the "
                            "kernel that stands above.\n");
}

/* Oldest first, then the parent. */
static void put_chain(const struct atoll_prompt_input *input, struct atoll_prompt_text *t,
                      const struct atoll_prompt_kernel *chain, size_t count)
{
    size_t first = count > STEPS_SHOWN ? count - STEPS_SHOWN : 0;
    atoll_prompt_put(t, "From the oldest on, each with what it changed of the one before. ");
    for (size_t i = 0; i <= first && first - i < LINES_SHOWN; i++) {
        atoll_prompt_put(t, i == 0 ? "It began with: " : ", then: ");
        atoll_prompt_put_line(input, t, &chain[i], i ? "its predecessor's" : "",
                              i ? chain[i - 1].time_ns : 0);
    }
    atoll_prompt_put(t, ".\n");
    for (size_t i = first; i + 1 < count; i++)
        put_step(input, t, i + 1, &chain[i], &chain[i + 1]);
    if (input->parent)
        put_step(input, t, count, &chain[count - 1], input->parent);
}

void atoll_prompt_write_trajectory(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    if (input->ancestors && input->ancestor_count)
        put_chain(input, t, input->ancestors, input->ancestor_count);
}

/* ---- what was made from the parent ---- */

static void put_children(const struct atoll_prompt_input *input, struct atoll_prompt_text *t,
                         const struct atoll_prompt_kernel *children, size_t count, size_t shown, size_t bytes)
{
    double parent_ns = input->parent ? input->parent->time_ns : 0;
    const char *parent = source_of(input->parent);
    for (size_t i = 0; i < count && i < shown; i++) {
        atoll_prompt_put(t, "\n- ");
        atoll_prompt_put_line(input, t, &children[i], "the parent's", parent_ns);
        atoll_prompt_put(t, ":\n\n");
        atoll_prompt_put_change(t, input->language, parent, children[i].source,
                                atoll_prompt_cap(input, bytes));
    }
    for (size_t i = shown; i < count && i < shown + LINES_SHOWN; i++) {
        atoll_prompt_put(t, "\n- ");
        atoll_prompt_put_line(input, t, &children[i], "the parent's", parent_ns);
        atoll_prompt_put(t, "\n");
        atoll_prompt_put_change_line(t, parent, children[i].source);
    }
    if (count > shown + LINES_SHOWN)
        atoll_prompt_put(t, "\n- and %zu more\n", count - shown - LINES_SHOWN);
}

void atoll_prompt_write_siblings(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    if (input->siblings && input->sibling_count) {
        atoll_prompt_put(t, "Correct kernels, not slower than a correct parent. What they gained can be "
                            "combined with what you do; "
                            "a repetition gains nothing.\n");
        put_children(input, t, input->siblings, input->sibling_count, SIBLINGS_SHOWN, SIBLING_BYTES);
    }
    if (input->slower && input->slower_count) {
        atoll_prompt_put(t, "%sCorrect, but not faster than the parent, as they were carried out.\n",
                         t->piece_count ? "\n" : "");
        put_children(input, t, input->slower, input->slower_count, SLOWER_SHOWN, SLOWER_BYTES);
    }
}

/* ---- other kernels ---- */

static void put_other(const struct atoll_prompt_input *input, struct atoll_prompt_text *t,
                      const struct atoll_prompt_kernel *k)
{
    atoll_prompt_put_speed(t, k);
    atoll_prompt_put_choice(input, t, k);
    atoll_prompt_put_cell(input, t, k);
    atoll_prompt_put(t, "\n");
}

/* The faster one of a pair: its figures beside the slower one's, and what it changed. */
static void put_fast(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    const struct atoll_prompt_kernel *fast = &input->inspirations[0], *slow = input->parent;
    if (slow) {
        atoll_prompt_put(t, "The slow one: ");
        atoll_prompt_put_line(input, t, slow, "", 0);
        atoll_prompt_put(t, ".\nThe fast one: ");
    }
    atoll_prompt_put_line(input, t, fast, "the slow one's", slow ? slow->time_ns : 0);
    atoll_prompt_put(t, ".\n");
    if (slow)
        atoll_prompt_put_rates(input, t, fast, slow);
    if (fast->evaluation)
        atoll_prompt_put_profile(input, t, fast);
    atoll_prompt_put(t, "\n");
    struct atoll_buffer before, after;
    atoll_buffer_init(&before, SOURCE_LIMIT);
    atoll_buffer_init(&after, SOURCE_LIMIT);
    const char *from = source_of(slow), *to = atoll_prompt_timed_source(input, t, fast->source, &after);
    const char *timed = from ? atoll_prompt_timed_source(input, t, from, &before) : NULL;
    int is_elsewhere = timed && strcmp(timed, to) == 0; /* in what no timed shape takes, if at all */
    atoll_prompt_put_change(t, input->language, is_elsewhere ? from : timed, is_elsewhere ? fast->source : to,
                            0);
    atoll_buffer_fini(&before);
    atoll_buffer_fini(&after);
}

void atoll_prompt_write_inspiration(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    size_t count = input->inspirations ? input->inspiration_count : 0;
    if (count && input->ask->kind == ATOLL_ASK_SUMMARISE) {
        put_fast(input, t);
        return;
    }
    if (input->ask->kind == ATOLL_ASK_DISTIL) {
        if (count)
            put_chain(input, t, input->inspirations, count);
        return;
    }
    if (input->best) {
        int is_behind =
            input->parent && input->parent->time_ns > 0 && input->parent->time_ns < input->best->time_ns;
        atoll_prompt_put(t, "## The best %s, of another line\n\n",
                         is_behind ? "that a comparison confirmed" : "so far");
        put_other(input, t, input->best);
        atoll_prompt_put_change(t, input->language, source_of(input->parent), input->best->source, 0);
    }
    if (!count)
        return;
    atoll_prompt_put(
        t,
        "%sCorrect kernels for this task that work in other ways, one that is near the parent as what it "
        "changes. Take ideas from them where they are better; do not return one of them.\n",
        input->best ? "\n" : "");
    for (size_t i = 0; i < count && i < ATOLL_ASK_INSPIRATION_LIMIT; i++) {
        atoll_prompt_put(t, "\n## Kernel %zu\n\n", i + 1);
        put_other(input, t, &input->inspirations[i]);
        atoll_prompt_put_change(t, input->language, source_of(input->parent), input->inspirations[i].source,
                                0);
    }
}

/* ---- what failed ---- */

/* Of a kernel that does not compile the lines that the compiler names, else what it changed of the parent. */
static void put_failed_source(const struct atoll_prompt_input *input, struct atoll_prompt_text *t,
                              const struct atoll_prompt_kernel *k, size_t bytes)
{
    const struct atoll_evaluation *e = k->evaluation;
    if (e && e->verdict == ATOLL_V_COMPILE_ERROR &&
        atoll_prompt_put_quoted_lines(t, input->language, k->source, e->detail))
        return;
    atoll_prompt_put(t, "\n");
    atoll_prompt_put_change(t, input->language, source_of(input->parent), k->source,
                            atoll_prompt_cap(input, bytes));
}

static void put_failure(const struct atoll_prompt_input *input, struct atoll_prompt_text *t,
                        const struct atoll_prompt_kernel *k, size_t bytes)
{
    if (atoll_prompt_is_unusable(k)) {
        atoll_prompt_put_unusable(t, k);
        return;
    }
    atoll_prompt_put_choice(input, t, k);
    if (!atoll_prompt_is_correct(k))
        atoll_prompt_put_detail(t, k, FAILURE_DETAIL);
    put_failed_source(input, t, k, bytes);
}

void atoll_prompt_write_failures(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    if (!input->failure_count || !input->failures || input->round_count)
        return;
    atoll_prompt_put(t, "%s",
                     input->ask->kind == ATOLL_ASK_META
                         ? "Kernels that were not correct, the newest first.\n"
                         : "What was tried lately and did not work. Do not repeat these mistakes.\n");
    for (size_t i = 0; i < input->failure_count && i < ATOLL_ASK_FAILURE_LIMIT; i++) {
        const struct atoll_prompt_kernel *k = &input->failures[i];
        atoll_prompt_put(t, "\n## Failure %zu%s", i + 1, k->evaluation ? ": " : "");
        if (k->evaluation)
            atoll_prompt_put_line(input, t, k, "the parent's", input->parent ? input->parent->time_ns : 0);
        atoll_prompt_put(t, "\n\n");
        put_failure(input, t, k, FAILURE_SOURCE);
    }
    for (size_t i = ATOLL_ASK_FAILURE_LIMIT;
         i < input->failure_count && i < ATOLL_ASK_FAILURE_LIMIT + LINES_SHOWN; i++) {
        atoll_prompt_put(t, i == ATOLL_ASK_FAILURE_LIMIT ? "\nEarlier ones:\n\n- " : "- ");
        atoll_prompt_put_line(input, t, &input->failures[i], "the parent's",
                              input->parent ? input->parent->time_ns : 0);
        atoll_prompt_put(t, "\n");
        if (!atoll_prompt_is_unusable(&input->failures[i]))
            atoll_prompt_put_change_line(t, source_of(input->parent), input->failures[i].source);
    }
}

/* ---- attempts of a stage ---- */

static void put_result(const struct atoll_prompt_input *input, struct atoll_prompt_text *t,
                       const struct atoll_prompt_kernel *k, int is_last)
{
    const struct atoll_prompt_kernel *parent = input->parent;
    if (!atoll_prompt_is_correct(k) || !parent)
        return;
    int is_slower = k->time_ns > parent->time_ns;
    atoll_prompt_put(t, "Correct, %s. It and the stage's kernel:\n",
                     is_slower ? "but slower" : "but not faster by as much as counts");
    atoll_prompt_put_rates(input, t, k, parent);
    if (is_slower && is_last && input->ask->op != ATOLL_OPERATOR_EXTRACT)
        atoll_prompt_put(
            t, "The strategy does not pay here: choose another one, or say what it was that it lost by.\n");
}

static void put_round(const struct atoll_prompt_input *input, struct atoll_prompt_text *t, size_t i)
{
    const struct atoll_prompt_round *round = &input->rounds[i];
    int is_last = i + 1 == input->round_count;
    atoll_prompt_put(t, "\n## Attempt %zu: ", i + 1);
    atoll_prompt_put_line(input, t, &round->kernel, "the stage's kernel's",
                          input->parent ? input->parent->time_ns : 0);
    atoll_prompt_put(t, "\n\n");
    if (round->thought && round->thought[0]) {
        atoll_prompt_put(t, "What was thought:\n\n");
        atoll_prompt_put_quote(t, round->thought, atoll_prompt_cap(input, THOUGHT_BYTES));
        atoll_prompt_put(t, "\n");
    }
    put_result(input, t, &round->kernel, is_last);
    if (is_last && !atoll_prompt_is_unusable(&round->kernel)) {
        if (!atoll_prompt_is_correct(&round->kernel))
            atoll_prompt_put_detail(t, &round->kernel, 0);
        atoll_prompt_put(t, "\n");
        atoll_prompt_put_change(t, input->language, source_of(input->parent), round->kernel.source, 0);
    } else {
        put_failure(input, t, &round->kernel, ATTEMPT_BYTES);
    }
}

void atoll_prompt_write_rounds(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    size_t count = input->rounds ? input->round_count : 0;
    size_t first = count > ATTEMPTS_SHOWN ? count - ATTEMPTS_SHOWN : 0;
    if (!count)
        return;
    atoll_prompt_put(
        t, "Oldest first; each is shown as what it changed of the stage's kernel, where little changed.\n");
    if (first)
        atoll_prompt_put(t, "The first %zu are left out.\n", first);
    for (size_t i = first; i < count; i++)
        put_round(input, t, i);
}
