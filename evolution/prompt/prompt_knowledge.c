/* prompt_knowledge.c - the sections of what was retrieved from the knowledge base: its entries, and kernels of similar tasks.  The first
 * line of a critical constraint is never cut (papers/002 IV-D); the rest goes by the budget, from the end. */
#include <string.h>

#include "evolution/prompt/prompt_kernel.h"

#define ENTRY_BYTES  2400 /* of each, for a budget of 48 KiB */
#define DETAIL_BYTES 1600 /* of a constraint beside its line */
#define SAID_BYTES   800  /* of a kernel */

static size_t line_length(const char *text)
{
    return strcspn(text, "\n");
}

static void put_constraints(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    size_t count = 0;
    for (size_t i = 0; i < input->brief_count; i++) {
        const struct atoll_brief *b = &input->briefs[i];
        if (b->kind != ATOLL_BRIEF_CONSTRAINT || !b->text)
            continue;
        size_t length = line_length(b->text);
        const char *rest = b->text + length + strspn(b->text + length, "\n");
        if (count++ == 0)
            atoll_prompt_put(t, "What must hold on this device, whatever else you do:\n\n");
        atoll_prompt_put_kept(t, b->text, length);
        t->brief = i + 1;
        if (*rest)
            atoll_prompt_put_quote(t, rest, atoll_prompt_cap(input, DETAIL_BYTES));
        t->brief = 0;
    }
}

void atoll_prompt_write_knowledge(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    size_t count = 0;
    if (!input->briefs)
        return;
    put_constraints(input, t);
    for (size_t i = 0; i < input->brief_count; i++) {
        const struct atoll_brief *b = &input->briefs[i];
        if (b->kind != ATOLL_BRIEF_KNOWLEDGE)
            continue;
        if (count == 0) {
            atoll_prompt_put(t,
                             "%sLooked up for this task, this device and what the diagnosis says, the best "
                             "fit first. Take what applies and leave the rest:\n",
                             t->piece_count ? "\n" : "");
        }
        atoll_prompt_put(t, "\n%zu.\n\n", ++count);
        atoll_prompt_put_brief(t, input, i, atoll_prompt_cap(input, ENTRY_BYTES));
    }
}

/* By the suffix of its name, which ends its title. */
static const char *language_of(const struct atoll_brief *brief)
{
    static const struct {
        const char *suffix, *language;
    } known[] = {{".c", "c"}, {".cu", "cuda"}, {".py", "triton"}, {".cl", "opencl"}};
    const char *dot = brief->title ? strrchr(brief->title, '.') : NULL;
    for (size_t i = 0; dot && i < sizeof(known) / sizeof(*known); i++)
        if (strcmp(dot, known[i].suffix) == 0)
            return known[i].language;
    return "";
}

static void put_said(struct atoll_prompt_text *t, const char *text, size_t length)
{
    char said[SAID_BYTES];
    length = length < sizeof(said) ? length : sizeof(said) - 1;
    memcpy(said, text, length);
    said[length] = 0;
    atoll_prompt_put_quote(t, said, 0);
}

/* A kernel is shown whole, or what is said of it alone: half of one teaches nothing. */
void atoll_prompt_write_demonstrations(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    size_t count = 0;
    for (size_t i = 0; i < input->brief_count && input->briefs; i++) {
        const struct atoll_brief *b = &input->briefs[i];
        if (b->kind != ATOLL_BRIEF_DEMONSTRATION || !b->text || !b->text[0])
            continue;
        const char *end = strstr(b->text, "\n\n");
        if (count == 0) {
            atoll_prompt_put(
                t, "Kernels that are correct and fast, of tasks like this one, the most similar first. "
                   "They show how such work is done on this device; the task, its tensors and its "
                   "shapes are others.\n");
        }
        atoll_prompt_put(t, "\n## Kernel %zu\n\n", ++count);
        put_said(t, b->text, end ? (size_t)(end - b->text) : strlen(b->text));
        atoll_prompt_put(t, "\n");
        t->brief = i + 1;
        if (end)
            atoll_prompt_put_whole(t, language_of(b), end + 2);
        t->brief = 0;
    }
}
