/* prompt_judge.c - the candidate as a judge is shown it: its plan as the harness read it and its source without comments, so that
 * nothing speaks to the judge but what is executed.  No times and no verdict: a cheat has the best ones. */
#include "core/source/source_strip.h"
#include "evolution/prompt/prompt_kernel.h"
#include "evolution/prompt/prompt_text.h"

#define PLAN_ARENA_BYTES ((size_t)4 << 20)
#define STRIPPED_BYTES   ((size_t)1 << 20)

/* Without a plan that can be read nothing of it is executed; then there is no candidate. */
static void put_plan(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    struct atoll_arena *arena = atoll_arena_create(PLAN_ARENA_BYTES, NULL);
    const struct atoll_plan *plan = arena ? atoll_prompt_plan(input, t, input->parent->source, arena) : NULL;
    if (!arena)
        t->text.failed = ATOLL_E_MEMORY;
    atoll_prompt_put(t, "Its launch plan:\n\n");
    atoll_prompt_put_code(t, "json", plan ? plan->canonical : "", 0);
    atoll_arena_destroy(arena);
}

void atoll_prompt_write_candidate(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    struct atoll_buffer stripped;
    if (!input->parent) {
        atoll_prompt_put(t, "It is not known any more.\n");
        return;
    }
    put_plan(input, t);
    atoll_prompt_put_choice(input, t, input->parent);
    atoll_prompt_put(t, "\nIts source, without comments:\n\n");
    atoll_buffer_init(&stripped, STRIPPED_BYTES);
    if (atoll_source_strip(input->language, input->parent->source, &stripped, NULL))
        t->text.failed = stripped.failed ? stripped.failed : ATOLL_E_MEMORY;
    atoll_buffer_put_u8(&stripped, 0);
    if (!stripped.failed)
        atoll_prompt_put_code(t, input->language, (const char *)stripped.data, 0);
    atoll_buffer_fini(&stripped);
}
