/* retrieve_text.c - an entry or a kernel in the words in which a model is told it. */
#include <stdio.h>
#include <string.h>

#include "evolution/knowledge/retrieve_state.h"

/* As much as a brief may hold; what is longer is cut there. */
#define TEXT_BYTES ((size_t)2 << 20)

static void put(struct atoll_buffer *out, const char *head, const char *text)
{
    if (text && *text)
        atoll_buffer_printf(out, "%s%s%s", head, text, text[strlen(text) - 1] == '\n' ? "" : "\n");
}

static void put_constraint(const struct atoll_knowledge_entry *e, int with_code, struct atoll_buffer *out)
{
    put(out, "", e->what);
    if (!with_code)
        return;
    put(out, "Wrong:\n", e->wrong);
    if (e->message && e->fails == ATOLL_KNOWLEDGE_FAILS_RESULT)
        put(out, "which leads to: ", e->message);
    else
        put(out, "which is answered with: ", e->message);
    put(out, "Right:\n", e->right);
}

static void put_pattern(const struct atoll_knowledge_entry *e, struct atoll_buffer *out)
{
    put(out, "", e->what);
    put(out, "Why: ", e->why);
    if (e->expected[1] > 0)
        atoll_buffer_printf(out, "Expected: %.3g to %.3g times the speed.\n", e->expected[0], e->expected[1]);
    put(out, "Applies: ", e->applies);
    put(out, "Before:\n", e->before);
    put(out, "After:\n", e->after);
}

static void put_example(const struct atoll_knowledge_entry *e, struct atoll_buffer *out)
{
    put(out, "", e->what);
    for (const char *const *line = e->learn; line && *line; line++)
        put(out, "- ", *line);
}

static void put_entry(const struct atoll_knowledge_entry *e, const struct atoll_retrieved *found,
                      struct atoll_buffer *out)
{
    switch (e->kind) {
    case ATOLL_KNOWLEDGE_CONSTRAINT: put_constraint(e, found->has_code, out); break;
    case ATOLL_KNOWLEDGE_PATTERN: put_pattern(e, out); break;
    case ATOLL_KNOWLEDGE_EXAMPLE: put_example(e, out); break;
    default: put(out, "", e->text);
    }
    put(out, "Source: ", e->source);
}

static void put_kernel(const struct atoll_kernel_text *k, unsigned like_count, struct atoll_buffer *out)
{
    atoll_buffer_printf(out, "Of task %s, in %s", k->task, k->language);
    if (k->time_us > 0)
        atoll_buffer_printf(out, ", %.4g us%s%s%s%s", k->time_us, *k->shape ? " at " : "", k->shape,
                            *k->device ? " on " : "", k->device);
    if (k->gain > 1)
        atoll_buffer_printf(out, ", %.3g times its baseline's speed", k->gain);
    atoll_buffer_printf(out, ".\n");
    put(out, "The task: ", k->summary);
    put(out, "", k->note);
    if (like_count)
        atoll_buffer_printf(out, "%u more like it, of other tasks, %s not shown.\n", like_count,
                            like_count == 1 ? "is" : "are");
    atoll_buffer_printf(out, "\n%s", k->source);
}

int atoll_retrieval_brief(const struct atoll_retrieval *r, const struct atoll_retrieved *found,
                          struct atoll_arena *arena, struct atoll_brief *ret_brief, struct atoll_err *err)
{
    char title[ATOLL_BRIEF_TITLE_LIMIT];
    int is_kernel = found->kind == ATOLL_RETRIEVED_KERNEL, length;
    const struct atoll_knowledge_entry *e = is_kernel ? NULL : &r->base->entries[found->at];
    const char *name = is_kernel ? r->kernels[found->at].name : e->id;
    struct atoll_brief brief = {.kind = is_kernel            ? ATOLL_BRIEF_DEMONSTRATION
                                        : found->is_critical ? ATOLL_BRIEF_CONSTRAINT
                                                             : ATOLL_BRIEF_KNOWLEDGE,
                                .id = atoll_id_of(name, strlen(name)),
                                .score = found->score};
    struct atoll_buffer text;
    atoll_buffer_init(&text, TEXT_BYTES);
    if (is_kernel) {
        put_kernel(&r->kernels[found->at], found->like_count, &text);
        length = snprintf(title, sizeof(title), "kernel %s", name);
    } else {
        put_entry(e, found, &text);
        length = snprintf(title, sizeof(title), "%s %s", atoll_knowledge_kind_name(e->kind), name);
    }
    if (length < 0 || (size_t)length >= sizeof(title))
        length = (int)sizeof(title) - 1;
    int rc = atoll_buffer_check(&text, err);
    if (rc == 0) {
        brief.title = atoll_arena_text(arena, title, (size_t)length, err);
        brief.text = brief.title ? atoll_arena_text(arena, (const char *)text.data, text.length, err) : NULL;
        rc = brief.text ? 0 : -1;
    }
    atoll_buffer_fini(&text);
    if (rc == 0)
        *ret_brief = brief;
    return rc;
}
