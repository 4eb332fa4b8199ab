/* prompt_knowledge.c - the sections of what was retrieved from the knowledge base: its entries, and kernels of similar tasks.  The first
 * line of a critical constraint is never cut (papers/002 IV-D); of the rest parts are told whole or not at all, the most fitting
 * entries first, then right halves, wrong ones last. */
#include <stdio.h>
#include <string.h>

#include "evolution/prompt/prompt_kernel.h"

#define PART_BYTES  2400 /* that a part of an entry or a constraint asks for, for a budget of 48 KiB */
#define SAID_BYTES  800  /* of a kernel */
#define FIRST_COUNT 3    /* entries that are told whole before what constraints say beside their line */

/* Who gets the room first: a wrong half, and what a rewrite begins with, are worth the least. */
enum rank { RANK_NAME, RANK_FIRST, RANK_RIGHT, RANK_ENTRY, RANK_BEFORE, RANK_WRONG };

static size_t line_length(const char *text)
{
    return strcspn(text, "\n");
}

/* Where a line of the text is this one, at its end else (evolution/knowledge/retrieve_text.c has the heads). */
static const char *head_of(const char *text, const char *line)
{
    const char *at = text;
    while (at && strncmp(at, line, strlen(line)) != 0) {
        at = strchr(at, '\n');
        at = at ? at + 1 : NULL;
    }
    return at ? at : text + strlen(text);
}

static void put_part(struct atoll_prompt_text *t, const char *begin, const char *end, size_t cap,
                     unsigned rank)
{
    if (end > begin)
        atoll_prompt_put_ranked(t, begin, (size_t)(end - begin), cap, rank);
}

static void put_constraints(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    size_t count = 0, cap = atoll_prompt_cap(input, PART_BYTES);
    for (size_t i = 0; i < input->brief_count; i++) {
        const struct atoll_brief *b = &input->briefs[i];
        if (b->kind != ATOLL_BRIEF_CONSTRAINT || !b->text)
            continue;
        size_t length = line_length(b->text);
        const char *rest = b->text + length + strspn(b->text + length, "\n"),
                   *wrong = head_of(rest, "Wrong:\n"), *right = head_of(wrong, "Right:\n");
        if (count++ == 0)
            atoll_prompt_put(t, "What must hold on this device, whatever else you do:\n\n");
        atoll_prompt_put_kept(t, b->text, length);
        t->brief = i + 1;
        put_part(t, rest, wrong, cap, RANK_RIGHT);
        put_part(t, wrong, right, cap, RANK_WRONG);
        put_part(t, right, right + strlen(right), cap, RANK_RIGHT);
        t->brief = 0;
    }
}

/* index: of the input; its place among the entries says how early it is served. */
static void put_entry(const struct atoll_prompt_input *input, struct atoll_prompt_text *t, size_t index,
                      size_t place)
{
    size_t cap = atoll_prompt_cap(input, PART_BYTES);
    char name[ATOLL_BRIEF_TITLE_LIMIT + ATOLL_BRIEF_TEXT_LIMIT];
    const struct atoll_brief *b = &input->briefs[index];
    const char *title = b->title ? b->title : "", *text = b->text ? b->text : "",
               *rest = text + line_length(text), *before = head_of(text, "Before:\n"),
               *after = head_of(before, "After:\n");
    unsigned rank = place < FIRST_COUNT ? RANK_FIRST : RANK_ENTRY;
    int length = snprintf(name, sizeof(name), "%s%s%.*s", title, *title && *text ? "\n" : "",
                          (int)(rest - text), text);
    rest += *rest == '\n';
    t->brief = index + 1;
    put_part(t, name, name + (length < (int)sizeof(name) ? length : (int)sizeof(name) - 1), cap, RANK_NAME);
    put_part(t, rest, before, cap, rank);
    put_part(t, before, after, cap, RANK_BEFORE);
    put_part(t, after, after + strlen(after), cap, rank);
    t->brief = 0;
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
        atoll_prompt_put(t, "\n%zu.\n\n", count + 1);
        put_entry(input, t, i, count++);
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
