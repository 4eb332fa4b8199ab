/* prompt_kernel.c - the sections that show kernels: the parent, elites of other cells, the last failures. */
#include <stdio.h>
#include <string.h>

#include "core/candidate.h"
#include "base/units.h"
#include "evolution/reply/reply.h"
#include "evolution/prompt/prompt_section.h"

#define PLAN_ARENA_BYTES ((size_t)4 << 20)
#define FAILURE_SOURCE   2400 /* bytes of a failed source that are shown */
#define FAILURE_DETAIL   900

int atoll_prompt_is_correct(const struct atoll_prompt_kernel *kernel)
{
    return kernel->evaluation && kernel->evaluation->verdict == ATOLL_V_CORRECT;
}

/* "TM=64 TN=32" when the kernel has a choice that fits its plan, else "".  No memory is the section's failure. */
static void choice_text(const struct atoll_prompt_input *input, struct atoll_prompt_text *t,
                        const struct atoll_prompt_kernel *kernel, char *ret_text, size_t bytes)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    const char *body = NULL;
    ret_text[0] = 0;
    if (!kernel->choice || !kernel->choice->count)
        return;
    struct atoll_arena *arena = atoll_arena_create(PLAN_ARENA_BYTES, &err);
    const struct atoll_plan *plan =
        arena ? atoll_plan_parse(arena, input->task, input->language, kernel->source, &body, &err) : NULL;
    if (plan && plan->param_count == kernel->choice->count)
        atoll_choice_text(plan, kernel->choice, ret_text, bytes);
    if (err.code == ATOLL_E_MEMORY)
        t->text.failed = ATOLL_E_MEMORY;
    atoll_arena_destroy(arena);
}

/* Details name variants as "variant NAME" (referee) or "variant 'NAME'" (plans); a hidden one and its shape stay untold. */
static int tells_hidden(const char *detail)
{
    return strstr(detail, "variant hidden") || strstr(detail, "variant 'hidden") ||
           strstr(detail, "hidden variant");
}

void atoll_prompt_put_detail(struct atoll_prompt_text *t, const struct atoll_evaluation *evaluation,
                             size_t cap)
{
    if (!evaluation->detail[0])
        return;
    if (tells_hidden(evaluation->detail))
        atoll_prompt_put(t, "It happened at a shape that is not listed.\n");
    else
        atoll_prompt_put_quote(t, evaluation->detail, cap);
}

static void put_cell(const struct atoll_prompt_input *input, struct atoll_prompt_text *t,
                     const struct atoll_behaviour *b)
{
    const unsigned levels[] = {b->memory, b->algorithm, b->coordination};
    for (unsigned d = 0; d < 3; d++)
        atoll_prompt_put(t, "%s%s: %s", d ? "; " : "How it works: ", atoll_behaviour_dimension_name(d),
                         atoll_behaviour_level_text_of(input->language, d, levels[d]));
    atoll_prompt_put(t, ".\n");
}

static void put_speed(struct atoll_prompt_text *t, const struct atoll_prompt_kernel *kernel)
{
    char time[32];
    if (!(kernel->time_ns > 0))
        return;
    atoll_prompt_put(t, "Time %s (weighted over the timed shapes)",
                     atoll_duration_text(kernel->time_ns, time, sizeof time));
    if (kernel->speedup > 0)
        atoll_prompt_put(t, ", %.3g times the baseline's speed", kernel->speedup);
    atoll_prompt_put(t, ".\n");
}

static void put_choice(const struct atoll_prompt_input *input, struct atoll_prompt_text *t,
                       const struct atoll_prompt_kernel *kernel)
{
    char choice[512];
    choice_text(input, t, kernel, choice, sizeof choice);
    if (choice[0])
        atoll_prompt_put(t,
                         "It is a template; measured with %s. A template of yours with these params should "
                         "try these values first.\n",
                         choice);
}

void atoll_prompt_write_parent(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    const struct atoll_prompt_kernel *parent = input->parent;
    if (!parent) {
        atoll_prompt_put(t, "There is none: write a first kernel from scratch, correct above all.\n");
        return;
    }
    atoll_prompt_put_code(t, input->language, parent->source, 0);
    atoll_prompt_put(t, "\n");
    if (!parent->evaluation) {
        atoll_prompt_put(t, "It was not measured yet.\n");
        return;
    }
    atoll_prompt_put(t, "Verdict: %s.\n", atoll_verdict_name(parent->evaluation->verdict));
    put_choice(input, t, parent);
    if (atoll_prompt_is_correct(parent)) {
        put_speed(t, parent);
        put_cell(input, t, &parent->evaluation->behaviour);
        atoll_prompt_put_timings(input, t, parent->evaluation);
        atoll_prompt_put_counters(t, &parent->evaluation->profile);
    }
}

void atoll_prompt_write_inspiration(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    if (!input->inspiration_count || !input->inspirations)
        return;
    atoll_prompt_put(t,
                     "Correct kernels for this task that work in other ways. Take ideas from them where they "
                     "are better; do not return one of them.\n");
    for (size_t i = 0; i < input->inspiration_count && i < ATOLL_ASK_INSPIRATION_LIMIT; i++) {
        const struct atoll_prompt_kernel *k = &input->inspirations[i];
        atoll_prompt_put(t, "\n## Kernel %zu\n\n", i + 1);
        put_speed(t, k);
        put_choice(input, t, k);
        if (k->evaluation)
            put_cell(input, t, &k->evaluation->behaviour);
        atoll_prompt_put(t, "\n");
        atoll_prompt_put_code(t, input->language, k->source, 0);
    }
}

/* The complaint of an answer that could not be read stands in its comment. */
static int put_unusable(struct atoll_prompt_text *t, const char *source)
{
    char why[512];
    size_t prefix = strlen(ATOLL_ANSWER_UNUSABLE);
    const char *end = strncmp(source, ATOLL_ANSWER_UNUSABLE, prefix) == 0 ? strstr(source, " */") : NULL;
    if (!end)
        return 0;
    snprintf(why, sizeof why, "%.*s",
             (int)(end - source - (long)prefix < 500 ? end - source - (long)prefix : 500), source + prefix);
    atoll_prompt_put(t, "The answer could not be used:\n\n");
    atoll_prompt_put_quote(t, why, 0);
    atoll_prompt_put(t, "\nIt began:\n\n");
    atoll_prompt_put_quote(t, end + 3 + (end[3] == '\n'), 600);
    return 1;
}

void atoll_prompt_write_failures(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    if (!input->failure_count || !input->failures)
        return;
    atoll_prompt_put(t, "What was tried lately and did not work. Do not repeat these mistakes.\n");
    for (size_t i = 0; i < input->failure_count && i < ATOLL_ASK_FAILURE_LIMIT; i++) {
        const struct atoll_prompt_kernel *k = &input->failures[i];
        atoll_prompt_put(t, "\n## Failure %zu%s%s\n\n", i + 1, k->evaluation ? ": " : "",
                         k->evaluation ? atoll_verdict_name(k->evaluation->verdict) : "");
        if (put_unusable(t, k->source))
            continue;
        put_choice(input, t, k);
        if (k->evaluation)
            atoll_prompt_put_detail(t, k->evaluation, FAILURE_DETAIL);
        atoll_prompt_put(t, "\n");
        atoll_prompt_put_code(t, input->language, k->source, FAILURE_SOURCE);
    }
}
